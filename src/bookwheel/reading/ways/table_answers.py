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
    from bookwheel.types import Document


class RowAnswer(NamedTuple):
    """An answer that the structure of a table gives."""

    text: str
    passage: str
    """The rows that it rests on, a line each, as they are shown."""
    is_sure: bool


def find_table_answer(question: str, passage: str, document: Document) -> RowAnswer | None:
    """Return what the table says of which a passage is a row; None where it is no row, or nothing can be told."""
    *leads, header, row = ("", *passage.split(GAP))
    if not header or find_style(question) != "span":
        return None
    if asks_comparison(question):
        rows = index_passages(document).list_table(passage)
        shown = {one.text: one.shown for one in rows}
        found = compare_rows(question, header, list(shown))
        lines = "\n".join(shown[text] for text in found.rows) if found else ""
        return RowAnswer(found.text, lines, is_sure=found.is_named) if found else None
    cell = find_cell(header, row, question, " ".join(leads))
    return RowAnswer(cell.text, passage, is_sure=cell.is_named) if cell else None
