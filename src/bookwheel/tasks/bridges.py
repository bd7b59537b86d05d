"""What a reader cannot see coming, and what is not there to be seen.

bridge    a fact is given before the passage that makes it matter: who lives where, and only much later
whose the ship is that the question is about. A perfect memory keeps all candidates until then.
absent    nothing in the document answers the question, though much is like it; the right answer says so
"""

from __future__ import annotations

from typing import Final

from bookwheel.tasks import lexicon
from bookwheel.tasks.facts import Fact, in_essays, sentence
from bookwheel.tasks.needles import KIND_NAMES, QUESTIONS, WORDINGS
from bookwheel.tasks.orders import Draft, Order, Task

_LIVES: Final = (
    "{person} has lived at {place} for years.",
    "Everyone knows that {person} makes a home at {place}.",
    "The house of {person} stands at {place}.",
    "Letters for {person} go to {place}.",
)
_OWNS: Final = (
    "It is {person} to whom the ship {ship} belongs.",
    "{person} had by then become the owner of the ship {ship}.",
    "The papers of the ship {ship} name {person} as the owner.",
)


def bridge(order: Order) -> Draft:
    """Residents in the first half, the owner in the second."""
    rng = order.rng
    size = order.number("candidates", 6, least=2)
    people: dict[str, str] = {}
    while len(people) < size:
        people[lexicon.person(rng)] = lexicon.place(rng)
    ship = lexicon.coined(rng).capitalize()
    owner = rng.choice(list(people))
    facts = [
        Fact(
            text=rng.choice(_LIVES).format(person=person, place=place),
            place=rng.uniform(0, 0.45),
            note=f"{person} lives at {place}",
            key=person,
        )
        for person, place in people.items()
    ]
    facts.append(
        Fact(
            text=rng.choice(_OWNS).format(person=owner, ship=ship),
            place=rng.uniform(0.55, 1),
            note=f"{owner} owns the ship {ship} and lives at {people[owner]}",
            replaces=tuple(people),
        )
    )
    return Draft(
        question=f"Where does the owner of the ship {ship} live?",
        golds=(people[owner],),
        metric="contains",
        body=in_essays(order, facts),
        metadata={"candidates": size},
    )


ABSENT: Final = {"en": "not in the document", "zh": "文中没有提到"}


def absent(order: Order) -> Draft:
    """Needles of other keys, and a question about a key that has none."""
    rng, language = order.rng, order.language
    size = order.number("needles", 4)
    names = lexicon.keys(rng, order.shelf, language)
    asked = next(names)
    wording, kind = rng.choice(WORDINGS[language]), KIND_NAMES[language][0]
    facts = [
        Fact(
            text=sentence(wording.format(kind=kind, key=next(names), value=lexicon.number(rng))),
            place=rng.random(),
        )
        for _ in range(size)
    ]
    return Draft(
        question=QUESTIONS[language][0].format(kind=kind, keys=asked),
        golds=(ABSENT[language],),
        metric="unanswerable",
        body=in_essays(order, facts),
        metadata={"needles": size},
    )


TASKS: Final = (
    Task(name="bridge", about="a fact told before it matters", build=bridge, options=("candidates",)),
    Task(
        name="absent",
        about="a question that the document does not answer",
        build=absent,
        languages=("en", "zh"),
        options=("needles",),
    ),
)
