"""The routes of readings: started, followed, interrupted, continued, judged, edited, shown and deleted."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, NotRequired

from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.errors import InputError
from bookwheel.journal.shelf import Label, LabelKind
from bookwheel.reading.worth import ReadingWorth, measure_reading
from bookwheel.record import ListedReadingJson, ReadingJson, reading_to_json
from bookwheel.schema import to_plain
from bookwheel.serve.engine.access import AccessPolicy, SourceRequest
from bookwheel.serve.engine.calls import RebuiltCall, rebuild_call
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.running_reading import Caller, RunningReading, Waiting
from bookwheel.serve.engine.service import Service
from bookwheel.serve.engine.starting import start_or_find
from bookwheel.serve.engine.summaries import label_to_json
from bookwheel.serve.http.answers import JsonResponse, stream_events
from bookwheel.serve.http.operations import IDEMPOTENCY, Routes, operation
from bookwheel.serve.http.requests import (
    ForkShape,
    JudgeShape,
    LabelShape,
    ReadingShape,
    ResumeShape,
    SourceShape,
    identify_caller,
    parse_flag,
    parse_number,
    read_digits,
)
from bookwheel.session import can_answer
from bookwheel.types import Memory, Reading, Status
from bookwheel.verdict.provenance import LineOrigin, find_origins

_MOST_READINGS: Final = 1000
_DEFAULT_READINGS: Final = 100
_ENDINGS: Final = {"html": "html", "markdown": "md"}
_CHANGES: Final = {"changes": int}
_LISTING: Final = {"search": str, "document": str, "limit": int, "offset": int, "before": str, "way": str}


class ReadingUnderWayJson(ReadingJson):
    """A whole reading, and what it waits for."""

    waiting: NotRequired[Waiting]
    """The model fails at the moment, and is tried again."""


class StartedReadingsJson(TypedDict):
    """The readings of several questions about one document, in their order."""

    readings: list[ReadingJson]


class ReadingRoutes(Routes):
    """The operations of readings."""

    @operation(
        "POST",
        "/readings",
        "Start a reading",
        ReadingJson | StartedReadingsJson,
        status=201,
        also=200,
        headers=IDEMPOTENCY,
    )
    async def start_reading(self, request: Request, body: ReadingShape) -> Response:
        if (body.question is None) == (body.questions is None):
            raise ApiError(400, "give one of question and questions", param="question")
        questions = [body.question] if body.question is not None else body.questions or []
        old = await self._service.get_reading(body.reading, request.state.key) if body.reading else None
        started = await start_questions(self._service, request, body, questions, body.way, old)
        is_new = any(running is not None and not reading.steps for running, reading in started)
        payload = [reading_to_json(reading) for _, reading in started]
        return JsonResponse(payload[0] if body.questions is None else {"readings": payload}, 201 if is_new else 200)

    # Newest first.
    @operation("GET", "/readings", "List readings", list[ListedReadingJson], query=_LISTING)
    async def list_readings(self, request: Request) -> Response:
        key, wanted = request.state.key, request.query_params
        limit = min(parse_number(request, "limit", _DEFAULT_READINGS), _MOST_READINGS)
        rows = await self._service.list_summaries(
            key,
            limit=limit,
            search=wanted.get("search"),
            document=wanted.get("document"),
            offset=parse_number(request, "offset", 0),
            before=wanted.get("before"),
            way=wanted.get("way"),
        )
        return Response(f"[{','.join(rows)}]", media_type=JsonResponse.media_type)

    @operation("GET", "/readings/{id}", "A whole reading", ReadingUnderWayJson, query=_CHANGES)
    async def get_reading(self, request: Request) -> Response:
        reading = await self._find_reading(request)
        labels = await self._service.load_labels(request.state.key, [reading.id])
        payload = {**await _to_json(request, reading), **label_to_json(labels.get(reading.id))}
        running = self._service.readings.get_running(reading.id)
        if running and running.waiting:
            payload["waiting"] = to_plain(running.waiting)
        return JsonResponse(payload)

    @operation("PATCH", "/readings/{id}", "Name or star a reading")
    async def label_reading(self, request: Request, body: LabelShape) -> Label:
        reading, key = await self._find_reading(request), request.state.key
        await self._service.set_label(key, LabelKind.READING, reading.id, name=body.name, is_starred=body.starred)
        return (await self._service.load_labels(key, [reading.id]))[reading.id]

    @operation("DELETE", "/readings/{id}", "Delete a reading", status=204)
    async def delete_reading(self, request: Request) -> Response:
        await self._service.delete_reading((await self._find_reading(request)).id)
        return Response(status_code=204)

    @operation(
        "GET",
        "/readings/{id}/events",
        "Follow a reading's steps",
        str,
        kind="text/event-stream",
        query=_CHANGES | {"live": int},
        headers={"Last-Event-ID": "The last event that the client has."},
    )
    async def stream_reading(self, request: Request) -> Response:
        reading, last_event_id = await self._find_reading(request), request.headers.get("last-event-id", "")
        changes, is_live = parse_flag(request, "changes"), parse_flag(request, "live")
        return stream_events(self._service.readings, reading, last_event_id, changes=changes, is_live=is_live)

    @operation("GET", "/readings/{id}/origins", "The origins of its memory")
    async def list_origins(self, request: Request) -> list[LineOrigin]:
        reading = await self._find_reading(request)
        document = await self._service.stored_opener(reading.id)()
        return list(await asyncio.to_thread(find_origins, reading.steps, document))

    # It asks the model some times for each step, so it is asked for, and counts as calls of the caller's.
    @operation("POST", "/readings/{id}/worth", "What its memories are worth")
    async def measure_worth(self, request: Request) -> ReadingWorth:
        reading = await self._find_reading(request)
        document = await self._service.stored_opener(reading.id)()
        session = self._service.make_session(request.state.key, reading.model)
        return await measure_reading(reading, document, session.model)

    @operation("POST", "/readings/{id}/judge", "Let a model judge its answer", needs_body=False, query=_CHANGES)
    async def judge_reading(self, request: Request, body: JudgeShape) -> ReadingJson:
        reading = await self._find_reading(request)
        if reading.status is Status.READING:
            raise ApiError(409, "the reading is under way: its answer can be judged when it is there", kind="under_way")
        judged = await self._service.judge(reading.id, body.model, body.plan.budget, request.state.key)
        return await _to_json(request, judged)

    @operation(
        "GET",
        "/readings/{id}/export",
        "A reading as HTML or Markdown",
        str,
        kind="text/html",
        query={"format": Literal["html", "markdown"]},
    )
    async def export_reading(self, request: Request) -> Response:
        format_ = request.query_params.get("format", "html")
        if format_ not in _ENDINGS:
            raise ApiError(400, "format is html or markdown", param="format")
        reading = await self._find_reading(request)
        body = await asyncio.to_thread(self._render, reading, format_)
        name = f'attachment; filename="reading-{reading.id}.{_ENDINGS[format_]}"'
        # Lone surrogates of a document have no UTF-8.
        content = body.encode("utf-8", "replace")
        return Response(content, media_type=f"text/{format_}; charset=utf-8", headers={"Content-Disposition": name})

    def _render(self, reading: Reading, format_: str) -> str:
        from bookwheel.views.html import render_page
        from bookwheel.views.markdown import render_markdown

        origins = find_origins(reading.steps, self._service.journal.document_of(reading.id))
        return render_page(reading, origins) if format_ == "html" else render_markdown(reading, origins)

    @operation("GET", "/readings/{id}/calls/{number}", "The prompt and reply of a step")
    async def get_call(self, request: Request) -> RebuiltCall:
        reading = await self._find_reading(request)
        number = read_digits(wanted := request.path_params["number"])
        if number is None:
            raise ApiError(404, f"the reading has no step {wanted[:20]}", kind="not_found")
        model = self._service.readings.get_model(reading.model)
        document = await self._service.stored_opener(reading.id)()
        return await rebuild_call(reading, number, document, model, self._service.readings.loop)

    @operation("POST", "/readings/{id}/cancel", "Interrupt a reading", query=_CHANGES)
    async def cancel_reading(self, request: Request) -> ReadingJson:
        reading = await self._find_reading(request)
        await self._service.readings.interrupt(reading.id)
        return await _to_json(request, await self._find_reading(request))

    @operation("POST", "/readings/{id}/resume", "Continue a reading", needs_body=False, query=_CHANGES)
    async def resume_reading(self, request: Request, body: ResumeShape) -> ReadingJson:
        reading = await self._find_reading(request)
        resumed = await self._service.resume(reading, body.plan.budget, Caller(key=request.state.key))
        return await _to_json(request, resumed)

    @operation("POST", "/readings/{id}/fork", "Change the memory by hand", status=201)
    async def fork_reading(self, request: Request, body: ForkShape) -> ReadingJson:
        reading = await self._find_reading(request)
        caller = Caller(key=request.state.key)
        self._service.readings.check_capacity(caller.key_name)
        # A fork copies steps, which costs no tokens.
        await self._service.documents.check_disk()
        model, limit = self._service.readings.get_model(reading.model), reading.plan.memory_tokens
        if body.step >= len(reading.steps):
            raise InputError(f"the reading has {len(reading.steps)} steps, counted from 0, and no step {body.step}")
        tokens = await asyncio.to_thread(model.tokenizer.count, body.memory)
        if tokens > limit:
            raise InputError(f"the new memory has {tokens} tokens and the plan gives it {limit}; shorten it")
        memory = Memory(text=body.memory, tokens=tokens, limit=limit)
        fork = await asyncio.to_thread(self._service.journal.fork, reading.id, body.step, memory)
        fork = await self._service.continue_reading(fork, caller)
        return reading_to_json(fork)


async def _to_json(request: Request, reading: Reading) -> ReadingJson:
    """Return a whole reading, with the changes of each step where the request asks for them."""
    # In a thread: some hundred comparisons take longer than the event loop may wait.
    return await asyncio.to_thread(reading_to_json, reading, changes=parse_flag(request, "changes"))


async def start_questions(
    service: Service,
    request: Request,
    body: SourceShape,
    questions: Sequence[str],
    way: str,
    old: Reading | None = None,
) -> list[tuple[RunningReading | None, Reading]]:
    """Start readings of what a request names, or find those that it started when it was sent before.

    With an earlier reading, its document is asked again.
    """
    source = SourceRequest(document=body.document, text=body.text, url=body.url, name=body.name)
    if len(source.list_given()) + (old is not None) != 1:
        raise ApiError(400, "give one of document, text, url and reading", param="document")
    spec = service.make_spec(body.plan, model=body.model, way=way, old=old)
    caller = await identify_caller(request)
    if old is None:
        opener = service.source_opener(source, AccessPolicy(allow_private=service.settings.allow_private), caller)
        return await start_or_find(service, spec, questions, opener, caller)
    # Another way is asked for to read in it.
    if isinstance(body, ReadingShape) and body.from_memory and not way and can_answer(old, questions[0], spec.plan):
        spec = replace(spec, finished=old)
    return await start_or_find(service, spec, questions, service.stored_opener(old.id), caller)
