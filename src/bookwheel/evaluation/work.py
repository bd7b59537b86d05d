"""What there is to do: every sample in every way with every model; made when its turn comes, skipped when done."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.evaluation.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from bookwheel.evaluation.models import ModelUnderTest
    from bookwheel.evaluation.results import RecordKey
    from bookwheel.evaluation.settings import Evaluation
    from bookwheel.tasks.base import Sample

    SampleSource = Callable[[str, int], Iterator[Sample]]
    """Task and length to its samples, the same ones every time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The samples of one task and length."""

    task: str
    length: int
    count: int
    samples: Callable[[], Iterator[Sample]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleJob:
    """One sample to be read in one way by one model."""

    sample: Sample
    length: int
    bench: ModelUnderTest
    way: str

    @property
    def key(self) -> RecordKey:
        """The key of the record that it will leave."""
        return (self.sample.task, self.length, self.sample.id, self.way, self.bench.label)

    @property
    def weight(self) -> int:
        """About how much work it is, compared with others."""
        return max(self.length, 1)


def list_batches(evaluation: Evaluation, source: SampleSource) -> list[Batch]:
    """Tasks by lengths, then what the files of samples hold."""
    lengths = dict.fromkeys((*evaluation.lengths, *(n for model in evaluation.models for n in model.lengths)))
    made = [
        Batch(
            task=task,
            length=length,
            count=evaluation.count,
            samples=partial(_take_first, partial(source, task, length), evaluation.count),
        )
        for task in evaluation.tasks
        for length in sorted(lengths)
    ]
    return made + [batch for name in evaluation.samples for batch in _read_file_batches(Path(name))]


def iterate_jobs(
    waiting: Sequence[Batch], benches: Sequence[ModelUnderTest], done: Collection[RecordKey]
) -> Iterator[SampleJob]:
    """Everything that is not done, sample by sample, so that a sample is let go before the next is made."""
    have = Counter((task, length, way, label) for task, length, _, way, label in done)
    for batch in waiting:
        wanted = match_models(batch, benches)
        if all(have[batch.task, batch.length, way, bench.label] >= batch.count for bench, way in wanted):
            continue
        for sample in batch.samples():
            for bench, way in wanted:
                job = SampleJob(sample=sample, length=batch.length, bench=bench, way=way)
                if job.key not in done:
                    yield job


def match_models(batch: Batch, benches: Sequence[ModelUnderTest]) -> list[tuple[ModelUnderTest, str]]:
    """Which models read a batch, and how."""
    takers = [bench for bench in benches if not bench.lengths or batch.length in bench.lengths]
    return [(bench, way) for bench in takers for way in bench.ways]


def _take_first(samples: Callable[[], Iterator[Sample]], count: int) -> Iterator[Sample]:
    return islice(samples(), count)


def _read_file_batches(path: Path) -> list[Batch]:
    """A file's samples by task and length."""
    from bookwheel.tasks.files import read_samples

    counted: Counter[tuple[str, int]] = Counter()
    seen: set[tuple[str, int, str]] = set()
    for sample in read_samples(path):
        place = (sample.task, _length(sample))
        counted[place] += 1
        if (*place, sample.id) in seen:
            raise SettingsError(f"{path} has two samples called {sample.id!r} in task {sample.task!r}; rename one")
        seen.add((*place, sample.id))
    return [
        Batch(task=task, length=length, count=count, samples=partial(_read_matching, path, task, length))
        for (task, length), count in counted.items()
    ]


def _read_matching(path: Path, task: str, length: int) -> Iterator[Sample]:
    from bookwheel.tasks.files import read_samples

    return (sample for sample in read_samples(path) if (sample.task, _length(sample)) == (task, length))


def _length(sample: Sample) -> int:
    return sample.length or sample.tokens
