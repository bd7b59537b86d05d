"""Rows of lists without a frame: price lists, receipts, invoices, lists of names.

    Description          Qty     Amount       the header, where there is one
    Flat white   3.20                         a name, a gap, what is said of it
    Cut ........ 18 EUR                       a leader of dots is a gap, and so is a dash between blanks
    Milk 13.60                                before money one blank is enough
    Total        34.80                        from a line of totals on the list has ended

Purely lines: a list is at least two of them in a block without an empty line, each with a value for every column that
asks for a number or a date, or with as many cells as there are columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mode
from typing import Final

from bookwheel.tables.columns import Column, Kind, TableRequest
from bookwheel.tables.headers import AMOUNT, CURRENCY, IS_NUMBER, OF_COUNTS, fits, is_of, map_columns
from bookwheel.text.cells import TOTAL, is_total, split_cells

_LEAST_ROWS: Final = 2
_LEAST_TEXTS: Final = 3
"""Lines of a list that has no number and no date."""
_LONGEST_LINE: Final = 160
_LONGEST_CELL: Final = 60
_GAP: Final = re.compile(r" {2,}|\u3000+|[ ]*\t[ \t]*|[ ]*(?:\.{2,}|…+|·{2,}|_{2,})[ ]*|[ ]+[-–—|][ ]+|[ ]*\|[ ]*")
_BULLET: Final = re.compile(r"^[-*+•·–>]+\s+")
_MONEY: Final = re.compile(
    rf"\s+(?P<one>{CURRENCY}\s?\d[\d.,']*|\d[\d,']*[.,]\d\d(?!\d)(?:\s?{CURRENCY})?|\d[\d.,']*\s?(?:{CURRENCY}|元|块))\s*$"
)
_COLON: Final = re.compile(rf"\s*[:：]\s*(?={AMOUNT}(?:\s?[^\W\d]{{1,8}})?\s*$)")
_REMARK: Final = re.compile(r"[(（].*[)）]")
"""Behind a line's last cell: "5.15   (was 4.75)"."""
_RULE: Final = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|[\s:|-]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRow:
    """A line of a list with its cells."""

    start: int
    end: int
    text: str
    cells: tuple[str | None, ...]
    """One for each column of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainList:
    """The rows of one list, and the words around them."""

    rows: tuple[PlainRow, ...]
    words: str
    """Its block, and the line above."""
    layout: tuple[str, ...]
    """What kind of value most of its lines have in each cell; empty where a header names them."""


@dataclass(frozen=True, slots=True)
class _ListLine:
    start: int
    text: str
    cells: list[str]


def find_lists(text: str, request: TableRequest) -> Iterator[PlainList]:
    """Yield the lists of a text that have a value for each column; a total ends one unless totals are asked for."""
    columns = request.columns
    least = _LEAST_ROWS if any(one.kind is not Kind.TEXT for one in columns) else _LEAST_TEXTS
    wants_totals = bool(TOTAL.search(request.thing))
    above = ""
    for lines in filter(None, map(_drop_frame, _list_blocks(text))):
        end = next((at for at, line in enumerate(lines) if is_total(line.cells or [line.text])), len(lines))
        kept = lines if wants_totals else lines[:end]
        header = _find_header(kept)
        names = header.cells if header else []
        kept = [line if line is header else _drop_remark(line, names, columns) for line in kept]
        places = map_columns(
            columns, names, [line.cells for line in kept if len(line.cells) == len(names)], request.thing
        )
        whole = [line.cells for line in kept if line is not header and len(line.cells) == len(columns)]
        # Most lines with as many cells as there are columns have each cell where its column stands.
        in_order = len(whole) >= _LEAST_ROWS and sum(_fits(cells, columns) for cells in whole) > len(whole) / 2
        rows = [
            PlainRow(start=line.start, end=line.start + len(line.text), text=line.text.strip(), cells=cells)
            for line in kept
            if line is not header
            and (cells := _fill(line.cells, _place(line.cells, names, places, columns, in_order=in_order), columns))
        ]
        if len(rows) >= least:
            # The kind of most cells of each place, of the lines that are as wide as most.
            wide = [line.cells for line in kept if line.cells]
            width = mode(map(len, wide))
            usual = zip(*(cells for cells in wide if len(cells) == width), strict=True)
            layout = () if header else tuple(mode(map(_name_kind, cells)) for cells in usual)
            yield PlainList(rows=tuple(rows), words="\n".join((above, *(line.text for line in lines))), layout=layout)
        above = lines[-1].text


def _drop_frame(lines: list[_ListLine]) -> list[_ListLine]:
    """Return the lines of a list, or of a table with an empty header without it; none of a table with a header."""
    rule = next((at for at, line in enumerate(lines) if "|" in line.text and _RULE.fullmatch(line.text)), None)
    if rule is None:
        return lines
    is_empty = rule > 0 and not lines[rule - 1].text.strip(" |")
    return [*lines[: rule - 1], *lines[rule + 1 :]] if is_empty else []


def _list_blocks(text: str) -> Iterator[list[_ListLine]]:
    """Yield the lines between empty ones."""
    start, block = 0, list[_ListLine]()
    for body in text.splitlines(keepends=True):
        if body.strip():
            block.append(_ListLine(start, body.rstrip("\r\n"), _split_cells(body.strip())))
        elif block:
            yield block
            block = []
        start += len(body)
    if block:
        yield block


def _split_cells(line: str) -> list[str]:
    """Return the cells of a line; none where it is too long, or where one of them is."""
    if line.startswith("|"):
        return split_cells(line)
    if len(line) > _LONGEST_LINE:
        return []
    line = _BULLET.sub("", line)
    cells = [cell for cell in (piece.strip() for piece in _GAP.split(line)) if cell]
    if len(cells) == 1 and (found := _COLON.search(line) or _MONEY.search(line)):
        cells = [line[: found.start()].strip(), line[found.start() :].strip(" :：")]
    return cells if all(0 < len(cell) <= _LONGEST_CELL for cell in cells) else []


def _drop_remark(line: _ListLine, names: Sequence[str], columns: Sequence[Column]) -> _ListLine:
    """Return a line without a remark in brackets behind the cells that are asked for; a header may name it."""
    cells = line.cells
    is_remark = len(cells) == len(columns) + 1 > _LEAST_ROWS and len(cells) != len(names)
    if is_remark and _REMARK.fullmatch(cells[-1]) and not IS_NUMBER.fullmatch(cells[-1][1:-1].strip()):
        return replace(line, cells=cells[:-1])
    return line


def _find_header(lines: Sequence[_ListLine]) -> _ListLine | None:
    """Return the line that names the cells of those below it."""
    for line, below in pairwise(lines):
        if 1 < len(line.cells) == len(below.cells):
            has_names = not any(map(IS_NUMBER.fullmatch, line.cells)) and any(map(IS_NUMBER.fullmatch, below.cells))
            return line if has_names else None
    return None


def _name_kind(cell: str) -> str:
    if is_of(cell, Kind.DATE):
        return "date"
    if not any(map(str.isdigit, cell)):
        return "text"
    return "number" if re.fullmatch(AMOUNT, cell) else "code"


def _place(
    cells: Sequence[str], names: Sequence[str], places: Mapping[int, int], columns: Sequence[Column], *, in_order: bool
) -> Mapping[int, int]:
    """Return which cell of a line is which column's, as far as the header or the order says."""
    if names and len(cells) == len(names):
        return places
    return {at: at for at in range(len(columns))} if in_order and _fits(cells, columns) else {}


def _fits(cells: Sequence[str], columns: Sequence[Column]) -> bool:
    """Tell if a line has a cell for each column, of its kind."""
    return len(cells) == len(columns) and all(
        not cell or column.kind is Kind.TEXT or fits(column, cell) for cell, column in zip(cells, columns, strict=True)
    )


def _fill(cells: Sequence[str], places: Mapping[int, int], columns: Sequence[Column]) -> tuple[str | None, ...] | None:
    """Return a value for each column; None where the line is no row."""
    if len(cells) < _LEAST_ROWS:
        return None
    left = [cell or None for cell in cells]
    filled: list[str | None] = [None] * len(columns)
    for at, place in places.items():
        filled[at], left[place] = left[place], None
    for kind in (Kind.DATE, Kind.NUMBER, Kind.TEXT):
        open_ = [at for at, column in enumerate(columns) if column.kind is kind and filled[at] is None]
        found = [place for place, cell in enumerate(left) if cell is not None and is_of(cell, kind)]
        for at, place in zip(open_, _choose(found, [columns[at].name for at in open_], kind), strict=False):
            filled[at], left[place] = left[place], None
    is_typed = any(column.kind is not Kind.TEXT for column in columns)
    has_all = all(value for value, column in zip(filled, columns, strict=True) if column.kind is not Kind.TEXT)
    # In a table with a frame a cell may be empty.
    has_all = has_all or not all(cells)
    is_row = has_all and any(filled) if is_typed else (all(filled) or not all(cells)) and len(cells) == len(columns)
    # A number says nothing without what it is the number of.
    has_name = any(value for value, column in zip(filled, columns, strict=True) if column.kind is Kind.TEXT)
    return tuple(filled) if is_row and has_name else None


def _choose(found: Sequence[int], names: Sequence[str], kind: Kind) -> Sequence[int]:
    """Return places for the names in their order; of more numbers than one, a single name has the last, its price."""
    is_price = kind is Kind.NUMBER and len(names) == 1 and not OF_COUNTS.search(names[0])
    return found[-1:] if is_price else found
