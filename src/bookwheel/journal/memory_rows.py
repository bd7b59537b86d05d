"""The values of lasting memories, and the rows that hold them. Nothing here knows files or threads."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

from annotated_types import Gt

from bookwheel.errors import InputError
from bookwheel.journal.rows import address_from_row, address_to_row, load_text, store_text
from bookwheel.plan import Plan
from bookwheel.schema import check_bounds
from bookwheel.types import Finish, Flag, Memory, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bookwheel.models.registry import ModelAddress

MEMORY_COLUMNS: Final = "name, about, model, way, plan, address, limits, created, owner"
TEXT_COLUMNS: Final = "number, source, at, arrived, sha256, characters, position, is_late"
VERSION_COLUMNS: Final = (
    "version, kind, text, start, stop, content, tokens, flags, reply, finish, calls, prompt_tokens, "
    "completion_tokens, seconds, scores, changes, kept"
)


class VersionKind(StrEnum):
    """The origin of a version."""

    READ = "read"
    """A piece of a text was read."""
    EDIT = "edit"
    """Somebody corrected the memory by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimits:
    """What one memory may hold and cost; None is no limit."""

    max_characters: Annotated[int, Gt(0)] | None = None
    """Of all its texts together."""
    max_tokens_per_day: Annotated[int, Gt(0)] | None = None
    """Prompt and reply tokens of all readings and questions of a day in UTC."""

    def __post_init__(self) -> None:
        check_bounds(self, error=InputError)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """A lasting memory as it was begun."""

    name: str
    about: str
    """The standing brief: what is to be noted."""
    model: str
    way: str
    plan: Plan
    address: ModelAddress | None = None
    limits: MemoryLimits = field(default_factory=MemoryLimits)
    created: str = ""
    owner: str = ""
    """The key of a server, or empty."""
    number: int = 0
    """The row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryText:
    """One text that was added."""

    number: int
    """The order of arrival."""
    source: str
    at: str
    """The time that it is from, ISO 8601 with its time zone."""
    arrived: str
    sha256: str
    characters: int
    position: int
    """Characters that were read."""
    is_late: bool = False
    """A text of a later time was read before it."""

    @property
    def instant(self) -> datetime:
        """The time that it is from, in UTC."""
        return datetime.fromisoformat(self.at).astimezone(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVersion:
    """The memory after one piece of a text, or after a correction."""

    version: int
    kind: VersionKind
    memory: Memory
    text: int | None = None
    """The number of the text; None where nothing was read."""
    start: int = 0
    end: int = 0
    flags: tuple[Flag, ...] = ()
    reply: str = ""
    finish: Finish = Finish.STOP
    usage: Usage = field(default_factory=Usage)
    scores: Mapping[str, float] = field(default_factory=dict)
    """The score of each passage, in the way `quotes`."""
    changes: tuple[tuple[str, str], ...] = ()
    """The lines of a correction: old and new; an empty one is none."""
    kept: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What remains of a forgetting: no words of what was forgotten."""

    number: int
    scope: str
    """`source`, `before` or `text`."""
    sources: tuple[str, ...]
    texts: tuple[int, ...]
    began: str
    ended: str = ""
    """Empty while it is under way, or was interrupted."""
    replayed: int = 0
    """Pieces that were read again."""
    lines: int = 0
    """Lines of the newest memory that changed."""
    is_purged: bool = False
    """The file has been rewritten without the words."""


def memory_to_row(record: MemoryRecord) -> tuple[Any, ...]:
    """Return the values of MEMORY_COLUMNS."""
    return (
        store_text(record.name),
        store_text(record.about),
        store_text(record.model),
        record.way,
        json.dumps(record.plan.to_json()),
        address_to_row(record.address),
        json.dumps(asdict(record.limits)),
        record.created,
        record.owner,
    )


def memory_from_row(row: Sequence[Any]) -> MemoryRecord:
    """Return the memory of a row: its number, then MEMORY_COLUMNS."""
    number, name, about, model, way, plan, address, limits, created, owner = row
    return MemoryRecord(
        number=number,
        name=load_text(name),
        about=load_text(about),
        model=load_text(model),
        way=way,
        plan=Plan.from_stored(json.loads(plan)),
        address=address_from_row(address),
        limits=MemoryLimits(**json.loads(limits)),
        created=created,
        owner=owner,
    )


def text_from_row(row: Sequence[Any]) -> MemoryText:
    """Return the text of TEXT_COLUMNS."""
    number, source, at, arrived, sha256, characters, position, is_late = row
    return MemoryText(
        number=number,
        source=load_text(source),
        at=at,
        arrived=arrived,
        sha256=sha256,
        characters=characters,
        position=position,
        is_late=bool(is_late),
    )


def version_to_row(version: MemoryVersion) -> tuple[Any, ...]:
    """Return the values of VERSION_COLUMNS."""
    usage = version.usage
    return (
        version.version,
        str(version.kind),
        version.text,
        version.start,
        version.end,
        store_text(version.memory.text),
        version.memory.tokens,
        json.dumps(version.flags),
        store_text(version.reply),
        str(version.finish),
        usage.calls,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.seconds,
        store_text(json.dumps(version.scores, ensure_ascii=False)),
        store_text(json.dumps(version.changes, ensure_ascii=False)),
        version.kept,
    )


def version_from_row(row: Sequence[Any], limit: int) -> MemoryVersion:
    """Return the version of VERSION_COLUMNS."""
    version, kind, text, start, stop, content, tokens, flags, reply, finish, *rest = row
    calls, prompt, completion, seconds, scores, changes, kept = rest
    return MemoryVersion(
        version=version,
        kind=VersionKind(kind),
        memory=Memory(text=load_text(content), tokens=tokens, limit=limit),
        text=text,
        start=start,
        end=stop,
        flags=tuple(Flag(flag) for flag in json.loads(flags)),
        reply=load_text(reply),
        finish=Finish(finish),
        usage=Usage(calls=calls, prompt_tokens=prompt, completion_tokens=completion, seconds=seconds),
        scores=json.loads(load_text(scores)),
        changes=tuple((old, new) for old, new in json.loads(load_text(changes))),
        kept=kept,
    )


def tombstone_from_row(row: Sequence[Any]) -> Tombstone:
    """Return the tombstone of a row of `memory_forgets`, without its memory."""
    number, scope, sources, texts, began, ended, replayed, lines, is_purged = row
    return Tombstone(
        number=number,
        scope=scope,
        sources=tuple(json.loads(load_text(sources))),
        texts=tuple(json.loads(texts)),
        began=began,
        ended=ended,
        replayed=replayed,
        lines=lines,
        is_purged=bool(is_purged),
    )
