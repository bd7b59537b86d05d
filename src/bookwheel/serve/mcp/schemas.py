"""Results of the MCP tools. The MCP SDK reads these annotations at run time and publishes them as schemas."""

from typing import Literal

from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12


class Quote(TypedDict):
    """A passage of the document that supports the answer or a line of the memory."""

    quote: str
    start: int
    end: int
    pages: list[int]


class ClaimInfo(TypedDict):
    """One sentence of the answer, and how far the document bears it out."""

    text: str
    verdict: Literal["found", "partly", "by-hand", "not-found", "absent"]
    """`by-hand`: it rests on an edited memory; `absent`: the model says that the document does not have it."""
    explanation: str
    quotes: list[Quote]
    step: int | None
    missing: list[str]
    """Its numbers and names that stand nowhere in the document."""


class GapInfo(TypedDict):
    """A section of the document that was not taken in."""

    start: int
    end: int
    pages: list[int]
    flags: list[str]
    """The reason."""


class ReadingState(TypedDict):
    """The state of a reading."""

    reading: str
    status: Literal["opening", "reading", "answered", "stopped", "failed", "cancelled"]
    question: str
    document: str
    answer: str | None
    verdict: Literal["found", "partly", "by-hand", "not-found", "absent"] | None
    """How far the document bears out the whole answer."""
    claims: list[ClaimInfo]
    evidence: list[Quote]
    memory: str
    steps: int
    read_to: int
    """Characters read so far."""
    length: int | None
    """Characters of the document."""
    tokens: int
    """Used so far, prompt and reply together."""
    error: str
    waiting: str
    """The model fails at the moment and is tried again: since when, and why. Empty otherwise."""
    gaps: list[GapInfo]
    """Sections that were not taken in: the answer may lack what they say."""
    notes: list[str]
    """What was left out of the document or guessed."""
    resource: str
    next: str
    """The call to make next."""


class ReadingStates(TypedDict):
    """The states of several readings of one document, in the order of their questions."""

    readings: list[ReadingState]


class ReadingSummary(TypedDict):
    """One reading of the journal."""

    reading: str
    status: str
    question: str
    document: str
    answer: str | None
    verdict: Literal["found", "partly", "by-hand", "not-found", "absent"] | None
    created: str
    resource: str


class SearchHitInfo(TypedDict):
    """A passage of a document, or a reading, that has all the words."""

    document: str
    """For `read`."""
    name: str
    snippet: str
    reading: str | None
    """The reading whose question, answer or memory has the words; null for a passage."""
    question: str | None
    start: int
    end: int
    pages: list[int]


class SearchResults(TypedDict):
    """What has all the words: readings first, each kind with the best first."""

    hits: list[SearchHitInfo]


class ReadingList(TypedDict):
    """Readings, newest first."""

    readings: list[ReadingSummary]


class Rewording(TypedDict):
    """A line of the memory before and after it was reworded."""

    before: str
    after: str


class StepChanges(TypedDict):
    """The changes that one step made to the memory."""

    step: int
    start: int
    end: int
    pages: list[int]
    sources: list[str]
    added: list[str]
    reworded: list[Rewording]
    removed: list[str]
    memory_tokens: int
    flags: list[str]


class OriginInfo(TypedDict):
    """The place in the document that a line of the final memory comes from."""

    line: str
    step: int
    pages: list[int]
    sources: list[str]
    quote: Quote | None
    found: bool
    missing: list[str]
    by_hand: bool


class Timeline(TypedDict):
    """Some steps of a reading in order, and the origins of the final memory's lines."""

    reading: str
    status: str
    steps: int
    """Steps of the reading so far."""
    changes: list[StepChanges]
    more_from: int | None
    """The `first` of the next call; null after the last step."""
    origins: list[OriginInfo]
