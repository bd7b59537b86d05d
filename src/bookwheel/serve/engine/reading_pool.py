"""The readings under way in one server, whichever protocol asked for them: start, stream, interrupt, continue.

A reading has its place and its id before its document is opened, which can take long. When the server ends, readings
under way are interrupted after their last finished step and stay open in the usage store; the next server continues
them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bookwheel.serve.engine.errors import ApiError, too_many_requests
from bookwheel.serve.engine.reading_loop import ReadingLoop
from bookwheel.serve.engine.reading_runner import ReadingRunner
from bookwheel.serve.engine.running_reading import LiveCall, ReadingRequest, RunningReading, Waiting

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from bookwheel.journal import Journal, StoredDocument
    from bookwheel.models.base import Model
    from bookwheel.serve.engine.metrics import Metrics
    from bookwheel.serve.engine.running_reading import DocumentOpener
    from bookwheel.serve.engine.sharing import FairQueue
    from bookwheel.serve.engine.usage import UsageStore
    from bookwheel.types import Answer, Reading, Step

_SECONDS_TO_RETRY: Final = 15
# Errors of readings that never started live here only: a client may still ask for them.
_MOST_RECENT: Final = 256

_log: Final = logging.getLogger(__name__)


class ReadingPool:
    """The readings under way, by id. `ReadingRunner` runs each."""

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
        self._metrics = metrics
        self._capacity = capacity
        self._capacity_per_key = capacity_per_key
        self._running: dict[str, RunningReading] = {}
        self._recent: dict[str, RunningReading] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.loop = ReadingLoop()
        self._runner = ReadingRunner(
            journal=journal, models=models, loop=self.loop, usage=usage, queue=queue, metrics=metrics
        )
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

    async def stream(
        self, id_: str, first: int = 0, *, is_live: bool = False
    ) -> AsyncGenerator[Step | Answer | Reading | Waiting | LiveCall]:
        """Yield every step from number `first` on, then the answer, then the reading with its final status.

        In between, yield each wait for a model that fails and, with `is_live`, the calls that are under way.
        """
        running = self._running.get(id_)
        if running is None:
            ended = await asyncio.to_thread(self._journal.reading, id_)
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

    def document_opener(self, id_: str) -> DocumentOpener:
        """Return a function that opens the document of a stored reading."""

        async def open_document() -> StoredDocument:
            return await asyncio.to_thread(self._journal.document_of, id_)

        return open_document

    async def close(self) -> None:
        """Interrupt the readings under way, leave them open, and return when the journal has all of them."""
        self._is_closing = True
        for running in list(self._running.values()):
            running.is_paused = running.request.survives_restart
            running.interrupt()
        while self._tasks:
            await asyncio.gather(*self._tasks)
        await asyncio.to_thread(self.loop.close)
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
        """Run one reading and retire it, whatever ended it."""
        start, ended = time.monotonic(), None
        try:
            ended = await self._runner.run(running)
        finally:
            await self.leave_lockstep(running.request)
            self._retire(running, ended)
            status = ended.status if ended else "not started"
            _log.info("reading %s: %s after %.1f s", running.reading.id, status, time.monotonic() - start)

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


async def _follow(
    running: RunningReading, number: int, *, is_live: bool
) -> AsyncGenerator[Step | Answer | Reading | Waiting | LiveCall]:
    shown: dict[type, Waiting | LiveCall] = {}
    while True:
        # Both are read before the steps, so that a change during a `yield` is not missed.
        changed, is_done = running.changed, running.done.is_set()
        while number < len(running.steps):
            number += 1
            yield running.steps[number - 1]
        if is_done:
            break
        for event in (running.waiting, running.call if is_live else None):
            if event and shown.get(type(event)) is not event:
                shown[type(event)] = event
                yield event
        await changed.wait()
    if running.answer:
        yield running.answer
    if running.result:
        # Of its steps, only the gaps are still unsaid.
        yield replace(running.result, steps=running.result.gaps)
