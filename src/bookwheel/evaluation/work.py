"""The jobs of an evaluation: every sample in every way with every model.

Samples are made when their turn comes. Jobs whose result exists are skipped.
"""

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
    """Task and length to its samples, which are the same at every call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The samples of one task and length."""

    task: str
    length: int
    count: int
    samples: Callable[[], Iterator[Sample]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleJob:
    """One sample for one model to read in one way."""

    sample: Sample
    length: int
    candidate: ModelUnderTest
    way: str

    @property
    def key(self) -> RecordKey:
        """The key of its record."""
        return (self.sample.task, self.length, self.sample.id, self.way, self.candidate.label)

    @property
    def weight(self) -> int:
        """The amount of work, relative to other jobs."""
        return max(self.length, 1)


def list_batches(evaluation: Evaluation, source: SampleSource) -> list[Batch]:
    """Return a batch for each task and length, then those of the files of samples."""
    lengths = dict.fromkeys((*evaluation.lengths, *(n for model in evaluation.models for n in model.lengths)))
    batches = [
        Batch(
            task=task,
            length=length,
            count=evaluation.count,
            samples=partial(_take_first, partial(source, task, length), evaluation.count),
        )
        for task in evaluation.tasks
        for length in sorted(lengths)
    ]
    return batches + [batch for name in evaluation.samples for batch in _read_file_batches(Path(name))]


def iterate_jobs(
    batches: Sequence[Batch], candidates: Sequence[ModelUnderTest], done: Collection[RecordKey]
) -> Iterator[SampleJob]:
    """Yield the jobs that have no result yet, sample by sample: only one sample is in memory at a time."""
    have = Counter((task, length, way, label) for task, length, _, way, label in done)
    for batch in batches:
        pairs = match_models(batch, candidates)
        if all(have[batch.task, batch.length, way, candidate.label] >= batch.count for candidate, way in pairs):
            continue
        for sample in batch.samples():
            for candidate, way in pairs:
                job = SampleJob(sample=sample, length=batch.length, candidate=candidate, way=way)
                if job.key not in done:
                    yield job


def match_models(batch: Batch, candidates: Sequence[ModelUnderTest]) -> list[tuple[ModelUnderTest, str]]:
    """Return the models that read a batch, each with the ways it reads it in."""
    readers = [one for one in candidates if not one.lengths or batch.length in one.lengths]
    return [(reader, way) for reader in readers for way in reader.ways]


def _take_first(samples: Callable[[], Iterator[Sample]], count: int) -> Iterator[Sample]:
    return islice(samples(), count)


def _read_file_batches(path: Path) -> list[Batch]:
    """Return the batches of a file of samples, one for each task and length."""
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
