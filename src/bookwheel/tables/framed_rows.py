"""Rows of tables with a header: which tables of a document suit the columns, and the cells of their rows.

    | No. | Action        | Owner | Due    |      asked: every action: who, what, until when
    |-----|---------------|-------|--------|
    | 1   | Order a survey | Joel | 31 May |      row: Joel, Order a survey, 31 May

A table suits that has at least half of the columns. All of its rows are rows, save totals; where the sentence has words
that stand in some rows alone ("every invoice of Kestrel Legal"), only those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.tables.headers import map_columns
from bookwheel.tables.plain_rows import TOTAL, PlainRow
from bookwheel.text.ranking import find_stems
from bookwheel.text.rows import read_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.tables.columns import Column
    from bookwheel.text.ranking import QuestionWords

_LEAST_COLUMNS: Final = 2
_SAMPLE: Final = 200
"""Rows that tell what a column's cells are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FramedTable:
    """The rows of one table that suits."""

    rows: tuple[PlainRow, ...]
    score: float
    """How much of the sentence stands in its header and above it, and how many of the columns it has."""


def fill_table(
    header: str, leads: str, lines: Sequence[tuple[int, str]], columns: Sequence[Column], words: QuestionWords
) -> FramedTable | None:
    """Return the rows of a table, by its lines with their places; None where it does not suit the columns."""
    read = [(start, line, *read_row(header, line)) for start, line in lines]
    rows = [(start, line, cells) for start, line, _, cells in read if cells and not TOTAL.match(line.strip(" |"))]
    if not rows:
        return None
    names = read[0][2]
    places = map_columns(columns, names, [cells for _, _, cells in rows[:_SAMPLE]])
    if len(places) < max(_LEAST_COLUMNS, len(columns) / 2):
        return None
    above = find_stems(f"{leads} {header}")
    wanted = words.stems - above
    own = [len(wanted & find_stems(line)) for _, line, _ in rows]
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
    return FramedTable(rows=tuple(row for row in filled if any(row.cells)), score=score)
