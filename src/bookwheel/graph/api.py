"""A graph from Python: `collect_graph` for scripts and notebooks, `acollect_graph` for async programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bookwheel.arguments import Source, make_blocking, resolve_journal
from bookwheel.errors import InputError
from bookwheel.graph.facts import REQUEST, FactGraph, build_graph, is_graph
from bookwheel.graph.way import NAME
from bookwheel.journal import Journal
from bookwheel.models.base import Model
from bookwheel.tables.api import acollect
from bookwheel.tables.build import apply_edits, build_table, load_rows
from bookwheel.tables.table import Table
from bookwheel.types import Reading


async def acollect_graph(
    source: Source,
    *,
    parallel: bool = False,
    gate: str = "",
    model: str | Model | None = None,
    journal: str | Path | None = None,
    **settings: Any,
) -> FactGraph:
    """Read documents from beginning to end and return the graph of what they say; the rest is as in `collect`."""
    table = await acollect(source, REQUEST, parallel=parallel, gate=gate, model=model, journal=journal, **settings)
    return build_graph(table)


def load_facts(journal: Journal, reading: Reading) -> Table:
    """Return the table of facts of a reading, by `bookwheel graph` or the way `graph`; InputError where it has none."""
    if reading.way == NAME:
        table = build_table(reading, journal.document_of(reading.id), request=REQUEST)
        apply_edits(table, dict(journal.row_edits(reading.id)))
        return table
    table = load_rows(journal, reading)
    if not is_graph(table):
        raise InputError(f"reading {reading.id[:8]} has a table and no graph; bookwheel graph SOURCE makes one")
    return table


def load_graph(reading: str, *, journal: str | Path | None = None) -> FactGraph:
    """Return the graph of a reading of the journal, by its id, the first characters of it, or "last"."""
    with Journal(resolve_journal(journal)) as store:
        return build_graph(load_facts(store, store.reading(reading)))


collect_graph = make_blocking(acollect_graph, "collect_graph")
