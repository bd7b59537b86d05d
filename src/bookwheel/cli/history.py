"""`bookwheel list`: the readings in the journal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from bookwheel.cli.options import OutputOptions, PositiveInt, Text

if TYPE_CHECKING:
    from rich.table import Table

    from bookwheel.types import Reading

# The columns of a list, and the least width of each.
_COLUMNS: Final = {"reading": 8, "when": 16, "status": 9, "cost": 4, "document": 8, "question": 8, "answer": 8}
_MAX_WIDTH: Final = 48
_COLOURS: Final = {"answered": "green", "failed": "red", "stopped": "yellow", "cancelled": "yellow", "reading": "cyan"}


def list_readings(
    *, search: Text | None = None, limit: PositiveInt | None = None, output: OutputOptions | None = None
) -> int:
    """List the readings in the journal, newest first.

    Parameters
    ----------
    search
        List only readings with these words in the question, answer, document name or model.
    limit
        List at most this many; by default, all.

    """
    from bookwheel.cli.output import print_line, stderr, stdout
    from bookwheel.record import reading_to_json

    output = output or OutputOptions()
    readings: list[Reading] = []
    if journal := output.find_journal():
        with journal:
            readings = journal.readings(limit=limit, search=search)
    if output.as_json:
        print_line(json.dumps([reading_to_json(reading, steps=False) for reading in readings]))
        return 0
    if not readings:
        none = f"no reading has {search!r} in it" if search else "no readings yet"
        stderr().print(f'{none}; start one with: bookwheel ask FILE "QUESTION"', style="dim", markup=False)
        return 0
    stdout().print(_build_table(readings))
    return 0


def _build_table(readings: list[Reading]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from bookwheel.text.sanitize import sanitize

    table = Table(box=None, header_style="bold", pad_edge=False)
    columns = {head: width for head, width in _COLUMNS.items() if head != "cost" or any(r.cost for r in readings)}
    for head, width in columns.items():
        table.add_column(head, overflow="ellipsis", no_wrap=True, min_width=width, max_width=max(width, _MAX_WIDTH))
    for reading in readings:
        answer = reading.answer.text if reading.answer else reading.error
        row = (reading.id[:8], reading.created[:16].replace("T", " "), reading.status)
        cost = ("" if reading.cost is None else f"{reading.cost:.4g}",) if "cost" in columns else ()
        texts = (reading.document.name, reading.question, answer)
        cells = (*cost, *(sanitize(text).replace("\n", " ") for text in texts))
        colour = _COLOURS.get(reading.status, "")
        table.add_row(*(Text(text, style=colour if text == reading.status else "") for text in (*row, *cells)))
    return table
