"""Questions of which some have no answer in the document; the right answer then says so.

answerable   half of the questions have an answer, and half have none. Both kinds look alike: the document says what the
             person paid for other things, and what others paid for the thing. So neither an answer nor a refusal earns
             by default, and a search finds passages in either case
absent       no passage answers the question, though some are similar
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from bookwheel.lab.tasks.definition import AtLeastOne, Percent, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.material import (
    Fact,
    capitalize,
    draw_distinct,
    draw_keys,
    draw_number,
    draw_person,
    hide_in_essays,
)
from bookwheel.lab.tasks.needles import KIND_NAMES, QUESTIONS, WORDINGS

ABSENT: Final = {"en": "not in the document", "zh": "文中没有提到"}
_DECOYS: Final = 3
_HALF: Final = 50
_WORDINGS: Final = {
    "en": (
        "{who} paid {value} marks for the {thing}.",
        "The {thing} cost {who} {value} marks.",
        "For the {thing} {who} gave {value} marks.",
    ),
    "zh": ("{who}买那件{thing}付了{value}文钱。", "那件{thing}花了{who}{value}文钱。"),
}
_QUESTIONS: Final = {"en": "How many marks did {who} pay for the {thing}?", "zh": "{who}买那件{thing}付了多少文钱？"}


def build_answerable(request: SampleRequest) -> SampleDraft:
    """Hide like purchases of other people and things, and in part of the samples the one that is asked for."""
    rng, language = request.rng, request.language
    decoys = request.read_int("decoys", _DECOYS)
    share = float(request.options.get("unanswerable", _HALF))
    size = decoys + 1
    people = list(islice(draw_distinct(lambda: draw_person(rng, language)), size))
    things = [name.replace("-", " ") for name in islice(draw_keys(rng, request.data_dir, language), size)]
    values = [str(value) for value in rng.sample(range(1000, 10_000), 2 * decoys + 1)]
    # Spread evenly over the series, so that a small one has the share too.
    is_answerable = int((request.index + 1) * share / 100) == int(request.index * share / 100)
    place = request.draw_place()
    asked = rng.choice(_WORDINGS[language]).format(who=people[0], thing=things[0], value=values[0])
    pairs = [(people[0], thing) for thing in things[1:]] + [(person, things[0]) for person in people[1:]]
    facts = [
        Fact(text=rng.choice(_WORDINGS[language]).format(who=who, thing=thing, value=value), place=rng.random())
        for (who, thing), value in zip(pairs, values[1:], strict=True)
    ]
    if is_answerable:
        facts.append(Fact(text=asked, place=place, note=asked))
    return SampleDraft(
        question=_QUESTIONS[language].format(who=people[0], thing=things[0]),
        golds=(values[0],) if is_answerable else (ABSENT[language],),
        metric="contains" if is_answerable else "unanswerable",
        body=hide_in_essays(request, facts),
        metadata={"answerable": is_answerable, "decoys": decoys},
    )


def build_absent(request: SampleRequest) -> SampleDraft:
    """Hide needles of other keys, and ask for a key without a needle."""
    rng, language = request.rng, request.language
    size = request.read_int("needles", 4)
    names = draw_keys(rng, request.data_dir, language)
    asked = next(names)
    wording, kind = rng.choice(WORDINGS[language]), KIND_NAMES[language][0]
    facts = [
        Fact(
            text=capitalize(wording.format(kind=kind, key=next(names), value=draw_number(rng))),
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
class MixtureOptions:
    """The options of `answerable`."""

    unanswerable: Percent | None = None
    """Samples in a hundred whose question has no answer; 50 by default."""
    decoys: AtLeastOne | None = None
    """Purchases of the same person, and as many of the same thing; 3 each by default."""
    depth: Percent | None = None
    """Where the answer stands; by default anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedleOptions:
    """The option of `absent`."""

    needles: AtLeastOne | None = None
    """Facts like the one that is asked for; 4 by default."""


TASKS: Final = (
    Task(
        name="answerable",
        description="questions of which half have an answer; saying that there is none is right for the others",
        build=build_answerable,
        languages=("en", "zh"),
        options=MixtureOptions,
    ),
    Task(
        name="absent",
        description="a question that the document does not answer",
        build=build_absent,
        languages=("en", "zh"),
        options=NeedleOptions,
    ),
)
