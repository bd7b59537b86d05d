"""Put the pieces of a printed page into reading order: columns, tables, paragraphs.

Purely geometry: fragments with boxes in, lines of text out. The order in which a page was drawn is trusted until the
positions contradict it, because columns are mostly drawn one after the other and tables cell by cell. Two things are
put right: columns of prose that were drawn across the page are read one after the other, and a table that was drawn
column by column is read row by row. The cells of a row stand on one line, with bars between them.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise
from statistics import median
from typing import Final, TypeVar

_T = TypeVar("_T")
# Columns of prose stand side by side on this many lines at least; a table drawn by columns has as many rows.
_LEAST_LINES: Final = 3
_MOST_COLUMNS: Final = 4
# Characters of a line across the page, and the share of its column's width that it fills, for it to be prose.
_PROSE_LENGTH: Final = 44
_PROSE_FILL: Final = 0.6
_PROSE_SHARE: Final = 0.6
_WIDE: Final = re.compile(r"[\u3000-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]")
_SIGN: Final = re.compile(r"[\u3000-\u312f\u3190-\u9fff\uf900-\ufaff\uff00-\uff60]")
# Characters of a line that goes on without a blank, a wide one counted twice; a verse and a name have fewer.
_LEAST_RUNNING: Final = 24
# No line begins with a stop: the sign before it stands on the same line.
_SIGNS_TOGETHER: Final = re.compile(rf"{_WIDE.pattern}[，。、；：！？）》」』”’…]*")
# Cells of a table have no stops; one line of prose in six has one at least, save in Thai, Lao and Khmer.
_STOP: Final = re.compile(r"[.,;:!?…](?:\s|$)|[。，；：！？、।۔،؛؟։።፣፤။]|[\u0e01-\u0e2e\u0e81-\u0eae\u1780-\u17b3]")
_STOP_SHARE: Final = 1 / 6
# A cell has this many lines at most; more side by side are columns.
_MOST_CELL_LINES: Final = 12
# Line heights: how far a line may begin left of the block above it, by its indent.
_INDENT: Final = 4.0
# Line heights between two lines that separate paragraphs, where those of the text do not stand as far apart.
_PARAGRAPH_GAP: Final = 0.75
# In a text that is spaced more widely, lines of prose run on over a gap: of so many as wide at least, by line heights.
_SAME_GAP: Final = 0.12
_SAME_SIZE: Final = 0.9
_LEAST_PAIRS: Final = 3
_RUN_ON_SHARE: Final = 1 / 3
# Ends a sentence, with the marks that may close it.
_SENTENCE_STOP: Final = re.compile(r"[.!?:;…。！？：；؟۔।]\W{0,3}$")
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff]")


@dataclass(frozen=True, slots=True)
class Fragment:
    """A run of words on one line, without a wide gap inside."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    is_ruled: bool = False
    """A line is drawn between it and the one before it."""
    skipped: int = 0
    """Empty cells of a grid between it and the one before it."""

    @property
    def cell(self) -> str:
        """Its text behind the bars of the empty cells before it."""
        return "| " * self.skipped + self.text

    @classmethod
    def around(cls, text: str, others: Sequence[Fragment]) -> Fragment:
        """Return a fragment over the places of others."""
        left, right = min(f.left for f in others), max(f.right for f in others)
        return cls(text, left, right, min(f.bottom for f in others), max(f.top for f in others))

    @property
    def height(self) -> float:
        return self.top - self.bottom

    def is_long(self, length: int = _PROSE_LENGTH) -> bool:
        # A wide letter takes the place of two.
        return len(self.text) + len(_WIDE.findall(self.text)) >= length

    def has_size_of(self, other: Fragment) -> bool:
        return min(self.height, other.height) > _SAME_SIZE * max(self.height, other.height)

    def is_level(self, other: Fragment) -> bool:
        return min(self.top, other.top) - max(self.bottom, other.bottom) > 0.5 * min(self.height, other.height)

    def is_right_of(self, other: Fragment) -> bool:
        return self.left >= other.right - 0.2 * self.height


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of a page in reading order; a row of a table is one line."""

    text: str
    begins_paragraph: bool = False
    runs_on: bool = False
    """It goes on in the midst of the sentence above, in a script without blanks."""


@dataclass(slots=True)
class _Block:
    """Fragments one below the other: a paragraph, a column, a cell."""

    fragments: list[Fragment]
    is_cell: bool = False
    """It begins beside another block, so its lines keep to the right of that."""
    left: float = field(init=False)
    right: float = field(init=False)

    def __post_init__(self) -> None:
        self.left = min(fragment.left for fragment in self.fragments)
        self.right = max(fragment.right for fragment in self.fragments)

    def append(self, fragment: Fragment) -> None:
        self.fragments.append(fragment)
        self.left, self.right = min(self.left, fragment.left), max(self.right, fragment.right)

    @property
    def text(self) -> str:
        return " ".join(fragment.text for fragment in self.fragments)

    def continues_with(self, fragment: Fragment) -> bool:
        last = self.fragments[-1]
        return (
            fragment.top <= last.bottom + 0.5 * last.height
            and fragment.left <= self.right
            and fragment.right >= self.left
            and fragment.left >= self.left - (1.0 if self.is_cell else _INDENT) * fragment.height
        )


class LineGaps:
    """How far apart lines of one paragraph stand, where that is as far as paragraphs do elsewhere: double spacing."""

    def __init__(self, pages: Iterable[Sequence[Fragment]]) -> None:
        # A title or an item of a list is short.
        pairs = [
            (_measure_gap(above, below), above, below, page)
            for page in pages
            for above, below in pairwise(page)
            if above.bottom - below.top >= _PARAGRAPH_GAP * below.height
            and above.is_long()
            and below.is_long()
            and above.has_size_of(below)
        ]
        found = sorted((gap, _runs_on(above, below, page)) for gap, above, below, page in pairs)
        self._gaps = [gap for gap, _ in found]
        self._running = list(accumulate((runs for _, runs in found), initial=0))

    def join(self, above: Fragment, below: Fragment, others: Iterable[Fragment]) -> bool:
        """Return whether a paragraph goes on with the line below, among others of the column."""
        if not above.has_size_of(below):
            return False
        gap = _measure_gap(above, below)
        first, end = bisect(self._gaps, gap - _SAME_GAP), bisect(self._gaps, gap + _SAME_GAP)
        if self._running[end] - self._running[first] < max(_LEAST_PAIRS, _RUN_ON_SHARE * (end - first)):
            return False
        is_amid = below.text[:1].islower() and not _ends(above)
        is_indented = _ends(above) and below.left - above.left > 0.5 * below.height
        return is_amid or (above.is_long() and not is_indented and not _has_room(above, below, others))


def _runs_on(above: Fragment, below: Fragment, page: Sequence[Fragment]) -> bool:
    is_amid = below.text[:1].isalpha() and not below.text[:1].isupper() and not _ends(above)
    return is_amid and not _has_room(above, below, page)


def _runs_on_signs(above: Fragment, below: Fragment, others: Iterable[Fragment]) -> bool:
    """Tell if a full line of Chinese or Japanese goes on: its words have no blanks, so a line ends within them."""
    is_prose = bool(_SIGN.search(above.text)) and above.is_long(_LEAST_RUNNING) and not _ends(above)
    return is_prose and above.has_size_of(below) and not _has_room(above, below, others)


def _has_room(above: Fragment, below: Fragment, others: Iterable[Fragment]) -> bool:
    """Return whether the first word of the line below could stand at the end of the one above: it begins anew there."""
    column = [above, *(f for f in others if f.left < above.left + above.height and f.right > above.left)]
    signs = _SIGNS_TOGETHER.match(below.text)
    letters = len(signs[0]) if signs else len(below.text.split(" ", 1)[0]) + 1
    # Letters have not all one width, and amid a sentence a wide word is likelier than a new paragraph.
    needed = (1.0 if _ends(above) else 1.5) * letters * (below.right - below.left) / max(1, len(below.text))
    if _RIGHT_TO_LEFT.match(above.text):
        return above.left - min(f.left for f in column) > needed
    return max(f.right for f in column) - above.right > needed


def _measure_gap(above: Fragment, below: Fragment) -> float:
    return (above.bottom - below.top) / max(min(above.height, below.height), 1.0)


def _ends(fragment: Fragment) -> bool:
    return bool(_SENTENCE_STOP.search(fragment.text))


def arrange(fragments: Sequence[Fragment], gaps: LineGaps | None = None) -> list[TextLine]:
    """Return the lines of a page. The gaps of lines are those of its document, or its own."""
    gaps = gaps or LineGaps([fragments])
    groups = list(_split_runs(_split_blocks(_unweave(list(fragments))), _are_neighbours))
    for at in reversed(range(len(groups) - 2)):
        if not (at and _have_same_columns(groups[at], groups[at - 1])):
            groups[at] = _fit_header(groups[at], *groups[at + 1 : at + 3])
    lines: list[TextLine] = []
    last: _Block | None = None
    for at, group in enumerate(groups):
        is_alone = not any(_have_same_columns(group, other) for other in groups[max(0, at - 1) : at + 2])
        if is_alone and len(group) > 1 and all(len(block.fragments) == 1 for block in group[:-1]):
            # A line with wide gaps, such as a title behind its number, is no table; the text below it goes on.
            first = [block.fragments[0] for block in group]
            # Cells of a grid are cells, even where the rows beside have other columns.
            text = first[0].text + "".join(f"{' | ' if f.is_ruled or f.skipped else ' '}{f.cell}" for f in first[1:])
            joined = Fragment.around(text, first)
            joined = replace(joined, left=first[0].left, right=first[-1].right)
            group = [_Block([joined, *group[-1].fragments[1:]])]  # noqa: PLW2901 - one block from here on
        rows = _find_rows(group, is_alone=is_alone)
        if rows is None:
            # Wide gaps between lines begin paragraphs.
            below = [fragment for block in group for fragment in block.fragments]
            above = last.fragments[-1] if last else below[0]
            lines += [
                TextLine(
                    b.text,
                    not (a is b or _is_close(a, b) or _goes_on(a, b) or gaps.join(a, b, below)),
                    a is not b and _runs_on_signs(a, b, below),
                )
                for a, b in pairwise([above, *below])
            ]
        else:
            begins = last is None or not (at and len(groups[at - 1]) == len(group))
            lines += [TextLine(" | ".join(row), begins and not number) for number, row in enumerate(rows)]
        last = group[-1]
    return lines


def _split_runs(items: Iterable[_T], goes_on: Callable[[list[_T], _T], bool]) -> Iterator[list[_T]]:
    """Yield runs of items: each goes on with those before it."""
    run: list[_T] = []
    for item in items:
        if run and not goes_on(run, item):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def _unweave(fragments: list[Fragment]) -> list[Fragment]:
    """Return the fragments; columns of prose that were drawn across the page come one after the other."""
    # Fragments that were drawn from left to right on one line.
    rows = list(_split_runs(fragments, lambda row, f: f.is_level(row[-1]) and f.is_right_of(row[-1])))
    gutters = next((found for count in range(_MOST_COLUMNS, 1, -1) if (found := _find_gutters(rows, count))), None)
    if gutters is None:
        return fragments
    ordered: list[Fragment] = []
    columns: list[list[Fragment]] = [[] for _ in range(len(gutters) + 1)]
    for row in rows:
        if _is_across(row, gutters):
            ordered += [*chain.from_iterable(columns), *row]
            columns = [[] for _ in columns]
        else:
            for fragment in row:
                columns[bisect(gutters, fragment.left)].append(fragment)
    return [*ordered, *chain.from_iterable(columns)]


def _find_gutters(rows: Sequence[list[Fragment]], count: int) -> list[float] | None:
    """Return where so many columns of prose part, or None where the lines are no such columns."""
    full = [row for row in rows if len(row) == count]
    if len(full) < _LEAST_LINES:
        return None
    gutters = [median((row[at].right + row[at + 1].left) / 2 for row in full) for at in range(count - 1)]
    whole = [at for at, row in enumerate(rows) if [bisect(gutters, f.left) for f in row] == [*range(count)]]
    whole = [at for at in whole if not _is_across(rows[at], gutters)]
    # Of the lines between the first and the last one, as one column may be longer than the others.
    span = rows[whole[0] : whole[-1] + 1] if whole else []
    if len(whole) < max(_LEAST_LINES, 0.5 * len(span)) or 3 * sum(_is_across(row, gutters) for row in span) > len(span):
        return None
    are_prose = all(_is_prose([rows[at][side] for at in whole], count) for side in range(count))
    return gutters if are_prose else None


def _is_across(row: Sequence[Fragment], gutters: Sequence[float]) -> bool:
    return any(f.left < gutter < f.right for f in row for gutter in gutters)


def _is_prose(fragments: Sequence[Fragment], columns: int = 2) -> bool:
    """Return True if most lines fill the column's width with words, and some of them have a sentence's stops."""
    width = max(f.right for f in fragments) - min(f.left for f in fragments)
    length = _PROSE_LENGTH // columns
    full = [f for f in fragments if f.is_long(length) and f.right - f.left >= _PROSE_FILL * width]
    stops = [f for f in fragments if _STOP.search(f.text)]
    return len(full) >= _PROSE_SHARE * len(fragments) and len(stops) >= _STOP_SHARE * len(fragments)


def _split_blocks(fragments: Iterable[Fragment]) -> list[_Block]:
    """Split the fragments where the drawing goes up or sideways, and where a cell stands beside the block's lines."""
    blocks: list[_Block] = []
    for fragment in fragments:
        if blocks and blocks[-1].continues_with(fragment):
            blocks[-1].append(fragment)
            continue
        beside: list[int] = []
        if blocks:
            before = blocks[-1].fragments
            beside = [at for at, f in enumerate(before) if fragment.is_level(f) and fragment.is_right_of(f)]
            if beside and beside[0]:
                blocks[-1:] = [_Block(before[: beside[0]], blocks[-1].is_cell), _Block(before[beside[0] :])]
        blocks.append(_Block([fragment], is_cell=bool(beside)))
    return blocks


def _are_neighbours(group: Sequence[_Block], block: _Block) -> bool:
    """Return True if a block stands beside the last one and begins on the line of the first."""
    first = block.fragments[0]
    return first.is_level(group[0].fragments[0]) and first.left >= group[-1].right - first.height


def _have_same_columns(group: Sequence[_Block], other: Sequence[_Block]) -> bool:
    """Return True for two rows of one table: as many cells, each below the other's."""
    if group is other or not 1 < len(group) == len(other):
        return False
    return all(a.left <= b.right and b.left <= a.right for a, b in zip(group, other, strict=True))


def _fit_header(group: list[_Block], first: Sequence[_Block], second: Sequence[_Block]) -> list[_Block]:
    """Return the names above a table one a column of it, where they stand too close or over some columns alone."""
    names = [block.fragments[0] for block in group if len(block.fragments) == 1]
    if not 1 < len(group) == len(names) < len(first) or not _have_same_columns(first, second):
        return group
    if not _is_close(names[0], first[0].fragments[0]):
        return group
    columns = [(min(a.left, b.left), max(a.right, b.right)) for a, b in zip(first, second, strict=True)]
    found: dict[int, list[str]] = {}
    for name in names:
        over = [at for at, (left, right) in enumerate(columns) if left < name.right and name.left < right]
        words = name.text.split()
        # Letters are about as wide, and a name begins where its column does.
        width = (name.right - name.left) / len(name.text)
        starts = [name.left + width * start for start in accumulate((len(word) + 1 for word in words), initial=0)][:-1]
        cuts = [0, *(min(range(len(words)), key=lambda at: abs(starts[at] - columns[one][0])) for one in over[1:])]
        is_sure = all(
            abs(starts[cut] - columns[one][0]) < name.height for cut, one in zip(cuts[1:], over[1:], strict=True)
        )
        if not over or not is_sure or sorted(set(cuts)) != cuts or found.keys() & set(over):
            return group
        found |= {one: words[cut:end] for one, cut, end in zip(over, cuts, [*cuts[1:], len(words)], strict=True)}
    line = names[0]
    cells = [Fragment(" ".join(found.get(at, ())), *columns[at], line.bottom, line.top) for at in range(len(columns))]
    return [_Block([cell]) for cell in cells]


def _find_rows(group: Sequence[_Block], *, is_alone: bool) -> list[list[str]] | None:
    """Return the cells of the rows that the blocks form, or None if they are no table."""
    if len(group) == 1:
        return None
    tall = [block for block in group if len(block.fragments) >= _LEAST_LINES]
    if is_alone and sum(_is_prose(block.fragments) for block in tall) > 1:
        return None
    longest = max(group, key=lambda block: len(block.fragments)).fragments
    # Each block has exactly one line beside each of the longest one's.
    is_even = all(
        len(block.fragments) == len(longest) and all(map(Fragment.is_level, block.fragments, longest))
        for block in group
    )
    if is_alone and len(longest) >= _LEAST_LINES and is_even:
        return [[f.cell for block in group for f in block.fragments if f.is_level(line)] for line in longest]
    if len(longest) > _MOST_CELL_LINES:
        return None
    return [["| " * block.fragments[0].skipped + block.text for block in group]]


def _is_close(above: Fragment, below: Fragment) -> bool:
    return -above.height < above.bottom - below.top < _PARAGRAPH_GAP * min(above.height, below.height)


def _goes_on(above: Fragment, below: Fragment) -> bool:
    """Return whether a sentence goes on at the top of the next column."""
    is_next = below.bottom > above.top and below.left > above.left
    return is_next and below.text[:1].islower() and not above.text.endswith((".", "!", "?", ":"))
