"""One reading of the server from the opening of its document to its end."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.errors import BookwheelError, InputError
from bookwheel.models.patience import Patience, format_duration
from bookwheel.reading import runner
from bookwheel.reading.several import follow
from bookwheel.reading.structured import apply_schema
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.reading_loop import JobCancelled
from bookwheel.serve.engine.running_reading import Waiting
from bookwheel.serve.engine.sharing import SharedModel
from bookwheel.serve.engine.usage import UsageEntry
from bookwheel.session import find_way, settle_way
from bookwheel.types import Answer, Reading, Status, Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.journal import Journal, StoredDocument
    from bookwheel.models.base import Model
    from bookwheel.models.patience import Retry
    from bookwheel.serve.engine.metrics import Metrics
    from bookwheel.serve.engine.reading_loop import LoopJob, ReadingLoop
    from bookwheel.serve.engine.running_reading import ReadingRequest, RunningReading
    from bookwheel.serve.engine.sharing import FairQueue
    from bookwheel.serve.engine.usage import UsageStore

# Details go to the log, where only whoever runs the server sees them.
_INTERNAL_ERROR: Final = "an error of the server; its log says more"
# Between two lines of the log about one call that is tried again.
_SECONDS_BETWEEN_LINES: Final = 60.0

_log: Final = logging.getLogger(__name__)


class ReadingRunner:
    """Runs readings: opens and records them in the server's own event loop, and reads in that of readings."""

    def __init__(
        self,
        *,
        journal: Journal,
        models: Mapping[str, Model],
        loop: ReadingLoop,
        usage: UsageStore,
        queue: FairQueue,
        metrics: Metrics,
    ) -> None:
        self._journal = journal
        self._models = models
        self._usage = usage
        self._queue = queue
        self._metrics = metrics
        self._loop = loop

    async def run(self, running: RunningReading) -> Reading | None:
        """Run from the opening of the document to the end, whatever ends it; return None if it did not start."""
        id_, ended = running.reading.id, None
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
        return ended

    async def _start(self, running: RunningReading) -> StoredDocument:
        """Open the document, record the reading in the usage store and the journal, and return the document."""
        request, id_ = running.request, running.reading.id
        document = await self._open_document(running)
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
            running.reading = replace(stored, plan=request.reading.plan, status=Status.READING, error="", error_kind="")
            running.steps.extend(stored.steps)
            await self._journal.end(running.reading)
        else:
            running.reading = await self._settle_way(request, document)
            running.steps.extend(request.reading.steps)
            await asyncio.to_thread(self._journal.begin, running.reading)
        running.is_started = True
        running.notify()
        self._metrics.count_start()
        return document

    async def _settle_way(self, request: ReadingRequest, document: StoredDocument) -> Reading:
        """Return the new reading of the opened document, by the way that suits it."""
        reading = replace(request.reading, document=document.info)
        if request.way is None:
            return reading
        model = self._models[reading.model]
        choice = await settle_way(request.way, document, reading.question, model, reading.plan)
        return replace(reading, way=choice.way)

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
            self._models[reading.model],
            queue=self._queue,
            client=request.key_name or request.leader or reading.id,
            loop=loop,
            metrics=self._metrics,
            quota=request.quota,
            running=running,
        )

        def watch(event: Step | Answer) -> None:
            loop.call_soon_threadsafe(running.publish, event)

        way = find_way(reading)
        if request.lockstep:
            way = follow(request.lockstep, request.member, way)
        way = apply_schema(way, reading.plan)
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
        job = self._loop.submit(work)
        running.cancel_work = job.cancel
        if running.is_interrupted:  # while the reading was being recorded, when there was no job to cancel yet
            job.cancel()
        ended = await self._wait_for_job(running, job)
        if ended.status is not Status.READING:
            await asyncio.to_thread(self._usage.set_ended, reading.id)
        return ended

    async def _wait_for_job(self, running: RunningReading, job: LoopJob[Reading]) -> Reading:
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
        ended = replace(stored, status=status, error=message, error_kind="")
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
