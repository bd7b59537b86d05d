"""Intervals for the score of one cell, and for the difference of two ways on the same samples.

Pure functions; random draws come from a seed.

    right or wrong        Wilson's score interval: never leaves [0, 1], honest at 0 and at 1
    scores in between     the bootstrap's percentiles; where all scores are one, Wilson's on their mean
    right/wrong pairs     Bonett and Price's adjusted interval for the difference; p from McNemar's exact test
    other pairs           the bootstrap over the pairs' differences; p from the exact sign test

McNemar's exact test is the sign test on the pairs that differ, so one p serves both. Scores lie in [0, 1].

>>> wilson(40, 50).low > 0.66
True
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE: Final = 0.95
# Enough for percentiles that move by less than a point between seeds, at about 0.1 s for 500 samples.
_RESAMPLES: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalEstimate:
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float
    n: int
    method: str
    """The method behind the interval; "none" without any scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The lead of one way over another on the same samples."""

    mean: float
    """Above 0: the first is ahead."""
    low: float
    high: float
    n: int
    """Pairs."""
    ahead: int
    """Pairs that the first wins."""
    behind: int
    p: float
    """Two-sided and exact: the chance that pairs which differ split at least this unevenly."""
    method: str


def estimate(scores: Sequence[float], *, seed: int = 0, confidence: float = CONFIDENCE) -> IntervalEstimate:
    """Return the mean of scores in [0, 1], with its interval."""
    n = len(scores)
    if n == 0:
        return IntervalEstimate(mean=math.nan, low=math.nan, high=math.nan, n=0, method="none")
    if set(scores) <= {0, 1} or min(scores) == max(scores):
        return wilson_interval(math.fsum(scores), n, confidence=confidence)
    low, high = bootstrap_interval(scores, seed=seed, confidence=confidence)
    return IntervalEstimate(mean=fmean(scores), low=low, high=high, n=n, method="bootstrap")


def wilson_interval(right: float, n: int, *, confidence: float = CONFIDENCE) -> IntervalEstimate:
    """Return Wilson's score interval of a share."""
    z, share = _z_score(confidence), right / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(max(0.0, share * (1 - share)) / n + z * z / (4 * n * n))
    low, high = min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half))
    return IntervalEstimate(mean=share, low=low, high=high, n=n, method="Wilson")


def bootstrap_interval(values: Sequence[float], *, seed: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the percentile interval of the mean over resamples."""
    draw, n = random.Random(seed), len(values)  # noqa: S311 - resampling, not secrecy
    means = sorted(math.fsum(draw.choices(values, k=n)) / n for _ in range(_RESAMPLES))
    tail = (1 - confidence) / 2
    return _quantile(means, tail), _quantile(means, 1 - tail)


def compare_pairs(
    first: Sequence[float], second: Sequence[float], *, seed: int = 0, confidence: float = CONFIDENCE
) -> Difference:
    """Compare the first scores with the second, pair by pair."""
    if len(first) != len(second):
        raise ValueError(f"pairs need as many scores on both sides, not {len(first)} and {len(second)}")
    differences = [a - b for a, b in zip(first, second, strict=True)]
    n, ahead, behind = len(differences), sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    mean, low, high, method = math.nan, math.nan, math.nan, "none"
    if n and set(differences) <= {-1, 0, 1}:
        mean, method = fmean(differences), "Bonett-Price"
        low, high = _bonett_price(ahead, behind, n, confidence)
    elif n:
        mean, method = fmean(differences), "bootstrap"
        low, high = bootstrap_interval(differences, seed=seed, confidence=confidence)
    p = sign_test(ahead, behind)
    return Difference(mean=mean, low=low, high=high, n=n, ahead=ahead, behind=behind, p=p, method=method)


def sign_test(ahead: int, behind: int) -> float:
    """Return the exact two-sided p of the sign test; for right-or-wrong scores it is McNemar's."""
    n = ahead + behind
    tail = term = 1
    for k in range(min(ahead, behind)):
        term = term * (n - k) // (k + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << n))


def _bonett_price(ahead: int, behind: int, n: int, confidence: float) -> tuple[float, float]:
    """Return an adjusted Wald interval.

    One pair more on either side keeps its coverage near the nominal one when few pairs differ.
    """
    won, lost = (ahead + 1) / (n + 2), (behind + 1) / (n + 2)
    half = _z_score(confidence) * math.sqrt((won + lost - (won - lost) ** 2) / (n + 2))
    return max(-1.0, won - lost - half), min(1.0, won - lost + half)


def _z_score(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
