"""Whole: the whole document in the window, one turn. A document that does not fit is refused.

The room for text in the window, and the turn itself, are also those of every other way that answers in one call.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Sequence
from typing import Final

from bookwheel.errors import DocumentTooLong, PlanError
from bookwheel.models.base import Model, count_messages
from bookwheel.plan import Plan
from bookwheel.reading.estimate import CallCost, CostInputs, DocumentSize
from bookwheel.reading.loop import check_question, conclude, converse
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.structured import count_turn
from bookwheel.reading.ways.spec import WaySpec
from bookwheel.text.chunks import split
from bookwheel.types import Answer, Document, Step

_LEAST_ROOM: Final = 8


async def whole(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Answer from the whole text. Where the window is unknown, the server decides what fits."""
    del done
    text = load_whole(document, question, model, plan)
    yield await ask_once(question, text, model, plan, "whole")


def load_whole(document: Document, question: str, model: Model, plan: Plan) -> str:
    """Return the document's text; DocumentTooLong where it does not fit the window."""
    check_question(question, model, plan)
    limit = sys.maxsize if model.window is None else text_budget(question, model, plan, "whole", plan.answer_tokens)
    text = load_if_fits(document, model, limit)
    if text is None:
        raise DocumentTooLong(
            f"{document.name} has more than the {limit} tokens that the window of {model.window} leaves for it; "
            f"read it in another way (sequential, middle-cut, bm25), or with a model that has a larger window"
        )
    return text


def load_if_fits(document: Document, model: Model, limit: int) -> str | None:
    """Return the document's text if it has at most `limit` tokens; read no further than that."""
    chunks = split(document, model.tokenizer, limit)
    first = next(chunks, None)
    if first is None:
        return ""
    return first.text if next(chunks, None) is None else None


def turn_tokens(question: str, model: Model, plan: Plan, *templates: str) -> int:
    """Return the tokens of the longest of these prompts with nothing filled in."""
    prompts = prompts_for(plan, question)
    turns = [prompts.turn(name, question="") for name in templates]
    return max(count_messages(turn, model.tokenizer) for turn in turns) + model.template_tokens


def text_budget(question: str, model: Model, plan: Plan, template: str, reply: int) -> int:
    """Return how many tokens of text fit beside the question and a reply of that length."""
    tokens = check_question(question, model, plan)
    words = turn_tokens(question, model, plan, template)
    # Where the model's window is unknown, it is the one that the plan's own reading needs.
    window = plan.update_tokens(question=tokens, template=words) if model.window is None else model.window
    left = window - words - tokens - reply - (0 if prompts_for(plan, question).quotes else count_turn(model, plan))
    if left < _LEAST_ROOM:
        raise PlanError(
            f"the window of {window} tokens leaves no room for text beside the question ({tokens} tokens) and a reply "
            f"of {reply}: shorten the question, or lower --answer-tokens"
        )
    return left


async def ask_once(question: str, section: str, model: Model, plan: Plan, template: str) -> Answer:
    """Ask the question about the text in one turn."""
    messages = prompts_for(plan, question).turn(template, question=question, section=section)
    return conclude(await converse(messages, model, plan.answer_tokens, plan.sampling))


def _measure(document: Document, question: str, model: Model, plan: Plan) -> DocumentSize:
    tokens = model.tokenizer.count(load_whole(document, question, model, plan)) + model.tokenizer.count(question)
    tokens += turn_tokens(question, model, plan, "whole")
    return DocumentSize(chunks=1, tokens=tokens, exact=model.tokenizer.exact)


def _list_calls(given: CostInputs) -> list[CallCost]:
    return [CallCost(least=1, most=1, words=0, reply=given.plan.answer_tokens, text=given.size.tokens)]


# Only the question is checked: no chunks are cut, so their size need not fit the window.
WHOLE = WaySpec(run=whole, list_calls=_list_calls, measure=_measure, check=check_question)
