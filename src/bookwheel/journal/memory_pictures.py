"""The pictures of lasting memories: their labels are unique in a memory, and their bytes go with the last text.

A label begins with the name of its file. Where a memory has another picture of that label, the first letters of the
picture's SHA-256 stand behind it: `scan.png, page 1, figure 1 #3fa9c1`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bookwheel.journal.access import ReadPool
from bookwheel.journal.originals import PICTURE_COLUMNS, load_picture, pictures_from_rows, to_values
from bookwheel.journal.tables import load_text, store_text
from bookwheel.picture import MARK, Picture, split_label
from bookwheel.types import Part

_LONGEST_NAME: Final = 200
_BRACKETS: Final = str.maketrans("[]\n\r", "()  ")
_INSERT: Final = f"INSERT OR IGNORE INTO memory_pictures (memory, text, {PICTURE_COLUMNS}) VALUES (?{', ?' * 9})"
_OF_TEXT: Final = "memory = ? AND text = ?"


def label_parts(connection: sqlite3.Connection, memory: int, parts: Sequence[Part]) -> list[Part]:
    """Return the parts of a text with labels that no other picture of the memory has."""
    labelled, used = [], dict[str, str]()
    for part in parts:
        text, pictures = part.text, []
        for picture in part.pictures:
            name = picture.source.translate(_BRACKETS)[-_LONGEST_NAME:]
            label = picture.label if picture.label.startswith(name) else f"{name}, {picture.label}"
            find = "SELECT 1 FROM memory_pictures WHERE memory = ? AND label = ? AND picture <> ?"
            is_taken = connection.execute(find, (memory, store_text(label), picture.sha256)).fetchone() is not None
            if is_taken or used.get(label, picture.sha256) != picture.sha256:
                label = f"{label} #{picture.sha256[:6]}"
            used[label] = picture.sha256
            text = text.replace(picture.mark, f"[{label}]", 1)
            pictures.append(replace(picture, label=label))
        labelled.append(replace(part, text=text, pictures=tuple(pictures)))
    return labelled


def insert_parts(connection: sqlite3.Connection, memory: int, text: int, parts: Sequence[Part]) -> None:
    """Insert where the pages of a text begin, and its pictures."""
    start, last = 0, None
    for part in parts:
        if part.page != last:
            page = (memory, text, start, part.page)
            connection.execute("INSERT OR REPLACE INTO memory_pages VALUES (?, ?, ?, ?)", page)
            last = part.page
        start += len(part.text)
        for picture in part.pictures:
            connection.execute("INSERT OR IGNORE INTO pictures VALUES (?, ?)", (picture.sha256, picture.content))
            connection.execute(_INSERT, (memory, text, *to_values(picture)))


def drop_unmarked(connection: sqlite3.Connection, memory: int, text: int, content: str) -> None:
    """Drop the pictures of a text whose marks stand in it no more."""
    rows = connection.execute(f"SELECT label FROM memory_pictures WHERE {_OF_TEXT}", (memory, text)).fetchall()
    gone = [(memory, text, label) for (label,) in rows if f"[{load_text(label)}]" not in content]
    connection.executemany(f"DELETE FROM memory_pictures WHERE {_OF_TEXT} AND label = ?", gone)


class MemoryPictures:
    """Finds the pictures of one memory."""

    def __init__(self, reader: ReadPool, memory: int) -> None:
        self._reader = reader
        self._memory = memory

    def of_text(self, text: int) -> tuple[Picture, ...]:
        query = f"SELECT {PICTURE_COLUMNS} FROM memory_pictures WHERE {_OF_TEXT} ORDER BY rowid"
        return pictures_from_rows(self._reader.fetch_all(query, (self._memory, text)))

    def pointed_at(self, words: str) -> tuple[Picture, ...]:
        """Return the pictures that some words point at, each once, in order."""
        labels = dict.fromkeys(split_label(found[1])[0] for found in MARK.finditer(words))
        query = f"SELECT {PICTURE_COLUMNS} FROM memory_pictures WHERE memory = ? AND label = ? LIMIT 1"
        rows = [self._reader.fetch_all(query, (self._memory, store_text(label))) for label in labels]
        return pictures_from_rows(row for found in rows for row in found)

    def find_page(self, text: int, place: int) -> int | None:
        query = f"SELECT page FROM memory_pages WHERE {_OF_TEXT} AND start <= ? ORDER BY start DESC LIMIT 1"
        row = self._reader.fetch_one(query, (self._memory, text, place))
        return row[0] if row else None

    def has(self, sha256: str) -> bool:
        query = "SELECT 1 FROM memory_pictures WHERE memory = ? AND picture = ? LIMIT 1"
        return self._reader.fetch_one(query, (self._memory, sha256)) is not None

    def load(self, sha256: str) -> bytes:
        return load_picture(self._reader, sha256)
