"""Run an evaluation: read and score every sample once. A run that was killed continues where it stopped.

A failed reading is a result: it counts as wrong, and the report lists its error. Errors that a user must fix (a plan
beyond the window, a missing package, a journal that cannot be written) end the run.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from math import log
from pathlib import Path
from statistics import fmean

from bookwheel.errors import BookwheelError
from bookwheel.journal import Journal
from bookwheel.lab.evaluation.judge import judge_records
from bookwheel.lab.evaluation.manifest import build_manifest
from bookwheel.lab.evaluation.measure import measure_sample
from bookwheel.lab.evaluation.records import Record, RecordKey, SampleOutcome
from bookwheel.lab.evaluation.results import EvaluationRun, Results, ResultsFile
from bookwheel.lab.evaluation.samples import (
    KnownAnswers,
    UnknownPlaces,
    check_source,
    choose_unknown_places,
    describe_left_out,
    describe_passed_over,
    open_task_source,
)
from bookwheel.lab.evaluation.settings import Evaluation
from bookwheel.lab.evaluation.work import (
    Batch,
    ModelUnderTest,
    OpenModel,
    SampleJob,
    SampleSource,
    count_done,
    iterate_jobs,
    list_batches,
    match_models,
    open_models,
    open_optional_model,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationProgress:
    """The progress of an evaluation."""

    done: int
    total: int
    failed: int
    """Samples of this run that were read and have no answer."""
    seconds_left: float | None
    """None until a sample is done."""
    newest: Record | None = None


class TimeLeft:
    """How long a run goes on: by the seconds of a sample of each length, of other lengths by how these have grown.

    From the first length alone the cost is taken to be linear, as it is where every section is read.

    >>> left = TimeLeft({1000: 2, 2000: 2, 8000: 4})
    >>> [left.add(length, seconds) for length, seconds in ((1000, 3.0), (1000, 3.0), (2000, 3.0))]
    [None, None, None]
    >>> left.estimate(elapsed=9.0)
    15.0
    """

    def __init__(self, samples: Mapping[int, int]) -> None:
        self._left = Counter(samples)
        self._seconds: dict[int, list[float]] = {}

    def add(self, length: int, seconds: float) -> None:
        self._left[length] -= 1
        self._seconds.setdefault(length, []).append(seconds)

    def estimate(self, elapsed: float) -> float:
        """Return the seconds that are left, after some of them: several samples are under way at once."""
        means = {length: fmean(seconds) for length, seconds in sorted(self._seconds.items())}
        (first, least), (last, most) = next(iter(means.items())), next(reversed(means.items()))
        growth = log(most / least) / log(last / first) if last > first and least and most else 1.0

        def guess(length: int) -> float:
            near = max((one for one in means if one <= length), default=first)
            return means[near] * float((length / near) ** min(1.0, max(0.0, growth)))

        spent = sum(map(sum, self._seconds.values()))
        return (
            sum(count * guess(length) for length, count in self._left.items() if count > 0) * elapsed / (spent or 1.0)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options that change no score."""

    command: str = ""
    """The command line, for the report."""
    journal: Journal | None = None
    """Keeps every step, so that a killed reading continues in the middle of its document."""
    on_progress: Callable[[EvaluationProgress], None] = lambda _progress: None
    rerun: frozenset[SampleOutcome] = frozenset()
    """Outcomes of earlier runs to replace, such as FAILED."""


async def evaluate(
    evaluation: Evaluation,
    results: Path,
    open_model: OpenModel,
    *,
    source: SampleSource | None = None,
    options: RunOptions | None = None,
) -> Results:
    """Read and score every sample that has no result yet, and return all results.

    Without a source the tasks' own generators make the samples.
    """
    options = options or RunOptions()
    async with (
        open_models(evaluation, open_model) as candidates,
        open_optional_model(evaluation.judge, open_model) as judge,
    ):
        notes: list[str] = []
        if not source:
            notes += await asyncio.to_thread(describe_left_out, evaluation)
            chosen = await _choose_questions(evaluation, candidates, open_model, results)
            notes += describe_passed_over(evaluation, chosen)
            places = {name: one.places for name, one in chosen.items()}
            source = open_task_source(evaluation, candidates, places)
        await asyncio.to_thread(check_source, evaluation, source)
        batches = list_batches(evaluation, source)
        run = EvaluationRun(
            command=options.command,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            version=version("bookwheel"),
            fixed=evaluation.fixed_settings(),
            models={one.label: one.settings for one in candidates},
            settings=evaluation.to_json(),
            notes=tuple(notes),
            manifest=await asyncio.to_thread(build_manifest, evaluation, candidates, judge),
        )
        with ResultsFile(results, run) as file:
            kept = (record for record in file.results.records if record.outcome not in options.rerun)
            done = {record.key: record.content for record in kept}
            work = _EvaluationWork(file, options, batches, candidates, done, evaluation.repeats)
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(evaluation.concurrency):
                        group.create_task(work.run())
            except* BookwheelError as faults:
                raise faults.exceptions[0] from None
            if judge and evaluation.judge:
                records = (await asyncio.to_thread(Results.load, results)).records
                label = evaluation.judge.display_name
                retry = SampleOutcome.FAILED in options.rerun
                at_once = evaluation.concurrency
                await judge_records(records, judge, label, add=file.add, at_once=at_once, retry_unclear=retry)
    return Results.load(results)


async def _choose_questions(
    evaluation: Evaluation, candidates: Sequence[ModelUnderTest], open_model: OpenModel, results: Path
) -> dict[tuple[str, str], UnknownPlaces]:
    """Return the places of questions whose answers a model does not know; nothing where none is named."""
    async with open_optional_model(evaluation.unknown_to, open_model) as knower:
        if not knower:
            return {}
        known_answers = KnownAnswers(results.with_name("known.jsonl"), knower.name)
        return await choose_unknown_places(evaluation, candidates, knower, known_answers)


class _EvaluationWork:
    """The jobs that are left, and the progress of the run."""

    def __init__(
        self,
        file: ResultsFile,
        options: RunOptions,
        batches: Sequence[Batch],
        candidates: Sequence[ModelUnderTest],
        done: Mapping[RecordKey, str],
        repeats: int,
    ) -> None:
        self._file = file
        self._options = options
        self._jobs: Iterator[SampleJob] = iterate_jobs(batches, candidates, done, repeats)
        self._lock = asyncio.Lock()
        self._began = time.monotonic()
        cells = {
            (batch.task, batch.length, way, candidate.label): batch
            for batch in batches
            for candidate, way in match_models(batch, candidates)
        }
        size = {cell: batch.count * repeats for cell, batch in cells.items()}
        known = count_done(done, repeats)
        finished = Counter({cell: min(known[cell], size[cell]) for cell in cells})
        self._total = sum(size.values())
        self._done = finished.total()
        self._failed = 0
        left = Counter[int]()
        for cell, batch in cells.items():
            left[max(batch.length, 1)] += size[cell] - finished[cell]
        self._time_left = TimeLeft(left)

    async def run(self) -> None:
        """Take jobs until there are none."""
        while job := await self._next_job():
            record = await measure_sample(job, self._options.journal)
            self._file.add(record)
            self._report(job, record)

    async def _next_job(self) -> SampleJob | None:
        """Return the next job. Its sample is made in a thread, because that can take seconds."""
        async with self._lock:
            return await asyncio.to_thread(next, self._jobs, None)

    def _report(self, job: SampleJob, record: Record) -> None:
        self._done += 1
        self._failed += record.outcome not in {SampleOutcome.SCORED, SampleOutcome.INFEASIBLE}
        self._time_left.add(max(job.length, 1), record.seconds)
        self._options.on_progress(
            EvaluationProgress(
                done=self._done,
                total=self._total,
                failed=self._failed,
                seconds_left=self._time_left.estimate(time.monotonic() - self._began),
                newest=record,
            )
        )
