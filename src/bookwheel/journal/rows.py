"""The rows of the journal: for each table, its columns and the fields of a value that stand in them, declared once.

Nothing here knows files or threads.
"""

from __future__ import annotations

import json
import struct
import zlib
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

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
    from collections.abc import Callable, Mapping, Sequence

_T = TypeVar("_T")


def store_text(text: str) -> str | bytes:
    """Return the text, or its bytes if it has lone surrogates, which SQLite cannot store as TEXT."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def load_text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def to_json(values: Any) -> str | bytes:
    # Not escaped: on loading, the escapes of two lone surrogates would join to one character.
    return store_text(json.dumps(values, ensure_ascii=False))


def from_json(value: str | bytes) -> Any:
    return json.loads(load_text(value))


def pack_tokens(tokens: TokenRecord | None) -> bytes | None:
    """Pack a token record: three lengths, 64-bit ids and 64-bit log-probabilities, compressed by zlib."""
    if tokens is None:
        return None
    ids, logprobs = (*tokens.prompt, *tokens.reply), tokens.logprobs
    lengths = (len(tokens.prompt), len(tokens.reply), len(logprobs))
    return zlib.compress(struct.pack(f"<3q{len(ids)}q{len(logprobs)}d", *lengths, *ids, *logprobs), 1)


def unpack_tokens(record: bytes | None) -> TokenRecord | None:
    if record is None:
        return None
    content = zlib.decompress(record)
    prompt, reply, logprobs = struct.unpack_from("<3q", content)
    values = struct.unpack_from(f"<{prompt + reply}q{logprobs}d", content, 24)
    return TokenRecord(prompt=values[:prompt], reply=values[prompt : prompt + reply], logprobs=values[prompt + reply :])


@lru_cache(maxsize=64)  # the readings of a journal share a few plans
def _load_plan(value: str | bytes) -> Plan:
    return Plan.from_stored(from_json(value))


class Codec(NamedTuple):
    """The two ways between a field and its column."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


PLAIN: Final = Codec(lambda value: value, lambda value: value)
TEXT: Final = Codec(store_text, load_text)
JSON: Final = Codec(to_json, from_json)
TUPLE: Final = Codec(to_json, lambda value: tuple(from_json(value)))
FLAGS: Final = Codec(to_json, lambda value: tuple(map(Flag, from_json(value))))
FINISH: Final = Codec(str, Finish)
PLAN: Final = Codec(lambda plan: to_json(plan.to_json()), _load_plan)
ADDRESS: Final = Codec(
    lambda address: to_json(address.to_json()) if address else None,
    lambda value: ModelAddress(**from_json(value)) if value else None,
)


def _list_codec(from_plain: Callable[[dict[str, Any]], Any]) -> Codec:
    return Codec(
        lambda values: to_json([to_plain(value) for value in values]),
        lambda value: tuple(from_plain(plain) for plain in from_json(value)),
    )


class SqlColumn(NamedTuple):
    """One column: the field that stands in it (`chunk.start`), or none where it is given apart; and how."""

    field: str = ""
    codec: Codec = PLAIN


def usage_columns(field: str) -> dict[str, SqlColumn]:
    return {name: SqlColumn(f"{field}.{name}") for name in ("calls", "prompt_tokens", "completion_tokens", "seconds")}


class RowFormat(Generic[_T]):
    """Converts values of one type to rows and back. `types` has the type of the value and of each value inside it."""

    def __init__(self, types: Mapping[str, type], **columns: SqlColumn) -> None:
        self.columns = tuple(columns)
        self.names = ", ".join(columns)
        self._types = dict(sorted(types.items(), reverse=True))  # what is inside a value is made before it
        self._encoders = {
            name: (attrgetter(column.field), column.codec.encode) for name, column in columns.items() if column.field
        }
        self._decoders = [(*_split_field(column.field), column.codec.decode) for column in columns.values()]

    def insert(self, table: str, *keys: str) -> str:
        """Return the statement that inserts a row: the keys, then the value's own columns."""
        names = (*keys, *self.columns)
        return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"

    def to_row(self, value: _T, **given: Any) -> tuple[Any, ...]:
        """Return the value's row; `given` has the columns without a field."""
        encoded = {name: encode(get(value)) for name, (get, encode) in self._encoders.items()} | given
        return tuple(encoded[name] for name in self.columns)

    def from_row(self, row: Sequence[Any], given: Mapping[str, Any]) -> _T:
        """Return the value of a row; `given` has the fields that no column has."""
        parts: dict[str, dict[str, Any]] = {inner: {} for inner in self._types}
        for (inner, field, decode), value in zip(self._decoders, row, strict=True):
            if field:
                parts[inner][field] = decode(value)
        for path, value in given.items():
            inner, field = _split_field(path)
            parts[inner][field] = value
        for path, type_ in self._types.items():
            value = type_(**parts[path])
            inner, field = _split_field(path)
            if path:
                parts[inner][field] = value
        return value  # type: ignore[no-any-return]  # the last one is the whole


def _split_field(path: str) -> tuple[str, str]:
    inner, _, field = path.rpartition(".")
    return inner, field


STEPS: Final[RowFormat[Step]] = RowFormat(
    {
        "": Step,
        "chunk": Chunk,
        "after": Memory,
        "conversation": Conversation,
        "conversation.reply": Reply,
        "conversation.reply.usage": Usage,
    },
    step=SqlColumn("chunk.index"),
    start=SqlColumn("chunk.start"),
    stop=SqlColumn("chunk.end"),
    tokens=SqlColumn("chunk.tokens"),
    sources=SqlColumn("chunk.sources", TUPLE),
    pages=SqlColumn("chunk.pages", TUPLE),
    before=SqlColumn(),
    before_tokens=SqlColumn(),
    memory=SqlColumn("after.text", TEXT),
    memory_tokens=SqlColumn("after.tokens"),
    flags=SqlColumn("flags", FLAGS),
    reply=SqlColumn("conversation.reply.text", TEXT),
    finish=SqlColumn("conversation.reply.finish", FINISH),
    **usage_columns("conversation.reply.usage"),
    record=SqlColumn("conversation.reply.tokens", Codec(pack_tokens, unpack_tokens)),
    score=SqlColumn("score"),
    findings=SqlColumn(),
)
READINGS: Final[RowFormat[Reading]] = RowFormat(
    {"": Reading, "usage": Usage},
    id=SqlColumn("id"),
    question=SqlColumn("question", TEXT),
    model=SqlColumn("model", TEXT),
    way=SqlColumn("way"),
    language=SqlColumn("language"),
    plan=SqlColumn("plan", PLAN),
    created=SqlColumn("created"),
    parent=SqlColumn("parent"),
    status=SqlColumn("status", Codec(str, Status)),
    answer=SqlColumn(),
    answer_turn=SqlColumn(),
    answer_record=SqlColumn(),
    evidence=SqlColumn(
        "evidence",
        Codec(
            lambda all_: to_json([*map(to_plain, all_)]), lambda value: tuple(map(evidence_from_json, from_json(value)))
        ),
    ),
    claims=SqlColumn(
        "claims",
        Codec(
            lambda all_: to_json([*map(to_plain, all_)]), lambda value: tuple(map(claim_from_json, from_json(value)))
        ),
    ),
    error=SqlColumn("error", TEXT),
    error_kind=SqlColumn("error_kind", Codec(lambda kind: kind or None, lambda value: value or "")),
    **usage_columns("usage"),
)
FIXED_COLUMNS: Final = 8
"""The first columns of a reading, which do not change when it ends."""


def step_to_row(step: Step, *, follows: bool) -> tuple[Any, ...]:
    """Return the row of a step. With `follows`, omit the memory before: it is the last step's."""
    before = (None, None) if follows else (store_text(step.before.text), step.before.tokens)
    found = findings_to_json(step)
    return STEPS.to_row(step, before=before[0], before_tokens=before[1], findings=to_json(found) if found else None)


def step_from_row(row: Sequence[Any], memory: Memory, text: str = "") -> Step:
    """Return the step of a row; `memory` is the one after the step before."""
    column = dict(zip(STEPS.columns, row, strict=True))
    if column["before"] is not None:
        memory = Memory(text=load_text(column["before"]), tokens=column["before_tokens"], limit=memory.limit)
    found = findings_from_json(from_json(column["findings"]) if column["findings"] else {})
    given = {"before": memory, "after.limit": memory.limit, "chunk.text": text, "conversation.messages": (), **found}
    return STEPS.from_row(row, given)


def reading_to_row(reading: Reading) -> tuple[Any, ...]:
    answer = reading.answer
    if answer is None:
        return READINGS.to_row(reading, answer=None, answer_turn=None, answer_record=None)
    reply = answer.conversation.reply
    usage = [reply.usage.calls, reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.seconds]
    turn = {"reply": reply.text, "finish": reply.finish, "flags": answer.flags, "usage": usage}
    turn |= {"passage": answer.passage} if answer.passage else {}
    return READINGS.to_row(
        reading, answer=store_text(answer.text), answer_turn=to_json(turn), answer_record=pack_tokens(reply.tokens)
    )


def reading_from_row(row: Sequence[Any], document: DocumentInfo, steps: tuple[Step, ...] = ()) -> Reading:
    """Return the reading of a row."""
    column = dict(zip(READINGS.columns, row, strict=True))
    answer = None
    if column["answer_turn"]:
        turn = from_json(column["answer_turn"])
        calls, prompt, completion, seconds = turn["usage"]
        reply = Reply(
            text=turn["reply"],
            finish=Finish(turn["finish"]),
            usage=Usage(calls=calls, prompt_tokens=prompt, completion_tokens=completion, seconds=seconds),
            tokens=unpack_tokens(column["answer_record"]),
        )
        answer = Answer(
            text=load_text(column["answer"]),
            conversation=Conversation(messages=(), reply=reply),
            flags=tuple(map(Flag, turn["flags"])),
            passage=turn.get("passage", ""),
        )
    return READINGS.from_row(row, {"document": document, "steps": steps, "answer": answer})
