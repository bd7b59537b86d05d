"""Ways of reading by name. Only the chosen one is imported.

A way of another package registers through the entry point group `bookwheel.ways`.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from bookwheel.errors import InputError
from bookwheel.plugins import list_names, require_plugin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.reading.loop import Way

GROUP: Final = "bookwheel.ways"
BUILT_IN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "sequential": "loop:read",
        "whole": "ways.whole:whole",
        "middle-cut": "ways.middle_cut:middle_cut",
        "bm25": "ways.bm25:bm25",
        "refine": "ways.refine:refine",
        "map-reduce": "ways.map_reduce:map_reduce",
        "closed-book": "ways.closed_book:closed_book",
    }
)


def list_ways() -> list[str]:
    """Return the names of all ways: ours in their order, then those of other packages."""
    return list_names(GROUP, BUILT_IN)


def load_way(name: str) -> Way:
    """Return the way of that name; InputError suggests the nearest one."""
    if name in BUILT_IN:
        module, _, function = BUILT_IN[name].partition(":")
        return cast("Way", getattr(import_module(f"bookwheel.reading.{module}"), function))
    way = require_plugin(GROUP, name, BUILT_IN, "way of reading")
    if not callable(way):
        raise InputError(f"the way {name!r} of another package is not a function: {way!r}")
    return cast("Way", way)
