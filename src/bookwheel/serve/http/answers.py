"""The JSON of answers about documents and readings, as the OpenAPI document publishes it.

Pydantic reads these annotations at run time.
"""

from typing import (
    Literal,
    NotRequired,  # pydantic cannot read that of typing before Python 3.12
)

from typing_extensions import TypedDict

from bookwheel.plan import Plan
from bookwheel.serve.engine.running_reading import Waiting
from bookwheel.types import Claim, DocumentInfo, Evidence, Finish, Flag, Status, Usage, Verdict
from bookwheel.views.diff import ChangeKind


class UploadJson(TypedDict):
    """A document that was stored."""

    document: str
    """The SHA-256 of its text."""
    name: str
    length: int
    """Characters."""
    notes: list[str]
    """What was left out of it."""


class TextSpanJson(TypedDict):
    """A part of a document's text."""

    start: int
    end: int
    text: str


class MemoryChangeJson(TypedDict):
    """One line of the memory after a step, or one that the step removed."""

    kind: ChangeKind
    text: str
    words: NotRequired[list[tuple[ChangeKind, str]]]
    """The parts of a reworded line."""


class StepJson(TypedDict):
    """One chunk read."""

    index: int
    start: int
    end: int
    pages: list[int]
    source: str
    sources: list[str]
    tokens: int
    before: NotRequired[str]
    """The memory before the step, where it is not the one after the last step: it was edited by hand."""
    before_tokens: NotRequired[int]
    memory: str
    memory_tokens: int
    flags: list[Flag]
    score: NotRequired[float]
    """The judgement of the section, where the way of reading makes one."""
    reply: str
    finish: Finish
    usage: Usage
    changes: NotRequired[list[MemoryChangeJson]]
    """With `?changes=1`."""
    changed_share: NotRequired[float]
    """The share of the memory that changed, from 0 to 1; with `?changes=1`."""


class AnswerTurnJson(TypedDict):
    """The model's reply in the answer turn."""

    reply: str
    finish: Finish
    flags: list[Flag]
    usage: Usage


class ListedReadingJson(TypedDict):
    """A reading without its steps."""

    reading: str
    status: Status
    question: str
    answer: str | None
    answer_turn: AnswerTurnJson | None
    verdict: Verdict | None
    """The verdict of the whole answer; null where there is none to judge."""
    claims: list[Claim]
    """The sentences of the answer, each with its verdict; their evidence stands in the whole reading."""
    model: str
    way: str
    language: str
    document: DocumentInfo
    plan: Plan
    usage: Usage
    cost: float | None
    """In the currency of the plan's prices; null without prices."""
    error: str
    parent: str
    """The reading that this one was forked from; empty where there is none."""
    created: str


class GapJson(TypedDict):
    """A section that was not taken in, also when it was read again."""

    step: int
    """Its newest step."""
    start: int
    end: int
    pages: list[int]
    flags: list[Flag]


class ReadingJson(ListedReadingJson):
    """A whole reading."""

    steps: list[StepJson]
    gaps: list[GapJson]
    """The sections that were not taken in."""
    evidence: list[Evidence]
    waiting: NotRequired[Waiting]
    """The model fails at the moment, and is tried again."""


class StartedReadingsJson(TypedDict):
    """The readings of several questions about one document, in their order."""

    readings: list[ReadingJson]


class OriginJson(TypedDict):
    """The origin of one line of the final memory."""

    line: str
    step: int
    since: int
    sources: list[str]
    pages: list[int]
    start: int
    end: int
    quote: Evidence | None
    found: bool
    missing: list[str]
    by_hand: bool


class ModelJson(TypedDict):
    """A model that reads here, with the plan it reads by."""

    name: str
    window: int | None
    plan: Plan


class HealthJson(TypedDict):
    """The state of the server."""

    status: Literal["ok"]
    readings: int
    """Under way."""


class ErrorJson(TypedDict):
    """A declined or failed request."""

    error: str
    kind: str
