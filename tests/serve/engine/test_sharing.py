"""Turns for everybody, however much one wants; a model in turn, within the quota, in its connections' own loop."""

from __future__ import annotations

import asyncio
import random
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.errors import BudgetReached, Unreachable
from bookwheel.models.base import Ability
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Budget, Sampling
from bookwheel.reading.budget import BudgetedModel
from bookwheel.serve.engine.access import Key, TokenQuota
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.running_reading import JobCancelled, ReadingLoop
from bookwheel.serve.engine.sharing import FairQueue, Metrics, SharedModel
from bookwheel.serve.engine.usage import UsageStore
from bookwheel.types import Message, Usage

TALK = (Message(role="user", content="one two three four"),)


@pytest.fixture
def usage(tmp_path: Path):
    store = UsageStore(tmp_path / "journal.sqlite")
    yield store
    store.close()


class Model(ScriptedModel):
    """Answers "yes", and notes the loop of each call."""

    def __init__(self, **settings: object) -> None:
        super().__init__(lambda messages: "yes", **settings)
        self.loops: list[asyncio.AbstractEventLoop] = []
        self.is_closed = False

    async def reply(self, messages, *, limit, sampling):
        self.loops.append(asyncio.get_running_loop())
        return await super().reply(messages, limit=limit, sampling=sampling)

    async def aclose(self) -> None:
        self.is_closed = True


def shared(model: ScriptedModel, queue: FairQueue, quota: TokenQuota | None = None, **more: object) -> SharedModel:
    settings = {"client": "a", "loop": asyncio.get_running_loop(), "metrics": Metrics(), **more}
    return SharedModel(model, queue=queue, quota=quota, **settings)


def test_the_longest_reply_must_be_left_in_the_quota_before_the_model_is_called(usage: UsageStore) -> None:
    async def run() -> None:
        model, queue = Model(), FairQueue(1, most_waiting=9)
        most = 50 + model.template_tokens + model.tokenizer.count(TALK[0].content)
        small = TokenQuota(Key(name="a", sha256="", tokens_per_day=most - 1), usage)
        with pytest.raises(BudgetReached):
            await shared(model, queue, small).reply(TALK, limit=50, sampling=Sampling())
        assert model.loops == []
        enough = TokenQuota(Key(name="a", sha256="", tokens_per_day=most), usage)
        reply = await shared(model, queue, enough).reply(TALK, limit=50, sampling=Sampling())
        assert usage.tokens_today("a") == reply.usage.tokens > 0
        enough.check(most - reply.usage.tokens)
        with pytest.raises(BudgetReached):
            enough.check(most - reply.usage.tokens + 1)

    asyncio.run(run())


def test_calls_that_wait_have_their_tokens_reserved(usage: UsageStore) -> None:
    async def run() -> None:
        model, queue = Model(), FairQueue(1, most_waiting=9)
        most = 50 + model.template_tokens + model.tokenizer.count(TALK[0].content)
        quota = TokenQuota(Key(name="a", sha256="", tokens_per_day=most), usage)
        one = shared(model, queue, quota)
        await queue.acquire("other")
        waiting = asyncio.create_task(one.reply(TALK, limit=50, sampling=Sampling()))
        await asyncio.sleep(0)
        with pytest.raises(BudgetReached):
            quota.check(1)
        queue.release()
        await waiting

    asyncio.run(run())


def test_a_failed_call_gives_back_its_slot_and_its_tokens(usage: UsageStore) -> None:
    async def run() -> None:
        model, queue = Model(faults={0: Unreachable("gone")}), FairQueue(1, most_waiting=9)
        quota = TokenQuota(Key(name="a", sha256="", tokens_per_day=10_000), usage)
        one = shared(model, queue, quota)
        with pytest.raises(Unreachable):
            await one.reply(TALK, limit=50, sampling=Sampling())
        quota.check(10_000)
        async with asyncio.timeout(60):
            await one.reply(TALK, limit=50, sampling=Sampling())

    asyncio.run(run())


def test_a_call_from_the_loop_of_readings_reaches_the_model_in_its_own_loop() -> None:
    async def run() -> None:
        model, queue, worker = Model(), FairQueue(1, most_waiting=9), ReadingLoop()
        one = shared(model, queue)
        reply = await worker.run(one.reply(TALK, limit=50, sampling=Sampling()))
        await asyncio.to_thread(worker.close)
        assert reply.text == "yes"
        assert model.loops == [asyncio.get_running_loop()]

    asyncio.run(run())


@pytest.mark.filterwarnings("error")
def test_work_that_is_cancelled_in_the_breath_in_which_it_is_submitted_never_begins() -> None:
    began: list[str] = []

    async def work() -> None:
        began.append("work")
        await asyncio.sleep(60)

    async def run() -> None:
        worker, is_busy, is_free = ReadingLoop(), threading.Event(), threading.Event()
        # While the loop is busy both come into one pass of it: the cancellation before the first line of the work.
        busy = worker.submit(_block(is_busy, is_free))
        await asyncio.to_thread(is_busy.wait, 20)
        job = worker.submit(work())
        job.cancel()
        is_free.set()
        with pytest.raises(JobCancelled):
            await asyncio.wait_for(asyncio.wrap_future(job.outcome), 20)
        assert await asyncio.wrap_future(busy.outcome)
        await asyncio.to_thread(worker.close)

    asyncio.run(run())
    assert began == []


async def _block(is_busy: threading.Event, is_free: threading.Event) -> bool:
    is_busy.set()
    return is_free.wait(20)


def test_a_reply_is_counted_and_the_servers_model_stays_open() -> None:
    async def run() -> None:
        model, metrics = Model(), Metrics()
        one = shared(model, FairQueue(1, most_waiting=9), metrics=metrics)
        reply = await one.reply(TALK, limit=50, sampling=Sampling())
        await one.aclose()
        assert not model.is_closed
        text = metrics.render().decode()
        assert f'bookwheel_calls_total{{model="{model.name}"}} 1.0' in text
        assert f'of="prompt"}} {float(reply.usage.prompt_tokens)}' in text
        assert f'of="completion"}} {float(reply.usage.completion_tokens)}' in text
        assert (one.name, one.window, one.plan) == (model.name, model.window, model.plan)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (Unreachable("refused"), 0),
        (Unreachable("broke", is_charged=True), 54),
        (Unreachable("broke", is_charged=True, received="x" * 32), 14),
    ],
)
def test_a_call_without_a_reply_counts_what_it_may_have_cost(usage: UsageStore, error: Unreachable, lost: int) -> None:
    async def run() -> None:
        quota = TokenQuota(Key(name="a", sha256="", tokens_per_day=1000), usage)
        with pytest.raises(Unreachable):
            await shared(Model(faults={0: error}), FairQueue(1, most_waiting=9), quota).reply(
                TALK, limit=50, sampling=Sampling()
            )
        quota.check(1000 - lost)

    asyncio.run(run())
    assert usage.tokens_today("a") == lost


def test_a_cancelled_call_is_not_for_nothing(usage: UsageStore) -> None:
    async def run() -> None:
        quota = TokenQuota(Key(name="a", sha256="", tokens_per_day=1000), usage)
        model = shared(Model(seconds_per_call=60), FairQueue(1, most_waiting=9), quota)
        call = asyncio.create_task(model.reply(TALK, limit=50, sampling=Sampling()))
        await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(run())
    assert usage.tokens_today("a") == 54


@pytest.mark.parametrize(("slots", "spent"), [(1, Usage(calls=1, prompt_tokens=4, completion_tokens=50)), (0, Usage())])
def test_a_cancelled_call_counts_for_its_reading_unless_it_still_waited_for_its_turn(slots: int, spent: Usage) -> None:
    async def run() -> Usage:
        model = BudgetedModel(shared(Model(seconds_per_call=60), FairQueue(slots, most_waiting=9)), Budget(tokens=900))
        call = asyncio.create_task(model.reply(TALK, limit=50, sampling=Sampling()))
        await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return replace(model.spent, seconds=0.0)

    assert asyncio.run(run()) == spent


def test_judgements_wait_count_and_run_in_the_models_loop_like_replies(usage: UsageStore) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    def note(value: list[float]) -> list[float]:
        loops.append(asyncio.get_running_loop())
        return value

    async def run() -> None:
        model = ScriptedModel(
            lambda messages: "never",
            judge=lambda messages, options: note([-0.5, -1.5]),
            likelihood=lambda messages, text: note([-1.0] * 3),
        )
        prompt = model.tokenizer.count(TALK[0].content)
        quota = TokenQuota(Key(name="a", sha256="", tokens_per_day=2 * prompt + 5), usage)
        one = shared(model, FairQueue(1, most_waiting=9), quota)
        assert await one.abilities() == await model.abilities() == frozenset(Ability)
        worker = ReadingLoop()
        judgement = await worker.run(one.judge(TALK, ("Yes", "No")))
        await asyncio.to_thread(worker.close)
        assert judgement.logprobs == (-0.5, -1.5)
        assert usage.tokens_today("a") == prompt + 1
        assert (await one.likelihood(TALK, "a b c")).mean == -1.0
        assert usage.tokens_today("a") == 2 * prompt + 4
        with pytest.raises(BudgetReached):
            await one.likelihood(TALK, "a b c")
        assert loops == [asyncio.get_running_loop()] * 2

    asyncio.run(run())


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
