"""The verdict on a reading's answer, by the plan: not at all, by measure, or by the model that reads.

By a model, for each sentence that is no quotation the model is shown the best passages and asked whether
they say it, where they do not, whether they say otherwise; and for each sentence whether it answers the question. A
model with log-probabilities answers with one token, any other with a short reply. What it was not asked, or did not
answer, is unchecked. A model that only quotes, as the built-in one, is left at the measure: its judgements add nothing
to that (lab/2026-11-24-verdict.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from bookwheel.claims import Claim, Evidence, Fit
from bookwheel.errors import BudgetReached, InputError, ModelError
from bookwheel.models.accompanied import VerdictCalibration, find_companions, find_endpoint
from bookwheel.models.base import Ability, JudgingModel, Model, find_abilities, find_wrapper
from bookwheel.plan import Plan, Sampling, VerdictMode
from bookwheel.reading.budget import BudgetedModel, estimate_usage
from bookwheel.reading.estimate import CallCost, CostInputs
from bookwheel.reading.prompts import Prompts, prompts_for
from bookwheel.types import Document, Message, Step, Usage
from bookwheel.verdict.judge import Finding, Judgment, examine, is_foreign, judge_answer, weigh, write_claims
from bookwheel.verdict.probes import Probe, load_probes
from bookwheel.verdict.provenance import SupportsSlice
from bookwheel.verdict.search import LocatedSentence
from bookwheel.verdict.sources import EvidenceList, PlacedParts, SupportsParts

THRESHOLD: Final = 0.5
"""The probability from which on a judgement is a yes, where the model was not calibrated."""
_REPLY_TOKENS: Final = 8
# A passage that has less of a sentence than this cannot deny it.
_LEAST_DENIED: Final = 0.3
# At this probability nothing speaks for a sentence's answering the question.
_DOUBTFUL: Final = 0.25
# Characters. A thread costs more than the measure on a short document, whose pass takes a few milliseconds.
_SHORT_DOCUMENT: Final = 1 << 18
# Characters before and behind a passage in which its heading, the header of its row and its neighbours are looked for.
_BEFORE: Final = 2000
_AFTER: Final = 400
# Of all right answers the measure bears out so many (lab/2026-11-29-large-model.md): a judge has to do better.
_RECALL_BY_WORDS: Final = 0.34
_TRIED_AT_ONCE: Final = 8
# A trial that fails is held again, so often in a session, where the budget leaves so many seconds.
_MOST_TRIALS: Final = 3
_TRIAL_SECONDS: Final = 60.0
# Bytes of the passages that a model is shown, no more than a section has; and how many the memory's lines came from.
_MOST_SHOWN: Final = 5000
_TOKEN_BYTES: Final = 3
_MOST_ORIGINS: Final = 8
# Sentences of an answer that a model is asked about; those behind them are measured. An answer can run on for ever.
_MOST_JUDGED: Final = 32
# For an estimate: tokens of a sentence of an answer, at least, and of the passages that it is shown beside, at most.
_SENTENCE_TOKENS: Final = 8
_PASSAGES_TOKENS: Final = 1600


async def judge(
    answer: str,
    question: str,
    steps: Sequence[Step],
    document: Document,
    *,
    plan: Plan,
    model: Model,
    is_strict: bool = False,
) -> tuple[tuple[Evidence, ...], tuple[Claim, ...]]:
    """Return the evidence and the claims of an answer, as the plan wants it judged; `is_strict` raises what failed."""
    if plan.verdict == VerdictMode.OFF:
        return (), ()
    if by := await settle_judge(question, model, plan):
        return await judge_by_model(answer, question, steps, document, by, is_strict=is_strict)
    if document.length is not None and document.length <= _SHORT_DOCUMENT:
        return judge_answer(answer, question, steps, document)
    return await asyncio.to_thread(judge_answer, answer, question, steps, document)


def choose_judge(question: str, model: Model, plan: Plan) -> ModelJudge | None:
    """Return the model as a judge; None where the plan leaves it to the words, and for a model that only quotes."""
    is_auto = plan.verdict == VerdictMode.AUTO
    if not (is_auto or plan.verdict == VerdictMode.MODEL) or prompts_for(plan, question).quotes:
        return None
    try:
        measured = find_companions(model).find_verdicts(model.name)
    except InputError:
        # Of a damaged file nobody asked for anything: the words judge, as where nothing was measured.
        if is_auto:
            return None
        raise
    if is_auto and not (measured and measured.beats_words):
        return None
    return make_judge(question, model, plan, measured.threshold if measured else THRESHOLD)


def make_judge(question: str, model: Model, plan: Plan, threshold: float = THRESHOLD) -> ModelJudge:
    """Return the model as a judge in the language of a question."""
    room = min(_MOST_SHOWN, _TOKEN_BYTES * plan.chunk_tokens)
    return ModelJudge(model=model, prompts=prompts_for(plan, question), threshold=threshold, room=room)


async def settle_judge(question: str, model: Model, plan: Plan) -> ModelJudge | None:
    """Return the model as a judge where it judges; one behind an endpoint is tried first, if nobody measured it."""
    companions, name = find_companions(model), model.name
    # Meanwhile the words judge the answers of other readings.
    is_due = name not in companions.on_trial and companions.trials[name] < _MOST_TRIALS
    if is_due and can_be_tried(question, model, plan) and _has_room(model, plan):
        companions.on_trial.add(name)
        companions.trials[name] += 1
        try:
            companions.keep_verdicts(await try_judge(model, plan))
        except (ModelError, BudgetReached):
            pass  # It is tried after another reading.
        finally:
            companions.on_trial.discard(name)
    return choose_judge(question, model, plan)


def _has_room(model: Model, plan: Plan) -> bool:
    """Return whether the budget has room for a whole trial: half of one is paid for nothing, and again next time."""
    budgeted = find_wrapper(model, BudgetedModel)
    if budgeted is None or not plan.budget.has_limits:
        return True
    asked = ((_make_probed(one, model, plan), one) for one in load_probes())
    calls = (estimate_usage(model, judge.write(*_show_probe(one)), _REPLY_TOKENS) for judge, one in asked)
    return budgeted.has_room(sum(calls, Usage()), _TRIAL_SECONDS)


def _make_probed(probe: Probe, model: Model, plan: Plan) -> ModelJudge:
    """Return the model as a judge of a probe, whatever else is asked of it now."""
    return make_judge(probe.question, model, replace(plan, earlier="", schema=None, language=None))


def _show_probe(probe: Probe) -> tuple[str, str, str, str]:
    """Return the turn, the passages, the answer and the question of a probe."""
    turn, section = ("supports", probe.section) if probe.is_answering else ("responds", "")
    return turn, section, probe.answer, probe.question


def can_be_tried(question: str, model: Model, plan: Plan) -> bool:
    """Tell if the plan leaves open who judges, and nobody knows how well this model does."""
    if plan.verdict != VerdictMode.AUTO or find_endpoint(model) is None or prompts_for(plan, question).quotes:
        return False
    with suppress(InputError):
        return find_companions(model).find_verdicts(model.name) is None
    return False


async def try_judge(model: Model, plan: Plan) -> VerdictCalibration:
    """Ask a model about the few answers whose verdicts are known, and return what its own are worth."""
    places = asyncio.Semaphore(_TRIED_AT_ONCE)

    async def is_taken(probe: Probe) -> bool:
        """Return whether it says that the passages bear the answer out, and that it answers."""
        async with places:
            said = await _make_probed(probe, model, plan).ask(*_show_probe(probe))
        return said is not None and said >= THRESHOLD

    probes = load_probes()
    try:
        # Where one call fails, the others are not made.
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(is_taken(probe)) for probe in probes]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    taken = [task.result() for task in tasks]
    right = sum(one.is_right for one, is_in in zip(probes, taken, strict=True) if is_in)
    return VerdictCalibration(
        model=model.name,
        threshold=THRESHOLD,
        precision=right / sum(taken) if any(taken) else 0.0,
        recall=right / sum(one.is_right for one in probes),
        recall_by_words=_RECALL_BY_WORDS,
        answers=len(probes),
        command="tried after a reading",
    )


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
    judged: list[tuple[Finding, Judgment | None]] = []
    has_failed, asked = False, 0
    for finding in findings:
        judgment = None
        if finding.is_absent or (asked >= _MOST_JUDGED and not has_failed):
            judgment = weigh(finding)
        elif not has_failed:
            asked += 1
            try:
                section = await asyncio.to_thread(show_passages, finding, document, origins, judge.room)
                judgment = await judge.judge(finding, question, section)
                has_said = judgment and (judgment.is_supported or judgment.is_denied)
                is_whole = len(section) == getattr(document, "length", None)
                # Who was shown the part of a document that has none of its words cannot tell.
                if not (has_said or is_whole) and await asyncio.to_thread(is_foreign, finding, parts):
                    judgment = None
            except (ModelError, BudgetReached):
                if is_strict:
                    raise
                has_failed = True
        judged.append((finding, judgment))
    return await asyncio.to_thread(write_claims, judged, steps, parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelJudge:
    """A model that judges sentences beside passages, one question a call, and decides alone."""

    model: Model
    prompts: Prompts
    threshold: float = THRESHOLD
    room: int = _MOST_SHOWN
    """Bytes of passages beside a sentence."""

    async def judge(self, finding: Finding, question: str, section: str) -> Judgment | None:
        """Return what the model says to a sentence beside passages; None where its reply says nothing."""
        supported = 1.0 if finding.copy else await self.ask_support(finding, question, section)
        if supported is None:
            return None
        is_supported, denied = supported >= self.threshold, 0.0
        # What is copied word for word may be put right elsewhere.
        is_open = finding.copy or (not is_supported and finding.features["in all"] >= _LEAST_DENIED)
        if section and is_open:
            denied = await self.ask("denies", section, finding.text, question) or 0.0
        fits = await self.ask("responds", "", finding.text, question)
        if fits is None:
            return None
        fit = Fit.YES if fits >= THRESHOLD else Fit.DOUBTFUL if fits >= _DOUBTFUL else Fit.NO
        # A reply in words is as sure as it sounds, and no probability.
        score = supported if 0 < supported < 1 else None
        is_denied, judge = denied >= THRESHOLD, self.model.name
        return Judgment(score=score, is_supported=is_supported, is_denied=is_denied, answers=fit, judge=judge)

    async def ask_support(self, finding: Finding, question: str, section: str) -> float | None:
        """Return the probability that the passages say a sentence; None where the reply says nothing."""
        if not section:
            return 0.0
        return await self.ask("supports", section, finding.text, question)

    def write(self, turn: str, section: str, answer: str, question: str) -> tuple[Message, ...]:
        """Return the prompt of a turn."""
        return self.prompts.turn(turn, section=section, memory=answer, question=question)

    async def ask(self, turn: str, section: str, answer: str, question: str) -> float | None:
        """Return the probability of yes to a turn's question; None where the reply is neither yes nor no."""
        yes, no = self.prompts.options
        messages = self.write(turn, section, answer, question)
        if isinstance(self.model, JudgingModel) and Ability.JUDGE in await find_abilities(self.model):
            return (await self.model.judge(messages, self.prompts.options)).probability(yes)
        reply = await self.model.reply(messages, limit=_REPLY_TOKENS, sampling=Sampling(temperature=0.0))
        word = reply.text.strip(" \n\"'*.").casefold()
        return 1.0 if word.startswith(yes.casefold()) else 0.0 if word.startswith(no.casefold()) else None


def show_passages(
    finding: Finding, document: SupportsParts, origins: Sequence[LocatedSentence] = (), room: int = _MOST_SHOWN
) -> str:
    """Return the passages of a sentence as a model is shown them, in the document's order; a short document whole.

    Those that have most of it come with what the memory took its lines from, and with others that have its words, of
    which one may say otherwise. A line alone seldom says what it is about: it comes with its heading, its header and
    the sentences beside it. `room` is in bytes, which count tokens alike in every language.
    """
    length = getattr(document, "length", None)
    if isinstance(document, SupportsSlice) and length is not None and length <= room:
        whole = document.slice(0, length)
        if _measure(whole) <= room:
            return whole
    shown = dict[LocatedSentence, str]()
    for one in (*finding.passages, *origins[:_MOST_ORIGINS], *finding.near):
        text = _widen(one, document) if isinstance(document, SupportsSlice) else one.text
        # What stands within another is shown once.
        within = [other for other, had in shown.items() if had in text]
        freed = sum(_measure(shown[other]) for other in within)
        if not any(text in had for had in shown.values()) and (not shown or _measure(text) <= room + freed):
            room += freed - _measure(text)
            shown = {other: had for other, had in shown.items() if other not in within} | {one: text}
    return "\n\n".join(shown[one] for one in sorted(shown, key=lambda passage: passage.start))


def _measure(text: str) -> int:
    return len(text.encode(errors="replace"))


def _widen(passage: LocatedSentence, document: SupportsSlice) -> str:
    # Who is not judged by a model starts without the parts of texts.
    from bookwheel.reading.ways.passages import find_windows

    first = max(0, passage.start - _BEFORE)
    around = document.slice(first, passage.end + _AFTER)
    # A line that the cut goes through would pass for a heading.
    cut = around.find("\n", 0, passage.start - first) + 1 if first else 0
    start, end = passage.start - first - cut, passage.end - first - cut
    windows = [one for one in find_windows(around[cut:]) if one.start <= start and end <= one.end]
    whole = [one.shown for one in windows if one.start or cut or not first]
    return whole[len(whole) // 2] if whole else passage.text


def list_judge_calls(given: CostInputs) -> list[CallCost]:
    """Return the calls that judge an answer of at most so many tokens; an answer that quotes needs fewer."""
    is_tried = can_be_tried(given.question, given.model, given.plan)
    if not is_tried and not choose_judge(given.question, given.model, given.plan):
        return []
    most = min(_MOST_JUDGED, max(1, given.plan.answer_tokens // _SENTENCE_TOKENS))
    # A short document is shown whole.
    shown = min(_PASSAGES_TOKENS, given.size.tokens)
    probes = load_probes() if is_tried else ()
    trial = CallCost(
        least=0,
        most=len(probes),
        words=given.count_turn("supports"),
        reply=_REPLY_TOKENS,
        most_text=sum(given.model.tokenizer.count(f"{one.section}{one.answer}{one.question}") for one in probes),
    )
    return ([trial] if probes else []) + [
        CallCost(
            least=0,
            most=most,
            words=given.count_turn(name),
            reply=_REPLY_TOKENS,
            most_text=given.plan.answer_tokens + (0 if name == "responds" else most * shown),
        )
        for name in ("supports", "denies", "responds")
    ]
