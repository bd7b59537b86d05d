"""Read the sections that were not taken in again, past the newest memory, and answer anew.

It has the signature of a way, and continues the steps of any way that has one memory: each section that the model
returned nothing for gets one more step at the end, flagged `reread`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bookwheel.reading import loop
from bookwheel.reading.prompts import prompts_for
from bookwheel.types import Flag, Memory, find_gaps

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Answer, Document, Step


async def reread(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Yield one step for each section that was not taken in, then the answer."""
    prompts = prompts_for(plan, question)
    loop.check(question, model, plan, prompts)
    memory = done[-1].after if done else Memory.blank(plan.memory_tokens)
    # After a restart, sections that stayed empty are read once more: their newest step is still flagged.
    for index, gap in enumerate(find_gaps(done), start=len(done)):
        chunk = replace(gap.chunk, index=index, text=document.slice(gap.chunk.start, gap.chunk.end))
        step = await loop.update(question, memory, chunk, model, plan, prompts)
        yield replace(step, flags=(*step.flags, Flag.REREAD))
        memory = step.after
    yield await loop.answer(question, memory, model, plan, prompts)
