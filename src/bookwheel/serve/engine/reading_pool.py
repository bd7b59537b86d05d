"""The readings under way in one server, whichever protocol asked for them: start, stream, interrupt, continue.

A reading has its place and its id before its document is opened, which can take long. When the server ends, readings
under way are interrupted after their last finished step and stay open in the usage store; the next server continues
them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from bookwheel.errors import BookwheelError, BrokenReading, InputError, is_passing_kind
from bookwheel.journal import Journal, StoredDocument
from bookwheel.models.base import Model
from bookwheel.models.patience import Patience, Retry, format_duration
from bookwheel.models.registry import ModelAddress
from bookwheel.reading import runner
from bookwheel.reading.several import follow
from bookwheel.serve.engine.errors import ApiError, hide_place, server_error, too_many_requests
from bookwheel.serve.engine.running_reading import (
    JobCancelled,
    LiveCall,
    LoopJob,
    ReadingLoop,
    ReadingRequest,
    RunningReading,
    Waiting,
    store_end,
)
from bookwheel.serve.engine.sharing import FairQueue, Metrics, SharedModel
from bookwheel.serve.engine.usage import UsageEntry, UsageStore
from bookwheel.session import find_way, settle_way
from bookwheel.types import Answer, Reading, Status, Step

_SECONDS_TO_RETRY: Final = 15
# Errors of readings that never started live here only: a client may still ask for them.
_MOST_RECENT: Final = 256
# Between two lines of the log about one call that is tried again.
_SECONDS_BETWEEN_LINES: Final = 60.0

_log: Final = logging.getLogger(__name__)


class ReadingPool:
    """The readings under way, by id. `ReadingRunner` runs each."""

    def __init__(self, run: ReadingRunner, *, capacity: int, capacity_per_key: int) -> None:
        self.closed = asyncio.Event()
        self.loop = run.loop
        self._run_with = run
        self._capacity = capacity
        self._capacity_per_key = capacity_per_key
        self._running: dict[str, RunningReading] = {}
        self._recent: dict[str, RunningReading] = {}
        self._is_closing = False

    def __len__(self) -> int:
        return len(self._running)

    def get_model(self, name: str) -> Model:
        """Return the model of this name. Raise a 404 that lists the models there are."""
        models = self._run_with.models
        if name in models:
            return models[name]
        message = f"no model {name!r} here; there are: {', '.join(models)}"
        raise ApiError(404, message, kind="model_not_found", param="model")

    def get_running(self, id_: str) -> RunningReading | None:
        return self._running.get(id_)

    def get_recent(self, id_: str) -> RunningReading | None:
        """Return the reading if it is under way or ended a short while ago."""
        return self._running.get(id_) or self._recent.get(id_)

    def start(self, request: ReadingRequest) -> RunningReading:
        """Start or continue a reading; one that is under way already is returned as it is."""
        id_ = request.reading.id
        if running := self._running.get(id_):
            return running
        self.check_capacity(request.caller.key_name)
        self.get_model(request.reading.model)
        running = self._running[id_] = RunningReading(request=request, reading=request.reading)
        try:
            running.task = asyncio.create_task(self._run(running), name=f"reading {id_}")
            running.task.add_done_callback(partial(self._rescue, running))
        except Exception:
            self._running.pop(id_, None)
            if running.task:
                running.task.cancel()
            raise
        return running

    async def interrupt(self, id_: str) -> None:
        """Interrupt a reading and return when the journal has its end; do nothing when it is not under way."""
        if running := self._running.get(id_):
            running.interrupt()
            await running.done.wait()

    async def stream(
        self, id_: str, first: int = 0, *, is_live: bool = False
    ) -> AsyncGenerator[Step | Answer | Reading | Waiting | LiveCall]:
        """Yield every step from number `first` on, then the answer, then the reading with its final status.

        In between, yield each wait for a model that fails and, with `is_live`, the calls that are under way.
        """
        running = self._running.get(id_)
        if running is None:
            ended = await asyncio.to_thread(self._run_with.journal.reading, id_)
            for event in (*ended.steps[first:], *((ended.answer,) if ended.answer else ())):
                yield event
            yield replace(ended, steps=ended.gaps)
            return
        running.watchers += is_live
        try:
            async with aclosing(_follow(running, first, is_live=is_live)) as events:
                async for event in events:
                    yield event
        finally:
            running.watchers -= is_live

    async def wait_for_result(self, running: RunningReading) -> Reading:
        """Return the reading as it ended. Raise the error that a way of reading raised about its input."""
        await running.done.wait()
        if running.error:
            raise running.error
        assert running.result
        return running.result

    async def leave_lockstep(self, request: ReadingRequest) -> None:
        """Let the other questions go on without this one, also where its way never began."""
        if request.lockstep:
            # In the loop where the others wait.
            await self.loop.run(request.lockstep.leave(request.member))

    async def close(self) -> None:
        """Interrupt the readings under way, leave them open, and return when the journal has all of them."""
        self._is_closing = True
        for running in list(self._running.values()):
            running.is_paused = running.request.caller.survives_restart
            running.interrupt()
        while self._running:
            await asyncio.gather(*(running.done.wait() for running in self._running.values()))
        await asyncio.to_thread(self.loop.close)
        self.closed.set()

    def check_capacity(self, key_name: str, count: int = 1) -> None:
        """Raise an ApiError when this key cannot start so many readings now."""
        if count > (most := min(self._capacity, self._capacity_per_key)):
            raise ApiError(400, f"at most {most} questions at a time here", param="questions")
        if self._is_closing:
            raise ApiError(503, "the server is ending; ask again when it is back", kind="ending")
        if len(self) + count > self._capacity:
            message = f"{len(self)} readings are under way, the most at a time; try again later"
            raise too_many_requests(message, _SECONDS_TO_RETRY)
        own = sum(running.request.caller.key_name == key_name for running in self._running.values())
        if own + count > self._capacity_per_key:
            message = f"{own} readings of this key are under way, its share of the server; try again later"
            raise too_many_requests(message, _SECONDS_TO_RETRY)

    async def _run(self, running: RunningReading) -> None:
        """Run a reading, and give its place back, whatever ends it."""
        ended: Reading | None = None
        try:
            try:
                ended = await self._run_with.run(running)
            finally:
                await self.leave_lockstep(running.request)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it is kept with the reading
            self._run_with.note(running, error)
        try:
            self._settle(running, ended)
        except Exception:  # noqa: BLE001 - one that stayed would keep its place, and who waits would wait for ever
            _log.exception("the end of reading %s broke", running.reading.id)
            self._settle(running, ended)

    def _rescue(self, running: RunningReading, task: asyncio.Task[None]) -> None:
        """Give back the place of a reading that could not even begin."""
        if not running.done.is_set():
            if not task.cancelled() and (fault := task.exception()):
                self._run_with.note(running, fault)
            self._settle(running, None)

    def _settle(self, running: RunningReading, ended: Reading | None) -> None:
        id_ = running.reading.id
        running.error = running.error or (None if ended else server_error())
        self._recent[id_] = running
        self._running.pop(id_, None)
        running.finish(ended)
        if len(self._recent) > _MOST_RECENT:
            del self._recent[next(iter(self._recent))]
        status = ended.status if ended else "not started"
        _log.info("reading %s: %s after %.1f s", id_, status, time.monotonic() - running.began)


async def _follow(
    running: RunningReading, number: int, *, is_live: bool
) -> AsyncGenerator[Step | Answer | Reading | Waiting | LiveCall]:
    shown: dict[type, Waiting | LiveCall | Answer] = {}
    while True:
        # Both are read before the steps, so that a change during a `yield` is not missed.
        changed, is_done = running.changed, running.done.is_set()
        while number < len(running.steps):
            number += 1
            yield running.steps[number - 1]
        if running.answer and Answer not in shown:
            yield shown.setdefault(Answer, running.answer)
        if is_done:
            break
        for event in (running.waiting, running.call if is_live else None):
            if event and shown.get(type(event)) is not event:
                shown[type(event)] = event
                yield event
        await changed.wait()
    if running.result:
        # Of its steps, only the gaps are still unsaid.
        yield replace(running.result, steps=running.result.gaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRunner:
    """Runs readings: opens and records them in the server's own event loop, and reads in that of readings."""

    journal: Journal
    models: Mapping[str, Model]
    addresses: Mapping[str, ModelAddress]
    """Kept with each reading."""
    usage: UsageStore
    queue: FairQueue
    metrics: Metrics
    loop: ReadingLoop = field(default_factory=ReadingLoop)

    async def run(self, running: RunningReading) -> Reading | None:
        """Run from the opening of the document to the end, whatever ends it; return None if it did not start."""
        id_, ended = running.reading.id, None
        try:
            with self.journal.claim(id_):
                try:
                    ended = await self._read(running, await self._start(running))
                except Exception as error:  # noqa: BLE001 - one reading is recorded as failed; the others continue
                    self.note(running, error)
                    ended = await self._end_broken(running)
        except Exception as error:  # noqa: BLE001 - another program has it
            self.note(running, error)
        if ended and running.is_started:
            self.metrics.ended.labels(str(ended.status)).inc()
            self.metrics.running.dec()
        return ended

    async def _end_broken(self, running: RunningReading) -> Reading | None:
        """Store the end of a reading that broke outside of its way, or it would stand as under way for ever."""
        try:
            stored = await asyncio.to_thread(self.journal.reading, running.reading.id)
            if stored.status is not Status.READING or running.is_paused:
                return stored
            kind = name if is_passing_kind(name := type(running.error).__name__) else ""
            ended = replace(stored, status=Status.FAILED, error=str(running.error), error_kind=kind)
            await store_end(self.journal, ended, running)
        except Exception as error:  # noqa: BLE001 - not begun, or the journal cannot be written any more
            if not running.is_started:
                return None
            _log.warning("reading %s: its end could not be stored: %s", running.reading.id, error)
            message = "the server could not keep this reading"
            return replace(running.reading, status=Status.FAILED, error=message)
        return ended

    async def _start(self, running: RunningReading) -> StoredDocument:
        """Open the document, record the reading in the usage store and the journal, and return the document."""
        request, id_ = running.request, running.reading.id
        document, caller = await self._open_document(running), request.caller
        entry = UsageEntry(
            id=id_,
            key_name=caller.key_name,
            idempotency_key=caller.idempotency_key,
            fingerprint=caller.fingerprint,
            is_open=caller.survives_restart,
            leader=request.leader,
        )
        # Before the journal: after a kill in between, an entry without a reading is found and deleted, but a reading
        # without an entry would stay open for ever.
        await asyncio.to_thread(self.usage.save_reading, entry)
        if request.is_stored:
            stored = await asyncio.to_thread(self.journal.reading, id_)
            running.reading = replace(stored, plan=request.reading.plan, status=Status.READING, error="", error_kind="")
            running.steps.extend(stored.steps)
            # Its budget is this run's, also for a server that continues it after a restart.
            await self.journal.set_plan(id_, request.reading.plan)
            await self.journal.end(running.reading)
        else:
            running.reading = reading = replace(request.reading, document=document.info)
            if request.way:
                model = self.models[reading.model]
                choice = await settle_way(request.way, document, reading.question, model, reading.plan)
                running.reading = replace(reading, way=choice.way)
            running.steps.extend(reading.steps)
            await asyncio.to_thread(self.journal.begin, running.reading, self.addresses.get(running.reading.model))
        running.is_started = True
        running.notify()
        self.metrics.started.inc()
        self.metrics.running.inc()
        return document

    async def _open_document(self, running: RunningReading) -> StoredDocument:
        # A task of its own, so that an interruption can cancel the opening alone.
        opening = asyncio.create_task(running.request.open_document())
        running.cancel_work = opening.cancel
        try:
            return await opening
        except asyncio.CancelledError:
            if not running.is_interrupted:
                raise
            message = "the reading was interrupted before its document was open: start it anew"
            raise ApiError(409, message, kind="cancelled") from None

    async def _read(self, running: RunningReading, document: StoredDocument) -> Reading:
        """Run the way of reading in the loop of readings; return the reading as the journal has it in the end."""
        request, reading, loop = running.request, running.reading, asyncio.get_running_loop()
        model = SharedModel(
            self.models[reading.model],
            queue=self.queue,
            client=request.caller.key_name or request.leader or reading.id,
            loop=loop,
            metrics=self.metrics,
            quota=request.quota,
            running=running,
        )
        way = find_way(reading)
        if request.lockstep:
            way = follow(request.lockstep, request.member, way)
        work = runner.run_reading(
            reading,
            document,
            model,
            way=way,
            journal=self.journal,
            watch=running.publish,
            patience=_make_patience(running),
            counted=request.counted,
        )
        job = self.loop.submit(work)
        running.cancel_work = job.cancel
        if running.is_interrupted:  # while the reading was being recorded, when there was no job to cancel yet
            job.cancel()
        ended = await self._wait_for_job(running, job)
        if (named := request.name_limit(ended)) is not ended:
            await self.journal.end(ended := named)
        if ended.status is not Status.READING:
            await asyncio.to_thread(self.usage.set_ended, reading.id)
        return ended

    async def _wait_for_job(self, running: RunningReading, job: LoopJob[Reading]) -> Reading:
        id_ = running.reading.id
        try:
            return await asyncio.wrap_future(job.outcome)
        except JobCancelled:
            status, message = (Status.READING, "") if running.is_paused else (Status.CANCELLED, "interrupted")
        except InputError as error:
            running.error = error
            return await asyncio.to_thread(self.journal.reading, id_)
        except Exception as error:
            if isinstance(error, BookwheelError) and not isinstance(error, BrokenReading):
                raise
            _log.exception("reading %s broke", id_)
            status, message = Status.FAILED, str(server_error())
        stored = await asyncio.to_thread(self.journal.reading, id_)
        ended = replace(stored, status=status, error=message, error_kind="")
        await self.journal.end(ended)
        return ended

    def note(self, running: RunningReading, error: BaseException) -> None:
        """Keep and log what ended a reading; of what nobody foresaw a client learns nothing more."""
        if isinstance(error, BookwheelError):
            running.error = hide_place(error, self.journal.path)
            _log.warning("reading %s: %s", running.reading.id, error)
        else:
            running.error = server_error()
            _log.error("reading %s broke", running.reading.id, exc_info=error)


def _make_patience(running: RunningReading) -> Patience:
    """Return the patience of a reading: without end where no client waits on its connection."""
    id_, due = running.reading.id, 0.0

    def report(retry: Retry) -> None:
        nonlocal due
        waiting = Waiting(seconds=round(retry.seconds, 1), tries=retry.tries, error=str(retry.error))
        running.wait_for_model(waiting)
        if retry.wait and (retry.tries == 1 or retry.seconds >= due):
            due = retry.seconds + _SECONDS_BETWEEN_LINES
            since = format_duration(retry.seconds)
            _log.warning("reading %s waits for the model (%s so far, try %d): %s", id_, since, retry.tries, retry.error)

    is_patient = running.request.caller.survives_restart
    return Patience(seconds=None, on_retry=report) if is_patient else Patience(on_retry=report)
