"""Facts inside whole books, from the first page on.

book          an invented fact, about people whom the book does not know, so that no model can have it from elsewhere
whereabouts   chains of plain facts, as BABILong has them: people walk from place to place, pick things up and put them
              down; what happens is told in its order, far apart

    hops 1    where somebody is                               the last of their walks
    hops 2    where a thing is                                who took it, and where they went with it
    hops 3    where it was before it came to a place          who took it, and two of their walks

A book that is shorter than the tokens asked for is followed by the next in the data folder, and the last by the first.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Annotated, Final

from bookwheel.errors import InputError
from bookwheel.lab.tasks.definition import BOTH, Percent, SampleDraft, SampleRequest, task
from bookwheel.lab.tasks.material import (
    Fact,
    Wordings,
    coin_word,
    draw_books,
    draw_object,
    draw_people,
    draw_place,
    hide_in_books,
    list_words,
    spread,
)
from bookwheel.schema import Ge, Le

_WALKS: Final = 0.6
"""Of ten events so many are walks, and so many of the others pick a thing up where there is one."""


@task("book", "an invented fact inside a whole book", languages=BOTH, depth=Percent)
def build_book(request: SampleRequest) -> SampleDraft:
    """Return a book with one added sentence."""
    rng = request.rng
    books = draw_books(request)
    if not books:
        raise InputError(
            f"the task {request.task} needs a folder books/ with texts named {request.language}_*.txt[.gz]; point "
            f"--data or BOOKWHEEL_DATA to a data folder that has one (any plain text will do)"
        )
    say = Wordings("book", request)
    # In the fact and in the question the same names are filled in.
    if request.language == "zh":
        owner, receiver = rng.sample(list_words("family", "zh"), 2)
        person = receiver + rng.choice(list_words("given", "zh"))
        text, question = say("fact")
        place = "".join(rng.choice(list_words(kind, "zh")) for kind in ("middles", "nouns", "towns"))
        names = {"family": owner, "place": place, "noun": draw_object(rng)}
    else:
        person = f"{coin_word(rng).capitalize()} {rng.choice(list_words('family'))}"
        text, question = say("fact")
        names = {
            "family": rng.choice([name for name in list_words("family") if name not in person]),
            "place": draw_place(rng),
            "adjective": rng.choice(list_words("adjectives")),
            "noun": rng.choice(list_words("nouns")),
        }
    added = text.format(person=person, **names)
    fact = Fact(text=added, place=request.draw_place(), note=added)
    return SampleDraft(
        question=question.format(**names),
        golds=(person,),
        metric="contains",
        body=hide_in_books(request, books, [fact]),
        metadata={"book": books[0].name},
    )


@dataclass(slots=True)
class _World:
    """People, places and things, and everything that has happened."""

    rng: Random
    say: Wordings
    people: list[str]
    texts: list[str] = field(default_factory=list)
    walks: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Where each person is, and the event that says so."""
    holder: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Who holds each thing, and the event in which they took it."""
    trails: dict[str, list[tuple[str, set[int]]]] = field(default_factory=dict)
    """The places of each thing in order, with the events that tell of each."""

    def happen(self) -> None:
        """Let one more thing happen."""
        who = self.rng.choice(self.people)
        held = [thing for thing, (holder, _) in self.holder.items() if holder == who]
        free = [thing for thing in self.say["thing"] if self._lies_beside(thing, who)]
        if self.rng.random() < _WALKS or not (held or free):
            self.walk(who)
        elif free:
            thing = self.rng.choice(free)
            event = self._tell("take", who=who, thing=thing)
            place, walked = self.walks[who]
            self.holder[thing] = (who, event)
            self.trails.setdefault(thing, [(place, {walked, event})])
        else:
            thing = self.rng.choice(held)
            del self.holder[thing]
            self.trails[thing][-1][1].add(self._tell("drop", who=who, thing=thing))

    def walk(self, who: str) -> None:
        """Let somebody walk to another place, with all that they hold."""
        here = self.walks[who][0] if who in self.walks else ""
        place = self.rng.choice([place for place in self.say["place"] if place != here])
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

    def _tell(self, kind: str, **names: str) -> int:
        self.texts.append(self.say(kind).format(**names))
        return len(self.texts) - 1


@task(
    "whereabouts",
    "where people and things are, after chains of events in a whole book",
    languages=BOTH,
    hops=Annotated[int, Ge(1), Le(3)],
    events=Annotated[int, Ge(1), Le(10_000)],
)
def build_whereabouts(request: SampleRequest) -> SampleDraft:
    """Let a number of things happen, hide them in a book, and ask for a place."""
    rng, say = request.rng, Wordings("book", request)
    hops, events = request.options.get("hops", 2), request.options.get("events", 20)
    world = _World(rng, say, draw_people(rng, request.language, 4))
    # All places are known from then on.
    for who in world.people:
        world.walk(who)
    while len(world.texts) < events or not any(len(trail) > 1 for trail in world.trails.values()):
        world.happen()
    question, gold, support = _ask(world, hops)
    facts = spread(rng, len(world.texts), lambda at: (world.texts[at], world.texts[at] if at in support else ""))
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
    wording = world.say["question"][hops - 1]
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
