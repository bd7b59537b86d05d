"""Several questions about one document: a reading for each, in lockstep, so that a prefix cache serves them.

    chunk 1: question 1, then questions 2 … N at once; chunk 2: question 1, then …

Where the first call about a chunk is a judgement, the first question asks it alone and the others follow as soon as it
has ended: by then the server has the chunk in its cache. Otherwise all ask at once, for to wait for a whole reply would
cost more than to compute the chunk again. Each question is a reading of its own in the journal: it can be stopped,
resumed, edited and deleted by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TypeVar

from bookwheel.models.base import Judgement, Likelihood, Model, ModelWrapper
from bookwheel.models.patience import Patience
from bookwheel.plan import Plan, Sampling
from bookwheel.reading.budget import BudgetedModel
from bookwheel.reading.loop import Way
from bookwheel.reading.runner import StepStore, Watch, ignore_event, run_reading
from bookwheel.reading.ways.compose import ComposedWay
from bookwheel.types import Answer, Document, Message, Reading, Reply, Step, Usage

_T = TypeVar("_T")


class Lockstep:
    """Lets several readings take the same step together, one of them a little ahead."""

    def __init__(self, *, has_leader: bool) -> None:
        self._has_leader = has_leader
        self._steps: dict[int, int] = {}
        """How many steps each reading has taken; readings that ended are gone."""
        self._opened = -1
        """The newest step at which the leader's first call has ended."""
        self._changed = asyncio.Condition()

    @classmethod
    def of(cls, readings: Sequence[Reading], way: Way) -> Lockstep:
        """Return what keeps readings together, each a member by its place, before any of them reads."""
        lockstep = cls(has_leader=isinstance(way, ComposedWay) and way.gate is not None)
        for member, reading in enumerate(readings):
            lockstep.join(member, len(reading.steps))
        return lockstep

    def join(self, member: int, steps: int) -> None:
        """Add a reading that has taken so many steps, or one that left and comes back."""
        self._steps[member] = steps

    async def wait_for_turn(self, member: int) -> None:
        """Return when no other reading is behind and the leader, if this is not the one, has made its first call."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._may_go(member))

    def _may_go(self, member: int) -> bool:
        mine = self._steps[member]
        if mine > min(self._steps.values()):
            return False
        if not self._has_leader or self._opened >= mine:
            return True
        return member == min(other for other, steps in self._steps.items() if steps == mine)

    async def open_step(self, member: int) -> None:
        """Let the others follow: the reading's call about its current step has ended."""
        if member in self._steps and self._steps[member] > self._opened:
            async with self._changed:
                self._opened = max(self._opened, self._steps[member])
                self._changed.notify_all()

    async def advance(self, member: int) -> None:
        """Count one more step of the reading."""
        async with self._changed:
            self._steps[member] += 1
            self._changed.notify_all()

    async def leave(self, member: int) -> None:
        """Let the others go on without this reading."""
        async with self._changed:
            self._steps.pop(member, None)
            self._changed.notify_all()


class _LockstepModel(ModelWrapper):
    """A model that tells when a call has ended, whatever it gave."""

    def __init__(self, model: Model, tell: Callable[[], Awaitable[None]]) -> None:
        super().__init__(model)
        self._tell = tell

    async def reply(self, messages: Sequence[Message], *, limit: int, sampling: Sampling) -> Reply:
        return await self._finish(super().reply(messages, limit=limit, sampling=sampling))

    async def judge(self, messages: Sequence[Message], options: Sequence[str]) -> Judgement:
        return await self._finish(super().judge(messages, options))

    async def likelihood(self, messages: Sequence[Message], continuation: str) -> Likelihood:
        return await self._finish(super().likelihood(messages, continuation))

    async def _finish(self, call: Awaitable[_T]) -> _T:
        try:
            return await call
        finally:
            await self._tell()


def follow(lockstep: Lockstep, member: int, way: Way) -> Way:
    """Return the way in lockstep with the others."""

    async def read_in_step(
        document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
    ) -> AsyncGenerator[Step | Answer]:
        # A way begins anew after a passing error; it left the lockstep then.
        lockstep.join(member, len(done))
        guided = _LockstepModel(model, lambda: lockstep.open_step(member))
        events = way(document, question, guided, plan, done)
        try:
            async with aclosing(events):
                while True:
                    await lockstep.wait_for_turn(member)
                    event = await anext(events, None)
                    if event is None:
                        return
                    await lockstep.advance(member)
                    yield event
        finally:
            await lockstep.leave(member)

    return read_in_step


async def run_readings(
    readings: Sequence[Reading],
    document: Document,
    model: Model,
    *,
    way: Way,
    journal: StepStore | None = None,
    watch: Watch = ignore_event,
    patience: Patience | None = None,
) -> list[Reading]:
    """Read one document for a question, or for several in lockstep; return the readings in their order.

    Their budget is one, that of the first, which `watch` sees; it stands for all. One that fails or stops at the budget
    does not stop the others. An interrupt stops all of them. What is wrong with the input of one is raised when the
    others have ended.
    """
    ways = [way]
    if len(readings) > 1:
        lockstep = Lockstep.of(readings, way)
        # One command, one limit. What a question itself cost counts too.
        before = sum((reading.usage for reading in readings if not reading.steps), start=Usage())
        model = BudgetedModel(model, readings[0].plan.budget, before)
        ways = [follow(lockstep, member, way) for member in range(len(readings))]
    runs = [
        run_reading(
            reading,
            document,
            model,
            way=own,
            journal=journal,
            watch=ignore_event if member else watch,
            patience=patience,
            # What the question cost counts for the limits too.
            counted=None if reading.steps else reading.usage,
        )
        for member, (reading, own) in enumerate(zip(readings, ways, strict=True))
    ]
    ended = await asyncio.gather(*runs, return_exceptions=True)
    for outcome in ended:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in ended if not isinstance(outcome, BaseException)]
