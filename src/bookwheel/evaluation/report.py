"""From results to numbers: cells with their intervals and costs, and paired differences between ways.

Pure: records in, values out. Whatever had no answer counts as wrong and stays in the denominator; how many there were
stands beside the score. Only a cell in which no document at all fitted its way has no score: nothing was measured.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final, TypeVar

from bookwheel.evaluation.errors import ResultsError
from bookwheel.evaluation.results import SampleOutcome
from bookwheel.evaluation.statistics import Difference, IntervalEstimate, compare_pairs, estimate
from bookwheel.reading.ways.registry import list_ways

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from bookwheel.evaluation.results import Record, Results

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")

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
    """By the published judge, which left failed requests out."""
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

    @property
    def measured(self) -> bool:
        """Whether at least one document could be read in this way at all."""
        return self.refused < self.score.n


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Two readers of the same samples."""

    first: str
    second: str
    task: str
    length: int | None
    """None where all lengths are pooled."""
    difference: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that a report says, before it is laid out."""

    results: Results
    cells: tuple[Cell, ...]
    pooled: tuple[Cell, ...]
    """Over all tasks of a length; empty where there is one task."""
    contrasts: tuple[Contrast, ...]
    failures: tuple[Record, ...]
    seed: int
    """Of the resampling."""


def build_report(results: Results, *, reference: str = "sequential", seed: int = 0) -> Report:
    """The cells of a results file, and how every other way differs from the reference way."""
    records = _sort_records(results.records)
    by_cell = _group_by(records, lambda r: (r.model, r.way, r.task, r.length))
    tasks = {record.task for record in records}
    by_length = _group_by(records, lambda r: (r.model, r.way, ALL, r.length)) if len(tasks) > 1 else {}
    return Report(
        results=results,
        cells=tuple(_build_cell(*place, group, seed) for place, group in by_cell.items()),
        pooled=tuple(_build_cell(*place, group, seed) for place, group in by_length.items()),
        contrasts=tuple(compare_readers(records, reference, seed)),
        failures=tuple(record for record in records if record.outcome is not SampleOutcome.SCORED),
        seed=seed,
    )


def _sort_records(records: Sequence[Record]) -> list[Record]:
    """Models and tasks as they first came, ways as the registry lists them, lengths rising."""
    models, tasks = (list(dict.fromkeys(getattr(record, name) for record in records)) for name in ("model", "task"))
    ways = list(dict.fromkeys((*list_ways(), *(record.way for record in records))))
    return sorted(records, key=lambda r: (models.index(r.model), ways.index(r.way), tasks.index(r.task), r.length))


def _build_cell(model: str, way: str, task: str, length: int, records: Sequence[Record], seed: int) -> Cell:
    outcomes = Counter(record.outcome for record in records)
    return Cell(
        model=model,
        way=way,
        task=task,
        length=length,
        metric=", ".join(sorted({record.metric for record in records})),
        score=estimate([record.score for record in records], seed=seed),
        official=estimate([record.official for record in records if record.official is not None], seed=seed),
        failed=outcomes[SampleOutcome.FAILED],
        stopped=outcomes[SampleOutcome.STOPPED],
        refused=outcomes[SampleOutcome.REFUSED],
        truncated=sum(record.truncated for record in records),
        cut=sum("cut" in record.flags for record in records),
        prompt_tokens=fmean(record.prompt_tokens for record in records),
        completion_tokens=fmean(record.completion_tokens for record in records),
        seconds=fmean(record.seconds for record in records),
        cost=fmean(record.cost for record in records),
    )


def compare_readers(records: Iterable[Record], reference: str, seed: int) -> list[Contrast]:
    """Every way less the same model's reference way; other models less the first that reads in the reference way."""
    readers = _group_by(records, lambda r: (r.model, r.way))
    standard = next((reader for reader in readers if reader[1] == reference), None)
    found: list[Contrast] = []
    for (model, way), group in readers.items():
        other = (model, reference) if way != reference and (model, reference) in readers else standard
        if other and other != (model, way):
            called = (f"{model} · {way}", " · ".join(other))
            found += compare_records(_index_by_sample(group), _index_by_sample(readers[other]), called, seed)
    return found


def compare_results(first: Results, second: Results, names: tuple[str, str], *, seed: int = 0) -> list[Contrast]:
    """The first file less the second on the samples that both have.

    Readers (model and way) are matched by name; where none match, the only one of each file.
    """
    one, other = (_group_by(results.records, lambda r: (r.model, r.way)) for results in (first, second))
    shared = [reader for reader in one if reader in other]
    couples = [(reader, reader) for reader in shared]
    if not shared and len(one) == len(other) == 1:
        couples = [(next(iter(one)), next(iter(other)))]
    found: list[Contrast] = []
    for mine, yours in couples:
        called = (f"{names[0]}: {' · '.join(mine)}", f"{names[1]}: {' · '.join(yours)}")
        found += compare_records(_index_by_sample(one[mine]), _index_by_sample(other[yours]), called, seed)
    if not found:
        raise ResultsError(
            f"{names[0]} and {names[1]} have no samples read by the same model in the same way; to compare different "
            f"readers, give files with one model and one way each, on the same samples"
        )
    return found


RecordsBySample = dict[tuple[str, int, str], "Record"]
"""One reader's records by task, length and sample."""


def compare_records(
    first: RecordsBySample, second: RecordsBySample, called: tuple[str, str], seed: int
) -> list[Contrast]:
    """Two readers on the samples that both have: every cell that both could measure, then all of those together."""
    couples = [(first[key], second[key]) for key in first if key in second]
    cells = _group_by(couples, lambda couple: (couple[0].task, couple[0].length))
    both = {place: group for place, group in cells.items() if _is_measured(group)}
    found = [_build_contrast(called, task, length, group, seed) for (task, length), group in both.items()]
    if len(both) > 1:
        found.append(_build_contrast(called, ALL, None, [couple for group in both.values() for couple in group], seed))
    return found


def _build_contrast(
    called: tuple[str, str], task: str, length: int | None, couples: Sequence[tuple[Record, Record]], seed: int
) -> Contrast:
    difference = compare_pairs([one.score for one, _ in couples], [other.score for _, other in couples], seed=seed)
    return Contrast(first=called[0], second=called[1], task=task, length=length, difference=difference)


def _is_measured(couples: Sequence[tuple[Record, Record]]) -> bool:
    """Whether both readers could read at least one of these documents."""
    return all(any(couple[side].outcome is not SampleOutcome.REFUSED for couple in couples) for side in (0, 1))


def _index_by_sample(records: Iterable[Record]) -> RecordsBySample:
    return {(record.task, record.length, record.sample): record for record in records}


def _group_by(values: Iterable[V], key: Callable[[V], K]) -> Mapping[K, list[V]]:
    groups: defaultdict[K, list[V]] = defaultdict(list)
    for value in values:
        groups[key(value)].append(value)
    return groups
