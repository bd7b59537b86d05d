from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import asyncio
import threading

from bookwheel.errors import PlanError
from bookwheel.lab.tasks.base import Sample, SampleDocument
from bookwheel.lab.training.advantages import Estimator
from bookwheel.lab.training.config import ROLLOUT
from bookwheel.lab.training.rewards import RewardResult
from bookwheel.lab.training.rollouts import (
    BatchPipeline,
    Group,
    Rollout,
    RolloutOutcome,
    RolloutSettings,
    collect_rollouts,
    measure,
    roll_group,
    rows_of_groups,
)
from bookwheel.lab.training.workflows import Episode
from bookwheel.types import Conversation, Reply, TokenRecord


class Nobody:
    """A reader that hands out its rollouts' seeds."""

    def for_rollout(self, seed, sampling):
        return seed


def sample(name="s"):
    return Sample(id=name, task="t", question="?", golds=("1",), document=SampleDocument("d", ["x"]), metric="exact")


def told(count):
    record = TokenRecord(prompt=(1, 2), reply=(3, 4), logprobs=(-1.0, -1.0))
    return tuple(Conversation(messages=(), reply=Reply(text="x", tokens=record)) for _ in range(count))


def rolled(reward, conversations=1, name="r"):
    episode = Episode(conversations=told(conversations), answer="", limits=(9,) * conversations)
    result = RewardResult(score=reward, answer=reward)
    return Rollout(id=name, sample=sample(), outcome=RolloutOutcome.SCORED, episode=episode, result=result)


def failed():
    return Rollout(id="f", sample=sample(), outcome=RolloutOutcome.FAILED, error="TimedOut: no reply")


async def answer_by_luck(seed, asked):
    return Episode(conversations=told(1), answer=str(seed % 2), limits=(9,))


def judge(episode, asked):
    return RewardResult(score=float(episode.answer), answer=float(episode.answer))


def rolling(workflow=answer_by_luck, reward=judge):
    return RolloutSettings(model=Nobody(), workflow=workflow, reward=reward, sampling=ROLLOUT, seed=0)


def run(names=tuple("abcdefgh"), **how):
    return asyncio.run(roll_group(sample(), names, rolling(**how)))


def test_forty_chunks_count_as_much_as_two():
    group = Group(sample=sample(), rollouts=(rolled(1.0, 41), rolled(0.0, 3), rolled(0.0, 3), rolled(0.0, 3)))
    assert [advantage for _, advantage in group.credit(Estimator.MEAN)] == [0.75, -0.25, -0.25, -0.25]
    rows = rows_of_groups([group], Estimator.MEAN)
    assert [row.advantage for row in rows] == [0.75] * 41 + [-0.25] * 9


def test_a_failed_rollout_stays_out_of_the_statistics_and_in_the_books():
    group = Group(sample=sample(), rollouts=(rolled(1.0), failed(), rolled(0.0)))
    assert [advantage for _, advantage in group.credit(Estimator.MEAN)] == [0.5, -0.5]
    assert len(group.rollouts) == 3
    assert Group(sample=sample(), rollouts=(rolled(1.0), failed())).credit(Estimator.MEAN) == []


def test_the_name_alone_decides_a_rollouts_luck():
    first, second = run(), run(tuple("hgfedcba"))
    assert {r.id: r.result.score for r in first.rollouts} == {r.id: r.result.score for r in second.rollouts}
    assert set(first.rewards) == {0.0, 1.0}


def test_what_goes_wrong_inside_is_kept_as_an_outcome():
    async def moody(seed, asked):
        if seed % 2:
            raise TimeoutError("no reply")
        return await answer_by_luck(seed, asked)

    group = run(workflow=moody)
    assert {r.outcome for r in group.rollouts} == {RolloutOutcome.SCORED, RolloutOutcome.FAILED}
    assert {r.error for r in group.rollouts} == {"", "TimeoutError: no reply"}

    def cross(episode, asked):
        raise ZeroDivisionError("judge")

    unscored = run(reward=cross).rollouts
    assert {(r.outcome, r.error, r.result) for r in unscored} == {
        (RolloutOutcome.UNSCORED, "ZeroDivisionError: judge", None)
    }


def test_settings_that_cannot_work_are_raised_not_recorded():
    async def too_wide(seed, asked):
        raise PlanError("lower --chunk-tokens")

    with pytest.raises(PlanError):
        run(workflow=too_wide)


def test_slow_scoring_leaves_the_event_loop_free():
    """The verdict waits for something that only the event loop does; on the loop's own thread it would never come."""
    opened = threading.Event()

    async def opener(seed, asked):
        asyncio.get_running_loop().call_later(0.01, opened.set)
        return await answer_by_luck(seed, asked)

    def patient(episode, asked):
        assert opened.wait(timeout=20)
        return judge(episode, asked)

    assert all(r.outcome is RolloutOutcome.SCORED for r in run(workflow=opener, reward=patient).rollouts)


def harvested(rewards, *, groups, refills):
    drawn = iter(rewards)

    async def roll(pair):
        return Group(sample=sample(), rollouts=tuple(rolled(reward) for reward in pair))

    async def prepare(number):
        return number

    batch = collect_rollouts(lambda: next(drawn), groups=groups, refills=refills, prepare=prepare, roll=roll)
    return asyncio.run(batch), list(drawn)


def test_groups_without_spread_are_dropped_and_others_drawn():
    found, rest = harvested([(1, 1), (0, 1), (0, 0), (1, 0), (1, 1)], groups=2, refills=3)
    assert [group.rewards for group in found.groups] == [[0, 1], [1, 0]]
    assert [group.rewards for group in found.dropped] == [[1, 1], [0, 0]]
    assert rest == [(1, 1)]
    assert len(found.rollouts) == 8


def test_refilling_ends_after_its_rounds():
    found, rest = harvested([(1, 1)] * 9, groups=2, refills=2)
    assert found.groups == []
    assert len(found.dropped) == 6
    assert len(rest) == 3


def test_without_refills_every_group_stays():
    found, _ = harvested([(1, 1), (0, 1)], groups=2, refills=0)
    assert len(found.groups) == 2
    assert not found.dropped


def test_two_scored_rollouts_are_compared_and_one_alone_is_not():
    pair = Group(sample=sample(), rollouts=(rolled(1.0), failed(), rolled(0.0)))
    assert [advantage for _, advantage in pair.credit(Estimator.MEAN)] == [0.5, -0.5]
    alone = Group(sample=sample(), rollouts=(rolled(1.0), failed()))
    assert alone.credit(Estimator.MEAN) == []


class Rollouts:
    """Counts what was begun; each batch is its number and the step at which its first draw happened."""

    def __init__(self):
        self.drawn = 0
        self.step = 0

    async def collect(self, earlier):
        number, begun = self.drawn, self.step
        self.drawn += 1
        await asyncio.sleep(0)
        return number, begun


def run_pipeline(staleness, steps):
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
    seen, drawn = run_pipeline(0, 4)
    assert seen == [(step, step, 0, step + 1) for step in range(4)]
    assert drawn == 4


@pytest.mark.parametrize("staleness", [1, 2, 5])
def test_no_batch_is_older_than_the_bound_and_none_is_begun_for_nothing(staleness):
    seen, drawn = run_pipeline(staleness, 8)
    assert [number for number, *_ in seen] == list(range(8))
    assert [age for _, _, age, _ in seen] == [min(step, staleness) for step in range(8)]
    assert drawn == 8


def test_a_resumed_run_draws_again_what_was_under_way():
    seen, _ = run_pipeline(2, 8)
    assert [cursor for *_, cursor in seen] == list(range(1, 9))


def test_a_failure_ends_the_run_and_leaves_nothing_behind():
    async def train():
        async def collect(earlier):
            raise RuntimeError("broken")

        pipeline = BatchPipeline(collect, staleness=2, cursor=lambda: 0)
        with pytest.raises(RuntimeError, match="broken"):
            await pipeline.next_batch(0, 9)
        await pipeline.cancel()
        return len(asyncio.all_tasks())

    assert asyncio.run(train()) == 1


def test_a_sample_can_be_measured_several_times():
    scores = asyncio.run(measure([sample("a"), sample("b")], rolling(), repeats=4))
    assert scores["n"] == 8
    assert 0 < scores["accuracy"] < 1
    assert asyncio.run(measure([sample("a")], rolling()))["n"] == 1
