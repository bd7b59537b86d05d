"""What a client has of the journal: its documents and readings, listed, searched, named, starred, begun with again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Unpack

from bookwheel.errors import JournalError, NotKept
from bookwheel.journal import Journal, StoredDocument
from bookwheel.journal.readings import row_id
from bookwheel.journal.search import SearchHit
from bookwheel.journal.shelf import EVERYTHING, Label, LabelKind, Reach, ShelfCounts, ShelfQuery, ShelvedDocument
from bookwheel.journal.store import ReadingQuery
from bookwheel.serve.engine.access import Key
from bookwheel.serve.engine.errors import ApiError, hide_place, not_found
from bookwheel.serve.engine.originals import Originals
from bookwheel.serve.engine.reading_pool import ReadingPool
from bookwheel.serve.engine.settings import ServerSettings
from bookwheel.serve.engine.summaries import Summaries
from bookwheel.serve.engine.usage import UsageStore
from bookwheel.types import Reading, Status

if TYPE_CHECKING:
    from bookwheel.serve.engine.kept_responses import KeptResponses
    from bookwheel.serve.engine.reports import WrittenOnce

_READING_ID: Final = re.compile(r"[0-9A-Za-z_-]{4,64}")
_HEX: Final = frozenset("0123456789abcdef")
# Characters of a document's id that a client must give at least.
_SHORTEST_ID: Final = 8
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
# Readings of one document among which a memory is looked for.
_MOST_FINISHED: Final = 20
# Readings that are named where a client's words fit several.
_MOST_NAMED: Final = 3
# Characters that are searched at a time: a document may not fit into memory.
_PIECE: Final = 1 << 18


class Library:
    """What one client sees of the journal is its key's; without keys, or with a shared server, everything."""

    settings: ServerSettings
    journal: Journal
    usage: UsageStore
    readings: ReadingPool
    originals: Originals
    responses: KeptResponses
    summaries: Summaries
    written_reports: dict[tuple[str, str], WrittenOnce]
    """By key and order, those that were written since the server began."""

    def owner(self, key: Key | None) -> str:
        """Return whose documents and readings a client sees; empty for everybody's."""
        return "" if key is None or self.settings.is_shared else key.name

    def _list_owned(self, key: Key | None) -> list[str] | None:
        owner = self.owner(key)
        return self.usage.list_owned(owner) if owner else None

    def _reach(self, key: Key | None) -> Reach:
        owner, ids = self.owner(key), self._list_owned(key)
        return Reach(owner=owner, rows=[*self.usage.list_documents(owner).values()], ids=ids) if owner else Reach()

    def _drop_copies(self) -> None:
        """Drop what is made of documents and kept in memory: one of them may be gone."""
        self.originals.forget()
        for written in self.written_reports.values():
            written.task.cancel()
        self.written_reports.clear()
        self.responses.clear()
        self.summaries.clear()

    # Documents

    async def get_document(self, sha: str, key: Key | None) -> StoredDocument:
        """Return the document of this SHA-256 that the key brought, or raise a 404."""
        if not _SHA256.fullmatch(sha):
            raise not_found("document of that name")
        try:
            return await asyncio.to_thread(self._find_document, sha, self.owner(key))
        except NotKept as error:
            raise not_found("document of that name; upload it again") from error

    async def find_sha(self, beginning: str, key: Key | None) -> str:
        """Return the SHA-256 of the one document that a client has and whose own begins so, or raise a 404."""
        if _SHA256.fullmatch(beginning):
            return beginning
        if len(beginning) < _SHORTEST_ID or not set(beginning) <= _HEX:
            raise not_found("document of that name; search gives their ids")
        documents = await self.list_shelf(key)
        found = {one.document for one in documents if one.document.startswith(beginning)}
        if len(found) != 1:
            raise not_found("document of that name; search gives their ids")
        return found.pop()

    def _find_document(self, sha: str, owner: str) -> StoredDocument:
        if not owner:
            return self.journal.document(sha)
        # Not by its text alone: another key may have brought the same text, with a name that is nobody else's business.
        row = self.usage.find_document(owner, sha)
        if row is None:
            raise not_found("document of that name; upload it again")
        return self.journal.document_at(row)

    async def list_shelf(
        self, key: Key | None, query: ShelfQuery = EVERYTHING, *, limit: int = -1, offset: int = 0
    ) -> list[ShelvedDocument]:
        list_ = partial(self.journal.shelf.list_documents, limit=limit, offset=offset, query=query)
        return await asyncio.to_thread(lambda: list_(self._reach(key)))

    async def count_shelf(self, key: Key | None) -> ShelfCounts:
        return await asyncio.to_thread(lambda: self.journal.shelf.count_documents(self._reach(key)))

    async def choose_on_shelf(self, key: Key | None, ids: Sequence[str]) -> list[str]:
        """Return those of these documents that the client has."""
        wanted = {*ids}
        return [one.document for one in await self.list_shelf(key) if one.document in wanted]

    async def find_on_shelf(self, sha: str, key: Key | None) -> ShelvedDocument:
        """Return the client's document of this SHA-256, or raise a 404."""
        document = await asyncio.to_thread(lambda: self.journal.shelf.find_document(self._reach(key), sha))
        if document is None:
            raise not_found("document of that name")
        return document

    async def delete_documents(self, ids: Sequence[str], key: Key | None) -> None:
        """Delete documents with all readings of them that the client has; others' stay, and with them their texts."""
        shelf, reach = self.journal.shelf, await asyncio.to_thread(self._reach, key)
        for sha in ids:
            row = await asyncio.to_thread(shelf.find_row, reach, sha)
            readings = await asyncio.to_thread(self.journal.readings, document=sha, ids=self._list_owned(key))
            for reading in readings:
                await self.delete_reading(reading.id)
            self.usage.delete_document(self.owner(key), sha)
            if row is not None and not self.usage.is_owned(row):
                await asyncio.to_thread(shelf.drop_document, row)
        await asyncio.to_thread(self.journal.forget_deleted)
        self._drop_copies()

    # Readings

    async def get_reading(self, name: str, key: Key | None) -> Reading:
        """Return the key's reading whose id begins so, or raise a 404."""
        id_ = await self.find_addressed(name, key)
        try:
            return await asyncio.to_thread(self.journal.reading, id_)
        except NotKept as error:
            raise not_found("reading of that name") from error

    async def find_addressed(self, name: str, key: Key | None) -> str:
        """Return the id of the one reading that an address names by the beginning of its id, or raise a 404."""
        # "last" would be another reading as soon as somebody else asks.
        if name == "last" or not _READING_ID.fullmatch(name):
            raise not_found("reading of that name")
        return await self.find_id(name, key)

    async def list_readings(self, key: Key | None, **which: Unpack[ReadingQuery]) -> list[Reading]:
        wanted = await self._restrict(key, which)
        return await asyncio.to_thread(self.journal.readings, **wanted)

    async def list_summaries(self, key: Key | None, **which: Unpack[ReadingQuery]) -> list[str]:
        """Return the JSON of each listed reading."""
        wanted, owner = await self._restrict(key, which), self.owner(key)

        def load() -> list[str]:
            dump = self.summaries.begin()
            found = {row_id(row): row for row in self.journal.list_rows(**wanted)}
            labels = self.journal.shelf.load_labels(owner, LabelKind.READING, [*found])
            return [dump(row, labels.get(id_)) for id_, row in found.items()]

        return await asyncio.to_thread(load)

    async def _restrict(self, key: Key | None, which: ReadingQuery) -> ReadingQuery:
        """Return which of the client's own readings are meant."""
        if (before := which.get("before")) is not None:
            which = {**which, "before": await self.find_addressed(before, key)}
        return {**which, "ids": self._list_owned(key)}

    async def find_id(self, name: str, key: Key | None) -> str:
        """Return the id of the reading that a client names by its id, the beginning of it, or "last"."""
        running, owner = self.readings.get_recent(name), self.owner(key)
        if running and owner in {"", running.request.caller.key_name}:
            return name
        return await asyncio.to_thread(self._find_id, name, owner)

    def _find_id(self, name: str, owner: str) -> str:
        if not owner:
            matches = self.journal.match_ids(name) if name else []
        else:
            owned = self.usage.list_owned(owner)
            matches = owned[-1:] if name == "last" else [id_ for id_ in owned if name and id_.startswith(name)]
        if len(matches) > 1:
            ids = ", ".join(matches[:_MOST_NAMED])
            raise ApiError(400, f"{name!r} matches more than one reading, as {ids}; give more of the id")
        if not matches:
            raise not_found("reading of that name: list the readings to see what there is")
        return matches[0]

    async def find_finished(self, key: Key | None, sha: str, model: str, said: Sequence[str] = ()) -> Reading | None:
        """Return the newest answered reading of a document that left a memory; None where there is none.

        One whose question has a text of `said` goes before the others.
        """
        return await asyncio.to_thread(self._find_finished, self._list_owned(key), sha, model, said)

    def _find_finished(self, ids: list[str] | None, sha: str, model: str, said: Sequence[str]) -> Reading | None:
        listed = self.journal.readings(limit=_MOST_FINISHED, ids=ids, document=sha)
        answered = [one for one in listed if one.status is Status.ANSWERED and one.model == model]
        answered.sort(key=lambda one: not any(text in one.question for text in said))
        readings = (self.journal.reading(one.id) for one in answered)
        return next((reading for reading in readings if reading.memory.text), None)

    async def delete_reading(self, id_: str) -> None:
        """Delete a reading, and its document when no other reading is of it."""
        await self.readings.interrupt(id_)
        try:
            await asyncio.to_thread(self.journal.delete, id_)
        except JournalError as error:
            raise ApiError(409, str(hide_place(error, self.journal.path)), kind="JournalError") from error
        await asyncio.to_thread(self.usage.delete_reading, id_)
        self._drop_copies()

    # Both

    async def search(self, key: Key | None, query: str, limit: int) -> list[SearchHit]:
        """Return readings and passages of the client's documents that have all the words, with the names it gave."""
        owner, ids = self.owner(key), self._list_owned(key)
        documents = [*self.usage.list_documents(owner)] if owner else None
        hits = await asyncio.to_thread(self.journal.search, query, limit=limit, ids=ids, documents=documents)
        found = sorted({hit.document for hit in hits})
        labels = await asyncio.to_thread(self.journal.shelf.load_labels, owner, LabelKind.DOCUMENT, found)
        names = {sha: label.name for sha, label in labels.items() if label.name}
        return [replace(hit, name=names.get(hit.document, hit.name)) for hit in hits]

    async def set_label(
        self, key: Key | None, kind: LabelKind, *ids: str, name: str | None = None, is_starred: bool | None
    ) -> None:
        set_ = partial(self.journal.shelf.set_label, name=name and name.strip(), is_starred=is_starred)
        await asyncio.to_thread(set_, self.owner(key), kind, *ids)

    async def load_labels(self, key: Key | None, ids: Sequence[str]) -> Mapping[str, Label]:
        return await asyncio.to_thread(self.journal.shelf.load_labels, self.owner(key), LabelKind.READING, ids)


def find_places(document: StoredDocument, text: str, start: int, limit: int) -> list[tuple[int, int]]:
    """Return where a text stands in a document from character `start` on, in any case and with any blanks."""
    words = text.split()
    if not words:
        return []
    pattern = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    # A place may reach over the end of a piece; blanks between words may be a few more than one.
    overlap = len(text) + 8 * len(words)
    places: list[tuple[int, int]] = []
    while start < document.length and len(places) < limit:
        piece = document.slice(start, start + _PIECE + overlap)
        for match in pattern.finditer(piece):
            if match.start() < _PIECE and len(places) < limit:
                places.append((start + match.start(), start + match.end()))
        start += _PIECE
    return places
