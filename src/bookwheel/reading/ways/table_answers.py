"""A short answer out of a table: the cell that a question asks for, or the row that has the most or the least.

A small model that copies mistakes one column for another: of 15 cells of real documents it copied 6, and the columns'
names told 12 (lab/2026-11-28-tables.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bookwheel.reading.ways.document_index import index_passages
from bookwheel.reading.ways.passages import GAP
from bookwheel.reading.ways.short_answers import find_style
from bookwheel.text.comparisons import asks_comparison, compare_rows
from bookwheel.text.rows import find_cell

if TYPE_CHECKING:
    from bookwheel.reading.ways.passages import Window
    from bookwheel.types import Document


class RowAnswer(NamedTuple):
    """An answer that the structure of a table gives."""

    text: str
    passage: str
    """The rows that it rests on, a line each, as they are shown."""
    is_sure: bool
    is_compared: bool
    """Whether rows of the whole table tell it; else the passage alone."""


def find_table_answer(question: str, passage: str, document: Document) -> RowAnswer | None:
    """Return what a table says: that of which the passage is a row, or for a comparison any; None where none tells."""
    if find_style(question) != "span":
        return None
    is_comparison = asks_comparison(question)
    if not is_comparison and GAP not in passage:
        return None
    tables = index_passages(document).list_tables()
    tables.sort(key=lambda rows: not any(row.shown.endswith(passage) for row in rows))
    for rows in tables if is_comparison else ():
        shown = {row.source[row.start : row.end]: row.shown for row in rows}
        if found := compare_rows(question, _read_header(rows[0]), list(shown)):
            lines = "\n".join(shown[text] for text in found.rows)
            return RowAnswer(found.text, lines, is_sure=found.is_certain, is_compared=True)
    own = (
        next((row for row in tables[0] if row.shown.endswith(passage)), None) if tables and not is_comparison else None
    )
    if own is None:
        return None
    cell = find_cell(_read_header(own), own.source[own.start : own.end], question, " ".join(own.leads))
    return RowAnswer(cell.text, passage, is_sure=cell.is_named, is_compared=False) if cell else None


def _read_header(row: Window) -> str:
    return row.source[slice(*row.lead_spans[-1])]
