"""Measure what a model's verdicts on answers are worth, on the labelled answers of the task `verdict`.

threshold(precision p) = the lowest score at which at least p of the answers that reach it are supported
"""

import asyncio
from collections.abc import Callable, Sequence

from bookwheel.companions import VerdictCalibration
from bookwheel.documents.opening import TextDocument
from bookwheel.errors import InputError
from bookwheel.lab.evaluation.calibration import measure_auc
from bookwheel.lab.tasks.verdicts import LabelledAnswer, load_answers
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.reading.verdicts import ModelJudge, show_passages
from bookwheel.verdict.judge import examine
from bookwheel.verdict.sources import PlacedParts


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
        judge = ModelJudge(model=model, prompts=prompts_for(plan, one.question))
        document = TextDocument(one.snippet)
        findings = await asyncio.to_thread(examine, one.answer, one.question, PlacedParts(document))
        async with places:
            judged = [
                1.0
                if finding.copy
                else await judge.ask_support(finding, one.question, show_passages(finding, document))
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


def make_verdict_calibration(
    model: str, scores: Sequence[float | None], answers: Sequence[LabelledAnswer], *, precision: float, command: str
) -> VerdictCalibration:
    """Return the calibration that these scores give."""
    ranked = sorted(
        ((score, one.label == "supported") for score, one in zip(scores, answers, strict=True) if score is not None),
        key=lambda pair: -pair[0],
    )
    best, right = None, 0
    for count, (score, is_right) in enumerate(ranked, start=1):
        right += is_right
        # Answers of one score pass together.
        is_last = count == len(ranked) or ranked[count][0] < score
        if is_last and right >= precision * count:
            best = (score, right / count, right)
    total = sum(is_right for _, is_right in ranked)
    if best is None:
        raise InputError(
            f"no threshold of {model} has a precision of {precision}: it is no judge; keep --verdict quotes"
        )
    return VerdictCalibration(
        model=model,
        threshold=best[0],
        precision=best[1],
        recall=best[2] / total,
        auc=measure_auc([score for score, _ in ranked], [is_right for _, is_right in ranked]),
        answers=len(ranked),
        command=command,
    )
