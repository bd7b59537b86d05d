"""Facts that do not stay as they were, and sources that do not agree.

updated     a figure is changed several times; the last value wins
conflict    two sources give different figures and nothing decides between them: both are asked for
"""

from __future__ import annotations

from typing import Final

from bookwheel.tasks import lexicon
from bookwheel.tasks.facts import Fact, in_essays, sentence
from bookwheel.tasks.orders import Draft, Order, Task

_SUBJECTS: Final = (
    "the toll at {place}",
    "the rent of the {place} mill",
    "the fee for a berth at {place}",
    "the strength of the {place} garrison",
    "the price of a seat on the {place} coach",
    "the yearly grant to the {place} school",
)
_FIRST: Final = (
    "{subject} was first put at {value}.",
    "In the beginning {subject} stood at {value}.",
    "By the oldest entry {subject} is {value}.",
)
_THEN: Final = (
    "{subject} has since been changed to {value}.",
    "From that day on {subject} was {value}.",
    "A new notice puts {subject} at {value} from now on.",
    "After long talk {subject} became {value}, and the old figure was struck out.",
    "It was then agreed that {subject} should be {value} instead.",
)


def updated(order: Order) -> Draft:
    """One figure with all its changes, and another figure with changes of its own beside it."""
    rng = order.rng
    changes = order.number("changes", 4)
    shape = rng.choice(_SUBJECTS)
    subject, other = (shape.format(place=lexicon.place(rng)) for _ in range(2))
    values = _different(order, 2 * changes + 2)
    facts = _history(order, subject, values[: changes + 1], noted=True)
    facts += _history(order, other, values[changes + 1 :], noted=False)
    return Draft(
        question=f"What is {subject} according to the last word on it? Give the figure alone.",
        golds=(values[changes],),
        metric="exact",
        body=in_essays(order, facts),
        metadata={"changes": changes},
    )


def _different(order: Order, count: int) -> list[str]:
    values: dict[str, None] = {}
    while len(values) < count:
        values[lexicon.number(order.rng, 4)] = None
    return list(values)


def _history(order: Order, subject: str, values: list[str], *, noted: bool) -> list[Fact]:
    rng = order.rng
    places = sorted(rng.random() for _ in values)
    facts: list[Fact] = []
    for at, (value, place) in enumerate(zip(values, places, strict=True)):
        wording = rng.choice(_THEN if at else _FIRST)
        text = sentence(wording.format(subject=subject, value=value))
        facts.append(Fact(text=text, place=place, note=f"{subject}: {value}" if noted else "", key=subject))
    return facts


_SOURCES: Final = (
    "the {place} Gazette",
    "the harbour survey",
    "the parish register",
    "Captain {family}",
    "the guild's almanac",
    "the schoolmaster {family}",
)
_COUNTED: Final = (
    ("arches", "the old bridge at {place}"),
    ("steps", "the tower of {place}"),
    ("bells", "the {place} carillon"),
    ("rooms", "the great inn at {place}"),
    ("graves", "the island cemetery of {place}"),
)
_SAYS: Final = (
    "According to {source}, {thing} has {value} {parts}.",
    "{source} counts {value} {parts} for {thing}.",
    "As {source} has it, there are {value} {parts} to {thing}.",
)


def conflict(order: Order) -> Draft:
    """Two statements about one thing, and one about another thing."""
    rng = order.rng
    parts, shape = rng.choice(_COUNTED)
    thing, other = (shape.format(place=lexicon.place(rng)) for _ in range(2))
    sources = [
        source.format(place=lexicon.place(rng), family=family)
        for source, family in zip(rng.sample(_SOURCES, 3), rng.sample(lexicon.FAMILY, 3), strict=True)
    ]
    values = [str(value) for value in rng.sample(range(21, 400), 3)]
    facts: list[Fact] = []
    for at, (source, value) in enumerate(zip(sources, values, strict=True)):
        about = thing if at < 2 else other  # noqa: PLR2004 - the third is there to mislead
        text = sentence(rng.choice(_SAYS).format(source=source, thing=about, value=value, parts=parts))
        note = f"{parts} of {thing}: {value} ({source})" if about == thing else ""
        facts.append(Fact(text=text, place=rng.random(), note=note))
    return Draft(
        question=f"How many {parts} does {thing} have? Should sources differ, give each figure with its source.",
        golds=tuple(values[:2]),
        metric="all_of",
        body=in_essays(order, facts),
        metadata={"sources": sources[:2]},
    )


TASKS: Final = (
    Task(
        name="updated", about="a figure changed several times: the last value wins", build=updated, options=("changes",)
    ),
    Task(name="conflict", about="two sources that differ: both figures are asked for", build=conflict),
)
