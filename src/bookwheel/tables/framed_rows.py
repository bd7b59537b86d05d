"""Rows of tables with a header: which tables of a document suit the columns, and the cells of their rows.

    | No. | Action        | Owner | Due    |      asked: every action: who, what, until when
    |-----|---------------|-------|--------|
    | 1   | Order a survey | Joel | 31 May |      row: Joel, Order a survey, 31 May

A table suits that has at least half of the columns. All of its rows are rows, save totals; where the sentence has words
that stand in some rows alone ("every invoice of Kestrel Legal"), only those; what a row is called, only as a cell.

Where no table has one of the columns by its name, one may have all by their order:

    | 1 | 10:05 | Mrs Adeyemi | mixer | smells | Graham |      asked: who brought it, what, what is wrong, who mends it

Its columns must have a place for each of the request's, in the same order, whose cells are of the same kind; of several
such ways the one with the fullest columns and the most different cells.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import mode
from typing import Final

from bookwheel.tables.columns import Column, Kind, TableRequest
from bookwheel.tables.headers import CODES, fits, has_named, is_of, map_columns
from bookwheel.tables.plain_rows import PlainRow
from bookwheel.text.cells import is_total, read_row, split_cells
from bookwheel.text.ranking import QuestionWords, find_stems

_LEAST_COLUMNS: Final = 2
_SAMPLE: Final = 200
"""Rows that tell what a column's cells are."""
_LEAST_IN_ORDER: Final = 3
"""Columns of a request, and rows of a table, from which on their order says something."""
_MOST_OF: Final = 0.6
_CLOCK: Final = re.compile(r"\d{1,2}[:.]\d\d(?::\d\d)?")
_OF_CLOCKS: Final = re.compile(r"\b(?:time|hours?|when|from|to)\b|时|点", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FramedTable:
    """The rows of one table that suits."""

    rows: tuple[PlainRow, ...]
    score: float
    """How much of the sentence stands in its header and above it, and how many of the columns it has."""
    is_named: bool
    """Its header names one of the columns, at least."""


def fill_table(
    header: str,
    leads: str,
    lines: Sequence[tuple[int, str]],
    request: TableRequest,
    words: QuestionWords,
    *,
    named: Collection[int] = (),
) -> FramedTable | None:
    """Return the rows of a table, by its lines with their places; None where it does not suit the columns.

    `named` are the places of the columns that a table of the document has by their names.
    """
    columns = request.columns
    read = [(start, line, *read_row(header, line)) for start, line in lines]
    most = max((sum(map(bool, cells)) for *_, cells in read), default=0)
    rows = [
        (start, line, cells)
        for start, line, names, cells in read
        # A table over several pages says its header on each.
        if cells and cells != names and not is_total(cells, most)
    ]
    if not rows:
        return None
    names = read[0][2]
    places = map_columns(columns, names, [cells for _, _, cells in rows[:_SAMPLE]], request.noun, named)
    if len(places) < max(_LEAST_COLUMNS, len(columns) / 2):
        return None
    above = find_stems(f"{leads} {header}")
    wanted = words.stems - above - find_stems(" ".join(one.name for one in columns))
    own = [_count_said(cells, wanted, find_stems(request.head)) for _, _, cells in rows]
    most = max(own)
    filled = [
        PlainRow(
            start=start,
            end=start + len(line),
            text=line.strip(),
            cells=tuple(cells[places[at]] or None if at in places else None for at in range(len(columns))),
        )
        for (start, line, cells), count in zip(rows, own, strict=True)
        if count == most
    ]
    score = words.share(f"{leads} {header}") + len(places) / len(columns)
    rows_filled = tuple(row for row in filled if any(row.cells))
    return FramedTable(rows=rows_filled, score=score, is_named=has_named(columns, names))


def _count_said(cells: Sequence[str], wanted: set[str], thing: set[str]) -> int:
    """Return how many of the words stand in a row; what a row is called tells rows apart only as a whole cell.

    Of payments, "part payment" in the text of one says nothing of the others; in a column of kinds, "payment" does.
    """
    said = [find_stems(cell) for cell in cells]
    return len({stem for stems in said for stem in stems & wanted if stem not in thing or stems <= thing})


def fill_in_order(
    lines: Sequence[tuple[int, str]], leads: str, columns: Sequence[Column], words: QuestionWords
) -> FramedTable | None:
    """Return the rows of a table by the order of its columns; None where it does not have all columns in that order."""
    read = [(start, line, split_cells(line)) for start, line in lines]
    width = mode([len(cells) for _, _, cells in read])
    rows = [(start, line, cells) for start, line, cells in read if len(cells) == width]
    if min(len(rows), len(columns)) < _LEAST_IN_ORDER:
        return None
    cells = [[row[at] for _, _, row in rows[:_SAMPLE] if row[at]] for at in range(width)]
    places = _place_in_order(columns, cells, min(len(rows), _SAMPLE))
    if not places:
        return None
    filled = [
        PlainRow(start=start, end=start + len(line), text=line.strip(), cells=tuple(row[at] or None for at in places))
        for start, line, row in rows
        if not is_total(row, width)
    ]
    kept = tuple(row for row in filled if sum(map(bool, row.cells)) > len(columns) / 2 and _is_typed(row, columns))
    return FramedTable(rows=kept, score=words.share(leads), is_named=False) if len(kept) >= _LEAST_IN_ORDER else None


def _place_in_order(columns: Sequence[Column], cells: Sequence[Sequence[str]], total: int) -> tuple[int, ...]:
    """Return the places of all columns, each behind the one before; empty where they have none."""
    # By how many columns have their place: the best sum so far, and the places.
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for place, held in enumerate(cells):
        for count in sorted(best, reverse=True):
            worth = _weigh(columns[count], held, total) if count < len(columns) else 0.0
            found = (best[count][0] + worth, (*best[count][1], place))
            if worth and (count + 1 not in best or found > best[count + 1]):
                best[count + 1] = found
    return best.get(len(columns), (0.0, ()))[1]


def _weigh(column: Column, held: Sequence[str], total: int) -> float:
    """Return how well cells suit a column, by how full and different they are; 0 where most are of another kind."""
    if column.kind is Kind.NUMBER and CODES.search(column.name):
        right = sum(any(map(str.isdigit, cell)) for cell in held)
    elif column.kind is Kind.TEXT and not _OF_CLOCKS.search(column.name):
        right = sum(
            any(map(str.isalpha, cell)) and not is_of(cell, Kind.DATE) and not _CLOCK.fullmatch(cell) for cell in held
        )
    elif column.kind is Kind.NUMBER and _are_counted([cell for cell in held if cell.isdecimal()]):
        right = 0
    else:
        right = sum(is_of(cell, column.kind) for cell in held)
    return (len(held) + len({*held})) / total if held and right >= _MOST_OF * len(held) else 0.0


def _are_counted(numbers: Sequence[str]) -> bool:
    return len(numbers) >= _LEAST_IN_ORDER and [*numbers] == [str(at + 1) for at in range(len(numbers))]


def _is_typed(row: PlainRow, columns: Sequence[Column]) -> bool:
    """Tell if a row is no header: a cell is of its column's kind, where there are such columns."""
    typed = [(cell, one) for cell, one in zip(row.cells, columns, strict=True) if one.kind is not Kind.TEXT]
    return not typed or any(fits(one, cell) for cell, one in typed if cell)
