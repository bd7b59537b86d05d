"""`answerable`: half of the questions have an answer in the document, and half have none.

Both kinds look alike: the document says what the person paid for other things, and what others paid for the thing. So
neither an answer nor a refusal earns by default, and a search finds passages in either case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.lab.tasks import lexicon
from bookwheel.lab.tasks.bridges import ABSENT
from bookwheel.lab.tasks.definition import AtLeastOne, Percent, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.facts import Fact, hide_in_essays

if TYPE_CHECKING:
    from random import Random

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


def build(request: SampleRequest) -> SampleDraft:
    """Hide like purchases of other people and things, and in part of the samples the one that is asked for."""
    rng, language = request.rng, request.language
    decoys = request.read_int("decoys", _DECOYS)
    share = float(request.options.get("unanswerable", _HALF))
    people, things = _draw_people(rng, decoys + 1, language), _draw_things(request, decoys + 1)
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


def _draw_people(rng: Random, count: int, language: str) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < count:
        if language == "zh":
            names[rng.choice(lexicon.ZH_FAMILY) + rng.choice(lexicon.ZH_GIVEN)] = None
        else:
            names[lexicon.draw_person(rng)] = None
    return list(names)


def _draw_things(request: SampleRequest, count: int) -> list[str]:
    names = lexicon.draw_keys(request.rng, request.data_dir, request.language)
    return [next(names).replace("-", " ") for _ in range(count)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureOptions:
    """The options of `answerable`."""

    unanswerable: Percent | None = None
    """Samples in a hundred whose question has no answer; 50 by default."""
    decoys: AtLeastOne | None = None
    """Purchases of the same person, and as many of the same thing; 3 each by default."""
    depth: Percent | None = None
    """Where the answer stands; by default anywhere."""


TASKS: Final = (
    Task(
        name="answerable",
        description="questions of which half have an answer; saying that there is none is right for the others",
        build=build,
        languages=("en", "zh"),
        options=MixtureOptions,
    ),
)
