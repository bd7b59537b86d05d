"""Facts that change, and sources that disagree.

updated     a figure is changed several times; the last value wins
conflict    two sources give different figures and nothing decides between them: both are asked for
profile     what somebody says of themselves over many sessions, changes, and takes back:

    Ada: My dog is called Trealvoon.
    Ada: Trealvoon has gone to my sister. Brindle came instead.        the thing itself is not named again
    Ada: Consider what I said of Brindle withdrawn.

A change of a profile names the old value and the new one only, so a search for the thing finds where the chain begins
and nothing of how it goes on. The last word counts: a value, one that was taken up again, or that it was withdrawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks.definition import AtLeastOne, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.dialogues import COLONS, draw_turns
from bookwheel.lab.tasks.material import (
    FAMILY,
    GIVEN,
    ZH_ADJECTIVES,
    ZH_GIVEN,
    ZH_MIDDLES,
    Fact,
    capitalize,
    coin_word,
    draw_distinct,
    draw_number,
    draw_place,
    hide,
    hide_in_essays,
)

if TYPE_CHECKING:
    from random import Random


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
    subject, other = (shape.format(place=draw_place(rng)) for _ in range(2))
    drawn = draw_distinct(lambda: draw_number(rng, 4))
    values, others = list(islice(drawn, changes + 1)), list(islice(drawn, changes + 1))
    facts = _build_history(rng, subject, values, noted=True) + _build_history(rng, other, others, noted=False)
    return SampleDraft(
        question=f"What is {subject} according to the last word on it? Give the figure alone.",
        golds=(values[changes],),
        metric="exact",
        body=hide_in_essays(request, facts),
        metadata={"changes": changes},
    )


def _build_history(rng: Random, subject: str, values: list[str], *, noted: bool) -> list[Fact]:
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
    thing, other = (shape.format(place=draw_place(rng)) for _ in range(2))
    sources = [
        source.format(place=draw_place(rng), family=family)
        for source, family in zip(rng.sample(_SOURCES, 3), rng.sample(FAMILY, 3), strict=True)
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


_CHANGES: Final = 3
_ENDS: Final = ("changed", "changed", "withdrawn", "restored")
"""How a chain ends; half of them with a change."""
_THINGS: Final = {
    "en": (
        ("dog", "By the way, my dog is called {new}.", "{old} has gone to my sister. {new} came instead."),
        ("doctor", "My doctor is someone called {new}.", "{old} has retired. I go to {new} now."),
        ("boat", "I have named my boat {new}.", "{old} is painted over. She goes by {new} from today."),
        ("favourite inn", "My favourite inn is the {new}.", "The {old} has closed, so it is the {new} for me."),
        ("teacher", "My teacher is called {new}.", "{old} has moved away. {new} takes me on now."),
    ),
    "zh": (
        ("狗", "对了，我的狗叫{new}。", "{old}送给我姐姐了，换来了{new}。"),
        ("医生", "我的医生叫{new}。", "{old}退休了，现在我去找{new}。"),
        ("船", "我给我的船起名叫{new}。", "{old}这个名字已经涂掉了，从今天起叫{new}。"),
        ("老师", "我的老师叫{new}。", "{old}搬走了，现在由{new}来带我。"),
    ),
}
_WITHDRAWN: Final = {"en": "withdrawn", "zh": "已撤回"}
_LATER: Final = {
    "en": ("Consider what I said of {old} withdrawn.", "What I took back about {old} holds after all."),
    "zh": ("我说过的关于{old}的话，就当已撤回。", "我收回的关于{old}的话，还是算数的。"),
}
_QUESTIONS: Final = {
    "en": (
        "What is the name of {who}'s {thing}, by the last that {who} said? Give the name alone, or “withdrawn” if "
        "{who} took it back."
    ),
    "zh": "按{who}最后所说，{who}的{thing}叫什么？只写名字；如果{who}收回了这话，就写“已撤回”。",
}


def build_profile(request: SampleRequest) -> SampleDraft:
    """Let two people state like things and change them, and ask for one of them as it stands in the end."""
    rng, language = request.rng, request.language
    changes = request.read_int("changes", _CHANGES)
    pair = rng.sample(ZH_GIVEN if language == "zh" else GIVEN, 2)
    who, other = pair
    mine, also = rng.sample(_THINGS[language], 2)
    names = draw_distinct(
        lambda: rng.choice(ZH_ADJECTIVES) + rng.choice(ZH_MIDDLES) if language == "zh" else coin_word(rng).capitalize()
    )
    my_names, their_names, also_names = (list(islice(names, changes + 1)) for _ in range(3))
    end = rng.choice(_ENDS)
    own = _tell_chain(language, mine, my_names, end)
    facts = _place_chain(rng, language, who, own, noted=mine[0])
    # The other person has a thing of that kind too, and the same person has another one.
    for speaker, thing, values in ((other, mine, their_names), (who, also, also_names)):
        facts += _place_chain(rng, language, speaker, _tell_chain(language, thing, values, rng.choice(_ENDS)))
    return SampleDraft(
        question=_QUESTIONS[language].format(who=who, thing=mine[0]),
        golds=(own[-1][1],),
        metric="exact",
        body=hide(request, facts, draw_turns(rng, (who, other), language), "\n"),
        metadata={"changes": changes, "end": end},
    )


def _tell_chain(language: str, thing: tuple[str, str, str], values: list[str], end: str) -> list[tuple[str, str]]:
    """Return the statements about a thing in order, each with what holds after it."""
    _, first, change = thing
    withdrawal, renewal = _LATER[language]
    chain = [(first.format(new=values[0]), values[0])]
    chain += [(change.format(old=old, new=new), new) for old, new in pairwise(values)]
    last = values[-1]
    if end != "changed":
        chain.append((withdrawal.format(old=last), _WITHDRAWN[language]))
    if end == "restored":
        chain.append((renewal.format(old=last), last))
    return chain


def _place_chain(
    rng: Random, language: str, speaker: str, chain: list[tuple[str, str]], *, noted: str = ""
) -> list[Fact]:
    """Return the statements at random places in their order; those about the thing that is asked for have notes."""
    places = sorted(rng.random() for _ in chain)
    colon = COLONS[language]
    return [
        Fact(
            text=f"{speaker}{colon}{text}",
            place=place,
            note=f"{speaker}, {noted}: {value}" if noted else "",
            key=noted,
        )
        for (text, value), place in zip(chain, places, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """The option of `profile`."""

    changes: AtLeastOne | None = None
    """How often each thing changes; 3 by default."""


TASKS: Final = (
    Task(
        name="updated",
        description="a figure changed several times: the last value wins",
        build=build_updated,
        options=ChangeOptions,
    ),
    Task(name="conflict", description="two sources that differ: both figures are asked for", build=build_conflict),
    Task(
        name="profile",
        description="what somebody's thing is called in the end, after changes and withdrawals over many sessions",
        build=build_profile,
        languages=("en", "zh"),
        options=ProfileOptions,
    ),
)
