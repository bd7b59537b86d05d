"""Auto: choose the way by model and document, and say what was chosen and why.

The choice is the first step of the reading: an empty span at the document's beginning, whose reply is the way's name
and the reason. It costs no call. A resumed reading goes on with what was chosen then.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from bookwheel.errors import PlanError, PromptError
from bookwheel.models.accompanied import find_known_gate
from bookwheel.models.base import Ability, Model, find_abilities, unwrap
from bookwheel.plan import Plan
from bookwheel.reading.loop import check
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.compose import build_idle_step
from bookwheel.reading.ways.spec import WaySpec
from bookwheel.reading.ways.whole import load_if_fits, text_budget
from bookwheel.text.questions import asks_for_all
from bookwheel.types import Answer, Chunk, Document, Memory, Step, WayChoice

# An English token has about four characters; the choice needs no better count.
_CHARACTERS_PER_TOKEN: Final = 4
# Up to here judging every chunk costs about what it saves.
_FEW_CHUNKS: Final = 4


async def choose_parts(document: Document, question: str, model: Model, plan: Plan) -> WayChoice:
    """Return the best way for this model, document and question."""
    choice = choose_way(model, document, plan, question)
    if choice.way != "sequential":
        return choice
    chunks = None if document.length is None else document.length // (_CHARACTERS_PER_TOKEN * plan.chunk_tokens) + 1
    if chunks is not None and chunks <= _FEW_CHUNKS:
        way, reason = "sequential", f"about {chunks} chunks are too few to gain by judging them first"
    elif prompts_for(plan, question).quotes:
        way, reason = "sequential", f"the prompts {plan.prompts} ask for quotes, which are short to write"
    else:
        way, reason = _choose_by_abilities(await find_abilities(model), question, model, plan)
    return WayChoice(way=way, reason=reason)


def _choose_by_abilities(abilities: frozenset[Ability], question: str, model: Model, plan: Plan) -> tuple[str, str]:
    """Return the way that uses most of what the model offers, and why."""
    gate = find_known_gate(model, plan)
    if Ability.JUDGE in abilities and not asks_for_all(question):
        # Needs no threshold: what the order puts last is read too, unless the answer is borne out before.
        return "ranked+edits", f"{model.name} can judge when it has the answer, so the likeliest chunks come first"
    if gate and Ability(gate.scorer) in abilities:
        return "gated+edits", f"{model.name} can judge which chunks matter, and the question needs all that do"
    if gate:
        return "edits", f"{model.name} is calibrated for {gate.scorer} and does not offer it, but it can write changes"
    if abilities:
        return "edits", f"{model.name} is not calibrated; with `bookwheel calibrate` it could skip chunks"
    return "edits", f"{model.name} gives no log-probabilities, but it can write changes only"


async def auto(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Yield the choice as a step, then what the chosen way yields."""
    from bookwheel.reading.ways.registry import load_way

    choice = done[0].choice if done else None
    if choice is None:
        check(question, model, plan, prompts_for(plan, question))
        choice = await choose_parts(document, question, model, plan)
        blank = Memory.blank(plan.memory_tokens)
        step = build_idle_step(Chunk.empty(), blank, note=f"{choice.way}: {choice.reason}")
        yield replace(step, choice=choice)
    # The choice itself is step 0.
    own = [step.with_index(step.chunk.index - 1) for step in done[1:]]
    events = load_way(choice.way)(document, question, model, plan, own)
    async with aclosing(events):
        async for event in events:
            yield event.with_index(event.chunk.index + 1) if isinstance(event, Step) else event


AUTO = WaySpec(run=auto, ranks=True, choose=choose_parts)


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
