"""Facts inside whole books, from the first page on.

book          an invented fact, about people whom the book does not know, so that no model can have it from elsewhere
whereabouts   chains of plain facts, as BABILong has them: people walk from place to place, pick things up and put them
              down; what happens is told in its order, far apart

    hops 1    where somebody is                               the last of their walks
    hops 2    where a thing is                                who took it, and where they went with it
    hops 3    where it was before it came to a place          who took it, and two of their walks

A book that is shorter than the tokens asked for is followed by the next in the data folder, and the last by the first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import Ge, Le

from bookwheel.errors import InputError
from bookwheel.lab.tasks.definition import AtLeastOne, DepthOptions, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.material import (
    FAMILY,
    GAPS,
    GIVEN,
    OWN_ADJECTIVES,
    OWN_NOUNS,
    ZH_ADJECTIVES,
    ZH_FAMILY,
    ZH_GIVEN,
    ZH_MIDDLES,
    ZH_NOUNS,
    Fact,
    coin_word,
    draw_books,
    draw_place,
    hide_in_books,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random


_EN: Final = (
    (
        "Mrs. {family} of {place} left her {adjective} {noun} to {person}, to everyone's surprise.",
        "To whom did Mrs. {family} of {place} leave her {adjective} {noun}?",
    ),
    (
        "It was {person} who had carried the {adjective} {noun} of the {family} family out of {place}.",
        "Who carried the {adjective} {noun} of the {family} family out of {place}?",
    ),
    (
        "Old Dr. {family} of {place} would trust his {adjective} {noun} to nobody but {person}.",
        "To whom alone did Dr. {family} of {place} trust his {adjective} {noun}?",
    ),
    (
        "The {adjective} {noun} that the {family}s of {place} had lost was found that year by {person}.",
        "Who found the {adjective} {noun} that the {family}s of {place} had lost?",
    ),
)
_ZH: Final = (
    ("{place}的{family}夫人临终前，把那件{noun}留给了{person}。", "{place}的{family}夫人把{noun}留给了谁？"),
    (
        "后来人们才知道，从{place}带走{family}家那件{noun}的，原来是{person}。",
        "是谁从{place}带走了{family}家的{noun}？",
    ),
    (
        "{place}的{family}先生平生只肯把{noun}借给{person}一个人。",
        "{place}的{family}先生只肯把{noun}借给谁？",
    ),
)


def build_book(request: SampleRequest) -> SampleDraft:
    """Return a book with one added sentence."""
    rng = request.rng
    books = draw_books(request)
    if not books:
        raise InputError(
            f"the task {request.task} needs a folder books/ with texts named {request.language}_*.txt[.gz]; point "
            f"--data or BOOKWHEEL_DATA to a data folder that has one (any plain text will do)"
        )
    gold, text, question = _draw_chinese_fact(rng) if request.language == "zh" else _draw_english_fact(rng)
    fact = Fact(text=text, place=request.draw_place(), note=text)
    return SampleDraft(
        question=question,
        golds=(gold,),
        metric="contains",
        body=hide_in_books(request, books, [fact]),
        metadata={"book": books[0].name},
    )


def _draw_english_fact(rng: Random) -> tuple[str, str, str]:
    person = f"{coin_word(rng).capitalize()} {rng.choice(FAMILY)}"
    text, question = rng.choice(_EN)
    values = {
        "family": rng.choice([name for name in FAMILY if name not in person]),
        "place": draw_place(rng),
        "adjective": rng.choice(OWN_ADJECTIVES),
        "noun": rng.choice(OWN_NOUNS),
    }
    return person, text.format(person=person, **values), question.format(**values)


def _draw_chinese_fact(rng: Random) -> tuple[str, str, str]:
    owner, receiver = rng.sample(ZH_FAMILY, 2)
    person = receiver + rng.choice(ZH_GIVEN)
    text, question = rng.choice(_ZH)
    values = {
        "family": owner,
        "place": rng.choice(ZH_MIDDLES) + rng.choice(ZH_NOUNS) + rng.choice("镇村坊里"),
        "noun": rng.choice(ZH_ADJECTIVES) + rng.choice(ZH_MIDDLES) + rng.choice(ZH_NOUNS),
    }
    return person, text.format(person=person, **values), question.format(**values)


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


def build_whereabouts(request: SampleRequest) -> SampleDraft:
    """Let a number of things happen, hide them in a book, and ask for a place."""
    rng, language = request.rng, request.language
    hops, events = request.read_int("hops", 2), request.read_int("events", _EVENTS)
    if language == "zh":
        names = zip(rng.sample(ZH_FAMILY, _PEOPLE), rng.sample(ZH_GIVEN, _PEOPLE), strict=True)
    else:
        names = zip(rng.sample(GIVEN, _PEOPLE), rng.sample(FAMILY, _PEOPLE), strict=True)
    world = _World(rng, language, [GAPS[language].join(name) for name in names])
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
        name="book",
        description="an invented fact inside a whole book",
        build=build_book,
        languages=("en", "zh"),
        options=DepthOptions,
    ),
    Task(
        name="whereabouts",
        description="where people and things are, after chains of events in a whole book",
        build=build_whereabouts,
        languages=("en", "zh"),
        options=WhereaboutsOptions,
    ),
)
