"""Chat completions, whole or chunk by chunk: of a reading, or of a reply that needs none."""

import json
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol

from sse_starlette import ServerSentEvent
from starlette.responses import Response

from bookwheel.errors import BookwheelError, BudgetReached, ModelError, find_error
from bookwheel.models.patience import format_duration
from bookwheel.reading.follow_up import count_carried
from bookwheel.record import evidence_to_json
from bookwheel.schema import to_plain
from bookwheel.serve.engine.errors import ApiError, QuotaReached, ServerLimitReached, name_settings
from bookwheel.serve.engine.running_reading import LiveCall, Waiting
from bookwheel.serve.http.answers import NO_RETRY, EventStream, JsonResponse, code_of, openai_error, status_of
from bookwheel.serve.openai.requests import READING_KEYS, ChatShape, build_message, name_words
from bookwheel.types import Answer, Reading, Status, Step, Usage
from bookwheel.views.verdicts import OPTION, describe_share, list_cautions

_READ_AGAIN = "The memory does not answer this, so the document is read again."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResult:
    """A chat completion, an error of the endpoint, or the chunks of a streamed completion."""

    payload: Mapping[str, Any] = field(default_factory=dict)
    chunks: AsyncGenerator[dict[str, Any]] | None = None
    """Set where the completion is streamed; `payload` is empty then."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    at_end: Callable[[], None] = lambda: None
    """Called when the client has everything, or has hung up."""

    def to_chat_response(self) -> Response:
        if self.chunks is None:
            return JsonResponse(self.payload, self.status, headers=self.headers)
        return EventStream(_to_events(self.chunks), self.at_end, headers=self.headers)


class EventBuilder(Protocol):
    """Turns a completion, chunk by chunk, into the events of another API."""

    def add_chunk(self, chunk: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the events of the next chunk."""

    def finish(self) -> Iterator[dict[str, Any]]:
        """Yield the events that close the reply."""


async def stream_events(
    chunks: AsyncGenerator[dict[str, Any]], builder: EventBuilder
) -> AsyncGenerator[ServerSentEvent]:
    """Yield the events of a streamed completion, each under the name of its type."""
    async with aclosing(chunks):
        async for chunk in chunks:
            for event in builder.add_chunk(chunk):
                yield ServerSentEvent(data=json.dumps(event), event=event["type"])
    for event in builder.finish():
        yield ServerSentEvent(data=json.dumps(event), event=event["type"])


class CompletionFacts:
    """What a completion, or the chunks of one so far, says beside its texts."""

    def __init__(self) -> None:
        self.finish: str | None = None
        self.usage: Mapping[str, Any] = {}
        self.error: Mapping[str, Any] | None = None
        self.reading: dict[str, Any] = {}
        """What was read, beyond OpenAI's API."""

    def take(self, chunk: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Note what a chunk says, and yield what it adds to the message."""
        self.reading |= {name: chunk[name] for name in READING_KEYS if chunk.get(name) is not None}
        self.error = chunk.get("error") or self.error
        self.usage = chunk.get("usage") or self.usage
        for choice in chunk.get("choices") or ():
            self.finish = choice.get("finish_reason") or self.finish
            yield choice.get("delta") or choice.get("message") or {}

    @property
    def tokens(self) -> tuple[int, int]:
        read, written = (int(self.usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
        return read, written


def find_reasoning(message: Mapping[str, Any]) -> str:
    """Return the reasoning of a message, or of a part of one, under either of the names that endpoints use."""
    found = message.get("reasoning_content") or message.get("reasoning")
    return found if isinstance(found, str) else ""


async def _to_events(chunks: AsyncGenerator[dict[str, Any]]) -> AsyncGenerator[ServerSentEvent]:
    async with aclosing(chunks):
        async for chunk in chunks:
            yield ServerSentEvent(data=json.dumps(chunk))
    yield ServerSentEvent(data="[DONE]")


def make_reply(
    chat: ChatShape, model: str, text: str, *, finish: str = "stop", usage: Usage | None = None, **more: Any
) -> ChatResult:
    """Return a reply that is whole, streamed in one piece where the client wants a stream, with `more` at its end."""
    id_, usage = f"chatcmpl-{secrets.token_hex(12)}", usage or Usage()
    if not chat.stream:
        return ChatResult(payload=completion_to_json(id_, model, {"content": text}, finish, usage, **more))
    chunks = [
        chunk_to_json(id_, model, {"role": "assistant", "content": text}),
        chunk_to_json(id_, model, {}, finish, **more),
    ]
    if (chat.stream_options or {}).get("include_usage"):
        chunks.append(chunk_to_json(id_, model, None, usage=usage_to_json(usage)))
    return ChatResult(chunks=_iterate(chunks))


async def _iterate(chunks: list[dict[str, Any]]) -> AsyncGenerator[dict[str, Any]]:
    for chunk in chunks:
        yield chunk


def usage_to_json(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.tokens,
    }


def completion_to_json(
    id_: str, model: str, message: dict[str, Any], finish: str, usage: Usage, **more: Any
) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, "logprobs": None}
    return {
        "id": id_,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [choice],
        "usage": usage_to_json(usage),
        **more,
    }


def chunk_to_json(
    id_: str, model: str, delta: dict[str, Any] | None, finish: str | None = None, **more: Any
) -> dict[str, Any]:
    """Return one chunk of a streamed chat completion. Without a delta it has no choices: the chunk with the usage."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
    return {
        "id": id_,
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model,
        "choices": choices,
        **more,
    }


def cut_at_stop(text: str, stop: str | list[str] | None) -> str:
    """Return the text up to the first of the stop sequences."""
    sequences = [stop] if isinstance(stop, str) else stop or []
    places = [at for sequence in sequences if sequence and (at := text.find(sequence)) >= 0]
    return text[: min(places)] if places else text


def completion_id(reading: Reading) -> str:
    return f"chatcmpl-{reading.id}"


def make_first_chunk(reading: Reading, chat: ChatShape) -> dict[str, Any]:
    """Return the chunk that opens the stream of a reading."""
    delta = {"role": "assistant", "content": ""}
    return chunk_to_json(completion_id(reading), chat.model, delta, reading=reading.id)


def make_carried_chunk(reading: Reading, chat: ChatShape) -> dict[str, Any]:
    """Return the chunk with the memory of an earlier reading, which answers."""
    return chunk_to_json(completion_id(reading), chat.model, {"reasoning_content": _format_carried(reading)})


def make_chunks(
    event: Step | Answer | Reading | Waiting | LiveCall, begun: Reading, chat: ChatShape, notes: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the chunks for one event of a reading."""
    id_ = completion_id(begun)
    if isinstance(event, Step):
        return [chunk_to_json(id_, chat.model, {"reasoning_content": _format_step(event, count_carried(begun.steps))})]
    if isinstance(event, Answer):
        message, _ = _build_message(chat, event, begun.id)
        calls = [{"index": at, **call} for at, call in enumerate(message.get("tool_calls", ()))]
        return [chunk_to_json(id_, chat.model, {"tool_calls": calls} if calls else message)]
    if isinstance(event, Waiting):
        return [chunk_to_json(id_, chat.model, {"reasoning_content": _format_waiting(event)})]
    if isinstance(event, LiveCall):
        return []
    if event.status is not Status.ANSWERED or event.answer is None:
        return [dict(make_refusal(event).payload)]
    more = {"reading": event.id, **_verdict_to_json(event, chat, notes)}
    _, finish = _build_message(chat, event.answer, begun.id)
    cautions = _format_cautions(event, chat)
    chunks = [chunk_to_json(id_, chat.model, {"content": cautions})] if cautions else []
    chunks += [chunk_to_json(id_, chat.model, {}, finish, **more)]
    if (chat.stream_options or {}).get("include_usage"):
        chunks.append(chunk_to_json(id_, chat.model, None, usage=usage_to_json(event.usage)))
    return chunks


def make_refusal(reading: Reading) -> ChatResult:
    """Return why a reading that has ended has no answer, with its id and what it has cost."""
    error = explain_no_answer(reading)
    refusal = openai_error(name_settings(str(error)), status_of(error), code_of(error))
    payload = {**refusal, "reading": reading.id, "usage": usage_to_json(reading.usage)}
    return ChatResult(payload=payload, status=status_of(error), headers=NO_RETRY)


def make_completion(reading: Reading, chat: ChatShape, notes: Sequence[str]) -> dict[str, Any]:
    """Return the whole completion of a reading that has an answer."""
    assert reading.answer is not None
    message, finish = _build_message(chat, reading.answer, reading.id)
    if cautions := _format_cautions(reading, chat):
        message["content"] += cautions
    message["reasoning_content"] = _format_reasoning(reading)
    more = {"reading": reading.id, **_verdict_to_json(reading, chat, notes)}
    return completion_to_json(completion_id(reading), chat.model, message, finish, reading.usage, **more)


def _build_message(chat: ChatShape, answer: Answer, id_: str) -> tuple[dict[str, Any], str]:
    """Return the message of an answer, cut where the client wants it, and the reason for which it ended."""
    message, finish = build_message(chat, answer.text, id_)
    if message["content"] is not None:
        message["content"] = cut_at_stop(message["content"], chat.stop)
    return message, finish or str(answer.conversation.reply.finish)


def _verdict_to_json(reading: Reading, chat: ChatShape, notes: Sequence[str]) -> dict[str, Any]:
    """Return how far the document bears out the answer, and the notes on document and request."""
    words = name_words(chat, reading.answer.text) if reading.answer else ()
    share = [describe_share(reading)] if reading.share_read < 1 else []
    return {
        "verdict": reading.verdict,
        "answers": reading.answers,
        "sign": reading.sign,
        "claims": [to_plain(claim) for claim in reading.claims],
        "evidence": [evidence_to_json(passage) for passage in reading.evidence],
        "notes": [*reading.document.notes, *share, *words, *notes, *(one.fact for one in list_cautions(reading))],
    }


def _format_cautions(reading: Reading, chat: ChatShape) -> str:
    """Return what the answer may lack as its last paragraphs: a chat front shows no notes.

    Empty where a program reads the answer: by a schema, tools or stop sequences.
    """
    if reading.plan.schema or chat.stop:
        return ""
    return "".join(f"\n\n_{caution.fact}_" for caution in list_cautions(reading))


def _format_carried(reading: Reading) -> str:
    carried = reading.steps[count_carried(reading.steps) - 1]
    return f"From the memory of reading {reading.parent}:\n{carried.after.text}\n\n"


def _format_reasoning(reading: Reading) -> str:
    """Return the last memory, and how a follow-up came to it."""
    carried = count_carried(reading.steps)
    if not carried:
        return reading.memory.text
    begun = _format_carried(reading)
    if carried == len(reading.steps):
        return begun.rstrip()
    return f"{begun}{_READ_AGAIN}\n{reading.memory.text}"


def _format_step(step: Step, carried: int) -> str:
    number = step.chunk.index - carried
    again = f"{_READ_AGAIN}\n\n" if carried and not number else ""
    place = f"{step.chunk.start:,}–{step.chunk.end:,}"
    if step.before.text == step.after.text:
        return f"{again}[{number + 1}] {place}: unchanged\n\n"
    return f"{again}[{number + 1}] {place}\n{step.after.text}\n\n"


def _format_waiting(waiting: Waiting) -> str:
    since = format_duration(waiting.seconds)
    return f"The model does not answer (try {waiting.tries}, {since} so far), and is asked again: {waiting.error}\n\n"


def explain_no_answer(reading: Reading) -> BookwheelError:
    """Return the reason for which there is no answer, and the request that continues the reading if it can go on."""
    kept = f" What was read is kept: GET /readings/{reading.id} shows it"
    advice = f"{kept}, POST /readings/{reading.id}/resume goes on."
    # What names an option of the command line is no help here.
    error = f"{OPTION.sub('', reading.error).rstrip('. ')}."
    if reading.error_kind == ServerLimitReached.__name__:
        return ServerLimitReached(f"{error}{kept}.")
    if reading.error_kind == QuotaReached.__name__:
        return QuotaReached(error + advice)
    if reading.status is Status.STOPPED:
        limits = ' Its body may give another limit than the server\'s: {"plan": {"budget": {"tokens": NUMBER}}}.'
        return BudgetReached(error + advice + limits)
    if reading.status is Status.CANCELLED:
        return ApiError(409, "the reading was interrupted." + advice, kind="cancelled")
    if reading.status is Status.READING:
        return ApiError(503, "the server is ending." + advice, kind="ending")
    kind = find_error(reading.error_kind)
    return (kind if issubclass(kind, ModelError) else ModelError)(error + advice)
