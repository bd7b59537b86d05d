"""Facts whose use shows only later, and questions without an answer.

bridge    the document first says who lives where, and much later who owns the ship that the question is about;
          a perfect memory keeps all candidates until then
absent    no passage answers the question, though some are similar; the right answer says so
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bookwheel.lab.tasks import lexicon
from bookwheel.lab.tasks.definition import AtLeastOne, AtLeastTwo, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.facts import Fact, capitalize, hide_in_essays
from bookwheel.lab.tasks.needles import KIND_NAMES, QUESTIONS, WORDINGS

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


def build_bridge(request: SampleRequest) -> SampleDraft:
    """Name the residents in the first half, and the owner in the second."""
    rng = request.rng
    size = request.read_int("candidates", 6)
    people: dict[str, str] = {}
    while len(people) < size:
        people[lexicon.draw_person(rng)] = lexicon.draw_place(rng)
    ship = lexicon.coin_word(rng).capitalize()
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
    return SampleDraft(
        question=f"Where does the owner of the ship {ship} live?",
        golds=(people[owner],),
        metric="contains",
        body=hide_in_essays(request, facts),
        metadata={"candidates": size},
    )


ABSENT: Final = {"en": "not in the document", "zh": "文中没有提到"}


def build_absent(request: SampleRequest) -> SampleDraft:
    """Hide needles of other keys, and ask for a key without a needle."""
    rng, language = request.rng, request.language
    size = request.read_int("needles", 4)
    names = lexicon.draw_keys(rng, request.data_dir, language)
    asked = next(names)
    wording, kind = rng.choice(WORDINGS[language]), KIND_NAMES[language][0]
    facts = [
        Fact(
            text=capitalize(wording.format(kind=kind, key=next(names), value=lexicon.draw_number(rng))),
            place=rng.random(),
        )
        for _ in range(size)
    ]
    return SampleDraft(
        question=QUESTIONS[language][0].format(kind=kind, keys=asked),
        golds=(ABSENT[language],),
        metric="unanswerable",
        body=hide_in_essays(request, facts),
        metadata={"needles": size},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateOptions:
    """The option of `bridge`."""

    candidates: AtLeastTwo | None = None
    """People of whom one is asked for; 6 by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedleOptions:
    """The option of `absent`."""

    needles: AtLeastOne | None = None
    """Facts like the one that is asked for; 4 by default."""


TASKS: Final = (
    Task(name="bridge", description="a fact told before it matters", build=build_bridge, options=CandidateOptions),
    Task(
        name="absent",
        description="a question that the document does not answer",
        build=build_absent,
        languages=("en", "zh"),
        options=NeedleOptions,
    ),
)
