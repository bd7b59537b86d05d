"""The numbers of a report: cells with intervals and costs, and paired differences between ways.

Pure functions from records to values. A sample without an answer counts as wrong and stays in the denominator; the
number of such samples stands beside the score. A sample that could not be made is counted apart and in no score. A cell
has no score only when no document fitted its way. Records of one question (lengths, repeats), or about one document,
are one cluster.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any, Final

from bookwheel.lab.evaluation.coverage import TaskCoverage, summarize_coverage
from bookwheel.lab.evaluation.judge import ChoiceEffect, summarize_choices
from bookwheel.lab.evaluation.manifest import summarize_use
from bookwheel.lab.evaluation.records import Record, ResultsError, SampleOutcome, group_by
from bookwheel.lab.evaluation.results import Results
from bookwheel.lab.evaluation.statistics import (
    Difference,
    IntervalEstimate,
    compare_pairs,
    estimate,
    estimate_known,
    find_clusters,
    holm,
    spread_of_runs,
)
from bookwheel.reading.ways.registry import list_ways

_REFERENCE: Final = "sequential"
ALL: Final = "all"
"""Stands for every task in cells that pool them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One model reading one task and length in one way."""

    model: str
    way: str
    task: str
    """`all` where tasks are pooled, each sample counting once."""
    length: int
    metric: str
    score: IntervalEstimate
    official: IntervalEstimate
    """By the published metric, which left failed requests out."""
    judged: IntervalEstimate
    """By the judge model, if there is one. Samples without an answer count as wrong, unclear verdicts nowhere."""
    unclear: int
    """Answers that the judge model could not judge."""
    set_f1: float
    """Mean, of answers in parts; nan where no answer has any."""
    set_f1_n: int
    """Answers in parts, which may be a few of the cell's."""
    repeats: int
    """Readings of each sample."""
    between_runs: float
    """Standard deviation of the repeats' scores; nan without repeats."""
    memory: Mapping[str, int]
    """Samples by what became of their evidence in the memory (`MemoryOutcome`)."""
    captured: float
    """Mean share of the evidence that was in the memory at some time; nan without a memory."""
    kept: float
    """Mean share of the evidence that was in the last memory."""
    infeasible: int
    """Samples that could not be made; they are in no score."""
    failed: int
    stopped: int
    refused: int
    truncated: int
    """Samples with a reply that ran into its token limit."""
    cut: int
    """Samples of whose document a part was left out."""
    prompt_tokens: float
    """Mean a sample, of all its calls."""
    completion_tokens: float
    seconds: float
    cost: float
    """nan where no price is known."""

    @property
    def is_measured(self) -> bool:
        """True when at least one document could be read to its end in this way."""
        return self.refused + self.stopped < self.score.n


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Two series (a model and a way each) on the same samples."""

    first: str
    second: str
    task: str
    length: int | None
    """None where all lengths are pooled."""
    difference: Difference
    holm: float = 1.0
    """The difference's p, corrected for the number of comparisons in the table."""


def _correct(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """Return the contrasts with the p that Holm's correction gives them among each other."""
    corrected = holm([one.difference.p for one in contrasts])
    return [replace(one, holm=p) for one, p in zip(contrasts, corrected, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The content of a report, before its layout."""

    results: Results
    cells: tuple[Cell, ...]
    pooled: tuple[Cell, ...]
    """Over all tasks, of each length that all of them have; empty where there is one task."""
    shared: tuple[Cell, ...]
    """Only over the samples that every model and way answered for, where some did not; else empty."""
    contrasts: tuple[Contrast, ...]
    coverage: tuple[TaskCoverage, ...]
    """What a search and a constant answer reach, by task and length."""
    choices: tuple[ChoiceEffect, ...]
    """What the metric `choice` changes, where it judges."""
    failures: tuple[Record, ...]
    records: tuple[Record, ...]
    """In the order of the cells; the task names its language where there are several."""


def build_report(results: Results, *, reference: str | None = None) -> Report:
    """Return the cells of a results file, and the differences of all ways from the reference way.

    Without one it is that of the newest run. Commands, page and files show this one value.
    """
    reference = reference or (results.runs[-1].settings.get("reference") if results.runs else None) or _REFERENCE
    records = results.records
    if len({record.language for record in records if record.is_counted}) > 1:  # different tasks to a reader
        records = tuple(replace(record, task=f"{record.task} · {record.language}") for record in records)
    # Models and tasks in order of appearance, ways as the registry lists them.
    models, tasks = (list(dict.fromkeys(getattr(one, name) for one in records)) for name in ("model", "task"))
    ways = dict.fromkeys((*list_ways(), *(record.way for record in records)))
    rank = {name: place for names in (models, tasks, ways) for place, name in enumerate(names)}
    records = tuple(sorted(records, key=lambda r: (rank[r.model], rank[r.way], rank[r.task], r.length)))
    by_cell = group_by(records, lambda r: (r.model, r.way, r.task, r.length))
    # Where tasks have other lengths, a curve over all of them would compare tasks and not lengths.
    tasks_at = {length: {one.task for one in group} for length, group in group_by(records, lambda r: r.length).items()}
    common = [one for one in records if len(tasks_at[one.length]) == len(tasks)]
    by_length = group_by(common, lambda r: (r.model, r.way, ALL, r.length)) if len(tasks) > 1 else {}
    shared = group_by(_keep_shared(records), lambda r: (r.model, r.way, r.task, r.length))
    return Report(
        results=results,
        shared=tuple(_build_cell(*place, group) for place, group in shared.items()),
        cells=tuple(_build_cell(*place, group) for place, group in by_cell.items()),
        pooled=tuple(_build_cell(*place, group) for place, group in by_length.items()),
        contrasts=tuple(compare_series(records, reference)),
        coverage=tuple(summarize_coverage(records)),
        choices=tuple(summarize_choices(records)),
        failures=tuple(record for record in records if record.outcome is not SampleOutcome.SCORED),
        records=records,
    )


def _keep_shared(records: Sequence[Record]) -> list[Record]:
    """Return the records of samples that every series of a task and length has read, where the series differ.

    A sample that does not fit a way, or that was not read in it yet, is in no comparison of means.
    """
    kept: list[Record] = []
    for group in group_by(records, lambda r: (r.task, r.length)).values():
        read = [one for one in group if one.is_counted and one.outcome is not SampleOutcome.REFUSED]
        series = group_by(read, lambda r: (r.model, r.way))
        keys = [{one.pair_key for one in own} for own in series.values()]
        common = set.intersection(*keys) if keys else set()
        if len(keys) > 1 and common and any(one != common for one in keys):
            kept += [one for one in read if one.pair_key in common]
    return kept


def _build_cell(model: str, way: str, task: str, length: int, every: Sequence[Record]) -> Cell:
    outcomes = Counter(record.outcome for record in every)
    records = [record for record in every if record.is_counted]
    clusters = find_clusters([record.clusters for record in records])
    return Cell(
        model=model,
        way=way,
        task=task,
        length=length,
        metric=_describe_metrics(records),
        score=estimate([record.score for record in records], clusters),
        official=estimate_known([record.official for record in records], clusters),
        judged=estimate_known(_list_verdicts(records), clusters),
        unclear=sum(bool(record.judge) and record.judged is None for record in records),
        set_f1=_mean([record.set_f1 for record in records]),
        set_f1_n=sum(record.set_f1 is not None for record in records),
        repeats=len({record.repeat for record in records}),
        between_runs=spread_of_runs([record.score for record in records], [record.repeat for record in records]),
        memory=dict(Counter(record.memory for record in records if record.memory)),
        captured=_mean([record.evidence_captured for record in records]),
        kept=_mean([record.evidence_kept for record in records]),
        infeasible=outcomes[SampleOutcome.INFEASIBLE],
        failed=outcomes[SampleOutcome.FAILED],
        stopped=outcomes[SampleOutcome.STOPPED],
        refused=outcomes[SampleOutcome.REFUSED],
        truncated=sum(record.is_truncated for record in records),
        cut=sum("cut" in record.flags for record in records),
        prompt_tokens=_mean([record.prompt_tokens for record in records]),
        completion_tokens=_mean([record.completion_tokens for record in records]),
        seconds=_mean([record.seconds for record in records]),
        cost=_mean([record.cost for record in records]) if any(record.cost for record in records) else math.nan,
    )


def _list_verdicts(records: Sequence[Record]) -> list[float | None]:
    """Return what counts in the judge's mean; nothing where no answer was judged."""
    is_judged = any(record.judge for record in records)
    left_out = [record.outcome is SampleOutcome.SCORED or not is_judged for record in records]
    return [one.judged if one.judge else None if out else 0.0 for one, out in zip(records, left_out, strict=True)]


def _describe_metrics(records: Sequence[Record]) -> str:
    """Name the metrics, and their shares where there are several."""
    counted = sorted(Counter(record.metric for record in records).items())
    if len(counted) == 1:
        return counted[0][0]
    return ", ".join(f"{metric} ({count / len(records):.0%})" for metric, count in counted)


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return fmean(known) if known else math.nan


def describe_cells(cells: Sequence[Cell], report: Report) -> str:
    """Name the task, metric, n, interval method and seeds of cells of one task."""
    metrics = "; ".join(sorted({cell.metric for cell in cells}))
    numbers = sorted({(cell.score.n, cell.score.clusters) for cell in cells})
    plural = {1: "cluster"}
    counts = ", ".join(f"{n} ({c} {plural.get(c, 'clusters')})" if c < n else str(n) for n, c in numbers)
    methods = ", ".join(sorted({cell.score.method for cell in cells}))
    scores = f"Task: {cells[0].task}. Metric: {metrics}. n = {counts} a cell. 95 % intervals: {methods}."
    return f"{scores} {format_seeds(report, cells[0].task)}"


def format_seeds(report: Report, task: str = ALL) -> str:
    seeds = sorted({one.seed for one in report.records if one.is_counted and task in {ALL, one.task}})
    return f"Sample seed {', '.join(map(str, seeds))}."


def compare_series(records: Iterable[Record], reference: str) -> list[Contrast]:
    """Compare every way with the same model's reference way.

    A model that was not read in the reference way is compared with the first model that was.
    """
    series = group_by(records, lambda r: (r.model, r.way))
    standard = next((model_way for model_way in series if model_way[1] == reference), None)
    # One index a series: several ways are compared with the same reference.
    by_sample = {model_way: _index_by_sample(group) for model_way, group in series.items()}
    contrasts: list[Contrast] = []
    for model, way in series:
        other = (model, reference) if way != reference and (model, reference) in series else standard
        if other and other != (model, way):
            labels = (f"{model} · {way}", " · ".join(other))
            contrasts += compare_records(by_sample[model, way], by_sample[other], labels)
    return _correct(contrasts)


def compare_results(first: Results, second: Results, names: tuple[str, str]) -> list[Contrast]:
    """Compare the first file with the second on the samples that both have.

    Series (model and way) are matched by name. Two files with one series each are compared whatever their names.
    """
    left, right = (group_by(results.records, lambda r: (r.model, r.way)) for results in (first, second))
    pairs = [(series, series) for series in left if series in right]
    if not pairs and len(left) == len(right) == 1:
        pairs = [(next(iter(left)), next(iter(right)))]
    contrasts: list[Contrast] = []
    for mine, yours in pairs:
        labels = (f"{names[0]}: {' · '.join(mine)}", f"{names[1]}: {' · '.join(yours)}")
        contrasts += compare_records(_index_by_sample(left[mine]), _index_by_sample(right[yours]), labels)
    if not contrasts:
        raise ResultsError(
            f"{names[0]} and {names[1]} have no sample in common that the same model read in the same way: question, "
            f"golds, metric and document must be equal. To compare different series, give files with one model and one "
            f"way each"
        )
    return _correct(contrasts)


RecordsBySample = dict[tuple[str, int, int], "Record"]
"""The records of one series by what was asked and read (`Record.pair_key`)."""


def compare_records(first: RecordsBySample, second: RecordsBySample, labels: tuple[str, str]) -> list[Contrast]:
    """Compare two series on shared samples: each cell that both could measure, then all of those together."""
    pairs = [(first[key], second[key]) for key in first if key in second]
    cells = group_by(pairs, lambda pair: (pair[0].task, pair[0].length))
    # Both series could read at least one of these documents.
    both = {
        place: group
        for place, group in cells.items()
        if all(any(pair[side].outcome is not SampleOutcome.REFUSED for pair in group) for side in (0, 1))
    }
    contrasts = [_build_contrast(labels, task, length, group) for (task, length), group in both.items()]
    if len(both) > 1:
        contrasts.append(_build_contrast(labels, ALL, None, [pair for group in both.values() for pair in group]))
    return contrasts


def _build_contrast(
    labels: tuple[str, str], task: str, length: int | None, pairs: Sequence[tuple[Record, Record]]
) -> Contrast:
    difference = compare_pairs(
        [one.score for one, _ in pairs],
        [other.score for _, other in pairs],
        find_clusters([one.clusters for one, _ in pairs]),
    )
    return Contrast(first=labels[0], second=labels[1], task=task, length=length, difference=difference)


def _index_by_sample(records: Iterable[Record]) -> RecordsBySample:
    index: RecordsBySample = {}
    seen: Counter[tuple[str, int]] = Counter()
    for record in records:
        if record.is_counted:
            key = record.pair_key
            # A file may ask the same twice.
            index[*key, seen[key]] = record
            seen[key] += 1
    return index


def report_to_json(report: Report) -> dict[str, Any]:
    """Return the cells and differences. JSON has no NaN, so values that were not measured are None."""
    return {
        "samples": len(report.results.records),
        "without_answer": len(report.failures),
        "manifest": report.results.runs[-1].manifest if report.results.runs else {},
        "used": summarize_use(report.results.records),
        "cells": [_replace_nan(asdict(cell)) for cell in (*report.cells, *report.pooled)],
        "same_samples": [_replace_nan(asdict(cell)) for cell in report.shared],
        "coverage": [asdict(row) for row in report.coverage],
        "choices": [asdict(row) for row in report.choices],
        "differences": contrasts_to_json(report.contrasts),
    }


def contrasts_to_json(contrasts: Iterable[Contrast]) -> list[dict[str, Any]]:
    return [_replace_nan(asdict(contrast)) for contrast in contrasts]


def _replace_nan(values: dict[str, Any]) -> dict[str, Any]:
    nested = {name: _replace_nan(value) if isinstance(value, dict) else value for name, value in values.items()}
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in nested.items()}
