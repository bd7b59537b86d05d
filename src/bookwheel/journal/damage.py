"""Find damage in a journal, and copy what is sound to a new file.

A disk, a copy or a crash of the machine can damage single values, which the checksums show, or the structure of the
file, which SQLite notices. Either way every row that can still be read is read, one by one where a table breaks off.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import JournalError
from bookwheel.journal.checksums import IS_SOUND
from bookwheel.journal.locks import LockTaken, hold_lock, lock_folder
from bookwheel.journal.schema import connect, connect_read_only, prepare_file, translate_errors
from bookwheel.journal.search import search_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bookwheel.journal.read_pool import ReadPool

# How a damaged row is called: SQL for its name.
_NAMES: Final = {
    "readings": "'reading ' || id",
    "steps": "'step ' || step || ' of reading ' || coalesce((SELECT id FROM readings WHERE number = reading), reading)",
    "documents": "'document ' || id",
    "texts": "'text ' || id",
    "pieces": "'text ' || text || ' from character ' || start",
}
_MEMORY_TABLES: Final = (
    "memories",
    "memory_texts",
    "memory_versions",
    "memory_replays",
    "memory_answers",
    "memory_forgets",
    "memory_follows",
)
# Rows in a row that cannot be read before a table is given up.
_MOST_MISSES: Final = 10_000


def find_damage(reader: ReadPool) -> list[str]:
    """Return a sentence for each damaged row and for damage of the file itself."""
    found = []
    try:
        found += [
            f"the file's structure: {row[0]}" for row in reader.fetch_all("PRAGMA quick_check(5)") if row[0] != "ok"
        ]
    except JournalError as error:
        found.append(str(error.__cause__ or error))
    for table, name in _NAMES.items():
        try:
            rows = reader.fetch_all(f"SELECT {name} FROM {table} WHERE NOT {IS_SOUND[table]}")
            found += [f"{row[0]} is damaged" for row in rows]
        except JournalError as error:
            found.append(f"some {table} cannot be read: {error.__cause__ or error}")
    return list(dict.fromkeys(found))


def repair(path: Path) -> tuple[Path, list[str]]:
    """Replace a journal by a copy of what is sound in it; return where the old one is, and what was left out.

    Raise JournalError while another process reads into it, or if nothing in it can be read.
    """
    fresh = path.with_name(f"{path.name}.repaired")
    for end in ("", "-wal", "-shm"):
        fresh.with_name(fresh.name + end).unlink(missing_ok=True)
    with translate_errors(path, "repair"), hold_lock(lock_folder(path) / "opening", wait=True):
        _check_idle(path)
        old = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}")
        source = _open_damaged(path)
        try:
            prepare_file(fresh)
            target = connect(fresh)
            try:
                lost = _copy(source, target)
                target.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                target.close()
        finally:
            source.close()
        # The log belongs to the old file, so it moves first: a new file beside an old log would be damaged by it.
        for end in ("-wal", "-shm", ""):
            beside = path.with_name(path.name + end)
            if beside.exists():
                beside.rename(old.with_name(old.name + end))
        fresh.rename(path)
        # The numbers in the index were those of the old file.
        search_path(path).unlink(missing_ok=True)
        for end in ("-wal", "-shm"):
            fresh.with_name(fresh.name + end).unlink(missing_ok=True)
    return old, lost


def _check_idle(path: Path) -> None:
    for lock in lock_folder(path).glob("*.lock"):
        try:
            with hold_lock(lock):
                pass
        except LockTaken as taken:
            raise JournalError(f"the journal {path} is being read into by process {taken}; end it first") from None


def _open_damaged(path: Path) -> sqlite3.Connection:
    try:
        return connect_read_only(path)
    except (sqlite3.Error, JournalError) as error:
        raise JournalError(
            f"nothing in the journal {path} can be read ({error}): put a copy of it back, or move it away"
        ) from error


def _copy(source: sqlite3.Connection, target: sqlite3.Connection) -> list[str]:
    """Copy every sound row, and return a sentence for each that is left out."""
    lost: list[str] = []
    target.execute("PRAGMA foreign_keys = OFF")
    target.execute("BEGIN IMMEDIATE")
    for table in ("texts", "pieces", "documents", "readings", "steps"):
        _copy_table(source, target, table, lost)
    _copy_places(source, target, lost)
    _drop_broken_texts(target, lost)
    _cut_broken_chains(target, lost)
    _drop_orphans(target, lost)
    _copy_labels(source, target, lost)
    _copy_memories(source, target, lost)
    target.execute("COMMIT")
    return lost


def _copy_table(source: sqlite3.Connection, target: sqlite3.Connection, table: str, lost: list[str]) -> None:
    columns = [row[1] for row in target.execute(f"PRAGMA table_info({table})")]
    query = f"SELECT {IS_SOUND[table]}, {_NAMES[table]}, {', '.join(columns)} FROM {table} WHERE rowid"
    places = ", ".join("?" * len(columns))
    # `OR IGNORE`: damage of an index can show a row twice.
    insert = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({places})"
    for is_sound, name, *values in _rows(source, query, table, lost):
        if is_sound:
            target.execute(insert, values)
        else:
            lost.append(f"{name} is damaged")


def _rows(source: sqlite3.Connection, query: str, table: str, lost: list[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table in the order of their row ids, and go on behind rows that cannot be read."""
    last = misses = 0
    while misses < _MOST_MISSES:
        try:
            for rowid, *row in source.execute(
                query.replace("SELECT ", f"SELECT {table}.rowid, ", 1) + " > ? ORDER BY 1", (last,)
            ):
                last, misses = rowid, 0
                yield tuple(row)
        except sqlite3.Error as error:
            if not misses:
                lost.append(f"some {table} cannot be read: {error}")
            misses += 1
            last += 1
        else:
            return


def _copy_places(source: sqlite3.Connection, target: sqlite3.Connection, lost: list[str]) -> None:
    """Copy the sources and pages of each document that was copied."""
    for document, name in target.execute("SELECT id, name FROM documents").fetchall():
        try:
            rows = source.execute("SELECT document, start, source, page FROM places WHERE document = ?", (document,))
            target.executemany("INSERT OR IGNORE INTO places VALUES (?, ?, ?, ?)", rows.fetchall())
        except sqlite3.Error:
            lost.append(f"the sources and pages of {name}")


def _copy_labels(source: sqlite3.Connection, target: sqlite3.Connection, lost: list[str]) -> None:
    """Copy the names and stars of what was copied."""
    try:
        rows = source.execute("SELECT owner, kind, id, name, starred FROM labels").fetchall()
    except sqlite3.Error:
        lost.append("the names and stars of documents and readings")
        return
    target.executemany("INSERT OR IGNORE INTO labels VALUES (?, ?, ?, ?, ?)", rows)
    for kind, there in (("reading", "SELECT id FROM readings"), ("document", "SELECT sha256 FROM texts")):
        target.execute(f"DELETE FROM labels WHERE kind = ? AND id NOT IN ({there})", (kind,))


def _copy_memories(source: sqlite3.Connection, target: sqlite3.Connection, lost: list[str]) -> None:
    """Copy the lasting memories. Their rows have no checksums: what SQLite can read is copied."""
    for table in _MEMORY_TABLES:
        try:
            rows = source.execute(f"SELECT * FROM {table}").fetchall()
        except sqlite3.Error:
            lost.append(f"the table {table}")
            continue
        if rows:
            target.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def _drop_broken_texts(target: sqlite3.Connection, lost: list[str]) -> None:
    """Drop the pieces of each text that does not have its SHA-256 any more, so that none is read in part."""
    for text, sha256 in target.execute("SELECT id, sha256 FROM texts").fetchall():
        sha, pieces = (
            hashlib.sha256(),
            target.execute("SELECT content FROM pieces WHERE text = ? ORDER BY start", (text,)),
        )
        for (content,) in pieces:
            sha.update(zlib.decompress(content))
        if sha.hexdigest() != sha256:
            lost.append(f"the text {sha256[:12]} is not whole any more")
            target.execute("DELETE FROM pieces WHERE text = ?", (text,))


def _cut_broken_chains(target: sqlite3.Connection, lost: list[str]) -> None:
    """Drop the steps behind a missing one: their memories rest on it. The reading can be resumed from there."""
    for number, id_ in target.execute("SELECT number, id FROM readings").fetchall():
        steps = [row[0] for row in target.execute("SELECT step FROM steps WHERE reading = ? ORDER BY step", (number,))]
        sound = next((at for at, step in enumerate(steps) if step != at), len(steps))
        if sound < len(steps):
            lost.append(f"the steps of reading {id_} from {sound} on")
            target.execute("DELETE FROM steps WHERE reading = ? AND step >= ?", (number, sound))


def _drop_orphans(target: sqlite3.Connection, lost: list[str]) -> None:
    orphans = "SELECT {name} FROM {table} WHERE {column} NOT IN (SELECT {key} FROM {parent})"
    for table, column, parent, key in (
        ("documents", "text", "texts", "id"),
        ("readings", "document", "documents", "id"),
        ("steps", "reading", "readings", "number"),
        ("pieces", "text", "texts", "id"),
    ):
        query = orphans.format(name=_NAMES[table], table=table, column=column, key=key, parent=parent)
        lost += [f"{row[0]} has lost what it belongs to" for row in target.execute(query)]
        target.execute(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT {key} FROM {parent})")
    target.execute("DELETE FROM places WHERE document NOT IN (SELECT id FROM documents)")
