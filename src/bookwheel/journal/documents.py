"""The documents of a journal: each text is stored once, in compressed pieces, under its SHA-256.

The same text may come under several names or from several files. So names and places (the source and page of each
character) are stored apart from the text, and each reading refers to those it began with.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from bookwheel.errors import JournalError, JournalFull, NotKept
from bookwheel.journal.access import ReadPool, Writer
from bookwheel.journal.files import measure_journal, translate_errors
from bookwheel.journal.originals import (
    PICTURE_COLUMNS,
    Original,
    SpooledPictures,
    insert_originals,
    load_picture,
    pictures_from_rows,
)
from bookwheel.journal.tables import IS_SOUND, digest, from_json, load_text, store_text, to_json
from bookwheel.picture import Picture
from bookwheel.text.leads import WithLeads
from bookwheel.text.lines import find_lines, has_lines
from bookwheel.types import Document, DocumentInfo, Part

# Characters of a piece.
_PIECE: Final = 1 << 20
# Characters of a part that is read back. Small, because cutting a chunk copies the rest of the part.
_PART: Final = 1 << 14
# Bytes of compressed text in memory before a temporary file is used.
_IN_MEMORY: Final = 8 << 20
_LEVEL: Final = 1
# The time a text without a reading stays: its reading may be about to begin.
_KEEP_UNREAD: Final = "-1 day"
_NOW: Final = "'%Y-%m-%dT%H:%M:%fZ', 'now'"
NEWEST_DOCUMENT: Final = (
    "SELECT documents.id FROM documents JOIN texts ON texts.id = text "
    "WHERE sha256 = ?1 AND (?2 IS NULL OR name = ?2) ORDER BY used DESC LIMIT 1"
)
"""The row that `keep` stored last of this text and, if one is given, this name."""
Place = tuple[int, str, int | None]
"""The character where a source and page begin, the source and the page."""


class SpooledDocument:
    """A document that is compressed and hashed before it enters the journal, so that no other writer waits for it.

    Its temporary file has no name, so a killed process leaves nothing behind.
    """

    def __init__(self, document: Document, journal: Path, *, keeps_files: bool = True) -> None:
        import tempfile  # `bookwheel list` stores nothing

        self.name = document.name
        self._files: tuple[tuple[str, Path], ...] = getattr(document, "files", ()) if keeps_files else ()
        self._journal = journal
        self.length = 0
        self.places: list[Place] = []
        self._pictures = SpooledPictures(str(journal.parent)) if keeps_files else None
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, dir=str(journal.parent))  # noqa: SIM115
        self._sizes: list[tuple[int, int]] = []
        """Characters and compressed bytes of each piece."""
        import hashlib

        sha = hashlib.sha256()
        try:
            for piece in self._pieces(document):
                content = piece.encode("utf-8", "surrogatepass")
                sha.update(content)
                packed = zlib.compress(content, _LEVEL)
                with translate_errors(journal, "write to"):
                    self._file.write(packed)
                self._sizes.append((len(piece), len(packed)))
        except BaseException:
            self.close()
            raise
        self.sha256 = sha.hexdigest()
        # Complete only now: the parts have been converted one by one.
        self.notes = tuple(getattr(document, "notes", ()))
        self.digest = _hash_places(self.places)

    def _pieces(self, document: Document) -> Iterator[str]:
        pending: list[str] = []
        length = 0
        for part in document.parts():
            if self._pictures and part.pictures:
                with translate_errors(self._journal, "write to"):
                    self._pictures.add(part.pictures)
            if not part.text:
                continue
            if not self.places or self.places[-1][1:] != (part.source, part.page):
                self.places.append((self.length, part.source, part.page))
            self.length += len(part.text)
            pending.append(part.text)
            length += len(part.text)
            if length >= _PIECE:
                text = "".join(pending)
                end = length - length % _PIECE
                yield from (text[at : at + _PIECE] for at in range(0, end, _PIECE))
                pending, length = [text[end:]], length - end
        if length:
            yield "".join(pending)

    def close(self) -> None:
        self._file.close()
        if self._pictures:
            self._pictures.close()

    def insert(self, connection: sqlite3.Connection, most_bytes: int | None = None) -> int:
        """Insert what the journal does not have yet. Return the number of the document's row.

        Raise JournalFull if the journal would then have more than `most_bytes`.
        """
        row = connection.execute("SELECT id FROM texts WHERE sha256 = ?", (self.sha256,)).fetchone()
        # Here, because documents are inserted one after the other: several at once could each find room.
        if row is None and most_bytes is not None:
            size = sum(size for _, size in self._sizes) + (self._pictures.size if self._pictures else 0)
            if measure_journal(self._journal) + size > most_bytes:
                raise JournalFull(f"the journal may take {most_bytes >> 20} MiB, and {self.name} does not fit any more")
        text = row[0] if row else self._insert_text(connection)
        connection.execute(f"UPDATE texts SET kept = strftime({_NOW}) WHERE id = ?", (text,))
        key = (text, store_text(self.name), self.digest)
        connection.execute(
            "INSERT INTO documents (text, name, digest, notes, used) VALUES (?, ?, ?, ?, "
            "(SELECT coalesce(max(used), 0) + 1 FROM documents)) "
            "ON CONFLICT DO UPDATE SET used = excluded.used, notes = excluded.notes",
            (*key, to_json(self.notes)),
        )
        row = connection.execute("SELECT id FROM documents WHERE text = ? AND name = ? AND digest = ?", key).fetchone()
        document = int(row[0])
        connection.executemany(
            "INSERT OR IGNORE INTO places (document, start, source, page) VALUES (?, ?, ?, ?)",
            ((document, start, store_text(source), page) for start, source, page in self.places),
        )
        insert_originals(connection, document, self._files)
        if self._pictures:
            self._pictures.insert(connection, document)
        return document

    def _insert_text(self, connection: sqlite3.Connection) -> int:
        insert = "INSERT INTO texts (sha256, characters) VALUES (?, ?)"
        text = int(connection.execute(insert, (self.sha256, self.length)).lastrowid or 0)
        self._file.seek(0)
        start = 0
        for characters, size in self._sizes:
            piece = (text, start, self._file.read(size))
            connection.execute("INSERT INTO pieces (text, start, content) VALUES (?, ?, ?)", piece)
            start += characters
        return text


class StoredDocument(WithLeads):
    """A document in the journal. Any slice of it can be read without the text before it."""

    def __init__(self, reader: ReadPool, row: int, writer: Writer | None = None) -> None:
        columns = reader.fetch_one(
            "SELECT texts.id, sha256, characters, name, notes, digest, "
            f"{IS_SOUND['documents']} AND {IS_SOUND['texts']} "
            "FROM documents JOIN texts ON texts.id = text WHERE documents.id = ?",
            (row,),
        )
        if columns is None:
            raise NotKept(f"the journal {reader.path} no longer has this document; read it from its file again")
        text, self.id, self.length, name, notes, digest, is_sound = columns
        if not is_sound:
            raise _damage_error(f"the document of row {row}", reader.path)
        self.row = row
        self.name = load_text(name)
        self.notes: tuple[str, ...] = tuple(from_json(notes))
        """Sentences about what was left out of the text or guessed."""
        self._digest: str = digest
        self._text: int = text
        self._reader = reader
        self._writer = writer
        self._places: list[Place] | None = None
        self._piece: tuple[int, str] = (0, "")

    @property
    def info(self) -> DocumentInfo:
        return DocumentInfo(id=self.id, name=self.name, length=self.length, notes=self.notes)

    def parts(self, start: int = 0) -> Iterator[Part]:
        """Yield the text from character `start` on, in parts that are each from one source and page."""
        places = self._load_places()
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
        texts = []
        start, end = max(0, start), min(end, self.length)
        while start < end:
            first, piece = self._load_piece(start)
            texts.append(piece[start - first : end - first])
            start = first + len(piece)
        return "".join(texts)

    def pages(self, start: int, end: int) -> tuple[int, ...]:
        """Return the pages that hold the characters from `start` up to `end`, without reading any text."""
        return tuple(dict.fromkeys(page for _, _, page in self._find_places(start, end) if page is not None))

    def sources(self, start: int, end: int) -> tuple[str, ...]:
        """Return the sources that hold the characters from `start` up to `end`, without reading any text."""
        return tuple(dict.fromkeys(source for _, source, _ in self._find_places(start, end)))

    def lines(self, start: int, end: int) -> tuple[int, ...]:
        """Return the first and the last line of the file that these characters stand in; none where it has no lines."""
        places = self._find_places(start, end)
        if len({source for _, source, _ in places}) != 1 or places[0][2] is not None or not has_lines(places[0][1]):
            return ()
        return find_lines(self.slice, places[0][0], start, end)

    def list_pages(self) -> list[Place]:
        """Return where each source and page begins."""
        return list(self._load_places())

    def originals(self) -> tuple[Original, ...]:
        """Return the files that it was read from, as far as they are kept."""
        query = "SELECT id, source, bytes, sha256 FROM originals WHERE document = ? ORDER BY id"
        rows = self._reader.fetch_all(query, (self.row,))
        return tuple(Original(row=row, source=load_text(name), size=size, sha256=sha) for row, name, size, sha in rows)

    def load_original(self, original: Original) -> bytes:
        query = "SELECT content FROM original_pieces WHERE original = ? ORDER BY number"
        content = b"".join(piece for (piece,) in self._reader.fetch_all(query, (original.row,)))
        if digest(content) != original.sha256:
            raise JournalError(
                f"the file {original.source} is damaged or gone in the journal {self._reader.path}; its text is kept "
                f"apart from it: ask about the file again to keep it anew"
            )
        return content

    def list_pictures(self) -> tuple[Picture, ...]:
        query = f"SELECT {PICTURE_COLUMNS} FROM document_pictures WHERE document = ? ORDER BY number"
        return pictures_from_rows(self._reader.fetch_all(query, (self.row,)))

    def load_picture(self, sha256: str) -> bytes:
        return load_picture(self._reader, sha256)

    def _find_places(self, start: int, end: int) -> list[Place]:
        places = self._load_places()
        first = max(0, bisect_right(places, start, key=lambda place: place[0]) - 1)
        last = max(first + 1, bisect_left(places, end, key=lambda place: place[0]))
        return places[first:last]

    def load_index(self, name: str) -> bytes | None:
        if self._writer is None:  # the journal may be of a version before
            return None
        row = self._reader.fetch_one("SELECT content FROM indexes WHERE text = ? AND name = ?", (self._text, name))
        return row[0] if row else None

    def keep_index(self, name: str, content: bytes) -> None:
        """Keep what was computed of the text until it is deleted; not in a journal that is only read."""
        if self._writer:
            # Nothing is lost where the text was deleted meanwhile, or the disk is full.
            with suppress(JournalError):
                query = "INSERT OR REPLACE INTO indexes (text, name, content) VALUES (?, ?, ?)"
                self._writer.execute_now(query, (self._text, name, content))

    def _load_piece(self, start: int) -> tuple[int, str]:
        first, piece = self._piece
        if not first <= start < first + len(piece):
            row = self._reader.fetch_one(
                f"SELECT start, content, {IS_SOUND['pieces']} FROM pieces "
                "WHERE text = ? AND start <= ? ORDER BY start DESC LIMIT 1",
                (self._text, start),
            )
            if row is None:
                raise NotKept(f"the text of {self.name} was deleted from the journal {self._reader.path}")
            first, content, is_sound = row
            piece = zlib.decompress(content).decode("utf-8", "surrogatepass") if is_sound else ""
            if not first <= start < first + len(piece):  # it is damaged, or the piece after it is missing
                raise _damage_error(f"the text of {self.name} at character {start}", self._reader.path)
            self._piece = first, piece
        return first, piece

    def _load_places(self) -> list[Place]:
        if self._places is None:
            rows = self._reader.fetch_all(
                "SELECT start, source, page FROM places WHERE document = ? ORDER BY start", (self.row,)
            )
            places = [(start, load_text(source), page) for start, source, page in rows]
            if _hash_places(places) != self._digest:
                raise _damage_error(f"the list of sources and pages of {self.name}", self._reader.path)
            self._places = places
        return self._places


def _hash_places(places: list[Place]) -> str:
    return digest(json.dumps(places))


def _damage_error(what: str, path: Path) -> JournalError:
    return JournalError(
        f"{what} is damaged in the journal {path}: bookwheel doctor --repair drops what is damaged; then ask about the "
        f"file again to store it anew"
    )


def delete_unread(connection: sqlite3.Connection, document: int = 0, *, all_: bool = False) -> None:
    """Delete this document if no reading refers to it, and old documents that were never read; `all_` of any age.

    Those that somebody starred, named or put into a collection stay.
    """
    unread = "NOT EXISTS (SELECT 1 FROM readings WHERE readings.document = documents.id)"
    labelled = "SELECT id FROM labels WHERE kind = 'document' AND (starred OR name <> '')"
    wanted = f"sha256 IN ({labelled}) OR sha256 IN (SELECT sha256 FROM collections)"
    old = f"text IN (SELECT id FROM texts WHERE kept < strftime({_NOW}, '{_KEEP_UNREAD}') AND NOT ({wanted}))"
    connection.execute(f"DELETE FROM documents WHERE {unread} AND (? OR id = ? OR {old})", (all_, document))
    connection.execute("DELETE FROM texts WHERE NOT EXISTS (SELECT 1 FROM documents WHERE documents.text = texts.id)")
