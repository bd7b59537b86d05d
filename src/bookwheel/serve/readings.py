"""The readings of one server: begun, followed, stopped, gone on with.

All of them are carried out by the desk, past one journal; here is only who waits for which. When the server ends, what
is under way is interrupted after its last finished step and marked, and goes on when the server comes back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from bookwheel import desk
from bookwheel.errors import BookwheelError, InputError
from bookwheel.evaluation.registry import way_named
from bookwheel.serve.aside import Aside, Interrupted, Job
from bookwheel.serve.faults import Declined, busy
from bookwheel.serve.ledger import Entry
from bookwheel.serve.lent import Lent
from bookwheel.types import Answer, Reading, Status, Step

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from bookwheel.journal import Journal, KeptDocument
    from bookwheel.models.base import Model
    from bookwheel.serve.keys import Purse
    from bookwheel.serve.ledger import Ledger
    from bookwheel.serve.metrics import Metrics
    from bookwheel.serve.turns import Turns

_SECONDS_TO_RETRY: Final = 15

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A reading that somebody wants."""

    reading: Reading
    document: KeptDocument
    owner: str = ""
    purse: Purse | None = None
    goes_on: bool = True
    """Whether it goes on when the server comes back; what a client waited for does not."""
    request: str | None = None
    """Its Idempotency-Key."""
    print: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class Running:
    """A reading under way; `news` is set, and replaced, with every step."""

    asked: Asked
    job: Job[Reading]
    steps: list[Step]
    answer: Answer | None = None
    ended: Reading | None = None
    fault: BookwheelError | None = None
    goes_on: bool = False
    """Interrupted by the server's end, not by a person."""
    followers: int = 0
    """Clients for whom alone this is read; the last one that leaves ends it."""
    interrupted: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, event: Step | Answer) -> None:
        """A step or the answer is there, and durable."""
        if isinstance(event, Answer):
            self.answer = event
        else:
            self.steps.append(desk.lean(event))
        self._wake()

    def interrupt(self) -> None:
        """End it after its last finished step."""
        if not self.interrupted:
            self.interrupted = True
            self.job.cancel()

    def leave(self) -> None:
        """One client has gone."""
        self.followers -= 1
        if self.followers <= 0:
            self.interrupt()

    def end(self, ended: Reading) -> None:
        """Nothing more will come."""
        self.ended = ended
        self.done.set()
        self._wake()

    def _wake(self) -> None:
        self.news.set()
        self.news = asyncio.Event()


class Readings:
    """What is under way, by id. Lives in one event loop; the carrying out has a loop of its own."""

    def __init__(
        self,
        *,
        journal: Journal,
        models: Mapping[str, Model],
        ledger: Ledger,
        turns: Turns,
        metrics: Metrics,
        most: int,
    ) -> None:
        self.journal = journal
        self.models = models
        self.ledger = ledger
        self._turns = turns
        self._metrics = metrics
        self._most = most
        self._seats = 0
        self._running: dict[str, Running] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._aside = Aside()
        self._closing = False

    def __len__(self) -> int:
        return len(self._running)

    def model(self, name: str) -> Model:
        """The model of that name; a Declined (404) says which there are."""
        if name in self.models:
            return self.models[name]
        names = ", ".join(self.models)
        raise Declined(404, f"no model {name!r} here; there are: {names}", kind="model_not_found", param="model")

    def running(self, id_: str) -> Running | None:
        """The reading of this id, if it is under way."""
        return self._running.get(id_)

    async def begin(self, asked: Asked) -> Running:
        """Keep a new reading and start it. Raises what is wrong with question and plan before anything is kept."""
        self.check_room()
        self._seats += 1
        try:
            model = self.model(asked.reading.model)
            way_named(asked.reading.way)
            await asyncio.to_thread(desk.check, asked.reading, model)
            await asyncio.to_thread(self._enter, asked, new=True)
            return self._start(asked, model, self._claimed(asked.reading.id))
        except BaseException:
            self._seats -= 1
            raise

    async def go_on(self, asked: Asked) -> Running:
        """Read on from where a kept reading stands."""
        if running := self._running.get(asked.reading.id):
            return running
        self.check_room()
        self._seats += 1
        try:
            model = self.model(asked.reading.model)
            held = self._claimed(asked.reading.id)
            try:
                kept = await asyncio.to_thread(self.journal.reading, asked.reading.id)
                reading = replace(kept, plan=asked.reading.plan, status=Status.READING, error="")
                asked = replace(asked, reading=reading)
                await asyncio.to_thread(self._enter, asked, new=False)
                await self.journal.end(reading)
                return self._start(asked, model, held)
            except BaseException:
                held.close()
                raise
        except BaseException:
            self._seats -= 1
            raise

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
            news, done = running.news, running.ended
            while seen < len(running.steps):
                seen += 1
                yield running.steps[seen - 1]
            if done:
                break
            await news.wait()
        if running.answer:
            yield running.answer
        yield replace(done, steps=())

    async def result(self, running: Running) -> Reading:
        """The reading as it ended. Raises what the way of reading found wrong with it."""
        await running.done.wait()
        if running.fault:
            raise running.fault
        assert running.ended
        return running.ended

    async def come_back(self, purse_of: Callable[[str], Purse | None]) -> int:
        """Go on with what the server's end interrupted; how many."""
        count = 0
        for entry in await asyncio.to_thread(self.ledger.unfinished):
            try:
                reading = await asyncio.to_thread(self.journal.reading, entry.id)
                if reading.status is not Status.READING or reading.model not in self.models:
                    await asyncio.to_thread(self.ledger.set_open, entry.id, is_open=False)
                    continue
                document = await asyncio.to_thread(self.journal.document_of, entry.id)
                asked = Asked(
                    reading=reading,
                    document=document,
                    owner=entry.owner,
                    purse=purse_of(entry.owner),
                    request=entry.request,
                    print=entry.print,
                )
                await self.go_on(asked)
                count += 1
            except BookwheelError as error:
                _log.warning("reading %s was not gone on with: %s", entry.id, error)
        return count

    async def close(self) -> None:
        """Interrupt what is under way, mark it to be gone on with, and return when all of it is kept."""
        self._closing = True
        for running in list(self._running.values()):
            running.goes_on = running.asked.goes_on
            running.interrupt()
        while self._tasks:
            await asyncio.gather(*self._tasks)
        await asyncio.to_thread(self._aside.close)

    def check_room(self) -> None:
        """Decline what cannot begin now."""
        if self._closing:
            raise Declined(503, "the server is ending; ask again when it is back", kind="ending")
        if self._seats >= self._most:
            raise busy(
                f"{self._seats} readings are under way, as many as go at once; try again later", _SECONDS_TO_RETRY
            )

    def _enter(self, asked: Asked, *, new: bool) -> None:
        if new:
            self.journal.begin(asked.reading)
        self.ledger.enter(
            Entry(
                id=asked.reading.id,
                owner=asked.owner,
                request=asked.request,
                print=asked.print,
                open=asked.goes_on,
            )
        )

    def _claimed(self, id_: str) -> ExitStack:
        """The reading, held for this process until the stack is closed."""
        held = ExitStack()
        held.enter_context(self.journal.claim(id_))
        return held

    def _start(self, asked: Asked, model: Model, held: ExitStack) -> Running:
        reading, home = asked.reading, asyncio.get_running_loop()
        lent = Lent(
            model=model,
            turns=self._turns,
            owner=asked.owner or reading.id,
            home=home,
            metrics=self._metrics,
            purse=asked.purse,
        )

        def watch(event: Step | Answer) -> None:
            home.call_soon_threadsafe(running.tell, event)

        work = desk.carry_out(
            reading, asked.document, lent, way=way_named(reading.way), journal=self.journal, watch=watch
        )
        running = Running(asked=asked, job=self._aside.begin(work), steps=list(reading.steps))
        self._running[reading.id] = running
        self._metrics.begun()
        task = asyncio.create_task(self._see_to_its_end(running, held))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return running

    async def _see_to_its_end(self, running: Running, held: ExitStack) -> None:
        began = time.monotonic()
        reading = running.asked.reading
        ended = replace(reading, status=Status.FAILED, error="the server could not keep this reading")
        try:
            ended = await self._outcome(running)
        except BookwheelError as error:
            running.fault = error
            _log.warning("reading %s: %s", reading.id, error)
        finally:
            held.close()
            self._running.pop(reading.id, None)
            self._seats -= 1
            self._metrics.ended(ended.status)
            running.end(ended)
            _log.info("reading %s: %s after %.1f s", reading.id, ended.status, time.monotonic() - began)

    async def _outcome(self, running: Running) -> Reading:
        """The reading as it was kept in the end, whatever ended it."""
        id_ = running.asked.reading.id
        try:
            ended = await asyncio.wrap_future(running.job.outcome)
        except Interrupted:
            kept = await asyncio.to_thread(self.journal.reading, id_)
            status, error = (Status.READING, "") if running.goes_on else (Status.CANCELLED, "interrupted")
            ended = replace(kept, status=status, error=error)
            await self.journal.end(ended)
        except InputError as error:
            running.fault = error
            ended = await asyncio.to_thread(self.journal.reading, id_)
        except BookwheelError:
            raise
        except Exception:  # noqa: BLE001 - one reading is recorded as failed; the others go on
            _log.exception("reading %s broke", id_)
            kept = await asyncio.to_thread(self.journal.reading, id_)
            ended = replace(kept, status=Status.FAILED, error="an error of the server; its log says more")
            await self.journal.end(ended)
        if ended.status is not Status.READING:
            await asyncio.to_thread(self.ledger.set_open, id_, is_open=False)
        return ended
