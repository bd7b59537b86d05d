"""Print the list of readings. Nothing here needs the parser of the command line, so that `bookwheel list` is quick."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bookwheel.journal.files import claim_path, is_held
from bookwheel.journal.listing import ListedReading, list_rows

# The columns of a list, and the least width of each.
_COLUMNS: Final = {"reading": 8, "when": 16, "status": 9, "cost": 4, "document": 8, "question": 8, "answer": 8}
_MAX_WIDTH: Final = 48
_GAP: Final = "  "
_COLOURS: Final = {
    "answered": "green",
    "failed": "red",
    "stopped": "yellow",
    "cancelled": "yellow",
    "interrupted": "yellow",
    "reading": "cyan",
}


def print_list(path: Path, *, limit: int | None = None, search: str | None = None) -> None:
    """Print the readings of a journal as a table, or that there are none. A missing file is not created."""
    rows = list_rows(path, limit=limit, search=search) if path.exists() else []
    # What was killed says nowhere that it ended.
    rows = [
        row._replace(status="interrupted") if row.status == "reading" and not is_held(claim_path(path, row.id)) else row
        for row in rows
    ]
    if rows:
        sys.stdout.writelines(f"{line}\n" for line in _format_table(rows))
    else:
        from bookwheel.cli.output import stderr
        from bookwheel.cli.terminal import StyledLine

        none = f"no reading has {search!r} in it" if search else "no readings yet"
        stderr().print(StyledLine(f'{none}; start one with: bookwheel ask FILE "QUESTION"', style="dim"))


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


def _format_table(rows: list[ListedReading]) -> Iterator[str]:
    """Yield the lines of the table. Not by rich, which takes seconds for 10,000 rows."""
    from bookwheel.cli.terminal import has_colour, measure, paint
    from bookwheel.text.sanitize import sanitize

    has_costs = any(row.cost for row in rows)
    heads = [head for head in _COLUMNS if head != "cost" or has_costs]
    cells = []
    for row in rows:
        texts = (sanitize(text).replace("\n", " ") for text in (row.document, row.question, row.outcome))
        cost = ["" if row.cost is None else f"{row.cost:.4g}"] if has_costs else []
        cells.append([row.id[:8], row.created[:16].replace("T", " "), row.status, *cost, *texts])
    widths = [
        min(max(_COLUMNS[head], *map(measure, column)), max(_COLUMNS[head], _MAX_WIDTH))
        for head, column in zip(heads, zip(*cells, strict=True), strict=True)
    ]
    if sys.stdout.isatty():
        _shrink(widths, [_COLUMNS[head] for head in heads], os.get_terminal_size(sys.stdout.fileno()).columns)
    is_coloured = has_colour(sys.stdout)
    yield paint(_GAP.join(map(_fit, heads, widths)).rstrip(), "bold" if is_coloured else "")
    at = heads.index("status")
    for line in cells:
        fitted = [*map(_fit, line, widths)]
        fitted[at] = paint(fitted[at], _COLOURS.get(line[at], "") if is_coloured else "")
        yield _GAP.join(fitted).rstrip()


def _shrink(widths: list[int], least: list[int], most: int) -> None:
    """Take from the widest columns until all fit a terminal, or none can give any more."""
    while sum(widths) + len(_GAP) * (len(widths) - 1) > most:
        spare, at = max((width - least[at] and width, at) for at, width in enumerate(widths))
        if not spare:
            return
        widths[at] -= 1


def _fit(text: str, width: int) -> str:
    """Return the text as wide as its column, its end left out where it is wider."""
    from bookwheel.cli.terminal import measure

    end = "…" if measure(text) > width else ""
    while measure(text) > width - len(end):
        text = text[:-1]
    return text + end + " " * (width - len(end) - measure(text))
