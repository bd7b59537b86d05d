"""The rows of a list of readings, straight from the tables.

`Journal.readings` returns whole values, whose types take longer to import than the list takes to print.
"""

from __future__ import annotations

import json
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from bookwheel.errors import JournalError
from bookwheel.journal.files import connect_read_only, prepare_file, translate_errors
from bookwheel.journal.tables import IS_SOUND, load_text

_COLUMNS: Final = (
    "readings.id, created, status, documents.name, question, coalesce(answer, error), plan, "
    "prompt_tokens, completion_tokens, error_kind"
)
SEARCH_CONDITION: Final = "mentions(?1, question, answer, documents.name, model)"
"""The condition of a search for `?1`."""


class ListedReading(NamedTuple):
    """One row of a list."""

    id: str
    created: str
    status: str
    document: str
    question: str
    outcome: str
    """The answer, or why there is none."""
    cost: float | None
    """None without prices."""
    error_kind: str = ""


def list_rows(path: Path, *, limit: int | None = None, search: str | None = None) -> list[ListedReading]:
    """Return the newest readings of a journal first. An older journal is brought up to date."""
    where = f" WHERE {SEARCH_CONDITION}" if search else ""
    # A document is checked once, however many readings it has.
    damaged = f"SELECT id FROM documents WHERE NOT {IS_SOUND['documents']}"
    is_sound = f"{IS_SOUND['readings']} AND document NOT IN ({damaged})"
    query = (
        f"SELECT {is_sound}, {_COLUMNS} FROM readings JOIN documents ON documents.id = document{where} "
        "ORDER BY number DESC LIMIT ?2"
    )
    with translate_errors(path, "read"):
        try:
            connection = connect_read_only(path)
        except JournalError:  # of another version; migrated if it is an older one, else refused with a reason
            prepare_file(path)
            connection = connect_read_only(path)
        with closing(connection):
            rows = connection.execute(query, (search or "", -1 if limit is None else limit)).fetchall()
    return [_parse_row(*row) for row in rows]


def _parse_row(is_sound: int, id_: str, created: str, status: str, *rest: Any) -> ListedReading:
    if not is_sound:
        created, status, rest = "", "damaged", ("", "", "see bookwheel doctor --repair", "{}", 0, 0, "")
    *texts, plan, prompt_tokens, completion_tokens, error_kind = rest
    document, question, outcome = map(load_text, texts)
    prices = _load_prices(plan)
    cost = (prompt_tokens * prices[0] + completion_tokens * prices[1]) / 1e6 if any(prices) else None
    return ListedReading(id_, created, status, document, question, outcome, cost, error_kind or "")


@lru_cache(maxsize=64)  # the readings of a journal share a few plans
def _load_prices(plan: str | bytes) -> tuple[float, float]:
    budget = json.loads(plan).get("budget", {})
    return budget.get("price_in", 0), budget.get("price_out", 0)
