"""Choose the way of reading when the user names none.

The way is one call if the document fits the window, else the loop.

A memory of a thousand tokens loses facts, and a model that sees the whole text does not need one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookwheel.errors import PlanError, PromptError
from bookwheel.models.base import Model, unwrap
from bookwheel.reading.ways.whole import load_if_fits, text_budget
from bookwheel.types import WayChoice

if TYPE_CHECKING:
    from bookwheel.plan import Plan
    from bookwheel.types import Document


def find_default_way(model: Model) -> str:
    """Return the way that reads in chunks for this model: its own, its attribute `default_way`, or the loop."""
    return _find_own_way(model) or "sequential"


def _find_own_way(model: Model) -> str:
    # Of the model itself: what a server wraps around it has no way of its own.
    return getattr(unwrap(model), "default_way", "")


def choose_way(model: Model, document: Document, plan: Plan, question: str = "") -> WayChoice:
    """Return the way for this document. A model's own way, its attribute `default_way`, outranks the rule.

    Without a question, the longest that the plan allows is assumed.
    """
    if own := _find_own_way(model):
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
