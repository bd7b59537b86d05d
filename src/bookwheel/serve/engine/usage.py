"""What the server itself must not forget over a restart: its readings, the requests they answer, what keys have spent.

A small SQLite file beside the journal. Readings themselves are the journal's.
"""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from bookwheel.journal.schema import translate_errors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS readings (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, request TEXT, print TEXT NOT NULL, open INTEGER NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS requests ON readings(owner, request) WHERE request IS NOT NULL;
CREATE TABLE IF NOT EXISTS spending (
    owner TEXT NOT NULL, day TEXT NOT NULL, tokens INTEGER NOT NULL, PRIMARY KEY (owner, day)
);
"""
_PATIENCE: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEntry:
    """A reading that the server began."""

    id: str
    owner: str
    """The name of the key that asked for it; empty without keys."""
    request: str | None = None
    """Its Idempotency-Key."""
    print: str = ""
    """The hash of what was asked, so that one key is not used for two things."""
    open: bool = True
    """To be gone on with when the server comes back."""


class UsageStore:
    """Short writes, from any thread."""

    def __init__(self, journal: Path) -> None:
        self.path = journal.with_name(f"{journal.name}.serve")
        self._lock = threading.Lock()
        with translate_errors(self.path, "open"):
            self._connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.executescript(_TABLES)

    def enter(self, entry: UsageEntry) -> None:
        """Note a reading that begins or goes on; the request that it once answered stays its own."""
        values = (entry.id, entry.owner, entry.request, entry.print, entry.open)
        again = "ON CONFLICT (id) DO UPDATE SET open = excluded.open"
        self._do(f"INSERT INTO readings VALUES (?, ?, ?, ?, ?) {again}", values)

    def find(self, owner: str, request: str) -> UsageEntry | None:
        """The reading that this owner's request of that key began."""
        rows = self._do("SELECT * FROM readings WHERE owner = ? AND request = ?", (owner, request))
        return _entry(rows[0]) if rows else None

    def unfinished(self) -> list[UsageEntry]:
        """The readings that were under way when the server ended."""
        return [_entry(row) for row in self._do("SELECT * FROM readings WHERE open ORDER BY rowid")]

    def set_open(self, id_: str, *, is_open: bool) -> None:
        """Whether this reading is to be gone on with."""
        self._do("UPDATE readings SET open = ? WHERE id = ?", (is_open, id_))

    def forget(self, id_: str) -> None:
        """The reading was deleted."""
        self._do("DELETE FROM readings WHERE id = ?", (id_,))

    def spend(self, owner: str, tokens: int) -> None:
        """Add to what the owner has spent today."""
        self._do(
            "INSERT INTO spending VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens",
            (owner, today(), tokens),
        )

    def spent(self, owner: str) -> int:
        """Tokens of today."""
        rows = self._do("SELECT tokens FROM spending WHERE owner = ? AND day = ?", (owner, today()))
        return int(rows[0][0]) if rows else 0

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def _do(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._lock, translate_errors(self.path, "write to"):
            return self._connection.execute(query, values).fetchall()


def _entry(row: Sequence[Any]) -> UsageEntry:
    id_, owner, request, seal, is_open = row
    return UsageEntry(id=id_, owner=owner, request=request, print=seal, open=bool(is_open))


def today() -> str:
    """The day, by UTC."""
    return datetime.now(UTC).date().isoformat()
