"""Reading from the journal, from any thread, while others write."""

from __future__ import annotations

from contextlib import contextmanager
from queue import Empty, LifoQueue
from typing import TYPE_CHECKING, Any

from bookwheel.errors import JournalError
from bookwheel.journal.schema import connect, translate_errors

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


class ReadPool:
    """Queries, each over a connection of its own for as long as it takes; no read holds back the writers."""

    def __init__(self, path: Path, opened: Callable[[Path], sqlite3.Connection] = connect) -> None:
        self.path = path
        self._opened = opened
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        self._closed = False

    def one(self, query: str, values: Sequence[Any] = ()) -> Any:
        """The first row, or None."""
        with self._connection() as connection:
            return connection.execute(query, values).fetchone()

    def all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Every row."""
        with self._connection() as connection:
            return connection.execute(query, values).fetchall()

    def close(self) -> None:
        """Let go of the file."""
        self._closed = True
        while not self._idle.empty():
            self._idle.get_nowait().close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if self._closed:
            raise JournalError(f"the journal {self.path} was closed; open it again to read from it")
        with translate_errors(self.path, "read from"):
            try:
                connection = self._idle.get_nowait()
            except Empty:
                connection = self._opened(self.path)
            try:
                yield connection
            finally:
                self._idle.put(connection)
                if self._closed:
                    self.close()
