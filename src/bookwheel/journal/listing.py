"""The rows of a list of readings, straight from the tables.

`Journal.readings` returns whole values, whose types take longer to import than the list takes to print.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bookwheel.errors import JournalError
from bookwheel.journal.checksums import IS_SOUND
from bookwheel.journal.schema import connect_read_only, prepare_file, translate_errors

if TYPE_CHECKING:
    from pathlib import Path

_COLUMNS: Final = (
    "readings.id, created, status, documents.name, question, coalesce(answer, error), plan, "
    "prompt_tokens, completion_tokens, error_kind"
)
SEARCH_CONDITION: Final = (
    "("
    + " OR ".join(f"instr(casefold({name}), casefold(?1))" for name in ("question", "answer", "name", "model"))
    + ")"
)
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
    is_sound = f"{IS_SOUND['readings']} AND {IS_SOUND['documents']}"
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
        try:
            rows = connection.execute(query, (search or "", -1 if limit is None else limit)).fetchall()
        finally:
            connection.close()
    return [_row_to_reading(*row) if is_sound else _name_damaged(str(row[0])) for is_sound, *row in rows]


def _name_damaged(id_: str) -> ListedReading:
    advice = "see bookwheel doctor --repair"
    return ListedReading(id=id_, created="", status="damaged", document="", question="", outcome=advice, cost=None)


def _row_to_reading(
    id_: str, created: str, status: str, document: str | bytes, question: str | bytes, outcome: str | bytes, *rest: Any
) -> ListedReading:
    *paid, error_kind = rest
    return ListedReading(
        id=id_,
        created=created,
        status=status,
        document=_to_text(document),
        question=_to_text(question),
        outcome=_to_text(outcome),
        cost=_find_cost(*paid),
        error_kind=error_kind or "",
    )


def _to_text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def _find_cost(plan: str | bytes, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return the cost by the prices in the plan."""
    budget = json.loads(plan).get("budget", {})
    price_in, price_out = budget.get("price_in", 0), budget.get("price_out", 0)
    return (prompt_tokens * price_in + completion_tokens * price_out) / 1e6 if price_in or price_out else None
