"""Advantages: how much better a rollout did than the others of its sample.

    mean            A_i = R_i - (R_1 + ... + R_G) / G                           the paper's
    mean-std        A_i = (R_i - mean) / (s + 1e-6)      s with G - 1 below     GRPO's
    leave-one-out   A_i = R_i - (the sum of the others) / (G - 1)               RLOO's

R_1..R_G are the rewards of ONE group: one number a rollout, however many conversations it took. So a rollout of 40
chunks counts as much as one of 2. Every token of every conversation of rollout i then carries the same A_i. This
file knows nothing of tokens.

Where it is known what a rollout gained from each step on, g_ik, `step_credits` gives it beside the rollout's advantage:

    A_ik = A_i + w * (g_ik - the mean over the group's rollouts that have a step k)

>>> advantages([1.0, 0.0, 0.0, 0.0], Estimator.MEAN)
[0.75, -0.25, -0.25, -0.25]
"""

from collections.abc import Sequence
from enum import StrEnum
from math import fsum, sqrt
from typing import Final

# Keeps the division by a tiny spread finite; also the spread below which a group is all the same.
_FLOOR: Final = 1e-6


class Estimator(StrEnum):
    """The baseline that a reward is compared with."""

    MEAN = "mean"
    MEAN_STD = "mean-std"
    LEAVE_ONE_OUT = "leave-one-out"


def advantages(rewards: Sequence[float], estimator: Estimator = Estimator.MEAN) -> list[float]:
    """Return one advantage for each rollout of a group, in order; they sum to 0."""
    size = len(rewards)
    if size < 2:  # noqa: PLR2004 - with nothing to compare there is no advantage
        raise ValueError(f"a group needs at least 2 rewards, not {size}: one rollout cannot be compared with itself")
    mean = fsum(rewards) / size
    centred = [reward - mean for reward in rewards]
    if estimator is Estimator.MEAN_STD:
        spread = sqrt(fsum(a * a for a in centred) / (size - 1))
        return [a / (spread + _FLOOR) for a in centred]
    if estimator is Estimator.LEAVE_ONE_OUT:
        return [a * size / (size - 1) for a in centred]
    return centred


def step_credits(gains: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return each rollout's gains step by step, against the group's mean at that step.

    >>> step_credits([[0.75, 0.0], [0.25, 0.5], [0.5]])
    [[0.25, -0.25], [-0.25, 0.25], [0.0]]
    """
    longest = max(map(len, gains), default=0)
    columns = [[one[k] for one in gains if k < len(one)] for k in range(longest)]
    means = [fsum(column) / len(column) for column in columns]
    return [[gain - mean for gain, mean in zip(one, means, strict=False)] for one in gains]


def has_spread(rewards: Sequence[float]) -> bool:
    """Tell if the group can teach anything: with equal rewards every advantage is 0."""
    return bool(rewards) and max(rewards) - min(rewards) > _FLOOR
