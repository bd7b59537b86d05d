"""The table that a reading has collected: its rows with quote and place, joined, typed, asked by SQL, written to files.

table = collect("lease.pdf", "every obligation: who, what, until when, amount")
table.rows[0].cells, table.rows[0].places[0].quote
table.query("select who, sum(amount_number) from rows group by who")
table.write("rows.csv")
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import TypedDict

from bookwheel.batch.tables import check_format, write_table
from bookwheel.errors import InputError
from bookwheel.tables.columns import QUOTE, Kind, TableRequest
from bookwheel.tables.rows import UnreadableRowsError, parse_rows, place_rows
from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.tables.columns import Column
    from bookwheel.tables.rows import PlacedRow
    from bookwheel.types import Document, Reading, Step

_MOST_SQL_ROWS: Final = 10_000
_SQL_STEPS: Final = 50_000_000
"""Instructions of SQLite's machine, after which a query is ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a row stands in the document."""

    quote: str
    """The document's own words, or the model's where they do not stand there."""
    start: int | None
    end: int | None
    step: int
    source: str = ""
    page: int | None = None


@dataclass(slots=True, kw_only=True)
class TableRow:
    """One row; the same row in two places is one with both."""

    cells: tuple[str | None, ...]
    places: list[Place]
    is_proven: bool
    """Its quote stands in the document, and so do the numbers and names of its values."""
    missing: tuple[str, ...] = ()
    contradicts: bool = False
    """Another row has the same key and other values."""


class ColumnJson(TypedDict):
    """A column of a table in JSON."""

    name: str
    kind: str


class TableJson(TypedDict):
    """A table in JSON: the same on the command line and over HTTP."""

    reading: str
    status: str
    columns: list[ColumnJson]
    rows: list[dict[str, str | int | float | bool | None]]
    """By the names of the columns, then quote, source, page, start, end, places, proven, contradicts."""
    count: int
    unproven: int
    gaps: list[tuple[int, int]]
    """Sections that were not taken in, as characters of the document."""


@dataclass(kw_only=True)
class Table:
    """Rows of one kind, from one reading."""

    reading: Reading
    request: TableRequest
    rows: list[TableRow]
    key: tuple[str, ...] = ()
    """Columns whose values name a row; none: all of them."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in their order."""
        return self.request.columns

    @property
    def unproven(self) -> int:
        """How many rows the document's words do not bear out."""
        return sum(not row.is_proven for row in self.rows)

    @cached_property
    def fields(self) -> list[str]:
        """The names in files and SQL: each column, and the number or date of those that have one."""
        names = []
        for column in self.columns:
            names.append(column.name)
            if column.kind is not Kind.TEXT:
                names.append(f"{column.name} ({column.kind})")
        return [*names, "quote", "source", "page", "start", "end", "places", "proven", "contradicts"]

    def list_records(self) -> Iterator[dict[str, Any]]:
        """Yield each row as one flat record."""
        for row in self.rows:
            record: dict[str, Any] = {}
            for column, value in zip(self.columns, row.cells, strict=True):
                record[column.name] = value
                if column.kind is not Kind.TEXT:
                    record[f"{column.name} ({column.kind})"] = column.normalize(value)
            first = row.places[0]
            yield {
                **record,
                "quote": first.quote,
                "source": first.source,
                "page": first.page,
                "start": first.start,
                "end": first.end,
                "places": len(row.places),
                "proven": row.is_proven,
                "contradicts": row.contradicts,
            }

    def to_json(self) -> TableJson:
        """Return the table as `bookwheel collect --json` prints it."""
        return {
            "reading": self.reading.id,
            "status": str(self.reading.status),
            "columns": [{"name": column.name, "kind": str(column.kind)} for column in self.columns],
            "rows": list(self.list_records()),
            "count": len(self.rows),
            "unproven": self.unproven,
            "gaps": [(step.chunk.start, step.chunk.end) for step in self.reading.gaps],
        }

    def to_markdown(self) -> str:
        """Return the table in Markdown, with the quote of each row."""
        names = [*(column.name for column in self.columns), QUOTE]
        lines = ["| " + " | ".join(map(_to_cell, names)) + " |", "|" + " --- |" * len(names)]
        for row in self.rows:
            mark = "" if row.is_proven else " (unproven)"
            cells = [*(value or "" for value in row.cells), row.places[0].quote + mark]
            lines.append("| " + " | ".join(_to_cell(cell) for cell in cells) + " |")
        return "\n".join(lines) + "\n"

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame; pandas is yours to install."""
        return import_module("pandas").DataFrame(list(self.list_records()), columns=self.fields)

    def list_notes(self) -> list[str]:
        """Return what is to be known of the table before it is relied on."""
        count, doubles = self.unproven, sum(row.contradicts for row in self.rows)
        gaps, whole = len(self.reading.gaps), len(self.rows)
        notes = [
            (count, f"{count} of {whole} rows are unproven: their words do not stand in the document"),
            (doubles, f"{doubles} rows contradict others with the same {', '.join(self.key)}"),
            (gaps, f"{gaps} sections were not taken in; their rows are missing"),
        ]
        return [*self.reading.document.notes, *(note for number, note in notes if number)]

    def write(self, path: str | Path) -> None:
        """Write the table: .csv, .jsonl, .parquet or .md. Cells that a spreadsheet would run are neutral."""
        path = Path(path)
        check_target(path)
        if path.suffix.lower() == ".md":
            path.write_text(self.to_markdown(), encoding="utf-8")
        else:
            write_table(path, list(self.list_records()), self.fields)

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the names and rows that a SELECT over the table `rows` gives. SQLite counts, not a model."""
        with sqlite3.connect(":memory:") as connection:
            names = _name_for_sql(self.fields)
            connection.execute("create table rows ({})".format(", ".join(f'"{name}"' for name in names)))
            places = ", ".join("?" * len(names))
            connection.executemany(
                f"insert into rows values ({places})", (tuple(record.values()) for record in self.list_records())
            )
            connection.commit()
            connection.execute("pragma query_only = on")
            connection.set_authorizer(_allow_reading)
            left = iter(range(_SQL_STEPS // 1_000_000))
            connection.set_progress_handler(lambda: int(next(left, None) is None), 1_000_000)
            try:
                cursor = connection.execute(sql)
                return [one[0] for one in cursor.description or ()], cursor.fetchmany(_MOST_SQL_ROWS)
            except (sqlite3.Error, sqlite3.Warning) as error:
                raise InputError(f"{error}; the table is called rows, and its columns {', '.join(names)}") from error


def _name_for_sql(fields: Sequence[str]) -> list[str]:
    """Return names that SQL takes without quotes, each once: `until when (date)` is `until_when_date`."""
    names: list[str] = []
    for field in fields:
        plain = "_".join("".join(sign if sign.isalnum() else " " for sign in field).split()).lower() or "column"
        names.append(plain if plain not in names else f"{plain}_{len(names)}")
    return names


def _to_cell(text: str) -> str:
    """Return a text as a cell of a Markdown table that can hold nothing but text."""
    flat = " ".join(sanitize(text).split())
    flat = "".join(f"\\{sign}" if sign in "\\`*_[]<>|#~@" else sign for sign in flat)
    # A bare address would be made a link.
    return re.sub(r"(?i)(?=://)|(?<=\bwww)(?=\.)", r"\\", flat)


def _allow_reading(action: int, *_details: object) -> int:
    allowed = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
    return sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY


def build_table(reading: Reading, document: Document, key: Sequence[str] = ()) -> Table:
    """Return the rows that a reading has collected so far; what was found is found again in its replies."""
    request = TableRequest.parse(reading.question)
    rows = _join_rows(_list_rows(reading.steps, request, document))
    _mark_contradictions(rows, check_key(request, key))
    return Table(reading=reading, request=request, rows=rows, key=tuple(key))


def check_target(path: Path) -> None:
    """Raise InputError where a table cannot be written in the format that a file's name says."""
    if path.suffix.lower() != ".md":
        check_format(path)


def check_key(request: TableRequest, key: Sequence[str]) -> list[int]:
    """Return the places of the columns that tell rows apart; InputError for one that is not there."""
    names = [column.name.casefold() for column in request.columns]
    for name in key:
        if name.casefold() not in names:
            raise InputError(f"no column {name!r} to tell rows apart by; there are: {', '.join(names)}")
    return [names.index(name.casefold()) for name in key]


def _list_rows(steps: Sequence[Step], request: TableRequest, document: Document) -> Iterator[TableRow]:
    for step in steps:
        try:
            said = parse_rows(step.conversation.reply.text, request.columns)
        except UnreadableRowsError:
            continue
        if not said.rows:
            continue
        chunk = step.chunk
        section = document.slice(chunk.start, chunk.end)
        for placed in place_rows(said.rows, section, step.before.text):
            yield TableRow(
                cells=placed.row.cells,
                places=[_make_place(placed, step, section)],
                is_proven=placed.is_proven,
                missing=placed.missing,
            )


def _make_place(placed: PlacedRow, step: Step, section: str) -> Place:
    chunk = step.chunk
    source = chunk.sources[0] if len(chunk.sources) == 1 else ""
    page = chunk.pages[0] if len(chunk.pages) == 1 else None
    if placed.span is None:
        return Place(quote=placed.row.quote, start=None, end=None, step=chunk.index, source=source, page=page)
    start, end = placed.span
    return Place(
        quote=section[start:end],
        start=chunk.start + start,
        end=chunk.start + end,
        step=chunk.index,
        source=source,
        page=page,
    )


def _join_rows(rows: Iterator[TableRow]) -> list[TableRow]:
    """Return each row once, with all of its places."""
    known: dict[tuple[str, ...], TableRow] = {}
    for row in rows:
        same = known.setdefault(tuple((value or "").casefold() for value in row.cells), row)
        if same is not row:
            places = {(place.start, place.end) for place in same.places}
            same.places += [place for place in row.places if (place.start, place.end) not in places]
            same.is_proven = same.is_proven or row.is_proven
    return list(known.values())


def _mark_contradictions(rows: Sequence[TableRow], key: Sequence[int]) -> None:
    if not key:
        return
    groups: dict[tuple[str, ...], list[TableRow]] = {}
    for row in rows:
        groups.setdefault(tuple((row.cells[at] or "").casefold() for at in key), []).append(row)
    for group in groups.values():
        for row in group:
            row.contradicts = len(group) > 1
