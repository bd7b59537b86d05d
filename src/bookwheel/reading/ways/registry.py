"""Ways of reading by name. Only the chosen one is imported.

A way of another package registers through the entry point group `bookwheel.ways`. Parts of ways go together by "+":
`gated+edits`.
"""

from __future__ import annotations

from functools import reduce
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from bookwheel.errors import InputError
from bookwheel.plugins import list_names, require_plugin
from bookwheel.reading.ways.compose import ComposedWay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.reading.loop import Way

GROUP: Final = "bookwheel.ways"
BUILT_IN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "sequential": "loop:read",
        "quotes": "ways.quotes:quotes",
        "whole": "ways.whole:whole",
        "middle-cut": "ways.middle_cut:middle_cut",
        "bm25": "ways.bm25:bm25",
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
