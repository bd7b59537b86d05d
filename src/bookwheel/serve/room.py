"""The reading room: many readings carried out at once in one process, over one model and one journal.

A reading begins with its id, which is given back before the document is even opened: whoever asked can go away and
look again later. Leaving the room interrupts what is under way; the journal keeps it, and it can be resumed.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Self

from bookwheel import desk
from bookwheel.errors import BookwheelError
from bookwheel.evaluation.registry import way_named
from bookwheel.journal import KeptDocument
from bookwheel.plan import Budget
from bookwheel.types import Answer, DocumentInfo, Status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping
    from types import TracebackType
    from typing import Any

    from bookwheel.journal import Journal
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.types import Document, Reading, Step

_REMEMBERED: Final = 256
"""Ended readings of which it is still known what was left out of their documents."""
_log = logging.getLogger(__name__)


class Busy(BookwheelError):
    """As many readings are under way as the room takes."""


@dataclass(slots=True, kw_only=True, eq=False)
class Seat:
    """One reading that is, or was, carried out here."""

    id: str
    begun: bool = False
    """Whether the journal has it; before that its document is being opened."""
    ended: bool = False
    length: int | None = None
    """Characters of the document."""
    read_to: int = 0
    """The character up to which it was read."""
    steps: int = 0
    notes: tuple[str, ...] = ()
    """What was left out of the document."""
    fault: str = ""
    """Why it could not begin or go on."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set at the next change, and replaced by a new one."""
    task: asyncio.Task[None] | None = None

    def see(self, event: Step | Answer) -> None:
        """Take note of an event of the reading."""
        if not isinstance(event, Answer):
            self.read_to = event.chunk.end
            self.steps += 1
        self.tell()

    def end(self, task: asyncio.Task[None]) -> None:
        """Take note that nothing more will come, and why."""
        error = None if task.cancelled() else task.exception()
        if isinstance(error, BookwheelError):
            self.fault = str(error)
        elif error:
            self.fault = "it ended unexpectedly; what was read is kept, resume it"
            _log.error("reading %s ended unexpectedly", self.id, exc_info=error)
        self.ended = True
        self.tell()

    def tell(self) -> None:
        """Wake all who wait for a change."""
        self.news.set()
        self.news = asyncio.Event()


class ReadingRoom:
    """Begins, follows, ends and resumes readings."""

    def __init__(self, model: Model, journal: Journal, *, budget: Budget | None = None, most: int = 16) -> None:
        self.model = model
        self.journal = journal
        self._budget = budget or Budget()
        self._most = most
        self._seats: dict[str, Seat] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Interrupt what is under way; each of it is kept as cancelled."""
        tasks = [seat.task for seat in self._seats.values() if seat.task and not seat.task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def seat(self, id_: str) -> Seat | None:
        """The reading as it was followed here, if it was."""
        return self._seats.get(id_)

    def begin(
        self,
        open_: Callable[[], Document],
        question: str,
        *,
        plan: Mapping[str, Any] | None = None,
        way: str = "sequential",
    ) -> str:
        """The id of a reading that begins now. What is wrong with question, plan or way is raised at once."""
        way_named(way)
        unread = DocumentInfo(id="", name="", length=0)
        reading = desk.opened(unread, question, self.model, self._plan(self.model.plan, plan), way)
        desk.check(reading, self.model)
        seat = Seat(id=reading.id)
        self._take(seat, self._from_the_start(seat, reading, open_))
        return seat.id

    def resume(self, id_: str, *, plan: Mapping[str, Any] | None = None) -> str:
        """The id of a kept reading that now goes on from its last step, unless it has ended with an answer."""
        kept = self.journal.reading(id_)
        known = self._seats.get(kept.id)
        if kept.status is Status.ANSWERED or (known and not known.ended):
            return kept.id
        fresh = self._plan(replace(kept.plan, budget=Budget()), plan)
        reading = replace(kept, plan=fresh, status=Status.READING, model=self.model.name, error="")
        desk.check(reading, self.model)
        document = self.journal.document_of(kept.id)
        seat = Seat(id=kept.id, begun=True, length=document.length, steps=len(kept.steps))
        seat.read_to = kept.steps[-1].chunk.end if kept.steps else 0
        self._take(seat, self._carry_out(seat, reading, document))
        return kept.id

    async def cancel(self, id_: str) -> None:
        """Return when the reading, if it is under way here, has ended and is kept as cancelled."""
        seat = self._seats.get(id_)
        if seat and seat.task:
            seat.task.cancel()
            await asyncio.wait([seat.task])

    async def follow(self, id_: str, seconds: float, watch: Callable[[Seat], Awaitable[None]]) -> None:
        """Return when the reading has ended, or after so many seconds; `watch` is called with it at each change."""
        seat = self._seats.get(id_)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                while seat and not seat.ended:
                    news = seat.news
                    await watch(seat)
                    await news.wait()

    def _plan(self, plan: Plan, values: Mapping[str, Any] | None) -> Plan:
        """The plan with what a client asks for, inside the limits that were set for all."""
        asked = plan.with_values(values or {})
        return replace(asked, budget=_tighter(asked.budget, self._budget))

    def _take(self, seat: Seat, work: Coroutine[Any, Any, None]) -> None:
        under_way = sum(not other.ended for other in self._seats.values())
        if under_way >= self._most:
            work.close()
            raise Busy(f"{under_way} readings are under way, as many as are taken: wait for one of them to end")
        for old in [id_ for id_, other in self._seats.items() if other.ended][:-_REMEMBERED]:
            del self._seats[old]
        self._seats[seat.id] = seat
        seat.task = asyncio.create_task(work, name=f"reading {seat.id}")
        seat.task.add_done_callback(seat.end)

    async def _from_the_start(self, seat: Seat, reading: Reading, open_: Callable[[], Document]) -> None:
        document, seat.notes = await asyncio.to_thread(self._kept, open_)
        seat.length = document.length
        reading = replace(reading, document=document.info)
        await asyncio.to_thread(self.journal.begin, reading)
        seat.begun = True
        seat.tell()
        await self._carry_out(seat, reading, document)

    def _kept(self, open_: Callable[[], Document]) -> tuple[KeptDocument, tuple[str, ...]]:
        document = open_()
        kept = document if isinstance(document, KeptDocument) else self.journal.keep(document)
        return kept, tuple(getattr(document, "notes", ()))

    async def _carry_out(self, seat: Seat, reading: Reading, document: KeptDocument) -> None:
        way = way_named(reading.way)
        with self.journal.claim(reading.id):
            await desk.carry_out(reading, document, self.model, way=way, journal=self.journal, watch=seat.see)


def _tighter(asked: Budget, most: Budget) -> Budget:
    """The smaller of each two limits; prices are the server's where it has any."""
    prices = most if most.price_in or most.price_out else asked
    limits = {
        name: min((value for value in (getattr(asked, name), getattr(most, name)) if value is not None), default=None)
        for name in ("tokens", "seconds", "cost")
    }
    return Budget(**limits, price_in=prices.price_in, price_out=prices.price_out)
