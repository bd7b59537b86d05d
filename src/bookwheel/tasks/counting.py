"""Answers that no single place holds.

count    how often something happened; the occurrences are spread over the document
list     every member of a set whose members are named far apart
"""

from __future__ import annotations

from typing import Final

from bookwheel.tasks import lexicon
from bookwheel.tasks.facts import Fact, in_essays
from bookwheel.tasks.orders import Draft, Order, Task

_BIRDS: Final = ("heron", "cormorant", "petrel", "gannet", "plover", "curlew", "tern", "osprey")
_SIGHTINGS: Final = (
    "That day a {bird} was sighted off {place} by {person}.",
    "{person} noted a {bird} off {place}.",
    "A {bird} was seen off {place}; {person} signed the entry.",
    "Off {place}, {person} saw a {bird}.",
)


def count(order: Order) -> Draft:
    """So many sightings of one bird at one place, among those of another bird and at another place."""
    rng = order.rng
    times = order.number("times", rng.randrange(3, 13), least=2)
    bird, other_bird = rng.sample(_BIRDS, 2)
    place, other_place = lexicon.place(rng), lexicon.place(rng)
    facts: list[Fact] = []
    for at, where in enumerate(sorted(rng.random() for _ in range(times)), start=1):
        note = f"{bird} off {place}: seen {at} times so far" if at > 1 else f"{bird} off {place}: seen once so far"
        facts.append(Fact(text=_sighting(order, bird, place), place=where, note=note, key="count"))
    for pair in ((other_bird, place), (bird, other_place)):
        misleading = rng.randrange(2, 7)
        facts += [Fact(text=_sighting(order, *pair), place=rng.random()) for _ in range(misleading)]
    return Draft(
        question=f"How many times in all was a {bird} seen off {place}? Give the number alone.",
        golds=(str(times),),
        metric="exact",
        body=in_essays(order, facts),
    )


def _sighting(order: Order, bird: str, place: str) -> str:
    return order.rng.choice(_SIGHTINGS).format(bird=bird, place=place, person=lexicon.person(order.rng))


_VISITS: Final = (
    "{person} spent a night at {place} on the way.",
    "The visitors' book of {place} has the name of {person}.",
    "At {place} they still speak of the day on which {person} came.",
    "{person} was received at {place} with music.",
    "It rained when {person} reached {place}.",
)


def listing(order: Order) -> Draft:
    """The towns that one person visited, among those of another."""
    rng = order.rng
    size = order.number("times", rng.randrange(4, 9), least=2)
    traveller, other = (
        f"{given} {family}"
        for given, family in zip(rng.sample(lexicon.GIVEN, 2), rng.sample(lexicon.FAMILY, 2), strict=True)
    )
    towns: dict[str, None] = {}
    while len(towns) < 2 * size:
        towns[lexicon.place(rng)] = None
    visited, passed = list(towns)[:size], list(towns)[size:]
    facts = [Fact(text=_visit(order, other, town), place=rng.random()) for town in passed]
    for at, where in enumerate(sorted(rng.random() for _ in visited)):
        note = f"{traveller} visited: {', '.join(visited[: at + 1])}"
        facts.append(Fact(text=_visit(order, traveller, visited[at]), place=where, note=note, key="list"))
    return Draft(
        question=f"Which towns did {traveller} visit? List all of them.",
        golds=tuple(visited),
        metric="share_of",
        body=in_essays(order, facts),
    )


def _visit(order: Order, person: str, place: str) -> str:
    return order.rng.choice(_VISITS).format(person=person, place=place)


TASKS: Final = (
    Task(name="count", about="how often something happened in all", build=count, options=("times",)),
    Task(name="list", about="every town that someone visited", build=listing, options=("times",)),
)
