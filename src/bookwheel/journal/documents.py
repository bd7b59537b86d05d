"""The documents of a journal: a text is kept once, in compressed pieces, under its SHA-256.

The same text may have come under other names or from other files, so names and places (which source and page a
character is from) are kept beside the text, and each reading refers to the ones that it was begun with.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zlib
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from bookwheel.errors import JournalError
from bookwheel.journal.rows import load_text, store_text
from bookwheel.journal.schema import translate_errors
from bookwheel.types import DocumentInfo, Part

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from bookwheel.journal.read_pool import ReadPool
    from bookwheel.types import Document

_PIECE: Final = 1 << 20
"""Characters of a piece."""
_PART: Final = 1 << 14
"""Characters of a part that is read back: what cuts chunks off it copies what is left of it each time."""
_IN_MEMORY: Final = 8 << 20
"""Bytes of compressed text that are held before a file is used."""
_LEVEL: Final = 1
_KEEP_UNREAD: Final = "-1 day"
"""How long a text that no reading refers to is left alone: its reading may be about to begin."""

Place = tuple[int, str, int | None]
"""From which character on which source and page go."""


class SpooledDocument:
    """A document on its way into the journal: compressed and weighed outside of it, so that nobody has to wait.

    Its file has no name, so nothing of it is left behind by a process that is killed.
    """

    def __init__(self, document: Document, journal: Path) -> None:
        self.name = document.name
        self._journal = journal
        self.length = 0
        self.places: list[Place] = []
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, dir=str(journal.parent))  # noqa: SIM115
        self._sizes: list[tuple[int, int]] = []
        """Characters and compressed bytes of each piece."""
        sha = hashlib.sha256()
        try:
            for piece in self._pieces(document):
                content = piece.encode("utf-8", "surrogatepass")
                sha.update(content)
                self._sizes.append((len(piece), self._write(zlib.compress(content, _LEVEL))))
        except BaseException:
            self.close()
            raise
        self.sha256 = sha.hexdigest()
        listed = json.dumps(self.places).encode()
        self.digest = hashlib.sha256(listed).hexdigest()

    def _write(self, content: bytes) -> int:
        with translate_errors(self._journal, "write to"):
            self._file.write(content)
        return len(content)

    def _pieces(self, document: Document) -> Iterator[str]:
        waiting: list[str] = []
        have = 0
        for part in document.parts():
            if not part.text:
                continue
            if not self.places or self.places[-1][1:] != (part.source, part.page):
                self.places.append((self.length, part.source, part.page))
            self.length += len(part.text)
            waiting.append(part.text)
            have += len(part.text)
            if have >= _PIECE:
                text = "".join(waiting)
                whole = have - have % _PIECE
                yield from (text[at : at + _PIECE] for at in range(0, whole, _PIECE))
                waiting, have = [text[whole:]], have - whole
        if have:
            yield "".join(waiting)

    def close(self) -> None:
        """Give the space back."""
        self._file.close()

    def put(self, connection: sqlite3.Connection) -> int:
        """Copy what the journal does not have yet; the number of the document's row."""
        row = connection.execute("SELECT id FROM texts WHERE sha256 = ?", (self.sha256,)).fetchone()
        text = row[0] if row else self._put_text(connection)
        connection.execute("UPDATE texts SET kept = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = ?", (text,))
        key = (text, store_text(self.name), self.digest)
        connection.execute(
            "INSERT INTO documents (text, name, digest, used) VALUES (?, ?, ?, "
            "(SELECT coalesce(max(used), 0) + 1 FROM documents)) "
            "ON CONFLICT DO UPDATE SET used = excluded.used",
            key,
        )
        found = connection.execute(
            "SELECT id FROM documents WHERE text = ? AND name = ? AND digest = ?", key
        ).fetchone()
        document = int(found[0])
        connection.executemany(
            "INSERT OR IGNORE INTO places (document, start, source, page) VALUES (?, ?, ?, ?)",
            ((document, start, store_text(source), page) for start, source, page in self.places),
        )
        return document

    def _put_text(self, connection: sqlite3.Connection) -> int:
        inserted = connection.execute(
            "INSERT INTO texts (sha256, characters) VALUES (?, ?)", (self.sha256, self.length)
        )
        text = int(inserted.lastrowid or 0)
        self._file.seek(0)
        start = 0
        for characters, size in self._sizes:
            connection.execute("INSERT INTO pieces VALUES (?, ?, ?)", (text, start, self._file.read(size)))
            start += characters
        return text


class StoredDocument:
    """A document as the journal has it. Any part of it is at hand without reading what stands before."""

    def __init__(self, reader: ReadPool, row: int) -> None:
        found = reader.one(
            "SELECT texts.id, sha256, characters, name FROM documents JOIN texts ON texts.id = text "
            "WHERE documents.id = ?",
            (row,),
        )
        if found is None:
            raise JournalError(f"the journal {reader.path} no longer holds this document; read it from its file again")
        self.row = row
        self.id: str = found[1]
        self.name = load_text(found[3])
        self.length: int = found[2]
        self._text: int = found[0]
        self._reader = reader
        self._places: list[Place] | None = None
        self._piece: tuple[int, str] = (0, "")

    @property
    def info(self) -> DocumentInfo:
        """What a reading says about its document."""
        return DocumentInfo(id=self.id, name=self.name, length=self.length)

    def parts(self, start: int = 0) -> Iterator[Part]:
        """The text from character `start` on, in parts that are each from one source and page."""
        places = self._marks()
        at = bisect_right(places, start, key=lambda place: place[0]) - 1
        while start < self.length:
            _, source, page = places[at]
            end = places[at + 1][0] if at + 1 < len(places) else self.length
            while start < end:
                stop = min(end, start + _PART)
                yield Part(text=self.slice(start, stop), source=source, page=page)
                start = stop
            at += 1

    def slice(self, start: int, end: int) -> str:
        """The characters from `start` up to `end`."""
        found = []
        start, end = max(0, start), min(end, self.length)
        while start < end:
            first, piece = self._piece_at(start)
            found.append(piece[start - first : end - first])
            start = first + len(piece)
        return "".join(found)

    def _piece_at(self, start: int) -> tuple[int, str]:
        first, piece = self._piece
        if not first <= start < first + len(piece):
            row = self._reader.one(
                "SELECT start, content FROM pieces WHERE text = ? AND start <= ? ORDER BY start DESC LIMIT 1",
                (self._text, start),
            )
            if row is None:
                raise JournalError(f"the text of {self.name} was deleted from the journal {self._reader.path}")
            first, piece = row[0], zlib.decompress(row[1]).decode("utf-8", "surrogatepass")
            self._piece = first, piece
        return first, piece

    def _marks(self) -> list[Place]:
        if self._places is None:
            rows = self._reader.all(
                "SELECT start, source, page FROM places WHERE document = ? ORDER BY start", (self.row,)
            )
            self._places = [(start, load_text(source), page) for start, source, page in rows]
        return self._places


def delete_unread(connection: sqlite3.Connection, document: int) -> None:
    """Take out this document if no reading refers to it any more, and such as were never read."""
    unread = "NOT EXISTS (SELECT 1 FROM readings WHERE readings.document = documents.id)"
    old = f"text IN (SELECT id FROM texts WHERE kept < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '{_KEEP_UNREAD}'))"
    connection.execute(f"DELETE FROM documents WHERE {unread} AND (id = ? OR {old})", (document,))
    connection.execute("DELETE FROM texts WHERE NOT EXISTS (SELECT 1 FROM documents WHERE documents.text = texts.id)")
