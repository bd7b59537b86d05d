"""Groups of rollouts: every sample is tried G times, all conversations at once.

    batch:   draw samples -> G rollouts each -> score -> keep
    refill:  groups with equal rewards teach nothing; drop them, draw as many new samples, at most R times

A failed rollout is data: it keeps its error, has no reward, stays out of its group's statistics and is counted. Scoring
runs in threads, so that slow verifiers do not delay other conversations.

With staleness, batches are begun some steps ahead of the steps that need them:

    staleness 0    begin 0 | train 0 | begin 1 | train 1 | ...          rollouts come from the newest weights
    staleness 1    begin 0, 1 | train 0 while 1 is sampled | begin 2 | train 1 while 2 is sampled | ...

Batch s is begun after step s - 1 - staleness at the earliest, so its weights are at most `staleness` steps old. The
loss corrects for the rest: old log-probabilities are the trainer's, and w_t compares them with the sampler's.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from itertools import chain, repeat
from typing import Any, TypeVar

from bookwheel.errors import DocumentTooLong, InputError, QuestionError, SourceError
from bookwheel.lab.tasks import Sample
from bookwheel.lab.tasks.memories import RIGHT, MemoryOutcome, trace_evidence
from bookwheel.lab.training import ranks
from bookwheel.lab.training.advantages import Estimator, advantages, has_spread, step_credits
from bookwheel.lab.training.errors import TrainingStopped
from bookwheel.lab.training.objective import RewardSettings
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.rewards import Credit, Reward, RewardResult, score_episode
from bookwheel.lab.training.rows import Row, rows_of
from bookwheel.lab.training.workflows import Episode, Workflow
from bookwheel.plan import Sampling

_SMALLEST_GROUP = 2
_OF_ONE_SAMPLE = (SourceError, QuestionError, DocumentTooLong)
# Where all rewards are equal, from here on they are more likely all right than all wrong.
_SOLVED = 0.5


class RolloutOutcome(StrEnum):
    """The end of a rollout."""

    SCORED = "scored"
    FAILED = "failed"
    """The workflow raised; `Rollout.error` says what."""
    UNSCORED = "unscored"
    """The verifier raised; `Rollout.error` says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One try at one sample."""

    id: str
    sample: Sample
    outcome: RolloutOutcome
    episode: Episode | None = None
    result: RewardResult | None = None
    """None where it was not scored."""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The rollouts of one sample.

    Of four rollouts with rewards 1, 0, 0, 0 the first has advantage 0.75 and the others -0.25, each on every token of
    every one of its conversations. With one failed, the other three are compared among themselves.
    """

    sample: Sample
    rollouts: tuple[Rollout, ...]

    @property
    def scored(self) -> tuple[Rollout, ...]:
        return tuple(rollout for rollout in self.rollouts if rollout.result is not None)

    @property
    def rewards(self) -> list[float]:
        return [rollout.result.score for rollout in self.rollouts if rollout.result is not None]

    def credit(self, estimator: Estimator) -> list[tuple[Rollout, float]]:
        # Failures can leave one rollout, which has none to be compared with.
        if len(self.scored) < _SMALLEST_GROUP:
            return []
        return list(zip(self.scored, advantages(self.rewards, estimator), strict=True))


@dataclass(slots=True, kw_only=True)
class RolloutBatch:
    """The groups of one step."""

    groups: list[Group] = field(default_factory=list)
    """To be trained on."""
    dropped: list[Group] = field(default_factory=list)
    """Without spread, and replaced; they still count in the metrics."""

    @property
    def rollouts(self) -> list[Rollout]:
        """All rollouts, kept or dropped."""
        return [rollout for group in (*self.groups, *self.dropped) for rollout in group.rollouts]

    def metrics(self) -> dict[str, Any]:
        """Return means and sums over all rollouts; failed ones count with a reward of 0."""
        rollouts = self.rollouts
        results = [rollout.result for rollout in rollouts if rollout.result]
        judged = [rollout for rollout in rollouts if rollout.sample.golds] or rollouts
        episodes = [rollout.episode for rollout in rollouts if rollout.episode]
        usages = [conversation.reply.usage for episode in episodes for conversation in episode.conversations]
        names = "recovered_probability", "teacher"
        parts = {name: [one.parts[name] for one in results if name in one.parts] for name in names}
        return {
            "reward": sum(result.score for result in results) / len(rollouts),
            "accuracy": sum(rollout.result.answer for rollout in judged if rollout.result) / len(judged),
            "rollouts": len(rollouts),
            "failed": sum(rollout.outcome is not RolloutOutcome.SCORED for rollout in rollouts),
            "groups": len(self.groups),
            "dropped": len(self.dropped),
            "conversations": len(usages),
            **{name: sum(scores) / len(scores) for name, scores in parts.items() if scores},
            "prompt_tokens": sum(usage.prompt_tokens for usage in usages),
            "reply_tokens": sum(usage.completion_tokens for usage in usages),
        }

    def advice(self) -> str:
        """Return what to change when there is nothing to learn from rollouts such as these."""
        failed = [rollout.error for rollout in self.rollouts if rollout.outcome is not RolloutOutcome.SCORED]
        if 2 * len(failed) > len(self.rollouts):
            ((error, _),) = Counter(failed).most_common(1)
            return f"{len(failed)} of {len(self.rollouts)} rollouts failed, most often with {error}"
        if self.metrics()["reward"] < _SOLVED:
            return (
                "the samples are too hard for the policy: warm-start longer, make them shorter, or raise "
                "train.group_size"
            )
        return "the policy solves all of them: take harder samples"


_Drawn = TypeVar("_Drawn")
_Ready = TypeVar("_Ready")


async def collect_rollouts(
    draw: Callable[[], _Drawn],
    *,
    groups: int,
    refills: int,
    prepare: Callable[[_Drawn], Coroutine[Any, Any, _Ready]],
    roll: Callable[[_Ready], Coroutine[Any, Any, Group]],
    earlier: asyncio.Task[RolloutBatch] | None = None,
) -> RolloutBatch:
    """Collect `groups` groups; those without spread are replaced in up to `refills` further rounds.

    An `earlier` batch is complete before this one is refilled: every rank draws the same samples for each.
    """
    batch = RolloutBatch()
    for _ in range(refills + 1):
        drawn = [draw() for _ in range(groups - len(batch.groups))]
        # All are prepared before the first begins: what is sampled together must not depend on how long that takes.
        ready = await asyncio.gather(*map(prepare, ranks.share(drawn)))
        rolled = await asyncio.gather(*map(roll, ready))
        if earlier is not None:
            await asyncio.wait([earlier])
        for group in await ranks.gather_beside(rolled):
            (batch.groups if has_spread(group.rewards) or not refills else batch.dropped).append(group)
        if len(batch.groups) == groups:
            break
    return batch


class BatchPipeline:
    """Begins batches ahead of the steps that need them."""

    def __init__(
        self,
        collect: Callable[[asyncio.Task[RolloutBatch] | None], Coroutine[Any, Any, RolloutBatch]],
        *,
        staleness: int,
        cursor: Callable[[], int],
    ) -> None:
        self._collect = collect
        self._staleness = staleness
        self._cursor = cursor
        # Steps done when a batch was begun, samples drawn before it, and its making.
        self._begun: deque[tuple[int, int, asyncio.Task[RolloutBatch]]] = deque()

    async def next_batch(self, step: int, last: int) -> tuple[RolloutBatch, int]:
        """Return the batch of a step and how many steps old its weights are; begin none of steps after `last`."""
        while len(self._begun) <= min(self._staleness, last - 1 - step):
            task = asyncio.create_task(self._collect(self._begun[-1][2] if self._begun else None))
            self._begun.append((step, self._cursor(), task))
            # The task draws its first samples now, before the next one does.
            await asyncio.sleep(0)
        begun, _, task = self._begun.popleft()
        return await task, step - begun

    def resume_cursor(self) -> int:
        """Return the samples drawn before the oldest batch under way: a resumed run draws it anew."""
        return self._begun[0][1] if self._begun else self._cursor()

    async def cancel(self) -> None:
        tasks = [task for _, _, task in self._begun]
        self._begun.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSettings:
    """The model, workflow, reward and sampling of rollouts."""

    model: PolicyModel
    workflow: Workflow
    reward: Reward
    sampling: Sampling
    seed: int
    credits: Sequence[Credit] = ()
    """Added to the rewards, one after the other."""


async def roll_group(sample: Sample, names: Sequence[str], settings: RolloutSettings) -> Group:
    """Roll out the sample once for each name; a rollout's draws depend on its name alone."""
    rollouts = await asyncio.gather(*(roll(sample, name, settings) for name in names))
    return Group(sample=sample, rollouts=tuple(rollouts))


async def roll(sample: Sample, name: str, settings: RolloutSettings) -> Rollout:
    """Try the sample once. An error becomes the rollout's outcome, but settings that cannot work are raised."""
    model = settings.model.for_rollout(derive_seed(settings.seed, name), settings.sampling)
    episode = None
    try:
        episode = await settings.workflow(model, sample)
        result = await asyncio.to_thread(score_episode, settings.reward, episode, sample)
        for one in settings.credits:
            result = await one.credit(result, episode, sample)
    except Exception as error:
        # One rollout is recorded as failed; settings that cannot work would fail them all.
        if isinstance(error, InputError | TrainingStopped) and not isinstance(error, _OF_ONE_SAMPLE):
            raise
        outcome = RolloutOutcome.UNSCORED if episode else RolloutOutcome.FAILED
        reason = f"{type(error).__name__}: {error}"
        return Rollout(id=name, sample=sample, outcome=outcome, episode=episode, error=reason)
    return Rollout(id=name, sample=sample, outcome=RolloutOutcome.SCORED, episode=episode, result=result)


def derive_seed(seed: int, name: str) -> int:
    """Return a seed made of the run's seed and a rollout's name."""
    return int.from_bytes(blake2b(f"{seed}/{name}".encode(), digest_size=6).digest(), "big")


async def measure(samples: Sequence[Sample], settings: RolloutSettings, repeats: int = 1) -> dict[str, float]:
    """Roll out each sample `repeats` times and return the share that the verifier accepts; failed ones count as wrong.

    What became of the evidence in the memories is returned as evaluation reports it, where it is followed.
    """
    groups = await asyncio.gather(
        *(
            roll_group(one, [f"held-out/{one.id}{f'/{k}' if k else ''}" for k in range(repeats)], settings)
            for one in ranks.share(samples)
        )
    )
    rollouts = [rollout for group in ranks.gather(groups) for rollout in group.rollouts]
    traces = [
        trace
        for one in rollouts
        if one.result is not None and one.episode is not None
        if (trace := trace_evidence(one.sample, one.episode.steps, is_right=one.result.answer >= RIGHT)) is not None
    ]
    memory: dict[str, float] = {}
    if traces:
        counted = Counter(trace.outcome for trace in traces)
        memory = {f"memory/{outcome}": counted[outcome] / len(traces) for outcome in MemoryOutcome}
        memory["captured"] = sum(trace.captured for trace in traces) / len(traces)
        memory["kept"] = sum(trace.kept for trace in traces) / len(traces)
    return {
        **memory,
        "accuracy": sum(rollout.result.answer for rollout in rollouts if rollout.result) / len(rollouts),
        "n": len(rollouts),
        "failed": sum(rollout.outcome is not RolloutOutcome.SCORED for rollout in rollouts),
    }


def rows_of_groups(groups: Sequence[Group], estimator: Estimator, reward: RewardSettings | None = None) -> list[Row]:
    """Return the rows of all scored rollouts, each with its rollout's advantage.

    With a weight `reward.dense`, a row has as many times the credit of its own step beside it. Where nothing judges a
    sample's answers, their conversations are left out: the advantage of a memory says nothing of them.
    """
    reward = reward or RewardSettings()
    rows: list[Row] = []
    for group in groups:
        credit = [(rollout, advantage) for rollout, advantage in group.credit(estimator) if rollout.episode]
        is_judged = reward.judges_answer(has_gold=bool(group.sample.golds))
        steps = step_credits([one.result.gains if one.result and reward.dense else () for one, _ in credit])
        for (rollout, advantage), own in zip(credit, steps, strict=True):
            conversations = rollout.episode.conversations if rollout.episode else ()
            taught = rollout.result.tokens if rollout.result else ()
            trained = conversations if is_judged else conversations[:-1]
            if not own:
                rows += rows_of(trained, advantage, rollout.id, taught[: len(trained)])
                continue
            for conversation, gain, lesson in zip(trained, own, chain(taught, repeat(())), strict=False):
                rows += rows_of([conversation], advantage + reward.dense * gain, rollout.id, [lesson])
    return rows


def split_updates(groups: Sequence[Group], updates: int) -> list[Sequence[Group]]:
    """Return the groups in `updates` mini-batches of similar size, each of whole samples."""
    size = -(-len(groups) // updates)
    return [groups[i : i + size] for i in range(0, len(groups), size)] if groups else []
