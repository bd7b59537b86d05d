"""Turns: never more than allowed at once, everybody in their turn, nothing lost to those who leave."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.fair_queue import FairQueue


def test_owners_take_turns_however_much_one_of_them_wants() -> None:
    served: list[str] = []

    async def call(turns: FairQueue, owner: str) -> None:
        async with turns.slot(owner):
            served.append(owner)
            await asyncio.sleep(0)

    async def run() -> None:
        turns = FairQueue(1, most_waiting=100)
        await asyncio.gather(*(call(turns, "greedy") for _ in range(20)), *(call(turns, f"r{n}") for n in range(3)))

    asyncio.run(run())
    assert {"r0", "r1", "r2"} <= set(served[:8])
    assert len(served) == 23


@given(
    at_once=st.integers(1, 4),
    owners=st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
    leavers=st.sets(st.integers(0, 29)),
    seed=st.integers(0, 9),
)
def test_every_place_is_given_back_whoever_leaves(
    at_once: int, owners: list[str], leavers: set[int], seed: int
) -> None:
    async def run() -> None:
        turns, now, most, chance = FairQueue(at_once, most_waiting=100), 0, 0, random.Random(seed)

        async def call(owner: str) -> None:
            nonlocal now, most
            async with turns.slot(owner):
                now, most = now + 1, max(most, now + 1)
                try:
                    for _ in range(chance.randrange(4)):
                        await asyncio.sleep(0)
                finally:
                    now -= 1

        tasks = [asyncio.create_task(call(owner)) for owner in owners]
        for number in leavers & set(range(len(tasks))):
            await asyncio.sleep(0)
            tasks[number].cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(outcome is None or number in leavers for number, outcome in enumerate(done))
        assert most <= at_once
        async with asyncio.timeout(60):
            for _ in range(at_once):
                await turns.acquire("last")

    asyncio.run(run())


def test_a_queue_that_is_full_declines_with_a_time_to_retry_and_takes_again_when_it_is_not() -> None:
    async def run() -> None:
        queue = FairQueue(1, most_waiting=2)
        await queue.acquire("a")
        waiting = []
        for count in range(2):
            queue.check_capacity()
            waiting.append(asyncio.create_task(queue.acquire("b")))
            await asyncio.sleep(0)
            assert queue.waiting == count + 1
        with pytest.raises(ApiError) as declined:
            queue.check_capacity()
        assert (declined.value.status, declined.value.headers["Retry-After"]) == (429, "5")
        queue.release()
        await waiting[0]
        assert queue.waiting == 1
        queue.check_capacity()
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert queue.waiting == 0

    asyncio.run(run())


def test_a_client_is_served_in_the_order_of_its_calls_and_clients_in_turn() -> None:
    async def run() -> list[str]:
        queue, served = FairQueue(1, most_waiting=100), []

        async def call(client: str, number: int) -> None:
            async with queue.slot(client):
                served.append(f"{client}{number}")

        await queue.acquire("first")
        tasks = []
        for number, client in enumerate("aaaabb"):
            tasks.append(asyncio.create_task(call(client, number)))
            await asyncio.sleep(0)
        queue.release()
        await asyncio.gather(*tasks)
        return served

    assert asyncio.run(run()) == ["a0", "b4", "a1", "b5", "a2", "a3"]


def test_a_slot_granted_to_a_call_that_was_just_cancelled_goes_to_the_next() -> None:
    async def run() -> None:
        queue = FairQueue(1, most_waiting=100)
        await queue.acquire("a")
        left, stays = (asyncio.create_task(queue.acquire(client)) for client in "bc")
        await asyncio.sleep(0)
        queue.release()
        left.cancel()
        async with asyncio.timeout(60):
            await stays
        assert left.cancelled() or (await asyncio.gather(left, return_exceptions=True))
        queue.release()
        await queue.acquire("d")

    asyncio.run(run())
