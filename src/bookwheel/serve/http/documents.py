"""The routes of documents: uploaded, listed, named, searched and deleted."""

import asyncio
from typing import Annotated, Final, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.journal import StoredDocument
from bookwheel.journal.files import DOCUMENT_TYPES
from bookwheel.journal.search import SearchHit
from bookwheel.journal.shelf import LabelKind, ShelfCounts, ShelfOrder, ShelfQuery, ShelvedDocument
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.library import find_places
from bookwheel.serve.http.operations import SPAN, UPLOADS, Routes, operation
from bookwheel.serve.http.requests import Body, LabelShape, parse_flag, parse_number, store_upload

_MOST_CHARACTERS: Final = 200_000
_MOST_DOCUMENTS: Final = 500
_MOST_HITS: Final = 100
_MOST_PLACES: Final = 1000
_LONGEST_SEARCH: Final = 300
_DEFAULT_COUNT: Final = 50
_MOST_CHANGED: Final = 5000
_ORDERS: Final = Literal["used", "added", "name", "length", "questions"]
_PAGE: Final = {
    "search": str,
    "sort": _ORDERS,
    "type": str,
    "collection": str,
    "starred": int,
    "after": str,
    "limit": int,
    "offset": int,
}
_FIND: Final = {"text": str, "start": int, "limit": int}
_SEARCH: Final = {"query": str, "limit": int}
_UPLOAD: Final = {"X-Filename": "The document's name, percent-encoded."}


class DocumentsShape(Body):
    """What to do with several documents."""

    documents: Annotated[list[Annotated[str, Field(max_length=64)]], Field(max_length=_MOST_CHANGED)]
    """Their SHA-256."""
    starred: bool | None = None
    add: Annotated[str, Field(max_length=300, pattern=r"\S")] | None = None
    """The collection to put them into; it is begun where there is none of this name."""
    take_out: Annotated[str, Field(max_length=300)] | None = None
    """The collection to take them out of."""
    removed: bool = False
    """Delete them with their readings."""


class UploadJson(TypedDict):
    """A document that was stored."""

    document: str
    """The SHA-256 of its text."""
    name: str
    length: int
    """Characters."""
    notes: list[str]
    """What was left out of it."""


class TextSpanJson(TypedDict):
    """A part of a document's text."""

    start: int
    end: int
    text: str


class ChangedJson(TypedDict):
    """How many documents were changed."""

    changed: int


class PlaceJson(TypedDict):
    """A place in a document's text."""

    start: int
    end: int


class DocumentRoutes(Routes):
    """The operations of documents."""

    @operation("POST", "/documents", "Upload a document", status=201, uploads=(*UPLOADS,), headers=_UPLOAD)
    async def upload_document(self, request: Request) -> UploadJson:
        document, _ = await store_upload(request, self._service.documents)
        payload: UploadJson = {
            "document": document.id,
            "name": document.name,
            "length": document.length,
            "notes": list(document.notes),
        }
        return payload

    # Those with a star first, then the last used, if nothing else is asked for.
    @operation("GET", "/documents", "List the documents", query=_PAGE)
    async def list_documents(self, request: Request) -> list[ShelvedDocument]:
        key, wanted = request.state.key, request.query_params
        order, type_ = wanted.get("sort", "used"), wanted.get("type", "")
        if order not in set(ShelfOrder):
            raise ApiError(400, f"sort is {', '.join(ShelfOrder)}", param="sort")
        if type_ not in {"", *DOCUMENT_TYPES}:
            raise ApiError(400, f"type is {', '.join(DOCUMENT_TYPES)}", param="type")
        after = wanted.get("after", "")
        if after:
            await self._service.find_on_shelf(after, key)
        query = ShelfQuery(
            search=wanted.get("search", ""),
            type=type_,
            collection=wanted.get("collection", ""),
            is_starred=parse_flag(request, "starred"),
            order=ShelfOrder(order),
            after=after,
        )
        limit = min(parse_number(request, "limit", _DEFAULT_COUNT), _MOST_DOCUMENTS)
        return await self._service.list_shelf(key, query, limit=limit, offset=parse_number(request, "offset", 0))

    @operation("PATCH", "/documents", "Change several documents at once")
    async def change_documents(self, request: Request, body: DocumentsShape) -> ChangedJson:
        """Star, collect or delete documents; what the client does not have is passed over."""
        key = request.state.key
        owner, shelf = self._service.owner(key), self._service.journal.shelf
        ids = await self._service.choose_on_shelf(key, body.documents)
        if body.add:
            await asyncio.to_thread(shelf.collect, owner, body.add.strip(), ids)
        if body.take_out:
            await asyncio.to_thread(shelf.take_out, owner, body.take_out, ids)
        if body.starred is not None:
            await self._service.set_label(key, LabelKind.DOCUMENT, *ids, is_starred=body.starred)
        if body.removed:
            await self._service.delete_documents(ids, key)
        return ChangedJson(changed=len(ids))

    @operation("GET", "/shelf", "Count the documents by type and collection")
    async def count_documents(self, request: Request) -> ShelfCounts:
        return await self._service.count_shelf(request.state.key)

    @operation("GET", "/documents/{sha}", "A document")
    async def get_document(self, request: Request) -> ShelvedDocument:
        return await self._find_on_shelf(request)

    @operation("PATCH", "/documents/{sha}", "Name or star a document")
    async def label_document(self, request: Request, body: LabelShape) -> ShelvedDocument:
        document = await self._find_on_shelf(request)
        key, kind = request.state.key, LabelKind.DOCUMENT
        await self._service.set_label(key, kind, document.document, name=body.name, is_starred=body.starred)
        return await self._find_on_shelf(request)

    @operation("DELETE", "/documents/{sha}", "Delete a document with its readings", status=204)
    async def delete_document(self, request: Request) -> Response:
        await self._service.delete_documents([(await self._find_on_shelf(request)).document], request.state.key)
        return Response(status_code=204)

    @operation("GET", "/documents/{sha}/text", "A part of its text", query=SPAN)
    async def get_text(self, request: Request) -> TextSpanJson:
        return await asyncio.to_thread(slice_text, request, await self._find_document(request))

    @operation("GET", "/documents/{sha}/find", "Find a text in a document", query=_FIND)
    async def find_in_document(self, request: Request) -> list[PlaceJson]:
        document = await self._find_document(request)
        text = _parse_search(request, "text")
        start, limit = parse_number(request, "start", 0), min(parse_number(request, "limit", 100), _MOST_PLACES)
        places = await asyncio.to_thread(find_places, document, text, start, limit)
        return [{"start": start, "end": end} for start, end in places]

    @operation("GET", "/search", "Search texts and memories", query=_SEARCH)
    async def search(self, request: Request) -> list[SearchHit]:
        limit = min(parse_number(request, "limit", _DEFAULT_COUNT), _MOST_HITS)
        return await self._service.search(request.state.key, _parse_search(request, "query"), limit)

    async def _find_on_shelf(self, request: Request) -> ShelvedDocument:
        return await self._service.find_on_shelf(request.path_params["sha"], request.state.key)


def slice_text(request: Request, document: StoredDocument) -> TextSpanJson:
    start = parse_number(request, "start", 0)
    end = parse_number(request, "end", max(start, document.length))
    if end < start:
        raise ApiError(400, f"a part that begins at {start:,} ends there or later", param="end")
    if end - start > _MOST_CHARACTERS:
        raise ApiError(400, f"at most {_MOST_CHARACTERS:,} characters at a time", param="end")
    start, end = min(start, document.length), min(end, document.length)
    text = document.slice(start, end)
    return {"start": start, "end": start + len(text), "text": text}


def _parse_search(request: Request, name: str) -> str:
    text = request.query_params.get(name, "")
    if not 0 < len(text) <= _LONGEST_SEARCH:
        raise ApiError(400, f"{name} has 1 to {_LONGEST_SEARCH} characters", param=name)
    return text
