"""Read the sections that were not taken in, or were skipped, past the newest memory, and answer anew.

`reread` has the signature of a way and continues the steps of any way that has one memory: each of these sections gets
one more step at the end, flagged `reread`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.reading import loop
from bookwheel.reading.prompts import prompts_for
from bookwheel.types import NOT_TAKEN_IN, Flag, Memory, find_gaps

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Answer, Document, Step

_TO_READ: Final = NOT_TAKEN_IN | {Flag.SKIPPED}


def find_unread_sections(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the newest step of each section that the memory knows nothing of."""
    return find_gaps(steps, _TO_READ)


def is_rereading(steps: Sequence[Step]) -> bool:
    """Return True where `reread` has begun, so that it and not the reading's way goes on."""
    return any(Flag.REREAD in step.flags for step in steps)


async def reread(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Yield one step for each section that was not taken in, then the answer."""
    prompts = prompts_for(plan, question)
    loop.check(question, model, plan, prompts)
    memory = done[-1].after if done else Memory.blank(plan.memory_tokens)
    for index, section in enumerate(find_unread_sections(done), start=len(done)):
        text = document.slice(section.chunk.start, section.chunk.end)
        chunk = replace(section.chunk, index=index, text=text)
        step = await loop.update(question, memory, chunk, model, plan, prompts)
        yield replace(step, flags=(*step.flags, Flag.REREAD), score=None)
        memory = step.after
    yield await loop.answer(question, memory, model, plan, prompts)
