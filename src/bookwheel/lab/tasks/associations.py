"""`association` and `walk`: tasks that a search for the question's words hardly passes.

association   who has a trade? The document names the tools in somebody's house, never the trade: no word is shared
walk          roads lead from place to place; where does a walk over several end? Only its first place is asked for by
              name, and the roads stand in any order
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import Ge, Le

from bookwheel.errors import InputError
from bookwheel.lab.tasks import lexicon
from bookwheel.lab.tasks.definition import AtLeastOne, Percent, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.facts import Fact, hide_in_essays

if TYPE_CHECKING:
    from random import Random

_TRADES: Final = {
    "en": {
        "blacksmith": ("an anvil and three pairs of tongs", "a bellows, and horseshoes on every nail"),
        "baker": ("two ovens and a trough of dough", "sacks of flour up to the beams"),
        "beekeeper": ("forty hives under the lindens", "a veil, a smoker and jars of honey"),
        "watchmaker": ("a drawer of mainsprings", "a loupe and a tray of tiny cogs"),
        "fisherman": ("a net hung up to be mended", "hooks, floats and a tarred dinghy"),
        "teacher": ("a blackboard and forty primers", "a heap of copybooks to correct"),
        "doctor": ("a stethoscope and a case of lancets", "splints, bandages and a jar of leeches"),
        "gardener": ("cold frames full of seedlings", "pruning shears and a barrow of compost"),
        "tailor": ("chalk, pins and half a waistcoat", "a pressing iron and bolts of worsted"),
        "mason": ("trowels, a plumb line and dressed stone", "a hod of mortar by the door"),
        "painter": ("an easel and a palette not yet dry", "linseed oil and canvases to the ceiling"),
        "printer": ("cases of type and a hand press", "galley proofs hung on a string"),
    },
    "zh": {
        "铁匠": ("一座铁砧和三把火钳", "风箱，墙上挂满马蹄铁"),
        "面点师": ("两口蒸笼和一缸发好的面", "一袋袋面粉堆到房梁"),
        "养蜂人": ("椴树下四十只蜂箱", "面纱、烟筒和一罐罐蜜"),
        "渔夫": ("一张等着修补的网", "鱼钩、浮子和一条小舢板"),
        "教书先生": ("一块黑板和四十本识字课本", "一摞等着批改的作业"),
        "郎中": ("脉枕和满墙的药柜", "银针、艾条和一本方子"),
        "裁缝": ("划粉、别针和半件马褂", "熨斗和几匹绸缎"),
        "木匠": ("墨斗、刨子和一地刨花", "凿子和没上漆的门扇"),
    },
}
_HOUSES: Final = {
    "en": ("In the house of {person} stood {tools}.", "Whoever called on {person} saw {tools}."),
    "zh": ("{person}家里放着{tools}。", "去过{person}家的人都见过{tools}。"),
}
_QUESTIONS: Final = {
    "en": "Which person of the document must be the {trade}? Give the name alone.",
    "zh": "文中哪个人应当是{trade}？只写姓名。",
}


def build_association(request: SampleRequest) -> SampleDraft:
    """Describe the houses of several people by the tools in them, and ask who has one trade."""
    rng, trades = request.rng, _TRADES[request.language]
    size = request.read_int("people", 6)
    if size > len(trades):
        raise InputError(f"the option people of association is at most {len(trades)} in {request.language}, not {size}")
    chosen = rng.sample(sorted(trades), size)
    people = _draw_people(rng, size, request.language)
    facts: list[Fact] = []
    for number, (trade, person) in enumerate(zip(chosen, people, strict=True)):
        wording = rng.choice(_HOUSES[request.language])
        text = wording.format(person=person, tools=rng.choice(trades[trade]))
        facts.append(
            Fact(
                text=text, place=request.draw_place() if number == 0 else rng.random(), note=text if number == 0 else ""
            )
        )
    return SampleDraft(
        question=_QUESTIONS[request.language].format(trade=chosen[0]),
        golds=(people[0],),
        metric="exact",
        body=hide_in_essays(request, facts),
        metadata={"people": size},
    )


def _draw_people(rng: Random, count: int, language: str) -> list[str]:
    """Return names of which no two share a part."""
    if language == "zh":
        families, given = rng.sample(lexicon.ZH_FAMILY, count), rng.sample(lexicon.ZH_GIVEN, count)
        return [family + name for family, name in zip(families, given, strict=True)]
    families, given = rng.sample(lexicon.FAMILY, count), rng.sample(lexicon.GIVEN, count)
    return [f"{name} {family}" for family, name in zip(families, given, strict=True)]


_ROADS: Final = (
    "From {start} the {road} road leads to {end}.",
    "Who takes the {road} road out of {start} comes to {end}.",
    "The {road} road from {start} ends at {end}.",
)
_NAMES: Final = ("upper", "lower", "old", "new", "paved")


def build_walk(request: SampleRequest) -> SampleDraft:
    """Lay roads between made-up places, and ask where a walk over some of them ends."""
    rng = request.rng
    steps, strays = request.read_int("steps", 3), request.read_int("strays", 6)
    places: dict[str, None] = {}
    while len(places) < steps + 1 + strays:
        places[lexicon.draw_place(rng)] = None
    path, others = list(places)[: steps + 1], list(places)[steps + 1 :]
    walk = [rng.choice(_NAMES) for _ in range(steps)]
    facts = [
        _lay_road(rng, start, road, end, noted=True) for start, road, end in zip(path, walk, path[1:], strict=False)
    ]
    # At every place of the walk another road leads astray.
    for start, taken in zip(path, walk, strict=False):
        road = rng.choice([name for name in _NAMES if name != taken])
        facts.append(_lay_road(rng, start, road, rng.choice(others), noted=False))
    facts += [_lay_road(rng, start, rng.choice(_NAMES), rng.choice(path), noted=False) for start in others]
    listed = ", then ".join(f"the {road} road" for road in walk)
    return SampleDraft(
        question=f"Someone starts at {path[0]} and takes {listed}. At which place "
        "does the walk end? Give its name alone.",
        golds=(path[-1],),
        metric="exact",
        body=hide_in_essays(request, facts),
        metadata={"steps": steps, "strays": strays},
    )


def _lay_road(rng: Random, start: str, road: str, end: str, *, noted: bool) -> Fact:
    text = rng.choice(_ROADS).format(start=start, road=road, end=end)
    return Fact(text=text, place=rng.random(), note=text if noted else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleOptions:
    """The options of `association`."""

    people: Annotated[int, Ge(2), Le(12)] | None = None
    """People with trades of their own; 6 by default, 8 at most in Chinese."""
    depth: Percent | None = None
    """Where the one asked for stands; by default anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkOptions:
    """The options of `walk`."""

    steps: AtLeastOne | None = None
    """Roads to take; 3 by default."""
    strays: AtLeastOne | None = None
    """Places beside the walk; 6 by default."""


TASKS: Final = (
    Task(
        name="association",
        description="who has a trade, told by tools alone: no word is shared with the question",
        build=build_association,
        languages=("en", "zh"),
        options=PeopleOptions,
    ),
    Task(
        name="walk",
        description="where a walk over several roads ends; the roads stand in any order",
        build=build_walk,
        options=WalkOptions,
    ),
)
