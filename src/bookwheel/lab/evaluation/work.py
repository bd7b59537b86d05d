"""The jobs of an evaluation: every sample in every way with every model, as often as it repeats.

Samples are made when their turn comes. Jobs whose result exists are skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bookwheel.lab.evaluation.coverage import find_default_share
from bookwheel.lab.evaluation.errors import SettingsError
from bookwheel.lab.tasks.base import MissingSample, Sample
from bookwheel.lab.tasks.definition import make_sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bookwheel.lab.evaluation.models import ModelUnderTest
    from bookwheel.lab.evaluation.records import Record, RecordKey
    from bookwheel.lab.evaluation.settings import Evaluation

    SampleSource = Callable[[str, int], Iterable[Sample]]
    """Task and length to its samples, which are the same at every call.

    A sequence makes each sample by itself, so one that raises InfeasibleSample does not end the others.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The samples of one task and length."""

    task: str
    length: int
    count: int
    """Samples, not counting repeats."""
    samples: Callable[[], Iterator[tuple[int, Sample | MissingSample]]]
    """Each with its place: among the samples of its task and length, or in its file."""
    file: str = ""
    """The file of samples that they stand in; empty where the task makes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleJob:
    """One sample for one model to read in one way."""

    sample: Sample | MissingSample
    content: str
    """The sample's content; empty when it could not be made."""
    length: int
    candidate: ModelUnderTest
    way: str
    repeat: int = 0
    place: int = 0
    file: str = ""
    found_by_search: float | None = None

    @property
    def key(self) -> RecordKey:
        """The key of its record."""
        return (self.sample.task, self.length, self.sample.id, self.way, self.candidate.label, self.repeat)

    @property
    def weight(self) -> int:
        """The amount of work, relative to other jobs."""
        return max(self.length, 1)


def list_batches(evaluation: Evaluation, source: SampleSource) -> list[Batch]:
    """Return a batch for each task and length, then those of the files of samples."""
    batches = [
        _make_batch(task, length, source, evaluation.count)
        for task in evaluation.tasks
        for length in evaluation.every_length
    ]
    pool = Path(evaluation.data) if evaluation.data else None
    return batches + [batch for name in evaluation.samples for batch in _read_file_batches(Path(name), pool)]


def _make_batch(task: str, length: int, source: SampleSource, count: int) -> Batch:
    samples = source(task, length)
    # A series knows its own number: a task that is made in two languages has twice as many.
    count = len(samples) if isinstance(samples, Sequence) else count
    return Batch(task=task, length=length, count=count, samples=partial(_iterate_samples, source, task, length, count))


def iterate_jobs(
    batches: Sequence[Batch],
    candidates: Sequence[ModelUnderTest],
    done: Mapping[RecordKey, str],
    repeats: int = 1,
) -> Iterator[SampleJob]:
    """Yield the jobs that have no result yet, sample by sample: only one sample is in memory at a time.

    `done` has the content behind each result. A sample whose content is another by now is read again.
    """
    have = Counter((task, length, way, label) for task, length, _, way, label, repeat in done if repeat < repeats)
    for batch in batches:
        pairs = match_models(batch, candidates)
        is_full = all(have[batch.task, batch.length, way, one.label] >= batch.count * repeats for one, way in pairs)
        for place, sample in batch.samples():
            content = _content_of(sample)
            jobs = [
                SampleJob(
                    sample=sample,
                    content=content,
                    length=batch.length,
                    candidate=one,
                    way=way,
                    repeat=repeat,
                    place=place,
                    file=batch.file,
                )
                for one, way in pairs
                for repeat in range(repeats)
            ]
            left = [job for job in jobs if not _is_done(job, done)]
            # Once for all ways and models: in a long document the search takes seconds.
            found = find_default_share(sample) if left and isinstance(sample, Sample) else None
            yield from (replace(job, found_by_search=found) for job in left)
            # Making thousands of samples again only to skip them takes minutes: the first one stands for all. People
            # edit files, so each of their samples is compared with its result.
            if is_full and not left and not batch.file:
                break


def _content_of(sample: Sample | MissingSample) -> str:
    return "" if isinstance(sample, MissingSample) else sample.content


def _is_done(job: SampleJob, done: Mapping[RecordKey, str]) -> bool:
    """Return whether the job has a result for the same content; results of older versions name none."""
    content = done.get(job.key)
    return content is not None and content in ("", job.content)


def match_models(batch: Batch, candidates: Sequence[ModelUnderTest]) -> list[tuple[ModelUnderTest, str]]:
    """Return the models that read a batch, each with the ways it reads it in."""
    readers = [one for one in candidates if not one.lengths or batch.length in one.lengths]
    return [(reader, way) for reader in readers for way in reader.ways]


def _iterate_samples(
    source: SampleSource, task: str, length: int, count: int
) -> Iterator[tuple[int, Sample | MissingSample]]:
    samples = source(task, length)
    if isinstance(samples, Sequence):
        yield from ((place, make_sample(samples, place)) for place in range(len(samples)))
    else:
        yield from enumerate(islice(samples, count))


def _read_file_batches(path: Path, pool: Path | None) -> list[Batch]:
    """Return the batches of a file of samples, one for each task and length."""
    from bookwheel.lab.tasks.files import read_entries

    counted: Counter[tuple[str, int]] = Counter()
    seen: set[tuple[str, int, str]] = set()
    for sample in read_entries(path, pool):
        place = (sample.task, _length(sample))
        counted[place] += 1
        if (*place, sample.id) in seen:
            raise SettingsError(f"{path} has two samples called {sample.id!r} in task {sample.task!r}; rename one")
        seen.add((*place, sample.id))
    if not counted:
        raise SettingsError(f"{path} holds no samples")
    return [
        Batch(
            task=task,
            length=length,
            count=count,
            samples=partial(_read_matching, path, pool, task, length),
            file=str(path),
        )
        for (task, length), count in counted.items()
    ]


def _read_matching(
    path: Path, pool: Path | None, task: str, length: int
) -> Iterator[tuple[int, Sample | MissingSample]]:
    from bookwheel.lab.tasks.files import read_entries

    for place, sample in enumerate(read_entries(path, pool)):
        if (sample.task, _length(sample)) == (task, length):
            yield place, sample


def _length(sample: Sample | MissingSample) -> int:
    return sample.length or (sample.tokens if isinstance(sample, Sample) else 0)


def list_done(records: Iterable[Record]) -> dict[RecordKey, str]:
    """Return the keys of the records with the contents that they stand for."""
    return {record.key: record.content for record in records}
