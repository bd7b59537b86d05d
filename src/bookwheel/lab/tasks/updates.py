"""Facts that change, and sources that disagree.

updated     a figure is changed several times; the last value wins
conflict    two sources give different figures and nothing decides between them: both are asked for
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bookwheel.lab.tasks import lexicon
from bookwheel.lab.tasks.definition import AtLeastOne, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.facts import Fact, capitalize, hide_in_essays

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


def build_updated(request: SampleRequest) -> SampleDraft:
    """Change one figure several times, beside another figure with changes of its own."""
    rng = request.rng
    changes = request.read_int("changes", 4)
    shape = rng.choice(_SUBJECTS)
    subject, other = (shape.format(place=lexicon.draw_place(rng)) for _ in range(2))
    values = _draw_values(request, 2 * changes + 2)
    facts = _build_history(request, subject, values[: changes + 1], noted=True)
    facts += _build_history(request, other, values[changes + 1 :], noted=False)
    return SampleDraft(
        question=f"What is {subject} according to the last word on it? Give the figure alone.",
        golds=(values[changes],),
        metric="exact",
        body=hide_in_essays(request, facts),
        metadata={"changes": changes},
    )


def _draw_values(request: SampleRequest, count: int) -> list[str]:
    values: dict[str, None] = {}
    while len(values) < count:
        values[lexicon.draw_number(request.rng, 4)] = None
    return list(values)


def _build_history(request: SampleRequest, subject: str, values: list[str], *, noted: bool) -> list[Fact]:
    rng = request.rng
    places = sorted(rng.random() for _ in values)
    facts: list[Fact] = []
    for at, (value, place) in enumerate(zip(values, places, strict=True)):
        wording = rng.choice(_THEN if at else _FIRST)
        text = capitalize(wording.format(subject=subject, value=value))
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


def build_conflict(request: SampleRequest) -> SampleDraft:
    """Make two statements about one thing, and one about another."""
    rng = request.rng
    parts, shape = rng.choice(_COUNTED)
    thing, other = (shape.format(place=lexicon.draw_place(rng)) for _ in range(2))
    sources = [
        source.format(place=lexicon.draw_place(rng), family=family)
        for source, family in zip(rng.sample(_SOURCES, 3), rng.sample(lexicon.FAMILY, 3), strict=True)
    ]
    values = [str(value) for value in rng.sample(range(21, 400), 3)]
    facts: list[Fact] = []
    for at, (source, value) in enumerate(zip(sources, values, strict=True)):
        about = thing if at < 2 else other  # noqa: PLR2004 - the third is there to mislead
        text = capitalize(rng.choice(_SAYS).format(source=source, thing=about, value=value, parts=parts))
        note = f"{parts} of {thing}: {value} ({source})" if about == thing else ""
        facts.append(Fact(text=text, place=rng.random(), note=note))
    return SampleDraft(
        question=f"How many {parts} does {thing} have? Should sources differ, give each figure with its source.",
        golds=tuple(values[:2]),
        metric="all_of",
        body=hide_in_essays(request, facts),
        metadata={"sources": sources[:2]},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOptions:
    """The option of `updated`."""

    changes: AtLeastOne | None = None
    """How often the figure changes; 4 by default."""


TASKS: Final = (
    Task(
        name="updated",
        description="a figure changed several times: the last value wins",
        build=build_updated,
        options=ChangeOptions,
    ),
    Task(name="conflict", description="two sources that differ: both figures are asked for", build=build_conflict),
)
