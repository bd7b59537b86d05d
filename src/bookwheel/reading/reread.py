"""Read the sections that were not taken in, or were skipped, past the newest memory, and answer anew.

`reread` has the signature of a way and continues the steps of any way that has one memory: each of these sections gets
one more step at the end, flagged `reread`.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final

from bookwheel.flags import NOT_TAKEN_IN, Flag
from bookwheel.reading import loop
from bookwheel.reading.prompts import prompts_for
from bookwheel.types import Memory, find_gaps

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.loop import Way
    from bookwheel.types import Answer, Document, Step

_TO_READ: Final = NOT_TAKEN_IN | {Flag.SKIPPED}


def find_unread_sections(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the newest step of each section that the memory knows nothing of."""
    return find_gaps(steps, _TO_READ)


def reread_above(threshold: float) -> Way:
    """Return a way that reads the sections that were not taken in, and of the skipped ones those that score enough."""

    async def reread_best(
        document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
    ) -> AsyncGenerator[Step | Answer]:
        async for event in _read_sections(document, question, model, plan, done, threshold):
            yield event

    return reread_best


def is_rereading(steps: Sequence[Step]) -> bool:
    """Return True where `reread` has begun, so that it and not the reading's way goes on."""
    return any(Flag.REREAD in step.flags for step in steps)


async def reread(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Yield one step for each section that was not taken in, then the answer."""
    async for event in _read_sections(document, question, model, plan, done, -inf):
        yield event


async def _read_sections(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step], threshold: float
) -> AsyncGenerator[Step | Answer]:
    """Read the sections again whose score, if they have one, is at least the threshold; then answer."""
    prompts = prompts_for(plan, question)
    loop.check(question, model, plan, prompts)
    memory = done[-1].after if done else Memory.blank(plan.memory_tokens)
    sections = [s for s in find_unread_sections(done) if s.score is None or s.score >= threshold]
    for index, section in enumerate(sections, start=len(done)):
        text = document.slice(section.chunk.start, section.chunk.end)
        chunk = replace(section.chunk, index=index, text=text)
        step = await loop.update(question, memory, chunk, model, plan, prompts)
        yield replace(step, flags=(*step.flags, Flag.REREAD), score=None)
        memory = step.after
    yield await loop.answer(question, memory, model, plan, prompts)
