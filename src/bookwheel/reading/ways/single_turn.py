"""Shared by the ways that answer in one turn: the room for text in the window, and the turn itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookwheel.errors import PlanError
from bookwheel.reading.estimate import CallCost
from bookwheel.reading.loop import check_question, conclude, converse
from bookwheel.reading.prompts import prompts_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.estimate import CostInputs
    from bookwheel.types import Answer, Chunk

_GAP = "\n[…]\n"
_LEAST_ROOM = 8


def effective_window(question: str, model: Model, plan: Plan, *templates: str) -> int:
    """Return the model's window, or the one that the plan's own reading needs where it is unknown."""
    if model.window is not None:
        return model.window
    template = template_tokens(question, model, plan, *templates)
    return plan.update_tokens(question=model.tokenizer.count(question), template=template)


def template_tokens(question: str, model: Model, plan: Plan, *templates: str) -> int:
    """Return the tokens of the longest of these prompts with nothing filled in."""
    prompts = prompts_for(plan, question)
    turns = [prompts.baseline(name, question="", memory="", section="") for name in templates]
    words = max(sum(model.tokenizer.count(message.content) for message in turn) for turn in turns)
    return words + model.template_tokens


def text_budget(question: str, model: Model, plan: Plan, template: str, reply: int) -> int:
    """Return how many tokens of text fit beside the question and a reply of that length."""
    tokens = check_question(question, model, plan)
    window = effective_window(question, model, plan, template)
    left = window - template_tokens(question, model, plan, template) - tokens - reply
    if left < _LEAST_ROOM:
        raise PlanError(
            f"the window of {window} tokens leaves no room for text beside the question ({tokens} tokens) and a reply "
            f"of {reply}: shorten the question, or lower --answer-tokens"
        )
    return left


async def ask_once(question: str, section: str, model: Model, plan: Plan, template: str) -> Answer:
    """Ask the question about the text in one turn."""
    messages = prompts_for(plan, question).baseline(template, question=question, section=section)
    return conclude(await converse(messages, model, plan.answer_tokens, plan.sampling))


def join_chunks(chunks: Iterable[Chunk]) -> str:
    """Join chunks in the document's order, with a mark where text between two of them is left out."""
    text, position = "", None
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        if position is not None and chunk.start != position:
            text += _GAP
        text += chunk.text
        position = chunk.end
    return text


def count_one_call(template: str, *, has_text: bool = True) -> Callable[[CostInputs], list[CallCost]]:
    """Return a function that lists the one call of a way whose prompt holds what fits of the document."""

    def list_calls(given: CostInputs) -> list[CallCost]:
        reply, least, most = given.plan.answer_tokens, 0, 0
        if has_text:
            most = min(given.size.tokens, text_budget(given.question, given.model, given.plan, template, reply))
            # What is chosen of a longer document ends where a passage does.
            least = most if most == given.size.tokens else most // 2
        words = given.count_baseline(template)
        return [CallCost(least=1, most=1, words=words, reply=reply, least_text=least, most_text=most)]

    return list_calls
