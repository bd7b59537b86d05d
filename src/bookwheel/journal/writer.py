"""One thread that writes for a whole process, so that many readings share one trip to the disk.

A transaction costs a wait for the disk, whatever it holds. Each write is put in a queue; while the disk is busy with
one transaction the queue fills, and the next transaction takes all of it. When one write of a transaction fails, the
transaction is undone and its writes are done one by one, so that each succeeds or fails for itself.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import defaultdict
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bookwheel.errors import JournalError
from bookwheel.journal.schema import connect, translate_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

_MOST_AT_ONCE: Final = 1024
_T = TypeVar("_T")


@dataclass(slots=True, kw_only=True)
class _WriteRequest:
    """One thing to write, and who waits for it."""

    work: Callable[[sqlite3.Connection], Any]
    waiter: Future[Any] | asyncio.Future[Any]
    outcome: Any = None
    failure: Exception | None = None

    def settle(self) -> None:
        """Tell the waiter; one that was cancelled has gone, and what it asked for is kept all the same."""
        if self.waiter.done():
            return
        if self.failure:
            self.waiter.set_exception(self.failure)
        else:
            self.waiter.set_result(self.outcome)


class Writer:
    """Writes to one journal, in order of asking."""

    def __init__(self, path: Path, opened: Callable[[Path], sqlite3.Connection] = connect) -> None:
        self._path = path
        self._opened = opened
        self._queue: SimpleQueue[_WriteRequest | None] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def write(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Return when what `work` did is on the disk."""
        waiter = asyncio.get_running_loop().create_future()
        self._put(_WriteRequest(work=work, waiter=waiter))
        await waiter

    def write_now(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """The same for callers without an event loop; gives what `work` gave."""
        waiter: Future[_T] = Future()
        self._put(_WriteRequest(work=work, waiter=waiter))
        return waiter.result()

    def close(self) -> None:
        """Write what is waiting, then stop."""
        with self._starting:
            self._closed = True
            if self._thread:
                self._queue.put(None)
                self._thread.join()
                self._thread = None

    def _put(self, write: _WriteRequest) -> None:
        with self._starting:
            if self._closed:
                raise JournalError(f"the journal {self._path} was closed; open it again to write to it")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="bookwheel journal", daemon=True)
                self._thread.start()
            self._queue.put(write)

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        while (first := self._queue.get()) is not None:
            batch, last = self._batch(first)
            try:
                connection = connection or self._connect()
            except JournalError as error:
                _fail_all(batch, error)
            else:
                self._commit(connection, batch)
            _notify_waiters(batch)
            if last:
                break
        if connection:
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        with translate_errors(self._path, "write to"):
            return self._opened(self._path)

    def _batch(self, first: _WriteRequest) -> tuple[list[_WriteRequest], bool]:
        """All that is waiting, and whether the writer is to stop after it."""
        batch = [first]
        while len(batch) < _MOST_AT_ONCE:
            try:
                write = self._queue.get_nowait()
            except Empty:
                break
            if write is None:
                return batch, True
            batch.append(write)
        return batch, False

    def _commit(self, connection: sqlite3.Connection, batch: list[_WriteRequest]) -> None:
        try:
            with translate_errors(self._path, "write to"):
                self._transact(connection, batch)
        except Exception as error:  # noqa: BLE001  whatever a write raises is for the one who asked for it
            if len(batch) == 1:
                batch[0].failure = error
                return
            for write in batch:
                self._commit(connection, [write])

    def _transact(self, connection: sqlite3.Connection, batch: Iterable[_WriteRequest]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for write in batch:
                write.outcome = write.work(connection)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk has already rolled it back
                connection.execute("ROLLBACK")
            raise


def _fail_all(batch: Iterable[_WriteRequest], error: Exception) -> None:
    for write in batch:
        write.failure = error


def _notify_waiters(batch: Iterable[_WriteRequest]) -> None:
    """Wake each event loop once, not once for every write."""
    loops: dict[asyncio.AbstractEventLoop, list[_WriteRequest]] = defaultdict(list)
    for write in batch:
        if isinstance(write.waiter, Future):
            write.settle()
        else:
            loops[write.waiter.get_loop()].append(write)
    for loop, writes in loops.items():
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(_resolve_all, writes)


def _resolve_all(writes: Iterable[_WriteRequest]) -> None:
    for write in writes:
        write.settle()
