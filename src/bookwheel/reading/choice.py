"""Choose the way of reading when the user names none, and estimate what a way costs.

The way is one call if the document fits the window, else the loop.

A memory of a thousand tokens loses facts, and a model that sees the whole text does not need one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bookwheel.errors import PlanError, PromptError
from bookwheel.reading.estimate import CostEstimate, estimate_cost
from bookwheel.reading.loop import check_question
from bookwheel.reading.ways.single_turn import template_tokens, text_budget
from bookwheel.reading.ways.whole import load_if_fits, load_whole

if TYPE_CHECKING:
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class WayChoice:
    """A way of reading and why it was chosen."""

    way: str
    reason: str


def find_default_way(model: Model) -> str:
    """Return the way that reads in chunks for this model: its own, its attribute `default_way`, or the loop."""
    return getattr(model, "default_way", "") or "sequential"


def choose_way(model: Model, document: Document, plan: Plan, question: str = "") -> WayChoice:
    """Return the way for this document. A model's own way, its attribute `default_way`, outranks the rule.

    Without a question, the longest that the plan allows is assumed.
    """
    if own := getattr(model, "default_way", ""):
        return WayChoice(way=own, reason=f"{model.name} reads best this way")
    if model.window is None:
        return WayChoice(way="sequential", reason=f"the window of {model.name} is unknown")
    window = f"the window of {model.window} tokens"
    try:
        room = text_budget(question or "?", model, plan, "whole", plan.answer_tokens)
    except (PlanError, PromptError):
        return WayChoice(way="sequential", reason=f"{window} has no room for a text beside question and answer")
    room -= 0 if question else plan.question_tokens
    if room > 0 and load_if_fits(document, model, room) is not None:
        return WayChoice(way="whole", reason=f"the document fits {window}")
    return WayChoice(way="sequential", reason=f"the document does not fit {window}")


async def estimate_reading(document: Document, question: str, model: Model, plan: Plan, way: str) -> CostEstimate:
    """Return the cost of a reading. Raise what it would raise before its first call."""
    if way == "auto":
        from bookwheel.reading.ways.auto import choose_parts  # which needs this module

        way = (await choose_parts(document, question, model, plan)).way
    if way == "whole":
        return await asyncio.to_thread(_estimate_whole, document, question, model, plan)
    return await asyncio.to_thread(estimate_cost, document, question, model, plan, way)


def _estimate_whole(document: Document, question: str, model: Model, plan: Plan) -> CostEstimate:
    """Return the cost of reading the document in one call."""
    text = load_whole(document, question, model, plan)
    tokens = model.tokenizer.count(text) + check_question(question, model, plan)
    prompt = tokens + template_tokens(question, model, plan, "whole")
    return CostEstimate(
        chunks=1,
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=plan.answer_tokens,
        least_calls=1,
        least_prompt_tokens=prompt,
        cost=plan.budget.price(prompt, plan.answer_tokens),
        exact=model.tokenizer.exact,
        of_way="whole",
    )
