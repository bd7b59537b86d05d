"""The routes of the library: documents on their shelf, search, names and stars, exports, prompts."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response
from starlette.routing import Route

from bookwheel.journal.shelf import LabelKind
from bookwheel.serve.engine.calls import rebuild_call
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.library import Library, find_places
from bookwheel.serve.http.errors import JsonResponse
from bookwheel.serve.http.schemas import LabelShape, parse_body
from bookwheel.serve.http.spans import parse_number
from bookwheel.verdict.provenance import find_origins

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from bookwheel.journal.search import SearchHit
    from bookwheel.journal.shelf import ShelvedDocument
    from bookwheel.serve.engine.service import Service
    from bookwheel.types import Reading

_MOST_DOCUMENTS: Final = 500
_MOST_HITS: Final = 100
_MOST_PLACES: Final = 1000
_LONGEST_SEARCH: Final = 300
_DEFAULT_COUNT: Final = 50
_FORMATS: Final = {"html": "text/html; charset=utf-8", "markdown": "text/markdown; charset=utf-8"}
_ENDINGS: Final = {"html": "html", "markdown": "md"}


class LibraryRoutes:
    """One method a route; docs/serving.md and /openapi.json describe them."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._library = Library(service)

    def list_routes(self) -> list[BaseRoute]:
        """Return all routes with their paths."""
        return [
            Route("/documents", self.list_documents),
            Route("/documents/{sha}", self.get_document),
            Route("/documents/{sha}", self.label_document, methods=["PATCH"]),
            Route("/documents/{sha}", self.delete_document, methods=["DELETE"]),
            Route("/documents/{sha}/find", self.find_in_document),
            Route("/search", self.search),
            Route("/readings/{id}", self.label_reading, methods=["PATCH"]),
            Route("/readings/{id}/export", self.export_reading),
            Route("/readings/{id}/calls/{number}", self.get_call),
        ]

    async def list_documents(self, request: Request) -> Response:
        """List the documents: those with a star first, then the last used."""
        limit = min(parse_number(request, "limit", _DEFAULT_COUNT), _MOST_DOCUMENTS)
        offset, search = parse_number(request, "offset", 0), request.query_params.get("search", "")
        documents = await self._library.list_documents(request.state.key, limit=limit, offset=offset, search=search)
        return JsonResponse([document_to_json(document) for document in documents])

    async def get_document(self, request: Request) -> Response:
        """Return one document of the shelf."""
        return JsonResponse(document_to_json(await self._find_document(request)))

    async def label_document(self, request: Request) -> Response:
        """Name or star a document."""
        document = await self._find_document(request)
        await self._set_label(request, LabelKind.DOCUMENT, document.id)
        return JsonResponse(document_to_json(await self._find_document(request)))

    async def delete_document(self, request: Request) -> Response:
        """Delete a document with all readings of it."""
        await self._library.delete_document(await self._find_document(request), request.state.key)
        return Response(status_code=204)

    async def find_in_document(self, request: Request) -> Response:
        """Return the places of a text in a document."""
        document = await self._service.get_document(request.path_params["sha"], request.state.key)
        text = _parse_search(request, "text")
        start, limit = parse_number(request, "start", 0), min(parse_number(request, "limit", 100), _MOST_PLACES)
        places = await asyncio.to_thread(find_places, document, text, start, limit)
        return JsonResponse([{"start": start, "end": end} for start, end in places])

    async def search(self, request: Request) -> Response:
        """Search the texts of all documents, and the questions, memories and answers of all readings."""
        limit = min(parse_number(request, "limit", _DEFAULT_COUNT), _MOST_HITS)
        hits = await self._library.search(request.state.key, _parse_search(request, "query"), limit)
        return JsonResponse([_hit_to_json(hit) for hit in hits])

    async def label_reading(self, request: Request) -> Response:
        """Name or star a reading."""
        reading = await self._find_reading(request)
        await self._set_label(request, LabelKind.READING, reading.id)
        labels = await self._library.load_labels(request.state.key, [reading.id])
        return JsonResponse({"name": labels[reading.id].name, "starred": labels[reading.id].is_starred})

    async def export_reading(self, request: Request) -> Response:
        """Return a reading as one HTML page or as Markdown."""
        format_ = request.query_params.get("format", "html")
        if format_ not in _FORMATS:
            raise ApiError(400, "format is html or markdown", kind="invalid_request", param="format")
        reading = await self._find_reading(request)
        body = await asyncio.to_thread(self._render, reading, format_)
        name = f'attachment; filename="reading-{reading.id}.{_ENDINGS[format_]}"'
        # Lone surrogates of a document have no UTF-8.
        content = body.encode("utf-8", "replace")
        return Response(content, media_type=_FORMATS[format_], headers={"Content-Disposition": name})

    def _render(self, reading: Reading, format_: str) -> str:
        from bookwheel.views.html import render_page
        from bookwheel.views.markdown import render_markdown

        origins = find_origins(reading.steps, self._service.journal.document_of(reading.id))
        return render_page(reading, origins) if format_ == "html" else render_markdown(reading, origins)

    async def get_call(self, request: Request) -> Response:
        """Return the prompt and the reply of a step, or of the answer."""
        reading = await self._find_reading(request)
        number = request.path_params["number"]
        if not (number.isascii() and number.isdigit() and len(number) <= len(str(_MOST_PLACES)) * 2):
            raise ApiError(404, f"the reading has no step {number[:20]}", kind="not_found")
        model = self._service.readings.get_model(reading.model)
        document = await asyncio.to_thread(self._service.journal.document_of, reading.id)
        call = await rebuild_call(reading, int(number), document, model)
        messages = [{"role": message.role, "content": message.content} for message in call.messages]
        values = {"messages": messages, "reply": call.reply, "kind": call.kind, "calls": call.calls, "same": call.same}
        return JsonResponse(values)

    async def _set_label(self, request: Request, kind: LabelKind, id_: str) -> None:
        body = await parse_body(LabelShape, request)
        name = None if body.name is None else body.name.strip()
        await self._library.set_label(request.state.key, kind, id_, name=name, is_starred=body.starred)

    async def _find_document(self, request: Request) -> ShelvedDocument:
        return await self._library.get_document(request.path_params["sha"], request.state.key)

    async def _find_reading(self, request: Request) -> Reading:
        return await self._service.get_reading(request.path_params["id"], request.state.key)


def document_to_json(document: ShelvedDocument) -> dict[str, Any]:
    """Return a document of the shelf as plain values."""
    newest = {
        "reading": document.reading,
        "question": document.question,
        "status": document.status,
        "created": document.asked,
    }
    return {
        "document": document.id,
        "name": document.name,
        "starred": document.is_starred,
        "length": document.length,
        "kept": document.kept,
        "readings": document.readings,
        "newest": newest if document.reading else None,
    }


def _hit_to_json(hit: SearchHit) -> dict[str, Any]:
    return {**asdict(hit), "pages": list(hit.pages)}


def _parse_search(request: Request, name: str) -> str:
    text = request.query_params.get(name, "")
    if not 0 < len(text) <= _LONGEST_SEARCH:
        message = f"{name} has 1 to {_LONGEST_SEARCH} characters"
        raise ApiError(400, message, kind="invalid_request", param=name)
    return text
