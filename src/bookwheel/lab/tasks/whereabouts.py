"""`whereabouts`: chains of plain facts inside a whole book, as BABILong has them.

People walk from place to place, pick things up and put them down; what happens is told in its order, far apart.

    hops 1    where somebody is                               the last of their walks
    hops 2    where a thing is                                who took it, and where they went with it
    hops 3    where it was before it came to a place          who took it, and two of their walks
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import Ge, Le

from bookwheel.lab.tasks import lexicon
from bookwheel.lab.tasks.definition import AtLeastOne, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.facts import Fact, draw_books, hide_in_books

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

_PEOPLE: Final = 4
_EVENTS: Final = 20
_MOST_EVENTS: Final = 10_000
# Of ten events so many are walks, and so many of the others pick a thing up where there is one.
_WALKS: Final = 0.6
_PLACES: Final = {
    "en": ("granary", "chapel", "boathouse", "orchard", "cellar", "smithy", "courtyard", "stable"),
    "zh": ("粮仓", "祠堂", "船坞", "果园", "地窖", "铁铺", "院子", "马厩"),
}
_THINGS: Final = {
    "en": ("lantern", "hourglass", "copper kettle"),
    "zh": ("灯笼", "沙漏", "铜壶"),
}
_WORDINGS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "en": {
        "walk": ("{who} went to the {place}.", "{who} made for the {place}.", "{who} walked over to the {place}."),
        "take": ("{who} picked up the {thing}.", "{who} took the {thing} along."),
        "drop": ("{who} put the {thing} down there.", "{who} left the {thing} behind."),
    },
    "zh": {
        "walk": ("{who}去了{place}。", "{who}走到{place}里。"),
        "take": ("{who}拿起了{thing}。", "{who}把{thing}带在身上。"),
        "drop": ("{who}在那里放下了{thing}。", "{who}把{thing}留在了那里。"),
    },
}
_QUESTIONS: Final = {
    "en": (
        "Where is {who} in the end? Give the place alone.",
        "Where is the {thing} in the end? Give the place alone.",
        "Where was the {thing} before it last came to the {place}? Give the place alone.",
    ),
    "zh": (
        "{who}最后在哪里？只写地点。",
        "{thing}最后在哪里？只写地点。",
        "{thing}最后一次到{place}之前在哪里？只写地点。",
    ),
}


@dataclass(slots=True)
class _World:
    """People, places and things, and everything that has happened."""

    rng: Random
    language: str
    people: list[str]
    texts: list[str] = field(default_factory=list)
    walks: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Where each person is, and the event that says so."""
    holder: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Who holds each thing, and the event in which they took it."""
    trails: dict[str, list[tuple[str, set[int]]]] = field(default_factory=dict)
    """The places of each thing in order, with the events that tell of each."""

    def begin(self) -> None:
        """Let everybody walk somewhere, so that all places are known from then on."""
        for who in self.people:
            self.walk(who)

    def happen(self) -> None:
        """Let one more thing happen."""
        who = self.rng.choice(self.people)
        held = [thing for thing, (holder, _) in self.holder.items() if holder == who]
        free = [thing for thing in _THINGS[self.language] if self._lies_beside(thing, who)]
        if self.rng.random() < _WALKS or not (held or free):
            self.walk(who)
        elif free:
            self._take(who, self.rng.choice(free))
        else:
            self._drop(who, self.rng.choice(held))

    def walk(self, who: str) -> None:
        """Let somebody walk to another place, with all that they hold."""
        here = self.walks[who][0] if who in self.walks else ""
        place = self.rng.choice([place for place in _PLACES[self.language] if place != here])
        event = self._tell("walk", who=who, place=place)
        self.walks[who] = (place, event)
        for thing, (holder, taken) in self.holder.items():
            if holder == who:
                self.trails[thing].append((place, {event, taken}))

    def _lies_beside(self, thing: str, who: str) -> bool:
        """Return whether the thing lies where the person is; nobody knows yet where one lies that never was taken."""
        if thing in self.holder:
            return False
        return thing not in self.trails or self.trails[thing][-1][0] == self.walks[who][0]

    def _take(self, who: str, thing: str) -> None:
        event = self._tell("take", who=who, thing=thing)
        place, walked = self.walks[who]
        self.holder[thing] = (who, event)
        if thing not in self.trails:
            self.trails[thing] = [(place, {walked, event})]

    def _drop(self, who: str, thing: str) -> None:
        event = self._tell("drop", who=who, thing=thing)
        del self.holder[thing]
        self.trails[thing][-1][1].add(event)

    def _tell(self, kind: str, **names: str) -> int:
        self.texts.append(self.rng.choice(_WORDINGS[self.language][kind]).format(**names))
        return len(self.texts) - 1


def build(request: SampleRequest) -> SampleDraft:
    """Let a number of things happen, hide them in a book, and ask for a place."""
    rng, language = request.rng, request.language
    hops, events = request.read_int("hops", 2), request.read_int("events", _EVENTS)
    world = _World(rng, language, _draw_people(rng, language))
    world.begin()
    while len(world.texts) < events or not any(len(trail) > 1 for trail in world.trails.values()):
        world.happen()
    question, gold, support = _ask(world, hops)
    places = sorted(rng.random() for _ in world.texts)
    facts = [
        Fact(text=text, place=place, note=text if event in support else "")
        for event, (text, place) in enumerate(zip(world.texts, places, strict=True))
    ]
    books = draw_books(request)
    return SampleDraft(
        question=question,
        golds=(gold,),
        metric="exact",
        body=hide_in_books(request, books, facts),
        metadata={"hops": hops, "events": len(world.texts), "book": books[0].name if books else "made-up prose"},
    )


def _draw_people(rng: Random, language: str) -> list[str]:
    if language == "zh":
        names = zip(rng.sample(lexicon.ZH_FAMILY, _PEOPLE), rng.sample(lexicon.ZH_GIVEN, _PEOPLE), strict=True)
        return [family + given for family, given in names]
    pairs = zip(rng.sample(lexicon.GIVEN, _PEOPLE), rng.sample(lexicon.FAMILY, _PEOPLE), strict=True)
    return [f"{given} {family}" for given, family in pairs]


def _ask(world: _World, hops: int) -> tuple[str, str, set[int]]:
    """Return the question, its answer, and the events that the answer rests on."""
    wording = _QUESTIONS[world.language][hops - 1]
    if hops == 1:
        who = world.rng.choice(world.people)
        place, event = world.walks[who]
        return wording.format(who=who), place, {event}
    thing = world.rng.choice(sorted(thing for thing, trail in world.trails.items() if len(trail) > 1))
    trail = world.trails[thing]
    last, support = trail[-1]
    if hops == 2:  # noqa: PLR2004 - as many as the option says
        return wording.format(thing=thing), last, support
    arrivals = {place: at for at, (place, _) in enumerate(trail) if at}
    place = world.rng.choice(sorted(arrivals))
    before, earlier = trail[arrivals[place] - 1]
    return wording.format(thing=thing, place=place), before, earlier | trail[arrivals[place]][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereaboutsOptions:
    """The options of `whereabouts`."""

    hops: Annotated[int, Ge(1), Le(3)] | None = None
    """1: where somebody is; 2, the default: where a thing is; 3: where it was before."""
    events: Annotated[AtLeastOne, Le(_MOST_EVENTS)] | None = None
    """Walks, takings and droppings; 20 by default."""


TASKS: Final = (
    Task(
        name="whereabouts",
        description="where people and things are, after chains of events in a whole book",
        build=build,
        languages=("en", "zh"),
        options=WhereaboutsOptions,
    ),
)
