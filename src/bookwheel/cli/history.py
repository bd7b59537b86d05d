"""`bookwheel list`: the readings in the journal."""

from __future__ import annotations

from bookwheel.cli.option_types import PositiveInt, Text
from bookwheel.cli.options import OutputOptions


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
    from bookwheel.cli.listing import print_json_list, print_list

    output = output or OutputOptions()
    output.check_journal()
    (print_json_list if output.as_json else print_list)(output.path, limit=limit, search=search)
    return 0
