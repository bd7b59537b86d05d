"""`bookwheel calibrate`: find the threshold at which a model's judgements keep the chunks that matter."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

from bookwheel.cli.options import AsJson, ModelOptions, PlanOptions, PositiveInt, define_options
from bookwheel.companions import Calibration, store_calibration
from bookwheel.lab.evaluation.calibration import (
    ScoredChunk,
    choose_answers,
    find_threshold,
    list_scorers,
    make_calibration,
    make_verdict_calibration,
    score_answers,
    score_samples,
)
from bookwheel.lab.tasks import Sample, make_samples
from bookwheel.models.accompanied import VerdictCalibration
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.schema import Gt, Le

if TYPE_CHECKING:
    from rich.status import Status


# Needles among others, chains, and facts that matter only because of a later one.
_TASKS: Final = ("niah_single_2", "niah_multikey_1", "vt", "bridge")
_CHUNKS: Final = 8
_RECALLS: Final = (0.9, 0.95, 0.99, 0.995, 1.0)


@define_options()
class CalibrationOptions:
    """The samples to calibrate on, and what is wanted."""

    # At 0.99 a question that needs two chunks would lose more than two answers in a hundred.
    recall: Annotated[float, Gt(0), Le(1)] = 0.995
    "The share of the chunks that matter which the gate is to keep, up to 1."
    task: tuple[str, ...] = _TASKS
    "Tasks whose samples say where their evidence is; can be repeated."
    count: PositiveInt = 10
    "Samples of each task, of eight chunks each."
    seed: int = 0
    "Another seed gives other samples."
    at_once: PositiveInt = 8
    "Samples that are judged at the same time."
    as_json: AsJson = False
    "Print one JSON object on standard output and nothing else."
    verdict: bool = False
    "Measure the model as a judge of answers instead; if it is better than the words, it judges its answers."
    precision: Annotated[float, Gt(0), Le(1)] = 0.97
    "With --verdict, the share of the answers called supported that are to be."
    dry: bool = False
    "Measure, but keep nothing."


async def calibrate(
    *,
    calibration: CalibrationOptions = CalibrationOptions(),
    models: ModelOptions = ModelOptions(),
    plan: PlanOptions = PlanOptions(),
) -> int:
    """Find the threshold of a model's judgements for the ways that judge before they write.

    The model judges the chunks of samples whose evidence is known. What it offers decides how: by the probability of
    "yes", and by how much a chunk makes the question likelier. The better of both is kept for the model's name.
    """
    from bookwheel.cli.output import stderr

    async with models.open_session() as session:
        model, chosen = session.model, session.build_plan(plan.given)
        if calibration.verdict:
            return await _calibrate_verdict(calibration, model, chosen)
        scorers, samples = await list_scorers(model), _make_samples(calibration, model, chosen)
        measured: list[tuple[Calibration, list[ScoredChunk]]] = []
        for scorer in scorers:
            with stderr().open_rich().status("") as status:
                show = _make_watch(status, f"{model.name} judges by {scorer}")
                rows = await score_samples(model, chosen, samples, scorer, at_once=calibration.at_once, watch=show)
            scores, labels = [row.score for row in rows], [row.matters for row in rows]
            command = _write_command(model, calibration)
            made = make_calibration(model.name, scorer, scores, labels, recall=calibration.recall, command=command)
            measured.append((made, rows))
    best, rows = max(measured, key=lambda pair: pair[0].auc)
    lines = _describe(best, rows, [made for made, _ in measured])
    return _keep(best, lines, calibration, tasks=_count_by_task(best, rows))


def _keep(
    made: Calibration | VerdictCalibration, lines: Sequence[str], wanted: CalibrationOptions, **more: object
) -> int:
    """Store what was measured, and print it."""
    from bookwheel.cli.output import print_line

    path = None if wanted.dry else store_calibration(made)
    if wanted.as_json:
        print_line(json.dumps({**asdict(made), "file": str(path) if path else None, **more}))
        return 0
    for line in (*lines, f"kept in {path}" if path else "nothing was kept (--dry)"):
        print_line(line)
    return 0


async def _calibrate_verdict(wanted: CalibrationOptions, model: Model, plan: Plan) -> int:
    from bookwheel.cli.output import stderr

    answers = choose_answers(None)
    with stderr().open_rich().status("") as status:
        show = _make_watch(status, f"{model.name} judges", "answers")
        scores = await score_answers(model, plan, answers, at_once=wanted.at_once, watch=show)
    command = shlex.join(("bookwheel", "calibrate", "--verdict", f"--model={model.name}"))
    made = make_verdict_calibration(model.name, scores, answers, precision=wanted.precision, command=command)
    lines = [
        f"{made.model}: {made.answers} answers, AUC {made.auc:.3f}",
        f"supported >= {made.threshold:.4g}: precision {made.precision:.3f}, recall {made.recall:.3f}",
        f"the measure of words: recall {made.recall_by_words:.3f}",
        f"by default {made.model if made.beats_words else 'the measure of words'} judges the answers of its readings",
    ]
    return _keep(made, lines, wanted)


def _make_watch(status: Status, title: str, things: str = "chunks") -> Callable[[int], None]:
    from rich.text import Text

    def show(count: int) -> None:
        status.update(Text(f"{title}: {count} {things}"))

    return show


def _make_samples(wanted: CalibrationOptions, model: Model, plan: Plan) -> list[Sample]:
    tokens = _CHUNKS * plan.chunk_tokens
    return [
        sample
        for task in wanted.task
        for sample in make_samples(
            task,
            tokens=tokens,
            count=wanted.count,
            seed=wanted.seed,
            tokenizer=model.tokenizer,
            language=plan.language,
        )
    ]


def _write_command(model: Model, wanted: CalibrationOptions) -> str:
    tasks = () if wanted.task == _TASKS else tuple(f"--task={task}" for task in wanted.task)
    words = ("bookwheel", "calibrate", f"--model={model.name}", f"--recall={wanted.recall}", *tasks)
    return shlex.join((*words, f"--count={wanted.count}", f"--seed={wanted.seed}"))


def _count_by_task(best: Calibration, rows: Sequence[ScoredChunk]) -> dict[str, dict[str, int]]:
    """Return, for each task, how many chunks matter and how many of these the threshold keeps."""
    counts = {}
    for task in dict.fromkeys(row.task for row in rows):
        mine = [row.score >= best.threshold for row in rows if row.task == task and row.matters]
        counts[task] = {"matter": len(mine), "kept": sum(mine)}
    return counts


def _describe(best: Calibration, rows: Sequence[ScoredChunk], measured: Sequence[Calibration]) -> list[str]:
    from bookwheel.lab.evaluation.statistics import wilson_interval

    scores, labels = [row.score for row in rows], [row.matters for row in rows]
    lines = [f"{best.model}: {best.chunks} chunks, of which {best.positives} matter"]
    lines += [f"  by {made.scorer}: AUC {made.auc:.3f}" for made in measured]
    lines.append(f"the gate is {best.scorer} >= {best.threshold:.4g}")
    for recall in sorted({*_RECALLS, best.recall}):
        threshold = find_threshold(scores, labels, recall)
        share = sum(score >= threshold for score in scores) / len(scores)
        lines.append(f"  recall {recall:.3f}: threshold {threshold:.4g}, {share:.0%} of the chunks read")
    for task, count in _count_by_task(best, rows).items():
        kept = wilson_interval(count["kept"], count["matter"])
        bounds = f"95 % interval {kept.low:.2f} to {kept.high:.2f}"
        lines.append(f"  {task}: {count['kept']} of {count['matter']} kept ({bounds})")
    return lines
