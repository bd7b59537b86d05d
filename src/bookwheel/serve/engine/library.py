"""The documents and readings that a client has: listed, searched, named, starred, deleted, begun with again."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.errors import JournalError
from bookwheel.journal.shelf import LabelKind, Reach
from bookwheel.serve.engine.errors import ApiError, not_found
from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bookwheel.journal import StoredDocument
    from bookwheel.journal.search import SearchHit
    from bookwheel.journal.shelf import Label, ShelvedDocument
    from bookwheel.serve.engine.access import Key
    from bookwheel.serve.engine.service import Service
    from bookwheel.types import Reading

# Readings of one document among which a memory is looked for.
_MOST_FINISHED: Final = 20
# Characters that are searched at a time: a document may not fit into memory.
_PIECE: Final = 1 << 18


class Library:
    """What one client sees of the journal is its key's; without keys, or with a shared server, everything."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._shelf = service.journal.shelf

    def owner(self, key: Key | None) -> str:
        """Return the owner of the labels that a client gives."""
        return "" if key is None or self._service.sees_all(key) else key.name

    async def list_documents(self, key: Key | None, *, limit: int, offset: int, search: str) -> list[ShelvedDocument]:
        """Return the client's documents, those with a star first."""

        def list_() -> list[ShelvedDocument]:
            return self._shelf.list_documents(self._reach(key), limit=limit, offset=offset, search=search)

        return await asyncio.to_thread(list_)

    async def get_document(self, sha: str, key: Key | None) -> ShelvedDocument:
        """Return the client's document of this SHA-256, or raise a 404."""
        document = await asyncio.to_thread(lambda: self._shelf.find_document(self._reach(key), sha))
        if document is None:
            raise not_found("document of that name")
        return document

    async def search(self, key: Key | None, query: str, limit: int) -> list[SearchHit]:
        """Return readings and passages of the client's documents that have all the words, with the names it gave."""
        service, owner = self._service, self.owner(key)
        ids = service.usage.list_owned(owner) if owner else None
        documents = service.usage.list_documents(owner) if owner else None
        hits = await asyncio.to_thread(service.journal.search, query, limit=limit, ids=ids, documents=documents)
        found = {hit.document for hit in hits}
        labels = await asyncio.to_thread(self._shelf.load_labels, owner, LabelKind.DOCUMENT, sorted(found))
        names = {sha: label.name for sha, label in labels.items() if label.name}
        return [replace(hit, name=names.get(hit.document, hit.name)) for hit in hits]

    async def set_label(
        self, key: Key | None, kind: LabelKind, id_: str, *, name: str | None, is_starred: bool | None
    ) -> None:
        """Name or star a document or reading that the client has."""
        name = name and name.strip()
        await asyncio.to_thread(self._shelf.set_label, self.owner(key), kind, id_, name=name, is_starred=is_starred)

    async def load_labels(self, key: Key | None, ids: Sequence[str]) -> Mapping[str, Label]:
        """Return the labels of readings that have one."""
        return await asyncio.to_thread(self._shelf.load_labels, self.owner(key), LabelKind.READING, ids)

    async def find_finished(self, key: Key | None, sha: str, model: str, said: Sequence[str] = ()) -> Reading | None:
        """Return the newest answered reading of a document that left a memory; None where there is none.

        One whose question has a text of `said` goes before the others.
        """
        return await asyncio.to_thread(self._find_finished, self.owner(key), sha, model, said)

    def _find_finished(self, owner: str, sha: str, model: str, said: Sequence[str]) -> Reading | None:
        journal, ids = self._service.journal, self._service.usage.list_owned(owner) if owner else None
        listed = journal.readings(limit=_MOST_FINISHED, ids=ids, document=sha)
        answered = [one for one in listed if one.status is Status.ANSWERED and one.model == model]
        answered.sort(key=lambda one: not any(text in one.question for text in said))
        readings = (journal.reading(one.id) for one in answered)
        return next((reading for reading in readings if reading.memory.text), None)

    async def delete_reading(self, id_: str) -> None:
        """Delete a reading, and its document when no other reading is of it."""
        service = self._service
        await service.readings.interrupt(id_)
        try:
            await asyncio.to_thread(service.journal.delete, id_)
        except JournalError as error:
            raise ApiError(409, str(error), kind="JournalError") from error
        await asyncio.to_thread(service.usage.delete_reading, id_)

    async def delete_document(self, document: ShelvedDocument, key: Key | None) -> None:
        """Delete a document with all readings of it that the client has; others' stay, and with them its text."""
        service, owner = self._service, self.owner(key)
        ids = service.usage.list_owned(owner) if owner else None
        readings = await asyncio.to_thread(service.journal.readings, document=document.id, ids=ids)
        for reading in readings:
            await self.delete_reading(reading.id)
        service.usage.delete_document(owner, document.id)
        if not service.usage.is_owned(document.row):
            await asyncio.to_thread(self._shelf.drop_document, document.row)
        await asyncio.to_thread(service.journal.forget_deleted)

    def _reach(self, key: Key | None) -> Reach:
        owner, usage = self.owner(key), self._service.usage
        if not owner:
            return Reach()
        return Reach(owner=owner, rows=usage.list_document_rows(owner), ids=usage.list_owned(owner))


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
