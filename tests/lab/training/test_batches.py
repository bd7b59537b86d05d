from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("torch")

from bookwheel.lab.training.batches import BatchPipeline


class Rollouts:
    """Counts what was begun; each batch is its number and the step at which its first draw happened."""

    def __init__(self):
        self.drawn = 0
        self.step = 0

    async def collect(self):
        number, begun = self.drawn, self.step
        self.drawn += 1
        await asyncio.sleep(0)
        return number, begun


def run(staleness, steps):
    async def train():
        rollouts = Rollouts()
        pipeline = BatchPipeline(rollouts.collect, staleness=staleness, cursor=lambda: rollouts.drawn)
        seen = []
        for step in range(steps):
            rollouts.step = step
            batch, age = await pipeline.next_batch(step, steps)
            seen.append((*batch, age, pipeline.resume_cursor()))
        return seen, rollouts.drawn

    return asyncio.run(train())


def test_without_staleness_a_batch_is_begun_at_its_own_step():
    seen, drawn = run(0, 4)
    assert seen == [(step, step, 0, step + 1) for step in range(4)]
    assert drawn == 4


@pytest.mark.parametrize("staleness", [1, 2, 5])
def test_no_batch_is_older_than_the_bound_and_none_is_begun_for_nothing(staleness):
    seen, drawn = run(staleness, 8)
    assert [number for number, *_ in seen] == list(range(8))
    assert [age for _, _, age, _ in seen] == [min(step, staleness) for step in range(8)]
    assert drawn == 8


def test_a_resumed_run_draws_again_what_was_under_way():
    seen, _ = run(2, 8)
    assert [cursor for *_, cursor in seen] == list(range(1, 9))


def test_a_failure_ends_the_run_and_leaves_nothing_behind():
    async def train():
        async def collect():
            raise RuntimeError("broken")

        pipeline = BatchPipeline(collect, staleness=2, cursor=lambda: 0)
        with pytest.raises(RuntimeError, match="broken"):
            await pipeline.next_batch(0, 9)
        await pipeline.cancel()
        return len(asyncio.all_tasks())

    assert asyncio.run(train()) == 1
