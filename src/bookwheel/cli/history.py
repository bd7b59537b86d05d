"""`bookwheel list`: the readings in the journal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bookwheel.cli.options import OutputOptions, PositiveInt, Text

if TYPE_CHECKING:
    from bookwheel.types import Reading


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
    from bookwheel.cli.listing import print_list

    output = output or OutputOptions()
    if output.as_json:
        _print_json(output, limit, search)
    else:
        output.check_journal()
        print_list(output.path, limit=limit, search=search)
    return 0


def _print_json(output: OutputOptions, limit: int | None, search: str | None) -> None:
    from bookwheel.cli.output import print_line
    from bookwheel.record import reading_to_json

    readings: list[Reading] = []
    if journal := output.find_journal():
        with journal:
            readings = journal.readings(limit=limit, search=search)
    print_line(json.dumps([reading_to_json(reading, steps=False) for reading in readings]))
