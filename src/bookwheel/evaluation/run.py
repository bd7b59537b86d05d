"""Run an evaluation: read and score every sample once. A run that was killed continues where it stopped.

A failed reading is a result: it counts as wrong, and the report lists its error. Errors that a user must fix (a plan
beyond the window, a missing package, a journal that cannot be written) end the run.
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
    """The progress of an evaluation."""

    done: int
    total: int
    failed: int
    """Samples of this run without an answer."""
    seconds_left: float | None
    """None until a sample is done."""
    newest: Record | None = None


def ignore_progress(_progress: EvaluationProgress) -> None:
    """Do nothing with the progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options that change no score."""

    command: str = ""
    """The command line, for the report."""
    journal: Journal | None = None
    """Keeps every step, so that a killed reading continues in the middle of its document."""
    on_progress: Callable[[EvaluationProgress], None] = ignore_progress
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
    async with open_models(evaluation, open_model) as candidates:
        source = source or open_task_source(evaluation, candidates)
        await asyncio.to_thread(check_source, evaluation, source)
        batches = list_batches(evaluation, source)
        with ResultsFile(results, _describe_run(evaluation, candidates, options.command)) as file:
            done = {record.key for record in file.results.records if record.outcome not in options.rerun}
            work = _EvaluationWork(file, options, batches, candidates, done)
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(evaluation.concurrency):
                        group.create_task(work.run())
            except* BookwheelError as faults:
                raise faults.exceptions[0] from None
    return Results.load(results)


def _describe_run(evaluation: Evaluation, candidates: Sequence[ModelUnderTest], command: str) -> EvaluationRun:
    return EvaluationRun(
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=version("bookwheel"),
        fixed=evaluation.fixed_settings(),
        models={one.label: one.settings for one in candidates},
        settings=evaluation.to_json(),
    )


class _EvaluationWork:
    """The jobs that are left, and the progress of the run."""

    def __init__(
        self,
        file: ResultsFile,
        options: RunOptions,
        batches: Sequence[Batch],
        candidates: Sequence[ModelUnderTest],
        done: set[RecordKey],
    ) -> None:
        self._file = file
        self._options = options
        self._jobs: Iterator[SampleJob] = iterate_jobs(batches, candidates, done)
        self._lock = asyncio.Lock()
        self._began = time.monotonic()
        cells = {
            (batch.task, batch.length, way, candidate.label): batch
            for batch in batches
            for candidate, way in match_models(batch, candidates)
        }
        finished = Counter((task, length, way, label) for task, length, _, way, label in done)
        finished = Counter({cell: min(count, cells[cell].count) for cell, count in finished.items() if cell in cells})
        self._total = sum(batch.count for batch in cells.values())
        self._done = finished.total()
        self._failed = 0
        self._weight_left = sum((b.count - finished[cell]) * max(b.length, 1) for cell, b in cells.items())
        self._weight_done = 0

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
        self._failed += record.outcome is not SampleOutcome.SCORED
        self._weight_done += job.weight
        self._weight_left = max(0, self._weight_left - job.weight)
        rate = self._weight_done / max(time.monotonic() - self._began, 1e-9)
        self._options.on_progress(
            EvaluationProgress(
                done=self._done,
                total=self._total,
                failed=self._failed,
                seconds_left=self._weight_left / rate,
                newest=record,
            )
        )


async def measure_sample(job: SampleJob, journal: Journal | None) -> Record:
    """Read one sample and score the answer. Errors that a user must fix are raised; any other is a result."""
    began = time.perf_counter()
    reading = await asyncio.to_thread(_start_reading, job, journal)
    try:
        if reading.status is not Status.ANSWERED:
            way = load_way(job.way)
            reading = await run_reading(reading, job.sample.document, job.candidate.model, way=way, journal=journal)
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
    """Return the job's reading: the journal's if it was begun before, else a new one."""
    name = hashlib.sha256("\0".join((job.candidate.fingerprint, *map(str, job.key))).encode()).hexdigest()[:16]
    if journal:
        try:
            return journal.reading(name)
        except JournalError:
            document = journal.keep(job.sample.document).info
    else:
        document = DocumentInfo(id="", name=job.sample.document.name, length=job.sample.document.length or 0)
    candidate = job.candidate
    reading = new_reading(document, job.sample.question, candidate.model, candidate.plan, job.way)
    reading = replace(reading, id=name)
    if journal:
        journal.begin(reading)
    return reading


_OUTCOMES: Mapping[Status, SampleOutcome] = {
    Status.ANSWERED: SampleOutcome.SCORED,
    Status.STOPPED: SampleOutcome.STOPPED,
}


def _score_reading(job: SampleJob, reading: Reading, seconds: float) -> Record:
    """Return the record of a reading that has ended."""
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
    """Return the record of a job without an answer."""
    sample = job.sample
    task, length, name, way, label = job.key
    return Record(
        fingerprint=job.candidate.fingerprint,
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
