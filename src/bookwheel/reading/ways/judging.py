"""Judgements: one number about a chunk or a memory, from a model that writes nothing.

    judge         P(yes) to "does the section hold anything that serves the question?", renormalised over yes and no
    likelihood    mean log-probability of the question after the section, minus the same without a section

A judgement costs the prompt and one token. Its prompt begins with the words of the section-first update, so a server
with a prefix cache computes the section once for the judgement and for the writing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bookwheel.plan import Scorer
from bookwheel.reading.ways.compose import Decision

if TYPE_CHECKING:
    from bookwheel.models.base import Judgement, JudgingModel, Likelihood
    from bookwheel.reading.prompts import Prompts
    from bookwheel.types import Chunk, Memory


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
            asked = {"question": self._question, "memory": memory.text, "section": chunk.text}
            return _decide(await ask_judgement(self._model, self._prompts, "judge", **asked), self._prompts)
        after = await score_question(self._model, self._prompts, self._question, chunk.text)
        usage = after.usage
        if self._alone is None:
            alone = await score_question(self._model, self._prompts, self._question, "")
            self._alone, usage = alone.mean, usage + alone.usage
        return Decision(score=after.mean - self._alone, usage=usage)


async def score_question(model: JudgingModel, prompts: Prompts, question: str, section: str) -> Likelihood:
    """Return how likely the question is after a section."""
    return await model.likelihood(prompts.turn("about", question="", section=section), question.strip())


async def judge_memory(model: JudgingModel, prompts: Prompts, question: str, memory: Memory) -> Decision:
    """Return the probability that the memory alone answers the question."""
    return _decide(await ask_judgement(model, prompts, "suffices", question=question, memory=memory.text), prompts)


async def ask_judgement(
    model: JudgingModel, prompts: Prompts, turn: str, *, question: str, memory: str = "", section: str = ""
) -> Judgement:
    """Ask the model for one of the prompt set's two options: yes or no."""
    return await model.judge(prompts.turn(turn, question=question, memory=memory, section=section), prompts.options)


def _decide(judgement: Judgement, prompts: Prompts) -> Decision:
    return Decision(score=judgement.probability(prompts.options[0]), usage=judgement.usage)
