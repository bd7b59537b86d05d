"""Facts that only together answer the question: tasks that a search for the question's words hardly passes.

association   who has a trade? The document names the tools in somebody's house, never the trade: no word is shared
walk          roads lead from place to place; where does a walk over several end? Only its first place is asked for by
              name, and the roads stand in any order
bridge        the document first says who lives where, and much later who owns the ship that the question is about; a
              perfect memory keeps all candidates until then
code          a folder of Python files under lines with their paths: half of the samples ask for the value that a
              function returns, which is a constant of another file, the other half for all functions that call one
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

from annotated_types import Ge, Le

from bookwheel.errors import InputError
from bookwheel.lab.tasks.assembly import SourcePassage
from bookwheel.lab.tasks.base import GoldEvidence
from bookwheel.lab.tasks.definition import AtLeastOne, AtLeastTwo, Percent, SampleDraft, SampleRequest, Task
from bookwheel.lab.tasks.material import (
    FAMILY,
    GIVEN,
    ZH_FAMILY,
    ZH_GIVEN,
    Fact,
    coin_word,
    draw_distinct,
    draw_number,
    draw_person,
    draw_place,
    hide_in_essays,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    is_chinese = request.language == "zh"
    # No two names share a part.
    families = rng.sample(ZH_FAMILY if is_chinese else FAMILY, size)
    given = rng.sample(ZH_GIVEN if is_chinese else GIVEN, size)
    people = [f + g if is_chinese else f"{g} {f}" for f, g in zip(families, given, strict=True)]
    facts: list[Fact] = []
    for trade, person in zip(chosen, people, strict=True):
        text = rng.choice(_HOUSES[request.language]).format(person=person, tools=rng.choice(trades[trade]))
        is_asked = not facts
        place = request.draw_place() if is_asked else rng.random()
        facts.append(Fact(text=text, place=place, note=text if is_asked else ""))
    return SampleDraft(
        question=_QUESTIONS[request.language].format(trade=chosen[0]),
        golds=(people[0],),
        metric="exact",
        body=hide_in_essays(request, facts),
        metadata={"people": size},
    )


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
    places = draw_distinct(lambda: draw_place(rng))
    path, others = list(islice(places, steps + 1)), list(islice(places, strays))
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
        people[draw_person(rng)] = draw_place(rng)
    ship = coin_word(rng).capitalize()
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


_VERBS: Final = ("load", "settle", "weigh", "trim", "merge", "check", "fold", "route", "count", "seal", "draw", "rank")
_FOLDERS: Final = ("ledger", "harbor", "mail", "tools", "store", "clock")
_BODIES: Final = (
    "    total = 0\n    for item in items:\n        total += item * {number}\n    return total\n",
    "    kept = [item for item in items if item > {number}]\n    return len(kept)\n",
    "    if not items:\n        return {number}\n    return max(items) - min(items)\n",
    "    ordered = sorted(items)\n    middle = ordered[len(ordered) // 2]\n    return middle + {number}\n",
)


def build_code(request: SampleRequest) -> SampleDraft:
    """Return a folder of files, a few of which matter."""
    rng = request.rng
    names = draw_distinct(lambda: f"{rng.choice(_VERBS)}_{coin_word(rng)}")
    if rng.random() < 0.5:  # noqa: PLR2004 - half of the samples
        question, golds, passages, metric = _ask_for_value(rng, names)
    else:
        question, golds, passages, metric = _ask_for_callers(request, names)
    return SampleDraft(
        question=question,
        golds=golds,
        metric=metric,
        body=request.assemble(_draw_files(rng, names), passages),
    )


def _ask_for_value(rng: Random, names: Iterator[str]) -> tuple[str, tuple[str, ...], list[SourcePassage], str]:
    asked = next(names)
    constant, value = f"{coin_word(rng)}_limit".upper(), draw_number(rng, 5)
    defined = f"{constant} = {value}"
    used = f"def {asked}() -> int:\n    return {constant}"
    passages = [
        _draw_file(rng, names, defined, note=f"{constant} is {value}"),
        _draw_file(rng, names, used, note=f"{asked}() returns {constant}"),
    ]
    return f"What number does a call of `{asked}()` return?", (value,), passages, "contains"


def _ask_for_callers(
    request: SampleRequest, names: Iterator[str]
) -> tuple[str, tuple[str, ...], list[SourcePassage], str]:
    rng = request.rng
    asked = next(names)
    callers = [next(names) for _ in range(request.read_int("callers", rng.randrange(2, 6)))]
    passages = [_draw_file(rng, names, _draw_function(rng, asked), note="")]
    for caller in callers:
        text = f"def {caller}(items: list[int]) -> int:\n    return {asked}(items) + {rng.randrange(2, 90)}"
        passages.append(_draw_file(rng, names, text, note=f"{caller} calls {asked}"))
    return f"Which functions call `{asked}`? Name all of them.", tuple(callers), passages, "share_of"


def _draw_function(rng: Random, name: str) -> str:
    body = rng.choice(_BODIES).format(number=rng.randrange(2, 90))
    return f"def {name}(items: list[int]) -> int:\n{body}".rstrip()


def _draw_path(rng: Random) -> str:
    return f"{rng.choice(_FOLDERS)}/{coin_word(rng)}.py"


def _draw_file(rng: Random, names: Iterator[str], core: str, *, note: str) -> SourcePassage:
    """Return a file with another function before the code that matters."""
    path = _draw_path(rng)
    before = f"# file: {path}\n\n{_draw_function(rng, next(names))}\n\n\n"
    evidence = GoldEvidence(start=len(before), end=len(before) + len(core), note=f"{path}: {note}")
    return SourcePassage(text=f"{before}{core}\n\n\n", evidence=(evidence,) if note else (), place=rng.random())


def _draw_files(rng: Random, names: Iterator[str]) -> Iterator[str]:
    while True:
        functions = "\n\n\n".join(_draw_function(rng, next(names)) for _ in range(rng.randrange(2, 4)))
        yield f"# file: {_draw_path(rng)}\n\n{functions}\n\n\n"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerOptions:
    """The option of `code`."""

    callers: AtLeastOne | None = None
    """Functions that call the one asked about; by default the seed says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateOptions:
    """The option of `bridge`."""

    candidates: AtLeastTwo | None = None
    """People of whom one is asked for; 6 by default."""


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
    Task(name="bridge", description="a fact told before it matters", build=build_bridge, options=CandidateOptions),
    Task(
        name="code", description="definitions and uses across a folder of code", build=build_code, options=CallerOptions
    ),
)
