"""Intervals for the score of one cell, and for the difference of two ways on the same samples.

Pure functions without random draws. Scores lie in [0, 1].

    right or wrong        Wilson's score interval: never leaves [0, 1], honest at 0 and at 1
    scores in between     Student's t on the mean; where all scores are one, Wilson's
    right/wrong pairs     Bonett and Price's adjusted interval for the difference
    other pairs           Student's t on the differences
    p                     the exact sign test on what differs; McNemar's for single right/wrong pairs

Scores of one question are not independent (the same question at ten lengths, or read five times), nor are those of
questions about one document or conversation. Given `clusters`, the standard error is the cluster-robust one
(statsmodels' `cov_type="cluster"`, inspect's `stderr(cluster=...)`):

    se² = G/(G-1) * Σ_g (Σ_i (x_gi - mean))² / n²        G clusters, n scores; t has G-1 degrees of freedom

Shares get Wilson's interval for as many independent scores as give that standard error, or fewer where few clusters
hold a score of the rarer kind. The sign test counts each cluster once, by the sign of its sum. `holm` raises p by the
number of comparisons.

>>> wilson_interval(40, 50).low > 0.66
True
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean
from typing import Final

# The share below the upper end of a 95 % interval. Tables, plots, model cards and the page write 95 % out: published
# numbers are compared by that name.
_BELOW: Final = 0.5 + 0.95 / 2
_Z: Final = NormalDist().inv_cdf(_BELOW)
# Clusters by which the seen effect of clusters is doubted. Of 0.5, 1, 1.5 and 2 it is the least that holds 93 % of
# the truths or more in every place of the simulation (benchmarks/quality/interval_coverage.py).
_DOUBT: Final = 2
# Beyond it Cornish and Fisher's expansion has all digits that a report shows, and the sum below only costs time.
_MANY_DEGREES: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalEstimate:
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float
    n: int
    method: str
    """The method behind the interval; "none" without any scores."""
    clusters: int = 0
    """The number of clusters behind the scores: questions, or documents that several questions are about."""


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
    """Two-sided and exact: the chance that questions which differ split at least this unevenly."""
    method: str
    clusters: int = 0
    """The number of clusters behind the pairs."""


def estimate(scores: Sequence[float], clusters: Sequence[Hashable] | None = None) -> IntervalEstimate:
    """Return the mean of scores in [0, 1], with its interval. `clusters` names what each score belongs to."""
    n = len(scores)
    if n == 0:
        return IntervalEstimate(mean=math.nan, low=math.nan, high=math.nan, n=0, method="none")
    groups = n if clusters is None else len(set(clusters))
    if groups < n and clusters is not None:
        return _estimate_clustered(scores, clusters, groups)
    if set(scores) <= {0, 1} or min(scores) == max(scores):
        return wilson_interval(math.fsum(scores), n)
    mean = fmean(scores)
    half = t_quantile(_BELOW, n - 1) * clustered_error(scores, range(n))
    low, high = max(0.0, mean - half), min(1.0, mean + half)
    return IntervalEstimate(mean=mean, low=low, high=high, n=n, method="t", clusters=n)


def estimate_known(scores: Sequence[float | None], clusters: Sequence[Hashable]) -> IntervalEstimate:
    """Return the mean of the scores that are there."""
    known = [(score, cluster) for score, cluster in zip(scores, clusters, strict=True) if score is not None]
    return estimate([score for score, _ in known], [cluster for _, cluster in known])


def _estimate_clustered(scores: Sequence[float], clusters: Sequence[Hashable], groups: int) -> IntervalEstimate:
    """Return the interval for scores of which several belong to one question or document."""
    mean, n = fmean(scores), len(scores)
    by_cluster = _group(scores, clusters)
    # The most that clusters can cost: each is one score, repeated.
    most = sum(len(one) ** 2 for one in by_cluster) / n
    error = clustered_error(scores, clusters)
    independent = mean * (1 - mean) / error**2 if error > 0 else n / most
    effect = min(max(n / independent, 1.0), most)
    # Few clusters with a score of the rarer kind say little of how alike scores within one are: near 0 and 1 the effect
    # that was seen is drawn towards the most that it can be.
    seen = min(sum(max(one) > 0 for one in by_cluster), sum(min(one) < 1 for one in by_cluster))
    effect = (effect * seen + most * _DOUBT) / (seen + _DOUBT)
    z = t_quantile(_BELOW, groups - 1) if groups > 1 else _Z
    low, high = _wilson_bounds(mean, max(n / effect, 1.0), z)
    return IntervalEstimate(mean=mean, low=low, high=high, n=n, method="clustered Wilson", clusters=groups)


def wilson_interval(right: float, n: int) -> IntervalEstimate:
    """Return Wilson's score interval of a share."""
    low, high = _wilson_bounds(right / n, n, _Z)
    return IntervalEstimate(mean=right / n, low=low, high=high, n=n, method="Wilson", clusters=n)


def _wilson_bounds(share: float, n: float, z: float) -> tuple[float, float]:
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(max(0.0, share * (1 - share)) / n + z * z / (4 * n * n))
    return min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half))


def clustered_error(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Return the cluster-robust standard error of the mean; nan with fewer than two clusters.

    With every value in a cluster of its own it is the ordinary standard error.
    """
    mean, sums = fmean(values), defaultdict[object, float](float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value - mean
    groups = len(sums)
    if groups < 2:  # noqa: PLR2004 - one cluster has no spread
        return math.nan
    return math.sqrt(groups / (groups - 1) * math.fsum(one * one for one in sums.values())) / len(values)


def compare_pairs(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable] | None = None
) -> Difference:
    """Compare the first scores with the second, pair by pair. `clusters` names what each pair belongs to."""
    if len(first) != len(second):
        raise ValueError(f"pairs need as many scores on both sides, not {len(first)} and {len(second)}")
    differences = [a - b for a, b in zip(first, second, strict=True)]
    n = len(differences)
    if not n:
        none = math.nan
        return Difference(mean=none, low=none, high=none, n=0, ahead=0, behind=0, p=1.0, method="none")
    names: Sequence[Hashable] = range(n) if clusters is None else clusters
    low, high, method = _difference_interval(differences, names)
    sums = _sum_by_cluster(differences, names)
    p = sign_test(sum(one > 0 for one in sums), sum(one < 0 for one in sums))
    ahead, behind = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    return Difference(
        mean=fmean(differences),
        low=low,
        high=high,
        n=n,
        ahead=ahead,
        behind=behind,
        p=p,
        method=method,
        clusters=len(sums),
    )


def _difference_interval(differences: Sequence[float], clusters: Sequence[Hashable]) -> tuple[float, float, str]:
    """Return low, high and the method for a mean difference."""
    n, groups = len(differences), len(set(clusters))
    signs = Counter(math.copysign(1, one) for one in _sum_by_cluster(differences, clusters) if one)
    if groups == n and set(differences) <= {-1, 0, 1}:
        return (*_bonett_price(signs[1], signs[-1], n), "Bonett-Price")
    error = clustered_error(differences, clusters)
    if not error > 0:
        # Questions that all differ by the same say no more than one pair each.
        return (*_bonett_price(signs[1], signs[-1], groups), "Bonett-Price")
    mean, half = fmean(differences), t_quantile(_BELOW, groups - 1) * error
    return max(-1.0, mean - half), min(1.0, mean + half), "t" if groups == n else "clustered t"


def sign_test(ahead: int, behind: int) -> float:
    """Return the exact two-sided p of the sign test; for right-or-wrong scores it is McNemar's."""
    n = ahead + behind
    tail = term = 1
    for k in range(min(ahead, behind)):
        term = term * (n - k) // (k + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << n))


def holm(ps: Sequence[float]) -> list[float]:
    """Return the p of each comparison as Holm corrects it for their number, in their order."""
    order = sorted(range(len(ps)), key=ps.__getitem__)
    corrected, least = [1.0] * len(ps), 0.0
    for rank, at in enumerate(order):
        least = max(least, min(1.0, (len(ps) - rank) * ps[at]))
        corrected[at] = least
    return corrected


def find_clusters(names: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return a number for each score; scores that share a name, or a row of others that do, have the same.

    >>> find_clusters([("a", "book"), ("b", "book"), ("b",), ("c",)])
    [0, 0, 0, 3]
    """
    first: dict[Hashable, int] = {}
    parent = list(range(len(names)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for at, own in enumerate(names):
        for name in own:
            one, other = sorted((root(at), root(first.setdefault(name, at))))
            parent[other] = one
    return [root(at) for at in range(len(names))]


def spread_of_runs(scores: Sequence[float], runs: Sequence[int]) -> float:
    """Return the standard deviation of the runs' mean scores; nan with fewer than two runs."""
    means = [fmean(one) for one in _group(scores, runs)]
    if len(means) < 2:  # noqa: PLR2004 - one run has no spread
        return math.nan
    middle = fmean(means)
    return math.sqrt(math.fsum((mean - middle) ** 2 for mean in means) / (len(means) - 1))


@lru_cache(maxsize=256)
def t_quantile(share: float, degrees: int) -> float:
    """Return Student's t below which `share` (above one half) of the distribution lies."""
    z = NormalDist().inv_cdf(share)
    if degrees > _MANY_DEGREES:
        # Cornish and Fisher's expansion around the normal quantile.
        first = (z**3 + z) / 4
        second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        return z + first / degrees + second / degrees**2 + third / degrees**3
    low, high = 0.0, 2.0
    while _t_share(high, degrees) < share:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_share(middle, degrees) < share else (low, middle)
    return (low + high) / 2


def _t_share(t: float, degrees: int) -> float:
    """Return the share of Student's distribution below t >= 0, by its finite sum for whole degrees of freedom."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = degrees % 2
    term, total = (cosine, 0.0) if is_odd else (1.0, 0.0)
    for step in range(1 + is_odd, degrees, 2):
        total += term
        term *= cosine * cosine * step / (step + 1)
    if is_odd:
        return 0.5 + (angle + sine * total) / math.pi
    return 0.5 + sine * total / 2


def _bonett_price(ahead: int, behind: int, n: int) -> tuple[float, float]:
    """Return an adjusted Wald interval.

    One pair more on either side keeps its coverage near the nominal one when few pairs differ.
    """
    won, lost = (ahead + 1) / (n + 2), (behind + 1) / (n + 2)
    half = _Z * math.sqrt((won + lost - (won - lost) ** 2) / (n + 2))
    return max(-1.0, won - lost - half), min(1.0, won - lost + half)


def _sum_by_cluster(values: Sequence[float], clusters: Sequence[Hashable]) -> list[float]:
    return [math.fsum(one) for one in _group(values, clusters)]


def _group(values: Sequence[float], names: Sequence[Hashable]) -> list[list[float]]:
    groups = defaultdict[object, list[float]](list)
    for value, name in zip(values, names, strict=True):
        groups[name].append(value)
    return list(groups.values())
