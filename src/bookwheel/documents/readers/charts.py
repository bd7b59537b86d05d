"""Pair the numbers of a drawn chart with the names that they belong to: by place, and by colour where it has a legend.

Numbers at even steps along a side are its scale and stand for nothing that is shown. What is left above a name (bars,
points), behind it (bars that lie) or on the same side of the middle (a pie) is that name's. A chart whose numbers do
not all find a name has no rows: a number beside the wrong name would be worse than none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from bookwheel.documents.readers.colours import Colour, Paint, find_nearest
from bookwheel.documents.readers.grid import format_rows
from bookwheel.documents.readers.pdf_layout import Fragment, arrange
from bookwheel.documents.readers.scales import LEAST_TICKS, find_scale, measure_bars, middle

_NUMBER: Final = re.compile(r"[^\w\s]{0,2}\s?\d[\d.,]*(?:\s\d{3})*\s?(?:%|[^\W\d_]{1,2})?")
# A sentence, or what cites a source; a short word with a dot is an abbreviation ("Avg. price").
_NOTE: Final = re.compile(
    r"^(?i:sources?|data|notes?|n\.?b\.?|(?:资料|数据)?来源|注|说明)\s*[:：]|。|[^\W\d_]{5,}\.(?:\s+[^\Wa-z]|$)"
)
# One number alone may be a title's.
_LEAST_VALUES: Final = 2
# Heads the numbers of a chart that does not say what they are.
_UNNAMED: Final = "-"
# How far apart a name of a pie and its number may stand, seen from the middle.
_APART: Final = math.pi / 8


@dataclass(frozen=True, slots=True)
class Chart:
    """What was paired of a chart: its rows, the first of them the head, and the fragments that these are made of."""

    rows: list[list[str]]
    used: list[Fragment]
    scales: list[list[str]]
    """The numbers of no rows: each scale, and those that no name was found for."""

    def write(self) -> Iterator[str]:
        """Yield the lines of its text. A number of no row stands away from the words."""
        yield from format_rows(iter(self.rows), is_marked=True, keeps_empty=True)
        yield from filter(None, map(" ".join, self.scales))


def write_figure(fragments: Sequence[Fragment], chart: Chart | None) -> Iterator[str]:
    yield from write_lines([f for f in fragments if not chart or f not in chart.used])
    if chart:
        yield ""
        yield from chart.write()


def write_lines(fragments: Sequence[Fragment]) -> Iterator[str]:
    """Yield the lines of fragments in reading order, with a blank one between paragraphs."""
    for number, line in enumerate(arrange(fragments)):
        if line.begins_paragraph and number:
            yield ""
        yield line.text


@dataclass(frozen=True, slots=True)
class _Name:
    """A name of one line or several, and the middle of its place along its side."""

    text: str
    place: float
    parts: tuple[Fragment, ...]


def read_chart(fragments: Sequence[Fragment], pixels: Any = None) -> Chart | None:
    """Return a chart, or None if this is none. One whose numbers do not all find their names has no rows.

    Heights of the fragments count from below: a place's row of `pixels` is its height with the sign changed.
    """
    pieces = [(piece, whole) for whole in fragments for piece in _split_ticks(whole)]
    if pixels is None:
        return _read_pieces(pieces, None, {})
    paint, shown = Paint(pixels), [piece for piece, _ in pieces]
    chart = _read_pieces(pieces, paint, paint.find_legend(shown))
    is_read = chart is not None and bool(chart.rows)
    inks = {} if is_read else paint.find_inks(shown)
    coloured = _read_pieces(pieces, paint, inks) if inks else None
    return coloured if coloured and coloured.rows else chart


def _read_pieces(
    pieces: Sequence[tuple[Fragment, Fragment]], paint: Paint | None, legend: dict[Fragment, Colour]
) -> Chart | None:
    """Return the chart of pieces, each with the fragment that it is of, whose series have these colours."""
    entries = [f for f, _ in pieces if f in legend]
    numbers = [f for f, _ in pieces if _NUMBER.fullmatch(f.text) and f not in legend]
    words = [f for f, _ in pieces if f not in numbers and f not in legend and any(map(str.isalpha, f.text))]
    years = _find_names(numbers, paint, is_down=False)
    column = [] if years else _find_names(numbers, paint, is_down=True)
    # What is written in, or on, the colour of a series is a number of it.
    inks = {f: paint.find_behind(f) for f in numbers} if paint and legend else {}
    valued = [f for f, ink in inks.items() if ink and find_nearest(ink, [*legend.values()]) is not None]
    scale = find_scale([f for f in numbers if f not in (*years, *column, *valued)], is_down=True)
    is_named = years or _find_names(words, paint, is_down=False)
    rest = [f for f in numbers if f not in (*scale, *column, *valued)]
    floor = years if is_named else find_scale(rest, is_down=False)
    written = [f for f in numbers if f not in scale and f not in floor and f not in column]
    measured: list[Fragment] = []
    if len(written) < _LEAST_VALUES and paint and not legend:
        lying = column or _find_names(words, paint, is_down=True)
        measured = measure_bars(is_named, scale, paint, is_down=False) or measure_bars(
            lying, floor, paint, is_down=True
        )
    loose = measured or written
    pairing = _Pairing(words, loose, legend, paint)
    rows: list[list[str]] = []
    if len(loose) >= _LEAST_VALUES:
        # Without a scale beside it, a floor of numbers is the scale of bars that lie.
        rows = pairing.read_bars(floor if scale or years else [], has_scale=bool(scale))
        rows = rows or pairing.read_lying(column, has_scale=bool(floor))
        rows = rows or ([] if scale or floor else pairing.read_pie())
    if not rows and not scale:
        return None
    loose = loose if rows else written
    taken = {*(pairing.used if rows else loose), *scale, *floor}
    taken |= {*entries} if rows and len(rows[0]) > 2 else set()  # noqa: PLR2004
    wholes = dict.fromkeys(whole for _, whole in pieces)
    used = [f for f in wholes if all(piece in taken for piece, whole in pieces if whole is f)]
    spare = [[f.text for f in those if not rows or f not in pairing.used] for those in (scale, floor, loose)]
    return Chart(rows, used, spare)


def _split_ticks(fragment: Fragment) -> list[Fragment]:
    """Return the numbers of a line that is nothing but numbers, each at its place; any other fragment as it is."""
    words = fragment.text.split()
    if len(words) < LEAST_TICKS or not all(_NUMBER.fullmatch(word) for word in words):
        return [fragment]
    letter = (fragment.right - fragment.left) / len(fragment.text)
    pieces, at = [], 0
    for word in words:
        at = fragment.text.index(word, at)
        left = fragment.left + at * letter
        pieces.append(replace(fragment, text=word, left=left, right=left + len(word) * letter))
        at += len(word)
    return pieces


def _find_names(fragments: Sequence[Fragment], paint: Paint | None, *, is_down: bool) -> list[Fragment]:
    """Return the highest row that bars stand on, or a column that they begin at; numbers that are names are years."""
    tried: set[tuple[int, ...]] = set()
    for first in sorted(fragments, key=lambda f: -f.top) if paint else ():
        if is_down:
            line = [f for f in fragments if abs(f.right - first.right) < first.height / 2]
        else:
            line = [f for f in fragments if f.is_level(first)]
        key = tuple(map(id, line))
        if paint and len(line) > 1 and key not in tried and paint.has_bars(line, is_down=is_down):
            return line
        tried.add(key)
    return []


def _find_label(below: Sequence[Fragment]) -> str:
    """Return the words next below a chart, if they can name an axis; a note, and what goes on below it, does not."""
    return below[0].text if below and not _NOTE.search(below[0].text) else ""


class _Pairing:
    """The words and the numbers of one chart; `used` are those that a pairing has placed."""

    def __init__(
        self,
        words: Sequence[Fragment],
        numbers: Sequence[Fragment],
        legend: dict[Fragment, Colour],
        paint: Paint | None,
    ) -> None:
        self.used: list[Fragment] = []
        self._words = words
        self._numbers = numbers
        self._legend = legend
        self._paint = paint

    def read_bars(self, ticks: Sequence[Fragment], *, has_scale: bool) -> list[list[str]]:
        """Pair the numbers above bars or points, or on a line below their names, with these names: words, or ticks."""
        is_row = all(f.is_level(self._numbers[0]) for f in self._numbers)
        years = [_Name(re.sub(r"\.0+$", "", f.text), middle(f, is_down=False), (f,)) for f in ticks]
        for names in (years, *self._find_name_rows()):
            if len(names) < 2:  # noqa: PLR2004
                continue
            heads = [name.parts[0] for name in names]
            has_bars = self._paint is not None and self._paint.has_bars(heads, is_down=False)
            # Without a scale and bars, numbers on one line are the row of a table.
            if is_row and not has_scale and not has_bars:
                continue
            low = max(f.top for name in names for f in name.parts)
            is_below = is_row and has_bars and all(self._numbers[0].top < f.bottom + f.height / 2 for f in heads)
            if is_below or all(f.top > low for f in self._numbers):
                below = [f for f in self._words if f.top < low and all(f not in name.parts for name in names)]
                if rows := self._pair(names, _find_label(below), is_down=False, may_miss=names is years):
                    return rows
        return []

    def read_lying(self, ticks: Sequence[Fragment], *, has_scale: bool) -> list[list[str]]:
        """Pair the numbers at the ends of bars that lie with the names before them: words, or ticks."""
        # What ends in different places before the numbers, and is coloured, are bars.
        spread = max(f.left for f in self._numbers) - min(f.left for f in self._numbers)
        paint = None if has_scale else self._paint
        is_coloured = paint is not None and all(paint.find_beside(f, is_down=True) for f in self._numbers)
        is_ragged = is_coloured and spread > 2 * max(f.height for f in self._numbers)
        for first in (*ticks[:1], *self._words):
            column = [
                f
                for f in (ticks if first in ticks else self._words)
                if min(abs(f.right - first.right), abs(f.left - first.left)) < first.height / 2
            ]
            # Without a scale and bars, numbers in one column are that of a table.
            if not has_scale and not (is_ragged or (self._paint and self._paint.has_bars(column, is_down=True))):
                continue
            names = [_Name(f.text, middle(f, is_down=True), (f,)) for f in sorted(column, key=lambda f: -f.top)]
            right = max(f.right for f in column)
            is_before = len(names) > 1 and all(f.left > right - f.height for f in self._numbers)
            if is_before and (rows := self._pair(names, "", is_down=True, may_miss=False)):
                return rows
        return []

    def _find_name_rows(self) -> Iterator[list[_Name]]:
        """Yield rows of names from below, each name with the lines that stand under it."""
        for first in sorted(self._words, key=lambda f: f.top):
            row = sorted((f for f in self._words if f.is_level(first)), key=lambda f: f.left)
            if row[0] is first and len(row) > 1:
                yield [self._join_below(f) for f in row]

    def _join_below(self, first: Fragment) -> _Name:
        parts = [first]
        others = [f for f in self._words if f is not first and f.is_level(first)]
        for f in sorted(self._words, key=lambda f: -f.top):
            last = parts[-1]
            is_under = f.top < last.bottom + 0.4 * last.height and last.bottom - f.top < 0.6 * last.height
            # What reaches under another name, too, is a note on the chart.
            is_alone = not any(f.left < other.right and f.right > other.left for other in others)
            if is_under and is_alone and f.left < last.right and f.right > last.left and not f.is_level(last):
                parts.append(f)
        return _Name(" ".join(f.text for f in parts), middle(first, is_down=False), tuple(parts))

    def _pair(self, names: Sequence[_Name], head: str, *, is_down: bool, may_miss: bool) -> list[list[str]]:
        """Return a row for each name with its numbers, each the nearest name's; nothing where one is left over."""
        reach = min(abs(a.place - b.place) for a, b in pairwise(names)) / 2
        found: list[list[Fragment]] = [[] for _ in names]
        for number in self._numbers:
            far, at = min((abs(name.place - middle(number, is_down=is_down)), at) for at, name in enumerate(names))
            if far >= reach:
                return []
            found[at].append(number)
        paired = [(name, numbers) for name, numbers in zip(names, found, strict=True) if numbers or not may_miss]
        if len(paired) < 2 or not all(numbers for _, numbers in paired):  # noqa: PLR2004
            return []
        if all(len(numbers) == 1 for _, numbers in paired):
            rows = [
                [head, self._head_numbers(names, is_down=is_down)],
                *([name.text, numbers[0].text] for name, numbers in paired),
            ]
        elif not (rows := self._part_series(paired, self._find_title(names) or head, is_down=is_down)):
            return []
        self.used = [*(part for name in names for part in name.parts), *self._numbers]
        return rows

    def _part_series(
        self, paired: Sequence[tuple[_Name, Sequence[Fragment]]], head: str, *, is_down: bool
    ) -> list[list[str]]:
        """Return the rows of several series, whose numbers are told apart by the colours of the legend."""
        if not self._paint or not self._legend:
            return []
        is_line = len({f.is_level(next(iter(self._legend))) for f in self._legend} - {True}) == 0
        entries = sorted(self._legend, key=lambda f: f.left if is_line else -f.top)
        rows = [[head, *(f.text for f in entries)]]
        for name, numbers in paired:
            row = [""] * len(entries)
            for number in numbers:
                colour = self._paint.find_beside(number, is_down=is_down)
                at = find_nearest(colour, [self._legend[f] for f in entries]) if colour else None
                if at is None or row[at]:
                    return []
                row[at] = number.text
            rows.append([name.text, *row])
        return rows

    def _find_title(self, names: Sequence[_Name] = ()) -> str:
        """Return the words that stand highest above all numbers and names."""
        taken = [part for name in names for part in name.parts]
        top = max(middle(f, is_down=True) for f in (*self._numbers, *taken))
        above = [f for f in self._words if middle(f, is_down=True) > top and f.right - f.left > f.height]
        return max(above, key=lambda f: f.top).text if above else ""

    def _find_unit(self, names: Sequence[_Name], *, is_down: bool) -> str:
        """Return what the numbers are: the words along their scale."""
        taken = [part for name in names for part in name.parts]
        rest = [f for f in self._words if f not in taken]
        if is_down:
            low = min(f.bottom for f in self._numbers)
            return _find_label([f for f in rest if f.top < low])
        beside = [f for f in rest if f.height > f.right - f.left and len(f.text) > 1]
        return beside[0].text if beside else ""

    def _head_numbers(self, names: Sequence[_Name], *, is_down: bool) -> str:
        """Return what heads the numbers: the title with the unit that it does not have."""
        title, unit = self._find_title(() if is_down else names), self._find_unit(names, is_down=is_down)
        if title and unit and unit.casefold() not in title.casefold():
            return f"{title} ({unit})"
        return title or unit or _UNNAMED

    def read_pie(self) -> list[list[str]]:
        """Pair the numbers in the parts of a pie with the names beside them, by their side of its middle."""
        circle = self._paint.find_circle() if self._paint else None
        if circle is None:
            return []
        x, y, radius = circle
        inside = [f for f in self._numbers if _measure(f, x, y)[0] < radius]
        if self._legend:
            return self._pair_colours(inside)
        around = [f for f in self._words if radius * 0.8 < _measure(f, x, y)[0] < 2.2 * radius]
        rows: list[list[str]] = []
        for number in inside:
            towards = _measure(number, x, y)[1]
            turns = {f: (_measure(f, x, y)[1] - towards + math.pi) % (2 * math.pi) - math.pi for f in around}
            there = [f for f, turn in turns.items() if abs(turn) < _APART]
            name = min(there, key=lambda f: _measure(f, x, y)[0], default=None)
            if name is None or name in self.used:
                return []
            rows.append([name.text, number.text])
            self.used += [name, number]
        if len(rows) < 2 or len(inside) < len(self._numbers):  # noqa: PLR2004
            return []
        return [["", self._find_title() or _UNNAMED], *rows]

    def _pair_colours(self, inside: Sequence[Fragment]) -> list[list[str]]:
        """Return a row for each number of a pie with the name of the colour that it is written on."""
        entries = [*self._legend]
        known = [self._legend[f] for f in entries]
        colours = [self._paint.find_behind(f) if self._paint else None for f in inside]
        places = [find_nearest(colour, known) if colour else None for colour in colours]
        if None in places or len(set(places)) < len(places) or len(inside) < len(self._numbers):
            return []
        self.used = [*inside, *entries]
        return [
            ["", self._find_title() or _UNNAMED],
            *([entries[at or 0].text, f.text] for at, f in zip(places, inside, strict=True)),
        ]


def _measure(fragment: Fragment, x: float, y: float) -> tuple[float, float]:
    """Return how far a fragment is from a point, and in which direction."""
    across, up = middle(fragment, is_down=False) - x, middle(fragment, is_down=True) - y
    return math.hypot(across, up), math.atan2(up, across)
