"""Facts in English for verdict_pairs.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from verdict_facts import Fact, FactMaker, make_year

if TYPE_CHECKING:
    import random
    from collections.abc import Callable


def list_words(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


FIRST: Final = list_words(
    "Ada Bo Cyra Dov Elin Falk Greta Hanno Ines Jory Kaja Lorn Mina Nils Oda Per Quint Runa Sten Tove"
)
LAST: Final = list_words(
    "Quill Reed Marsh Vane Holt Lunde Farrow Pell Strand Ashby Crane Dahl Eskil Frost Gale Hawk Ivers Juno Kern Lamb"
)
PLACES: Final = list_words("Skarholm Este Varnik Orlow Tamsel Brugge Kalmen Ostrand Perin Lovas Hemsund Dorne")
GOODS: Final = ("herring", "tin plates", "lamp oil", "rye flour", "slate", "copper wire", "salt cod", "blue glass")
UNITS: Final = list_words("barrels crates sacks tons bales casks")
MONTHS: Final = list_words("January February March April May June July August September October November December")
FILLER: Final = (
    "Gulls circled over the pier all day.",
    "Nobody spoke much about the weather.",
    "The road along the cliff was closed.",
    "In spring the market opened an hour earlier.",
    "Rain fell on the roofs of the lower town.",
    "The ferry was late again, as it had been all winter.",
    "A new clock was hung in the hall.",
    "Children sold lemonade by the church wall.",
    "The lighthouse lamp needed cleaning.",
    "Several letters came back unopened.",
    "The choir practised on Thursday evenings.",
    "Fog lay over the bay until noon.",
)


class EnglishMaker(FactMaker):
    """Facts in English."""

    language = "en"
    filler = FILLER

    def __init__(self, rng: random.Random) -> None:
        people = [f"{a} {b}" for a, b in zip(rng.sample(FIRST, 16), rng.sample(LAST, 16), strict=True)]
        super().__init__(rng, people, rng.sample(PLACES, len(PLACES)), 9000)

    def list_makers(self) -> list[Callable[[str, str, int], Fact]]:
        """Return the kinds of facts."""
        return [
            self.cargo,
            self.office,
            self.birth,
            self.payment,
            self.building,
            self.letter,
            self.election,
            self.depth,
        ]

    def cargo(self, who: str, value: str, at: int) -> Fact:
        """Someone delivered goods."""
        unit, goods, place = self.rng.choice(UNITS), self.rng.choice(GOODS), self.places[at]
        day = f"{self.rng.randint(1, 28)} {self.rng.choice(MONTHS)} {self.rng.randint(1700, 1990)}"
        return Fact(
            who=who,
            value=value,
            said=f"On {day}, {who} delivered {value} {unit} of {goods} to the harbour of {place}.",
            reworded=(
                f"{who} delivered {value} {unit} of {goods} to the harbour of {place} on {day}.",
                f"{value} {unit} of {goods} were delivered to the harbour of {place} by {who}.",
                f"The harbour of {place} received {value} {unit} of {goods} from {who}.",
            ),
            negated=f"{who} did not deliver {value} {unit} of {goods} to the harbour of {place}.",
            question=f"How many {unit} of {goods} did {who} deliver to the harbour of {place}?",
        )

    def office(self, who: str, value: str, at: int) -> Fact:
        """Someone holds an office since a year."""
        place, year = self.places[at], make_year(value)
        office = self.rng.choice(("harbour master", "town clerk", "chief engineer", "school inspector"))
        return Fact(
            who=who,
            value=year,
            said=f"{who} has been the {office} of {place} since {year}.",
            reworded=(
                f"The {office} of {place} since {year} has been {who}.",
                f"Since {year} {who} has been the {office} of {place}.",
                f"{place} has had {who} as its {office} from {year} on.",
            ),
            negated=f"{who} has never been the {office} of {place}.",
            question=f"Who has been the {office} of {place} since {year}?",
        )

    def birth(self, who: str, value: str, at: int) -> Fact:
        """Someone was born and died somewhere."""
        place, year = self.places[at], make_year(value)
        return Fact(
            who=who,
            value=year,
            said=f"{who}, a maker of sails, was born in {place} in {year} and moved away young.",
            reworded=(
                f"{who} was born in {place} in {year}.",
                f"In {year} {who} was born in {place}.",
                f"{place} is where {who} came into the world in {year}.",
            ),
            negated=f"{who} was not born in {place} in {year}.",
            question=f"In which year was {who} born in {place}?",
        )

    def payment(self, who: str, value: str, at: int) -> Fact:
        """One paid another."""
        other = self.people[at + 1 if at < len(self.people) - 1 else 0]
        goods = self.rng.choice(GOODS)
        return Fact(
            who=who,
            value=value,
            said=f"{who} paid {other} {value} crowns for the {goods}.",
            reworded=(
                f"{other} was paid {value} crowns for the {goods} by {who}.",
                f"For the {goods}, {who} paid {other} {value} crowns.",
                f"The {goods} cost {who} {value} crowns, which went to {other}.",
            ),
            negated=f"{who} refused to pay {other} {value} crowns for the {goods}.",
            question=f"How many crowns did {who} pay {other} for the {goods}?",
            swapped=f"{other} paid {who} {value} crowns for the {goods}.",
        )

    def building(self, who: str, value: str, at: int) -> Fact:
        """Someone built something."""
        place, year = self.places[at], make_year(value)
        what = self.rng.choice(("stone bridge", "water mill", "customs house", "bell tower"))
        return Fact(
            who=who,
            value=year,
            said=f"The {what} of {place} was built by {who} in {year} and still stands.",
            reworded=(
                f"{who} built the {what} of {place} in {year}.",
                f"The {what} of {place} was constructed in {year} by {who}.",
                f"It was {who} to whom {place} owed its {what} in {year}.",
            ),
            negated=f"The {what} of {place} was not built by {who} in {year}.",
            question=f"Who built the {what} of {place}?",
        )

    def letter(self, who: str, value: str, at: int) -> Fact:
        """Someone wrote to another about something."""
        other, place = self.people[at + 2 if at < len(self.people) - 2 else 1], self.places[at]
        return Fact(
            who=who,
            value=value,
            said=f"In letter {value}, {who} warned {other} about the flood at {place}.",
            reworded=(
                f"{who} warned {other} about the flood at {place} in letter {value}.",
                f"{other} was warned about the flood at {place} by {who} in letter {value}.",
                f"Letter {value} from {who} told {other} to beware of the flood at {place}.",
            ),
            negated=f"In letter {value}, {who} never warned {other} about the flood at {place}.",
            question=f"Who warned {other} about the flood at {place}?",
            swapped=f"In letter {value}, {other} warned {who} about the flood at {place}.",
        )

    def election(self, who: str, value: str, at: int) -> Fact:
        """Someone won by so many votes."""
        place = self.places[at]
        return Fact(
            who=who,
            value=value,
            said=f"With {value} votes, {who} won the election in {place} before the thaw.",
            reworded=(
                f"{who} won the election in {place} with {value} votes.",
                f"The election in {place} was won by {who} with {value} votes.",
                f"{value} voters in {place} chose {who}, enough for victory.",
            ),
            negated=f"{who} did not win the election in {place} with {value} votes.",
            question=f"How many votes did {who} win the election in {place} with?",
        )

    def depth(self, who: str, value: str, at: int) -> Fact:
        """Someone measured something."""
        place = self.places[at]
        return Fact(
            who=who,
            value=value,
            said=f"{who} measured the depth of the well at {place}: {value} feet.",
            reworded=(
                f"The depth of the well at {place} is {value} feet.",
                f"The well at {place} has a depth of {value} feet, measured by {who}.",
                f"According to {who}, one must go down {value} feet in the well at {place}.",
            ),
            negated=f"The depth of the well at {place} is not {value} feet.",
            question=f"What is the depth of the well at {place} in feet?",
        )
