"""Rows of cells as the lines of a Markdown table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def format_rows(rows: Iterator[list[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table; the first row is its head. Empty rows are left out."""
    is_head = True
    for row in rows:
        cells = [" ".join(cell.split()).replace("|", "\\|") for cell in row]
        if not any(cells):
            continue
        yield f"| {' | '.join(cells)} |"
        if is_head:
            yield f"|{' --- |' * len(cells)}"
            is_head = False
