"""`bookwheel collect SOURCE... "EVERY …: columns"`: every row of a kind, in a table."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Group, Parameter

from bookwheel.cli.ask import begin_readings, find_reading_name, open_sources, split_words
from bookwheel.cli.last import find_reading_id
from bookwheel.cli.options import FilePath, ReadingOptions, Switch, Text, Texts
from bookwheel.cli.output import find_exit_code, print_line, print_note
from bookwheel.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.cli.options import OutputOptions
    from bookwheel.tables.columns import TableRequest
    from bookwheel.tables.table import Table

_MOST_SHOWN: Final = 30
_INCOMPLETE: Final = 5


@Parameter(name="*", group=Group("Table", sort_key=1))
@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """The table's columns, and what becomes of it."""

    schema: FilePath | None = None
    "A file with the JSON Schema of one row, instead of columns in the sentence."
    key: Texts = ()
    "A column that tells rows apart; can be repeated. Rows that agree there and differ elsewhere are marked."
    out: Annotated[FilePath | None, Parameter(name=("--out", "-o"))] = None
    "The table to write: .csv, .jsonl, .parquet or .md."
    sql: Text | None = None
    """Ask the table with SQL, such as "select who, count(*) from rows group by who"; SQLite counts, not the model."""
    estimate: Switch = False
    "Print how many calls and tokens the reading would take, and stop."

    def make_request(self, sentence: str) -> TableRequest:
        """Return what is to be collected, by the sentence and the schema."""
        from bookwheel.reading.structured import load_answer_schema
        from bookwheel.tables.columns import TableRequest
        from bookwheel.tables.table import check_key

        if self.schema is None:
            request = TableRequest.parse(sentence)
        else:
            request = TableRequest.from_schema(sentence, json.loads(load_answer_schema(self.schema)))
        check_key(request, self.key)
        return request


async def collect(*words: str, table: TableOptions = TableOptions(), options: ReadingOptions = ReadingOptions()) -> int:
    """Read documents from beginning to end and collect every row of a kind into a table.

    Rows leave the memory as they are found, so a table is as long as it must be. Each row has its quote and its place.
    Rows that the document's words do not bear out are kept, marked as unproven, and counted.

    Parameters
    ----------
    words
        What to read, then what to collect: "every obligation: who, what, until when, amount". Instead of both, "last"
        or a reading's id shows, writes or asks a table that was collected before.

    """
    from bookwheel.tables.table import build_table, check_target
    from bookwheel.tables.way import NAME

    if options.way:
        raise InputError("collect has a way of its own: leave out --way")
    if table.out:
        check_target(table.out)
    name = find_reading_name(words) or await _read(words, table, options)
    if not name:
        return 0
    with options.output.require_journal(name) as journal:
        reading = journal.reading(find_reading_id(journal, name))
        if reading.way != NAME:
            raise InputError(f"reading {reading.id[:8]} has no table: it was read by the way {reading.way}")
        found = build_table(reading, journal.document_of(reading.id), table.key)
    _show(found, table, options.output)
    return find_exit_code(reading) or (_INCOMPLETE if found.unproven else 0)


async def _read(words: tuple[str, ...], wanted: TableOptions, options: ReadingOptions) -> str:
    """Read the sources and return the reading's id; empty where only the cost was asked for."""
    from bookwheel.cli.runner import read_shown
    from bookwheel.session import WayRequest
    from bookwheel.tables.way import NAME

    sources, sentence = split_words(words)
    question, output = wanted.make_request(sentence).to_question(), options.output
    document = await open_sources(sources, output)
    with output.open_journal() as journal:
        async with options.models.open_session(journal) as session:
            stored, plan = await session.keep(document), session.build_plan(options.given)
            prepared = await session.prepare(stored, [question], plan, WayRequest(way=NAME))
            await begin_readings(session, prepared, output, only_estimate=wanted.estimate)
            if wanted.estimate:
                return ""
            (reading,) = await read_shown(session, prepared, output)
            return reading.id


def _show(table: Table, wanted: TableOptions, output: OutputOptions) -> None:
    """Print the table, or what SQL says of it; write it where that is wanted."""
    if wanted.out:
        table.write(wanted.out)
    if wanted.sql:
        names, rows = table.query(wanted.sql)
        if output.as_json:
            print_line(json.dumps({"columns": names, "rows": rows}, ensure_ascii=False))
        else:
            _print_grid(names, [["" if cell is None else str(cell) for cell in row] for row in rows])
    elif output.as_json:
        out = {"out": str(wanted.out)} if wanted.out else {}
        print_line(json.dumps({**table.to_json(), **out}, ensure_ascii=False))
    elif wanted.out:
        print_line(str(wanted.out))
    else:
        _print_rows(table)
    if not output.quiet and not output.as_json:
        for note in table.list_notes():
            print_note(f"note: {note}")


def _print_rows(table: Table) -> None:
    names = [*(column.name for column in table.columns), "quote"]
    shown = table.rows[:_MOST_SHOWN]
    marks = {True: "", False: " (unproven)"}
    cells = [[*(cell or "" for cell in row.cells), row.places[0].quote + marks[row.is_proven]] for row in shown]
    _print_grid(names, cells)
    if len(table.rows) > len(shown):
        print_line(f"{len(shown)} of {len(table.rows)} rows are shown; --out FILE writes all")


def _print_grid(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table as wide as the terminal; lines of tabs where a program reads it."""
    from rich.table import Table as Grid
    from rich.text import Text as Cell

    from bookwheel.cli.output import stdout
    from bookwheel.text.sanitize import sanitize

    if not sys.stdout.isatty():
        for row in (names, *rows):
            print_line("\t".join(" ".join(sanitize(cell).split()) for cell in row))
        return
    grid = Grid()
    for name in names:
        grid.add_column(Cell(sanitize(name)))
    for row in rows:
        grid.add_row(*(Cell(sanitize(cell)) for cell in row))
    stdout().print(grid)
