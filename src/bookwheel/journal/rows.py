"""Convert values to the journal's rows and back. Nothing here knows files or threads."""

from __future__ import annotations

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

from bookwheel.models.registry import ModelAddress
from bookwheel.plan import Plan
from bookwheel.record import claim_from_json, evidence_from_json, findings_from_json, findings_to_json, to_plain
from bookwheel.types import (
    Answer,
    Chunk,
    Conversation,
    DocumentInfo,
    Finish,
    Flag,
    Memory,
    Reading,
    Reply,
    Status,
    Step,
    TokenRecord,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

STEP_COLUMNS: Final = (
    "step, start, stop, tokens, sources, pages, before, before_tokens, memory, memory_tokens, flags, reply, finish, "
    "calls, prompt_tokens, completion_tokens, seconds, record, score, findings"
)
READING_COLUMNS: Final = (
    "id, question, model, way, language, plan, created, parent, status, answer, answer_turn, answer_record, evidence, "
    "claims, error, error_kind, calls, prompt_tokens, completion_tokens, seconds"
)
FIXED_COLUMNS: Final = 8
"""The first columns of READING_COLUMNS, which do not change when a reading ends."""


def store_text(text: str) -> str | bytes:
    """Return the text, or its bytes if it has lone surrogates, which SQLite cannot store as TEXT."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def load_text(value: str | bytes) -> str:
    """Return the text that `store_text` stored."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def _to_json(values: Any) -> str | bytes:
    """Return the values as JSON."""
    # Not escaped: on loading, the escapes of two lone surrogates would join to one character.
    return store_text(json.dumps(values, ensure_ascii=False))


def _from_json(value: str | bytes) -> Any:
    return json.loads(load_text(value))


def step_to_row(step: Step, *, follows: bool) -> tuple[Any, ...]:
    """Return the values of STEP_COLUMNS. With `follows`, omit the memory before: it is the last step's."""
    chunk, reply = step.chunk, step.conversation.reply
    before = (None, None) if follows else (store_text(step.before.text), step.before.tokens)
    return (
        chunk.index,
        chunk.start,
        chunk.end,
        chunk.tokens,
        _to_json(chunk.sources),
        _to_json(chunk.pages),
        *before,
        store_text(step.after.text),
        step.after.tokens,
        _to_json(step.flags),
        store_text(reply.text),
        str(reply.finish),
        *usage_to_row(reply.usage),
        pack_tokens(reply.tokens),
        step.score,
        _to_json(findings) if (findings := findings_to_json(step)) else None,
    )


def step_from_row(row: Sequence[Any], memory: Memory, text: str = "") -> Step:
    """Return the step of a row; `memory` is the one after the step before."""
    index, start, stop, tokens, sources, pages, before, before_tokens, after, after_tokens, flags = row[:11]
    if before is not None:
        memory = Memory(text=load_text(before), tokens=before_tokens, limit=memory.limit)
    reply, finish, *usage, record, score, findings = row[11:]
    return Step(
        chunk=Chunk(
            index=index,
            start=start,
            end=stop,
            text=text,
            tokens=tokens,
            sources=tuple(_from_json(sources)),
            pages=tuple(_from_json(pages)),
        ),
        before=memory,
        after=Memory(text=load_text(after), tokens=after_tokens, limit=memory.limit),
        conversation=Conversation(
            messages=(),
            reply=Reply(
                text=load_text(reply), finish=Finish(finish), usage=_usage_from_row(usage), tokens=unpack_tokens(record)
            ),
        ),
        flags=tuple(Flag(flag) for flag in _from_json(flags)),
        score=score,
        **findings_from_json(_from_json(findings) if findings else {}),
    )


def reading_to_row(reading: Reading) -> tuple[Any, ...]:
    """Return the values of READING_COLUMNS."""
    answer = reading.answer
    return (
        reading.id,
        store_text(reading.question),
        store_text(reading.model),
        reading.way,
        reading.language,
        _to_json(reading.plan.to_json()),
        reading.created,
        reading.parent,
        str(reading.status),
        store_text(answer.text) if answer else None,
        _answer_to_json(answer) if answer else None,
        pack_tokens(answer.conversation.reply.tokens) if answer else None,
        _to_json([to_plain(piece) for piece in reading.evidence]),
        _to_json([to_plain(claim) for claim in reading.claims]),
        store_text(reading.error),
        reading.error_kind or None,
        *usage_to_row(reading.usage),
    )


def reading_from_row(row: Sequence[Any], document: DocumentInfo, steps: tuple[Step, ...] = ()) -> Reading:
    """Return the reading of a row."""
    id_, question, model, way, language, plan, created, parent, status, answer, turn, record = row[:12]
    evidence, claims, error, kind = row[12:16]
    return Reading(
        id=id_,
        document=document,
        question=load_text(question),
        plan=Plan.from_stored(_from_json(plan)),
        model=load_text(model),
        way=way,
        language=language,
        status=Status(status),
        steps=steps,
        answer=_answer_from_json(load_text(answer), _from_json(turn), record) if turn else None,
        usage=_usage_from_row(row[16:20]),
        evidence=tuple(evidence_from_json(piece) for piece in _from_json(evidence)),
        claims=tuple(claim_from_json(claim) for claim in _from_json(claims)),
        error=load_text(error),
        error_kind=kind or "",
        parent=parent,
        created=created,
    )


def notes_to_column(notes: Sequence[str]) -> str | bytes:
    """Return the notes on a document as the journal stores them."""
    return _to_json(list(notes))


def notes_from_column(value: str | bytes) -> tuple[str, ...]:
    """Return the notes that `notes_to_column` stored."""
    return tuple(_from_json(value))


def address_to_row(address: ModelAddress | None) -> str | bytes | None:
    """Return the value of the column `address`."""
    return _to_json(address.to_json()) if address else None


def address_from_row(value: str | bytes | None) -> ModelAddress | None:
    """Return the address of the column `address`."""
    return ModelAddress(**_from_json(value)) if value else None


def usage_to_row(usage: Usage) -> tuple[int, int, int, float]:
    """Return the values of the four usage columns, which steps and readings share."""
    return usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.seconds


def _usage_from_row(values: Sequence[Any]) -> Usage:
    calls, prompt, completion, seconds = values
    return Usage(calls=calls, prompt_tokens=prompt, completion_tokens=completion, seconds=seconds)


def _answer_to_json(answer: Answer) -> str | bytes:
    reply = answer.conversation.reply
    usage = usage_to_row(reply.usage)
    turn = {"reply": reply.text, "finish": reply.finish, "flags": answer.flags, "usage": usage}
    return _to_json(turn | ({"passage": answer.passage} if answer.passage else {}))


def _answer_from_json(text: str, turn: dict[str, Any], record: bytes | None) -> Answer:
    reply = Reply(
        text=turn["reply"],
        finish=Finish(turn["finish"]),
        usage=_usage_from_row(turn["usage"]),
        tokens=unpack_tokens(record),
    )
    flags = tuple(Flag(flag) for flag in turn["flags"])
    said = Conversation(messages=(), reply=reply)
    return Answer(text=text, conversation=said, flags=flags, passage=turn.get("passage", ""))


def pack_tokens(tokens: TokenRecord | None) -> bytes | None:
    """Pack a token record: three lengths, 64-bit ids and 64-bit log-probabilities, compressed by zlib."""
    if tokens is None:
        return None
    ids, logprobs = (*tokens.prompt, *tokens.reply), tokens.logprobs
    lengths = (len(tokens.prompt), len(tokens.reply), len(logprobs))
    return zlib.compress(struct.pack(f"<3q{len(ids)}q{len(logprobs)}d", *lengths, *ids, *logprobs), 1)


def unpack_tokens(record: bytes | None) -> TokenRecord | None:
    """Return the exact record that `pack_tokens` packed."""
    if record is None:
        return None
    content = zlib.decompress(record)
    prompt, reply, logprobs = struct.unpack_from("<3q", content)
    values = struct.unpack_from(f"<{prompt + reply}q{logprobs}d", content, 24)
    return TokenRecord(prompt=values[:prompt], reply=values[prompt : prompt + reply], logprobs=values[prompt + reply :])
