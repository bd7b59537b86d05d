"""OpenAI's routes. A chat that fits the model's window goes to the model; a longer one becomes a reading.

The versions of the memory are sent as reasoning and the answer as content; the usage is the sum over all calls.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from itertools import chain
from typing import Any, Final

from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from bookwheel.errors import WindowExceeded
from bookwheel.journal.shelf import ShelfOrder, ShelfQuery, ShelvedDocument
from bookwheel.models.base import Model, unwrap
from bookwheel.models.openai import OpenAIModel
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.registry import load_spec
from bookwheel.serve.engine.errors import ApiError, not_found
from bookwheel.serve.engine.service import Service
from bookwheel.serve.http.answers import JsonResponse
from bookwheel.serve.http.operations import IDEMPOTENCY, operation
from bookwheel.serve.http.requests import parse_number, store_upload
from bookwheel.serve.openai.attachments import store_attachments, store_pictures
from bookwheel.serve.openai.chat_reader import ChatReader
from bookwheel.serve.openai.chat_tasks import answer_from_words, is_chat_task, shorten_chat
from bookwheel.serve.openai.completions import ChatResult, make_reply
from bookwheel.serve.openai.conversation import ChatContents, find_conversation, parse_messages
from bookwheel.serve.openai.memory_chat import PREFIX as MEMORY_PREFIX
from bookwheel.serve.openai.memory_chat import answer_from_memory
from bookwheel.serve.openai.pass_through import PassThrough
from bookwheel.serve.openai.requests import (
    FILE_PREFIX,
    ChatShape,
    MessageShape,
    prompt_room,
    refuse,
    refuse_silence,
    reply_limit,
    window_tokens,
)
from bookwheel.serve.openai.responses import ResponsesShape, list_input, to_chat_request, to_response

# Before a model's name: read even what fits its window.
READING_PREFIX: Final = "bookwheel/"
# A title, some tags or three questions are shorter; a small model without a limit goes on for a quarter of its window.
_TASK_TOKENS: Final = 512
# Parameters of a chat completion that the Responses API names otherwise.
_RESPONSES_NAMES: Final = {"messages": "input", "response_format": "text"}
_ANSWERS: Final = "bookwheel.serve.openai.answers:"
# A longer text cannot fit, so that it need not be tokenized.
_MOST_CHARACTERS_PER_TOKEN: Final = 64
_MOST_FILES: Final = 10_000
# What a chat template puts around one message.
_TOKENS_PER_MESSAGE: Final = 4
# Clients require a creation time of models; nothing depends on it.
_CREATED: Final = 1_700_000_000


class OpenAIRoutes:
    """One method for each operation of OpenAI's API."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.pass_through = PassThrough(service)
        self._reader = ChatReader(service)

    async def aclose(self) -> None:
        await self.pass_through.aclose()

    @operation("GET", "/v1/models", "OpenAI: models", f"{_ANSWERS}ModelListJson")
    async def list_models(self, request: Request) -> Response:
        names = await self.list_names(request)
        return JsonResponse({"object": "list", "data": [_model_to_json(name) for name in names]})

    @operation("GET", "/v1/models/{name:path}", "OpenAI: a model", "openai.types:Model")
    async def get_model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name.startswith(MEMORY_PREFIX):
            await self.service.memories.find(request.state.key, name.removeprefix(MEMORY_PREFIX))
        else:
            self.service.readings.get_model(name.removeprefix(READING_PREFIX))
        return JsonResponse(_model_to_json(name))

    @operation(
        "POST", "/v1/files", "OpenAI: upload a document", "openai.types:FileObject", uploads=("multipart/form-data",)
    )
    async def upload_file(self, request: Request) -> Response:
        """Store a document that later requests name by its id."""
        document, size = await store_upload(request, self.service.documents)
        return JsonResponse(_file_to_json(await self.service.find_on_shelf(document.id, request.state.key), size))

    @operation("GET", "/v1/files", "OpenAI: documents", f"{_ANSWERS}FileListJson", query={"after": str, "limit": int})
    async def list_files(self, request: Request) -> Response:
        """Return the documents, the newest first."""
        key, after = request.state.key, request.query_params.get("after", "").removeprefix(FILE_PREFIX)
        if after:
            await self.service.find_on_shelf(after, key)
        limit = min(parse_number(request, "limit", _MOST_FILES), _MOST_FILES)
        query = ShelfQuery(order=ShelfOrder.ADDED, after=after)
        files = await self.service.list_shelf(key, query, limit=limit + 1)
        data = [_file_to_json(one, one.length) for one in files[:limit]]
        return JsonResponse({"object": "list", "data": data, "has_more": len(files) > limit})

    @operation("GET", "/v1/files/{id}", "OpenAI: a document", "openai.types:FileObject")
    async def get_file(self, request: Request) -> Response:
        document = await self.service.find_on_shelf(_file_id(request), request.state.key)
        return JsonResponse(_file_to_json(document, document.length))

    @operation("GET", "/v1/files/{id}/content", "OpenAI: the text of a document", str, kind="text/plain")
    async def get_file_content(self, request: Request) -> Response:
        """Return the whole text that is read, whatever file it was read from."""
        document = await self.service.get_document(_file_id(request), request.state.key)
        parts = (part.text.encode("utf-8", "replace") for part in document.parts())
        return StreamingResponse(iterate_in_threadpool(parts), media_type="text/plain")

    @operation("DELETE", "/v1/files/{id}", "OpenAI: delete a document with its readings", "openai.types:FileDeleted")
    async def delete_file(self, request: Request) -> Response:
        key = request.state.key
        document = await self.service.find_on_shelf(_file_id(request), key)
        await self.service.delete_documents([document.document], key)
        return JsonResponse({"id": f"{FILE_PREFIX}{document.document}", "object": "file", "deleted": True})

    @operation("POST", "/v1/chat/completions", "OpenAI: chat", f"{_ANSWERS}ChatCompletionJson", headers=IDEMPOTENCY)
    async def create_completion(self, request: Request, chat: ChatShape) -> Response:
        return (await self.answer(request, chat, await request.body())).to_chat_response()

    @operation("POST", "/v1/responses", "OpenAI: a response", f"{_ANSWERS}ResponseJson", headers=IDEMPOTENCY)
    async def create_response(self, request: Request, shape: ResponsesShape) -> Response:
        """Answer a request of the Responses API, as the chat completion that it stands for."""
        owner, previous = self.service.owner(request.state.key), shape.previous_response_id or ""
        kept = self.service.responses

        def keep(response: Mapping[str, Any]) -> None:
            if response["store"] and response["status"] != "failed":
                kept.keep(owner, previous, list_input(shape), response)

        try:
            chat, raw_body = to_chat_request(shape, kept.list_items(owner, previous))
            return to_response(await self.answer(request, chat, raw_body), shape, keep)
        except ApiError as error:
            error.param = _RESPONSES_NAMES.get(error.param or "", error.param)
            raise

    @operation("GET", "/v1/responses/{id}", "OpenAI: a response that is kept", f"{_ANSWERS}ResponseJson")
    async def get_response(self, request: Request) -> Response:
        found = self.service.responses.find(self.service.owner(request.state.key), request.path_params["id"])
        if found is None:
            raise not_found("response of that id (any more)")
        return JsonResponse(found.response)

    @operation("DELETE", "/v1/responses/{id}", "OpenAI: drop a response", f"{_ANSWERS}ResponseDeletedJson")
    async def delete_response(self, request: Request) -> Response:
        """Drop a response; its reading stays."""
        id_ = request.path_params["id"]
        if not self.service.responses.drop(self.service.owner(request.state.key), id_):
            raise not_found("response of that id (any more)")
        return JsonResponse({"id": id_, "object": "response", "deleted": True})

    async def list_names(self, request: Request) -> list[str]:
        """Return every model twice, as it is and under `bookwheel/`, which always reads; then the client's memories."""
        names = [name for model in self.service.models for name in (model, f"{READING_PREFIX}{model}")]
        memories = await self.service.memories.list_all(request.state.key)
        return [*names, *(f"{MEMORY_PREFIX}{memory['memory']}" for memory in memories)]

    def find_model(self, name: str) -> Model:
        return self.service.readings.get_model(name.removeprefix(READING_PREFIX))

    def find_window(self, name: str) -> int:
        return window_tokens(self.find_model(self._find_reader(name)))

    def _find_reader(self, name: str) -> str:
        """Return the model's name; a memory is asked by the first one."""
        return next(iter(self.service.models)) if name.startswith(MEMORY_PREFIX) else name

    async def count_tokens(self, request: Request, chat: ChatShape) -> int:
        """Return the tokens of all texts of a chat, with those of its documents."""
        chat = await store_attachments(self.service, request, chat)
        contents = parse_messages(chat.messages)
        count = self.find_model(self._find_reader(chat.model)).tokenizer.count
        documents = [
            await self.service.get_document(id_.removeprefix(FILE_PREFIX), request.state.key) for id_ in contents.files
        ]
        texts = chain((text.text for text in contents.texts), (part.text for one in documents for part in one.parts()))
        return await asyncio.to_thread(lambda: sum(map(count, texts)))

    async def answer(self, request: Request, chat: ChatShape, raw_body: bytes) -> ChatResult:
        """Answer a chat completion, whichever API it came by. `raw_body` is what an endpoint is sent."""
        if chat.model.startswith(MEMORY_PREFIX):
            contents = parse_messages(chat.messages)
            return await answer_from_memory(self.service.memories, chat, contents, request.state.key)
        name = chat.model.removeprefix(READING_PREFIX)
        chat = await store_attachments(self.service, request, chat)
        model, contents = self.service.readings.get_model(name), parse_messages(chat.messages)
        self._check_fields(chat, name)
        has_document, key = chat.document is not None or bool(contents.files), request.state.key
        is_task = not has_document and is_chat_task(chat.messages)
        # A model that only quotes writes no titles; the chat's own words make one.
        only_quotes = is_task and prompts_for(self.service.plans[model.name], "").quotes
        if only_quotes and (answer := answer_from_words(chat.messages)):
            return make_reply(chat, model.name, answer)
        if is_task and not chat.limit:
            limit = min(_TASK_TOKENS, reply_limit(chat, model))
            chat = chat.model_copy(update={"max_completion_tokens": limit})
        # Counting tokens may wait for a server, so it stays out of the event loop.
        counted = (contents, chat, model)
        fits = fits_by_bytes(*counted) or await asyncio.to_thread(fits_by_tokens, *counted)
        # A model in this process takes no pictures in a chat: they are read.
        is_passed_on = not contents.pictures or isinstance(unwrap(model), OpenAIModel)
        is_plain = chat.model == name and not chat.way  # Who names a way of reading wants it to be read.
        if fits and not has_document and is_passed_on and (is_plain or _has_one_text(contents)):
            _check_user_text(contents)
            if is_plain and (told := await self._reader.count(request, chat, contents, name)):
                return told
            try:
                return await self.pass_through.answer(chat, contents, model, key, raw_body)
            except WindowExceeded:
                fits = False
        if is_task:
            return await self._answer_task(chat, model, request)
        conversation = find_conversation(contents, chat.document, is_outgrown=not fits)
        if contents.pictures:
            if chat.document is not None:
                raise refuse("one document at a time: a picture beside the field document", "messages")
            contents, conversation = await store_pictures(self.service, request, contents, conversation)
        return await self._reader.answer(request, chat, contents, conversation, name)

    def _check_fields(self, chat: ChatShape, name: str) -> None:
        """Raise what is wrong with our own fields, also where the chat fits and nothing is read by them."""
        self.service.make_plan(name, chat.plan)
        if chat.way:
            load_spec(chat.way)

    async def _answer_task(self, chat: ChatShape, model: Model, request: Request) -> ChatResult:
        """Answer what a client asks about the chat from its newest turns."""
        messages = [message.model_dump() for message in chat.messages]
        room = prompt_room(chat, model)
        short = await asyncio.to_thread(shorten_chat, messages, model.tokenizer.count, room)
        shapes = [MessageShape.model_validate(message) for message in short]
        newest = chat.model_copy(update={"model": model.name, "messages": shapes})
        body = newest.model_dump_json(exclude_unset=True).encode()
        return await self.pass_through.answer(newest, parse_messages(shapes), model, request.state.key, body)


def fits_by_bytes(contents: ChatContents, chat: ChatShape, model: Model) -> bool:
    """Return whether the conversation fits even if each byte is a token."""
    size = sum(len(text.text.encode("utf-8", "replace")) for text in contents.texts)
    return size <= prompt_room(chat, model) - _frame_tokens(contents)


def fits_by_tokens(contents: ChatContents, chat: ChatShape, model: Model) -> bool:
    """Return whether the conversation fits, by its tokens; may wait for a server's tokenizer."""
    room = prompt_room(chat, model) - _frame_tokens(contents)
    if sum(len(text.text) for text in contents.texts) > room * _MOST_CHARACTERS_PER_TOKEN:
        return False
    return sum(model.tokenizer.count(text.text) for text in contents.texts) <= room


def _frame_tokens(contents: ChatContents) -> int:
    """Return the tokens around the messages behind the first one; those of one stand in the model's template."""
    return _TOKENS_PER_MESSAGE * max(0, len({text.message for text in contents.texts}) - 1)


def _has_one_text(contents: ChatContents) -> bool:
    """Return whether there is nothing to read: a greeting, or a question alone."""
    texts = [text.text.strip() for text in contents.texts if text.text.strip()]
    return len(texts) == 1 and "\n" not in texts[0] and not contents.pictures


def _check_user_text(contents: ChatContents) -> None:
    """Raise ApiError for a chat without a text of the user. A picture alone is for the endpoint to judge."""
    has_text = any(text.text.strip() for text in contents.texts if text.role == "user")
    if not has_text and not contents.others and not contents.pictures:
        raise refuse_silence()


def _model_to_json(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "bookwheel"}


def _file_id(request: Request) -> str:
    return str(request.path_params["id"]).removeprefix(FILE_PREFIX)


def _file_to_json(document: ShelvedDocument, size: int) -> dict[str, Any]:
    return {
        "id": f"{FILE_PREFIX}{document.document}",
        "object": "file",
        "bytes": size,
        "created_at": int(datetime.fromisoformat(document.kept).timestamp()),
        "filename": document.name,
        "purpose": "user_data",
        "status": "processed",
    }
