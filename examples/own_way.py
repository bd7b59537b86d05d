"""Read in a way of your own: an async generator of steps and one answer.

This one reads the last chunk only and then answers. Whatever drives it (budgets, the journal, `resume`) works as it
does for the built-in ways, because a way asks nothing of the model until its next event is asked for.
"""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from bookwheel import Answer, Document, Memory, Model, Plan, Step, read
from bookwheel.reading.loop import answer, update
from bookwheel.reading.prompts import prompts_for
from bookwheel.text.chunks import split


async def last_chunk(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Read the last chunk, then answer."""
    prompts = prompts_for(plan, question)
    memory = done[-1].after if done else Memory.blank(plan.memory_tokens)
    if not done:
        *_, chunk = split(document, model.tokenizer, plan.chunk_tokens)
        step = await update(question, memory, chunk, model, plan, prompts)
        yield step
        memory = step.after
    yield await answer(question, memory, model, plan, prompts)


log = Path(__file__).with_name("lighthouse.md")
reading = read(log, "How many goats and hens are there?", model="scripted", way=last_chunk, chunk_tokens=400)
assert reading.answer

print(f"{reading.answer.text} ({len(reading.steps)} step of the way {reading.way!r})")
