"""Cancel blocking work: `await run_cancellable(function, *arguments)` ends at once when its task is cancelled.

The function runs in a thread of its own. Cancellation kills the child processes that it waits for
(`documents.children`), and its next `check_cancelled` raises WorkCancelled. A thread that hangs in the system (a pipe
that nobody writes to) is left behind; it is a daemon, so it does not keep the process alive.

    document = await run_cancellable(open_document, ["report.pdf"])

Synchronous code uses a scope, which any thread may cancel:

    with CancelScope() as scope:
        document = open_document(["report.pdf"])

A new thread does not inherit the scope: start it with `contextvars.copy_context().run`. `asyncio.to_thread` does that.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from bookwheel.errors import WorkCancelled

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits:
    """The most that one piece of work may take. Processor time and memory need an operating system with rlimits."""

    seconds: float = 900.0
    """Waited for the child; the time that the caller takes for an item does not count."""
    cpu_seconds: int = 600
    memory_bytes: int = 3 << 30
    """Address space, which is somewhat more than the memory in use."""
    output_bytes: int = 1 << 30
    """Of all items, and of each file that the child writes."""
    picture_seconds: float = 1800.0
    """More, for the words in pictures; pictures beyond are named in a note."""


class CancelScope:
    """Work that is cancelled together, and the limits of its child processes."""

    def __init__(self, limits: ChildLimits | None = None) -> None:
        self.limits = limits
        self.picture_seconds = (limits or ChildLimits()).picture_seconds
        """What is left for the words in pictures; all documents of one piece of work share it."""
        self.is_cancelled = False
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], object]] = []
        self._token: contextvars.Token[CancelScope | None] | None = None

    def __enter__(self) -> Self:
        self._token = _scope.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        _scope.reset(self._token)

    def cancel(self) -> None:
        """Cancel the work, from any thread. Its children are dead when this returns."""
        with self._lock:
            self.is_cancelled = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def check(self) -> None:
        """Raise WorkCancelled after `cancel`."""
        if self.is_cancelled:
            raise WorkCancelled("the work was cancelled")

    @contextmanager
    def on_cancel(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call `callback` if the scope is cancelled during the block; raise WorkCancelled if it was before."""
        with self._lock:
            self.check()
            self._callbacks.append(callback)
        try:
            yield
        finally:
            with self._lock, suppress(ValueError):  # `cancel` has taken it
                self._callbacks.remove(callback)


_scope: contextvars.ContextVar[CancelScope | None] = contextvars.ContextVar("scope", default=None)


def current_scope() -> CancelScope:
    """Return the innermost scope around the caller; where there is none, one that nobody cancels."""
    return _scope.get() or CancelScope()


def check_cancelled() -> None:
    """Raise WorkCancelled if the caller's scope was cancelled. Cheap: call it once a block, a file or a page."""
    if scope := _scope.get():
        scope.check()


async def run_cancellable(function: Callable[..., _T], *arguments: Any, limits: ChildLimits | None = None) -> _T:
    """Return `function(*arguments)`, run in a thread. `limits` hold for each child process that it starts.

    Callers bound how many run at once: every call has a thread of its own, so that slow ones never fill a shared pool.
    """
    import asyncio  # here, as a child process has no loop of events

    scope, outcome = CancelScope(limits or current_scope().limits), Future[_T]()

    def run() -> None:
        with suppress(InvalidStateError):  # cancelled: nobody waits
            try:
                with scope:
                    result = function(*arguments)
            except BaseException as error:  # noqa: BLE001  whatever it raises goes to the caller
                outcome.set_exception(error)
            else:
                outcome.set_result(result)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="bookwheel work", daemon=True).start()
    try:
        return await asyncio.wrap_future(outcome)
    except asyncio.CancelledError:
        scope.cancel()
        raise
