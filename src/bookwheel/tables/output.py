"""What becomes of a table: a file, Markdown, or the answer of SQL to a question over its rows."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import InputError
from bookwheel.journal.kept_rows import run_query
from bookwheel.tables import files
from bookwheel.tables.columns import QUOTE
from bookwheel.text.sanitize import escape_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.tables.table import Table, TableRow

MOST_SQL_ROWS: Final = 10_000
SQL_STEPS: Final = 50_000_000
"""Instructions of SQLite's machine, after which a query is ended."""


def check_target(path: Path) -> None:
    """Raise InputError where a table cannot be written in the format that a file's name says."""
    files.check_format(path, (*files.TARGETS, ".md"))


def write(table: Table, path: str | Path) -> None:
    """Write a table in the format that the file's name says."""
    path = Path(path)
    check_target(path)
    if path.suffix.lower() == ".md":
        path.write_text(format_markdown(table), encoding="utf-8")
    else:
        files.write_table(path, list(table.list_records()), table.fields)


def format_markdown(table: Table) -> str:
    """Return a table in Markdown, with the quote of each row."""
    names = [*(column.name for column in table.columns), QUOTE]
    rows = [[*(value or "" for value in row.cells), row.places[0].quote + describe_row(row)] for row in table.rows]
    return format_grid(names, rows)


def describe_row(row: TableRow) -> str:
    """Return what is to be known of a row, in brackets; empty for one that is proven and alone."""
    marks = {"contradicts": row.contradicts, "is_by_hand": row.is_by_hand, "is_seen": row.is_seen}
    return describe_marks(is_proven=row.is_proven, **marks)


def describe_marks(*, is_proven: bool, contradicts: bool, is_by_hand: bool, is_seen: bool = False) -> str:
    """Return the marks of a row in brackets."""
    marks = {
        "by hand": is_by_hand,
        "unproven": not (is_proven or is_by_hand or is_seen),
        "seen in a picture, not checked by words": is_seen and not is_by_hand,
        "contradicts another": contradicts,
    }
    named = [mark for mark, holds in marks.items() if holds]
    return f" ({', '.join(named)})" if named else ""


def format_grid(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table of Markdown whose cells are text and nothing else."""
    lines = [names, *rows]
    head, *body = ("| " + " | ".join(map(escape_markdown, line)) + " |" for line in lines)
    return "\n".join((head, "|" + " --- |" * len(names), *body)) + "\n"


def query(table: Table, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names and rows that a SELECT gives, with the rows of a table in `rows`."""
    with sqlite3.connect(":memory:") as connection:
        names = name_for_sql(table.fields)
        connection.execute("create table rows ({})".format(", ".join(f'"{name}"' for name in names)))
        places = ", ".join("?" * len(names))
        connection.executemany(
            f"insert into rows values ({places})", (tuple(record.values()) for record in table.list_records())
        )
        connection.commit()
        connection.execute("pragma query_only = on")
        connection.set_authorizer(_allow_reading)
        try:
            return run_query(connection, sql, MOST_SQL_ROWS, SQL_STEPS)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise make_sql_error(error, names) from error


def make_sql_error(error: Exception, names: Sequence[str]) -> InputError:
    """Return what is wrong with a query, with the names that it may use."""
    return InputError(f"{error}; the table is called rows, and its columns {', '.join(names)}")


def name_for_sql(fields: Sequence[str]) -> list[str]:
    """Return names that SQL takes without quotes, each once: `until when (date)` is `until_when_date`."""
    names: list[str] = []
    for field in fields:
        plain = "_".join("".join(sign if sign.isalnum() else " " for sign in field).split()).lower() or "column"
        names.append(plain if plain not in names else f"{plain}_{len(names)}")
    return names


def _allow_reading(action: int, *_details: object) -> int:
    allowed = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
    return sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY
