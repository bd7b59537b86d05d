"""Documents and readings over HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from bookwheel.errors import InputError, JournalError
from bookwheel.reading.provenance import find_origins
from bookwheel.record import reading_to_json
from bookwheel.serve.engine.documents import store_text, store_url
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.service import Caller, ReadingSpec
from bookwheel.serve.http.caller import identify_caller
from bookwheel.serve.http.changes import build_payload, wants_changes
from bookwheel.serve.http.errors import JsonResponse
from bookwheel.serve.http.events import stream_events
from bookwheel.serve.http.guard import COOKIE
from bookwheel.serve.http.schemas import ForkShape, ReadingShape, ResumeShape, SessionShape, parse_body
from bookwheel.serve.http.uploads import store_upload
from bookwheel.types import Memory

if TYPE_CHECKING:
    from starlette.requests import Request

    from bookwheel.journal import StoredDocument
    from bookwheel.reading.provenance import LineOrigin
    from bookwheel.serve.engine.running_reading import OpenedDocument
    from bookwheel.serve.engine.service import Service
    from bookwheel.types import Reading

_MOST_TEXT: Final = 200_000
_MOST_LISTED: Final = 1000
_LISTED: Final = 100
_SESSION_SECONDS: Final = 30 * 24 * 3600


class Routes:
    """One method a route; docs/serving.md and /openapi.json tell of them."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def upload(self, request: Request) -> Response:
        """Keep a document: a raw body, or a form's field `file`."""
        kept, notes, _ = await store_upload(request, self._service.journal)
        return JsonResponse({"document": kept.id, "name": kept.name, "length": kept.length, "notes": notes}, 201)

    async def text(self, request: Request) -> Response:
        """A span of a document's text."""
        kept = await self._service.get_document(request.path_params["sha"])
        return JsonResponse(await asyncio.to_thread(text_span, request, kept))

    async def begin(self, request: Request) -> Response:
        """Start a reading."""
        asked = await parse_body(ReadingShape, request)
        if sum(source is not None for source in (asked.document, asked.text, asked.url)) != 1:
            raise ApiError(400, "give one of document, text and url", kind="invalid_request", param="document")
        name = asked.model or next(iter(self._service.models))
        plan = self._service.make_plan(name, asked.plan)
        wanted = ReadingSpec(question=asked.question, model=name, plan=plan, way=asked.way)

        async def opened() -> OpenedDocument:
            journal, private = self._service.journal, self._service.settings.allow_private
            if asked.text is not None:
                return await store_text(asked.text, asked.name, journal)
            if asked.url is not None:
                return await store_url(asked.url, journal, allow_private=private)
            return await self._service.get_document(asked.document or ""), ()

        running, reading = await self._service.start_or_find(wanted, opened, await identify_caller(request))
        return JsonResponse(_shown(reading), 201 if running and not reading.steps else 200)

    async def listed(self, request: Request) -> Response:
        """The journal, newest first."""
        limit, search = min(parse_number(request, "limit", _LISTED), _MOST_LISTED), request.query_params.get("search")
        found = await asyncio.to_thread(lambda: self._service.journal.readings(limit=limit, search=search))
        return JsonResponse([reading_to_json(reading, steps=False) for reading in found])

    async def shown(self, request: Request) -> Response:
        """A whole reading."""
        return JsonResponse(await build_payload(request, await self._asked_for(request)))

    async def events(self, request: Request) -> Response:
        """A reading as it goes on."""
        reading = await self._asked_for(request)
        last_event_id = request.headers.get("last-event-id", "")
        return stream_events(self._service.readings, reading, last_event_id, changes=wants_changes(request))

    async def origins(self, request: Request) -> Response:
        """Where each line of the newest memory is from."""
        reading = await self._asked_for(request)
        document = await asyncio.to_thread(self._service.journal.document_of, reading.id)
        lines = await asyncio.to_thread(find_origins, reading.steps, document)
        return JsonResponse([_origin(line) for line in lines])

    async def cancel(self, request: Request) -> Response:
        """Stop a reading; what was read is kept."""
        reading = await self._asked_for(request)
        await self._service.readings.interrupt(reading.id)
        return JsonResponse(await build_payload(request, await self._asked_for(request)))

    async def resume(self, request: Request) -> Response:
        """Go on with a reading, under a budget that counts anew."""
        reading = await self._asked_for(request)
        asked = await parse_body(ResumeShape, request)
        resumed = await self._service.resume(reading, asked.plan.budget, request.state.key)
        return JsonResponse(await build_payload(request, resumed))

    async def fork(self, request: Request) -> Response:
        """A new reading from a memory that was changed by hand."""
        reading = await self._asked_for(request)
        asked = await parse_body(ForkShape, request)
        self._service.readings.check_capacity()
        model, limit = self._service.readings.get_model(reading.model), reading.plan.memory_tokens
        if asked.step >= len(reading.steps):
            raise InputError(f"the reading has {len(reading.steps)} steps, counted from 0, and no step {asked.step}")
        tokens = await asyncio.to_thread(model.tokenizer.count, asked.memory)
        if tokens > limit:
            raise InputError(f"the new memory has {tokens} tokens and the plan gives it {limit}; shorten it")
        memory = Memory(text=asked.memory, tokens=tokens, limit=limit)
        fork = await asyncio.to_thread(self._service.journal.fork, reading.id, asked.step, memory)
        _, fork = await self._service.continue_reading(fork, Caller(key=request.state.key))
        return JsonResponse(_shown(fork), 201)

    async def delete(self, request: Request) -> Response:
        """Take a reading out of the journal, and its document when nothing else is of it."""
        reading = await self._asked_for(request)
        await self._service.readings.interrupt(reading.id)
        try:
            await asyncio.to_thread(self._service.journal.delete, reading.id)
        except JournalError as error:
            raise ApiError(409, str(error), kind="JournalError") from error
        await asyncio.to_thread(self._service.usage.delete_reading, reading.id)
        return Response(status_code=204)

    async def models(self, _request: Request) -> Response:
        """The models that read here."""
        service = self._service
        listed = [(name, model.window, service.plans[name].to_json()) for name, model in service.models.items()]
        return JsonResponse([{"name": name, "window": window, "plan": plan} for name, window, plan in listed])

    async def session(self, request: Request) -> Response:
        """Sign a browser in."""
        asked = await parse_body(SessionShape, request)
        key = self._service.keys.find_by_secret(asked.key)
        if key is None:
            raise ApiError(401, "that is not a key of this server", kind="invalid_api_key")
        answer = Response(status_code=204)
        answer.set_cookie(
            COOKIE,
            self._service.keys.create_session(key),
            max_age=_SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    async def health(self, _request: Request) -> Response:
        """Whether the server is there."""
        return JsonResponse({"status": "ok", "readings": len(self._service.readings)})

    async def metrics(self, _request: Request) -> Response:
        """For Prometheus."""
        return Response(self._service.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _asked_for(self, request: Request) -> Reading:
        return await self._service.get_reading(request.path_params["id"])


def _shown(reading: Reading) -> dict[str, Any]:
    return reading_to_json(reading)


def _origin(line: LineOrigin) -> dict[str, Any]:
    return asdict(line)


def text_span(request: Request, kept: StoredDocument) -> dict[str, Any]:
    """The span of a document's text that is asked for."""
    start, end = parse_number(request, "start", 0), parse_number(request, "end", kept.length)
    if end - start > _MOST_TEXT:
        raise ApiError(400, f"at most {_MOST_TEXT:,} characters at a time", kind="invalid_request", param="end")
    start, end = min(start, kept.length), min(max(start, end), kept.length)
    text = kept.slice(start, end)
    return {"start": start, "end": start + len(text), "text": text}


def parse_number(request: Request, name: str, default: int) -> int:
    """The whole number that a request's query gives under this name."""
    given = request.query_params.get(name, "")
    if not given:
        return default
    if not (given.isascii() and given.isdigit() and len(given) <= 15):  # noqa: PLR2004
        raise ApiError(400, f"{name} must be a whole number from 0 on", kind="invalid_request", param=name)
    return int(given)
