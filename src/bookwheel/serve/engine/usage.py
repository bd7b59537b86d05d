"""State that survives a restart of the server: its readings, the requests they answer, the tokens that keys used.

A small SQLite file beside the journal, which keeps the readings themselves.
"""

import json
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bookwheel.journal import files
from bookwheel.journal.files import make_private, translate_errors

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS readings (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, request TEXT, print TEXT NOT NULL, open INTEGER NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS requests ON readings(owner, request) WHERE request IS NOT NULL;
CREATE TABLE IF NOT EXISTS leaders (id TEXT PRIMARY KEY, leader TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS documents (
    owner TEXT NOT NULL, sha256 TEXT NOT NULL, document INTEGER NOT NULL, PRIMARY KEY (owner, sha256)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spending (
    owner TEXT NOT NULL, day TEXT NOT NULL, tokens INTEGER NOT NULL, PRIMARY KEY (owner, day)
);
"""
# A second server on the same journal may hold the file while it starts.
_LOCK_TIMEOUT: Final = 60
# Values of the column `open`. Older files have no -1.
_OPEN: Final = 1
_ENDED: Final = 0
_AWAITED: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEntry:
    """A reading that the server started."""

    id: str
    key_name: str
    """The key that asked for it; empty where the server has no keys."""
    idempotency_key: str | None = None
    fingerprint: str = ""
    is_open: bool = True
    """The server continues it after a restart. If not at its beginning, a client waits for it on its connection."""
    leader: str = ""
    """The first of the readings in lockstep that it is one of; empty for a reading by itself."""


class UsageStore:
    """Short reads and writes, from any thread."""

    def __init__(self, journal: Path) -> None:
        self.path = journal.with_name(f"{journal.name}.serve")
        self._lock = threading.Lock()
        with translate_errors(self.path, "open"):
            make_private(self.path)
            self._connection = sqlite3.connect(
                self.path, timeout=_LOCK_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(f"PRAGMA synchronous = {files.SYNCHRONOUS}")
            self._connection.executescript(_TABLES)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _execute(self, query: str, *values: Any) -> list[Any]:
        with self._lock, translate_errors(self.path, "write to"):
            return self._connection.execute(query, values).fetchall()

    # Readings

    def save_reading(self, entry: UsageEntry) -> None:
        """Record a reading that starts or continues; one that is known keeps its request."""
        state = _OPEN if entry.is_open else _AWAITED
        self._execute(
            "INSERT INTO readings VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET open = excluded.open",
            *(entry.id, entry.key_name, entry.idempotency_key, entry.fingerprint, state),
        )
        if entry.leader:
            self._execute("INSERT OR REPLACE INTO leaders VALUES (?, ?)", entry.id, entry.leader)

    def find_reading(self, key_name: str, idempotency_key: str) -> UsageEntry | None:
        return next(iter(self._select("owner = ? AND request = ?", key_name, idempotency_key)), None)

    def list_open(self) -> list[UsageEntry]:
        """Return the readings that were under way when the server ended, oldest first."""
        return self._select("open = ?", _OPEN)

    def list_ended(self, ids: Sequence[str]) -> list[UsageEntry]:
        """Return those of these readings that have ended and were nobody's to wait for, oldest first."""
        chosen = "readings.id IN (SELECT value FROM json_each(?))"
        return self._select(f"open = ? AND {chosen}", _ENDED, json.dumps(list(ids)))

    def _select(self, where: str, *values: Any) -> list[UsageEntry]:
        rows = self._execute(
            "SELECT readings.*, leader FROM readings LEFT JOIN leaders ON leaders.id = readings.id "
            f"WHERE {where} ORDER BY readings.rowid",
            *values,
        )
        return [
            UsageEntry(
                id=id_,
                key_name=key_name,
                idempotency_key=request,
                fingerprint=fingerprint,
                is_open=state == _OPEN,
                leader=leader or "",
            )
            for id_, key_name, request, fingerprint, state, leader in rows
        ]

    def set_ended(self, id_: str) -> None:
        """Record that a reading has ended, so that the server does not continue it after a restart."""
        self._execute("UPDATE readings SET open = ? WHERE id = ? AND open = ?", _ENDED, id_, _OPEN)

    def delete_reading(self, id_: str) -> None:
        self._execute("DELETE FROM readings WHERE id = ?", id_)
        self._execute("DELETE FROM leaders WHERE id = ?", id_)

    def list_owned(self, key_name: str) -> list[str]:
        return [row[0] for row in self._execute("SELECT id FROM readings WHERE owner = ? ORDER BY rowid", key_name)]

    # Documents that keys have brought

    def add_document(self, key_name: str, sha256: str, document: int) -> None:
        """Record that a key has brought this text, as this document of the journal."""
        on_conflict = "ON CONFLICT DO UPDATE SET document = excluded.document"
        self._execute(f"INSERT INTO documents VALUES (?, ?, ?) {on_conflict}", key_name, sha256, document)

    def find_document(self, key_name: str, sha256: str) -> int | None:
        """Return the document of the journal that a key brought with this text."""
        rows = self._execute("SELECT document FROM documents WHERE owner = ? AND sha256 = ?", key_name, sha256)
        return int(rows[0][0]) if rows else None

    def list_documents(self, key_name: str) -> dict[str, int]:
        """Return the documents of the journal that a key has brought, by the SHA-256 of their texts."""
        return dict(self._execute("SELECT sha256, document FROM documents WHERE owner = ?", key_name))

    def is_owned(self, document: int) -> bool:
        """Return True if any key has brought this document of the journal."""
        return bool(self._execute("SELECT 1 FROM documents WHERE document = ? AND owner <> ''", document))

    def delete_document(self, key_name: str, sha256: str) -> None:
        self._execute("DELETE FROM documents WHERE owner = ? AND sha256 = ?", key_name, sha256)

    # Tokens

    def add_tokens(self, key_name: str, tokens: int) -> None:
        self._execute(
            "INSERT INTO spending VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens",
            *(key_name, today(), tokens),
        )

    def tokens_today(self, key_name: str) -> int:
        rows = self._execute("SELECT tokens FROM spending WHERE owner = ? AND day = ?", key_name, today())
        return int(rows[0][0]) if rows else 0


def today() -> str:
    """Return the date by UTC, in ISO 8601."""
    return datetime.now(UTC).date().isoformat()
