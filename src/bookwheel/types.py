"""The values that everything else passes around. They know nothing about files, models or journals.

A reading of a document of three chunks, as training and the page see it:

    Reading(question="Who signed?", status=ANSWERED, answer=Answer("Ada Quill"), steps=(
        Step(chunk 0: characters 0-18211,     before: "",             after: "parties: A, B"),
        Step(chunk 1: characters 18211-36020, before: "parties: A, B", after: "parties: A, B; signed by Ada Quill"),
        Step(chunk 2: characters 36020-41077, before and after: the same, flags=(UNCHANGED,)),
    ))

Three update conversations and one answer conversation, four independent model calls: `reading.conversations`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Literal, Protocol, Self, TypeAlias, runtime_checkable

# The journal reads the annotations.
from bookwheel.claims import Claim, Evidence, Fit, Sign, Verdict, choose_sign, sum_up_fits, sum_up_verdicts
from bookwheel.flags import GAPS, NOT_TAKEN_IN, OVERFULL, Flag
from bookwheel.picture import Picture
from bookwheel.plan import Plan


class Status(StrEnum):
    """The state of a reading."""

    READING = "reading"
    """In progress, or killed while it was: it can be resumed."""
    ANSWERED = "answered"
    STOPPED = "stopped"
    """A budget was reached."""
    FAILED = "failed"
    """The model failed; `Reading.error` says how."""
    CANCELLED = "cancelled"
    """The user interrupted it."""


class Finish(StrEnum):
    """The reason that a reply ended."""

    STOP = "stop"
    LENGTH = "length"
    FILTER = "content_filter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    pictures: tuple[Picture, ...] = ()
    """What the content's marks point at, for a model that can see; a text-only model is sent none."""
    tokens: int | None = field(default=None, compare=False, repr=False)
    """At least so many tokens of the model's own, where the writer knows them; saves counting the content again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The cost of calls; usages add up."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and reply tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    def __sub__(self, other: Usage) -> Usage:
        return Usage(**{one.name: getattr(self, one.name) - getattr(other, one.name) for one in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """The exact ids that a server read and sampled, never re-tokenised text. Training rows are made of these."""

    prompt: tuple[int, ...]
    reply: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Log-probabilities of the sampled ids under the sampling distribution; as many as `reply`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's reply in one conversation."""

    text: str
    finish: Finish = Finish.STOP
    usage: Usage = field(default_factory=Usage)
    tokens: TokenRecord | None = None
    """None where the server cannot return it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One independent model call: the messages and the reply."""

    messages: tuple[Message, ...]
    reply: Reply

    def add_usage(self, usage: Usage) -> Self:
        """Return this conversation with the cost of other calls that were made for it."""
        return replace(self, reply=replace(self.reply, usage=self.reply.usage + usage)) if usage.calls else self

    def go_on(self, words: str) -> tuple[Message, ...]:
        """Return the messages of the next call in the same talk: these, the reply, and what is said to it."""
        return (*self.messages, Message(role="assistant", content=self.reply.text), Message(role="user", content=words))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a document's text that comes from one place."""

    text: str
    source: str
    """File name, path inside a folder, URL, or "-"."""
    page: int | None = None
    """Counted from 1, where the format has pages."""
    pictures: tuple[Picture, ...] = field(default=(), repr=False)
    """The pictures whose marks stand in the text."""
    at: str = ""
    """When it was said, in ISO 8601, where its file tells; without a zone in that of the one who wrote it."""
    entry: str = ""
    """The message that it is of, where a file is one or holds several: the file's name, with a number."""


class Document(Protocol):
    """Text of any length, read in order. Its text is the join of its parts."""

    @property
    def name(self) -> str:
        """The name in lists and reports."""

    @property
    def length(self) -> int | None:
        """Number of characters; None while that is unknown without reading it."""

    def parts(self, start: int = 0) -> Iterator[Part]:
        """Yield the text from character `start` on; every call starts again."""

    def slice(self, start: int, end: int) -> str:
        """Return the characters from `start` up to `end`."""


FindLead: TypeAlias = Callable[[int, str, str], str]
"""Return the lines to show above a chunk: by its first character, its text and its source."""


@runtime_checkable
class LedDocument(Protocol):
    """A document that says what its chunks belong to, which are asked about in its order."""

    def open_leads(self) -> FindLead | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A span of the document; the chunks of a reading tile the document's text exactly."""

    index: int
    start: int
    """Character offset into the document's text."""
    end: int
    text: str
    tokens: int
    """Counted by the model's own tokenizer, as the prompt shows it."""
    sources: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()
    lead: str = field(default="", compare=False)
    """Lines that tell what it begins in: a file, headings, a definition, a table. No part of the document."""

    @property
    def shown(self) -> str:
        """Its text as prompts show it."""
        return self.lead + self.text

    @classmethod
    def empty(cls, place: int = 0) -> Self:
        """Return the empty span at a place, of a step that reads no text."""
        return cls(index=0, start=place, end=place, text="", tokens=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The one fixed-size note sheet that each step overwrites."""

    text: str
    tokens: int
    limit: int

    @classmethod
    def blank(cls, limit: int) -> Self:
        """Return the memory before the first chunk."""
        return cls(text="", tokens=0, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class WayChoice:
    """A way of reading and why it was chosen."""

    way: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredLine:
    """What a line of the memory is worth that is a passage of the document, as the way `quotes` measured it."""

    chunk: float | None
    """The gain of the chunk that it is from; None for a line that the user wrote."""
    gain: float
    """How much of the question it explains by itself; of one that joins the best one, both together."""
    judgement: float | None = None
    """The weighted log-odds that it answers the question; None where none was asked for."""
    joins: bool = False
    """It answers together with the best one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One chunk read: the memory before, the conversation, the memory after."""

    chunk: Chunk
    before: Memory
    after: Memory
    conversation: Conversation
    flags: tuple[Flag, ...] = ()
    score: float | None = None
    """The judgement of the section by which the way of reading decided; None where it makes none."""
    choice: WayChoice | None = None
    """The way that the reading goes on by, in the step that chose it."""
    ranking: tuple[float, ...] = ()
    """How near the chunks, or the passages, of the document are to the question, in the step that measured them."""
    lines: tuple[ScoredLine, ...] = ()
    """What each line of the memory after the step is worth, where the way chooses passages."""
    given_up: tuple[str, ...] = ()
    """The lines that a full memory lost, those that the step itself would have brought too."""

    def without_texts(self) -> Self:
        """Return this step without the chunk's text and the prompt, which can be rebuilt from the document."""
        return replace(self, chunk=replace(self.chunk, text=""), conversation=replace(self.conversation, messages=()))

    def with_index(self, index: int) -> Self:
        """Return this step under another number. A chunk that is read twice has two steps."""
        return replace(self, chunk=replace(self.chunk, index=index))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    r"""The result of the last conversation. `text` is the content of the last \boxed{}, else the whole reply."""

    text: str
    conversation: Conversation
    flags: tuple[Flag, ...] = ()
    passage: str = ""
    """The document's own words that a short answer is taken from; empty where there is none."""
    judged: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What a model that judges it has replied, by the digests of its prompts; empty when the verdict is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentInfo:
    """The document of a reading, without its text, which stays in the journal or with the caller."""

    id: str
    """The SHA-256 of its text."""
    name: str
    length: int
    """Characters."""
    notes: tuple[str, ...] = ()
    """Sentences about what was left out of the text or guessed."""


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
    """The passages that the claims rest on."""
    claims: tuple[Claim, ...] = ()
    """The sentences of the answer, each with its verdict."""
    error: str = ""
    """The reason it failed or stopped, or its answer was not judged to its end, in a sentence; else empty."""
    error_kind: str = ""
    """The class of that error in `bookwheel.errors`; empty where there was none."""
    parent: str = ""
    """The reading that an edit forked this one from, or whose memory it began with."""
    created: str = ""
    """ISO 8601, UTC."""

    @property
    def memory(self) -> Memory:
        """The newest memory."""
        return self.steps[-1].after if self.steps else Memory.blank(self.plan.memory_tokens)

    @property
    def cost(self) -> float | None:
        """The cost so far, in the currency of the plan's prices; None without prices."""
        prices = self.plan.budget
        return prices.price(self.usage.prompt_tokens, self.usage.completion_tokens) if prices.has_prices else None

    @property
    def value(self) -> Any:
        """The answer as the value that its JSON Schema asks for; None without a schema, or where it is in words."""
        import json

        try:
            return json.loads(self.answer.text) if self.answer and self.plan.schema else None
        except ValueError:
            return None

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """Every model call in order: the updates, then the answer. Training sees these."""
        updates = tuple(step.conversation for step in self.steps)
        return (*updates, self.answer.conversation) if self.answer else updates

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the whole answer; None where there is none to judge."""
        return sum_up_verdicts(self.claims)

    @property
    def answers(self) -> Fit | None:
        """Whether the answer answers the question; None where nothing was judged."""
        return sum_up_fits(self.claims)

    @property
    def sign(self) -> Sign:
        """The colour of the answer at every door."""
        return choose_sign(self.verdict, self.answers)

    @property
    def gaps(self) -> tuple[Step, ...]:
        """The sections that were not taken in whole, also when they were read again: the newest step of each."""
        return find_gaps(self.steps, GAPS)

    @property
    def is_overfull(self) -> bool:
        """True where the memory was full at some step, so that part of what it said was cut off or given up."""
        return any(OVERFULL & set(step.flags) for step in self.gaps)

    @property
    def share_read(self) -> float:
        """The share of the text that was read; below 1 where the memory was enough before the end."""
        unread = find_gaps(self.steps, frozenset({Flag.UNREAD}))
        left = sum(step.chunk.end - step.chunk.start for step in unread)
        return 1 - left / self.document.length if left else 1.0

    def with_step(self, step: Step) -> Self:
        """Return this reading with one more step."""
        return replace(self, steps=(*self.steps, step), usage=self.usage + step.conversation.reply.usage)

    def __repr__(self) -> str:
        outcome = self.answer.text if self.answer else self.error
        return f"<Reading {self.id[:8]} of {self.document.name!r}: {self.status}, {len(self.steps)} steps, {outcome!r}>"


def find_gaps(steps: Iterable[Step], flags: frozenset[Flag] = NOT_TAKEN_IN) -> tuple[Step, ...]:
    """Return the newest step of each section whose flags say that it was not taken in, in the document's order."""
    newest = {(step.chunk.start, step.chunk.end): step for step in steps if step.chunk.end > step.chunk.start}
    return tuple(newest[span] for span in sorted(newest) if flags & set(newest[span].flags))
