"""The values of lasting memories, and the rows that hold them. Nothing here knows files or threads."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import Gt

from bookwheel.errors import InputError
from bookwheel.journal.rows import (
    ADDRESS,
    FINISH,
    FLAGS,
    JSON,
    PLAN,
    TEXT,
    TUPLE,
    Codec,
    RowFormat,
    SqlColumn,
    from_json,
    to_json,
    usage_columns,
)
from bookwheel.schema import check_bounds
from bookwheel.types import Finish, Flag, Memory, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.models.registry import ModelAddress
    from bookwheel.plan import Plan


BY_HAND: Final = "by hand"
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


MEMORIES: Final[RowFormat[MemoryRecord]] = RowFormat(
    {"": MemoryRecord},
    number=SqlColumn("number"),
    name=SqlColumn("name", TEXT),
    about=SqlColumn("about", TEXT),
    model=SqlColumn("model", TEXT),
    way=SqlColumn("way"),
    plan=SqlColumn("plan", PLAN),
    address=SqlColumn("address", ADDRESS),
    limits=SqlColumn(
        "limits", Codec(lambda limits: to_json(asdict(limits)), lambda value: MemoryLimits(**from_json(value)))
    ),
    created=SqlColumn("created"),
    owner=SqlColumn("owner"),
)
TEXTS: Final[RowFormat[MemoryText]] = RowFormat(
    {"": MemoryText},
    number=SqlColumn("number"),
    source=SqlColumn("source", TEXT),
    at=SqlColumn("at"),
    arrived=SqlColumn("arrived"),
    sha256=SqlColumn("sha256"),
    characters=SqlColumn("characters"),
    position=SqlColumn("position"),
    is_late=SqlColumn("is_late", Codec(int, bool)),
)
VERSIONS: Final[RowFormat[MemoryVersion]] = RowFormat(
    {"": MemoryVersion, "memory": Memory, "usage": Usage},
    version=SqlColumn("version"),
    kind=SqlColumn("kind", Codec(str, VersionKind)),
    text=SqlColumn("text"),
    start=SqlColumn("start"),
    stop=SqlColumn("end"),
    content=SqlColumn("memory.text", TEXT),
    tokens=SqlColumn("memory.tokens"),
    flags=SqlColumn("flags", FLAGS),
    reply=SqlColumn("reply", TEXT),
    finish=SqlColumn("finish", FINISH),
    **usage_columns("usage"),
    scores=SqlColumn("scores", JSON),
    changes=SqlColumn("changes", Codec(to_json, lambda value: tuple(map(tuple, from_json(value))))),
    kept=SqlColumn("kept"),
)
TOMBSTONES: Final[RowFormat[Tombstone]] = RowFormat(
    {"": Tombstone},
    number=SqlColumn("number"),
    scope=SqlColumn("scope"),
    sources=SqlColumn("sources", TUPLE),
    texts=SqlColumn("texts", TUPLE),
    began=SqlColumn("began"),
    ended=SqlColumn("ended"),
    replayed=SqlColumn("replayed"),
    lines=SqlColumn("lines"),
    purged=SqlColumn("is_purged", Codec(int, bool)),
)


def blank_version(limit: int) -> MemoryVersion:
    return MemoryVersion(version=0, kind=VersionKind.READ, memory=Memory.blank(limit))
