"""The rows of the journal: for each table, its columns and the fields of a value that stand in them.

Nothing here knows files or threads.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar, get_origin

from bookwheel.flags import Flag
from bookwheel.journal.tables import from_json, load_text, store_text, to_json
from bookwheel.models.registry import ModelAddress
from bookwheel.plan import Plan
from bookwheel.schema import from_plain, list_makers, make_fields, read_hints, to_plain
from bookwheel.types import Answer, Conversation, DocumentInfo, Finish, Memory, Reading, Reply, Step, TokenRecord, Usage

_T = TypeVar("_T")


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


PLAN: Final = Codec(lambda plan: to_json(plan.to_json()), _load_plan)
ADDRESS: Final = Codec(
    lambda address: to_json(address.to_json()) if address else None,
    lambda value: from_plain(ModelAddress, from_json(value)) if value else None,
)
_CODECS: Final[Mapping[Any, Codec]] = {
    str: Codec(store_text, load_text),
    bool: Codec(int, bool),
    Plan: PLAN,
    ModelAddress | None: ADDRESS,
    TokenRecord | None: Codec(pack_tokens, unpack_tokens),
}


def _find_codec(type_: type, field: str) -> Codec:
    """Return how a field of a dataclass becomes a column, which its type says."""
    hint, make = read_hints(type_)[field], list_makers(type_)[field]
    if hint in _CODECS:
        return _CODECS[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Codec(str, hint)
    if is_dataclass(hint) or get_origin(hint) in {tuple, Mapping}:
        return Codec(lambda value: to_json(to_plain(value)), lambda value: make(from_json(value)))
    return Codec(lambda value: value, lambda value: value)


def name_usage(path: str) -> str:
    return " ".join(f"{name}={path}.{name}" for name in ("calls", "prompt_tokens", "completion_tokens", "seconds"))


class RowFormat(Generic[_T]):
    """Converts values of one type to rows and back.

    `columns` are the names of the columns, each behind it the field that stands in it where that has another name
    (`start=chunk.start`), or nothing where its value is given apart (`before=`). `codecs` are for columns whose form
    the field's type does not say.
    """

    def __init__(self, type_: type[_T], columns: str, **codecs: Codec) -> None:
        pairs = [column.partition("=") for column in columns.split()]
        fields = {name: path if equals else name for name, equals, path in pairs}
        self.columns = tuple(fields)
        self.names = ", ".join(fields)
        types: dict[str, type] = {"": type_}
        for path in fields.values():
            *inner, _ = path.split(".")
            for depth in range(len(inner)):
                outer = types[".".join(inner[:depth])]
                types[".".join(inner[: depth + 1])] = read_hints(outer)[inner[depth]]
        self._types = dict(sorted(types.items(), reverse=True))  # what is inside a value is made before it
        split = {name: (*_split_field(path), path) for name, path in fields.items()}
        found = {
            name: codecs.get(name) or _find_codec(types[inner], field)
            for name, (inner, field, path) in split.items()
            if path
        }
        self._encoders = {name: (attrgetter(split[name][2]), codec.encode) for name, codec in found.items()}
        self._decoders = [
            (inner, field, found[name].decode if name in found else None) for name, (inner, field, _) in split.items()
        ]

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
            if decode:
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


STEPS: Final = RowFormat(
    Step,
    "step=chunk.index start=chunk.start stop=chunk.end tokens=chunk.tokens sources=chunk.sources pages=chunk.pages "
    "before= before_tokens= memory=after.text memory_tokens=after.tokens flags "
    "reply=conversation.reply.text finish=conversation.reply.finish "
    f"{name_usage('conversation.reply.usage')} record=conversation.reply.tokens score findings=",
)
READINGS: Final = RowFormat(
    Reading,
    "id question model way language plan created parent status answer= answer_turn= answer_record= evidence claims "
    f"error error_kind {name_usage('usage')}",
    error_kind=Codec(lambda kind: kind or None, lambda value: value or ""),
)
FIXED_COLUMNS: Final = 8
"""The first columns of a reading, which do not change when it ends."""
# The fields of an answer that most answers do not have.
_RARE: Final = ("passage", "judged")


def step_to_row(step: Step, *, follows: bool) -> tuple[Any, ...]:
    """Return the row of a step. With `follows`, omit the memory before: it is the last step's."""
    from bookwheel.record import findings_to_json

    before = (None, None) if follows else (store_text(step.before.text), step.before.tokens)
    found = findings_to_json(step)
    return STEPS.to_row(step, before=before[0], before_tokens=before[1], findings=to_json(found) if found else None)


def step_from_row(row: Sequence[Any], memory: Memory, text: str = "") -> Step:
    """Return the step of a row; `memory` is the one after the step before."""
    column = dict(zip(STEPS.columns, row, strict=True))
    if column["before"] is not None:
        memory = Memory(text=load_text(column["before"]), tokens=column["before_tokens"], limit=memory.limit)
    found = make_fields(Step, from_json(column["findings"]) if column["findings"] else {})
    given = {"before": memory, "after.limit": memory.limit, "chunk.text": text, "conversation.messages": (), **found}
    return STEPS.from_row(row, given)


def reading_to_row(reading: Reading) -> tuple[Any, ...]:
    answer = reading.answer
    if answer is None:
        return READINGS.to_row(reading, answer=None, answer_turn=None, answer_record=None)
    reply = answer.conversation.reply
    usage = [reply.usage.calls, reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.seconds]
    turn = {"reply": reply.text, "finish": reply.finish, "flags": answer.flags, "usage": usage}
    turn |= {name: value for name in _RARE if (value := getattr(answer, name))}
    return READINGS.to_row(
        reading, answer=store_text(answer.text), answer_turn=to_json(turn), answer_record=pack_tokens(reply.tokens)
    )


def reading_from_row(row: Sequence[Any], document: DocumentInfo, steps: tuple[Step, ...] = ()) -> Reading:
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
            **{name: turn[name] for name in _RARE if name in turn},
        )
    return READINGS.from_row(row, {"document": document, "steps": steps, "answer": answer})
