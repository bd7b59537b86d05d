"""Print the list of readings. Nothing here needs the parser of the command line, so that `bookwheel list` is quick."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

from bookwheel.journal.listing import list_rows

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from bookwheel.journal.listing import ListedReading

# The columns of a list, and the least width of each.
_COLUMNS: Final = {"reading": 8, "when": 16, "status": 9, "cost": 4, "document": 8, "question": 8, "answer": 8}
_MAX_WIDTH: Final = 48
_COLOURS: Final = {"answered": "green", "failed": "red", "stopped": "yellow", "cancelled": "yellow", "reading": "cyan"}


def print_list(path: Path, *, limit: int | None = None, search: str | None = None) -> None:
    """Print the readings of a journal as a table, or that there are none. A missing file is not created."""
    from bookwheel.cli.output import stderr, stdout

    rows = list_rows(path, limit=limit, search=search) if path.exists() else []
    if rows:
        stdout().print(_build_table(rows))
    else:
        none = f"no reading has {search!r} in it" if search else "no readings yet"
        stderr().print(f'{none}; start one with: bookwheel ask FILE "QUESTION"', style="dim", markup=False)


def print_json_list(path: Path, *, limit: int | None = None, search: str | None = None) -> None:
    """Print the readings of a journal as JSON; none if there is no file, which is not created."""
    from bookwheel.journal import open_existing
    from bookwheel.record import summary_to_json

    journal = open_existing(path)
    readings = []
    if journal:
        with journal:
            readings = journal.readings(limit=limit, search=search)
    # Not by `print_line`, whose module loads what prints tables.
    sys.stdout.write(json.dumps([summary_to_json(reading) for reading in readings]) + "\n")


def _build_table(rows: list[ListedReading]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from bookwheel.text.sanitize import sanitize

    has_costs = any(row.cost for row in rows)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head, width in _COLUMNS.items():
        if head != "cost" or has_costs:
            maximum = max(width, _MAX_WIDTH)
            table.add_column(head, overflow="ellipsis", no_wrap=True, min_width=width, max_width=maximum)
    for row in rows:
        texts = (sanitize(text).replace("\n", " ") for text in (row.document, row.question, row.outcome))
        cost = [Text("" if row.cost is None else f"{row.cost:.4g}")] if has_costs else []
        status = Text(row.status, style=_COLOURS.get(row.status, ""))
        table.add_row(row.id[:8], row.created[:16].replace("T", " "), status, *cost, *map(Text, texts))
    return table
