"""Long tables as they are shown, kept beside the replies that they are made of: a page opens without these.

What is kept says what it was made of. Whoever asks with other words makes it anew; it goes with its reading.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from itertools import islice
from math import isfinite
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from bookwheel.errors import JournalError
from bookwheel.journal.access import ReadPool, Writer
from bookwheel.journal.files import connect_read_only
from bookwheel.journal.tables import from_json, to_json
from bookwheel.text.tokens import replace_surrogates

# Other writes have their turn after so many rows.
_AT_ONCE: Final = 10_000
# Of one value that a query makes, and of all that it answers.
_MOST_BYTES: Final = 1 << 25
READS: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
"""What a query does that changes nothing."""
SortKey = Callable[[str], Any]
"""What the texts of a column are compared by."""


class KeptRows:
    """The kept table of one reading."""

    def __init__(self, path: Path, reading: int, reader: ReadPool, writer: Writer | None) -> None:
        self._path, self._reading, self._reader, self._writer = path, reading, reader, writer

    def load_facts(self, made_of: str) -> dict[str, Any] | None:
        """Return what is known of the whole table, where it was made of the same; else None."""
        with suppress(JournalError):  # A journal that is only read may be of a version before.
            query = "SELECT facts FROM kept_tables WHERE reading = ? AND made_of = ?"
            row = self._reader.fetch_one(query, (self._reading, made_of))
            return from_json(row[0]) if row else None
        return None

    def list_rows(self, start: int = 0, limit: int | None = None) -> Iterator[list[Any]]:
        """Yield the values of the rows from number `start` on."""
        end = None if limit is None else start + limit
        query = "SELECT number, content FROM kept_rows WHERE reading = ? AND number >= ? AND number < ? LIMIT ?"
        while end is None or start < end:
            values = self._reading, start, 2**62 if end is None else end, _AT_ONCE
            found = self._reader.fetch_all(query, values)
            yield from (from_json(content) for _, content in found)
            if len(found) < _AT_ONCE:
                return
            start = found[-1][0] + 1

    def keep(self, made_of: str, facts: Mapping[str, Any], rows: Iterable[Sequence[Any]]) -> None:
        """Keep a table in the place of what was kept before; not in a journal that is only read."""
        if self._writer is None:
            return
        # The facts come last: without them, rows that a kill left are made anew.
        with suppress(JournalError):
            for table in ("kept_tables", "kept_rows"):
                self._writer.execute_now(f"DELETE FROM {table} WHERE reading = ?", (self._reading,))
            numbered = ((self._reading, at, to_json(list(row))) for at, row in enumerate(rows))
            while some := list(islice(numbered, _AT_ONCE)):
                self._writer.write_now(_insert(some))
            query = "INSERT INTO kept_tables (reading, made_of, facts) VALUES (?, ?, ?)"
            self._writer.execute_now(query, (self._reading, made_of, to_json(dict(facts))))

    def select(
        self, columns: Mapping[str, SortKey | None], sql: str, limit: int, steps: int
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the names and rows of a SELECT over `rows` with columns of these names; nothing else can be read."""
        # What a query may read is told by the view that reads it, so nobody may name that view.
        secret = f"kept_{token_hex(16)}"
        with closing(connect_read_only(self._path)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM main.sqlite_schema")}
            own = f"SELECT content FROM main.kept_rows WHERE reading = {self._reading:d}"
            connection.execute("PRAGMA query_only = OFF")  # Views of the connection's own; the file stays closed to it.
            connection.execute(f"CREATE TEMP VIEW {secret} AS {own}")
            values = [f"json_extract(content, '$[{at}]')" for at in range(len(columns))]
            orders = add_orders(connection, [*columns.values()])
            shown = ", ".join(
                f'CAST({value} AS text) COLLATE {order} AS "{name}"' if order else f'{value} AS "{name}"'
                for name, value, order in zip(columns, values, orders, strict=True)
            )
            connection.execute(f"CREATE TEMP VIEW rows AS SELECT {shown} FROM temp.{secret}")
            connection.execute("PRAGMA query_only = ON")
            connection.set_authorizer(_make_guard(secret, tables))
            return run_query(connection, sql, limit, steps)


def add_orders(connection: sqlite3.Connection, keys: Sequence[SortKey | None]) -> list[str]:
    """Return the name of the collation that sorts by each key; empty where there is none."""
    for at, key in enumerate(keys):
        if key is not None:
            connection.create_collation(f"order_{at}", _make_order(lru_cache(maxsize=1 << 16)(key)))
    return ["" if key is None else f"order_{at}" for at, key in enumerate(keys)]


def _make_order(key: SortKey) -> Callable[[str, str], int]:
    return lambda one, other: (key(one) > key(other)) - (key(one) < key(other))


def run_query(
    connection: sqlite3.Connection, sql: str, limit: int, steps: int
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names and rows of a query that somebody wrote: bounded in steps, rows and size, fit for JSON."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
    left = iter(range(steps // 1_000_000))
    connection.set_progress_handler(lambda: int(next(left, None) is None), 1_000_000)
    cursor, rows, size = connection.execute(replace_surrogates(sql)), [], 0
    for row in islice(cursor, limit):
        rows.append(tuple(map(_to_shown, row)))
        size += sum(len(str(value)) for value in rows[-1])
        if size > _MOST_BYTES:
            raise sqlite3.DataError(f"the answer has more than {_MOST_BYTES >> 20} MB")
    return [one[0] for one in cursor.description or ()], rows


def _to_shown(value: Any) -> Any:
    """Return a value of SQLite as JSON can hold it: bytes in hexadecimal digits, and "inf" for what has no end."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _insert(rows: Sequence[tuple[int, int, str | bytes]]) -> Callable[[sqlite3.Connection], None]:
    query = "INSERT INTO kept_rows (reading, number, content) VALUES (?, ?, ?)"
    return lambda connection: connection.executemany(query, rows).close()


def _make_guard(secret: str, tables: Collection[str]) -> Callable[..., int]:
    """Return what allows a query to read the rows of one reading, through the view of the secret name."""

    def allow(action: int, table: str | None, _column: str | None, schema: str | None, view: str | None) -> int:
        if action != sqlite3.SQLITE_READ:
            return sqlite3.SQLITE_OK if action in READS else sqlite3.SQLITE_DENY
        is_through_view = schema == "main" and table == "kept_rows" and view == secret
        is_view = schema == "temp" and table in {"rows", secret}
        # A table of the query's own, made by WITH or in brackets, has no schema.
        is_own = schema is None and table not in tables
        return sqlite3.SQLITE_OK if is_through_view or is_view or is_own else sqlite3.SQLITE_DENY

    return allow
