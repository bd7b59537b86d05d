"""SQL over the rows of a table: its names, what sorts the values of its columns, and what is wrong with a query."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from bookwheel.errors import InputError
from bookwheel.journal.kept_rows import READS, SortKey, add_orders, run_query
from bookwheel.tables.columns import Column, Kind

_QUOTED: Final = re.compile(r"'(?:[^']|'')*'|\[[^\]]*\]|--[^\n]*|/\*.*?\*/|\"(?P<name>(?:[^\"]|\"\")*)\"", re.DOTALL)
MOST_SQL_ROWS: Final = 10_000
SQL_STEPS: Final = 50_000_000
"""Instructions of SQLite's machine, after which a query is ended."""


def query_records(
    fields: Sequence[str], keys: Sequence[SortKey | None], records: Iterable[Mapping[str, Any]], sql: str
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names and rows that a SELECT over records of these fields gives, which it knows as `rows`."""
    with closing(sqlite3.connect(":memory:")) as connection:
        names = name_for_sql(fields)
        orders = zip(names, add_orders(connection, keys), strict=True)
        columns = ", ".join(f'"{name}" text collate {order}' if order else f'"{name}"' for name, order in orders)
        connection.execute(f"create table rows ({columns})")
        places = ", ".join("?" * len(names))
        connection.executemany(f"insert into rows values ({places})", (tuple(one.values()) for one in records))
        connection.commit()
        connection.execute("pragma query_only = on")
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in READS else sqlite3.SQLITE_DENY)
        try:
            return run_query(connection, bracket_names(sql, fields), MOST_SQL_ROWS, SQL_STEPS)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise make_sql_error(error, names) from error


def bracket_names(sql: str, fields: Sequence[str]) -> str:
    """Return a query with names in brackets where they stand in double quotes; a field may go by its name in files.

    SQLite takes a name in double quotes that it does not know for a text, and so counts it without a word.

    >>> bracket_names('select "to whom", "n" from rows', ["to whom", "n"])
    'select [to_whom], [n] from rows'
    """
    known = {name.casefold(): plain for name, plain in zip(fields, name_for_sql(fields), strict=True)}

    def bracket(found: re.Match[str]) -> str:
        name = (found["name"] or "").replace('""', '"')
        return found[0] if not name or "]" in name else f"[{known.get(name.casefold(), name)}]"

    return _QUOTED.sub(bracket, sql)


def list_sort_keys(fields: Sequence[str], columns: Iterable[Column]) -> list[SortKey | None]:
    """Return for each field what its texts are sorted by, where it is a column of numbers or dates as they stand."""
    keys = {column.name: column.sort_key for column in columns if column.kind is not Kind.TEXT}
    return [keys.get(name) for name in fields]


def make_sql_error(error: Exception, names: Sequence[str]) -> InputError:
    """Return what is wrong with a query, with the names that it may use."""
    return InputError(f"{error}; the table is called rows, and its columns {', '.join(names)}")


def name_for_sql(fields: Sequence[str]) -> list[str]:
    """Return names that SQL takes without quotes, each once: `until when (date)` is `until_when_date`."""
    names: list[str] = []
    for name in fields:
        plain = "_".join("".join(sign if sign.isalnum() else " " for sign in name).split()).lower() or "column"
        names.append(plain if plain not in names else f"{plain}_{len(names)}")
    return names
