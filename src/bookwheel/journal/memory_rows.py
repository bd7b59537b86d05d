"""The values of lasting memories, and the rows that hold them. Nothing here knows files or threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from bookwheel.errors import InputError
from bookwheel.flags import Flag
from bookwheel.journal.rows import Codec, RowFormat, name_usage
from bookwheel.journal.tables import from_json, to_json
from bookwheel.models.registry import ModelAddress
from bookwheel.plan import Plan
from bookwheel.schema import Gt, check_bounds, from_plain, to_plain
from bookwheel.types import Finish, Memory, Usage

BY_HAND: Final = "by hand"
# Between the time that an undated text is given and its arrival.
_AT_ONCE: Final = timedelta(seconds=5)
"""The source of what somebody wrote into a memory."""


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
        return datetime.fromisoformat(self.at).astimezone(UTC)

    @property
    def is_undated(self) -> bool:
        """No day was given or found: it is taken as of its arrival."""
        return abs(self.instant - datetime.fromisoformat(self.arrived).astimezone(UTC)) <= _AT_ONCE


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
    """When it was written; of a correction, the time from which it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedLine:
    """A line of a memory that a forgetting changed, without its words."""

    kind: str
    """`new`, `reworded` or `gone`, as in a difference of two memories."""
    line: int
    """Its number in the memory of now; of a line that is gone, in that of before."""


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
    """How many lines of the newest memory changed."""
    changed: tuple[ChangedLine, ...] = ()
    """Which; none where an older version of bookwheel only counted them."""
    is_purged: bool = False
    """The file has been rewritten without the words."""


MEMORIES: Final = RowFormat(MemoryRecord, "number name about model way plan address limits created owner")
TEXTS: Final = RowFormat(MemoryText, "number source at arrived sha256 characters position is_late")
VERSIONS: Final = RowFormat(
    MemoryVersion,
    "version kind text start stop=end content=memory.text tokens=memory.tokens flags reply finish "
    f"{name_usage('usage')} scores changes kept",
)
TOMBSTONES: Final = RowFormat(
    Tombstone,
    "number scope sources texts began ended replayed lines purged=is_purged changed",
    changed=Codec(
        lambda lines: to_json(to_plain(lines)) if lines else None,
        lambda value: tuple(from_plain(ChangedLine, line) for line in from_json(value)) if value else (),
    ),
)


def blank_version(limit: int) -> MemoryVersion:
    return MemoryVersion(version=0, kind=VersionKind.READ, memory=Memory.blank(limit))
