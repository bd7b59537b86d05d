"""A second event loop, in a thread of its own, where readings are carried out.

Cutting chunks and counting tokens takes time, and with a server's tokenizer it waits for the network. Here it holds up
other readings' next calls at most, never a request, a stream or a page.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

_T = TypeVar("_T")


class Interrupted(Exception):
    """The job was cancelled, and has ended."""


class WorkerJob(Generic[_T]):
    """Work in the other loop. `outcome` is settled when it has ended, also after `cancel`."""

    def __init__(self, work: Coroutine[Any, Any, _T], loop: asyncio.AbstractEventLoop) -> None:
        self.outcome: Future[_T] = Future()
        self._loop = loop
        self._task: asyncio.Task[_T] | None = None
        loop.call_soon_threadsafe(self._begin, work)

    def cancel(self) -> None:
        """Interrupt it."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _begin(self, work: Coroutine[Any, Any, _T]) -> None:
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._settle)

    def _cancel(self) -> None:
        assert self._task is not None
        self._task.cancel()

    def _settle(self, task: asyncio.Task[_T]) -> None:
        if task.cancelled():
            self.outcome.set_exception(Interrupted())
        elif error := task.exception():
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


class WorkerLoop:
    """The loop and its thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def begin(self, work: Coroutine[Any, Any, _T]) -> WorkerJob[_T]:
        """Start the work there."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="bookwheel readings", daemon=True)
            self._thread.start()
        return WorkerJob(work, self._loop)

    def close(self) -> None:
        """Stop, once every job has ended."""
        if self._loop and self._thread:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = self._thread = None
