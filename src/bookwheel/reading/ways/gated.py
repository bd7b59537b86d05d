"""Gated: one token decides whether a chunk is read into memory at all.

    s_k = score(question, m_{k-1}, chunk_k)
    m_k = write(question, m_{k-1}, chunk_k)   if s_k >= threshold
                                              or s_k is near it and chunk_k holds a name of question or memory
    m_k = m_{k-1}                             else

The threshold is the plan's; `bookwheel calibrate` finds the one that keeps a wanted share of the chunks that matter.
Names and numbers only ever add chunks, because two weak signs that agree are worth a call: with judgements of AUC 0.96
this mends more than half of the questions that a gate loses.
A skipped chunk is a step like any other: it has its score and the flag `skipped`, and can be read later.
"""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.models.base import Ability, require_ability
from bookwheel.models.companions import find_companions
from bookwheel.plan import Scorer
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.ways.compose import ComposedWay, Decision, Gate, ReadingContext, Write, add_usage
from bookwheel.reading.ways.judging import ChunkScorer
from bookwheel.reading.ways.spec import Threshold
from bookwheel.text.matching import parse_words
from bookwheel.types import Chunk, Conversation, Flag, Memory, Reply, Step

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bookwheel.models.base import Model
    from bookwheel.plan import GatePlan, Plan

# A score counts as near the threshold from this share of it on.
_NEAR: Final = 0.5


def find_known_gate(model: Model, plan: Plan) -> GatePlan | None:
    """Return the gate of the plan, of the model's own plan or of its calibration; None where there is none."""
    return plan.gate or model.plan.gate or find_companions(model).find_gate(model.name)


def find_gate(model: Model, plan: Plan | None = None) -> GatePlan:
    """Return the gate of the plan, of the model's own plan or of its calibration; InputError says how to get one."""
    gate = find_known_gate(model, plan or model.plan)
    if gate is None:
        raise InputError(
            f"no threshold is known for the judgements of {model.name}: run `bookwheel calibrate --model {model.name}` "
            f"once, or set one in the plan: gate.threshold (--gate-threshold), from 0, which skips nothing, to 1"
        )
    return gate


@asynccontextmanager
async def open_gate(context: ReadingContext, write: Write) -> AsyncIterator[Write]:
    """Return a writer that the model itself lets through to `write`."""
    gate = find_gate(context.model, context.plan)
    model = await require_ability(context.model, Ability(gate.scorer), way="gated")
    scorer = ChunkScorer(gate.scorer, model, context.prompts, context.question)
    yield let_through(scorer, gate.threshold, write)


def let_through(scorer: ChunkScorer, threshold: float, write: Write) -> Write:
    """Return a writer that skips the chunks whose score is under the threshold."""

    async def write_if_it_matters(context: ReadingContext, memory: Memory, chunk: Chunk) -> Step:
        verdict = await scorer.score(memory, chunk)
        if verdict.score < threshold and not (
            is_near(verdict.score, threshold) and holds_name(chunk.text, context.question, memory.text)
        ):
            return skip_chunk(memory, chunk, verdict)
        return replace(add_usage(await write(context, memory, chunk), verdict.usage), score=verdict.score)

    return write_if_it_matters


def is_near(score: float, threshold: float) -> bool:
    """Return whether a score under the threshold misses it by a little."""
    return score >= threshold * (_NEAR if threshold > 0 else 1 / _NEAR)


def holds_name(text: str, question: str, memory: str) -> bool:
    """Return whether a text holds a name or number of the question or the memory.

    >>> holds_name("Quill left in 1911.", "Where does Ada Quill live?", ""), holds_name("Rain fell.", "Who is Ada?", "")
    (True, False)
    """
    lines = (question, *memory.splitlines())
    names = {word.text.casefold() for line in lines for word in parse_words(line) if word.is_exact}
    if not names:
        return False
    pattern = "|".join(re.escape(name) for name in sorted(names))
    return re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text.casefold()) is not None


def skip_chunk(memory: Memory, chunk: Chunk, verdict: Decision) -> Step:
    """Return the step of a chunk that was judged and not read."""
    conversation = Conversation(messages=(), reply=Reply(text="", usage=verdict.usage))
    return Step(
        chunk=chunk, before=memory, after=memory, conversation=conversation, flags=(Flag.SKIPPED,), score=verdict.score
    )


def estimate_judgements(given: CostInputs, least: int, most: int) -> CallCost:
    """Return the calls that ask whether a chunk matters."""
    words, memory = given.count_turn("judge"), given.plan.memory_tokens
    least_text, text = given.share_tokens(least), given.size.tokens
    return CallCost(least=least, most=most, words=words, reply=1, memory=memory, least_text=least_text, most_text=text)


def _estimate(given: CostInputs, least: int, most: int) -> CallCost:
    gate = find_known_gate(given.model, given.plan)
    judging = estimate_judgements(given, least, most)
    if not gate or gate.scorer is not Scorer.LIKELIHOOD:
        return judging
    # The question's tokens are scored as a reply, and once without any section.
    words, reply = given.count_turn("about"), given.question_tokens + 1
    return replace(judging, least=least + 1, most=most + 1, words=words, reply=reply, memory=0)


GATED = ComposedWay(
    name="gated",
    gate=Gate(open=open_gate, threshold=Threshold.MODEL, estimate=_estimate),
    turns=("judge", "about"),
)
