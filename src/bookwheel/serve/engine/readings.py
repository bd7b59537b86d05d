"""The readings of one server, whoever asked for them and by which door: begun, followed, stopped, gone on with.

All of them are carried out by the desk, past one journal; here is only who waits for which. A reading has its place and
its id before its document is opened, which can take long. When the server ends, what is under way is interrupted after
its last finished step and marked, and goes on when the server comes back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.errors import BookwheelError, InputError, JournalError
from bookwheel.reading import runner
from bookwheel.reading.ways.registry import load_way
from bookwheel.serve.engine.errors import ApiError, too_many_requests
from bookwheel.serve.engine.running import ReadingRequest, RunningReading
from bookwheel.serve.engine.shared_model import SharedModel
from bookwheel.serve.engine.usage import UsageEntry
from bookwheel.serve.engine.worker_loop import Interrupted, WorkerLoop
from bookwheel.types import Answer, Reading, Status, Step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from bookwheel.journal import Journal, StoredDocument
    from bookwheel.models.base import Model
    from bookwheel.serve.engine.fair_queue import FairQueue
    from bookwheel.serve.engine.keys import TokenQuota
    from bookwheel.serve.engine.metrics import Metrics
    from bookwheel.serve.engine.running import Opened, Opening
    from bookwheel.serve.engine.usage import UsageStore
    from bookwheel.serve.engine.worker_loop import WorkerJob

_SECONDS_TO_RETRY: Final = 15
_REMEMBERED: Final = 256
"""Ended readings of which it is still known why they did not begin, or what was left out of their documents."""

_log: Final = logging.getLogger(__name__)


class ReadingPool:
    """What is under way, by id. Lives in one event loop; the carrying out has a loop of its own."""

    def __init__(
        self,
        *,
        journal: Journal,
        models: Mapping[str, Model],
        ledger: UsageStore,
        turns: FairQueue,
        metrics: Metrics,
        most: int,
    ) -> None:
        self.journal = journal
        self.models = models
        self.ledger = ledger
        self._turns = turns
        self._metrics = metrics
        self._most = most
        self._running: dict[str, RunningReading] = {}
        self._over: dict[str, RunningReading] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._aside = WorkerLoop()
        self._closing = False
        self.closed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._running)

    def model(self, name: str) -> Model:
        """The model of that name; a Declined (404) says which there are."""
        if name in self.models:
            return self.models[name]
        names = ", ".join(self.models)
        raise ApiError(404, f"no model {name!r} here; there are: {names}", kind="model_not_found", param="model")

    def running(self, id_: str) -> RunningReading | None:
        """The reading of this id, if it is under way."""
        return self._running.get(id_)

    def known(self, id_: str) -> RunningReading | None:
        """The reading of this id, if it is under way or was not long ago."""
        return self._running.get(id_) or self._over.get(id_)

    def begin(self, asked: ReadingRequest) -> RunningReading:
        """Take a reading on, new or kept; one that is under way already is that one."""
        id_ = asked.reading.id
        if running := self._running.get(id_):
            return running
        self.check_room()
        self.model(asked.reading.model)
        running = self._running[id_] = RunningReading(asked=asked, reading=asked.reading)
        task = asyncio.create_task(self._live(running), name=f"reading {id_}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return running

    async def stop(self, id_: str) -> None:
        """Interrupt a reading, and return when that is kept. One that is not under way is left as it is."""
        if running := self._running.get(id_):
            running.interrupt()
            await running.done.wait()

    async def follow(self, id_: str, seen: int = 0) -> AsyncGenerator[Step | Answer | Reading]:
        """Every step from number `seen` on, the answer, and the reading as it ended, as they come."""
        running = self._running.get(id_)
        if running is None:
            ended = await asyncio.to_thread(self.journal.reading, id_)
            for event in (*ended.steps[seen:], *((ended.answer,) if ended.answer else ())):
                yield event
            yield replace(ended, steps=())
            return
        while True:
            news, over = running.news, running.done.is_set()
            while seen < len(running.steps):
                seen += 1
                yield running.steps[seen - 1]
            if over:
                break
            await news.wait()
        if running.answer:
            yield running.answer
        if running.ended:
            yield replace(running.ended, steps=())

    async def result(self, running: RunningReading) -> Reading:
        """The reading as it ended. Raises what the way of reading found wrong with it."""
        await running.done.wait()
        if running.fault:
            raise running.fault
        assert running.ended
        return running.ended

    async def come_back(self, purse_of: Callable[[str], TokenQuota | None]) -> int:
        """Go on with what the server's end interrupted; how many."""
        count = 0
        for entry in await asyncio.to_thread(self.ledger.unfinished):
            try:
                count += await self._taken_up(entry, purse_of(entry.owner))
            except BookwheelError as error:
                _log.warning("reading %s was not gone on with: %s", entry.id, error)
        return count

    async def _taken_up(self, entry: UsageEntry, purse: TokenQuota | None) -> bool:
        try:
            reading = await asyncio.to_thread(self.journal.reading, entry.id)
        except JournalError:
            await asyncio.to_thread(self.ledger.forget, entry.id)
            return False
        if reading.status is not Status.READING or reading.model not in self.models:
            await asyncio.to_thread(self.ledger.set_open, entry.id, is_open=False)
            return False
        asked = ReadingRequest(
            reading=reading,
            open=self.opening_of(entry.id),
            kept=True,
            owner=entry.owner,
            purse=purse,
            request=entry.request,
            print=entry.print,
        )
        await self.begin(asked).begun()
        return True

    def opening_of(self, id_: str) -> Opening:
        """How the document of a kept reading is opened."""

        async def opened() -> Opened:
            return await asyncio.to_thread(self.journal.document_of, id_), ()

        return opened

    async def close(self) -> None:
        """Interrupt what is under way, mark it to be gone on with, and return when all of it is kept."""
        self._closing = True
        for running in list(self._running.values()):
            running.goes_on = running.asked.goes_on
            running.interrupt()
        while self._tasks:
            await asyncio.gather(*self._tasks)
        await asyncio.to_thread(self._aside.close)
        self.closed.set()

    def check_room(self) -> None:
        """Decline what cannot begin now."""
        if self._closing:
            raise ApiError(503, "the server is ending; ask again when it is back", kind="ending")
        if len(self) >= self._most:
            raise too_many_requests(
                f"{len(self)} readings are under way, as many as go at once; try again later", _SECONDS_TO_RETRY
            )

    async def _live(self, running: RunningReading) -> None:
        """One reading from its opening to its end, whatever ends it."""
        began, id_, ended = time.monotonic(), running.reading.id, None
        try:
            with self.journal.claim(id_):
                document = await self._enter(running)
                ended = replace(running.reading, status=Status.FAILED, error="the server could not keep this reading")
                ended = await self._carry_out(running, document)
        except BookwheelError as error:
            running.fault = error
            _log.warning("reading %s: %s", id_, error)
        except Exception:  # noqa: BLE001 - one reading is recorded as failed; the others go on
            running.fault = ApiError(500, "an error of the server; its log says more", kind="server_error")
            _log.exception("reading %s broke", id_)
        finally:
            del self._running[id_]
            self._over[id_] = running
            if len(self._over) > _REMEMBERED:
                del self._over[next(iter(self._over))]
            if ended:
                self._metrics.ended(ended.status)
            running.end(ended)
            _log.info(
                "reading %s: %s after %.1f s", id_, ended.status if ended else "not begun", time.monotonic() - began
            )

    async def _enter(self, running: RunningReading) -> StoredDocument:
        """The reading's document, when journal and ledger have the reading."""
        asked, id_ = running.asked, running.reading.id
        document, running.notes = await self._opened(running)
        # First: an entry without a reading is found and forgotten, a reading without an entry would lie there for ever.
        entry = UsageEntry(id=id_, owner=asked.owner, request=asked.request, print=asked.print, open=asked.goes_on)
        await asyncio.to_thread(self.ledger.enter, entry)
        if asked.kept:
            kept = await asyncio.to_thread(self.journal.reading, id_)
            running.reading = replace(kept, plan=asked.reading.plan, status=Status.READING, error="")
            running.steps.extend(kept.steps)
            await self.journal.end(running.reading)
        else:
            running.reading = replace(asked.reading, document=document.info)
            await asyncio.to_thread(self.journal.begin, running.reading)
        running.is_begun = True
        running.wake()
        self._metrics.begun()
        return document

    async def _opened(self, running: RunningReading) -> Opened:
        running.opening = asyncio.create_task(running.asked.open())
        try:
            return await running.opening
        except asyncio.CancelledError:
            if not running.interrupted:
                raise
            raise ApiError(409, "it was ended before its document was open: start it anew", kind="cancelled") from None

    async def _carry_out(self, running: RunningReading, document: StoredDocument) -> Reading:
        """The reading as it was kept in the end."""
        asked, reading, home = running.asked, running.reading, asyncio.get_running_loop()
        lent = SharedModel(
            model=self.model(reading.model),
            turns=self._turns,
            owner=asked.owner or reading.id,
            home=home,
            metrics=self._metrics,
            purse=asked.purse,
        )

        def watch(event: Step | Answer) -> None:
            home.call_soon_threadsafe(running.tell, event)

        way = load_way(reading.way)
        work = runner.run_reading(reading, document, lent, way=way, journal=self.journal, watch=watch)
        running.job = self._aside.begin(work)
        if running.interrupted:
            running.job.cancel()
        ended = await self._outcome(running, running.job)
        if ended.status is not Status.READING:
            await asyncio.to_thread(self.ledger.set_open, reading.id, is_open=False)
        return ended

    async def _outcome(self, running: RunningReading, job: WorkerJob[Reading]) -> Reading:
        id_ = running.reading.id
        try:
            return await asyncio.wrap_future(job.outcome)
        except Interrupted:
            status, why = (Status.READING, "") if running.goes_on else (Status.CANCELLED, "interrupted")
        except InputError as error:
            running.fault = error
            return await asyncio.to_thread(self.journal.reading, id_)
        except BookwheelError:
            raise
        except Exception:  # noqa: BLE001 - one reading is recorded as failed; the others go on
            _log.exception("reading %s broke", id_)
            status, why = Status.FAILED, "an error of the server; its log says more"
        kept = await asyncio.to_thread(self.journal.reading, id_)
        ended = replace(kept, status=status, error=why)
        await self.journal.end(ended)
        return ended
