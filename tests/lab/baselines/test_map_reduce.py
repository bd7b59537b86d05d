"""Notes on chunks are taken side by side, in a window that slides."""

from __future__ import annotations

import asyncio

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import ServerFault
from bookwheel.lab.baselines.chains import map_reduce
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.types import Answer, Step

PLAN = Plan(chunk_tokens=40, memory_tokens=40, answer_tokens=40, question_tokens=40)
TEXT = "The keeper lit the lamp at dusk and wrote it down.\n" * 60


class Held(ScriptedModel):
    """A model whose calls end when they are let go, by the number in which they began."""

    def __init__(self) -> None:
        super().__init__(lambda _messages: "The keeper wrote.")
        self.gates: list[asyncio.Event] = []
        self.open = False
        self.fails_at: int | None = None
        self.cancelled = 0

    async def reply(self, messages, *, limit, sampling):
        number, gate = len(self.gates), asyncio.Event()
        self.gates.append(gate)
        try:
            if not self.open:
                await gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if number == self.fails_at:
            raise ServerFault("worker died")
        return await super().reply(messages, limit=limit, sampling=sampling)

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)


def test_a_call_begins_when_the_oldest_ends_and_never_more_than_eight_at_once() -> None:
    async def run() -> None:
        model = Held()
        events = map_reduce(TextDocument(TEXT), "Who wrote?", model, PLAN)
        first = asyncio.create_task(anext(events))
        await model.settle()
        assert len(model.gates) == 8
        model.gates[0].set()
        assert (await first).chunk.index == 0
        second = asyncio.create_task(anext(events))
        await model.settle()
        assert len(model.gates) == 9
        model.open = True
        for gate in model.gates:
            gate.set()
        rest = [await second, *[event async for event in events]]
        steps = [event for event in rest if isinstance(event, Step) and event.chunk.end > event.chunk.start]
        assert [step.chunk.index for step in steps] == list(range(1, len(steps) + 1))
        assert steps[-1].chunk.end == len(TEXT)
        assert isinstance(rest[-1], Answer)

    asyncio.run(asyncio.wait_for(run(), 10))


def test_steps_before_a_failed_one_are_kept_and_calls_after_it_are_cancelled() -> None:
    async def run() -> None:
        model = Held()
        model.fails_at = 2
        events = map_reduce(TextDocument(TEXT), "Who wrote?", model, PLAN)
        first = asyncio.create_task(anext(events))
        await model.settle()
        for gate in model.gates[:3]:
            gate.set()
        assert [(await first).chunk.index, (await anext(events)).chunk.index] == [0, 1]
        with pytest.raises(ServerFault):
            await anext(events)
        assert model.cancelled == len(model.gates) - 3 == 5

    asyncio.run(asyncio.wait_for(run(), 10))


def test_a_reading_that_stops_cancels_the_calls_in_flight() -> None:
    async def run() -> None:
        model = Held()
        events = map_reduce(TextDocument(TEXT), "Who wrote?", model, PLAN)
        first = asyncio.create_task(anext(events))
        await model.settle()
        model.gates[0].set()
        await first
        await events.aclose()
        await model.settle()
        assert model.cancelled == 7

    asyncio.run(asyncio.wait_for(run(), 10))
