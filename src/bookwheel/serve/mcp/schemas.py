"""What MCP clients get, as its schema tells them. Annotations are read at run time here."""

from typing import Literal

from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12


class Quote(TypedDict):
    """Words of the document behind the answer or a line of the memory."""

    quote: str
    start: int
    end: int
    pages: list[int]


class ReadingState(TypedDict):
    """How far a reading has come."""

    reading: str
    status: Literal["opening", "reading", "answered", "stopped", "failed", "cancelled"]
    question: str
    document: str
    answer: str | None
    evidence: list[Quote]
    memory: str
    steps: int
    read_to: int
    """Characters read so far."""
    length: int | None
    """Characters of the document."""
    tokens: int
    """Spent so far, prompt and reply together."""
    error: str
    notes: list[str]
    """What was left out of the document."""
    resource: str
    next: str
    """What to do now."""


class ReadingSummary(TypedDict):
    """One reading of the journal."""

    reading: str
    status: str
    question: str
    document: str
    answer: str | None
    created: str
    resource: str


class ReadingList(TypedDict):
    """Readings, newest first."""

    readings: list[ReadingSummary]


class Change(TypedDict):
    """What one step did to the memory."""

    step: int
    start: int
    end: int
    pages: list[int]
    sources: list[str]
    added: list[str]
    removed: list[str]
    memory_tokens: int
    flags: list[str]


class OriginInfo(TypedDict):
    """Where a line of the final memory is from."""

    line: str
    step: int
    pages: list[int]
    sources: list[str]
    quote: Quote | None
    found: bool
    missing: list[str]
    by_hand: bool


class Timeline(TypedDict):
    """A stretch of a reading's steps, and where the final memory's lines are from."""

    reading: str
    status: str
    steps: int
    """How many the reading has so far."""
    changes: list[Change]
    more_from: int | None
    """The step to ask for next; none when these were the last."""
    origins: list[OriginInfo]
