"""What the ways that answer in one turn share: how much text the window has room for, and the turn itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookwheel.errors import PlanError
from bookwheel.reading.loop import check_question, conclude, converse
from bookwheel.reading.prompts import prompts_for

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Answer, Chunk

_GAP = "\n[…]\n"
_LEAST_ROOM = 8


def window_of(question: str, model: Model, plan: Plan, *templates: str) -> int:
    """The model's window; where it is unknown, the one that the plan's own reading needs."""
    if model.window is not None:
        return model.window
    template = template_tokens(question, model, plan, *templates)
    return plan.update_tokens(question=model.tokenizer.count(question), template=template)


def template_tokens(question: str, model: Model, plan: Plan, *templates: str) -> int:
    """What the costliest of these prompts costs with nothing filled in."""
    prompts = prompts_for(plan, question)
    turns = [prompts.baseline(name, question="", memory="", section="") for name in templates]
    words = max(sum(model.tokenizer.count(message.content) for message in turn) for turn in turns)
    return words + model.template_tokens


def room(question: str, model: Model, plan: Plan, template: str, reply: int) -> int:
    """How many tokens of text a prompt may show beside the question, so that a reply of that length still fits."""
    tokens = check_question(question, model, plan)
    window = window_of(question, model, plan, template)
    left = window - template_tokens(question, model, plan, template) - tokens - reply
    if left < _LEAST_ROOM:
        raise PlanError(
            f"the window of {window} tokens leaves no room for text beside the question ({tokens} tokens) and a reply "
            f"of {reply}: shorten the question, or lower --answer-tokens"
        )
    return left


async def ask_once(question: str, section: str, model: Model, plan: Plan, template: str) -> Answer:
    """One turn: question and text in, the answer out."""
    messages = prompts_for(plan, question).baseline(template, question=question, section=section)
    return conclude(await converse(messages, model, plan.answer_tokens, plan.sampling))


def join_chunks(chunks: Iterable[Chunk]) -> str:
    """Their text in the document's order, with a mark wherever something between two of them is left out."""
    text, position = "", None
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        if position is not None and chunk.start != position:
            text += _GAP
        text += chunk.text
        position = chunk.end
    return text
