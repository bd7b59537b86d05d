"""A way of reading that stops as soon as the memory names a word of the question's: `--way until-done`."""

from bookwheel import Answer, Memory, Step
from bookwheel.reading.loop import answer, read
from bookwheel.reading.prompts import prompts_for


async def until_done(document, question, model, plan, done=()):
    """Read like the sequential way, and answer early once a memory holds every long word of the question."""
    wanted = {word.strip("?.,").lower() for word in question.split() if len(word) > 6}
    memory = done[-1].after if done else Memory.blank(plan.memory_tokens)
    async for event in read(document, question, model, plan, done):
        if isinstance(event, Answer):
            yield event
            return
        assert isinstance(event, Step)
        yield event
        memory = event.after
        if all(word in memory.text.lower() for word in wanted):
            break
    yield await answer(question, memory, model, plan, prompts_for(plan, question))
