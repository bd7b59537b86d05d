"""OpenAI's routes. A chat that fits the model's window goes to the model; a longer one becomes a reading.

The versions of the memory are sent as reasoning and the answer as content; the usage is the sum over all calls. A
client that hangs up stops its reading, and the journal keeps it.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import BudgetReached, ModelError
from bookwheel.record import claim_to_json, evidence_to_json
from bookwheel.serve.engine.errors import ApiError, not_found
from bookwheel.serve.engine.running_reading import Waiting
from bookwheel.serve.engine.service import ReadingSpec
from bookwheel.serve.http.caller import identify_caller
from bookwheel.serve.http.errors import JsonResponse, code_of, openai_error, status_of
from bookwheel.serve.http.schemas import parse_body
from bookwheel.serve.http.uploads import store_upload
from bookwheel.serve.openai.chat_result import ChatResult
from bookwheel.serve.openai.messages import check_supported, cut_at_stop, parse_messages, split_document_and_question
from bookwheel.serve.openai.pass_through import PassThrough, fits_by_bytes, fits_by_tokens
from bookwheel.serve.openai.response_stream import to_response
from bookwheel.serve.openai.responses import ResponsesShape, to_chat_request
from bookwheel.serve.openai.schemas import ChatShape, chunk_to_json, completion_to_json, usage_to_json
from bookwheel.types import Answer, Status, Step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request
    from starlette.responses import Response

    from bookwheel.errors import BookwheelError
    from bookwheel.journal import StoredDocument
    from bookwheel.serve.engine.running_reading import DocumentOpener, RunningReading
    from bookwheel.serve.engine.service import Caller, Service
    from bookwheel.serve.openai.messages import ChatContents
    from bookwheel.types import Reading

# Before a model's name: read even what fits its window.
_READING_PREFIX: Final = "bookwheel/"
_FILE_PREFIX: Final = "file-"
# Parameters of a chat completion that the Responses API names otherwise.
_RESPONSES_NAMES: Final = {"messages": "input", "response_format": "text"}
# Clients require a creation time of models and files; nothing depends on it.
_CREATED: Final = 1_700_000_000
_SHA_LENGTH: Final = 64


class OpenAIRoutes:
    """One method for each route of OpenAI's API."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pass_through = PassThrough(service)

    async def aclose(self) -> None:
        """Close the connections to the endpoints."""
        await self._pass_through.aclose()

    async def list_models(self, _request: Request) -> Response:
        """List every model twice: as it is, and under `bookwheel/`, which always reads."""
        names = [name for model in self._service.models for name in (model, f"{_READING_PREFIX}{model}")]
        return JsonResponse({"object": "list", "data": [_model_to_json(name) for name in names]})

    async def get_model(self, request: Request) -> Response:
        """Return one model."""
        name = request.path_params["name"]
        self._service.readings.get_model(name.removeprefix(_READING_PREFIX))
        return JsonResponse(_model_to_json(name))

    async def upload_file(self, request: Request) -> Response:
        """Store a document that later requests name by its id."""
        document, size = await store_upload(request, self._service.documents)
        return JsonResponse(_file_to_json(document, size))

    async def get_file(self, request: Request) -> Response:
        """Return the facts of an uploaded document."""
        document = await self._service.get_document(
            request.path_params["id"].removeprefix(_FILE_PREFIX), request.state.key
        )
        return JsonResponse(_file_to_json(document, document.length))

    async def create_completion(self, request: Request) -> Response:
        """Answer a chat completion."""
        chat = await parse_body(ChatShape, request)
        return (await self._answer(request, chat, await request.body())).to_chat_response()

    async def create_response(self, request: Request) -> Response:
        """Answer a request of the Responses API, as the chat completion that it stands for."""
        shape = await parse_body(ResponsesShape, request)
        try:
            chat, raw_body = to_chat_request(shape)
            return to_response(await self._answer(request, chat, raw_body), shape)
        except ApiError as error:
            error.param = _RESPONSES_NAMES.get(error.param or "", error.param)
            raise

    async def _answer(self, request: Request, chat: ChatShape, raw_body: bytes) -> ChatResult:
        name = chat.model.removeprefix(_READING_PREFIX)
        model, contents = self._service.readings.get_model(name), parse_messages(chat.messages)
        if chat.model == name and chat.document is None and not contents.files:
            # Counting tokens may wait for a server, so it stays out of the event loop.
            counted = (contents, chat, model)
            if fits_by_bytes(*counted) or await asyncio.to_thread(fits_by_tokens, *counted):
                _check_user_text(contents)
                return await self._pass_through.answer(chat, contents, model, request.state.key, raw_body)
        return await self._read(request, chat, contents, name)

    async def _read(self, request: Request, chat: ChatShape, contents: ChatContents, name: str) -> ChatResult:
        check_supported(chat)
        text, question = split_document_and_question(contents, chat.document)
        sampling = {key: getattr(chat, key) for key in ("temperature", "top_p", "seed")}
        values: dict[str, Any] = {"sampling": {key: value for key, value in sampling.items() if value is not None}}
        if chat.limit is not None:
            values["answer_tokens"] = chat.limit
        plan = self._service.make_plan(name, values, chat.plan)
        spec = ReadingSpec(question=question, model=name, plan=plan, way=chat.way)
        caller = await identify_caller(request)
        opener = self._make_opener(text, chat, contents, caller)
        running, reading = await self._service.start_or_find(spec, opener, caller, survives_restart=False)
        headers = {"X-Bookwheel-Reading": reading.id}
        if running:
            running.add_client()
        if chat.stream:
            at_end = running.remove_client if running else lambda: None
            return ChatResult(chunks=self._stream(reading, chat), at_end=at_end, headers=headers)
        reading = await self._wait_for(running, request) if running else reading
        return ChatResult(payload=_make_completion(reading, chat), headers=headers)

    def _make_opener(self, text: str | None, chat: ChatShape, contents: ChatContents, caller: Caller) -> DocumentOpener:
        async def open_document() -> StoredDocument:
            if text is not None:
                return await self._service.documents.store_text(text, None, caller.key_name)
            name = chat.document if chat.document is not None else contents.files[0]
            sha = name.removeprefix(_FILE_PREFIX)
            if chat.document is not None and len(sha) != _SHA_LENGTH:
                # Not the id of a file, so it is the text itself.
                return await self._service.documents.store_text(chat.document, None, caller.key_name)
            try:
                return await self._service.get_document(sha, caller.key)
            except ApiError:
                raise not_found(f"file {name[:80]}; upload it to /v1/files first") from None

        if len(contents.files) > 1 or (contents.files and chat.document is not None):
            raise ApiError(400, "one document at a time: name one file", kind="invalid_request", param="messages")
        return open_document

    async def _wait_for(self, running: RunningReading, request: Request) -> Reading:
        """Return the reading when it has ended. It is interrupted when the client hangs up."""
        disconnect = asyncio.ensure_future(_wait_for_disconnect(request))
        disconnect.add_done_callback(lambda task: None if task.cancelled() else running.remove_client())
        try:
            return await self._service.readings.wait_for_result(running)
        except asyncio.CancelledError:
            running.remove_client()
            raise
        finally:
            disconnect.cancel()

    async def _stream(self, reading: Reading, chat: ChatShape) -> AsyncGenerator[dict[str, Any]]:
        id_ = _completion_id(reading)
        yield chunk_to_json(id_, chat.model, {"role": "assistant", "content": ""}, reading=reading.id)
        async with aclosing(self._service.readings.stream(reading.id)) as events:
            async for event in events:
                for chunk in _make_chunks(event, id_, chat):
                    yield chunk


def _make_chunks(event: Step | Answer | Reading | Waiting, id_: str, chat: ChatShape) -> list[dict[str, Any]]:
    """Return the chunks for one event of a reading."""
    if isinstance(event, Step):
        return [chunk_to_json(id_, chat.model, {"reasoning_content": _format_reasoning(event)})]
    if isinstance(event, Answer):
        return [chunk_to_json(id_, chat.model, {"content": cut_at_stop(event.text, chat.stop)})]
    if isinstance(event, Waiting):
        return []
    if event.status is not Status.ANSWERED:
        error = _explain_no_answer(event)
        return [{**openai_error(str(error), status_of(error), code_of(error)), "reading": event.id}]
    more = {"reading": event.id, **_verdict_to_json(event)}
    chunks = [chunk_to_json(id_, chat.model, {}, _finish_reason(event), **more)]
    if (chat.stream_options or {}).get("include_usage"):
        chunks.append(chunk_to_json(id_, chat.model, None, usage=usage_to_json(event.usage)))
    return chunks


def _make_completion(reading: Reading, chat: ChatShape) -> dict[str, Any]:
    if reading.status is not Status.ANSWERED or reading.answer is None:
        raise _explain_no_answer(reading)
    message = {"content": cut_at_stop(reading.answer.text, chat.stop), "reasoning_content": reading.memory.text}
    finish, more = _finish_reason(reading), {"reading": reading.id, **_verdict_to_json(reading)}
    return completion_to_json(_completion_id(reading), chat.model, message, finish, reading.usage, **more)


def _verdict_to_json(reading: Reading) -> dict[str, Any]:
    """Return how far the document bears out the answer, and the notes on the document."""
    return {
        "verdict": reading.verdict,
        "claims": [claim_to_json(claim) for claim in reading.claims],
        "evidence": [evidence_to_json(passage) for passage in reading.evidence],
        "notes": list(reading.document.notes),
    }


def _explain_no_answer(reading: Reading) -> BookwheelError:
    """Return the reason for which there is no answer, and the request that continues the reading."""
    advice = f" What was read is kept: POST /readings/{reading.id}/resume goes on."
    if reading.status is Status.STOPPED:
        return BudgetReached(reading.error + advice)
    if reading.status is Status.CANCELLED:
        return ApiError(
            409, "the reading was interrupted." + advice, kind="cancelled", headers={"x-should-retry": "false"}
        )
    if reading.status is Status.READING:
        return ApiError(503, "the server is ending." + advice, kind="ending", headers={"x-should-retry": "false"})
    return ModelError(reading.error + advice)


def _format_reasoning(step: Step) -> str:
    place = f"{step.chunk.start:,}–{step.chunk.end:,}"
    if step.before.text == step.after.text:
        return f"[{step.chunk.index + 1}] {place}: unchanged\n\n"
    return f"[{step.chunk.index + 1}] {place}\n{step.after.text}\n\n"


def _finish_reason(reading: Reading) -> str:
    assert reading.answer
    return str(reading.answer.conversation.reply.finish)


def _completion_id(reading: Reading) -> str:
    return f"chatcmpl-{reading.id}"


async def _wait_for_disconnect(request: Request) -> None:
    """Return when the client has hung up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _check_user_text(contents: ChatContents) -> None:
    """Raise ApiError for a chat without a text of the user. A picture alone is for the endpoint to judge."""
    has_text = any(text.text.strip() for text in contents.texts if text.role == "user")
    if not has_text and not contents.others:
        raise ApiError(400, "there is no user message with text in it", kind="no_user_message", param="messages")


def _model_to_json(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "bookwheel"}


def _file_to_json(document: StoredDocument, size: int) -> dict[str, Any]:
    return {
        "id": f"{_FILE_PREFIX}{document.id}",
        "object": "file",
        "bytes": size,
        "created_at": _CREATED,
        "filename": document.name,
        "purpose": "user_data",
        "status": "processed",
    }
