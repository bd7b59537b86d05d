"""A reading as a chat completion, whole or chunk by chunk. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bookwheel.errors import BudgetReached, ModelError
from bookwheel.reading.follow_up import count_carried
from bookwheel.record import to_plain
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.running_reading import Waiting
from bookwheel.serve.http.answers import code_of, openai_error, status_of
from bookwheel.serve.openai.answer_step import build_message, name_words
from bookwheel.serve.openai.messages import cut_at_stop
from bookwheel.serve.openai.schemas import chunk_to_json, completion_to_json, usage_to_json
from bookwheel.types import Answer, Status, Step
from bookwheel.views.verdicts import describe_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.errors import BookwheelError
    from bookwheel.serve.openai.schemas import ChatShape
    from bookwheel.types import Reading

_READ_AGAIN = "The memory does not answer this, so the document is read again."


def completion_id(reading: Reading) -> str:
    """Return the id of a reading's completion."""
    return f"chatcmpl-{reading.id}"


def make_first_chunk(reading: Reading, chat: ChatShape) -> dict[str, Any]:
    """Return the chunk that opens the stream of a reading."""
    return chunk_to_json(completion_id(reading), chat.model, {"role": "assistant", "content": ""}, reading=reading.id)


def make_carried_chunk(reading: Reading, chat: ChatShape) -> dict[str, Any]:
    """Return the chunk with the memory that the reading begins with."""
    return chunk_to_json(completion_id(reading), chat.model, {"reasoning_content": _format_carried(reading)})


def make_chunks(
    event: Step | Answer | Reading | Waiting, begun: Reading, chat: ChatShape, notes: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the chunks for one event of a reading."""
    id_ = completion_id(begun)
    if isinstance(event, Step):
        return [chunk_to_json(id_, chat.model, {"reasoning_content": _format_step(event, count_carried(begun.steps))})]
    if isinstance(event, Answer):
        message, _ = build_message(chat, event.text, begun.id)
        return [chunk_to_json(id_, chat.model, _to_delta(message, chat))]
    if isinstance(event, Waiting):
        return []
    if event.status is not Status.ANSWERED:
        error = explain_no_answer(event)
        return [{**openai_error(str(error), status_of(error), code_of(error)), "reading": event.id}]
    more = {"reading": event.id, **_verdict_to_json(event, chat, notes)}
    chunks = [chunk_to_json(id_, chat.model, {}, _find_finish(event, chat), **more)]
    if (chat.stream_options or {}).get("include_usage"):
        chunks.append(chunk_to_json(id_, chat.model, None, usage=usage_to_json(event.usage)))
    return chunks


def make_completion(reading: Reading, chat: ChatShape, notes: Sequence[str]) -> dict[str, Any]:
    """Return the whole completion of a reading that has ended. Raise the reason where it has no answer."""
    if reading.status is not Status.ANSWERED or reading.answer is None:
        raise explain_no_answer(reading)
    message, _ = build_message(chat, reading.answer.text, reading.id)
    message = {**_cut(message, chat), "reasoning_content": _format_reasoning(reading)}
    more = {"reading": reading.id, **_verdict_to_json(reading, chat, notes)}
    finish = _find_finish(reading, chat)
    return completion_to_json(completion_id(reading), chat.model, message, finish, reading.usage, **more)


def _cut(message: dict[str, Any], chat: ChatShape) -> dict[str, Any]:
    content = message["content"]
    return message if content is None else {**message, "content": cut_at_stop(content, chat.stop)}


def _to_delta(message: dict[str, Any], chat: ChatShape) -> dict[str, Any]:
    """Return a message as the one delta that streams it."""
    calls = [{"index": at, **call} for at, call in enumerate(message.get("tool_calls", ()))]
    return {"tool_calls": calls} if calls else {"content": _cut(message, chat)["content"]}


def _find_finish(reading: Reading, chat: ChatShape) -> str:
    assert reading.answer
    _, finish = build_message(chat, reading.answer.text, reading.id)
    return finish or str(reading.answer.conversation.reply.finish)


def _verdict_to_json(reading: Reading, chat: ChatShape, notes: Sequence[str]) -> dict[str, Any]:
    """Return how far the document bears out the answer, and the notes on document and request."""
    words = name_words(chat, reading.answer.text) if reading.answer else ()
    share = [describe_share(reading)] if reading.share_read < 1 else []
    return {
        "verdict": reading.verdict,
        "claims": [to_plain(claim) for claim in reading.claims],
        "evidence": [to_plain(passage) for passage in reading.evidence],
        "notes": [*reading.document.notes, *share, *words, *notes],
    }


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


def explain_no_answer(reading: Reading) -> BookwheelError:
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
