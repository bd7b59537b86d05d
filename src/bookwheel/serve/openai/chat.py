"""OpenAI's routes. What fits the model's window goes straight to the model; anything longer is read.

The memory's versions come as reasoning, the answer as content, and the usage is the sum over all calls. A client that
hangs up stops its reading; the journal keeps it.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import BudgetReached, ModelError
from bookwheel.record import evidence_to_json
from bookwheel.serve.engine.documents import store_text
from bookwheel.serve.engine.errors import ApiError, not_found
from bookwheel.serve.engine.service import ReadingSpec
from bookwheel.serve.http.caller import identify_caller
from bookwheel.serve.http.errors import JsonResponse, code_of, openai_error, status_of
from bookwheel.serve.http.schemas import parse_body
from bookwheel.serve.http.uploads import store_upload
from bookwheel.serve.openai.chat_result import ChatResult
from bookwheel.serve.openai.messages import check_supported, cut_at_stop, parse_messages, split_document_and_question
from bookwheel.serve.openai.pass_through import PassThrough, fits, surely_fits
from bookwheel.serve.openai.response_stream import as_response
from bookwheel.serve.openai.responses import ResponsesShape, to_chat_request
from bookwheel.serve.openai.schemas import ChatShape, completion, piece, usage_json
from bookwheel.types import Answer, Status, Step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request
    from starlette.responses import Response

    from bookwheel.errors import BookwheelError
    from bookwheel.journal import StoredDocument
    from bookwheel.serve.engine.running_reading import DocumentOpener, OpenedDocument, RunningReading
    from bookwheel.serve.engine.service import Service
    from bookwheel.serve.openai.messages import ChatContents
    from bookwheel.types import Reading

_FORCED: Final = "bookwheel/"
_FILE: Final = "file-"
_RESPONSES_OWN: Final = {"messages": "input", "response_format": "text"}
"""What a chat completion calls otherwise."""
_MODELS_SINCE: Final = 1_700_000_000


class OpenAIRoutes:
    """The facade's routes."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.straight = PassThrough(service)

    async def models(self, _request: Request) -> Response:
        """Every model, and under `bookwheel/` the same one made to read."""
        names = [name for model in self._service.models for name in (model, f"{_FORCED}{model}")]
        return JsonResponse({"object": "list", "data": [_model(name) for name in names]})

    async def model(self, request: Request) -> Response:
        """One model."""
        name = request.path_params["name"]
        self._service.readings.get_model(name.removeprefix(_FORCED))
        return JsonResponse(_model(name))

    async def upload(self, request: Request) -> Response:
        """Keep a document, to be named in a request later."""
        kept, _, size = await store_upload(request, self._service.journal)
        return JsonResponse(_file(kept, size))

    async def file(self, request: Request) -> Response:
        """What is known of an uploaded document."""
        kept = await self._service.get_document(request.path_params["id"].removeprefix(_FILE))
        return JsonResponse(_file(kept, kept.length))

    async def completions(self, request: Request) -> Response:
        """A chat completion."""
        asked = await parse_body(ChatShape, request)
        return (await self._said(request, asked, await request.body())).as_chat()

    async def responses(self, request: Request) -> Response:
        """The same as a response: what it asks is put as a chat, and what is said to that told in its form."""
        wanted = await parse_body(ResponsesShape, request)
        try:
            asked, body = to_chat_request(wanted)
            return as_response(await self._said(request, asked, body), wanted)
        except ApiError as error:
            error.param = _RESPONSES_OWN.get(error.param or "", error.param)
            raise

    async def _said(self, request: Request, asked: ChatShape, body: bytes) -> ChatResult:
        name = asked.model.removeprefix(_FORCED)
        model, talk = self._service.readings.get_model(name), parse_messages(asked.messages)
        if asked.model == name and asked.document is None and not talk.files:
            short = surely_fits(talk, asked, model) or await asyncio.to_thread(fits, talk, asked, model)
            if short:
                _check_user(talk)
                return await self.straight.answer(asked, talk, model, request.state.key, body)
        return await self._read(request, asked, talk, name)

    async def _read(self, request: Request, asked: ChatShape, talk: ChatContents, name: str) -> ChatResult:
        check_supported(asked)
        text, question = split_document_and_question(talk, asked.document)
        values = asked.plan.values_given()
        sampling = {key: getattr(asked, key) for key in ("temperature", "top_p", "seed")}
        values["sampling"] = {
            **{key: value for key, value in sampling.items() if value is not None},
            **values.get("sampling", {}),
        }
        if asked.limit is not None:
            values.setdefault("answer_tokens", asked.limit)
        wanted = ReadingSpec(question=question, model=name, plan=self._service.make_plan(name, values), way=asked.way)
        caller = await identify_caller(request)
        opening = self._opening(text, asked, talk)
        running, reading = await self._service.start_or_find(wanted, opening, caller, survives_restart=False)
        headers = {"X-Bookwheel-Reading": reading.id}
        if running:
            running.add_client()
        if asked.stream:
            leave = running.remove_client if running else lambda: None
            return ChatResult(pieces=self._streamed(reading, asked), at_end=leave, headers=headers)
        ended = await self._waited_for(running, request) if running else reading
        return ChatResult(told=_answered(ended, asked), headers=headers)

    def _opening(self, text: str | None, asked: ChatShape, talk: ChatContents) -> DocumentOpener:
        async def opened() -> OpenedDocument:
            if text is not None:
                return await store_text(text, None, self._service.journal)
            named = asked.document if asked.document is not None else talk.files[0]
            sha = named.removeprefix(_FILE)
            if asked.document is not None and len(sha) != 64:  # noqa: PLR2004
                return await store_text(asked.document, None, self._service.journal)
            try:
                return await self._service.get_document(sha), ()
            except ApiError:
                raise not_found(f"file {named[:80]}; upload it to /v1/files first") from None

        if len(talk.files) > 1 or (talk.files and asked.document is not None):
            raise ApiError(400, "one document at a time: name one file", kind="invalid_request", param="messages")
        return opened

    async def _waited_for(self, running: RunningReading, request: Request) -> Reading:
        """The reading's end, which the client's hanging up brings about."""
        gone = asyncio.ensure_future(_gone(request))
        gone.add_done_callback(lambda task: None if task.cancelled() else running.remove_client())
        try:
            return await self._service.readings.wait_for_result(running)
        except asyncio.CancelledError:
            running.remove_client()
            raise
        finally:
            gone.cancel()

    async def _streamed(self, reading: Reading, asked: ChatShape) -> AsyncGenerator[dict[str, Any]]:
        id_ = _completion_id(reading)
        yield piece(id_, asked.model, {"role": "assistant", "content": ""}, reading=reading.id)
        async with aclosing(self._service.readings.stream(reading.id)) as events:
            async for event in events:
                for told in _pieces(event, id_, asked):
                    yield told


def _pieces(event: Step | Answer | Reading, id_: str, asked: ChatShape) -> list[dict[str, Any]]:
    """The chunks that tell of one event."""
    if isinstance(event, Step):
        return [piece(id_, asked.model, {"reasoning_content": _reasoning(event)})]
    if isinstance(event, Answer):
        return [piece(id_, asked.model, {"content": cut_at_stop(event.text, asked.stop)})]
    if event.status is not Status.ANSWERED:
        fault = _fault(event)
        return [{**openai_error(str(fault), status_of(fault), code_of(fault)), "reading": event.id}]
    told = [piece(id_, asked.model, {}, _finish(event), reading=event.id)]
    if (asked.stream_options or {}).get("include_usage"):
        told.append(piece(id_, asked.model, None, usage=usage_json(event.usage)))
    return told


def _answered(ended: Reading, asked: ChatShape) -> dict[str, Any]:
    if ended.status is not Status.ANSWERED or ended.answer is None:
        raise _fault(ended)
    message = {"content": cut_at_stop(ended.answer.text, asked.stop), "reasoning_content": ended.memory.text}
    found = [evidence_to_json(quote) for quote in ended.evidence]
    return completion(
        _completion_id(ended), asked.model, message, _finish(ended), ended.usage, reading=ended.id, evidence=found
    )


def _fault(ended: Reading) -> BookwheelError:
    """Why there is no answer, and where to go on."""
    advice = f" What was read is kept: POST /readings/{ended.id}/resume goes on."
    if ended.status is Status.STOPPED:
        return BudgetReached(ended.error + advice)
    if ended.status is Status.CANCELLED:
        return ApiError(
            409, "the reading was interrupted." + advice, kind="cancelled", headers={"x-should-retry": "false"}
        )
    if ended.status is Status.READING:
        return ApiError(503, "the server is ending." + advice, kind="ending", headers={"x-should-retry": "false"})
    return ModelError(ended.error + advice)


def _reasoning(step: Step) -> str:
    place = f"{step.chunk.start:,}–{step.chunk.end:,}"
    if step.before.text == step.after.text:
        return f"[{step.chunk.index + 1}] {place}: unchanged\n\n"
    return f"[{step.chunk.index + 1}] {place}\n{step.after.text}\n\n"


def _finish(ended: Reading) -> str:
    assert ended.answer
    return str(ended.answer.conversation.reply.finish)


def _completion_id(reading: Reading) -> str:
    return f"chatcmpl-{reading.id}"


async def _gone(request: Request) -> None:
    """Return when the client has hung up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _check_user(talk: ChatContents) -> None:
    """A conversation needs someone who asks; a picture alone is for the endpoint to judge."""
    said = any(content.text.strip() for content in talk.contents if content.role == "user")
    if not said and not talk.others:
        raise ApiError(400, "there is no user message with text in it", kind="no_user_message", param="messages")


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _MODELS_SINCE, "owned_by": "bookwheel"}


def _file(kept: StoredDocument, size: int) -> dict[str, Any]:
    return {
        "id": f"{_FILE}{kept.id}",
        "object": "file",
        "bytes": size,
        "created_at": _MODELS_SINCE,
        "filename": kept.name,
        "purpose": "user_data",
        "status": "processed",
    }
