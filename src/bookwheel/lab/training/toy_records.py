"""A task for new models: a list of short records, and a question about one of them.

    oak has red .          a record
    wind blew over .       a filler line
    What does oak have?    "oak has" -> red

The record asked for stands once, anywhere; other keys have records too. Every line is four words long, so a chunk of
4n tokens is n lines. Pure and seeded: the same arguments give the same samples.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks.base import GoldEvidence, Sample, SampleDocument

if TYPE_CHECKING:
    from collections.abc import Iterator

TASK: Final = "toy-records"
"""Its name in `[train.task]`."""

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
    """Return `count` samples of `tokens` words; `entries` is the share of lines that are records of other keys."""
    return [_sample(tokens // _LINE_TOKENS, number, seed, entries) for number in range(count)]


def vocabulary() -> Iterator[str]:
    """Yield every word that a sample can contain."""
    yield from (*KEYS, *VALUES, *_FILLER, "has", ".")


def _sample(lines: int, number: int, seed: int, entries: float) -> Sample:
    random = Random(f"{seed}/{number}/{lines}")  # noqa: S311 - reproducible samples, no secrets
    key, value = random.choice(KEYS), random.choice(VALUES)
    others = [other for other in KEYS if other != key]
    text = [
        f"{random.choice(others)} has {random.choice(VALUES)} .\n"
        if random.random() < entries
        else " ".join(random.sample(_FILLER, 3)) + " .\n"
        for _ in range(lines)
    ]
    place = random.randrange(lines)
    text[place] = f"{key} has {value} .\n"
    start = sum(map(len, text[:place]))
    return Sample(
        id=f"{TASK}-{lines * _LINE_TOKENS}-{seed}-{number}",
        task=TASK,
        question=f"{key} has",
        golds=(value,),
        document=SampleDocument(TASK, text),
        metric="exact",
        length=lines * _LINE_TOKENS,
        tokens=lines * _LINE_TOKENS,
        seed=seed,
        evidence=(GoldEvidence(start=start, end=start + len(text[place]), note=f"{key} has {value}"),),
    )
