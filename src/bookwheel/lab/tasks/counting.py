"""Answers that need many places of the document.

count    how often something happened; the occurrences are spread over the document
list     every member of a set whose members are named far apart
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bookwheel.lab.tasks import lexicon
from bookwheel.lab.tasks.definition import AtLeastTwo, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.facts import Fact, hide_in_essays

_BIRDS: Final = ("heron", "cormorant", "petrel", "gannet", "plover", "curlew", "tern", "osprey")
_SIGHTINGS: Final = (
    "That day a {bird} was sighted off {place} by {person}.",
    "{person} noted a {bird} off {place}.",
    "A {bird} was seen off {place}; {person} signed the entry.",
    "Off {place}, {person} saw a {bird}.",
)


def build_count(request: SampleRequest) -> SampleDraft:
    """Spread sightings of one bird at one place among those of another bird and another place."""
    rng = request.rng
    times = request.read_int("times", rng.randrange(3, 13))
    bird, other_bird = rng.sample(_BIRDS, 2)
    place, other_place = lexicon.draw_place(rng), lexicon.draw_place(rng)
    facts: list[Fact] = []
    for at, where in enumerate(sorted(rng.random() for _ in range(times)), start=1):
        note = f"{bird} off {place}: seen {at} times so far" if at > 1 else f"{bird} off {place}: seen once so far"
        facts.append(Fact(text=_draw_sighting(request, bird, place), place=where, note=note, key="count"))
    for pair in ((other_bird, place), (bird, other_place)):
        misleading = rng.randrange(2, 7)
        facts += [Fact(text=_draw_sighting(request, *pair), place=rng.random()) for _ in range(misleading)]
    return SampleDraft(
        question=f"How many times in all was a {bird} seen off {place}? Give the number alone.",
        golds=(str(times),),
        metric="exact",
        body=hide_in_essays(request, facts),
    )


def _draw_sighting(request: SampleRequest, bird: str, place: str) -> str:
    return request.rng.choice(_SIGHTINGS).format(bird=bird, place=place, person=lexicon.draw_person(request.rng))


_VISITS: Final = (
    "{person} spent a night at {place} on the way.",
    "The visitors' book of {place} has the name of {person}.",
    "At {place} they still speak of the day on which {person} came.",
    "{person} was received at {place} with music.",
    "It rained when {person} reached {place}.",
)


def build_list(request: SampleRequest) -> SampleDraft:
    """Spread the towns that one person visited among those of another person."""
    rng = request.rng
    size = request.read_int("times", rng.randrange(4, 9))
    traveller, other = (
        f"{given} {family}"
        for given, family in zip(rng.sample(lexicon.GIVEN, 2), rng.sample(lexicon.FAMILY, 2), strict=True)
    )
    towns: dict[str, None] = {}
    while len(towns) < 2 * size:
        towns[lexicon.draw_place(rng)] = None
    visited, passed = list(towns)[:size], list(towns)[size:]
    facts = [Fact(text=_draw_visit(request, other, town), place=rng.random()) for town in passed]
    for at, where in enumerate(sorted(rng.random() for _ in visited)):
        note = f"{traveller} visited: {', '.join(visited[: at + 1])}"
        facts.append(Fact(text=_draw_visit(request, traveller, visited[at]), place=where, note=note, key="list"))
    return SampleDraft(
        question=f"Which towns did {traveller} visit? List all of them.",
        golds=tuple(visited),
        metric="share_of",
        body=hide_in_essays(request, facts),
    )


def _draw_visit(request: SampleRequest, person: str, place: str) -> str:
    return request.rng.choice(_VISITS).format(person=person, place=place)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountOptions:
    """The option of `count` and `list`."""

    times: AtLeastTwo | None = None
    """How often it happens; by default the seed says."""


TASKS: Final = (
    Task(name="count", description="how often something happened in all", build=build_count, options=CountOptions),
    Task(name="list", description="every town that someone visited", build=build_list, options=CountOptions),
)
