"""Running an evaluation: every sample read once, judged once and on the disk at once; killed, it goes on where it was.

A reading that fails is a result, not a crash: it counts as wrong, and the report lists it with its error. What a user
has to mend (a plan beyond the window, a missing package, a journal that cannot be written) ends the run instead.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from bookwheel.errors import BookwheelError, DocumentTooLong, JournalError, QuestionError
from bookwheel.evaluation.models import open_models
from bookwheel.evaluation.results import EvaluationRun, Record, Results, ResultsFile, SampleOutcome
from bookwheel.evaluation.sources import check_source, open_task_source
from bookwheel.evaluation.work import iterate_jobs, list_batches, match_models
from bookwheel.reading.runner import new_reading, run_reading
from bookwheel.reading.ways.registry import load_way
from bookwheel.scoring import METRICS
from bookwheel.types import DocumentInfo, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bookwheel.evaluation.models import ModelUnderTest, OpenModel
    from bookwheel.evaluation.results import RecordKey
    from bookwheel.evaluation.settings import Evaluation
    from bookwheel.evaluation.work import Batch, SampleJob, SampleSource
    from bookwheel.journal import Journal
    from bookwheel.types import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationProgress:
    """How far an evaluation is."""

    done: int
    total: int
    failed: int
    """Of this run."""
    seconds_left: float | None
    """None until something was done that tells."""
    newest: Record | None = None


def ignore_progress(_progress: EvaluationProgress) -> None:
    """Nobody looks on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run, which changes no number."""

    command: str = ""
    """The command line, for the report."""
    journal: Journal | None = None
    """Keeps every step, so that a killed reading of a long document goes on in its middle."""
    watch: Callable[[EvaluationProgress], None] = ignore_progress
    again: frozenset[SampleOutcome] = frozenset()
    """Results of an earlier run that are to be made anew, such as FAILED."""


async def evaluate(
    evaluation: Evaluation,
    results: Path,
    open_model: OpenModel,
    *,
    source: SampleSource | None = None,
    habits: RunOptions | None = None,
) -> Results:
    """Read and judge whatever the results file does not have yet, and give all that it has then.

    Without a source the samples are made by the tasks' own generators.
    """
    habits = habits or RunOptions()
    async with open_models(evaluation, open_model) as ready:
        source = source or open_task_source(evaluation, ready)
        await asyncio.to_thread(check_source, evaluation, source)
        waiting = list_batches(evaluation, source)
        with ResultsFile(results, _describe_run(evaluation, ready, habits.command)) as file:
            done = {record.key for record in file.results.records if record.outcome not in habits.again}
            sitting = _EvaluationWork(file, habits, waiting, ready, done)
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(evaluation.concurrency):
                        group.create_task(sitting.work())
            except* BookwheelError as faults:
                raise faults.exceptions[0] from None
    return Results.load(results)


def _describe_run(evaluation: Evaluation, opened: Sequence[ModelUnderTest], command: str) -> EvaluationRun:
    return EvaluationRun(
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=version("bookwheel"),
        fixed=evaluation.fixed_settings(),
        models={bench.label: bench.settings for bench in opened},
        settings=evaluation.to_json(),
    )


class _EvaluationWork:
    """One run: the jobs that are left, and how far it is."""

    def __init__(
        self,
        file: ResultsFile,
        habits: RunOptions,
        waiting: Sequence[Batch],
        opened: Sequence[ModelUnderTest],
        done: set[RecordKey],
    ) -> None:
        self._file = file
        self._habits = habits
        self._jobs: Iterator[SampleJob] = iterate_jobs(waiting, opened, done)
        self._next = asyncio.Lock()
        self._began = time.monotonic()
        cells = {
            (batch.task, batch.length, way, bench.label): batch
            for batch in waiting
            for bench, way in match_models(batch, opened)
        }
        had = Counter((task, length, way, label) for task, length, _, way, label in done)
        had = Counter({cell: min(count, cells[cell].count) for cell, count in had.items() if cell in cells})
        self._total = sum(batch.count for batch in cells.values())
        self._done = had.total()
        self._failed = 0
        self._weight_left = sum((b.count - had[cell]) * max(b.length, 1) for cell, b in cells.items())
        self._weight_done = 0

    async def work(self) -> None:
        """Take jobs until there are none."""
        while job := await self._job():
            record = await measure_sample(job, self._habits.journal)
            self._file.add(record)
            self._count(job, record)

    async def _job(self) -> SampleJob | None:
        """The next job; making its sample may take a while, so it is done off the loop."""
        async with self._next:
            return await asyncio.to_thread(next, self._jobs, None)

    def _count(self, job: SampleJob, record: Record) -> None:
        self._done += 1
        self._failed += record.outcome is not SampleOutcome.SCORED
        self._weight_done += job.weight
        self._weight_left = max(0, self._weight_left - job.weight)
        rate = self._weight_done / max(time.monotonic() - self._began, 1e-9)
        self._habits.watch(
            EvaluationProgress(
                done=self._done,
                total=self._total,
                failed=self._failed,
                seconds_left=self._weight_left / rate,
                newest=record,
            )
        )


async def measure_sample(job: SampleJob, journal: Journal | None) -> Record:
    """Read one sample and judge the answer. Raises what a user has to mend; whatever else goes wrong is a result."""
    began = time.perf_counter()
    reading = await asyncio.to_thread(_start_reading, job, journal)
    try:
        if reading.status is not Status.ANSWERED:
            way = load_way(job.way)
            reading = await run_reading(reading, job.sample.document, job.bench.model, way=way, journal=journal)
    except (DocumentTooLong, QuestionError) as refusal:
        outcome, error = SampleOutcome.REFUSED, str(refusal)
    except BookwheelError:
        raise
    except Exception as fault:  # noqa: BLE001 - one sample is recorded as failed
        outcome, error = SampleOutcome.FAILED, f"{type(fault).__name__}: {fault}"
    else:
        return _score_reading(job, reading, time.perf_counter() - began)
    return _new_record(job, outcome, seconds=time.perf_counter() - began, error=error)


def _start_reading(job: SampleJob, journal: Journal | None) -> Reading:
    """The job's reading: new, or as far as the journal has it."""
    name = hashlib.sha256("\0".join((job.bench.fingerprint, *map(str, job.key))).encode()).hexdigest()[:16]
    if journal:
        try:
            return journal.reading(name)
        except JournalError:
            document = journal.keep(job.sample.document).info
    else:
        document = DocumentInfo(id="", name=job.sample.document.name, length=job.sample.document.length or 0)
    reading = replace(new_reading(document, job.sample.question, job.bench.model, job.bench.plan, job.way), id=name)
    if journal:
        journal.begin(reading)
    return reading


_OUTCOMES: Mapping[Status, SampleOutcome] = {
    Status.ANSWERED: SampleOutcome.SCORED,
    Status.STOPPED: SampleOutcome.STOPPED,
}


def _score_reading(job: SampleJob, reading: Reading, seconds: float) -> Record:
    """The record of a reading that has ended."""
    outcome = _OUTCOMES.get(reading.status, SampleOutcome.FAILED)
    answer = reading.answer.text if reading.answer and outcome is SampleOutcome.SCORED else None
    flags = Counter(str(flag) for step in reading.steps for flag in step.flags)
    flags.update(map(str, reading.answer.flags if reading.answer else ()))
    score, usage = job.sample.score(answer), reading.usage
    return replace(
        _new_record(job, outcome, seconds=seconds, error=reading.error),
        score=score.score,
        reason=score.reason,
        official=None if answer is None else METRICS["official"](answer, job.sample.golds).score,
        answer=answer or "",
        reading=reading.id,
        steps=len(reading.steps),
        flags=dict(flags),
        calls=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=reading.plan.budget.price(usage.prompt_tokens, usage.completion_tokens),
    )


def _new_record(job: SampleJob, outcome: SampleOutcome, *, seconds: float, error: str) -> Record:
    """What is known of a job before its answer is judged."""
    sample = job.sample
    task, length, name, way, label = job.key
    return Record(
        fingerprint=job.bench.fingerprint,
        task=task,
        length=length,
        sample=name,
        way=way,
        model=label,
        outcome=outcome,
        score=0.0,
        metric=sample.metric,
        reason="no answer",
        question=sample.question,
        golds=sample.golds,
        error=error,
        tokens=sample.tokens,
        seed=sample.seed,
        language=sample.language,
        seconds=seconds,
    )
