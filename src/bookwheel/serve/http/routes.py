"""The routes of documents, readings, models and the server itself."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response
from starlette.routing import Route

from bookwheel.errors import InputError, JournalError, ModelError
from bookwheel.models.base import find_abilities
from bookwheel.models.embeddings import check_embeddings
from bookwheel.reading.choice import find_default_way
from bookwheel.reading.ways.registry import sort_ways
from bookwheel.record import reading_to_json, summary_to_json
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.library import Library
from bookwheel.serve.engine.lockstep import start_or_find_several
from bookwheel.serve.engine.service import Caller, ReadingSpec
from bookwheel.serve.http.caller import identify_caller
from bookwheel.serve.http.errors import JsonResponse
from bookwheel.serve.http.events import stream_events
from bookwheel.serve.http.guard import COOKIE
from bookwheel.serve.http.schemas import ForkShape, ReadingShape, ResumeShape, SessionShape, parse_body
from bookwheel.serve.http.spans import parse_number, text_span, wants_changes
from bookwheel.serve.http.uploads import store_upload
from bookwheel.session import names_chunks
from bookwheel.types import Memory
from bookwheel.verdict.provenance import find_origins

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from bookwheel.journal import StoredDocument
    from bookwheel.journal.shelf import Label
    from bookwheel.models.base import Ability
    from bookwheel.serve.engine.keys import Key, KeyRing
    from bookwheel.serve.engine.running_reading import DocumentOpener
    from bookwheel.serve.engine.service import Service
    from bookwheel.types import Reading

_MOST_READINGS: Final = 1000
_DEFAULT_READINGS: Final = 100
_SESSION_SECONDS: Final = 30 * 24 * 3600


class Routes:
    """One method a route; docs/serving.md and /openapi.json describe them."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._library = Library(service)
        self._embeds: dict[str, bool | None] = {}

    def list_routes(self) -> list[BaseRoute]:
        """Return all routes with their paths."""
        return [
            Route("/documents", self.upload_document, methods=["POST"]),
            Route("/documents/{sha}/text", self.get_text),
            Route("/readings", self.start_reading, methods=["POST"]),
            Route("/readings", self.list_readings),
            Route("/readings/{id}", self.get_reading),
            Route("/readings/{id}", self.delete_reading, methods=["DELETE"]),
            Route("/readings/{id}/events", self.stream_reading),
            Route("/readings/{id}/origins", self.list_origins),
            Route("/readings/{id}/cancel", self.cancel_reading, methods=["POST"]),
            Route("/readings/{id}/resume", self.resume_reading, methods=["POST"]),
            Route("/readings/{id}/fork", self.fork_reading, methods=["POST"]),
            Route("/models", self.list_models),
            Route("/session", self.create_session, methods=["POST"]),
            Route("/healthz", self.check_health),
            Route("/metrics", self.render_metrics),
        ]

    async def upload_document(self, request: Request) -> Response:
        """Store a document: a raw body, or a form's field `file`."""
        document, _ = await store_upload(request, self._service.documents)
        payload = {"document": document.id, "name": document.name, "length": document.length, "notes": document.notes}
        return JsonResponse(payload, 201)

    async def get_text(self, request: Request) -> Response:
        """Return a part of a document's text."""
        document = await self._service.get_document(request.path_params["sha"], request.state.key)
        return JsonResponse(await asyncio.to_thread(text_span, request, document))

    async def start_reading(self, request: Request) -> Response:
        """Start a reading, or one for each of several questions."""
        body = await parse_body(ReadingShape, request)
        if sum(source is not None for source in (body.document, body.text, body.url)) != 1:
            raise ApiError(400, "give one of document, text and url", kind="invalid_request", param="document")
        if (body.question is None) == (body.questions is None):
            raise ApiError(400, "give one of question and questions", kind="invalid_request", param="question")
        model = body.model or next(iter(self._service.models))
        plan = self._service.make_plan(model, body.plan)
        spec = ReadingSpec(
            question=body.question or "", model=model, plan=plan, way=body.way, has_chunks=names_chunks(body.plan)
        )
        caller = await identify_caller(request)
        opener = self._document_opener(body, caller)
        if body.questions is not None:
            started = await start_or_find_several(self._service, spec, body.questions, opener, caller)
        else:
            started = [await self._service.start_or_find(spec, opener, caller)]
        is_new = any(running is not None and not reading.steps for running, reading in started)
        payload = [reading_to_json(reading) for _, reading in started]
        return JsonResponse(payload[0] if body.questions is None else {"readings": payload}, 201 if is_new else 200)

    def _document_opener(self, body: ReadingShape, caller: Caller) -> DocumentOpener:
        async def open_document() -> StoredDocument:
            documents, allow_private = self._service.documents, self._service.settings.allow_private
            if body.text is not None:
                return await documents.store_text(body.text, body.name, caller.key_name)
            if body.url is not None:
                return await documents.store_url(body.url, caller.key_name, allow_private=allow_private)
            return await self._service.get_document(body.document or "", caller.key)

        return open_document

    async def list_readings(self, request: Request) -> Response:
        """List the journal's readings, newest first."""
        key, wanted = request.state.key, request.query_params
        limit = min(parse_number(request, "limit", _DEFAULT_READINGS), _MOST_READINGS)
        readings = await self._service.list_readings(
            key,
            limit=limit,
            search=wanted.get("search"),
            document=wanted.get("document"),
            offset=parse_number(request, "offset", 0),
        )
        labels = await self._library.load_labels(key, [reading.id for reading in readings])
        return JsonResponse(
            [{**summary_to_json(reading), **_label_to_json(labels.get(reading.id))} for reading in readings]
        )

    async def get_reading(self, request: Request) -> Response:
        """Return a whole reading."""
        reading = await self._find_reading(request)
        payload = await _to_json(request, reading)
        labels = await self._library.load_labels(request.state.key, [reading.id])
        payload |= _label_to_json(labels.get(reading.id))
        running = self._service.readings.get_running(reading.id)
        if running and running.waiting:
            payload["waiting"] = asdict(running.waiting)
        return JsonResponse(payload)

    async def stream_reading(self, request: Request) -> Response:
        """Stream a reading's steps as they come."""
        reading, last_event_id = await self._find_reading(request), request.headers.get("last-event-id", "")
        is_live = request.query_params.get("live", "0") not in {"0", ""}
        changes = wants_changes(request)
        return stream_events(self._service.readings, reading, last_event_id, changes=changes, is_live=is_live)

    async def list_origins(self, request: Request) -> Response:
        """Return the origin of each line of the newest memory."""
        reading = await self._find_reading(request)
        document = await asyncio.to_thread(self._service.journal.document_of, reading.id)
        lines = await asyncio.to_thread(find_origins, reading.steps, document)
        return JsonResponse([asdict(line) for line in lines])

    async def cancel_reading(self, request: Request) -> Response:
        """Interrupt a reading; its steps stay."""
        reading = await self._find_reading(request)
        await self._service.readings.interrupt(reading.id)
        return JsonResponse(await _to_json(request, await self._find_reading(request)))

    async def resume_reading(self, request: Request) -> Response:
        """Continue a reading, under a budget that counts from zero."""
        reading = await self._find_reading(request)
        body = await parse_body(ResumeShape, request)
        resumed = await self._service.resume(reading, body.plan.budget, request.state.key)
        return JsonResponse(await _to_json(request, resumed))

    async def fork_reading(self, request: Request) -> Response:
        """Start a new reading from a memory that was changed by hand."""
        reading = await self._find_reading(request)
        body = await parse_body(ForkShape, request)
        self._service.readings.check_capacity(Caller(key=request.state.key).key_name)
        # A fork copies steps, which costs no tokens.
        await self._service.documents.check_disk()
        memory = await self._make_memory(reading, body)
        fork = await asyncio.to_thread(self._service.journal.fork, reading.id, body.step, memory)
        _, fork = await self._service.continue_reading(fork, Caller(key=request.state.key))
        return JsonResponse(reading_to_json(fork), 201)

    async def _make_memory(self, reading: Reading, body: ForkShape) -> Memory:
        model, limit = self._service.readings.get_model(reading.model), reading.plan.memory_tokens
        if body.step >= len(reading.steps):
            raise InputError(f"the reading has {len(reading.steps)} steps, counted from 0, and no step {body.step}")
        tokens = await asyncio.to_thread(model.tokenizer.count, body.memory)
        if tokens > limit:
            raise InputError(f"the new memory has {tokens} tokens and the plan gives it {limit}; shorten it")
        return Memory(text=body.memory, tokens=tokens, limit=limit)

    async def delete_reading(self, request: Request) -> Response:
        """Delete a reading, and its document when no other reading is of it."""
        reading = await self._find_reading(request)
        await self._service.readings.interrupt(reading.id)
        try:
            await asyncio.to_thread(self._service.journal.delete, reading.id)
        except JournalError as error:
            raise ApiError(409, str(error), kind="JournalError") from error
        await asyncio.to_thread(self._service.usage.delete_reading, reading.id)
        return Response(status_code=204)

    async def list_models(self, _request: Request) -> Response:
        """List the models, each with the plan that it reads by."""
        return JsonResponse([await self._describe_model(name) for name in self._service.models])

    async def _describe_model(self, name: str) -> dict[str, Any]:
        model, plan = self._service.models[name], self._service.plans[name]
        abilities: frozenset[Ability] | None
        try:
            abilities = await find_abilities(model)
        except ModelError:  # its server is away, which a reading would wait for
            abilities = None
        embeds = await self._check_embeddings(name)
        ways = await asyncio.to_thread(sort_ways, abilities or frozenset(), plan.gate, embeds=embeds)
        return {
            "name": name,
            "window": model.window,
            "plan": plan.to_json(),
            "abilities": None if abilities is None else sorted(abilities),
            "ways": list(ways.open),
            "way": find_default_way(model),
        }

    async def _check_embeddings(self, name: str) -> bool | None:
        """Return whether dense ways are open to a model; its server is asked until it has answered once."""
        if self._embeds.get(name) is None:
            self._embeds[name] = await check_embeddings(self._service.models[name])
        return self._embeds[name]

    async def create_session(self, request: Request) -> Response:
        """Sign a browser in: a cookie stands for the key from now on."""
        body = await parse_body(SessionShape, request)
        key = self._service.keys.find_by_secret(body.key)
        if key is None:
            raise ApiError(401, "that is not a key of this server", kind="invalid_api_key")
        response = Response(status_code=204)
        start_session(response, self._service.keys, key, request)
        return response

    async def check_health(self, _request: Request) -> Response:
        """Answer that the server is up, and how many readings are under way."""
        return JsonResponse({"status": "ok", "readings": len(self._service.readings)})

    async def render_metrics(self, _request: Request) -> Response:
        """Return the metrics for Prometheus."""
        return Response(self._service.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _find_reading(self, request: Request) -> Reading:
        return await self._service.get_reading(request.path_params["id"], request.state.key)


async def _to_json(request: Request, reading: Reading) -> dict[str, Any]:
    """Return a whole reading, with the changes of each step where the request asks for them."""
    # In a thread: some hundred comparisons take longer than the event loop may wait.
    return {**await asyncio.to_thread(reading_to_json, reading, changes=wants_changes(request))}


def _label_to_json(label: Label | None) -> dict[str, Any]:
    if label is None:
        return {}
    return {**({"name": label.name} if label.name else {}), **({"starred": True} if label.is_starred else {})}


def start_session(response: Response, keys: KeyRing, key: Key, request: Request) -> None:
    """Set the cookie that stands for the key from now on."""
    response.set_cookie(
        COOKIE,
        keys.create_session(key),
        max_age=_SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
