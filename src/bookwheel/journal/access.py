"""Read from a journal and write to it, from any thread.

One thread writes for the whole process, so that many readings share one disk sync: a transaction costs one sync,
whatever it holds. Writes go to a queue. While the disk is busy with one transaction the queue fills, and the next
transaction takes all of it. If one write of a transaction fails, the transaction is rolled back and its writes run one
by one, so that each succeeds or fails for itself.

SQLite drops the end of a damaged log without a word. So each transaction counts itself in the table `commits`, and once
it is on disk its number and what it wrote are noted in a file beside the journal, without waiting for the disk again.
Whoever opens a journal with a lower number is told what it has lost.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, LifoQueue, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bookwheel.errors import JournalError
from bookwheel.journal.files import COMMITS, connect, file_beside, translate_errors

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

_MOST_AT_ONCE: Final = 1024
# Bytes of notes on transactions. SQLite puts its log into the file every four megabytes, so older ones are not needed.
_MOST_NOTES: Final = 1 << 18
_T = TypeVar("_T")


class ReadPool:
    """Runs each query over a connection of its own, so reads run in parallel and never block writers."""

    def __init__(self, path: Path, open_connection: Callable[[Path], sqlite3.Connection] = connect) -> None:
        self.path = path
        self._open_connection = open_connection
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        self._closed = False

    def fetch_one(self, query: str, values: Sequence[Any] = ()) -> Any:
        with self._connection() as connection:
            return connection.execute(query, values).fetchone()

    def fetch_all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._connection() as connection:
            return connection.execute(query, values).fetchall()

    def close(self) -> None:
        """Close all idle connections. Those in use close when their query ends."""
        self._closed = True
        # Not until it is empty: another thread may take the last one in between.
        with suppress(Empty):
            while True:
                self._idle.get_nowait().close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if self._closed:
            raise JournalError(f"the journal {self.path} was closed; open it again to read from it")
        with translate_errors(self.path, "read from"):
            try:
                connection = self._idle.get_nowait()
            except Empty:
                connection = self._open_connection(self.path)
            try:
                yield connection
            finally:
                self._idle.put(connection)
                if self._closed:
                    self.close()


@dataclass(slots=True, kw_only=True)
class _WriteRequest:
    """A function that writes, and the future that waits for it."""

    work: Callable[[sqlite3.Connection], Any]
    waiter: Future[Any] | asyncio.Future[Any]
    what: str = ""
    """What is written, in a few words without a semicolon, for who is told that it was lost."""
    outcome: Any = None
    failure: Exception | None = None

    def resolve(self) -> None:
        if self.waiter.done():  # cancelled; its write is stored all the same
            return
        if self.failure:
            self.waiter.set_exception(self.failure)
        else:
            self.waiter.set_result(self.outcome)


class Writer:
    """Writes to one journal, in the order of the calls."""

    def __init__(self, path: Path, open_connection: Callable[[Path], sqlite3.Connection] = connect) -> None:
        self._path = path
        self._open_connection = open_connection
        self._queue: SimpleQueue[_WriteRequest | None] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._notes: int | None = None
        self._closed = False

    async def write(self, work: Callable[[sqlite3.Connection], None], what: str = "") -> None:
        """Run `work` in the writer's thread and return once its changes are on disk."""
        from asyncio import get_running_loop  # a third of the time that `bookwheel list` would take

        waiter = get_running_loop().create_future()
        self._enqueue(_WriteRequest(work=work, waiter=waiter, what=what))
        await waiter

    def write_now(self, work: Callable[[sqlite3.Connection], _T], what: str = "") -> _T:
        """Run `work` in the writer's thread, for callers without an event loop, and return its result."""
        from concurrent.futures import Future

        waiter: Future[_T] = Future()
        self._enqueue(_WriteRequest(work=work, waiter=waiter, what=what))
        return waiter.result()

    def execute_now(self, query: str, values: Sequence[Any] = ()) -> None:
        """Execute one statement in the writer's thread, and return once its changes are on disk."""
        self.write_now(lambda connection: connection.execute(query, values).close())

    def close(self) -> None:
        """Finish pending writes, then stop the thread."""
        with self._starting:
            self._closed = True
            if self._thread:
                self._queue.put(None)
                self._thread.join()
                self._thread = None

    def _enqueue(self, write: _WriteRequest) -> None:
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
            batch, is_last = self._collect_batch(first)
            try:
                if connection is None:
                    with translate_errors(self._path, "write to"):
                        connection = self._open_connection(self._path)
            except JournalError as error:
                for write in batch:
                    write.failure = error
            else:
                self._commit(connection, batch)
            _notify_waiters(batch)
            if is_last:
                break
        if connection:
            connection.close()
        if self._notes is not None:
            os.close(self._notes)

    def _collect_batch(self, first: _WriteRequest) -> tuple[list[_WriteRequest], bool]:
        """Return all pending writes, and True if the writer must stop after them."""
        batch = [first]
        with suppress(Empty):
            while len(batch) < _MOST_AT_ONCE:
                write = self._queue.get_nowait()
                if write is None:
                    return batch, True
                batch.append(write)
        return batch, False

    def _commit(self, connection: sqlite3.Connection, batch: list[_WriteRequest]) -> None:
        try:
            with translate_errors(self._path, "write to"):
                self._transact(connection, batch)
        except Exception as error:  # noqa: BLE001  whatever a write raises goes to its caller
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
            connection.execute("UPDATE commits SET count = count + 1")
            (count,) = connection.execute("SELECT count FROM commits").fetchone()
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk has already rolled it back
                connection.execute("ROLLBACK")
            raise
        self._note(f"{count} {'; '.join(write.what for write in batch if write.what)}\n")

    def _note(self, line: str) -> None:
        # The transaction is kept in any case: a full disk, or another user's file, is no reason to say it failed.
        with suppress(OSError):
            if self._notes is None:
                self._notes = os.open(file_beside(self._path, COMMITS), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            if os.fstat(self._notes).st_size > _MOST_NOTES:
                os.ftruncate(self._notes, 0)
            os.write(self._notes, line.encode("utf-8", "replace"))


def _notify_waiters(batch: Iterable[_WriteRequest]) -> None:
    """Resolve all waiters. Wake each event loop once, not once per write."""
    loops: dict[asyncio.AbstractEventLoop, list[_WriteRequest]] = defaultdict(list)
    for write in batch:
        if loop := getattr(write.waiter, "get_loop", None):
            loops[loop()].append(write)
        else:
            write.resolve()
    for each, writes in loops.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            each.call_soon_threadsafe(_resolve_all, writes)


def _resolve_all(writes: Iterable[_WriteRequest]) -> None:
    for write in writes:
        write.resolve()
