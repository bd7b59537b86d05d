"""The files that documents were read from, where they look like more than their text: PDFs, office files, pictures.

They go with their document. A file above `MOST_BYTES` is not kept, nor is any in a journal that keeps text only.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.errors import JournalError
from bookwheel.journal.rows import store_text
from bookwheel.picture import is_picture

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from pathlib import Path

    from bookwheel.journal.access import ReadPool

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
        values = (document, store_text(source), len(content), hashlib.sha256(content).hexdigest())
        query = "INSERT OR IGNORE INTO originals (document, source, bytes, sha256) VALUES (?, ?, ?, ?) RETURNING id"
        if row := connection.execute(query, values).fetchone():
            pieces = (content[at : at + _BLOCK] for at in range(0, len(content), _BLOCK))
            numbered = ((row[0], number, piece) for number, piece in enumerate(pieces))
            connection.executemany("INSERT INTO original_pieces (original, number, content) VALUES (?, ?, ?)", numbered)


def load_original(reader: ReadPool, original: Original) -> bytes:
    rows = reader.fetch_all("SELECT content FROM original_pieces WHERE original = ? ORDER BY number", (original.row,))
    content = b"".join(piece for (piece,) in rows)
    if hashlib.sha256(content).hexdigest() != original.sha256:
        raise JournalError(
            f"the file {original.source} is damaged or gone in the journal {reader.path}; its text is kept apart from "
            f"it: ask about the file again to keep it anew"
        )
    return content
