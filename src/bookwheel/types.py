"""The values that everything else passes around. They know nothing of files, models or journals.

A reading of a document of three chunks, as training and the page see it:

    Reading(question="Who signed?", status=ANSWERED, answer=Answer("Ada Quill"), steps=(
        Step(chunk 0: characters 0-18211,     before: "",             after: "parties: A, B"),
        Step(chunk 1: characters 18211-36020, before: "parties: A, B", after: "parties: A, B; signed by Ada Quill"),
        Step(chunk 2: characters 36020-41077, before and after: the same, flags=(UNCHANGED,)),
    ))

Three update conversations and one answer conversation, four independent model calls: `reading.conversations`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.plan import Plan


class Status(StrEnum):
    """How far a reading has come."""

    READING = "reading"
    """Under way, or killed while it was: it can be resumed."""
    ANSWERED = "answered"
    STOPPED = "stopped"
    """A budget was reached."""
    FAILED = "failed"
    """The model failed; `Reading.error` says how."""
    CANCELLED = "cancelled"
    """The user interrupted it."""


class Finish(StrEnum):
    """Why a reply ended."""

    STOP = "stop"
    LENGTH = "length"
    FILTER = "content_filter"


class Flag(StrEnum):
    """What a step or an answer wants known about its reply."""

    TRUNCATED = "truncated"
    """The reply ran into its token limit."""
    TRIMMED = "trimmed"
    """The memory was over its limit and was cut at a line boundary."""
    CLEANED = "cleaned"
    """Special tokens, prompt tags or a reasoning block were taken out of the reply."""
    UNCHANGED = "unchanged"
    """The model said that its notes stay as they are."""
    KEPT_EMPTY = "kept-empty"
    """The reply was empty; the previous memory was kept."""
    KEPT_REFUSAL = "kept-refusal"
    """The reply was a refusal; the previous memory was kept."""
    KEPT_COMMENT = "kept-comment"
    """The reply only remarked that there was nothing new; the previous memory was kept."""
    UNFOUNDED = "unfounded"
    """Lines that stand neither in the section nor in the notes were left out; if none was left, the memory was kept."""
    FILTERED = "filtered"
    """The server's content filter ended the reply; the previous memory was kept."""
    EDITED = "edited"
    """The memory after this step was changed by hand."""
    CUT = "cut"
    """A part of the document was left out so that the rest fits the window; only ways that are named for it do this."""
    NO_ANSWER = "no-answer"
    """The answer turn gave no text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What calls cost; usages add up."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and reply together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            seconds=self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """The exact ids a server read and sampled, never re-tokenised text; training rows are made of these."""

    prompt: tuple[int, ...]
    reply: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Of the sampled ids, under the sampling distribution; as many as `reply`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model gave back for one conversation."""

    text: str
    finish: Finish = Finish.STOP
    usage: Usage = field(default_factory=Usage)
    tokens: TokenRecord | None = None
    """Only where the server can give it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One independent model call: what was said and what came back."""

    messages: tuple[Message, ...]
    reply: Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A run of a document's text that comes from one place."""

    text: str
    source: str
    """File name, path inside a folder, URL, or "-"."""
    page: int | None = None
    """Counted from 1, where the format has pages."""


class Document(Protocol):
    """Text of any length, read in order. Its text is the join of its parts."""

    @property
    def name(self) -> str:
        """What to call it in lists and reports."""
        ...

    @property
    def length(self) -> int | None:
        """Characters in all; None while that is not known without reading it."""
        ...

    def parts(self, start: int = 0) -> Iterator[Part]:
        """The text from character `start` on; every call begins anew."""
        ...

    def slice(self, start: int, end: int) -> str:
        """The characters from `start` up to `end`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A span of the document; the chunks of a reading tile the document's text exactly."""

    index: int
    start: int
    """Character offset into the document's text."""
    end: int
    text: str
    tokens: int
    """By the model's own tokenizer, as the prompt shows the text."""
    sources: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The one fixed-size note sheet that each step overwrites."""

    text: str
    tokens: int
    limit: int

    @classmethod
    def blank(cls, limit: int) -> Self:
        """The memory before the first chunk."""
        return cls(text="", tokens=0, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One chunk read: the memory before, the conversation, the memory after."""

    chunk: Chunk
    before: Memory
    after: Memory
    conversation: Conversation
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    r"""The last conversation's outcome. `text` is what stands in the last \boxed{}, else the whole reply."""

    text: str
    conversation: Conversation
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A stretch of the document that stands verbatim behind an answer or a memory line."""

    quote: str
    start: int
    end: int
    step: int
    pages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentInfo:
    """Which document a reading is of; the text itself stays in the journal or with the caller."""

    id: str
    """The SHA-256 of its text."""
    name: str
    length: int
    """Characters."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reading:
    """The whole trace of one question put to one document."""

    id: str
    document: DocumentInfo
    question: str
    plan: Plan
    model: str
    way: str = "sequential"
    language: str = "en"
    status: Status = Status.READING
    steps: tuple[Step, ...] = ()
    answer: Answer | None = None
    usage: Usage = field(default_factory=Usage)
    evidence: tuple[Evidence, ...] = ()
    error: str = ""
    """Why it failed or stopped, in a sentence; empty when it did not."""
    parent: str = ""
    """The reading that this one was forked from by an edit."""
    created: str = ""
    """ISO 8601, UTC."""

    @property
    def memory(self) -> Memory:
        """The newest memory."""
        return self.steps[-1].after if self.steps else Memory.blank(self.plan.memory_tokens)

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """Every model call in order: the updates, then the answer. This is what training sees."""
        updates = tuple(step.conversation for step in self.steps)
        return (*updates, self.answer.conversation) if self.answer else updates

    def with_step(self, step: Step) -> Self:
        """This reading one step further."""
        return replace(self, steps=(*self.steps, step), usage=self.usage + step.conversation.reply.usage)

    def __repr__(self) -> str:
        said = self.answer.text if self.answer else self.error
        return f"<Reading {self.id[:8]} of {self.document.name!r}: {self.status}, {len(self.steps)} steps, {said!r}>"
