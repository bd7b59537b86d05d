"""Tasks for new models, which know a hundred words: short lines, the facts that one question needs among them.

    toy-records       oak has red .                      a fact that stands once      oak has   -> red
    toy-whereabouts   oak at mill .     oak at quay .    the last one counts          oak at    -> quay
    toy-ledger        oak adds two .    oak adds one .   all of them count            oak holds -> three
    toy-bridge        oak near elm .    elm has red .    told before it matters       oak near  -> red

The facts stand anywhere, in this order. Other lines are facts of the same kind about other things, or filler. Every
line is four words long, so a chunk of 4n tokens is n lines. The same arguments give the same samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Final

from bookwheel.lab.tasks.base import GoldEvidence, Sample, SampleDocument
from bookwheel.lab.training.errors import ConfigError

TASK: Final = "toy-records"
"""The task of `tiny-cpu`."""

# fmt: off
KEYS: Final = ("oak", "elm", "ash", "fir", "yew", "bay", "fig", "ivy", "palm", "pine", "plum", "pear",
               "lime", "rose", "reed", "moss", "fern", "sage", "mint", "rue")
VALUES: Final = ("red", "blue", "green", "gold", "grey", "pink", "white", "black", "brown", "amber",
                 "coral", "ivory", "jade", "lilac", "olive", "ruby", "teal", "rust", "sand", "wine")
_PLACES: Final = ("mill", "quay", "barn", "inn", "shop", "yard", "gate", "tower", "market", "school",
                  "chapel", "harbour", "ferry", "farm", "well", "park", "hall", "shed", "lock", "pier")
_NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
                   "eleven", "twelve")
_FILLER: Final = ("the", "wind", "blew", "over", "hill", "field", "river", "road", "and",
                  "house", "while", "rain", "fell", "on", "stone", "wall")
# fmt: on
_LINE_TOKENS: Final = 4
_MOVES: Final = 3
_MOST_ADDED: Final = 4


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a sample asks, and the lines that tell it, each with the note that a perfect reader has after it."""

    question: str
    gold: str
    lines: tuple[tuple[str, str], ...]
    subjects: frozenset[str]
    """Nothing else is said of them."""
    replace: bool = False
    """A note replaces the one before it."""


@dataclass(frozen=True, slots=True)
class _Toy:
    words: tuple[str, ...]
    draw: Callable[[Random], _Facts]
    tell: Callable[[Random, list[str]], str]
    """Return a line of the same kind about one of these."""


def _draw_record(random: Random) -> _Facts:
    key, value = random.choice(KEYS), random.choice(VALUES)
    line = f"{key} has {value}"
    return _Facts(f"{key} has", value, ((line, line),), frozenset({key}))


def _draw_moves(random: Random) -> _Facts:
    key, places = random.choice(KEYS), random.sample(_PLACES, _MOVES)
    lines = tuple((f"{key} at {place}",) * 2 for place in places)
    return _Facts(f"{key} at", places[-1], lines, frozenset({key}), replace=True)


def _draw_sums(random: Random) -> _Facts:
    key, added = random.choice(KEYS), [random.randint(1, _MOST_ADDED) for _ in range(_MOVES)]
    sums = [_NUMBERS[held] for held in accumulate(added)]
    lines = tuple((f"{key} adds {_NUMBERS[one]}", f"{key} holds {held}") for one, held in zip(added, sums, strict=True))
    return _Facts(f"{key} holds", sums[-1], lines, frozenset({key}), replace=True)


def _draw_bridge(random: Random) -> _Facts:
    key, middle = random.sample(KEYS, 2)
    value = random.choice(VALUES)
    lines = tuple((line,) * 2 for line in (f"{key} near {middle}", f"{middle} has {value}"))
    return _Facts(f"{key} near", value, lines, frozenset({key, middle}))


def _tell_bridge(random: Random, others: list[str]) -> str:
    subject = random.choice(others)
    return random.choice([f"{subject} near {random.choice(KEYS)}", f"{subject} has {random.choice(VALUES)}"])


TOYS: Final[Mapping[str, _Toy]] = {
    TASK: _Toy(
        (*VALUES, *_FILLER, "has", "."),
        _draw_record,
        lambda random, others: f"{random.choice(others)} has {random.choice(VALUES)}",
    ),
    "toy-whereabouts": _Toy(
        (*_PLACES, *_FILLER, "at", "."),
        _draw_moves,
        lambda random, others: f"{random.choice(others)} at {random.choice(_PLACES)}",
    ),
    "toy-ledger": _Toy(
        (*_NUMBERS, *_FILLER, "adds", "holds", "."),
        _draw_sums,
        lambda random, others: f"{random.choice(others)} adds {_NUMBERS[random.randint(1, _MOST_ADDED)]}",
    ),
    "toy-bridge": _Toy((*VALUES, *_FILLER, "near", "has", "."), _draw_bridge, _tell_bridge),
}


def toy_samples(task: str = TASK, *, tokens: int, count: int, seed: int, entries: float = 0.5) -> list[Sample]:
    """Return `count` samples of `tokens` words; `entries` is the share of other lines that are facts too."""
    toy, lines, samples = TOYS[task], tokens // _LINE_TOKENS, []
    for number in range(count):
        random = Random(f"{seed}/{number}/{lines}")  # noqa: S311 - reproducible samples, no secrets
        facts = toy.draw(random)
        if lines < (least := len(facts.lines)):
            raise ConfigError(f"{task} needs {least * _LINE_TOKENS} tokens or more, and {tokens} are set")
        others = [other for other in KEYS if other not in facts.subjects]
        text = [
            f"{toy.tell(random, others)} .\n"
            if random.random() < entries
            else " ".join(random.sample(_FILLER, 3)) + " .\n"
            for _ in range(lines)
        ]
        places = sorted(random.sample(range(lines), len(facts.lines)))
        for place, (line, _) in zip(places, facts.lines, strict=True):
            text[place] = f"{line} .\n"
        starts = list(accumulate(map(len, text), initial=0))
        sample = Sample(
            id=f"{task}-{lines * _LINE_TOKENS}-{seed}-{number}",
            task=task,
            question=facts.question,
            golds=(facts.gold,),
            document=SampleDocument(task, text),
            metric="exact",
            length=lines * _LINE_TOKENS,
            tokens=lines * _LINE_TOKENS,
            seed=seed,
            evidence=tuple(
                GoldEvidence(
                    start=starts[at], end=starts[at + 1], note=note, key=facts.question if facts.replace else ""
                )
                for at, (_, note) in zip(places, facts.lines, strict=True)
            ),
        )
        samples.append(sample)
    return samples


def vocabulary(task: str = TASK) -> Iterator[str]:
    """Yield every word that a sample of the task can contain."""
    yield from (*KEYS, *TOYS[task].words)
