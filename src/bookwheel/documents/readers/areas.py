"""The tables of one sheet: below each other with an empty row between, or side by side with an empty column.

| Plot | Tenant |  | Round | Points |     what has names of columns of its own is a table of its own
| 1    | Ada    |  | 1     | 12     |
|      |        |  |       |        |     an empty row alone parts nothing: rows may stand in groups
| Rent is paid in May.              |     one cell in each row behind an empty one: lines beside the table
|      |        |  |       |        |
| Waiting list                      |
| No.  | Name   |
| 1    | Bo     |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice
from typing import Final, NamedTuple

from bookwheel.documents.readers.grid import SIGN, Span, format_rows
from bookwheel.text.cells import has_header

_SAMPLE: Final = 50
_MOST_TITLES: Final = 2
_LEAST: Final = 2
"""Rows and columns of a table."""


class _Area(NamedTuple):
    """A part of a sheet, from its first row and column up to its last."""

    top: int
    bottom: int
    left: int
    right: int


def format_sheet(
    rows: Sequence[Sequence[str]], guess: Callable[[str], object] = str, *, spans: Sequence[Span] = ()
) -> str:
    """Return the tables of a sheet in Markdown, and the lines beside them."""
    width = max(map(len, rows), default=0)
    table = [[*map(str.strip, row), *[""] * (width - len(row))] for row in rows]
    areas = list(_split(table, _Area(0, len(table), 0, width), spans))
    if len(areas) == 1:
        return "\n".join(format_rows(rows, guess, spans=spans))
    texts = []
    for area in areas:
        own = [row[area.left : area.right] for row in table[area.top : area.bottom]]
        if all(sum(map(bool, row)) <= 1 for row in own):
            lines = [" ".join("".join(row).split()) for row in own if any(row)]
            texts.append("\n\n".join(SIGN.sub(r"\\\g<0>", one, count=1) if SIGN.match(one) else one for one in lines))
            continue
        # The table may be narrower than another one of the sheet.
        last = max(at for row in own for at, cell in enumerate(row) if cell)
        own = [row[: last + 1] for row in own]
        inside = [Span(s.row - area.top, s.column - area.left, s.height, s.width) for s in spans if _is_in(s, area)]
        texts.append("\n".join(format_rows(own, guess, spans=inside)))
    return "\n\n".join(filter(None, (text.strip("\n") for text in texts)))


def _is_in(span: Span, area: _Area) -> bool:
    return area.top <= span.row < area.bottom and area.left <= span.column < area.right


def _split(table: Sequence[Sequence[str]], area: _Area, spans: Sequence[Span]) -> Iterator[_Area]:
    rows = [row[area.left : area.right] for row in table[area.top : area.bottom]]
    over_rows = {at for s in spans if _is_in(s, area) for at in range(s.row, s.row + s.height)}
    runs = _list_runs([any(row) or area.top + at in over_rows for at, row in enumerate(rows)])
    parts, was_lines = list[tuple[int, int]](), False
    for first, end in runs:
        run = rows[first:end]
        are_lines = _are_lines(run)
        if not parts or _begins_table(run) or (are_lines and not was_lines):
            parts.append((first, end))
        elif was_lines and not are_lines and len(parts) > 1:  # The words name a group of rows of the table above.
            parts[-2:] = [(parts[-2][0], end)]
        else:
            parts[-1] = (parts[-1][0], end)
        was_lines = are_lines and (parts[-1][0] == first or was_lines)
    if len(parts) > 1:
        for first, end in parts:
            yield from _split(table, _Area(area.top + first, area.top + end, area.left, area.right), spans)
        return
    over = {at for s in spans if _is_in(s, area) for at in range(s.column, s.column + s.width)}
    columns = [area.left + at in over or any(row[at] for row in rows) for at in range(area.right - area.left)]
    beside = _list_runs(columns)
    columns_of = [[row[first:end] for row in rows] for first, end in beside]
    if len(beside) > 1 and all(map(_begins_table, columns_of)) and all(map(_has_keys, columns_of[1:])):
        for first, end in beside:
            yield from _split(table, _Area(area.top, area.bottom, area.left + first, area.left + end), spans)
        return
    yield area


def _list_runs(held: Sequence[bool]) -> list[tuple[int, int]]:
    """Return where runs of what is held begin and end."""
    groups = [(is_held, [at for at, _ in group]) for is_held, group in groupby(enumerate(held), key=lambda one: one[1])]
    return [(places[0], places[-1] + 1) for is_held, places in groups if is_held]


def _are_lines(rows: Sequence[Sequence[str]]) -> bool:
    """Tell if all that stands in each row is its first cell."""
    return not any(cell for row in rows for cell in row[1:])


def _has_keys(columns: Sequence[Sequence[str]]) -> bool:
    """Tell if the first of some columns tells their rows apart, by words or as 1, 2, 3.

    Sums behind an empty column do not: torn from the names before it, they would be nobody's.
    """
    keys = [row[0] for row in islice(filter(any, columns), _MOST_TITLES + _SAMPLE) if any(row[1:])][1:]
    are_words = len({*keys}) == len(keys) and all(any(map(str.isalpha, key)) for key in keys)
    return are_words or keys == [str(at + 1) for at in range(len(keys))]


def _begins_table(rows: Sequence[Sequence[str]]) -> bool:
    """Tell if rows have names of columns of their own, below a title or two."""
    held = [*islice(filter(any, rows), _MOST_TITLES + _SAMPLE)]
    titles = next((at for at, row in enumerate(held) if sum(map(bool, row)) > 1), len(held))
    own = held[titles:]
    if titles > _MOST_TITLES or len(own) < _LEAST:
        return False
    names = [*filter(None, own[0])]
    has_figures = any(map(str.isdigit, "".join(names)))
    return len(names) >= _LEAST and len({*names}) == len(names) and not has_figures and has_header(own) is True
