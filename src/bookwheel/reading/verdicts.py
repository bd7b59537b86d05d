"""Let the model that reads judge its own answer: `--verdict model`.

For each sentence that is no quotation the model is shown the best passages and asked whether they say it, where they do
not, whether they say otherwise; and for each sentence whether it answers the question. A model with log-probabilities
answers with one token, any other with a short reply. What it was not asked, or did not answer, is unchecked.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Final

from bookwheel.claims import Fit
from bookwheel.errors import BudgetReached, ModelError
from bookwheel.models.base import Ability, JudgingModel, find_abilities
from bookwheel.plan import Sampling
from bookwheel.verdict.judge import Judgment, examine, weigh, write_claims
from bookwheel.verdict.sources import PlacedParts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.claims import Claim, Evidence
    from bookwheel.models.base import Model
    from bookwheel.reading.prompts import Prompts
    from bookwheel.types import Step
    from bookwheel.verdict.judge import Finding
    from bookwheel.verdict.sources import SupportsParts
    from bookwheel.verdict.weights import WeightTable

THRESHOLD: Final = 0.5
"""The probability from which on a judgement is a yes, where the model was not calibrated."""
JUDGE_FEATURE: Final = "judge"
_REPLY_TOKENS: Final = 8
# Log-odds beyond these say no more.
_MOST_ODDS: Final = 8.0
# A passage that has less of a sentence than this cannot deny it.
_LEAST_DENIED: Final = 0.3
# At this probability nothing speaks for a sentence's answering the question.
_DOUBTFUL: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelJudge:
    """A model that judges sentences beside passages, one question a call."""

    model: Model
    prompts: Prompts
    threshold: float = THRESHOLD
    table: WeightTable | None = None
    """Weighs the judgement beside the measure, as one more feature; without it the judgement decides alone."""

    async def judge(self, finding: Finding, question: str) -> Judgment | None:
        """Return what the model says to a sentence; None where its reply says nothing."""
        supported = 1.0 if finding.copy else await self.ask_support(finding, question)
        if supported is None:
            return None
        section = _join(finding)
        if self.table and not finding.copy:
            supported = self.table.weigh({**finding.features, JUDGE_FEATURE: find_log_odds(supported)})
        is_supported, denied = supported >= (self.table.threshold if self.table else self.threshold), 0.0
        if section and not is_supported and finding.features["in all"] >= _LEAST_DENIED:
            denied = await self.ask("denies", section=section, memory=finding.text, question=question) or 0.0
        fits = await self.ask("responds", section="", memory=finding.text, question=question)
        if fits is None:
            return None
        fit = Fit.YES if fits >= THRESHOLD else Fit.DOUBTFUL if fits >= _DOUBTFUL else Fit.NO
        return Judgment(score=supported, is_supported=is_supported, is_denied=denied >= THRESHOLD, answers=fit)

    async def ask_support(self, finding: Finding, question: str) -> float | None:
        """Return the probability that the passages say a sentence; None where the reply says nothing."""
        if not (section := _join(finding)):
            return 0.0
        return await self.ask("supports", section=section, memory=finding.text, question=question)

    async def ask(self, turn: str, *, section: str, memory: str, question: str) -> float | None:
        """Return the probability of yes to a turn's question; None where the reply is neither yes nor no."""
        yes, no = self.prompts.options
        messages = self.prompts.turn(turn, section=section, memory=memory, question=question)
        if isinstance(self.model, JudgingModel) and Ability.JUDGE in await find_abilities(self.model):
            return (await self.model.judge(messages, self.prompts.options)).probability(yes)
        reply = await self.model.reply(messages, limit=_REPLY_TOKENS, sampling=Sampling(temperature=0.0))
        word = reply.text.strip(" \n\"'*.").casefold()
        return 1.0 if word.startswith(yes.casefold()) else 0.0 if word.startswith(no.casefold()) else None


def find_log_odds(probability: float) -> float:
    """Return the log-odds of a probability, as the feature that a table of weights takes."""
    odds = log(max(probability, 1e-9)) - log(max(1 - probability, 1e-9))
    return max(-_MOST_ODDS, min(_MOST_ODDS, odds))


def _join(finding: Finding) -> str:
    return "\n\n".join(passage.text for passage in finding.passages)


async def judge_by_model(
    answer: str, question: str, steps: Sequence[Step], document: SupportsParts, judge: ModelJudge
) -> tuple[tuple[Evidence, ...], tuple[Claim, ...]]:
    """Return the evidence and the claims of an answer as the model judges them.

    Where a call fails or the budget is used up, the sentences that are left are unchecked.
    """
    parts = PlacedParts(document)
    findings = await asyncio.to_thread(examine, answer, question, parts)
    judged: list[tuple[Finding, Judgment | None]] = []
    has_failed = False
    for finding in findings:
        judgment = None
        if finding.is_absent:
            judgment = weigh(finding)
        elif not has_failed:
            try:
                judgment = await judge.judge(finding, question)
            except (ModelError, BudgetReached):
                has_failed = True
        judged.append((finding, judgment))
    return await asyncio.to_thread(write_claims, judged, steps, parts)
