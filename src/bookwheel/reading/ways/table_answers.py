"""A short answer out of a table: the cell that a question asks for, the row that has the most, those beyond a bound.

A small model that copies mistakes one column for another: of 15 cells of real documents it copied 6, and the columns'
names told 12 (lab/2026-11-28-tables.md).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from bookwheel.reading.ways.document_index import index_passages
from bookwheel.reading.ways.passages import GAP
from bookwheel.reading.ways.short_answers import find_style
from bookwheel.text.comparisons import asks_comparison, compare_rows, find_outermost, measure
from bookwheel.text.rows import find_cell, read_row
from bookwheel.text.selections import asks_bound, select_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.reading.ways.passages import Window
    from bookwheel.types import Document


_COUNTS: Final = re.compile(r"\bhow many\b|(?:多少|几)[个位家种款门项]", re.IGNORECASE)
_HOW_MANY: Final = re.compile(r"\bhow (?:many|much)\b|多少|几[个位张台]", re.IGNORECASE)


class RowAnswer(NamedTuple):
    """An answer that the structure of a table gives."""

    text: str
    passage: str
    """The rows that it rests on, a line each, as they are shown."""
    is_sure: bool
    is_compared: bool
    """Whether rows of the whole table tell it; else the passage alone."""


def find_table_answer(question: str, passage: str, document: Document) -> RowAnswer | None:
    """Return what a table says: that of which the passage is a row, or any where rows are compared.

    A list has the rows that the question tells by a bound or a word; else one row is meant.
    """
    style, is_bound = find_style(question), asks_bound(question)
    is_list = style == "list" or is_bound
    is_whole = (style == "span" and asks_comparison(question)) or is_list
    if style not in ("span", "list") or (GAP not in passage and not is_whole):
        return None
    tables = index_passages(document).list_tables()
    own = next((row for rows in tables for row in rows if row.shown.endswith(passage)), None) if passage else None
    if is_whole:
        tables.sort(key=lambda rows: own is None or rows[0].lead_spans[-1] != own.lead_spans[-1])
        # A word of the question may stand in any table.
        wide = tables if is_bound or not is_list else tables[: own is not None]
        ask = _list_rows if is_list else _compare
        return next(filter(None, (ask(question, rows) for rows in wide)), None)
    if own is None:
        return None
    header, line = _read_header(own), _read_line(own)
    if time := find_outermost(question, read_row(header, line)[1]):
        return RowAnswer(time, passage, is_sure=False, is_compared=False)
    cell = find_cell(header, line, question, " ".join(own.leads))
    if cell and _HOW_MANY.search(question) and measure(cell.text, ends=False) is None:
        return None
    return RowAnswer(cell.text, passage, is_sure=cell.is_named, is_compared=False) if cell else None


def _compare(question: str, rows: Sequence[Window]) -> RowAnswer | None:
    shown = {_read_line(row): row.shown for row in rows}
    found = compare_rows(question, _read_header(rows[0]), list(shown))
    return _tell(found.text, [shown[row] for row in found.rows], is_sure=found.is_certain) if found else None


def _list_rows(question: str, rows: Sequence[Window]) -> RowAnswer | None:
    """Return the names of the rows that are asked for, or their number where that is."""
    shown = {_read_line(row): row.shown for row in rows}
    found = select_rows(question, _read_header(rows[0]), list(shown))
    is_count = bool(_COUNTS.search(question))
    if found is None or (is_count and not found.is_measured):
        return None
    text = str(len(found.names)) if is_count else "\n".join(found.names)
    return _tell(text, [shown[row] for row in found.rows], is_sure=found.is_measured and not is_count)


def _tell(text: str, shown: Sequence[str], *, is_sure: bool) -> RowAnswer:
    return RowAnswer(text, "\n".join(shown), is_sure=is_sure, is_compared=True)


def _read_line(row: Window) -> str:
    return row.source[row.start : row.end]


def _read_header(row: Window) -> str:
    return row.source[slice(*row.lead_spans[-1])]
