"""Collect from Python: `collect` for scripts and notebooks, `acollect` for async programs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from bookwheel.api import aread
from bookwheel.arguments import make_blocking, resolve_journal
from bookwheel.journal import Journal
from bookwheel.tables.columns import TableRequest
from bookwheel.tables.table import Table, build_table, check_key
from bookwheel.tables.way import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bookwheel.arguments import Source
    from bookwheel.models.base import Model


async def acollect(
    source: Source,
    sentence: str,
    *,
    schema: Mapping[str, Any] | None = None,
    key: Sequence[str] = (),
    model: str | Model | None = None,
    journal: str | Path | None = None,
    **settings: Any,
) -> Table:
    """Read documents from beginning to end and return every row of a kind.

    `sentence` says what a row is and names the columns after a colon: "every obligation: who, what, until when". With
    `schema`, the JSON Schema of a row, it need not. `key` names the columns that tell rows apart: rows that agree there
    and differ elsewhere are marked as contradicting. `settings` are those of `bookwheel.read`.
    """
    request = TableRequest.from_schema(sentence, schema) if schema else TableRequest.parse(sentence)
    check_key(request, key)
    reading = await aread(source, request.to_question(), model=model, way=NAME, journal=journal, **settings)
    return await asyncio.to_thread(load_table, reading.id, key=key, journal=journal)


def load_table(reading: str, *, key: Sequence[str] = (), journal: str | Path | None = None) -> Table:
    """Return the table of a reading of the journal, by its id, the first characters of it, or "last"."""
    with Journal(resolve_journal(journal)) as store:
        found = store.reading(reading)
        return build_table(found, store.document_of(found.id), key)


collect = make_blocking(acollect, "collect")
