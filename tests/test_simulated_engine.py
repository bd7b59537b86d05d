"""The simulated engine keeps its own time, batches replies and reuses prefixes."""

from __future__ import annotations

import asyncio

import pytest
from simulated_engine import EngineSpeed, simulate

SPEED = EngineSpeed(prefill=1000, base=0.02, prefill_batch=1000)


def run(*calls: tuple[list[str], int], one_by_one: bool = False, speed=SPEED):
    async def work(engine):
        if one_by_one:
            return [await engine.call(*call) for call in calls]
        return await asyncio.gather(*(engine.call(*call) for call in calls))

    return simulate(speed, work)


def words(start: int, count: int) -> list[str]:
    return [f"w{number}" for number in range(start, start + count)]


def test_a_call_takes_its_prompt_and_its_reply():
    # The iteration that ends the prompt gives the first token.
    assert run((words(0, 500), 50)).seconds == pytest.approx(0.5 + 49 * 0.02)


def test_replies_side_by_side_are_written_together():
    both = run((words(0, 500), 51), (words(1000, 500), 51)).seconds
    assert both == pytest.approx(1.0 + 50 * 0.02)


def test_a_prompt_holds_up_the_replies_beside_it():
    late = simulate(
        SPEED,
        lambda engine: asyncio.wait_for(_second_arrives_later(engine), None),
    )
    assert late.seconds == pytest.approx(0.1 + 49 * 0.02 + 0.5)


async def _second_arrives_later(engine):
    first = asyncio.ensure_future(engine.call(words(0, 100), 50))
    await asyncio.sleep(0.3)
    await engine.call(words(1000, 500), 1)
    await first


def test_a_prefix_is_computed_once_and_only_by_whole_blocks():
    same = words(0, 100)
    outcome = run((same, 1), ([*same, *words(500, 60)], 1), one_by_one=True)
    assert outcome.outcome == [0, 96]
    assert outcome.seconds == pytest.approx(0.1 + 0.064)


def test_calls_that_come_together_share_what_the_first_has_computed():
    same = words(0, 400)
    speed = EngineSpeed(prefill=1000, base=0.02, prefill_batch=200)
    assert run(([*same, "a"], 1), ([*same, "b"], 1), speed=speed).outcome == [0, 400]


def test_a_full_cache_forgets_the_oldest_prompt():
    speed = EngineSpeed(prefill=1000, base=0.02, cache_tokens=160)
    first, second = words(0, 160), words(1000, 160)
    assert run((first, 1), (second, 1), (first, 1), one_by_one=True, speed=speed).outcome == [0, 0, 0]
    assert run((first, 1), (first, 1), one_by_one=True, speed=speed).outcome == [0, 159]


def test_waiting_for_ever_is_an_error_and_no_endless_loop():
    with pytest.raises(RuntimeError, match="will not come"):
        simulate(SPEED, lambda _engine: asyncio.Event().wait())
