"""Read from the journal, from any thread, while others write."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from queue import Empty, LifoQueue
from typing import TYPE_CHECKING, Any

from bookwheel.errors import JournalError
from bookwheel.journal.schema import connect, translate_errors

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


class ReadPool:
    """Runs each query over a connection of its own, so reads run in parallel and never block writers."""

    def __init__(self, path: Path, open_connection: Callable[[Path], sqlite3.Connection] = connect) -> None:
        self.path = path
        self._open_connection = open_connection
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        self._closed = False

    def fetch_one(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Return the first row, or None."""
        with self._connection() as connection:
            return connection.execute(query, values).fetchone()

    def fetch_all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return every row."""
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
