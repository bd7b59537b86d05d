"""The readings under way in one server, whichever protocol asked for them: start, stream, interrupt, continue.

A reading has its place and its id before its document is opened, which can take long. When the server ends, readings
under way are interrupted after their last finished step and stay open in the usage store; the next server continues
them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.errors import BookwheelError, InputError
from bookwheel.models.patience import Patience, format_duration
from bookwheel.reading import runner
from bookwheel.reading.reread import is_rereading, reread
from bookwheel.reading.several import follow
from bookwheel.reading.ways.registry import load_way
from bookwheel.serve.engine.errors import ApiError, too_many_requests
from bookwheel.serve.engine.running_reading import ReadingRequest, RunningReading, Waiting
from bookwheel.serve.engine.shared_model import SharedModel
from bookwheel.serve.engine.usage import UsageEntry
from bookwheel.serve.engine.worker_loop import JobCancelled, WorkerLoop
from bookwheel.types import Answer, Reading, Status, Step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from bookwheel.journal import Journal, StoredDocument
    from bookwheel.models.base import Model
    from bookwheel.models.patience import Retry
    from bookwheel.serve.engine.fair_queue import FairQueue
    from bookwheel.serve.engine.metrics import Metrics
    from bookwheel.serve.engine.running_reading import DocumentOpener, OpenedDocument
    from bookwheel.serve.engine.usage import UsageStore
    from bookwheel.serve.engine.worker_loop import WorkerJob

_SECONDS_TO_RETRY: Final = 15
# Errors of readings that never started, and notes on documents, live here only: a client may still ask for them.
_MOST_RECENT: Final = 256
# Details go to the log, where only whoever runs the server sees them.
_INTERNAL_ERROR: Final = "an error of the server; its log says more"

# Between two lines of the log about one call that is tried again.
_SECONDS_BETWEEN_LINES: Final = 60.0

_log: Final = logging.getLogger(__name__)


class ReadingPool:
    """The readings under way, by id. The pool lives in the server's event loop; readings run in a second one."""

    def __init__(
        self,
        *,
        journal: Journal,
        models: Mapping[str, Model],
        usage: UsageStore,
        queue: FairQueue,
        metrics: Metrics,
        capacity: int,
        capacity_per_key: int,
    ) -> None:
        self.closed = asyncio.Event()
        self._journal = journal
        self._models = models
        self._usage = usage
        self._queue = queue
        self._metrics = metrics
        self._capacity = capacity
        self._capacity_per_key = capacity_per_key
        self._running: dict[str, RunningReading] = {}
        self._recent: dict[str, RunningReading] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._worker = WorkerLoop()
        self._is_closing = False

    def __len__(self) -> int:
        return len(self._running)

    def get_model(self, name: str) -> Model:
        """Return the model of this name. Raise a 404 that lists the models there are."""
        if name in self._models:
            return self._models[name]
        names = ", ".join(self._models)
        raise ApiError(404, f"no model {name!r} here; there are: {names}", kind="model_not_found", param="model")

    def get_running(self, id_: str) -> RunningReading | None:
        """Return the reading if it is under way."""
        return self._running.get(id_)

    def get_recent(self, id_: str) -> RunningReading | None:
        """Return the reading if it is under way or ended a short while ago."""
        return self._running.get(id_) or self._recent.get(id_)

    def start(self, request: ReadingRequest) -> RunningReading:
        """Start or continue a reading; one that is under way already is returned as it is."""
        id_ = request.reading.id
        if running := self._running.get(id_):
            return running
        self.check_capacity(request.key_name)
        self.get_model(request.reading.model)
        running = self._running[id_] = RunningReading(request=request, reading=request.reading)
        task = asyncio.create_task(self._run(running), name=f"reading {id_}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return running

    async def interrupt(self, id_: str) -> None:
        """Interrupt a reading and return when the journal has its end; do nothing when it is not under way."""
        if running := self._running.get(id_):
            running.interrupt()
            await running.done.wait()

    async def stream(self, id_: str, first: int = 0) -> AsyncGenerator[Step | Answer | Reading | Waiting]:
        """Yield every step from number `first` on, then the answer, then the reading with its final status.

        In between, yield each wait for a model that fails.
        """
        running = self._running.get(id_)
        if running is None:
            ended = await asyncio.to_thread(self._journal.reading, id_)
            for event in (*ended.steps[first:], *((ended.answer,) if ended.answer else ())):
                yield event
            yield replace(ended, steps=ended.gaps)
            return
        number, waiting = first, None
        while True:
            # Both are read before the steps, so that a change during a `yield` is not missed.
            changed, is_done = running.changed, running.done.is_set()
            while number < len(running.steps):
                number += 1
                yield running.steps[number - 1]
            if is_done:
                break
            if running.waiting is not waiting:
                waiting = running.waiting
                if waiting:
                    yield waiting
            await changed.wait()
        if running.answer:
            yield running.answer
        if running.result:
            # Of its steps, only the gaps are still unsaid.
            yield replace(running.result, steps=running.result.gaps)

    async def wait_for_result(self, running: RunningReading) -> Reading:
        """Return the reading as it ended. Raise the error that a way of reading raised about its input."""
        await running.done.wait()
        if running.error:
            raise running.error
        assert running.result
        return running.result

    async def leave_lockstep(self, request: ReadingRequest) -> None:
        """Let the other questions go on, also where this one's way never began."""
        if request.lockstep:
            # In the loop where the others wait.
            job = self._worker.submit(request.lockstep.leave(request.member))
            await asyncio.wrap_future(job.outcome)

    def document_opener(self, id_: str) -> DocumentOpener:
        """Return a function that opens the document of a stored reading."""

        async def open_document() -> OpenedDocument:
            return await asyncio.to_thread(self._journal.document_of, id_), ()

        return open_document

    async def close(self) -> None:
        """Interrupt the readings under way, leave them open, and return when the journal has all of them."""
        self._is_closing = True
        for running in list(self._running.values()):
            running.is_paused = running.request.survives_restart
            running.interrupt()
        while self._tasks:
            await asyncio.gather(*self._tasks)
        await asyncio.to_thread(self._worker.close)
        self.closed.set()

    def check_capacity(self, key_name: str, count: int = 1) -> None:
        """Raise an ApiError when this key cannot start so many readings now."""
        if count > (most := min(self._capacity, self._capacity_per_key)):
            raise ApiError(400, f"at most {most} questions at a time here", kind="invalid_request", param="questions")
        if self._is_closing:
            raise ApiError(503, "the server is ending; ask again when it is back", kind="ending")
        if len(self) + count > self._capacity:
            raise too_many_requests(
                f"{len(self)} readings are under way, the most at a time; try again later", _SECONDS_TO_RETRY
            )
        own = sum(running.request.key_name == key_name for running in self._running.values())
        if own + count > self._capacity_per_key:
            raise too_many_requests(
                f"{own} readings of this key are under way, its share of the server; try again later", _SECONDS_TO_RETRY
            )

    async def _run(self, running: RunningReading) -> None:
        """Run one reading from the opening of its document to its end, whatever ends it."""
        start, id_, ended = time.monotonic(), running.reading.id, None
        try:
            with self._journal.claim(id_):
                document = await self._start(running)
                # Stands if the journal cannot be written any more.
                ended = replace(running.reading, status=Status.FAILED, error="the server could not keep this reading")
                ended = await self._read(running, document)
        except BookwheelError as error:
            running.error = error
            _log.warning("reading %s: %s", id_, error)
        except Exception:  # noqa: BLE001 - one reading is recorded as failed; the others continue
            running.error = ApiError(500, _INTERNAL_ERROR, kind="server_error")
            _log.exception("reading %s broke", id_)
        finally:
            await self.leave_lockstep(running.request)
            self._retire(running, ended)
            status = ended.status if ended else "not started"
            _log.info("reading %s: %s after %.1f s", id_, status, time.monotonic() - start)

    def _retire(self, running: RunningReading, ended: Reading | None) -> None:
        """Move a reading from those under way to the recent ones."""
        id_ = running.reading.id
        del self._running[id_]
        self._recent[id_] = running
        if len(self._recent) > _MOST_RECENT:
            del self._recent[next(iter(self._recent))]
        if ended:
            self._metrics.count_end(ended.status)
        running.finish(ended)

    async def _start(self, running: RunningReading) -> StoredDocument:
        """Open the document, record the reading in the usage store and the journal, and return the document."""
        request, id_ = running.request, running.reading.id
        document, running.notes = await self._open_document(running)
        entry = UsageEntry(
            id=id_,
            key_name=request.key_name,
            idempotency_key=request.idempotency_key,
            fingerprint=request.fingerprint,
            is_open=request.survives_restart,
            leader=request.leader,
        )
        # Before the journal: after a kill in between, an entry without a reading is found and deleted, but a reading
        # without an entry would stay open for ever.
        await asyncio.to_thread(self._usage.save_reading, entry)
        if request.is_stored:
            stored = await asyncio.to_thread(self._journal.reading, id_)
            running.reading = replace(stored, plan=request.reading.plan, status=Status.READING, error="")
            running.steps.extend(stored.steps)
            await self._journal.end(running.reading)
        else:
            running.reading = replace(request.reading, document=document.info)
            await asyncio.to_thread(self._journal.begin, running.reading)
        running.is_started = True
        running.notify()
        self._metrics.count_start()
        return document

    async def _open_document(self, running: RunningReading) -> OpenedDocument:
        # A task of its own, so that an interruption can cancel the opening alone.
        running.opening = asyncio.create_task(running.request.open_document())
        try:
            return await running.opening
        except asyncio.CancelledError:
            if not running.is_interrupted:
                raise
            message = "the reading was interrupted before its document was open: start it anew"
            raise ApiError(409, message, kind="cancelled") from None

    async def _read(self, running: RunningReading, document: StoredDocument) -> Reading:
        """Run the way of reading in the worker's loop; return the reading as the journal has it in the end."""
        request, reading, loop = running.request, running.reading, asyncio.get_running_loop()
        model = SharedModel(
            self.get_model(reading.model),
            queue=self._queue,
            client=request.key_name or request.leader or reading.id,
            loop=loop,
            metrics=self._metrics,
            quota=request.quota,
        )

        def watch(event: Step | Answer) -> None:
            loop.call_soon_threadsafe(running.publish, event)

        way = reread if is_rereading(reading.steps) else load_way(reading.way)
        if request.lockstep:
            way = follow(request.lockstep, request.member, way)
        work = runner.run_reading(
            reading,
            document,
            model,
            way=way,
            journal=self._journal,
            watch=watch,
            patience=_make_patience(running, loop),
            counted=request.counted,
        )
        running.job = self._worker.submit(work)
        if running.is_interrupted:  # while the reading was being recorded, when there was no job to cancel yet
            running.job.cancel()
        ended = await self._wait_for_job(running, running.job)
        if ended.status is not Status.READING:
            await asyncio.to_thread(self._usage.set_ended, reading.id)
        return ended

    async def _wait_for_job(self, running: RunningReading, job: WorkerJob[Reading]) -> Reading:
        id_ = running.reading.id
        try:
            return await asyncio.wrap_future(job.outcome)
        except JobCancelled:
            status, message = (Status.READING, "") if running.is_paused else (Status.CANCELLED, "interrupted")
        except InputError as error:
            running.error = error
            return await asyncio.to_thread(self._journal.reading, id_)
        except BookwheelError:
            raise
        except Exception:  # noqa: BLE001 - one reading is recorded as failed; the others continue
            _log.exception("reading %s broke", id_)
            status, message = Status.FAILED, _INTERNAL_ERROR
        stored = await asyncio.to_thread(self._journal.reading, id_)
        ended = replace(stored, status=status, error=message)
        await self._journal.end(ended)
        return ended


def _make_patience(running: RunningReading, loop: asyncio.AbstractEventLoop) -> Patience:
    """Return the patience of a reading: without end where no client waits on its connection."""
    id_, due = running.reading.id, 0.0

    def report(retry: Retry) -> None:
        nonlocal due
        waiting = Waiting(seconds=round(retry.seconds, 1), tries=retry.tries, error=str(retry.error))
        loop.call_soon_threadsafe(running.wait_for_model, waiting)
        if retry.wait and (retry.tries == 1 or retry.seconds >= due):
            due = retry.seconds + _SECONDS_BETWEEN_LINES
            since = format_duration(retry.seconds)
            _log.warning("reading %s waits for the model (%s so far, try %d): %s", id_, since, retry.tries, retry.error)

    return Patience(seconds=None, on_retry=report) if running.request.survives_restart else Patience(on_retry=report)
