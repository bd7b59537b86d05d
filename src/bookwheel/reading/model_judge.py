"""A model as the judge of an answer, sentence by sentence.

For each sentence that is no quotation it is shown the best passages and asked whether they say it, where they do not,
whether they say otherwise and which one; and for each sentence whether it answers the question. A model with
log-probabilities answers with one token, any other with a short reply. What it was not asked, or did not answer, is
unchecked.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bookwheel.claims import Claim, Evidence, Fit
from bookwheel.errors import BudgetReached, ModelError
from bookwheel.models.base import Ability, JudgingModel, Model, find_abilities, require_ability
from bookwheel.plan import Plan, Sampling
from bookwheel.reading.guards import clean
from bookwheel.reading.judge_view import MOST_SHOWN, JudgeView
from bookwheel.reading.prompts import Prompts, prompts_for
from bookwheel.text.questions import COUNTS, SUMS
from bookwheel.types import Message, Step
from bookwheel.verdict.copies import find_quotes, is_findable
from bookwheel.verdict.judge import Finding, Judgment, examine, is_foreign, weigh, write_claims
from bookwheel.verdict.parsing import parse
from bookwheel.verdict.search import LocatedSentence
from bookwheel.verdict.sources import EvidenceList, PlacedParts, SupportsParts

THRESHOLD: Final = 0.5
"""The probability from which on a judgement is a yes, where the model was not calibrated."""
REPLY_TOKENS: Final = 8
QUOTE_TOKENS: Final = 120
"""Of a reply that copies the passage which says otherwise."""
MOST_JUDGED: Final = 32
"""Sentences of an answer that it is asked about; those behind them are measured. An answer can run on for ever."""
# A passage that has less of a sentence than this cannot deny it.
_LEAST_DENIED: Final = 0.3
# At this probability nothing speaks for a sentence's answering the question.
_DOUBTFUL: Final = 0.25
_TOKEN_BYTES: Final = 3
# Lines that a model copies for one sentence.
_MOST_QUOTES: Final = 4
# Who is asked in English about another language may reply in that one.
_YES: Final = r"(?:yes|ja|oui|sí|si)(?![^\W\d_])|是|对|はい"
_NO: Final = r"(?:no|nein|non)(?![^\W\d_])|否|不|いいえ"
_BEFORE: Final = {"en": "said just before", "zh": "前一句"}


async def judge_by_model(
    answer: str,
    question: str,
    steps: Sequence[Step],
    document: SupportsParts,
    judge: ModelJudge,
    *,
    is_strict: bool = False,
) -> tuple[tuple[Evidence, ...], tuple[Claim, ...]]:
    """Return the evidence and the claims of an answer as the model judges them.

    Where a call fails or the budget is used up, the sentences that are left are unchecked; `is_strict` raises it.
    """
    parts = PlacedParts(document)
    findings = await asyncio.to_thread(examine, answer, question, parts)
    origins = await asyncio.to_thread(EvidenceList(steps, parts).list_origins, f"{answer} {question}")
    view = await asyncio.to_thread(JudgeView, document, judge.room)
    judged: list[tuple[Finding, Judgment | None]] = []
    has_failed, asked = False, 0
    for finding in findings:
        judgment = None
        # Passages have no numbers of lines: who names a wrong one is known by looking it up.
        if finding.is_absent or finding.is_misplaced or (asked >= MOST_JUDGED and not has_failed):
            judgment = weigh(finding)
        elif not has_failed:
            asked += 1
            try:
                section = await asyncio.to_thread(view.show, finding, question, origins)
                judgment = await judge.judge(finding, question, section, parts)
                has_said = judgment and (judgment.is_supported or judgment.is_denied)
                # Who was shown the part of a document that has none of its words cannot tell.
                if not (has_said or view.whole) and await asyncio.to_thread(is_foreign, finding, parts):
                    judgment = None
                if judgment and judgment.answers is Fit.YES and is_worked_out(finding, question, judgment):
                    judgment = replace(judgment, answers=Fit.DOUBTFUL)
            except (ModelError, BudgetReached):
                if is_strict:
                    raise
                has_failed = True
        judged.append((finding, judgment))
    return await asyncio.to_thread(write_claims, judged, steps, parts)


def is_worked_out(finding: Finding, question: str, judgment: Judgment) -> bool:
    """Return whether a count or a sum is asked for, and what bears the answer out has no such figure.

    Whoever counted rows may have left one out, and some of the rows bear out any number.
    """
    if not (COUNTS.search(question) or SUMS.search(question)):
        return False
    shown = judgment.bearing or finding.passages
    known = {*parse(question).keys}.union(*(parse(passage.text).keys for passage in shown))
    return any(number.key not in known for number in parse(finding.words).numbers)


def make_judge(question: str, model: Model, plan: Plan, threshold: float = THRESHOLD) -> ModelJudge:
    """Return the model as a judge in the language of a question."""
    # As much as a prompt has of section and memory, which this one has none of.
    room = min(MOST_SHOWN, _TOKEN_BYTES * (plan.chunk_tokens + plan.memory_tokens))
    return ModelJudge(model=model, prompts=prompts_for(plan, question), threshold=threshold, room=room)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelJudge:
    """A model that judges sentences beside passages, one question a call, and decides alone."""

    model: Model
    prompts: Prompts
    threshold: float = THRESHOLD
    room: int = MOST_SHOWN
    """Bytes of passages beside a sentence."""

    async def judge(self, finding: Finding, question: str, section: str, parts: PlacedParts) -> Judgment | None:
        """Return what the model says to a sentence beside passages of a document; None where its reply says nothing."""
        text = self.write(finding)
        supported, quotes = (1.0, "") if finding.copy else await self.ask_support(text, question, section)
        if supported is None:
            return None
        is_supported, denied = supported >= self.threshold, 0.0
        # What is copied word for word may be put right elsewhere.
        is_open = finding.copy or (not is_supported and finding.features["in all"] >= _LEAST_DENIED)
        if section and is_open:
            denied = await self.ask("denies", section, text, question) or 0.0
        fits = await self.ask("responds", "", text, question)
        if fits is None:
            return None
        fit = Fit.YES if fits >= THRESHOLD else Fit.DOUBTFUL if fits >= _DOUBTFUL else Fit.NO
        # A reply in words is as sure as it sounds, and no probability.
        score = supported if 0 < supported < 1 else None
        is_denied, judge = denied >= THRESHOLD, self.model.name
        copied = [line for line in quotes.splitlines() if is_findable(line)] if is_supported else []
        bearing = await _locate(copied[:_MOST_QUOTES], parts)
        against = await self._quote_against(text, question, section) if is_denied else ""
        return Judgment(
            score=score,
            is_supported=is_supported,
            is_denied=is_denied,
            answers=fit,
            judge=judge,
            bearing=bearing,
            is_misread=bool(copied) and not bearing,
            against=tuple(one for one in await _locate([against], parts) if one != finding.copy),
        )

    def write(self, finding: Finding) -> str:
        """Return the sentence as it is shown, behind the one before it, which may say who "she" is."""
        before = f"[{_BEFORE.get(self.prompts.language, _BEFORE['en'])}: {finding.before}] " if finding.before else ""
        return f"{before}{finding.text}"

    async def ask_support(self, text: str, question: str, section: str) -> tuple[float | None, str]:
        """Return the probability that the passages say a sentence, and the lines that a reply in words copies for it.

        None where the reply says nothing.
        """
        if not section:
            return 0.0, ""
        messages = self.prompts.turn("supports", section=section, memory=text, question=question)
        if await self._tells_odds():
            return await self._weigh(messages), ""
        return await self._say(messages, QUOTE_TOKENS)

    async def _quote_against(self, text: str, question: str, section: str) -> str:
        """Return the model's copy of the passage that says otherwise than a sentence."""
        messages = self.prompts.turn("otherwise", section=section, memory=text, question=question)
        reply = await self.model.reply(messages, limit=QUOTE_TOKENS, sampling=Sampling(temperature=0.0))
        return clean(reply.text)[0]

    async def ask(self, turn: str, section: str, answer: str, question: str) -> float | None:
        """Return the probability of yes to a turn's question; None where the reply is neither yes nor no."""
        messages = self.prompts.turn(turn, section=section, memory=answer, question=question)
        if await self._tells_odds():
            return await self._weigh(messages)
        return (await self._say(messages, REPLY_TOKENS))[0]

    async def _tells_odds(self) -> bool:
        return isinstance(self.model, JudgingModel) and Ability.JUDGE in await find_abilities(self.model)

    async def _weigh(self, messages: Sequence[Message]) -> float:
        judge = await require_ability(self.model, Ability.JUDGE, "a verdict")
        return (await judge.judge(messages, self.prompts.options)).probability(self.prompts.options[0])

    async def _say(self, messages: Sequence[Message], limit: int) -> tuple[float | None, str]:
        """Return 1 or 0 for a reply that begins with yes or no, and what stands behind that word."""
        reply = await self.model.reply(messages, limit=limit, sampling=Sampling(temperature=0.0))
        text = clean(reply.text)[0].strip(" \n\"'*.")
        yes, no = map(re.escape, self.prompts.options)
        said = re.match(rf"(?P<yes>{yes}|{_YES})|(?:{no}|{_NO})", text, re.IGNORECASE)
        return (1.0 if said["yes"] else 0.0, text[said.end() :].strip(" \n\"'*.,:，。：")) if said else (None, "")


async def _locate(copied: Sequence[str], parts: PlacedParts) -> tuple[LocatedSentence, ...]:
    """Return where what a model copied stands in the document; what stands nowhere is no copy."""
    found = [await asyncio.to_thread(find_quotes, parts, one) for one in copied if one]
    return tuple(dict.fromkeys(one for sentences in found for one in sentences))
