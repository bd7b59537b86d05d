"""Find the rows of a table again in the replies of its reading: placed, joined, marked, and changed as a person said.

What was found stays in the replies, so there is no second place where it could differ. What a person changed stands
beside it in the journal, by the row's id; so it holds for a reading that goes on, too. Doors show a long table page by
page, from the journal, without reading the replies again (`load_shown`).
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s
from itertools import islice
from typing import Any, Final, Protocol, cast, runtime_checkable

from bookwheel.documents.readers.pictures import place_quote
from bookwheel.errors import InputError
from bookwheel.journal import Journal
from bookwheel.journal.kept_rows import KeptRows
from bookwheel.picture import Picture
from bookwheel.reading.pictures import PicturedDocument
from bookwheel.reading.prompts import prompts_for
from bookwheel.tables.columns import Column, Kind, TableRequest
from bookwheel.tables.disagreeing import mark_disagreeing
from bookwheel.tables.rows import PlacedRow, place_rows
from bookwheel.tables.sql import MOST_SQL_ROWS, SQL_STEPS, bracket_names, list_sort_keys, make_sql_error, name_for_sql
from bookwheel.tables.table import Place, Table, TableJson, TableRow
from bookwheel.tables.way import makes_table, parse_stored
from bookwheel.types import Document, Reading, Status, Step

_BEYOND: Final = 4000
"""Characters behind a section in which a row that begins in it may end, where no model saw the section alone."""
_BEFORE: Final = 20_000
"""Characters above a quote in which the mark of its picture stands."""


@runtime_checkable
class _SupportsPlaces(Protocol):
    """A document that tells of which source and page its characters are."""

    def pages(self, start: int, end: int) -> tuple[int, ...]: ...

    def sources(self, start: int, end: int) -> tuple[str, ...]: ...


def load_rows(journal: Journal, reading: Reading, key: Sequence[str] = ()) -> Table:
    """Return the table of a reading of the journal, as a person has edited it; InputError where it has none."""
    require_table(reading)
    table = build_table(reading, journal.document_of(reading.id), key)
    apply_edits(table, dict(journal.row_edits(reading.id)))
    return table


def require_table(reading: Reading) -> None:
    """Raise InputError for a reading by a way that makes no table."""
    if not makes_table(reading.way):
        raise InputError(f"reading {reading.id[:8]} has no table: it was read by the way {reading.way}")


def edit_row(journal: Journal, table: Table, row: str, values: Mapping[str, str | None] | None) -> None:
    """Change values of a row of a table, by its id, or remove it (None); the journal keeps that."""
    found = table.find_row(row)
    cells = None if values is None else table.change_cells(found, values)
    if cells is not None and not any(cells):
        raise InputError("a row without any value is none: remove it")
    journal.edit_row(table.reading.id, found.id, cells)
    apply_edits(table, {found.id: cells})


def build_table(
    reading: Reading, document: Document, key: Sequence[str] = (), request: TableRequest | None = None
) -> Table:
    """Return the rows that a reading has collected so far; what was found is found again in its replies.

    `request` is for a way whose question names no columns.
    """
    request = request or TableRequest.parse(reading.question)
    listed = document.list_pictures() if isinstance(document, PicturedDocument) else ()
    # No model saw the section alone where it only quotes.
    beyond = _BEYOND if prompts_for(reading.plan, request.sentence).quotes else 0
    rows = _join_rows(_list_rows(reading.steps, request, document, beyond), request.columns)
    if pictures := {one.label: one for one in listed}:
        for row in rows:
            row.places = [_place_in_picture(place, pictures, document) for place in row.places]
    mark_disagreeing(rows, request.columns, check_key(request, key))
    waited = sum(_count_waiting(step, request) for step in reading.steps)
    return Table(reading=reading, request=request, rows=rows, key=tuple(key), waited=waited)


def _count_waiting(step: Step, request: TableRequest) -> int:
    """Return how many lines that the model wrote for the memory found no room there."""
    text = step.conversation.reply.text
    if not step.after.text or step.after.tokens < step.after.limit // 2 or '"memory": ""' in text:
        return 0
    kept = set(step.after.text.splitlines())
    wrote = parse_stored(text, request).memory.splitlines()
    return sum(bool(line.strip()) and line not in kept for line in wrote)


def check_key(request: TableRequest, key: Sequence[str]) -> list[int]:
    """Return the places of the columns that tell rows apart; InputError for one that is not there."""
    names = [column.name.casefold() for column in request.columns]
    for name in key:
        if name.casefold() not in names:
            raise InputError(f"no column {name!r} to tell rows apart by; there are: {', '.join(names)}")
    return [names.index(name.casefold()) for name in key]


def _list_rows(steps: Iterable[Step], request: TableRequest, document: Document, beyond: int) -> Iterator[TableRow]:
    # Segments that are read side by side end their steps in any order.
    for step in sorted(steps, key=lambda step: (step.chunk.start, step.chunk.index)):
        said = parse_stored(step.conversation.reply.text, request)
        if not said.rows:
            continue
        section = document.slice(step.chunk.start, step.chunk.end + beyond)
        for placed in place_rows(said, section, step.before.text):
            yield TableRow(
                id="",
                cells=placed.row.cells,
                places=[_make_place(placed, step, section, document)],
                is_proven=placed.is_proven,
                missing=placed.missing,
                is_seen=placed.is_seen,
                corrects=placed.row.corrects,
            )


def _make_place(placed: PlacedRow, step: Step, section: str, document: Document) -> Place:
    chunk = step.chunk
    sources, pages = chunk.sources, chunk.pages
    start = end = None
    quote = placed.row.quote
    if placed.span is not None:
        start, end = (chunk.start + at for at in placed.span)
        # A mark may name a part of its picture.
        quote = quote if placed.is_seen else section[slice(*placed.span)]
        if isinstance(document, _SupportsPlaces):
            # A section may have several files and pages; a quote over two pages stands where it begins.
            sources, pages = document.sources(start, start + 1), document.pages(start, start + 1)
    source = sources[0] if len(sources) == 1 else ""
    page = pages[0] if len(pages) == 1 else None
    return Place(quote=quote, start=start, end=end, step=chunk.index, source=source, page=page)


def _place_in_picture(place: Place, pictures: Mapping[str, Picture], document: Document) -> Place:
    """Return a place with its page, its picture and the box on the page, where it stands in one of these pictures."""
    if place.start is None or place.end is None:
        return place
    found = place_quote(pictures, place.quote, document.slice(max(0, place.start - _BEFORE), place.start))
    if found is None:
        return place
    picture, box, sure = found
    label, page, source = picture.label, picture.page, picture.source
    return replace(place, page=page, source=source, picture=label, box=box, confidence=sure)


def _join_rows(rows: Iterable[TableRow], columns: Sequence[Column]) -> list[TableRow]:
    """Return each row once, with its id and all of its places."""
    known: dict[tuple[str, ...], TableRow] = {}
    for row in rows:
        values = tuple(column.fold(value) for column, value in zip(columns, row.cells, strict=True))
        row.id = blake2s("\x1f".join(values).encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
        same = known.get(values)
        if same is None:
            known[values] = row
            continue
        spans = {(place.start, place.end) for place in same.places}
        same.places += [place for place in row.places if (place.start, place.end) not in spans]
        if row.is_proven and not same.is_proven:
            same.is_proven, same.is_seen, same.missing = True, False, ()
        elif row.is_seen and not same.is_proven:
            same.is_seen = True
        if row.corrects and not same.corrects:
            # What is put back as it was holds from here on.
            same.corrects = row.corrects
            known[values] = known.pop(values)
    return list(known.values())


def apply_edits(table: Table, edits: Mapping[str, tuple[str | None, ...] | None]) -> None:
    """Change the rows of a table as a person said."""
    kept: list[TableRow] = []
    for row in table.rows:
        cells = edits.get(row.id, row.cells)
        if cells is None:
            table.removed += 1
            continue
        if row.id in edits and len(cells) == len(row.cells):
            row.cells, row.is_by_hand = cells, True
        kept.append(row)
    table.rows = kept
    mark_disagreeing(kept, table.columns, check_key(table.request, table.key))


_LEAST_KEPT: Final = 5_000
_VERSION: Final = 7
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
        return {**self.facts, "rows": list(self.list_records(start, limit))}

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the names and rows that a SELECT over the table `rows` gives. SQLite counts, not a model."""
        if self.table:
            return self.table.query(sql)
        assert self.kept  # One of both is there.
        names = name_for_sql(self.fields)
        columns = (Column(name=one["name"], kind=Kind(one["kind"])) for one in self.facts["columns"])
        keys = list_sort_keys(self.fields, columns)
        try:
            return self.kept.select(
                dict(zip(names, keys, strict=True)), bracket_names(sql, self.fields), MOST_SQL_ROWS, SQL_STEPS
            )
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
