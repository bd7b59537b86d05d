"""Find what a page of a PDF shows by shapes: charts, diagrams, plans; not the rules and shades of tables, nor frames.

Shapes that stand near each other are one drawing, and so is a form that was put on the page. It is a figure by itself
where it has curves and slanted lines, boxes that are joined by arrows, or bars: boxes that begin on one line and differ
in length. A form of another kind is a figure where it has a caption (`pdf_figures`).
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from typing import Any, Final

from bookwheel.documents.damage import LateModule
from bookwheel.documents.readers.pdf_calls import calls
from bookwheel.documents.readers.pdf_layout import Fragment
from bookwheel.documents.readers.pdf_things import Bounds, are_pale, ask_all, list_inside, read_bounds

pypdfium2: Final[Any] = LateModule("pypdfium2")

LARGEST: Final = 0.6
"""The share of a page that a figure among its text has at most; a larger one is the page."""
# The share of a page, and the points of each side, that a drawing has at least.
_LEAST_DRAWN: Final = 0.004
_LEAST_SIDE: Final = 36.0
_DEEPEST: Final = 3
_MOST_OBJECTS: Final = 20_000
# Pieces of a path that are looked at.
_MOST_PIECES: Final = 24
_MOST_GROUPS: Final = 300
# Points: between two shapes of one drawing, of a rule, of what is more than a dot, of a large curve.
_NEAR: Final = 10.0
_THIN: Final = 3.0
_DOT: Final = 3.0
_LARGE: Final = 20.0
_EVEN: Final = 1.0
# How far a level line may be off, in the units of its path.
_LEVEL: Final = 0.1
# Curves: beside a large one, without one, and beside boxes, that make a figure; rules beside a single large curve.
_CURVES: Final = 3
_MANY_CURVES: Final = 8
_ARROWS: Final = 2
_TICKS: Final = 2
_LEAST_BARS: Final = 3
# Channels of 256 from which on a colour is white.
_WHITE: Final = 250
# The share of a bar's length that words in it have, if it is what they are written on.
_FULL: Final = 0.6


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure that is drawn on a page, or a form: its place, from the page's lower left corner."""

    place: Fragment
    is_figure: bool
    """It is one by its shapes alone, with no caption."""
    is_form: bool
    """It was put on the page as a whole, with its labels."""


@dataclass(slots=True)
class _Group:
    """Shapes near each other."""

    left: float
    right: float
    bottom: float
    top: float
    rules: int = 0
    curves: list[float] = field(default_factory=list)
    """The longer side of each."""
    boxes: list[Fragment] = field(default_factory=list)

    def is_near(self, other: _Group) -> bool:
        return (
            self.left - _NEAR <= other.right
            and other.left - _NEAR <= self.right
            and self.bottom - _NEAR <= other.top
            and other.bottom - _NEAR <= self.top
        )

    def take(self, other: _Group) -> None:
        self.left, self.right = min(self.left, other.left), max(self.right, other.right)
        self.bottom, self.top = min(self.bottom, other.bottom), max(self.top, other.top)
        self.rules += other.rules
        self.curves += other.curves
        self.boxes += other.boxes

    @property
    def place(self) -> Fragment:
        return Fragment("", self.left, self.right, self.bottom, self.top)

    def is_figure(self, words: Sequence[Fragment]) -> bool:
        large = sum(side > _LARGE for side in self.curves)
        if len(self.curves) >= (_CURVES if large else _MANY_CURVES):
            return True
        if (large and self.rules >= _TICKS) or (len(self.curves) >= _ARROWS and len(self.boxes) > 1):
            return True
        return _has_bars(self.boxes, words)


def find_drawings(page: Any, things: Sequence[tuple[int, int]], words: Sequence[Fragment]) -> list[Drawing]:
    x, y, right, top = page.get_mediabox()
    whole = (right - x) * (top - y)
    groups: list[_Group] = []
    found: list[Drawing] = []
    for shape, is_form in _walk_page(things, x, y, whole):
        if is_form:
            found.append(Drawing(shape.place, shape.is_figure(words), is_form=True))
        elif (shape.right - shape.left) * (shape.top - shape.bottom) <= LARGEST * whole:  # no ground or frame of a page
            # It joins the groups near it.
            for group in [group for group in groups if group.is_near(shape)]:
                shape.take(group)
                groups.remove(group)
            groups.append(shape)
        if len(groups) > _MOST_GROUPS:
            return found
    for group in groups:
        across, up = group.right - group.left, group.top - group.bottom
        is_large = min(across, up) >= _LEAST_SIDE and across * up >= _LEAST_DRAWN * whole
        if is_large and group.is_figure(words):
            found.append(Drawing(group.place, is_figure=True, is_form=False))
    return found


def _walk_page(things: Sequence[tuple[int, int]], x: float, y: float, whole: float) -> Iterator[tuple[_Group, bool]]:
    """Yield the shapes of a page, and each form of a figure's size with all of its shapes in it."""
    left = _MOST_OBJECTS

    def walk(things: Sequence[tuple[int, int]], matrix: Any, depth: int) -> Iterator[tuple[_Group, bool]]:
        nonlocal left
        left -= len(things)
        paths = [thing for thing, kind in things if kind == calls.FPDF_PAGEOBJ_PATH]
        shapes = _read_shapes(paths, matrix, x, y)
        for thing, kind in things:
            if kind == calls.FPDF_PAGEOBJ_PATH and (shape := next(shapes)):
                yield shape, False
            if kind != calls.FPDF_PAGEOBJ_FORM:
                continue
            bounds = next(read_bounds([thing]))
            if bounds is None:
                continue
            place = _place(bounds, matrix, x, y)
            own = calls.FS_MATRIX(1, 0, 0, 1, 0, 0)
            calls.FPDFPageObj_GetMatrix(thing, ctypes.byref(own))
            inner = pypdfium2.PdfMatrix.from_raw(own).multiply(matrix)
            inside = walk(list_inside(thing, left), inner, depth + 1) if depth < _DEEPEST else ()
            share = (place.right - place.left) * place.height / whole if whole > 0 else 0.0
            if _LEAST_DRAWN <= share <= LARGEST:
                form = _Group(place.left, place.right, place.bottom, place.top)
                for shape, _ in inside:
                    form.rules += shape.rules
                    form.curves += shape.curves
                    form.boxes += shape.boxes
                yield form, True
            else:  # a page that was put into another one, or a mark
                yield from inside

    kind_of_text = calls.FPDF_PAGEOBJ_TEXT
    shown = [(thing, kind) for thing, kind in things if kind != kind_of_text]
    yield from walk(shown[:left], pypdfium2.PdfMatrix(), 0)


def _read_shapes(paths: Sequence[int], matrix: Any, x: float, y: float) -> Iterator[_Group | None]:
    """Yield each path as a group of its own; None for one that is not seen."""
    modes = ask_all(calls.FPDFPath_GetDrawMode, paths, ctypes.c_int, 2)
    for path, bounds, mode, pale in zip(paths, read_bounds(paths), modes, are_pale(paths, _WHITE), strict=True):
        is_seen = mode and (mode[1] or (mode[0] and not pale))
        yield _read_shape(path, _place(bounds, matrix, x, y)) if bounds and is_seen else None


def _read_shape(path: int, place: Fragment) -> _Group:
    shape = _Group(place.left, place.right, place.bottom, place.top)
    longer, shorter = sorted((place.right - place.left, place.height), reverse=True)
    if _is_curved(path):
        shape.curves = [longer] if longer >= _DOT else []
    elif shorter < _THIN:
        shape.rules = 1
    else:
        shape.boxes = [place]
    return shape


def _is_curved(path: int) -> bool:
    """Return whether a path has a curve or a slanted line among its first pieces."""
    count = min(calls.FPDFPath_CountSegments(path), _MOST_PIECES)
    pieces = list(map(calls.FPDFPath_GetPathSegment, repeat(path), range(count)))
    kinds = list(map(calls.FPDFPathSegment_GetType, pieces))
    if calls.FPDF_SEGMENT_BEZIERTO in kinds:
        return True
    points = [point or (0.0, 0.0) for point in ask_all(calls.FPDFPathSegment_GetPoint, pieces, ctypes.c_float, 2)]
    return any(
        kind == calls.FPDF_SEGMENT_LINETO and abs(here[0] - before[0]) > _LEVEL < abs(here[1] - before[1])
        for kind, (before, here) in zip(kinds[1:], pairwise(points), strict=True)
    )


def _has_bars(boxes: Sequence[Fragment], words: Sequence[Fragment]) -> bool:
    """Return whether boxes begin on one line, apart from each other, and are not equally long."""
    for is_lying in (False, True):
        starts = Counter(round(box.left if is_lying else box.bottom) for box in boxes)
        for start, count in starts.most_common(3):
            if count < _LEAST_BARS:
                break
            bars = [box for box in boxes if abs((box.left if is_lying else box.bottom) - start) <= _EVEN]
            ends = sorted((box.bottom, box.top) if is_lying else (box.left, box.right) for box in bars)
            long = [box.right - box.left if is_lying else box.height for box in bars]
            apart = [b[0] - a[1] > _EVEN / 2 for a, b in pairwise(ends)]
            if max(long) - min(long) > 2 * _EVEN and 2 * sum(apart) > len(apart) and not _are_grounds(bars, words):
                return True
    return False


def _are_grounds(bars: Sequence[Fragment], words: Sequence[Fragment]) -> bool:
    """Return whether most boxes are what words are written on, as marked lines and cells are."""
    full = 0
    for bar in bars:
        inside = [
            min(f.right, bar.right) - max(f.left, bar.left)
            for f in words
            if bar.bottom <= (f.bottom + f.top) / 2 <= bar.top and f.right > bar.left and f.left < bar.right
        ]
        full += sum(inside) >= _FULL * (bar.right - bar.left) and len(inside) > 0
    return 2 * full > len(bars)


def _place(bounds: Bounds, matrix: Any, x: float, y: float) -> Fragment:
    left, bottom, right, top = matrix.on_rect(*bounds)
    return Fragment("", left - x, right - x, bottom - y, top - y)
