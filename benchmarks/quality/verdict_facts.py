"""Facts of our own making, one sentence each, in wordings that say the same or something else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact in several wordings: the first stands in the document."""

    who: str
    value: str
    said: str
    reworded: tuple[str, ...]
    """Other wordings of the same."""
    negated: str
    question: str
    swapped: str = ""
    """The same words with the roles exchanged."""


class FactMaker:
    """Makes facts about drawn people and places; a language gives the words."""

    language: str
    filler: Sequence[str]

    def __init__(self, rng: random.Random, people: list[str], places: list[str], most: int) -> None:
        self.rng = rng
        self.people = people
        self.places = places
        self.numbers = rng.sample(range(12, most), 40)

    def facts(self) -> list[Fact]:
        """Return a fact of each kind, and two kinds once more, each about someone else."""
        makers = self.list_makers()
        self.rng.shuffle(makers)
        return [make(self.people[at], str(self.numbers[at]), at) for at, make in enumerate((*makers, *makers[:2]))]

    def list_makers(self) -> list[Callable[[str, str, int], Fact]]:
        """Return one function for each kind of fact: of a person, a number and the number of the fact."""
        raise NotImplementedError

    def replace_value(self, text: str, fact: Fact) -> str:
        """Return the text with another value in the place of the fact's."""
        return text.replace(fact.value, str(int(fact.value) + self.rng.choice((-11, -3, 1, 7, 10))))


def make_year(value: str) -> str:
    """Return a year made of a drawn number."""
    return str(1500 + int(value) % 480)
