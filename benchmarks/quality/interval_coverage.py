"""How often the intervals of a report hold the truth, by simulation.

    python benchmarks/quality/interval_coverage.py [RUNS]

Every row draws samples from a known truth RUNS times (2,000 by default) and counts how often the 95 % interval holds
it, how wide it is, and, for differences without an effect, how often p < .05. The rows "not clustered" give the same
draws to the same functions without saying which scores belong to one question.

    python benchmarks/quality/interval_coverage.py --documents [RUNS]

Questions about documents: 2 to 100 documents with 2 to 20 questions each, shares from .02 to .98, and scores within a
document alike by an intraclass correlation of 0 to .7 (a beta distribution of the documents' shares). 200 runs a place.
"""

from __future__ import annotations

import random
import sys
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from bookwheel.lab.evaluation.statistics import compare_pairs, estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[random.Random], tuple[float, float, float, float]]
    """Returns truth, low, high and p (1 where there is none)."""

SEED = 15


def cell(n: int, share: float) -> Draw:
    """Right or wrong answers to n questions."""

    def draw(rng: random.Random) -> tuple[float, float, float, float]:
        found = estimate([float(rng.random() < share) for _ in range(n)])
        return share, found.low, found.high, 1.0

    return draw


def graded(n: int, right: float) -> Draw:
    """Graded scores with a heap at 0 and at 1, as F1 has them."""

    def draw(rng: random.Random) -> tuple[float, float, float, float]:
        scores = [
            1.0 if (one := rng.random()) < right else 0.0 if one > 0.8 else rng.betavariate(2, 2) for _ in range(n)
        ]
        found = estimate(scores)
        return right + (0.8 - right) / 2, found.low, found.high, 1.0

    return draw


def _difficulty(rng: random.Random) -> float:
    return rng.betavariate(0.6, 0.4)


def repeats(questions: int, times: int, *, clustered: bool) -> Draw:
    """Each question read several times; its difficulty is its own."""

    def draw(rng: random.Random) -> tuple[float, float, float, float]:
        scores, names = [], []
        for question in range(questions):
            share = _difficulty(rng)
            scores += [float(rng.random() < share) for _ in range(times)]
            names += [question] * times
        found = estimate(scores, names if clustered else None)
        return 0.6, found.low, found.high, 1.0

    return draw


def difference(questions: int, lengths: int, spread: float, *, clustered: bool) -> Draw:
    """Two ways at several lengths; what a question gains by a way is its own and 0 on average."""

    def draw(rng: random.Random) -> tuple[float, float, float, float]:
        first, second, names = [], [], []
        for question in range(questions):
            share = rng.uniform(spread, 1 - spread)
            gain = rng.choice((-spread, spread))
            first += [float(rng.random() < share + gain) for _ in range(lengths)]
            second += [float(rng.random() < share) for _ in range(lengths)]
            names += [question] * lengths
        found = compare_pairs(first, second, names if clustered else None)
        return 0.0, found.low, found.high, found.p

    return draw


ROWS: dict[str, Draw] = {
    "right/wrong, n = 50, 5 %": cell(50, 0.05),
    "right/wrong, n = 50, 50 %": cell(50, 0.5),
    "right/wrong, n = 128, 97 %": cell(128, 0.97),
    "graded, n = 30": graded(30, 0.3),
    "graded, n = 128": graded(128, 0.3),
    "64 questions x 5 repeats, clustered": repeats(64, 5, clustered=True),
    "64 questions x 5 repeats, not clustered": repeats(64, 5, clustered=False),
    "20 questions x 5 repeats, clustered": repeats(20, 5, clustered=True),
    "pairs, 64 questions x 1 length": difference(64, 1, 0.3, clustered=True),
    "pairs, 64 questions x 10 lengths, clustered": difference(64, 10, 0.3, clustered=True),
    "pairs, 64 questions x 10 lengths, not clustered": difference(64, 10, 0.3, clustered=False),
    "pairs, 64 x 10, weaker, clustered": difference(64, 10, 0.15, clustered=True),
    "pairs, 64 x 10, weaker, not clustered": difference(64, 10, 0.15, clustered=False),
    "pairs, 20 questions x 4 lengths, clustered": difference(20, 4, 0.3, clustered=True),
}


DOCUMENTS = (2, 3, 5, 10, 20, 50, 100)
PLACES = tuple(product((2, 5, 20), (0.02, 0.1, 0.5, 0.9, 0.98), (0.0, 0.05, 0.3, 0.7)))
"""Questions a document, share, intraclass correlation."""


def hold_documents(documents: int, questions: int, share: float, alike: float, runs: int) -> tuple[float, float, float]:
    """Return how often the interval holds the share, how often one without clusters does, and the mean width."""
    rng = np.random.default_rng([SEED, documents, questions, round(100 * share), round(100 * alike)])
    own = np.full((runs, documents), share)
    if alike:
        strength = (1 - alike) / alike
        own = rng.beta(share * strength, (1 - share) * strength, size=(runs, documents))
    scores = rng.random((runs, documents, questions)) < own[..., None]
    names = [at for at in range(documents) for _ in range(questions)]
    drawn = [row.ravel().astype(float).tolist() for row in scores]
    found = [(estimate(one, names), estimate(one)) for one in drawn]
    return (
        fmean(one.low <= share <= one.high for one, _ in found),
        fmean(one.low <= share <= one.high for _, one in found),
        fmean(one.high - one.low for one, _ in found),
    )


def print_documents(runs: int) -> None:
    """Print a row for each number of documents."""
    print("| documents | held | in the worst place | places below 93 % | mean width | worst without clusters |")
    print("|---|---|---|---|---|---|")
    for documents in DOCUMENTS:
        rows = [hold_documents(documents, *place, runs) for place in PLACES]
        held, plain, widths = zip(*rows, strict=True)
        low = sum(one < 0.93 for one in held)
        shown = [f"{100 * one:.1f} %" for one in (fmean(held), min(held))]
        print(
            f"| {documents} | {' | '.join(shown)} | {low} of {len(rows)} | {100 * fmean(widths):.1f} | "
            f"{100 * min(plain):.1f} % |",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    if "--documents" in sys.argv:
        print_documents(int(sys.argv[2]) if len(sys.argv) > 2 else 200)
        return
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| what | held | mean width | p < .05 |\n|---|---|---|---|")
    for name, draw in ROWS.items():
        rng = random.Random(f"{SEED} {name.replace('not ', '')}")
        drawn = [draw(rng) for _ in range(runs)]
        held = fmean(low <= truth <= high for truth, low, high, _ in drawn)
        width = fmean(high - low for _, low, high, _ in drawn)
        small = fmean(p < 0.05 for *_, p in drawn)
        shown = f"{100 * small:.1f} %" if "pairs" in name else "–"
        print(f"| {name} | {100 * held:.1f} % | {100 * width:.1f} | {shown} |")


if __name__ == "__main__":
    main()
