"""The documents of a journal as a shelf: each text once, with its readings counted, sorted, filtered and collected.

Names, stars and collections belong to their owner: the key of a server, or nobody where there are no keys.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from bookwheel.claims import Claim, Fit, Sign, Verdict, choose_sign, sum_up_fits, sum_up_verdicts
from bookwheel.journal.access import ReadPool, Writer
from bookwheel.journal.documents import delete_unread
from bookwheel.journal.files import DOCUMENT_TYPES, find_type
from bookwheel.journal.tables import from_json, load_text, store_text
from bookwheel.schema import from_plain
from bookwheel.types import Status

# ?1 owner · ?2 rows of `documents` or NULL · ?3 ids of readings or NULL · ?4 search · ?5 SHA-256 or NULL
_BOOKS: Final = """
WITH editions AS (
    -- SQLite takes the other columns from the row with the maximum.
    SELECT text, id AS row, name, max(used) FROM documents
    WHERE ?2 IS NULL OR id IN (SELECT value FROM json_each(?2)) GROUP BY text
), asked AS (
    SELECT text, count(*) AS count, max(number) AS newest FROM readings JOIN documents ON documents.id = document
    WHERE ?3 IS NULL OR readings.id IN (SELECT value FROM json_each(?3)) GROUP BY text
), books AS (
    SELECT texts.id AS text, sha256, editions.row AS row, editions.name AS own_name, coalesce(labels.name, '') AS name,
        coalesce(starred, 0) AS starred, characters, kept, coalesce(count, 0) AS count, coalesce(newest, 0) AS newest,
        max(kept, coalesce((SELECT created FROM readings WHERE number = newest), '')) AS used
    FROM texts JOIN editions ON editions.text = texts.id LEFT JOIN asked ON asked.text = texts.id
    LEFT JOIN labels ON labels.owner = ?1 AND labels.kind = 'document' AND labels.id = sha256
    WHERE (?5 IS NULL OR sha256 = ?5) AND (?4 = '' OR mentions(?4, editions.name, labels.name))
)
"""
# The newest question is looked up for the documents that are shown, not for all.
_SHOWN: Final = """
SELECT sha256, own_name, name, starred, characters, kept, count, question, readings.id, way, status, created, claims
FROM ({chosen}) AS chosen LEFT JOIN readings ON number = newest ORDER BY {order}
"""
_NAME: Final = "alphabetical(iif(name = '', own_name, name))"
# ?8 type · ?9 SHA-256 of the document before · ?10 collection · ?11 whether only with a star
_IS_WANTED: Final = """
(?8 = '' OR type_of(own_name) = ?8) AND (NOT ?11 OR starred)
AND (?10 = '' OR sha256 IN (SELECT sha256 FROM collections WHERE owner = ?1 AND name = ?10))
"""


class ShelfOrder(StrEnum):
    """What the documents are sorted by."""

    USED = "used"
    """Those with a star first, then the last used."""
    ADDED = "added"
    """The newest first."""
    NAME = "name"
    LENGTH = "length"
    """The longest first."""
    QUESTIONS = "questions"
    """Those most asked about first."""


# The values that documents are sorted by, each with the text's row, so that no two are equal.
_ORDERS: Final = {
    ShelfOrder.USED: ("starred", "used", "newest", "text"),
    ShelfOrder.ADDED: ("text",),
    ShelfOrder.NAME: (_NAME, "text"),
    ShelfOrder.LENGTH: ("characters", "text"),
    ShelfOrder.QUESTIONS: ("count", "used", "text"),
}


class LabelKind(StrEnum):
    """A thing that can be named and starred."""

    DOCUMENT = "document"
    READING = "reading"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A name and a star that somebody gave."""

    name: str = ""
    """Empty: the thing's own."""
    starred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestQuestion:
    """The newest question about a document."""

    reading: str
    question: str
    way: str
    status: Status
    created: str
    verdict: Verdict | None
    """On its answer; null where there is none to judge."""
    answers: Fit | None
    """Whether it answers the question; null where nothing was judged."""
    sign: Sign
    """The colour of both, as of the reading itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelvedDocument:
    """One text of the journal, as clients get it."""

    document: str
    """The SHA-256 of its text."""
    name: str
    """The one that somebody gave, or its own."""
    starred: bool
    type: str
    """By its own name, one of `DOCUMENT_TYPES`."""
    collections: tuple[str, ...]
    length: int
    """Characters."""
    kept: str
    """When it was last stored."""
    readings: int
    """How many there are of it."""
    newest: NewestQuestion | None
    """Null where nothing was asked yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The part of a journal that a client may see; None is all of it."""

    owner: str = ""
    rows: Sequence[int] | None = None
    """Rows of `documents`."""
    ids: Sequence[str] | None = None
    """Ids of readings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfQuery:
    """Which documents are wanted, and in which order."""

    search: str = ""
    """In their names."""
    type: str = ""
    """One of `DOCUMENT_TYPES`; empty for all."""
    collection: str = ""
    is_starred: bool = False
    """Only those with a star."""
    order: ShelfOrder = ShelfOrder.USED
    after: str = ""
    """Those behind the document of this SHA-256, however many there are."""


EVERYTHING: Final = ShelfQuery()


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionCount:
    """A collection, and how many documents are in it."""

    collection: str
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfCounts:
    """How many documents there are, of each type and in each collection."""

    documents: int
    starred: int
    types: dict[str, int]
    collections: tuple[CollectionCount, ...]
    """In the order of their names."""


class Shelf:
    """Lists the documents, and keeps labels."""

    def __init__(self, reader: ReadPool, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer

    def list_documents(
        self, reach: Reach, *, limit: int = -1, offset: int = 0, query: ShelfQuery = EVERYTHING
    ) -> list[ShelvedDocument]:
        columns = ", ".join(_ORDERS[query.order])
        way, beyond = ("ASC", ">") if query.order is ShelfOrder.NAME else ("DESC", "<")
        order = ", ".join(f"{column} {way}" for column in _ORDERS[query.order])
        behind = f"(?9 = '' OR ({columns}) {beyond} (SELECT {columns} FROM books WHERE sha256 = ?9))"
        chosen = f"SELECT * FROM books WHERE {_IS_WANTED} AND {behind} ORDER BY {order} LIMIT ?6 OFFSET ?7"
        wanted = query.type, query.after, store_text(query.collection), query.is_starred
        values = (*_values(reach), store_text(query.search), None, limit, offset, *wanted)
        rows = self._reader.fetch_all(_BOOKS + _SHOWN.format(chosen=chosen, order=order), values)
        return self._shelve(reach, rows)

    def find_document(self, reach: Reach, sha256: str) -> ShelvedDocument | None:
        query = _BOOKS + _SHOWN.format(chosen="SELECT * FROM books", order="1")
        return next(iter(self._shelve(reach, self._reader.fetch_all(query, (*_values(reach), "", sha256)))), None)

    def _shelve(self, reach: Reach, rows: Sequence[Sequence[Any]]) -> list[ShelvedDocument]:
        collections = self.list_collections(reach.owner, [sha256 for sha256, *_ in rows])
        return [_shelved_from_row(collections.get(row[0], ()), *row) for row in rows]

    def find_row(self, reach: Reach, sha256: str) -> int | None:
        """Return the row of `documents` that a shelved document is; None where it is gone."""
        found = self._reader.fetch_one(f"{_BOOKS} SELECT row FROM books", (*_values(reach), "", sha256))
        return int(found[0]) if found else None

    def count_documents(self, reach: Reach) -> ShelfCounts:
        values = (*_values(reach), "", None)
        rows = self._reader.fetch_all(f"{_BOOKS} SELECT type_of(own_name), starred FROM books", values)
        types = Counter(type_ for type_, _ in rows)
        within = (
            f"{_BOOKS} SELECT collections.name, count(*) FROM collections JOIN books USING (sha256) WHERE owner = ?1 "
            "GROUP BY collections.name ORDER BY alphabetical(collections.name)"
        )
        counts = self._reader.fetch_all(within, values)
        return ShelfCounts(
            documents=len(rows),
            starred=sum(starred for _, starred in rows),
            types={type_: types[type_] for type_ in DOCUMENT_TYPES if types[type_]},
            collections=tuple(CollectionCount(collection=load_text(name), documents=count) for name, count in counts),
        )

    def collect(self, owner: str, collection: str, documents: Sequence[str]) -> None:
        """Put documents into a collection, which is there from its first one on."""
        query = "INSERT OR IGNORE INTO collections SELECT ?1, ?2, value FROM json_each(?3)"
        self._writer.execute_now(query, (owner, store_text(collection), json.dumps(list(documents))))

    def take_out(self, owner: str, collection: str, documents: Sequence[str]) -> None:
        """Take documents out of a collection, which is gone with its last one."""
        chosen = "sha256 IN (SELECT value FROM json_each(?3))"
        query = f"DELETE FROM collections WHERE owner = ?1 AND name = ?2 AND {chosen}"
        self._writer.execute_now(query, (owner, store_text(collection), json.dumps(list(documents))))

    def list_collections(self, owner: str, documents: Sequence[str]) -> dict[str, list[str]]:
        chosen = "sha256 IN (SELECT value FROM json_each(?2))"
        query = f"SELECT sha256, name FROM collections WHERE owner = ?1 AND {chosen} ORDER BY alphabetical(name)"
        found: dict[str, list[str]] = {}
        for sha256, name in self._reader.fetch_all(query, (owner, json.dumps(list(documents)))):
            found.setdefault(sha256, []).append(load_text(name))
        return found

    def set_label(
        self, owner: str, kind: LabelKind, *ids: str, name: str | None = None, is_starred: bool | None = None
    ) -> None:
        """Set a name, a star, or both, of all at once.

        None leaves one as it is, and an empty name gives the own one back.
        """
        query = (
            "INSERT INTO labels SELECT ?1, ?2, value, coalesce(?4, ''), coalesce(?5, 0) FROM json_each(?3) WHERE true "
            "ON CONFLICT DO UPDATE SET name = coalesce(?4, name), starred = coalesce(?5, starred)"
        )
        stored = None if name is None else store_text(name)
        self._writer.execute_now(query, (owner, str(kind), json.dumps(ids), stored, is_starred))

    def load_labels(self, owner: str, kind: LabelKind, ids: Sequence[str]) -> Mapping[str, Label]:
        chosen = "id IN (SELECT value FROM json_each(?))"
        query = f"SELECT id, name, starred FROM labels WHERE owner = ? AND kind = ? AND {chosen}"
        rows = self._reader.fetch_all(query, (owner, str(kind), json.dumps(list(ids))))
        return {id_: Label(name=load_text(name), starred=bool(starred)) for id_, name, starred in rows}

    def drop_document(self, row: int) -> None:
        """Delete a document that no reading is of; one that has readings stays."""
        self._writer.write_now(lambda connection: delete_unread(connection, row))


def _values(reach: Reach) -> tuple[str, str | None, str | None]:
    rows = None if reach.rows is None else json.dumps(list(reach.rows))
    return reach.owner, rows, None if reach.ids is None else json.dumps(list(reach.ids))


def _shelved_from_row(
    collections: Sequence[str], sha256: str, own_name: str | bytes, name: str | bytes, *rest: Any
) -> ShelvedDocument:
    starred, characters, kept, count, question, reading, way, status, created, claims = rest
    newest = None
    if reading:
        judged = [from_plain(Claim, claim) for claim in from_json(claims or "[]")]
        verdict, answers = sum_up_verdicts(judged), sum_up_fits(judged)
        newest = NewestQuestion(
            reading=reading,
            question=load_text(question),
            way=way,
            status=Status(status),
            created=created,
            verdict=verdict,
            answers=answers,
            sign=choose_sign(verdict, answers),
        )
    return ShelvedDocument(
        document=sha256,
        name=load_text(name or own_name),
        starred=bool(starred),
        type=find_type(own_name),
        collections=tuple(collections),
        length=characters,
        kept=kept,
        readings=count,
        newest=newest,
    )
