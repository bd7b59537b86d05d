"""The upright lines between the columns of a PDF's tables: words on both sides of one are two cells, however close.

A line is drawn as a stroke, as a thin area or as the sides of cells. It parts words where it goes over several lines of
text, as the frame of a key or of a marked word does not.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any, Final

from bookwheel.documents.readers.pdf_calls import calls
from bookwheel.documents.readers.pdf_layout import Fragment
from bookwheel.documents.readers.pdf_things import Bounds, ask_all, read_bounds

Rule = tuple[float, float, float]
"""How far a line stands from the left side of a page, its bottom and its top."""
_Sides = tuple[Sequence[float], Sequence[float], Sequence[float], Sequence[float]]
# Points: the width of a line, and what may lie between the sides of two cells.
_THIN: Final = 4.0
# Points of an empty cell, and by how much a line may touch a word.
_NARROWEST: Final = 8.0
_OVER: Final = 0.5
# Lines of a page of tables; more are a drawing.
_MOST: Final = 500
# Line heights that a line between columns goes over.
_TALL: Final = 2.0


def find_rules(page: Any, things: Sequence[tuple[int, int]]) -> list[Rule]:
    """Return the upright lines of a page, from its lower left corner; those that go on in each other are one."""
    paths = [thing for thing, kind in things if kind == calls.FPDF_PAGEOBJ_PATH]
    if not paths:
        return []
    x, y, *_ = page.get_mediabox()
    sides: list[Rule] = []
    modes = ask_all(calls.FPDFPath_GetDrawMode, paths, ctypes.c_int, 2)
    for bounds, mode in zip(read_bounds(paths), modes, strict=True):
        if bounds and mode:
            left, bottom, right, top = bounds
            ends = [(left + right) / 2] if right - left < _THIN else [left, right] if mode[1] else []
            sides += [(end - x, bottom - y, top - y) for end in ends]
    rules: list[Rule] = []
    for _, group in groupby(sorted(sides), key=lambda side: round(side[0] / _THIN)):
        for place, bottom, top in sorted(group, key=lambda side: side[1]):
            if rules and abs(rules[-1][0] - place) < _THIN and bottom - rules[-1][2] < _THIN:
                rules[-1] = (rules[-1][0], rules[-1][1], max(rules[-1][2], top))
            else:
                rules.append((place, bottom, top))
    return rules if len(rules) <= _MOST else []


def is_ruled(rules: Sequence[Rule], place: Bounds) -> bool:
    """Return whether a line goes through a place, and over several lines of text."""
    return any(True for _ in _find_through(rules, place))


def skip_cells(fragments: Iterable[Fragment], rules: Sequence[Rule]) -> Iterator[Fragment]:
    """Yield fragments, each with the empty cells between it and the one before it on its line."""
    before: Fragment | None = None
    for one in fragments:
        skipped = 0
        if before and rules and one.is_level(before) and one.is_right_of(before):
            lines = sorted(_find_through(rules, (before.right - _OVER, one.bottom, one.left + _OVER, one.top)))
            # Two lines close to each other are the sides of two cells.
            skipped = sum(other - line > _NARROWEST for line, other in pairwise(lines))
        yield replace(one, skipped=skipped) if skipped else one
        before = one


def _find_through(rules: Sequence[Rule], place: Bounds) -> Iterator[float]:
    left, bottom, right, top = place
    middle, least = (bottom + top) / 2, _TALL * (top - bottom)
    return (x for x, low, high in rules if left <= x <= right and low < middle < high and high - low > least)


def find_crossings(
    words: Sequence[str],
    starts: Sequence[int],
    sides: _Sides,
    read_sides: Callable[[Sequence[int]], _Sides],
    rules: Sequence[Rule],
) -> Iterator[int]:
    """Yield where a word goes on behind a line, as PDFium has it where cells are narrow."""
    boxes = list(zip(*sides, strict=True)) if rules else []
    for word, start, first, last in zip(words, starts, boxes[::2], boxes[1::2], strict=False):
        if is_ruled(rules, (first[0], first[1], last[2], first[3])):
            letters = list(zip(*read_sides(range(start, start + len(word))), strict=True))
            for at, (one, other) in enumerate(pairwise(letters), 1):
                if is_ruled(rules, (one[2], first[1], other[0], first[3])):
                    yield start + at
