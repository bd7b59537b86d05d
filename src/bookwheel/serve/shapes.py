"""What MCP clients send and get, as their schemas tell them. Annotations are read at run time here."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12


class SamplingValues(BaseModel):
    """How the model draws its tokens."""

    model_config = ConfigDict(extra="forbid")

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    repeat_penalty: float | None = None


class BudgetValues(BaseModel):
    """Hard limits of the reading; the server's own are never exceeded."""

    model_config = ConfigDict(extra="forbid")

    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    price_in: float = 0.0
    price_out: float = 0.0


class PlanValues(BaseModel):
    """What is to differ from the plan that the model recommends. Prompt sets are files, so none can be named."""

    model_config = ConfigDict(extra="forbid")

    question_tokens: int | None = None
    chunk_tokens: Annotated[int | None, Field(description="Tokens of the document in one call.")] = None
    memory_tokens: Annotated[int | None, Field(description="Tokens that the memory may have.")] = None
    answer_tokens: int | None = None
    layout: Literal["memory-first", "section-first"] | None = None
    language: Literal["en", "zh"] | None = None
    sampling: SamplingValues | None = None
    budget: BudgetValues | None = None


class Quote(TypedDict):
    """Words of the document behind the answer or a line of the memory."""

    quote: str
    start: int
    end: int
    pages: list[int]


class Standing(TypedDict):
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


class Listed(TypedDict):
    """One reading of the journal."""

    reading: str
    status: str
    question: str
    document: str
    answer: str | None
    created: str
    resource: str


class Listing(TypedDict):
    """Readings, newest first."""

    readings: list[Listed]


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


class Origin(TypedDict):
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
    origins: list[Origin]
