"""Work in the background: in the event loop of another thread, or left by whoever began it before its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

_T = TypeVar("_T")
_Work = TypeVar("_Work", bound="asyncio.Future[Any]")


class LoopThread:
    """An event loop in a thread of its own, which whoever made it closes."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Begin the work; any thread may ask for it and wait for its future."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def end_tasks(self) -> None:
        """Cancel what runs in the loop, and wait for its end."""
        self.submit(_cancel_others()).result()

    def close(self) -> None:
        """Cancel what still runs, and end loop and thread."""
        self.end_tasks()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def let_leave(work: _Work) -> _Work:
    """Return the work as it is; an error in it that nobody asks for any more is not written as a traceback."""
    work.add_done_callback(lambda done: done.cancelled() or done.exception())
    return work
