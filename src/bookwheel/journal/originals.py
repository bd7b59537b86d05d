"""What is kept of documents beside their text: the files that they were read from, and the pictures in them.

Files are kept where they look like more than their text: PDFs, office files, pictures. They go with their document. One
above `MOST_BYTES` is not kept, nor is any in a journal that keeps text only. Of a picture it is known by document what
it shows, and its bytes stand once, by their SHA-256.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from bookwheel.errors import JournalError
from bookwheel.journal.access import ReadPool
from bookwheel.journal.tables import digest, from_json, load_text, store_text, to_json
from bookwheel.picture import Picture, PictureLine, is_picture

MOST_BYTES: Final = 64 << 20
_BLOCK: Final = 1 << 20
_OFFICE: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"{\\rtf")
# A PDF may begin with something else.
_PDF: Final = b"%PDF-"
_HEAD: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """A file that a document, or a part of it, was read from."""

    row: int
    source: str
    """Its name among the document's sources."""
    size: int
    """Bytes."""
    sha256: str
    """Of the bytes."""


def insert_originals(connection: sqlite3.Connection, document: int, files: Iterable[tuple[str, Path]]) -> None:
    """Insert the files that the document does not have yet. One that changed or went away meanwhile is left out."""
    for source, path in files:
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                head = file.peek(_HEAD)[:_HEAD]
                is_kept = head.startswith(_OFFICE) or is_picture(head) or _PDF in head
                content = file.read() if is_kept and size <= MOST_BYTES else b""
        except OSError:
            continue
        if not content:
            continue
        values = (document, store_text(source), len(content), digest(content))
        query = "INSERT OR IGNORE INTO originals (document, source, bytes, sha256) VALUES (?, ?, ?, ?) RETURNING id"
        if row := connection.execute(query, values).fetchone():
            pieces = (content[at : at + _BLOCK] for at in range(0, len(content), _BLOCK))
            numbered = ((row[0], number, piece) for number, piece in enumerate(pieces))
            connection.executemany("INSERT INTO original_pieces (original, number, content) VALUES (?, ?, ?)", numbered)


PICTURE_COLUMNS: Final = "label, source, page, box, picture, width, height, lines"
"""What is known of a picture."""
# Bytes in memory before a temporary file is used.
_IN_MEMORY: Final = 8 << 20


class SpooledPictures:
    """The pictures of a document that is being read, beside their bytes in a temporary file."""

    def __init__(self, folder: str) -> None:
        import tempfile  # `bookwheel show` keeps none

        self.size = 0
        self._facts: list[Picture] = []
        self._places: dict[str, tuple[int, int]] = {}
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, dir=folder)  # noqa: SIM115

    def add(self, pictures: Iterable[Picture]) -> None:
        for picture in pictures:
            if picture.sha256 not in self._places:
                self._places[picture.sha256] = (self.size, len(picture.content))
                self._file.write(picture.content)
                self.size += len(picture.content)
            self._facts.append(replace(picture, content=b""))

    def insert(self, connection: sqlite3.Connection, document: int) -> None:
        """Insert the pictures that the journal does not have yet, and where they stand in this document."""
        if not self._facts:
            return
        for sha256, (start, size) in self._places.items():
            if connection.execute("SELECT 1 FROM pictures WHERE sha256 = ?", (sha256,)).fetchone() is None:
                self._file.seek(start)
                connection.execute("INSERT INTO pictures VALUES (?, ?)", (sha256, self._file.read(size)))
        rows = [(document, number, *to_values(one)) for number, one in enumerate(self._facts)]
        names = f"document, number, {PICTURE_COLUMNS}"
        connection.executemany(
            f"INSERT OR IGNORE INTO document_pictures ({names}) VALUES ({', '.join('?' * 10)})", rows
        )

    def close(self) -> None:
        self._file.close()


def to_values(picture: Picture) -> tuple[object, ...]:
    lines = to_json([[line.text, line.box, line.confidence] for line in picture.lines])
    place = (store_text(picture.label), store_text(picture.source), picture.page, to_json(picture.box))
    return (*place, picture.sha256, picture.width, picture.height, lines)


def pictures_from_rows(rows: Iterable[tuple[Any, ...]]) -> tuple[Picture, ...]:
    return tuple(
        Picture(
            label=load_text(label),
            source=load_text(source),
            page=page,
            box=(*from_json(box),),
            sha256=sha256,
            width=width,
            height=height,
            lines=tuple(PictureLine(text=text, box=(*at,), confidence=sure) for text, at, sure in from_json(lines)),
        )
        for label, source, page, box, sha256, width, height, lines in rows
    )


def load_picture(reader: ReadPool, sha256: str) -> bytes:
    """Return a picture's bytes. Raise JournalError where they are damaged or gone."""
    row = reader.fetch_one("SELECT content FROM pictures WHERE sha256 = ?", (sha256,))
    if row is None or digest(row[0]) != sha256:
        raise JournalError(
            f"a picture is damaged or gone in the journal {reader.path}; the document's words are kept apart from it: "
            f"ask about the file again to keep it anew"
        )
    return bytes(row[0])
