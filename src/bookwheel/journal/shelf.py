"""The documents of a journal as a shelf: each text once, with its readings counted, and the names and stars of people.

A label belongs to its owner: the key of a server, or nobody where there are no keys.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from bookwheel.journal.documents import delete_unread
from bookwheel.journal.rows import load_text, store_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bookwheel.journal.access import ReadPool, Writer

# ?1 owner · ?2 rows of `documents` or NULL · ?3 ids of readings or NULL · ?4 search · ?5 SHA-256 or NULL
_BOOKS: Final = """
WITH editions AS (
    -- SQLite takes the other columns from the row with the maximum.
    SELECT text, id AS row, name, max(used) FROM documents
    WHERE ?2 IS NULL OR id IN (SELECT value FROM json_each(?2)) GROUP BY text
), asked AS (
    SELECT text, count(*) AS count, max(number) AS newest FROM readings JOIN documents ON documents.id = document
    WHERE ?3 IS NULL OR readings.id IN (SELECT value FROM json_each(?3)) GROUP BY text
)
SELECT sha256, editions.row, editions.name, coalesce(labels.name, ''), coalesce(starred, 0), characters, kept,
    coalesce(count, 0), coalesce(question, ''), coalesce(readings.id, ''), coalesce(status, ''), coalesce(created, '')
FROM texts JOIN editions ON editions.text = texts.id LEFT JOIN asked ON asked.text = texts.id
LEFT JOIN readings ON number = newest
LEFT JOIN labels ON labels.owner = ?1 AND labels.kind = 'document' AND labels.id = sha256
WHERE (?5 IS NULL OR sha256 = ?5)
AND (?4 = '' OR mentions(?4, editions.name, labels.name))
"""
_ORDER: Final = "ORDER BY coalesce(starred, 0) DESC, max(kept, coalesce(created, '')) DESC, newest DESC, texts.id DESC"


class LabelKind(StrEnum):
    """A thing that can be named and starred."""

    DOCUMENT = "document"
    READING = "reading"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A name and a star that somebody gave."""

    name: str = ""
    """Empty: the thing's own."""
    is_starred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelvedDocument:
    """One text of the journal."""

    id: str
    """The SHA-256."""
    row: int
    """Of the table `documents`."""
    name: str
    """The one that somebody gave, or its own."""
    is_starred: bool
    length: int
    """Characters."""
    kept: str
    """The time when it was last stored."""
    readings: int
    question: str = ""
    """The newest question; empty where nothing was asked yet."""
    reading: str = ""
    """The newest reading."""
    status: str = ""
    asked: str = ""
    """The time of the newest question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The part of a journal that a client may see; None is all of it."""

    owner: str = ""
    rows: Sequence[int] | None = None
    """Rows of `documents`."""
    ids: Sequence[str] | None = None
    """Ids of readings."""


class Shelf:
    """Lists the documents, and keeps labels."""

    def __init__(self, reader: ReadPool, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer

    def list_documents(
        self, reach: Reach, *, limit: int = -1, offset: int = 0, search: str = ""
    ) -> list[ShelvedDocument]:
        """Return documents: those with a star first, then the last used."""
        values = (*_values(reach), store_text(search), None, limit, offset)
        rows = self._reader.fetch_all(f"{_BOOKS} {_ORDER} LIMIT ?6 OFFSET ?7", values)
        return [_shelved_from_row(*row) for row in rows]

    def find_document(self, reach: Reach, sha256: str) -> ShelvedDocument | None:
        """Return the document of this SHA-256, if it is within reach."""
        row = self._reader.fetch_one(_BOOKS, (*_values(reach), "", sha256))
        return _shelved_from_row(*row) if row else None

    def set_label(
        self, owner: str, kind: LabelKind, id_: str, *, name: str | None = None, is_starred: bool | None = None
    ) -> None:
        """Set a name, a star, or both; None leaves one as it is, and an empty name gives the own one back."""
        query = (
            "INSERT INTO labels VALUES (?1, ?2, ?3, coalesce(?4, ''), coalesce(?5, 0)) ON CONFLICT DO UPDATE "
            "SET name = coalesce(?4, name), starred = coalesce(?5, starred)"
        )
        stored = None if name is None else store_text(name)
        self._writer.execute_now(query, (owner, str(kind), id_, stored, is_starred))

    def load_labels(self, owner: str, kind: LabelKind, ids: Sequence[str]) -> Mapping[str, Label]:
        chosen = "id IN (SELECT value FROM json_each(?))"
        query = f"SELECT id, name, starred FROM labels WHERE owner = ? AND kind = ? AND {chosen}"
        rows = self._reader.fetch_all(query, (owner, str(kind), json.dumps(list(ids))))
        return {id_: Label(name=load_text(name), is_starred=bool(starred)) for id_, name, starred in rows}

    def drop_document(self, row: int) -> None:
        """Delete a document that no reading is of; one that has readings stays."""
        self._writer.write_now(lambda connection: delete_unread(connection, row))


def _values(reach: Reach) -> tuple[str, str | None, str | None]:
    rows = None if reach.rows is None else json.dumps(list(reach.rows))
    return reach.owner, rows, None if reach.ids is None else json.dumps(list(reach.ids))


def _shelved_from_row(sha256: str, row: int, own_name: str | bytes, name: str | bytes, *rest: Any) -> ShelvedDocument:
    starred, characters, kept, count, question, reading, status, created = rest
    return ShelvedDocument(
        id=sha256,
        row=row,
        name=load_text(name) or load_text(own_name),
        is_starred=bool(starred),
        length=characters,
        kept=kept,
        readings=count,
        question=load_text(question),
        reading=reading,
        status=status,
        asked=created,
    )
