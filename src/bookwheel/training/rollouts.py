"""Groups of rollouts: every sample is tried G times, all conversations in flight at once.

    batch:   draw samples -> G rollouts each -> score -> keep
    refill:  groups whose rewards are all the same teach nothing; drop them, draw as many new samples, at most R times

A rollout that fails is data, not a crash: it keeps its error, earns nothing, stays out of its group's statistics and is
counted. Scoring runs in threads, so that slow verifiers do not hold up the conversations of others.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from bookwheel.errors import InputError
from bookwheel.training import ranks
from bookwheel.training.advantages import Estimator, advantages, has_spread
from bookwheel.training.errors import TrainingStopped
from bookwheel.training.rows import Row, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from bookwheel.plan import Sampling
    from bookwheel.tasks import Sample
    from bookwheel.training.policy_model import PolicyModel
    from bookwheel.training.rewards import Reward, RewardResult
    from bookwheel.training.workflows import Episode, Workflow

_FEWEST = 2


class RolloutOutcome(StrEnum):
    """How a rollout ended."""

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
    earned: RewardResult | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The rollouts of one sample.

    Of four rollouts that earned 1, 0, 0, 0 the first has advantage 0.75 and the others -0.25, each on every token of
    every one of its conversations. With one failed, the other three are compared among themselves.
    """

    sample: Sample
    rollouts: tuple[Rollout, ...]

    @property
    def scored(self) -> tuple[Rollout, ...]:
        """Those that count."""
        return tuple(rollout for rollout in self.rollouts if rollout.earned is not None)

    @property
    def rewards(self) -> list[float]:
        """Of those that count."""
        return [rollout.earned.score for rollout in self.rollouts if rollout.earned is not None]

    @property
    def teaches(self) -> bool:
        """Whether its rewards differ."""
        return has_spread(self.rewards)

    def credit(self, estimator: Estimator) -> list[tuple[Rollout, float]]:
        """Each rollout that counts with its advantage."""
        if len(self.scored) < _FEWEST:
            return []
        return list(zip(self.scored, advantages(self.rewards, estimator), strict=True))


@dataclass(slots=True, kw_only=True)
class RolloutBatch:
    """What a round of rollouts brought in."""

    groups: list[Group] = field(default_factory=list)
    """To be trained on."""
    dropped: list[Group] = field(default_factory=list)
    """Without spread; they still count in what is reported."""

    @property
    def rollouts(self) -> list[Rollout]:
        """Every one, kept or dropped."""
        return [rollout for group in (*self.groups, *self.dropped) for rollout in group.rollouts]


_Drawn = TypeVar("_Drawn")


async def collect_rollouts(
    draw: Callable[[], _Drawn], *, groups: int, refills: int, roll: Callable[[_Drawn], Coroutine[Any, Any, Group]]
) -> RolloutBatch:
    """`groups` groups; with `refills`, those without spread are replaced in up to so many further rounds."""
    found = RolloutBatch()
    for _ in range(refills + 1):
        drawn = [draw() for _ in range(groups - len(found.groups))]
        for group in ranks.gather(await asyncio.gather(*map(roll, ranks.share(drawn)))):
            (found.groups if group.teaches or not refills else found.dropped).append(group)
        if len(found.groups) == groups:
            break
    return found


async def roll_group(sample: Sample, names: Sequence[str], how: RolloutSettings) -> Group:
    """One rollout for each name; the name alone decides its luck."""
    rollouts = await asyncio.gather(*(roll(sample, name, how) for name in names))
    return Group(sample=sample, rollouts=tuple(rollouts))


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSettings:
    """By what and how samples are rolled out."""

    reader: PolicyModel
    workflow: Workflow
    reward: Reward
    sampling: Sampling
    seed: int


async def roll(sample: Sample, name: str, how: RolloutSettings) -> Rollout:
    """One try; whatever goes wrong inside is kept as its outcome. Settings that cannot work are raised."""
    model = how.reader.at(seed_of(how.seed, name), how.sampling)
    try:
        episode = await how.workflow(model, sample)
    except (InputError, TrainingStopped):
        raise
    except Exception as error:  # noqa: BLE001 - one rollout is recorded as failed
        return Rollout(id=name, sample=sample, outcome=RolloutOutcome.FAILED, error=_told(error))
    try:
        earned = await asyncio.to_thread(how.reward, episode, sample)
    except (InputError, TrainingStopped):
        raise
    except Exception as error:  # noqa: BLE001 - one rollout is recorded as unscored
        return Rollout(id=name, sample=sample, outcome=RolloutOutcome.UNSCORED, episode=episode, error=_told(error))
    return Rollout(id=name, sample=sample, outcome=RolloutOutcome.SCORED, episode=episode, earned=earned)


async def measure(samples: Sequence[Sample], how: RolloutSettings) -> dict[str, float]:
    """One rollout of each sample: the share that the verifier found right; those that failed count as wrong."""
    groups = await asyncio.gather(*(roll_group(one, [f"held-out/{one.id}"], how) for one in ranks.share(samples)))
    told = [rollout for group in ranks.gather(groups) for rollout in group.rollouts]
    return {
        "accuracy": sum(rollout.earned.answer for rollout in told if rollout.earned) / len(told),
        "n": len(told),
        "failed": sum(rollout.outcome is not RolloutOutcome.SCORED for rollout in told),
    }


def rows_of_groups(groups: Sequence[Group], estimator: Estimator) -> list[Row]:
    """The rows of all rollouts that count, each with its rollout's advantage."""
    return [
        row
        for group in groups
        for rollout, advantage in group.credit(estimator)
        if rollout.episode is not None
        for row in rows_of(rollout.episode.conversations, advantage, rollout.id)
    ]


def seed_of(seed: int, name: str) -> int:
    """A seed from the run's and a rollout's name."""
    return int.from_bytes(blake2b(f"{seed}/{name}".encode(), digest_size=6).digest(), "big")


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
