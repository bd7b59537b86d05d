"""Put the pieces of a printed page into reading order: columns, tables, paragraphs; join the words that were cut.

Purely geometry: fragments with boxes in, lines of text out. The order in which a page was drawn is trusted until the
positions contradict it, because columns are mostly drawn one after the other and tables cell by cell. Two things are
put right: columns of prose that were drawn across the page are read one after the other, and a table that was drawn
column by column is read row by row. The cells of a row stand on one line, with bars between them. A word that the end
of a line or page has cut is joined as the document writes it elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


HYPHENS: Final = "\x02\ufffe\N{SOFT HYPHEN}"
"""PDFium's own signs for a hyphen at a line's end, and the one that is seen only there."""
# Columns of prose stand side by side on this many lines at least; a table drawn by columns has as many rows.
_LEAST_LINES: Final = 3
# Characters of a line, and the share of its column's width that it fills, for it to be prose.
_PROSE_LENGTH: Final = 22
_PROSE_FILL: Final = 0.6
_PROSE_SHARE: Final = 0.6
# A cell has this many lines at most; more side by side are columns.
_MOST_CELL_LINES: Final = 12
# Line heights: how far a line may begin left of the block above it, by its indent.
_INDENT: Final = 4.0
# Line heights between two lines that separate paragraphs.
_PARAGRAPH_GAP: Final = 0.75


@dataclass(frozen=True, slots=True)
class Fragment:
    """A run of words on one line, without a wide gap inside."""

    text: str
    left: float
    right: float
    bottom: float
    top: float

    @property
    def height(self) -> float:
        """The height of its letters."""
        return self.top - self.bottom

    def is_level(self, other: Fragment) -> bool:
        """Return True if both stand on one line."""
        return min(self.top, other.top) - max(self.bottom, other.bottom) > 0.5 * min(self.height, other.height)

    def is_right_of(self, other: Fragment) -> bool:
        """Return True if this begins where the other has ended."""
        return self.left >= other.right - 0.2 * self.height


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of a page in reading order; a row of a table is one line."""

    text: str
    begins_paragraph: bool = False


@dataclass(slots=True)
class _Block:
    """Fragments one below the other: a paragraph, a column, a cell."""

    fragments: list[Fragment] = field(default_factory=list)
    is_cell: bool = False
    """It begins beside another block, so its lines keep to the right of that."""

    @property
    def left(self) -> float:
        return min(fragment.left for fragment in self.fragments)

    @property
    def right(self) -> float:
        return max(fragment.right for fragment in self.fragments)

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


def arrange(fragments: Sequence[Fragment]) -> list[TextLine]:
    """Return the lines of a page in reading order."""
    groups = list(_group_neighbours(_split_blocks(_unweave(list(fragments)))))
    lines: list[TextLine] = []
    last: _Block | None = None
    for at, group in enumerate(groups):
        is_alone = not any(_have_same_columns(group, other) for other in groups[max(0, at - 1) : at + 2 : 2])
        if is_alone and len(group) > 1 and all(len(block.fragments) == 1 for block in group[:-1]):
            # A line with wide gaps, such as a title behind its number, is no table; the text below it goes on.
            group = [_join_first_line(group)]  # noqa: PLW2901 - one block from here on
        rows = _find_rows(group, is_alone=is_alone)
        if rows is None:
            for block in group:
                lines += _stack(block, last)
                last = block
            continue
        begins = last is None or not (at and len(groups[at - 1]) == len(group))
        lines += [TextLine(" | ".join(row), begins and not number) for number, row in enumerate(rows)]
        last = group[-1]
    return lines


def _unweave(fragments: list[Fragment]) -> list[Fragment]:
    """Return the fragments; two columns of prose that were drawn across the page come one after the other."""
    rows = list(_iterate_rows(fragments))
    pairs = [row for row in rows if len(row) == 2]  # noqa: PLR2004
    if len(pairs) < _LEAST_LINES:
        return fragments
    gutter = median((left.right + right.left) / 2 for left, right in pairs)
    across = [row for row in pairs if row[0].right < gutter < row[1].left]
    if len(across) < max(_LEAST_LINES, 0.5 * len(rows)):
        return fragments
    if not all(_is_prose([row[side] for row in across]) for side in (0, 1)):
        return fragments
    ordered: list[Fragment] = []
    columns: tuple[list[Fragment], list[Fragment]] = ([], [])
    for row in rows:
        if any(f.left < gutter < f.right for f in row):
            ordered += [*columns[0], *columns[1], *row]
            columns = ([], [])
        else:
            for fragment in row:
                columns[fragment.left > gutter].append(fragment)
    return [*ordered, *columns[0], *columns[1]]


def _iterate_rows(fragments: Iterable[Fragment]) -> Iterator[list[Fragment]]:
    """Yield runs of fragments that were drawn from left to right on one line."""
    row: list[Fragment] = []
    for fragment in fragments:
        if row and not (fragment.is_level(row[-1]) and fragment.is_right_of(row[-1])):
            yield row
            row = []
        row.append(fragment)
    if row:
        yield row


def _is_prose(fragments: Sequence[Fragment]) -> bool:
    """Return True if most lines fill the column's width with words."""
    width = max(f.right for f in fragments) - min(f.left for f in fragments)
    full = [f for f in fragments if len(f.text) >= _PROSE_LENGTH and f.right - f.left >= _PROSE_FILL * width]
    return len(full) >= _PROSE_SHARE * len(fragments)


def _split_blocks(fragments: Iterable[Fragment]) -> list[_Block]:
    """Split the fragments where the drawing goes up or sideways, and where a cell stands beside the block's lines."""
    blocks: list[_Block] = []
    for fragment in fragments:
        if blocks and blocks[-1].continues_with(fragment):
            blocks[-1].fragments.append(fragment)
            continue
        beside: list[int] = []
        if blocks:
            before = blocks[-1].fragments
            beside = [at for at, f in enumerate(before) if fragment.is_level(f) and fragment.is_right_of(f)]
            if beside and beside[0]:
                blocks[-1:] = [_Block(before[: beside[0]], blocks[-1].is_cell), _Block(before[beside[0] :])]
        blocks.append(_Block([fragment], is_cell=bool(beside)))
    return blocks


def _group_neighbours(blocks: Iterable[_Block]) -> Iterator[list[_Block]]:
    """Yield runs of blocks that stand side by side and begin on one line."""
    group: list[_Block] = []
    for block in blocks:
        first = block.fragments[0]
        if group and not (first.is_level(group[0].fragments[0]) and first.left >= group[-1].right - first.height):
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _have_same_columns(group: Sequence[_Block], other: Sequence[_Block]) -> bool:
    """Return True for two rows of one table: as many cells, each below the other's."""
    if group is other or not 1 < len(group) == len(other):
        return False
    return all(a.left <= b.right and b.left <= a.right for a, b in zip(group, other, strict=True))


def _find_rows(group: Sequence[_Block], *, is_alone: bool) -> list[list[str]] | None:
    """Return the cells of the rows that the blocks form, or None if they are no table."""
    if len(group) == 1:
        return None
    tall = [block for block in group if len(block.fragments) >= _LEAST_LINES]
    if is_alone and sum(_is_prose(block.fragments) for block in tall) > 1:
        return None
    longest = max(group, key=lambda block: len(block.fragments)).fragments
    if is_alone and len(longest) >= _LEAST_LINES and all(_is_level_with(block, longest) for block in group):
        return [[f.text for block in group for f in block.fragments if f.is_level(line)] for line in longest]
    if len(longest) > _MOST_CELL_LINES:
        return None
    return [[block.text for block in group]]


def _join_first_line(group: Sequence[_Block]) -> _Block:
    """Return the blocks as one, whose first line is all of theirs."""
    first = [block.fragments[0] for block in group]
    joined = Fragment(
        text=" ".join(fragment.text for fragment in first),
        left=first[0].left,
        right=first[-1].right,
        bottom=min(fragment.bottom for fragment in first),
        top=max(fragment.top for fragment in first),
    )
    return _Block([joined, *group[-1].fragments[1:]])


def _is_level_with(block: _Block, lines: Sequence[Fragment]) -> bool:
    """Return True if a block has exactly one line beside each of these."""
    return len(block.fragments) == len(lines) and all(
        a.is_level(b) for a, b in zip(block.fragments, lines, strict=True)
    )


def _stack(block: _Block, before: _Block | None) -> list[TextLine]:
    """Return the block's lines; wide gaps between them begin paragraphs."""
    lines = [
        TextLine(
            block.fragments[0].text, before is not None and not _is_close(before.fragments[-1], block.fragments[0])
        )
    ]
    lines += [TextLine(below.text, not _is_close(above, below)) for above, below in pairwise(block.fragments)]
    return lines


def _is_close(above: Fragment, below: Fragment) -> bool:
    return -above.height < above.bottom - below.top < _PARAGRAPH_GAP * min(above.height, below.height)


_AT_END: Final = re.compile(rf"([^\W\d_]+)[{HYPHENS}\-‐]$")
_WORD_START: Final = re.compile(r"^[^\W\d_]+")
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class Hyphens:
    """Joins words that a line end has cut. What the document writes elsewhere decides: `non-free` keeps its hyphen."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._words: Counter[str] = Counter()
        for text in texts:
            self._words.update(word.lower() for word in _WORD.findall(text))

    def join(self, lines: Sequence[TextLine]) -> str:
        """Return the lines as text, paragraphs apart."""
        pieces: list[str] = []
        for line in lines:
            text = line.text
            cut = _AT_END.search(pieces[-1]) if pieces else None
            rest = _WORD_START.match(text) if cut else None
            if cut and rest and _can_go_on(cut[1], rest[0]):
                pieces[-1] = pieces[-1][: cut.end(1)] + self._hyphen(cut[1], rest[0]) + rest[0]
                end = len(rest[0])
                while end < len(text) and not text[end].isspace():  # its punctuation goes along
                    end += 1
                pieces[-1] += text[len(rest[0]) : end]
                text = text[end:].lstrip()
                if not text:
                    continue
            elif line.begins_paragraph and pieces:
                pieces.append("")
            pieces.append(text)
        text = "\n".join(pieces)
        return text.translate({ord(mark): "-" for mark in HYPHENS}).strip("\n")

    def join_pages(self, before: str, after: str) -> tuple[str, str]:
        """Return the texts of two pages; a word that the page's end has cut goes to the first one, whole."""
        cut, rest = _AT_END.search(before), _WORD_START.match(after)
        if not cut or not rest or not _can_go_on(cut[1], rest[0]):
            return before, after
        end = len(rest[0])
        while end < len(after) and not after[end].isspace():  # its punctuation goes along
            end += 1
        hyphen = self._hyphen(cut[1], rest[0])
        return f"{before[: cut.end(1)]}{hyphen}{after[:end]}", after[end:].lstrip()

    def _hyphen(self, before: str, after: str) -> str:
        """Return a hyphen if the word is written with one, or if only its two halves are words of the document."""
        with_one, without = self._words[f"{before}-{after}".lower()], self._words[f"{before}{after}".lower()]
        # Each half was counted once where it is cut. Halves in capitals are rather names: `ISO-IEC`.
        halves = [self._words[half.lower()] > 1 for half in (before, after)]
        are_words = any(halves) if after[0].isupper() else all(halves)
        return "-" if with_one > without or (are_words and not without) else ""


def _can_go_on(before: str, after: str) -> bool:
    """Return True if a line may begin with the rest of a word: of `exam-ple`, `EXAM-PLE`, not of `Jean-Paul`."""
    return after[0].islower() or (before[-1].isupper() and after[0].isupper())
