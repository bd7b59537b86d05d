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


class ShelvedDocumentJson(TypedDict):
    """A document on the shelf."""

    document: str
    """The SHA-256 of its text."""
    name: str
    """The one that it was given, or its own."""
    starred: bool
    length: int
    """Characters."""
    kept: str
    """When it was last stored."""
    readings: int
    """How many there are of it."""
    newest: "NewestJson | None"
    """Null where nothing was asked yet."""


class NewestJson(TypedDict):
    """The newest question about a document."""

    reading: str
    question: str
    status: Status
    created: str


class PlaceJson(TypedDict):
    """A place in a document's text."""

    start: int
    end: int


class SearchHitJson(TypedDict):
    """A passage of a document, or a reading, that has all the words of a search."""

    document: str
    name: str
    snippet: str
    reading: str
    """Empty for a passage."""
    question: str
    start: int
    end: int
    pages: list[int]


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
    name: NotRequired[str]
    """The name that somebody gave it; not there where nobody did."""
    starred: NotRequired[bool]
    """True, or not there."""


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
    abilities: list[str] | None
    """What it can do besides replying; null where its server does not say."""
    ways: list[str]
    """The ways of reading that it can read by as it is."""
    way: str
    """The one that is taken where a request names none."""


class LabelJson(TypedDict):
    """The name and the star that a reading has now."""

    name: str
    """Empty: its own."""
    starred: bool


class MessageJson(TypedDict):
    """One message of a prompt."""

    role: str
    content: str


class CallJson(TypedDict):
    """The call of the model behind a step, or behind the answer."""

    messages: list[MessageJson]
    """The prompt, rebuilt from the document and the memory before."""
    reply: str
    kind: Literal["reply", "judge", "likelihood"]
    """What was asked for first; a way may make more calls in one step."""
    calls: int
    """How many the step made."""
    same: bool
    """Whether the rebuilt prompt leads to the very step that is stored."""


class HealthJson(TypedDict):
    """The state of the server."""

    status: Literal["ok"]
    readings: int
    """Under way."""


class ErrorJson(TypedDict):
    """A declined or failed request."""

    error: str
    kind: str
