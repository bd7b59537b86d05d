"""Reports of a server: the same order again goes on where the last one stood, and ends with the written report.

    order = brief, outline, documents, model
    rows  = one reading by `collect` for each section of each document; those that are there are taken
    text  = written once all of them have ended

A matrix is ordered in the same way: its readings are those of its questions, by the way of reading that is asked for.
Nothing but the readings is stored. A written report is kept in memory until a reading of it changes, or any is deleted.
"""

import asyncio
import hashlib
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from bookwheel.background import let_leave
from bookwheel.reports.matrix import Matrix, match_readings, write_matrix
from bookwheel.reports.outline import Outline, propose_outline
from bookwheel.reports.report import ReportState, WrittenReport, write_report
from bookwheel.serve.engine.access import Key
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.running_reading import Caller, RunningReading
from bookwheel.serve.engine.service import ReadingSpec, Service
from bookwheel.serve.engine.starting import start_readings
from bookwheel.session import Session
from bookwheel.types import Reading, Status

ReportStage: TypeAlias = Literal["reading", "writing", "written"]

_MOST_KEPT: Final = 32
_MOST_READINGS: Final = 10_000
"""Of one document, that are looked through for those of a report."""
_TOO_MANY: Final = 429


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOrder:
    """What a report is to be made of."""

    brief: str
    outline: Outline
    documents: tuple[str, ...]
    """Their SHA-256; the client may read them."""
    spec: ReadingSpec

    @property
    def questions(self) -> tuple[str, ...]:
        """What each document is read for: one reading each."""
        return tuple(section.sentence for section in self.outline.sections)

    @property
    def digest(self) -> str:
        return _digest(self.brief, self.outline.to_markdown(), self.spec.model, *self.documents)

    async def write(self, session: Session, readings: dict[str, list[str]]) -> WrittenReport:
        made_of = ReportState(brief=self.brief, outline=self.outline, readings=readings)
        return await write_report(session, made_of, self.documents, self.spec.plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixOrder:
    """A table of documents by questions to make."""

    questions: tuple[str, ...]
    documents: tuple[str, ...]
    spec: ReadingSpec

    @property
    def digest(self) -> str:
        return _digest("matrix", self.spec.model, self.spec.way, *self.questions, "", *self.documents)

    async def write(self, session: Session, readings: dict[str, list[str]]) -> Matrix:
        journal = session.require_journal("the readings of a table")
        load = lambda: [tuple(journal.reading(id_) for id_ in readings[sha]) for sha in self.documents]  # noqa: E731
        return await write_matrix(session, await asyncio.to_thread(load), self.questions, self.spec.plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportProgress:
    """How far a report is."""

    status: ReportStage
    readings: dict[str, list[str]]
    """By the SHA-256 of a document, the readings that have begun, in the order of the sections."""
    ended: int
    total: int
    report: WrittenReport | Matrix | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenOnce:
    """A report that is written, or being written, and the state of its readings when that began."""

    state: object
    task: asyncio.Task[WrittenReport | Matrix]


class ServedReports:
    """The reports of a server, which each key orders for itself."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def propose(self, key: Key | None, brief: str, spec: ReadingSpec) -> Outline:
        session = self._service.make_session(key, spec.model)
        self._service.queue.check_capacity()
        return await self._service.readings.loop.run(propose_outline(brief, session.model, spec.plan))

    async def make(
        self, order: ReportOrder | MatrixOrder, caller: Caller, *, wait: float = 0.0, goes_on: bool = False
    ) -> ReportProgress:
        """Begin what is missing, wait so many seconds at most, and return how far the report is.

        With `goes_on`, readings that stopped or failed are continued; else the report says that they were read in part.
        """
        end = time.monotonic() + wait
        for sha in order.documents:
            await self._service.get_document(sha, caller.key)
        lock = self._service.request_locks.setdefault((caller.key_name, f"report\n{order.digest}"), asyncio.Lock())
        async with lock:
            readings = {sha: await self._begin(order, sha, caller, goes_on=goes_on) for sha in order.documents}
        ids = [id_ for ids in readings.values() for id_ in ids]
        running = [one for id_ in ids if (one := self._service.readings.get_running(id_))]
        await _wait_for(running, end)
        total = len(order.documents) * len(order.questions)
        under_way = sum(self._service.readings.get_running(id_) is not None for id_ in ids)
        if under_way or len(ids) < total:
            return ReportProgress(status="reading", readings=readings, ended=len(ids) - under_way, total=total)
        task = await self._write(order, caller, readings)
        await asyncio.wait([task], timeout=max(0.0, end - time.monotonic()))
        return ReportProgress(
            status="written" if task.done() else "writing",
            readings=readings,
            ended=total,
            total=total,
            report=task.result() if task.done() else None,
        )

    async def _begin(self, order: ReportOrder | MatrixOrder, sha: str, caller: Caller, *, goes_on: bool) -> list[str]:
        """Return the readings of a document, begun where there are none; fewer where there is no place."""
        listed = await self._service.list_readings(caller.key, limit=_MOST_READINGS, document=sha)
        mine = match_readings(listed, order.spec.model, order.spec.way)
        sentences = list(dict.fromkeys(order.questions))
        missing = [sentence for sentence in sentences if sentence not in mine]
        ids = {sentence: one.id for sentence, one in mine.items()}
        try:
            for one in (mine[sentence] for sentence in sentences if sentence in mine):
                await self._go_on(one, caller, goes_on=goes_on)
            if missing:
                opener = partial(self._service.get_document, sha, caller.key)
                begun = await start_readings(self._service, order.spec, missing, opener, caller)
                for sentence, running in zip(missing, begun, strict=True):
                    await self._service.wait_until_started(running)
                    ids[sentence] = running.reading.id
        except ApiError as error:
            if error.status != _TOO_MANY:
                raise
        return [ids[sentence] for sentence in order.questions if sentence in ids]

    async def _go_on(self, reading: Reading, caller: Caller, *, goes_on: bool) -> None:
        is_left = reading.status is Status.READING and not self._service.readings.get_running(reading.id)
        if is_left or (goes_on and reading.status not in {Status.READING, Status.ANSWERED}):
            whole = await self._service.get_reading(reading.id, caller.key)
            await self._service.resume(whole, {}, caller)

    async def _write(
        self, order: ReportOrder | MatrixOrder, caller: Caller, readings: dict[str, list[str]]
    ) -> asyncio.Task[WrittenReport | Matrix]:
        """Return the task that writes the report; the one that wrote it where nothing has changed since."""
        name, kept = (caller.key_name, order.digest), self._service.written_reports
        state = await asyncio.to_thread(self._describe_state, [id_ for ids in readings.values() for id_ in ids])
        before = kept.get(name)
        if before and before.state == state and not _has_failed(before.task):
            return before.task
        session = self._service.make_session(caller.key, order.spec.model)
        self._service.queue.check_capacity()
        work: Coroutine[Any, Any, WrittenReport | Matrix] = order.write(session, readings)
        # A client that stops asking for it is told of no failure.
        task = let_leave(asyncio.create_task(self._service.readings.loop.run(work)))
        kept[name] = WrittenOnce(state=state, task=task)
        while len(kept) > _MOST_KEPT:
            del kept[next(iter(kept))]
        return kept[name].task

    def _describe_state(self, ids: Sequence[str]) -> object:
        """Return what changes when a reading goes on or a row of it is edited."""
        journal = self._service.journal
        listed = {one.id: (one.status, one.usage.tokens) for one in journal.readings(ids=ids)}
        return [(id_, listed.get(id_), dict(journal.row_edits(id_))) for id_ in ids]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _has_failed(task: asyncio.Task[WrittenReport | Matrix]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


async def _wait_for(running: Sequence[RunningReading], end: float) -> None:
    left = end - time.monotonic()
    if running and left > 0:
        waits = [asyncio.create_task(one.done.wait()) for one in running]
        _, pending = await asyncio.wait(waits, timeout=left)
        for task in pending:
            task.cancel()
