"""The JSON of listed readings: a client asks for the same list again and again, of which few rows have changed.

What is made of a row depends on the row and its label alone, so these are the key, and nothing kept can be out of date.
"""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from bookwheel.journal.readings import load_reading
from bookwheel.journal.shelf import Label
from bookwheel.record import summary_to_json

# A list has at most a thousand rows. With the characters of a row, some 60 MB at the most, and 5 MB of ordinary rows.
_MOST_ROWS: Final = 1024
_MOST_CHARACTERS: Final = 8192

Row: TypeAlias = Sequence[Any]


class Summaries:
    """The newest of all clients. A row that is too long to be kept is made anew each time."""

    def __init__(self) -> None:
        self.clear()

    def begin(self) -> Callable[[Row, Label | None], str]:
        """Return what gives the JSON of a row of `Journal.list_rows`, in ASCII as all answers are.

        It is begun before the rows are listed: one of them may be deleted meanwhile, and `clear` leaves nothing of it.
        """
        dump_kept = self._dump_kept

        def dump(row: Row, label: Label | None) -> str:
            characters = sum(len(value) for value in row if isinstance(value, str | bytes))
            return dump_kept(row, label) if characters <= _MOST_CHARACTERS else _dump(row, label)

        return dump

    def clear(self) -> None:
        """Drop them all: a reading of them may have been deleted. A list under way keeps its own till it ends."""
        self._dump_kept = lru_cache(_MOST_ROWS)(_dump)


def label_to_json(label: Label | None) -> dict[str, Any]:
    if label is None:
        return {}
    return {**({"name": label.name} if label.name else {}), **({"starred": True} if label.starred else {})}


def _dump(row: Row, label: Label | None) -> str:
    return json.dumps({**summary_to_json(load_reading(row)), **label_to_json(label)}, separators=(",", ":"))
