"""A task for models from nothing: a ledger of short lines, and one entry that is asked for.

    oak has red .          an entry
    wind blew over .       a filler line
    What does oak have?    "oak has" -> red

The entry asked for stands once, anywhere; other keys have entries too. Every line is four words long, so a chunk of
4n tokens is n lines. Pure and seeded: the same arguments give the same samples.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from bookwheel.tasks.base import GoldEvidence, Sample, SampleDocument

if TYPE_CHECKING:
    from collections.abc import Iterator

# fmt: off
KEYS: Final = ("oak", "elm", "ash", "fir", "yew", "bay", "fig", "ivy", "palm", "pine", "plum", "pear",
               "lime", "rose", "reed", "moss", "fern", "sage", "mint", "rue")
VALUES: Final = ("red", "blue", "green", "gold", "grey", "pink", "white", "black", "brown", "amber",
                 "coral", "ivory", "jade", "lilac", "olive", "ruby", "teal", "rust", "sand", "wine")
_FILLER: Final = ("the", "wind", "blew", "over", "hill", "field", "river", "road", "and",
                  "house", "while", "rain", "fell", "on", "stone", "wall")
# fmt: on
_LINE_TOKENS: Final = 4


def toy_records(*, tokens: int, count: int, seed: int, entries: float = 0.5) -> list[Sample]:
    """`count` samples of `tokens` words each; `entries` is the share of lines that are entries of other keys."""
    return [_sample(tokens // _LINE_TOKENS, number, seed, entries) for number in range(count)]


def vocabulary() -> Iterator[str]:
    """Every word that a ledger can hold."""
    yield from (*KEYS, *VALUES, *_FILLER, "has", ".")


def _sample(lines: int, number: int, seed: int, entries: float) -> Sample:
    random = Random(f"{seed}/{number}/{lines}")  # noqa: S311 - reproducible samples, no secrets
    key, value = random.choice(KEYS), random.choice(VALUES)
    others = [other for other in KEYS if other != key]
    told = [
        f"{random.choice(others)} has {random.choice(VALUES)} .\n"
        if random.random() < entries
        else " ".join(random.sample(_FILLER, 3)) + " .\n"
        for _ in range(lines)
    ]
    place = random.randrange(lines)
    told[place] = f"{key} has {value} .\n"
    start = sum(map(len, told[:place]))
    return Sample(
        id=f"ledger-{lines * _LINE_TOKENS}-{seed}-{number}",
        task="ledger",
        question=f"{key} has",
        golds=(value,),
        document=SampleDocument("ledger", told),
        metric="exact",
        length=lines * _LINE_TOKENS,
        tokens=lines * _LINE_TOKENS,
        seed=seed,
        evidence=(GoldEvidence(start=start, end=start + len(told[place]), note=f"{key} has {value}"),),
    )
