"""What was computed of the texts of a lasting memory for one question and serves the next, some texts together.

The database itself drops an index with any change of a text that it is of, so no forgetting can miss it. One that was
made of texts that were forgotten meanwhile is not kept.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from bookwheel.errors import JournalError
from bookwheel.journal.access import ReadPool, Writer
from bookwheel.journal.memory_rows import TEXTS, MemoryText

_COUNT: Final = len(TEXTS.columns)
# The indexes, and the texts that none is of: as of one moment.
_STATE: Final = f"""
SELECT id, {", ".join(["NULL"] * _COUNT)} FROM memory_indexes WHERE memory = ?1 AND name = ?2
UNION ALL
SELECT NULL, {TEXTS.names} FROM memory_texts WHERE memory = ?1 AND number > coalesce(
    (SELECT last FROM memory_indexes WHERE memory = ?1 AND name = ?2 AND first <= number ORDER BY first DESC LIMIT 1), 0
)
"""
_WITHIN: Final = "memory = ?1 AND number BETWEEN ?2 AND ?3"


class MemoryIndexes:
    """The indexes of one memory that have one name."""

    def __init__(self, reader: ReadPool, writer: Writer, memory: int, name: str) -> None:
        self._reader = reader
        self._writer = writer
        self._memory = memory
        self._name = name

    def list_all(self) -> tuple[list[int], list[MemoryText]]:
        """Return the numbers of the indexes, and the texts in order of arrival that none is of.

        An index that is made anew has another number.
        """
        rows = self._reader.fetch_all(_STATE, (self._memory, self._name))
        loose = [TEXTS.from_row(row[1:], {}) for row in rows if row[0] is None]
        return [row[0] for row in rows if row[0] is not None], sorted(loose, key=lambda text: text.number)

    def load(self, number: int) -> bytes:
        """Return an index; nothing where it is gone."""
        row = self._reader.fetch_one("SELECT content FROM memory_indexes WHERE id = ?", (number,))
        return row[0] if row else b""

    def keep(self, texts: Sequence[MemoryText], content: bytes) -> None:
        """Keep an index of some texts in a row, if they are as they were; nothing is lost where it cannot be kept."""
        first, last = texts[0].number, texts[-1].number

        def insert(connection: sqlite3.Connection) -> None:
            found = connection.execute(
                f"SELECT number, sha256 FROM memory_texts WHERE {_WITHIN} ORDER BY number", (self._memory, first, last)
            )
            if found.fetchall() != [(text.number, text.sha256) for text in texts]:
                return
            # Those of another name are of an older version of the program.
            connection.execute(
                "DELETE FROM memory_indexes WHERE memory = ? AND (name <> ? OR (first <= ? AND last >= ?))",
                (self._memory, self._name, last, first),
            )
            connection.execute(
                "INSERT INTO memory_indexes VALUES (random() & 9223372036854775807, ?, ?, ?, ?, ?)",
                (self._memory, first, last, self._name, content),
            )

        with suppress(JournalError):
            self._writer.write_now(insert)

    def drop(self, number: int) -> None:
        self._writer.execute_now("DELETE FROM memory_indexes WHERE id = ?", (number,))
