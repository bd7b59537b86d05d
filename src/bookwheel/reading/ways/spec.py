"""What a way of reading is: how it runs, what it needs of a model, what it costs. Each way's file ends with its own.

    EVERY_OTHER = WaySpec(run=every_other, needs=frozenset({Ability.JUDGE}), list_calls=list_my_calls)

A plain function with the signature of `loop.Way` is a way too: it needs replies only, and is taken to cost what the
loop does.

Other ways are put together from parts (reading/ways/compose.py). A part answers one of a few questions:

    preface   what comes before the first chunk                     planned
    course    which chunks, in which order                          parallel, ranked; else the document's order
    gate      whether a chunk is read into memory at all            gated, cascade; else always
    writer    how memory and chunk become the next memory           edits, heads; else the loop's own update
    exit      whether the memory suffices before the end            early-exit, ranked; else never
    review    which chunks are read once more after the last one    look-back; else none
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from bookwheel.models.base import Ability, Model
from bookwheel.plan import GatePlan, Plan
from bookwheel.reading import loop
from bookwheel.reading.estimate import CallCost, CostInputs, DocumentSize, measure_document
from bookwheel.reading.loop import Way
from bookwheel.reading.prompts import Prompts, prompts_for
from bookwheel.types import Answer, Chunk, Document, Memory, Step, Usage, WayChoice


class Threshold(StrEnum):
    """Whose threshold a way skips chunks by."""

    MODEL = "model"
    JUDGE = "judge"
    """That of the small model of `cascade`."""


def check_chunks(question: str, model: Model, plan: Plan) -> None:
    """Refuse a question and a plan that a way with chunks cannot read by."""
    loop.check(question, model, plan, prompts_for(plan, question))


@dataclass(frozen=True, slots=True, kw_only=True)
class WaySpec:
    """A way of reading, with all that is known of it before the first call."""

    run: Way
    needs: frozenset[Ability] = frozenset()
    """What the model must offer besides replies."""
    threshold: Threshold | None = None
    """Where it is the model's, the model must offer the judgement that its gate rests on."""
    ranks: bool = False
    """Reads in the order of the plan's `rank`."""
    embeds: Callable[[Plan], bool] = lambda _plan: False
    """Whether it needs embeddings under a plan."""
    list_calls: Callable[[CostInputs], list[CallCost]] | None = None
    """The calls that it takes; None are the loop's."""
    measure: Callable[[Document, str, Model, Plan], DocumentSize] = measure_document
    """How it cuts a document for a question."""
    check: Callable[[str, Model, Plan], object] = check_chunks
    """Refuse a question or a plan, before anything is kept or paid for."""
    choose: Callable[[Document, str, Model, Plan], Awaitable[WayChoice]] | None = None
    """The way that it goes on by, where it only chooses one."""
    is_general: bool = True
    """For any question; False for one that a command of its own prepares."""
    is_serial: bool = False
    """No call is in flight between two steps, so it can go on from any of them with better counts of tokens."""

    def find_lacking(self, abilities: frozenset[Ability], gate: GatePlan | None) -> str:
        """Return what a model with these abilities, and this gate, lacks for it; empty if nothing."""
        if missing := sorted(self.needs - abilities):
            return missing[0]
        if self.threshold is not Threshold.MODEL:
            return ""
        scorers = {Ability(gate.scorer)} if gate else set(Ability)
        return "" if scorers & abilities else " or ".join(sorted(scorers))


SEQUENTIAL: Final = WaySpec(run=loop.read, is_serial=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingContext:
    """What stays the same from the first step of a reading to its answer."""

    document: Document
    question: str
    model: Model
    plan: Plan
    prompts: Prompts
    template: int
    """Tokens of the longest prompt of this way with nothing filled in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a judgement came to."""

    score: float
    """The higher, the more a chunk is worth reading or a memory suffices."""
    usage: Usage
    answer: Answer | None = None
    """The answer that a sufficient memory gave."""


Write: TypeAlias = Callable[[ReadingContext, Memory, Chunk], Awaitable[Step]]
Leave: TypeAlias = Callable[[ReadingContext, Memory, Sequence[Step]], Awaitable[Decision | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preface:
    """What comes before the first chunk: a step, and what it changes for the rest of the reading."""

    write: Callable[[ReadingContext], Awaitable[Step]]
    apply: Callable[[ReadingContext, Step], ReadingContext]
    estimate: Callable[[CostInputs], CallCost]
    """The call of `write`. The question's budget is taken to be full afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Which chunks are read, in which order, with the gated writer; the plain one is for everything else."""

    read: Callable[[ReadingContext, Write, Write, Leave | None, Sequence[Step]], AsyncGenerator[Step | Answer]]
    ranks: bool = False
    """In the order of the plan's `rank`."""
    count_merges: Callable[[int], int] = lambda _chunks: 0
    """How many memories are merged after so many chunks."""
    list_calls: Callable[[CostInputs], list[CallCost]] = lambda _given: []
    """Calls that find the order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Whether a chunk is read into memory at all: a writer that writes only what the gate lets through."""

    open: Callable[[ReadingContext, Write], AbstractAsyncContextManager[Write]]
    threshold: Threshold
    estimate: Callable[[CostInputs, int, int], CallCost]
    """The judgements of chunks, at least and at most so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWriter:
    """How memory and chunk become the next memory."""

    write: Write
    shorten: Callable[[CostInputs, CallCost], list[CallCost]]
    """The calls that are tried first, given those that rewrite the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """Whether the memory suffices before the end."""

    leave: Leave
    list_calls: Callable[[CostInputs], list[CallCost]]
    """The judgements, and the answers that were not borne out; none where the whole document must be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Which chunks are read once more after the last one."""

    choose: Callable[[ReadingContext, Sequence[Step]], Sequence[Chunk]]
    count: Callable[[int], int]
    """At most so many after so many steps."""
