"""Chats that are read: the document and the question are found, and a reading answers.

A follow-up begins with the memory that the last reading of its document left. A client that hangs up stops its reading,
and the journal keeps it.
"""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from bookwheel.reading.follow_up import count_carried
from bookwheel.reading.ways.early_exit import asks_for_all
from bookwheel.serve.engine.errors import ApiError, not_found
from bookwheel.serve.engine.finished import find_finished
from bookwheel.serve.engine.service import ReadingSpec
from bookwheel.serve.http.requests import identify_caller
from bookwheel.serve.openai.chat_result import ChatResult
from bookwheel.serve.openai.completions import make_carried_chunk, make_chunks, make_completion, make_first_chunk
from bookwheel.serve.openai.fields import check_supported, name_unused
from bookwheel.serve.openai.messages import USER
from bookwheel.serve.openai.reading_plan import plan_question
from bookwheel.session import names_chunks

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request

    from bookwheel.journal import StoredDocument
    from bookwheel.serve.engine.running_reading import DocumentOpener, RunningReading
    from bookwheel.serve.engine.service import Caller, Service
    from bookwheel.serve.openai.conversation import ChatParts
    from bookwheel.serve.openai.messages import ChatContents
    from bookwheel.serve.openai.schemas import ChatShape
    from bookwheel.types import Reading

FILE_PREFIX: Final = "file-"
_SHA_LENGTH: Final = 64


class ChatReader:
    """Answers chats by reading."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def answer(
        self, request: Request, chat: ChatShape, contents: ChatContents, conversation: ChatParts, name: str
    ) -> ChatResult:
        """Read the chat's document for its question."""
        check_supported(chat)
        text, sha = _find_text(chat, contents, conversation)
        model = self._service.readings.get_model(name)
        planned = await asyncio.to_thread(plan_question, self._service, chat, conversation, model)
        notes = (*_name_dropped(contents), *_name_ignored(chat), *planned.notes)
        caller = await identify_caller(request)
        finished = await self._find_finished(chat, conversation, sha, name, caller)
        if finished and finished.memory.tokens > planned.plan.memory_tokens:
            finished = None
        spec = ReadingSpec(
            question=planned.question,
            model=name,
            plan=planned.plan,
            way=chat.way,
            has_chunks=names_chunks(chat.plan),
            finished=finished,
        )
        opener = self._make_opener(text, sha, conversation.name, caller)
        running, reading = await self._service.start_or_find(spec, opener, caller, survives_restart=False)
        headers = {"X-Bookwheel-Reading": reading.id}
        if running:
            running.add_client()
        if chat.stream:
            at_end = running.remove_client if running else lambda: None
            return ChatResult(chunks=self._stream(reading, chat, notes), at_end=at_end, headers=headers)
        reading = await self._wait_for(running, request) if running else reading
        return ChatResult(payload=make_completion(reading, chat, notes), headers=headers)

    async def _find_finished(
        self, chat: ChatShape, conversation: ChatParts, sha: str, name: str, caller: Caller
    ) -> Reading | None:
        """Return the reading whose memory this chat begins with."""
        wanted = chat.follow_up or self._service.settings.follow_up
        # What is to be counted or listed over the whole document may be missing in a memory for another question. The
        # last paragraph is what the user typed: clients put instructions and passages before it.
        typed = conversation.question.rstrip().rpartition("\n\n")[2]
        if wanted == "read" or not conversation.is_follow_up or asks_for_all(typed):
            return None
        said = [turn.text.strip() for turn in conversation.earlier if turn.role == USER]
        return await find_finished(self._service, sha, name, caller.key, said)

    def _make_opener(self, text: str | None, sha: str, name: str | None, caller: Caller) -> DocumentOpener:
        async def open_document() -> StoredDocument:
            if text is not None:
                return await self._service.documents.store_text(text, name, caller.key_name)
            try:
                return await self._service.get_document(sha, caller.key)
            except ApiError:
                raise not_found(f"file {sha[:80]}; upload it to /v1/files first") from None

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

    async def _stream(
        self, reading: Reading, chat: ChatShape, notes: tuple[str, ...]
    ) -> AsyncGenerator[dict[str, Any]]:
        yield make_first_chunk(reading, chat)
        carried = count_carried(reading.steps)
        if carried:
            yield make_carried_chunk(reading, chat)
        async with aclosing(self._service.readings.stream(reading.id, carried)) as events:
            async for event in events:
                for chunk in make_chunks(event, reading, chat, notes):
                    yield chunk


def _find_text(chat: ChatShape, contents: ChatContents, conversation: ChatParts) -> tuple[str | None, str]:
    """Return the document's text, or None where a file has it, and the SHA-256 of its text."""
    if len(contents.files) > 1 or (contents.files and chat.document is not None):
        raise ApiError(400, "one document at a time: name one file", kind="invalid_request", param="messages")
    text = conversation.document
    if chat.document is not None and len(chat.document.removeprefix(FILE_PREFIX)) != _SHA_LENGTH:
        text = chat.document  # not the id of a file, so it is the text itself
    if text is not None:
        return text, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    name = chat.document if chat.document is not None else contents.files[0]
    return None, name.removeprefix(FILE_PREFIX)


def _name_dropped(contents: ChatContents) -> tuple[str, ...]:
    """Return a note on what earlier messages hold besides text."""
    kinds = sorted(set(contents.others))
    return (f"not text, so not read in the earlier messages: {', '.join(kinds)}",) if kinds else ()


def _name_ignored(chat: ChatShape) -> tuple[str, ...]:
    """Return a note on the fields of the request that a reading does not use."""
    names = name_unused(chat)
    return (f"fields that a reading does not use: {', '.join(names)}",) if names else ()


async def _wait_for_disconnect(request: Request) -> None:
    """Return when the client has hung up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
