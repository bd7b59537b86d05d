"""A table as the doors show it: its facts, and its rows page by page; of a long one, without reading the replies again.

A table of some thousand rows or more is kept in the journal as it is shown, once its reading has ended. It is made anew
where a person changed a row, the reading went on, or other columns tell rows apart.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

from bookwheel.tables.build import load_rows, require_table
from bookwheel.tables.table import MOST_SQL_ROWS, SQL_STEPS, Table, TableJson, make_sql_error, name_for_sql
from bookwheel.types import Reading, Status

if TYPE_CHECKING:
    from bookwheel.journal import Journal
    from bookwheel.journal.kept_rows import KeptRows

_LEAST_KEPT: Final = 5_000
_VERSION: Final = 2
"""Raised when the same replies make other rows: what was kept before is then made anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTable:
    """A table of the journal to look at; `load_rows` is for one to change."""

    facts: TableJson
    """All but its rows, which are empty there."""
    fields: tuple[str, ...]
    """The names of a row's values: each column, its number or date, and facts of the row."""
    table: Table | None = None
    """With all rows, where it was made just now."""
    kept: KeptRows | None = None

    @property
    def is_whole(self) -> bool:
        """All was read and every row is proven."""
        return not (self.facts["gaps"] or self.facts["skipped"] or self.facts["unproven"])

    def name_fact(self, fact: str) -> str:
        """Return the name of a fact of rows, which has a longer one where a column is called so."""
        return next(name for name in reversed(self.fields) if name in {fact, f"{fact} (of the row)"})

    def list_records(self, start: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield rows as flat records, from one on."""
        if self.table:
            yield from islice(self.table.list_records(), start, None if limit is None else start + limit)
        elif self.kept:
            yield from (dict(zip(self.fields, row, strict=True)) for row in self.kept.list_rows(start, limit))

    def to_json(self, start: int = 0, limit: int | None = None) -> TableJson:
        """Return the table with the rows of one page."""
        return {**self.facts, "rows": list(self.list_records(start, limit))}

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the names and rows that a SELECT over the table `rows` gives. SQLite counts, not a model."""
        if self.table:
            return self.table.query(sql)
        assert self.kept  # One of both is there.
        names = name_for_sql(self.fields)
        try:
            return self.kept.select(names, sql, MOST_SQL_ROWS, SQL_STEPS)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise make_sql_error(error, names) from error


def load_shown(journal: Journal, reading: str, key: Sequence[str] = ()) -> ShownTable:
    """Return the table of a reading, by its whole id; InputError where it has none."""
    found = journal.readings(ids=[reading])
    if not found:  # It is damaged, or gone: this says what is wrong.
        return _show(load_rows(journal, journal.reading(reading), key))
    summary = found[0]
    require_table(summary)
    kept, made_of = journal.kept_rows(reading), _describe_state(journal, summary, key)
    if known := kept.load_facts(made_of):
        return ShownTable(facts=cast("TableJson", known["facts"]), fields=tuple(known["fields"]), kept=kept)
    shown = _show(load_rows(journal, journal.reading(reading), key))
    if shown.facts["count"] >= _LEAST_KEPT and summary.status is not Status.READING:
        facts = {"facts": shown.facts, "fields": list(shown.fields)}
        kept.keep(made_of, facts, (list(record.values()) for record in shown.list_records()))
    return shown


def _show(table: Table) -> ShownTable:
    return ShownTable(facts=table.describe(), fields=tuple(table.fields), table=table)


def _describe_state(journal: Journal, summary: Reading, key: Sequence[str]) -> str:
    """Return words that are others where the table would be another."""
    changes = hashlib.sha256(json.dumps(journal.row_edits(summary.id)).encode()).hexdigest()
    usage = summary.usage
    return json.dumps([_VERSION, summary.status, usage.calls, usage.tokens, summary.question, changes, [*key]])
