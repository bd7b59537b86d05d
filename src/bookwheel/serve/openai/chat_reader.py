"""Chats that are read: the document and the question are found, and a reading answers.

A follow-up begins with the memory that the last reading of its document left. A client that hangs up stops its reading,
and the journal keeps it.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final

from starlette.requests import Request

from bookwheel.configuration import names_chunks
from bookwheel.errors import PlanError
from bookwheel.journal import StoredDocument
from bookwheel.models.base import Model
from bookwheel.plan import LEAST_TOKENS, Plan
from bookwheel.reading.follow_up import count_carried, find_newest_turn, question_room
from bookwheel.reading.loop import template_tokens
from bookwheel.reading.prompts import prompts_for
from bookwheel.serve.engine.documents import shorten_name
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.running_reading import Caller, DocumentOpener, RunningReading, Waiting
from bookwheel.serve.engine.service import ReadingSpec, Service
from bookwheel.serve.engine.starting import start_or_find
from bookwheel.serve.engine.tables import answer_from_rows, format_first_rows
from bookwheel.serve.http.requests import identify_caller
from bookwheel.serve.openai.completions import (
    ChatResult,
    chunk_to_json,
    completion_id,
    make_carried_chunk,
    make_chunks,
    make_completion,
    make_first_chunk,
    make_refusal,
    make_reply,
)
from bookwheel.serve.openai.conversation import USER, ChatContents, ChatParts, find_conversation
from bookwheel.serve.openai.requests import (
    FILE_PREFIX,
    ChatShape,
    check_supported,
    find_answer_schema,
    is_schema_optional,
    name_unused,
    refuse,
)
from bookwheel.tables.questions import TableAnswer
from bookwheel.tables.way import makes_table
from bookwheel.text.questions import asks_for_all
from bookwheel.text.ranking import QuestionWords
from bookwheel.types import Answer, Reading, Status, Step

# Of a file, here or of another server; any other document is the text itself.
_ID: Final = re.compile(rf"{FILE_PREFIX}\S+|[0-9a-f]{{64}}")
_TABLE: Final = re.compile(r"\s*(\d+ (?:rows?|行))\s*\n\s*\|")
# Tokens that an answer has room for at least; a client that allows fewer gets the beginning of its own cut.
_LEAST_ANSWER: Final = 8


class ChatReader:
    """Answers chats by reading."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def answer(
        self, request: Request, chat: ChatShape, contents: ChatContents, conversation: ChatParts, name: str
    ) -> ChatResult:
        """Read the chat's document for its question."""
        check_supported(chat)
        model = self._service.readings.get_model(name)
        planned = await asyncio.to_thread(plan_question, self._service, chat, conversation, model)
        conversation = planned.conversation
        text, sha = _find_text(chat, contents, conversation)
        notes = (*_list_notes(chat, contents), *planned.notes)
        caller = await identify_caller(request)
        finished = await self._find_finished(chat, conversation, sha, name, caller)
        if finished and finished.memory.tokens > planned.plan.memory_tokens:
            finished = None
        if chat.follow_up != "read" and (counted := await self._count(conversation, sha, name, caller)):
            text_, answer = counted
            return make_reply(chat, chat.model, text_, usage=answer.usage)
        spec = ReadingSpec(
            model=name,
            plan=planned.plan,
            way=chat.way,
            has_chunks=names_chunks(chat.plan),
            finished=finished,
        )
        opener = self._make_opener(text, sha, conversation, caller)
        caller = replace(caller, survives_restart=False)
        ((running, reading),) = await start_or_find(self._service, spec, [planned.question], opener, caller)
        headers = {"X-Bookwheel-Reading": reading.id}
        if running:
            running.add_client()
        if chat.stream:
            at_end = running.remove_client if running else lambda: None
            return ChatResult(chunks=self._stream(reading, chat, notes), at_end=at_end, headers=headers)
        reading = await self._wait_for(running, request) if running else reading
        if reading.status is not Status.ANSWERED or reading.answer is None:
            refusal = make_refusal(reading)
            return replace(refusal, headers={**refusal.headers, **headers})
        payload = make_completion(reading, chat, notes)
        if makes_table(reading.way):
            payload["choices"][0]["message"]["content"] += await asyncio.to_thread(
                format_first_rows, self._service, reading.id
            )
        return ChatResult(payload=payload, headers=headers)

    async def count(self, request: Request, chat: ChatShape, contents: ChatContents, name: str) -> ChatResult | None:
        """Return what the table that this chat was given says to its question; None where none is, or it cannot.

        A chat that fits the window is for the model to answer, but not to count in a table.
        """
        try:
            check_supported(chat, has_tools=False)
        except ApiError:  # tools, a format or more that these words would not follow
            return None
        if contents.pictures or contents.files or contents.others:
            return None
        texts = [replace(turn, text=_cut_table(turn.text)) if turn.role != USER else turn for turn in contents.texts]
        if tuple(texts) == contents.texts or chat.follow_up == "read":
            return None
        parts = find_conversation(replace(contents, texts=tuple(texts)), chat.document)
        if parts.document is None:
            return None
        _, sha = _find_text(chat, contents, parts)
        counted = await self._count(parts, sha, name, await identify_caller(request))
        return make_reply(chat, chat.model, counted[0], usage=counted[1].usage) if counted else None

    async def _count(
        self, conversation: ChatParts, sha: str, name: str, caller: Caller
    ) -> tuple[str, TableAnswer] | None:
        """Return what the table that this chat has collected says to its question; None where it cannot."""
        if not conversation.is_follow_up:
            return None
        said = [turn.text for turn in conversation.earlier if turn.role == USER]
        return await answer_from_rows(
            self._service, caller.key, sha, said, find_newest_turn(conversation.question), name
        )

    async def _find_finished(
        self, chat: ChatShape, conversation: ChatParts, sha: str, name: str, caller: Caller
    ) -> Reading | None:
        """Return the reading whose memory this chat begins with."""
        wanted = chat.follow_up or self._service.settings.follow_up
        # What is to be counted or listed over the whole document may be missing in a memory for another question.
        if wanted == "read" or not conversation.is_follow_up or asks_for_all(find_newest_turn(conversation.question)):
            return None
        said = [turn.text.strip() for turn in conversation.earlier if turn.role == USER]
        return await self._service.find_finished(caller.key, sha, name, said)

    def _make_opener(self, text: str | None, sha: str, conversation: ChatParts, caller: Caller) -> DocumentOpener:
        async def open_document() -> StoredDocument:
            try:
                # Also where the chat has the text: it may have been uploaded under a name that a chat does not know.
                return await self._service.get_document(sha, caller.key)
            except ApiError:
                if text is None:
                    message = f"there is no file {FILE_PREFIX}{sha[:80]} here: upload it to /v1/files first"
                    raise ApiError(404, message, kind="not_found") from None
            # Of a conversation, the first words say less than its question.
            name = shorten_name(conversation.question) if conversation.is_history else conversation.name
            return await self._service.documents.store_text(text, name, caller.key_name)

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
        is_carried, is_answered, tries = count_carried(reading.steps) > 0, False, 0
        async with aclosing(self._service.readings.stream(reading.id, count_carried(reading.steps))) as events:
            async for event in events:
                # Whether the memory of before answers is known when it has answered.
                if is_carried and isinstance(event, Answer):
                    yield make_carried_chunk(reading, chat)
                is_carried = is_carried and not isinstance(event, Step | Answer)
                is_answered = is_answered or isinstance(event, Answer)
                # A try is reported twice: when it has failed, and when the next one begins.
                failed = event.tries if isinstance(event, Waiting) else 0
                if failed and (failed == tries or is_answered):
                    continue
                tries = failed
                for chunk in make_chunks(event, reading, chat, notes):
                    yield chunk
                if isinstance(event, Answer) and makes_table(reading.way):
                    rows = await asyncio.to_thread(format_first_rows, self._service, reading.id)
                    yield chunk_to_json(completion_id(reading), chat.model, {"content": rows})


def _find_text(chat: ChatShape, contents: ChatContents, conversation: ChatParts) -> tuple[str | None, str]:
    """Return the document's text, or None where a file has it, and the SHA-256 of its text."""
    if len(set(contents.files)) > 1 or (contents.files and chat.document is not None):
        raise refuse("one document at a time: name one file", "messages")
    text = conversation.document
    if chat.document is not None and not _ID.fullmatch(chat.document):
        text = chat.document
    if text is not None:
        return text, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    name = chat.document if chat.document is not None else contents.files[0]
    return None, name.removeprefix(FILE_PREFIX)


def _cut_table(text: str) -> str:
    """Return the number of rows alone where a text is a table as a reading gives it; else the text."""
    found = _TABLE.match(text)
    return found[1] if found else text


def _list_notes(chat: ChatShape, contents: ChatContents) -> Iterator[str]:
    """Yield notes on what earlier messages hold besides text, and on fields that a reading does not use."""
    if kinds := sorted(set(contents.others)):
        yield f"not text, so not read in the earlier messages: {', '.join(kinds)}"
    if names := name_unused(chat):
        yield f"fields that a reading does not use: {', '.join(names)}"


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedQuestion:
    """A chat whose question fits its plan, the question with the conversation around it, and notes on what did not."""

    conversation: ChatParts
    question: str
    plan: Plan
    notes: tuple[str, ...] = ()


def plan_question(service: Service, chat: ChatShape, conversation: ChatParts, model: Model) -> PlannedQuestion:
    """Return what to ask and how to read. It counts tokens, which may wait for a server's tokenizer."""
    values: dict[str, Any] = {"sampling": chat.sampling}
    if schema := find_answer_schema(chat):
        values |= {"schema": schema, "schema_optional": is_schema_optional(chat)}
    plan = service.make_plan(model.name, values, chat.plan)
    count = model.tokenizer.count
    conversation, alone = _leave_turns(conversation, plan)
    if "question_tokens" not in chat.plan:
        plan = _make_room(plan, conversation.count_question(count), model, may_shorten="chunk_tokens" not in chat.plan)
    conversation, left_out = _leave_instructions(conversation, plan.question_tokens, count)
    conversation, cut = conversation.shorten_question(count, plan.question_tokens)
    prompts = prompts_for(plan, conversation.question)
    if prompts.quotes:
        # What is looked for are the words of all turns.
        question, missing = conversation.format_question(count, plan.question_tokens)
    else:
        room = question_room(model, plan, prompts, has_rules=conversation.has_rules)
        earlier, question, missing = conversation.format_turns(count, room)
        plan = replace(plan, earlier=earlier)
    if chat.limit is not None and "answer_tokens" not in chat.plan:
        plan = _limit_answer(plan, chat.limit, count(question), model)
    notes = (*alone, *left_out, *cut, *missing)
    return PlannedQuestion(conversation=conversation, question=question, plan=plan, notes=notes)


def _make_room(plan: Plan, tokens: int, model: Model, *, may_shorten: bool) -> Plan:
    """Return the plan with as much room for a question as the window has, and the half of a chunk if it needs that."""
    room = plan.question_tokens
    if model.window is not None:
        template = template_tokens(model, plan, prompts_for(plan, ""))
        update = plan.update_tokens(question=0, template=template)
        room = min(room, model.window - update, model.window - plan.answer_turn_tokens(question=0, template=template))
    extra = min(tokens - room, plan.chunk_tokens // 2) if may_shorten else 0
    if extra > 0:
        return replace(plan, question_tokens=room + extra, chunk_tokens=plan.chunk_tokens - extra)
    return replace(plan, question_tokens=max(LEAST_TOKENS, room))


def _leave_turns(conversation: ChatParts, plan: Plan) -> tuple[ChatParts, tuple[str, ...]]:
    """Return what was typed last alone, and a note, for a plan that only quotes.

    Such a reader looks for the question's words, and those of earlier answers stand in the document for certain. A
    question without words of its own ("And when?") keeps the turns.
    """
    typed = find_newest_turn(conversation.question)
    is_alone = not conversation.earlier and not conversation.later
    if is_alone or not prompts_for(plan, typed).quotes or not QuestionWords(typed).has_subject:
        return conversation, ()
    note = "earlier turns went unread: the model only looks for passages to quote"
    return replace(conversation, question=typed, earlier=(), later=()), (note,)


def _leave_instructions(
    conversation: ChatParts, room: int, count: Callable[[str], int]
) -> tuple[ChatParts, tuple[str, ...]]:
    """Return the conversation with what the user typed alone, and a note, where the whole question has no room.

    Clients of retrieval put some 500 tokens of rules before a question, more than a small model's plan has for it.
    """
    typed = find_newest_turn(conversation.question)
    if conversation.count_question(count) <= room or count(typed) > room or typed == conversation.question:
        return conversation, ()
    size = len(conversation.question) - len(typed)
    note = f"the {size:,} characters before the question, taken for instructions, did not fit and were left out"
    return replace(conversation, question=typed), (note,)


def _limit_answer(plan: Plan, limit: int, question: int, model: Model) -> Plan:
    """Return the plan with the client's limit of the answer, as far as the window has room for it."""
    limited = plan.with_values({"answer_tokens": max(limit, _LEAST_ANSWER)})
    if limit <= plan.answer_tokens or model.window is None:
        return limited
    template = template_tokens(model, plan, prompts_for(plan, ""))
    try:
        limited.check(model.window, question=question, template=template)
    except PlanError:
        room = model.window - plan.answer_turn_tokens(question=question, template=template) + plan.answer_tokens
        return replace(plan, answer_tokens=max(plan.answer_tokens, min(limit, room)))
    return limited
