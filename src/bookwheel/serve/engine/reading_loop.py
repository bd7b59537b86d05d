"""The two event loops of a server: its own, and the one of readings, in a thread beside it.

The server's own loop is uvicorn's. It has every connection: of clients, of MCP sessions, to the endpoints of models.
Nothing in it takes long: SQLite, conversions and comparisons go to threads or to children.

The code of a way of reading runs in the second loop. It cuts chunks and counts tokens between its calls of the model.
Both are synchronous: they take time, and a server's tokenizer even waits for the network. They happen lazily inside
the reading's coroutine, so no single function can be sent to a thread; the whole coroutine is. Here it delays other
readings at most, never a request, a stream or a page. Its calls of the model go back to the first loop (`SharedModel`),
where the model's connections are, and its steps are announced there.

A tokenizer behind HTTP belongs to its model and brings a loop for its requests (`bookwheel.models.server_tokenizer`):
whoever counts waits for the answer, in either loop or in a thread, so the request can be in none of them.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

_T = TypeVar("_T")


class JobCancelled(Exception):
    """The job was cancelled, and its cleanup has finished."""


class LoopJob(Generic[_T]):
    """Work in the other loop.

    `asyncio.run_coroutine_threadsafe` does not serve: its future counts as cancelled at once. This `outcome` is set
    when the work has ended, which after `cancel` can take a moment.
    """

    def __init__(self, work: Coroutine[Any, Any, _T], loop: asyncio.AbstractEventLoop) -> None:
        self.outcome: Future[_T] = Future()
        self._loop = loop
        self._task: asyncio.Task[_T] | None = None
        loop.call_soon_threadsafe(self._start, work)

    def cancel(self) -> None:
        """Cancel the work."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _start(self, work: Coroutine[Any, Any, _T]) -> None:
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._set_outcome)

    def _cancel(self) -> None:
        assert self._task is not None
        self._task.cancel()

    def _set_outcome(self, task: asyncio.Task[_T]) -> None:
        if task.cancelled():
            self.outcome.set_exception(JobCancelled())
        elif error := task.exception():
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


class ReadingLoop:
    """The loop and its thread, which start with the first job."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, _T]) -> LoopJob[_T]:
        """Start the work in the other loop."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="bookwheel readings", daemon=True)
            self._thread.start()
        return LoopJob(work, self._loop)

    async def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Return the result of work in the other loop."""
        return await asyncio.wrap_future(self.submit(work).outcome)

    def close(self) -> None:
        """Stop the loop; every job must have ended."""
        if self._loop and self._thread:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = self._thread = None
