"""The ways of reading by name: what `--way` and an evaluation's settings choose from."""

from __future__ import annotations

from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.reading.loop import read
from bookwheel.reading.ways.bm25 import bm25
from bookwheel.reading.ways.closed_book import closed_book
from bookwheel.reading.ways.map_reduce import map_reduce
from bookwheel.reading.ways.middle_cut import middle_cut
from bookwheel.reading.ways.refine import refine
from bookwheel.reading.ways.whole import whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bookwheel.reading.loop import Way

WAYS: Final[Mapping[str, Way]] = MappingProxyType(
    {
        "sequential": read,
        "whole": whole,
        "middle-cut": middle_cut,
        "bm25": bm25,
        "refine": refine,
        "map-reduce": map_reduce,
        "closed-book": closed_book,
    }
)


def load_way(name: str) -> Way:
    """The way of that name; InputError names the nearest one there is."""
    if name in WAYS:
        return WAYS[name]
    near = get_close_matches(name, WAYS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(WAYS)}"
    raise InputError(f"no way of reading {name!r}; {hint}")
