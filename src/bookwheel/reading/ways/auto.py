"""Auto: choose the way by model and document, and say what was chosen and why.

The choice is the first step of the reading: an empty span at the document's beginning, whose reply is the way's name
and the reason. It costs no call. A resumed reading goes on with what was chosen then.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.models.base import Ability, find_abilities
from bookwheel.reading.calibration import find_gate
from bookwheel.reading.loop import check
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.early_exit import asks_for_all
from bookwheel.reading.ways.single_turn import text_budget
from bookwheel.reading.ways.whole import load_if_fits
from bookwheel.types import Chunk, Conversation, Memory, Reply, Step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Answer, Document

# An English token has about four characters; the choice needs no better count.
_CHARACTERS_PER_TOKEN: Final = 4
# Up to here judging every chunk costs about what it saves.
_FEW_CHUNKS: Final = 4


async def choose_way(document: Document, question: str, model: Model, plan: Plan) -> tuple[str, str]:
    """Return the name of the best way for this model, document and question, and the reason."""
    prompts = prompts_for(plan, question)
    if model.window is not None:
        limit = min(text_budget(question, model, plan, "whole", plan.answer_tokens), model.window // 2)
        if load_if_fits(document, model, limit) is not None:
            return "whole", f"the document fits half of the window of {model.window} tokens, so one call reads it"
    chunks = None if document.length is None else document.length // (_CHARACTERS_PER_TOKEN * plan.chunk_tokens) + 1
    if chunks is not None and chunks <= _FEW_CHUNKS:
        return "sequential", f"about {chunks} chunks are too few to gain by judging them first"
    if prompts.quotes:
        return "sequential", f"the prompts {plan.prompts} ask for quotes, which are short to write"
    return await _choose_parts(question, model, plan)


async def _choose_parts(question: str, model: Model, plan: Plan) -> tuple[str, str]:
    """Return the parts that save the most writing with what this model offers."""
    if Ability.JUDGE not in await find_abilities(model):
        return (
            "edits",
            f"{model.name} gives no log-probabilities to judge by, but it can write changes only",
        )
    if not _has_gate(model, plan):
        return (
            "edits",
            f"{model.name} is not calibrated; with `bookwheel calibrate` it could skip chunks",
        )
    if asks_for_all(question):
        return "gated+edits", f"{model.name} can judge before it writes; the question is about the whole document"
    return "gated+edits+early-exit", f"{model.name} can judge before it writes, and can tell when it has the answer"


def _has_gate(model: Model, plan: Plan) -> bool:
    try:
        find_gate(model, plan)
    except InputError:
        return False
    return True


async def auto(
    document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
) -> AsyncGenerator[Step | Answer]:
    """Yield the choice as a step, then what the chosen way yields."""
    from bookwheel.reading.ways.registry import load_way

    if done:
        way = done[0].conversation.reply.text.partition(":")[0]
    else:
        check(question, model, plan, prompts_for(plan, question))
        way, reason = await choose_way(document, question, model, plan)
        blank = Memory.blank(plan.memory_tokens)
        said = Conversation(messages=(), reply=Reply(text=f"{way}: {reason}"))
        place = Chunk(index=0, start=0, end=0, text="", tokens=0)
        yield Step(chunk=place, before=blank, after=blank, conversation=said)
    events = load_way(way)(document, question, model, plan, [_shift(step, -1) for step in done[1:]])
    async with aclosing(events):
        async for event in events:
            yield _shift(event, 1) if isinstance(event, Step) else event


def _shift(step: Step, by: int) -> Step:
    """Return the step with its index moved: the choice itself is step 0."""
    return replace(step, chunk=replace(step.chunk, index=step.chunk.index + by))
