"""Collect from Python: `collect` for scripts and notebooks, `acollect` for async programs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bookwheel.arguments import Source, find_own_model, make_blocking, open_source, resolve_journal
from bookwheel.configuration import Connection, load_configuration
from bookwheel.documents.cancellation import run_cancellable
from bookwheel.journal import Journal
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.runner import Watch, ignore_event
from bookwheel.session import Session, WayRequest, open_session
from bookwheel.tables.build import check_key, edit_row, load_rows
from bookwheel.tables.columns import TableRequest
from bookwheel.tables.proposal import CompleteRequest, complete_request
from bookwheel.tables.table import Table
from bookwheel.tables.way import join_parts
from bookwheel.text.lexicon import BEGINNING, language_of


@asynccontextmanager
async def open_python_session(
    model: str | Model | None, journal: str | Path | None, settings: dict[str, Any]
) -> AsyncGenerator[tuple[Session, Journal]]:
    """Open the session of a Python call; what is of the connection is taken out of the settings."""
    own, files = find_own_model(model), load_configuration()
    connection = Connection.pop_from(settings, model)
    with Journal(resolve_journal(journal)) as store:
        async with open_session(connection, store, model=own, configuration=files) as session:
            yield session, store


async def acollect(
    source: Source,
    sentence: str | TableRequest,
    *,
    schema: Mapping[str, Any] | None = None,
    key: Sequence[str] = (),
    parallel: bool = False,
    gate: str = "",
    model: str | Model | None = None,
    plan: Plan | None = None,
    journal: str | Path | None = None,
    watch: Watch = ignore_event,
    **settings: Any,
) -> Table:
    """Read documents from beginning to end and return every row of a kind.

    `sentence` says what a row is and names the columns after a colon: "every obligation: who, what, until when". With
    `schema`, the JSON Schema of a row, it need not; without both, the model proposes columns. `key` names the columns
    that tell rows apart: rows that agree there and differ elsewhere are marked as contradicting. `parallel` reads
    segments side by side; `gate`, "gated" or "cascade", skips sections. The rest is as in `bookwheel.read`.
    """
    request = TableRequest.from_schema(str(sentence), schema) if schema else sentence
    everything = bool(settings.pop("everything", False))
    document = await run_cancellable(partial(open_source, source, everything=everything))
    async with open_python_session(model, journal, settings) as (session, store):
        whole = session.build_plan(settings, plan)
        language = whole.language or language_of(document.slice(0, BEGINNING))
        own = request.of_language(language) if isinstance(request, TableRequest) else None
        complete = CompleteRequest(request=own) if own else None
        complete = complete or await complete_request(str(request), session.model, whole)
        check_key(complete.request, key)
        way = WayRequest(way=join_parts(gate, is_parallel=parallel))
        kept = await session.keep(document)
        question = complete.request.to_question()
        prepared = await session.prepare(kept, [question], whole, way, spent=complete.usage)
        (reading,) = await session.run(prepared, watch)
        return await asyncio.to_thread(load_rows, store, store.reading(reading.id), key)


def load_table(reading: str, *, key: Sequence[str] = (), journal: str | Path | None = None) -> Table:
    """Return the table of a reading of the journal, by its id, the first characters of it, or "last"."""
    with Journal(resolve_journal(journal)) as store:
        return load_rows(store, store.reading(reading), key)


def edit_table(
    reading: str,
    row: str,
    values: Mapping[str, str | None] | None,
    *,
    key: Sequence[str] = (),
    journal: str | Path | None = None,
) -> Table:
    """Change values of a row by hand, by the row's id, or remove it with None; that stays when the reading goes on."""
    with Journal(resolve_journal(journal)) as store:
        table = load_rows(store, store.reading(reading), key)
        edit_row(store, table, row, values)
        return table


collect = make_blocking(acollect, "collect")
