"""Measure what a model's judgements are worth: of chunks, on samples whose evidence is known, and of answers.

A chunk matters when it holds some of the evidence of its sample. Judgements see the memory that a perfect reader would
have by then, so what is measured is the judgement and not the writing. Answers are the labelled ones of the task
`verdict`.

    threshold(recall r)    = the highest score that at least r of the chunks that matter reach
    threshold(precision p) = the lowest score at which at least p of the answers that reach it are supported
"""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor

from bookwheel.companions import Calibration
from bookwheel.documents.opening import TextDocument
from bookwheel.errors import InputError
from bookwheel.lab.tasks.base import Sample
from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.tasks.verdicts import LabelledAnswer, load_answers
from bookwheel.models.accompanied import VerdictCalibration
from bookwheel.models.base import Ability, Model, find_abilities, require_ability
from bookwheel.plan import Plan, Scorer
from bookwheel.reading.judge_view import JudgeView
from bookwheel.reading.model_judge import make_judge
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.ways.gates import HalvingScorer
from bookwheel.text.chunks import split
from bookwheel.types import Memory
from bookwheel.verdict.judge import examine, weigh
from bookwheel.verdict.sources import PlacedParts


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredChunk:
    """A chunk, its score, and whether it matters."""

    task: str
    score: float
    matters: bool


async def list_scorers(model: Model) -> list[Scorer]:
    """Return the judgements that the model offers; InputError if it offers none."""
    abilities = await find_abilities(model)
    scorers = [scorer for scorer in Scorer if Ability(scorer) in abilities]
    if not scorers:
        raise InputError(
            f"{model.name} gives no log-probabilities, so it cannot judge and needs no calibration: read with "
            f"--way edits, or with a server such as vLLM or llama.cpp"
        )
    return scorers


async def score_samples(
    model: Model,
    plan: Plan,
    samples: Sequence[Sample],
    scorer: Scorer,
    *,
    at_once: int = 8,
    watch: Callable[[int], None] = lambda _count: None,
) -> list[ScoredChunk]:
    """Return the scores of all chunks of the samples. `watch` gets the number of chunks scored so far."""
    judging = await require_ability(model, Ability(scorer), way="gated")
    places = asyncio.Semaphore(at_once)
    scored = 0

    async def score(sample: Sample) -> list[ScoredChunk]:
        nonlocal scored
        judge = HalvingScorer(scorer, judging, prompts_for(plan, sample.question), sample.question)
        chunks = list(split(sample.document, model.tokenizer, plan.chunk_tokens))
        rows = []
        async with places:
            for chunk, text in zip(chunks, ("", *ideal_memories(sample, chunks)), strict=False):
                memory = Memory(text=text, tokens=model.tokenizer.count(text), limit=plan.memory_tokens)
                verdict = await judge.score(memory, chunk)
                # A piece of evidence that a perfect reader takes a note of.
                matters = any(one.note and one.start < chunk.end and one.end > chunk.start for one in sample.evidence)
                rows.append(ScoredChunk(task=sample.task, score=verdict.score, matters=matters))
                scored += 1
                watch(scored)
        return rows

    return [row for rows in await asyncio.gather(*map(score, samples)) for row in rows]


def find_threshold(scores: Sequence[float], labels: Sequence[bool], recall: float) -> float:
    """Return the highest threshold that keeps this share of the scores whose label is true.

    >>> find_threshold([0.9, 0.8, 0.3, 0.5], [True, True, True, False], recall=0.6)
    0.8
    """
    kept = sorted(score for score, matters in zip(scores, labels, strict=True) if matters)
    if not kept:
        raise InputError("no chunk of the samples matters, so there is no threshold to find: take other samples")
    # The tolerance keeps 0.99 of 100 at one miss, which binary fractions would round to none.
    return kept[min(len(kept) - 1, floor((1 - recall) * len(kept) + 1e-9))]


def measure_auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """Return the probability that a true score is above a false one; ties count half."""
    true = [score for score, label in zip(scores, labels, strict=True) if label]
    false = sorted(score for score, label in zip(scores, labels, strict=True) if not label)
    if not true or not false:
        raise InputError("the samples need chunks that matter and chunks that do not")
    wins = sum((bisect_left(false, score) + bisect_right(false, score)) / 2 for score in true)
    return wins / (len(true) * len(false))


def make_calibration(
    model: str, scorer: Scorer, scores: Sequence[float], labels: Sequence[bool], *, recall: float, command: str
) -> Calibration:
    threshold = find_threshold(scores, labels, recall)
    return Calibration(
        model=model,
        scorer=scorer,
        threshold=threshold,
        recall=recall,
        read=sum(score >= threshold for score in scores) / len(scores),
        auc=measure_auc(scores, labels),
        chunks=len(scores),
        positives=sum(labels),
        command=command,
    )


async def score_answers(
    model: Model,
    plan: Plan,
    answers: Sequence[LabelledAnswer],
    *,
    at_once: int = 8,
    watch: Callable[[int], None] = lambda _count: None,
) -> list[float | None]:
    """Return how sure the model is of each answer: as sure as of its least sentence; None where it did not say."""
    places, scored = asyncio.Semaphore(at_once), 0

    async def score(one: LabelledAnswer) -> float | None:
        nonlocal scored
        judge = make_judge(one.question, model, plan)
        document = TextDocument(one.snippet)
        findings = await asyncio.to_thread(examine, one.answer, one.question, PlacedParts(document))
        view = JudgeView(document, judge.room)
        async with places:
            judged = [
                1.0
                if finding.copy
                else (await judge.ask_support(judge.write(finding), one.question, view.show(finding, one.question)))[0]
                for finding in findings
            ]
        scored += 1
        watch(scored)
        known = [value for value in judged if value is not None]
        return min(known) if known and len(known) == len(judged) else None

    return list(await asyncio.gather(*map(score, answers)))


def choose_answers(most: int | None) -> list[LabelledAnswer]:
    """Return the answers to calibrate on: those of the part `sealed` stay for a last measurement."""
    return [one for one in load_answers() if one.part != "sealed"][:most]


def is_proved(one: LabelledAnswer) -> bool:
    """Tell if the words of the passages bear a right answer out, as they are measured."""
    findings = examine(one.answer, one.question, PlacedParts(TextDocument(one.snippet)))
    return one.label == "supported" and all(finding.copy or weigh(finding).is_supported for finding in findings)


def make_verdict_calibration(
    model: str, scores: Sequence[float | None], answers: Sequence[LabelledAnswer], *, precision: float, command: str
) -> VerdictCalibration:
    ranked = sorted(
        ((score, one.label == "supported") for score, one in zip(scores, answers, strict=True) if score is not None),
        key=lambda pair: -pair[0],
    )
    best, right, nearest = None, 0, (0.0, 0)
    for count, (score, is_right) in enumerate(ranked, start=1):
        right += is_right
        # Answers of one score pass together.
        is_last = count == len(ranked) or ranked[count][0] < score
        if is_last and right >= precision * count:
            best = (score, right / count, right)
        if is_last:
            nearest = max(nearest, (right / count, right))
    total = sum(is_right for _, is_right in ranked)
    auc = measure_auc([score for score, _ in ranked], [is_right for _, is_right in ranked])
    if best is None:
        raise InputError(
            f"no threshold of {model} has a precision of {precision}: it is no judge; keep --verdict quotes. "
            f"Its best of {len(ranked)} answers is {nearest[0]:.3f}, at a recall of {nearest[1] / max(1, total):.3f} "
            f"(AUC {auc:.3f})"
        )
    return VerdictCalibration(
        model=model,
        threshold=best[0],
        precision=best[1],
        recall=best[2] / total,
        recall_by_words=sum(map(is_proved, answers)) / total,
        auc=auc,
        answers=len(ranked),
        command=command,
    )
