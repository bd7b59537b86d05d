"""Ways of reading by name. Only the chosen one is imported.

A way of another package registers through the entry point group `bookwheel.ways`. Parts of ways go together by "+":
`gated+edits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from bookwheel.errors import InputError, Overloaded, TimedOut, Unreachable
from bookwheel.models.base import Ability, ModelWrapper, find_abilities, missing_ability, require_ability
from bookwheel.plan import Rank
from bookwheel.plugins import list_names, require_plugin
from bookwheel.reading.ways.compose import ComposedWay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.models.base import Model
    from bookwheel.plan import GatePlan, Plan
    from bookwheel.reading.loop import Way

GROUP: Final = "bookwheel.ways"
BUILT_IN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "sequential": "loop:read",
        "quotes": "ways.quotes:quotes",
        "whole": "ways.whole:whole",
        "middle-cut": "ways.middle_cut:middle_cut",
        "bm25": "ways.bm25:bm25",
        "dense": "ways.dense:dense",
        "hybrid": "ways.dense:hybrid",
        "refine": "ways.refine:refine",
        "map-reduce": "ways.map_reduce:map_reduce",
        "closed-book": "ways.closed_book:closed_book",
        "edits": "ways.edits:EDITS",
        "heads": "ways.heads:HEADS",
        "gated": "ways.gated:GATED",
        "cascade": "ways.cascade:CASCADE",
        "parallel": "ways.parallel:PARALLEL",
        "ranked": "ways.ranked:RANKED",
        "early-exit": "ways.early_exit:EARLY_EXIT",
        "look-back": "ways.look_back:LOOK_BACK",
        "planned": "ways.planned:PLANNED",
        "auto": "ways.auto:auto",
    }
)

_EMBEDDING: Final = frozenset({"dense", "hybrid"})
"""Ways that always need embeddings."""
_BM25: Final = frozenset({"bm25", "hybrid"})
"""Ways that need the package bm25s."""


def list_ways() -> list[str]:
    """Return the names of all ways: ours in their order, then those of other packages."""
    return list_names(GROUP, BUILT_IN)


def load_way(name: str) -> Way:
    """Return the way of that name, or the sum of the parts that "+" joins; InputError suggests the nearest name."""
    first, *others = (_load_one(part.strip()) for part in name.split("+"))
    if not others:
        return first
    parts = [_require_part(part, name) for part in (first, *others)]
    return reduce(ComposedWay.combine, parts)


def list_needs(name: str) -> tuple[frozenset[Ability], frozenset[Ability]]:
    """Return the abilities that a way needs of a model: all of the first, and one of the second."""
    way = load_way(name)
    if isinstance(way, ComposedWay):
        return way.needs, way.needs_one
    return (frozenset({Ability.LIKELIHOOD}) if name == "quotes" else frozenset()), frozenset()


async def check_abilities(name: str, model: Model, plan: Plan) -> None:
    """Raise MissingAbility for a way that this model cannot read by, before anything is kept or paid for.

    This comes before a missing threshold is complained of, which would not help such a model.
    """
    needs, needs_one = list_needs(name)
    is_ranked = "ranked" in name.split("+")
    if plan.rank is Rank.EMBEDDINGS and not is_ranked and name != "auto":
        raise InputError(f"rank {plan.rank} is for ways with ranked, such as ranked+edits, and not for {name}")
    if needs_one and plan.gate:
        from bookwheel.reading.ways.judging import ABILITIES

        needs, needs_one = needs | {ABILITIES[plan.gate.scorer]}, frozenset()
    try:
        for ability in sorted(needs):
            await require_ability(model, ability, way=name)
        if needs_one and not needs_one & await find_abilities(model):
            raise missing_ability(model, " or ".join(sorted(needs_one)), way=name)
        if name in _EMBEDDING or (is_ranked and plan.rank is Rank.EMBEDDINGS):
            await ModelWrapper(model).embed([name])
    except (Unreachable, Overloaded, TimedOut):
        # The reading waits for its model, and is refused when it begins.
        return


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedWays:
    """The built-in ways that a model can and cannot read by."""

    open: tuple[str, ...]
    uncalibrated: tuple[str, ...]
    """They need a threshold first."""
    closed: Mapping[str, str]
    """What each of the others lacks."""


def sort_ways(abilities: frozenset[Ability], gate: GatePlan | None, *, embeds: bool | None = None) -> OfferedWays:
    """Return which ways a model with these abilities, and this gate, can read by.

    `embeds` is False where neither the model nor an endpoint beside it gives embeddings, and None where nobody asked.
    """
    from bookwheel.reading.ways.cascade import has_threshold
    from bookwheel.reading.ways.judging import ABILITIES

    ready, uncalibrated, closed = [], [], {}
    for name in BUILT_IN:
        needs, needs_one = list_needs(name)
        if gate and needs_one:
            needs, needs_one = needs | {ABILITIES[gate.scorer]}, frozenset()
        lacking: list[str] = sorted(needs - abilities) or sorted(needs_one if not needs_one & abilities else ())
        lacking = lacking or _list_lacking(name, embeds=embeds)
        if lacking:
            closed[name] = " or ".join(lacking)
        elif needs_one or (name == "cascade" and not has_threshold()):
            uncalibrated.append(name)
        else:
            ready.append(name)
    return OfferedWays(open=tuple(ready), uncalibrated=tuple(uncalibrated), closed=closed)


def _list_lacking(name: str, *, embeds: bool | None) -> list[str]:
    """Return what a way lacks beside a model's abilities."""
    if name in _BM25 and not find_spec("bm25s"):
        return ["bm25s (pip install 'bookwheel[evaluation]')"]
    return ["embeddings"] if name in _EMBEDDING and embeds is False else []


def is_known(name: str) -> bool:
    """Return whether `load_way` knows the name, or all the names that "+" joins in it."""
    return set(name.split("+")) <= set(list_ways())


def _require_part(way: Way, name: str) -> ComposedWay:
    if isinstance(way, ComposedWay):
        return way
    parts = ", ".join(part for part in list_ways() if isinstance(_load_one(part), ComposedWay))
    raise InputError(f"{name!r} joins a way that goes with no other; these go together: {parts}")


def _load_one(name: str) -> Way:
    if name in BUILT_IN:
        module, _, function = BUILT_IN[name].partition(":")
        return cast("Way", getattr(import_module(f"bookwheel.reading.{module}"), function))
    way = require_plugin(GROUP, name, BUILT_IN, "way of reading")
    if not callable(way):
        raise InputError(f"the way {name!r} of another package is not a function: {way!r}")
    return cast("Way", way)
