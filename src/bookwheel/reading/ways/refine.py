"""Refine: an answer from the first chunk, rewritten with every further one, as LangChain and LlamaIndex do it.

    a_1 = model(question, chunk_1)
    a_k = model(question, a_{k-1}, chunk_k)      the last one is the answer

What is carried along is an answer, not a memory: there is no last turn without the document. Replies pass the same
guards as in the loop and have the memory's token limit, so that what is compared is the way of reading.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.guards import next_memory
from bookwheel.reading.loop import check_question, conclude, converse
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.single_turn import ask_once, template_tokens
from bookwheel.reading.ways.spec import WaySpec
from bookwheel.text.chunks import split
from bookwheel.types import Answer, Memory, Step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.prompts import Prompts
    from bookwheel.types import Chunk, Document


async def refine(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Yield a step for every chunk but the last, whose reply is the answer."""
    first = find_first_template(prompts_for(plan, question))
    template = template_tokens(question, model, plan, first, "whole", "refine")
    plan.check(model.window, question=check_question(question, model, plan), template=template)
    chunks = split(
        document, model.tokenizer, plan.chunk_tokens, start=done[-1].chunk.end if done else 0, index=len(done)
    )
    chunk = next(chunks, None)
    if chunk is None:
        yield await ask_once(question, "", model, plan, "whole")
        return
    before = done[-1].after if done else Memory.blank(plan.memory_tokens)
    for following in chunks:
        step = await _refine_step(question, before, chunk, model, plan, first)
        yield step
        before, chunk = step.after, following
    # The only chunk of a document is the whole of it.
    yield _to_answer(await _refine_step(question, before, chunk, model, plan, "whole"))


def find_first_template(prompts: Prompts) -> str:
    """Return the template for the first of several chunks; a set without one of its own introduces it as any text."""
    return "begin" if "begin" in prompts.baselines else "whole"


async def _refine_step(question: str, before: Memory, chunk: Chunk, model: Model, plan: Plan, first: str) -> Step:
    """Rewrite the answer so far with one chunk more."""
    prompts = prompts_for(plan, question)
    template = "refine" if chunk.index else first
    messages = prompts.baseline(template, question=question, memory=before.text, section=chunk.text)
    conversation = await converse(messages, model, plan.memory_tokens, plan.sampling)
    after, flags = next_memory(before, conversation.reply, model.tokenizer, prompts.unchanged)
    return Step(chunk=chunk, before=before, after=after, conversation=conversation, flags=flags)


def _to_answer(step: Step) -> Answer:
    """Return the last step as the answer; a step that changed nothing gives the answer so far."""
    conversation = step.conversation
    answer = conclude(replace(conversation, reply=replace(conversation.reply, text=step.after.text)))
    return replace(answer, conversation=conversation, flags=tuple(dict.fromkeys((*step.flags, *answer.flags))))


def _list_calls(given: CostInputs) -> list[CallCost]:
    memory, most, text = given.plan.memory_tokens, max(1, given.size.chunks), given.size.tokens
    words = max(given.count_baseline(name) for name in ("refine", find_first_template(given.prompts), "whole"))
    return [CallCost(least=most, most=most, words=words, reply=memory, memory=memory, least_text=text, most_text=text)]


REFINE = WaySpec(run=refine, list_calls=_list_calls, is_serial=True)
