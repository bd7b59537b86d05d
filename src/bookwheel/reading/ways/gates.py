"""Gates: one token decides whether a chunk is read into memory at all.

    s_k = score(question, m_{k-1}, chunk_k)
    m_k = write(question, m_{k-1}, chunk_k)   if s_k >= threshold
                                              or s_k is near it and chunk_k holds a name of question or memory
    m_k = m_{k-1}                             else

    judge         P(yes) to "does the section hold anything that serves the question?", renormalised over yes and no
    likelihood    mean log-probability of the question after the section, minus the same without a section

A judgement costs the prompt and one token. Its prompt begins with the words of the section-first update, so a server
with a prefix cache computes the section once for the judgement and for the writing. The threshold is the plan's;
`bookwheel calibrate` finds the one that keeps a wanted share of the chunks that matter. Names and numbers only ever add
chunks, because two weak signs that agree are worth a call: with judgements of AUC 0.96 this mends more than half of the
questions that a gate loses. A skipped chunk is a step like any other: it has its score and the flag `skipped`, and can
be read later.

In `gated` the model itself judges. In `cascade` a small one does, a companion of the large model: the built-in one, or
another that the user names. Its gate, scorer and threshold, is its own calibration and not the large model's. A chunk
that does not fit the small window is judged in halves, and the better half counts.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from bookwheel.errors import WindowExceeded
from bookwheel.flags import Flag
from bookwheel.models.accompanied import find_companions, find_gate, find_known_gate
from bookwheel.models.base import Ability, Judgement, JudgingModel, Likelihood, require_ability
from bookwheel.plan import Scorer
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.prompts import Prompts
from bookwheel.reading.ways.compose import ComposedWay, add_usage, build_idle_step
from bookwheel.reading.ways.spec import Decision, Gate, ReadingContext, Threshold, Write
from bookwheel.text.matching import parse_words
from bookwheel.types import Chunk, Memory, Step

# A score counts as near the threshold from this share of it on.
_NEAR: Final = 0.5
# A chunk of fewer characters is not cut any more.
_LEAST_CHARACTERS: Final = 200


class ChunkScorer:
    """Scores the chunks of one reading for its question."""

    def __init__(self, scorer: Scorer, model: JudgingModel, prompts: Prompts, question: str) -> None:
        self._scorer = scorer
        self._model = model
        self._prompts = prompts
        self._question = question
        self._alone: float | None = None
        """The question's mean log-probability without a section; asked for once."""

    async def score(self, memory: Memory, chunk: Chunk) -> Decision:
        """Return how much the chunk is worth reading."""
        if self._scorer is Scorer.JUDGE:
            asked = {"question": self._question, "memory": memory.text, "section": chunk.shown}
            return await decide(self._model, self._prompts, "judge", **asked)
        after = await score_question(self._model, self._prompts, self._question, chunk.shown)
        usage = after.usage
        if self._alone is None:
            alone = await score_question(self._model, self._prompts, self._question, "")
            self._alone, usage = alone.mean, usage + alone.usage
        return Decision(score=after.mean - self._alone, usage=usage)


async def score_question(model: JudgingModel, prompts: Prompts, question: str, section: str) -> Likelihood:
    """Return how likely the question is after a section."""
    return await model.likelihood(prompts.turn("about", question="", section=section), question.strip())


async def ask_judgement(
    model: JudgingModel, prompts: Prompts, turn: str, *, question: str, memory: str = "", section: str = ""
) -> Judgement:
    """Ask the model for one of the prompt set's two options: yes or no."""
    return await model.judge(prompts.turn(turn, question=question, memory=memory, section=section), prompts.options)


async def decide(model: JudgingModel, prompts: Prompts, turn: str, **asked: str) -> Decision:
    """Return the probability of yes to a prompt's question, with its cost."""
    judgement = await ask_judgement(model, prompts, turn, **asked)
    return Decision(score=judgement.probability(prompts.options[0]), usage=judgement.usage)


class HalvingScorer(ChunkScorer):
    """A scorer for chunks that were cut for a larger window."""

    async def score(self, memory: Memory, chunk: Chunk) -> Decision:
        """Return the chunk's score, or that of its better half."""
        try:
            return await super().score(memory, chunk)
        except WindowExceeded:
            if len(chunk.text) < _LEAST_CHARACTERS:
                raise
        middle = len(chunk.text) // 2
        # Better after a line, where one ends soon.
        middle = chunk.text.find("\n", middle, middle + len(chunk.text) // 4) + 1 or middle
        halves = [
            await self.score(memory, replace(chunk, text=text)) for text in (chunk.text[:middle], chunk.text[middle:])
        ]
        return Decision(score=max(half.score for half in halves), usage=halves[0].usage + halves[1].usage)


@asynccontextmanager
async def open_gate(context: ReadingContext, write: Write) -> AsyncIterator[Write]:
    """Return a writer that the model itself lets through to `write`."""
    gate = find_gate(context.model, context.plan)
    model = await require_ability(context.model, Ability(gate.scorer), way="gated")
    scorer = ChunkScorer(gate.scorer, model, context.prompts, context.question)
    yield let_through(scorer, gate.threshold, write)


@asynccontextmanager
async def open_cascade(context: ReadingContext, write: Write) -> AsyncIterator[Write]:
    """Open the small model and return a writer that it lets through to `write`."""
    judge = await find_companions(context.model).open_judge()
    try:
        gate = find_gate(judge)
        model = await require_ability(judge, Ability(gate.scorer), way="cascade")
        scorer = HalvingScorer(gate.scorer, model, context.prompts, context.question)
        yield let_through(scorer, gate.threshold, write)
    finally:
        await judge.aclose()


def let_through(scorer: ChunkScorer, threshold: float, write: Write) -> Write:
    """Return a writer that skips the chunks whose score is under the threshold."""

    async def write_if_it_matters(context: ReadingContext, memory: Memory, chunk: Chunk) -> Step:
        verdict = await scorer.score(memory, chunk)
        if verdict.score < threshold and not (
            is_near(verdict.score, threshold) and holds_name(chunk.text, context.question, memory.text)
        ):
            step = build_idle_step(chunk, memory, usage=verdict.usage, flags=(Flag.SKIPPED,))
            return replace(step, score=verdict.score)
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


def _estimate_judgements(given: CostInputs, least: int, most: int) -> CallCost:
    words, memory = given.count_turn("judge"), given.plan.memory_tokens
    return CallCost(least=least, most=most, words=words, reply=1, memory=memory, text=given.size.tokens)


def _estimate_own(given: CostInputs, least: int, most: int) -> CallCost:
    gate = find_known_gate(given.model, given.plan)
    judging = _estimate_judgements(given, least, most)
    if not gate or gate.scorer is not Scorer.LIKELIHOOD:
        return judging
    # The question's tokens are scored as a reply, and once without any section.
    words, reply = given.count_turn("about"), given.question_tokens + 1
    return replace(judging, least=least + 1, most=most + 1, words=words, reply=reply, memory=0)


GATED = ComposedWay(
    name="gated",
    gate=Gate(open=open_gate, threshold=Threshold.MODEL, estimate=_estimate_own),
    turns=("judge", "about"),
)
# The judge is counted as the model itself would be.
CASCADE = ComposedWay(
    name="cascade", gate=Gate(open=open_cascade, threshold=Threshold.JUDGE, estimate=_estimate_judgements)
)
