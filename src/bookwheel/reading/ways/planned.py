"""Planned: before the first chunk, the model writes down the smaller questions that the question consists of.

    q'  = question + the questions that its answer needs
    m_k = write(q', m_{k-1}, chunk_k)

A fact of the second hop is then worth noting before the first hop is known. The first step has an empty span at the
document's beginning and the smaller questions for its memory, so they can be seen, and changed by hand, like a memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.guards import next_memory
from bookwheel.reading.loop import converse
from bookwheel.reading.ways.compose import ComposedWay, Preface, ReadingContext
from bookwheel.types import Chunk, Memory, Step

if TYPE_CHECKING:
    from bookwheel.plan import Plan

_MOST_QUESTIONS: Final = 4
_MOST_TOKENS: Final = 160


def reply_limit(plan: Plan) -> int:
    """Return the tokens that the smaller questions may have together."""
    return min(_MOST_TOKENS, plan.answer_tokens)


async def write_plan(context: ReadingContext) -> Step:
    """Ask for the smaller questions."""
    messages = context.prompts.turn("plan", question=context.question)
    conversation = await converse(messages, context.model, reply_limit(context.plan), context.plan.sampling)
    blank = Memory.blank(context.plan.memory_tokens)
    plan, flags = next_memory(blank, conversation.reply, context.model.tokenizer, context.prompts.unchanged)
    text = "\n".join([line.strip() for line in plan.text.splitlines() if line.strip()][:_MOST_QUESTIONS])
    after = replace(blank, text=text, tokens=context.model.tokenizer.count(text))
    place = Chunk(index=0, start=0, end=0, text="", tokens=0)
    return Step(chunk=place, before=blank, after=after, conversation=conversation, flags=flags)


def ask_all(context: ReadingContext, step: Step) -> ReadingContext:
    """Return the context with the smaller questions beside the question, as many as there is room for."""
    model, plan, question = context.model, context.plan, context.question.strip()
    room = plan.question_tokens
    if model.window is not None:
        room = min(room, model.window - plan.update_tokens(question=0, template=context.template))
    lines = [question]
    for line in step.after.text.splitlines():
        if model.tokenizer.count("\n".join((*lines, line))) > room:
            break
        lines.append(line)
    return replace(context, question="\n".join(lines))


def _estimate(given: CostInputs) -> CallCost:
    return CallCost(least=1, most=1, words=given.count_turn("plan"), reply=reply_limit(given.plan))


PLANNED = ComposedWay(
    name="planned", preface=Preface(write=write_plan, apply=ask_all, estimate=_estimate), turns=("plan",)
)
