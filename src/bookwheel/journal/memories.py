"""The lasting memories of a journal: their texts in order of arrival, their versions, their answers, their tombstones.

A text that `add_text` has returned is durable, and is read sooner or later, in its turn. Texts and versions stand in
plain letters, so that a search of the file's bytes can prove what was forgotten.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import InputError, JournalError
from bookwheel.journal.locks import LockTaken, hold_lock, lock_folder
from bookwheel.journal.memory_rows import (
    MEMORY_COLUMNS,
    TEXT_COLUMNS,
    VERSION_COLUMNS,
    MemoryRecord,
    MemoryText,
    MemoryVersion,
    Tombstone,
    memory_from_row,
    memory_to_row,
    text_from_row,
    tombstone_from_row,
    version_from_row,
    version_to_row,
)
from bookwheel.journal.rows import load_text, store_text
from bookwheel.journal.schema import connect, translate_errors
from bookwheel.types import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bookwheel.journal.read_pool import ReadPool
    from bookwheel.journal.writer import Writer

_VERSIONS: Final = f"SELECT {VERSION_COLUMNS} FROM memory_versions WHERE memory = ?"
_TEXTS: Final = f"SELECT {TEXT_COLUMNS} FROM memory_texts WHERE memory = ?"
_TOMBSTONES: Final = (
    "SELECT number, scope, sources, texts, began, ended, replayed, lines, purged FROM memory_forgets WHERE memory = ?"
)
_NEXT: Final = "SELECT coalesce(max(number), 0) + 1 FROM"
# Seconds for which a checkpoint waits for other processes that read.
_PURGE_SECONDS: Final = 5.0


def write_time() -> str:
    """Return the time, as rows have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class MemoryTables:
    """Stores lasting memories and finds them again."""

    def __init__(self, reader: ReadPool, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer

    def begin(self, record: MemoryRecord) -> MemoryRecord:
        """Insert a memory that has read nothing yet."""

        def insert(connection: sqlite3.Connection) -> int:
            columns = MEMORY_COLUMNS.split(", ")
            query = f"INSERT INTO memories ({MEMORY_COLUMNS}) VALUES ({', '.join('?' * len(columns))})"
            try:
                return int(connection.execute(query, memory_to_row(record)).lastrowid or 0)
            except sqlite3.IntegrityError as error:
                raise InputError(
                    f"there is a memory {record.name!r} already: add to it, or take another name"
                ) from error

        self._writer.write_now(insert)
        return self.find(record.name, record.owner)

    def find(self, name: str, owner: str = "") -> MemoryRecord:
        """Return the memory of this name; InputError names those that there are."""
        row = self._reader.fetch_one(
            f"SELECT number, {MEMORY_COLUMNS} FROM memories WHERE owner = ? AND name = ?", (owner, store_text(name))
        )
        if row is None:
            names = ", ".join(record.name for record in self.list_all(owner)[:10])
            there = f"there are: {names}" if names else f"begin one: bookwheel memory new {name} --about TEXT"
            raise InputError(f"no memory {name!r}; {there}")
        return memory_from_row(row)

    def list_all(self, owner: str | None = "") -> list[MemoryRecord]:
        """Return an owner's memories, newest first; with None, everybody's."""
        query = f"SELECT number, {MEMORY_COLUMNS} FROM memories WHERE ?1 IS NULL OR owner = ?1 ORDER BY number DESC"
        return [memory_from_row(row) for row in self._reader.fetch_all(query, (owner,))]

    def rename(self, memory: int, name: str) -> None:
        """Give a memory another name."""

        def update(connection: sqlite3.Connection) -> None:
            try:
                connection.execute("UPDATE memories SET name = ? WHERE number = ?", (store_text(name), memory))
            except sqlite3.IntegrityError as error:
                raise InputError(f"there is a memory {name!r} already") from error

        self._writer.write_now(update)

    def delete(self, memory: int) -> bool:
        """Delete a memory with all that it holds; return whether the file has been rewritten without it."""
        self._writer.write_now(lambda to: to.execute("DELETE FROM memories WHERE number = ?", (memory,)).close())
        return self.purge()

    @contextmanager
    def claim(self, memory: int) -> Iterator[None]:
        """Hold the memory for one writer; LockTaken while there is another."""
        with hold_lock(lock_folder(self._reader.path) / f"memory-{memory}.lock"):
            yield

    def is_free(self, memory: int) -> bool:
        """Return whether nobody writes."""
        try:
            with self.claim(memory):
                return True
        except LockTaken:
            return False

    def add_text(self, record: MemoryRecord, content: str, source: str, at: str) -> tuple[MemoryText, bool]:
        """Queue a text behind those that are there; return it, and False if this source has said the same before."""
        sha256 = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        instant = datetime.fromisoformat(at).astimezone(UTC).isoformat()
        memory, most = record.number, record.limits.max_characters

        def insert(connection: sqlite3.Connection) -> bool:
            known = (memory, store_text(source), sha256)
            same = "SELECT 1 FROM memory_texts WHERE memory = ? AND source = ? AND sha256 = ?"
            if connection.execute(same, known).fetchone():
                return False
            counts = "SELECT texts, characters, newest FROM memories WHERE number = ?"
            texts, characters, newest = connection.execute(counts, (memory,)).fetchone()
            if most is not None and characters + len(content) > most:
                raise InputError(
                    f"the memory {record.name!r} may hold {most:,} characters and has {characters:,}: forget sources, "
                    f"or begin another memory"
                )
            connection.execute(
                f"INSERT INTO memory_texts (memory, {TEXT_COLUMNS}, content) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)",
                (
                    memory,
                    texts + 1,
                    store_text(source),
                    at,
                    write_time(),
                    sha256,
                    len(content),
                    instant < newest,
                    store_text(content),
                ),
            )
            connection.execute(
                "UPDATE memories SET texts = texts + 1, characters = characters + ?, newest = max(newest, ?) "
                "WHERE number = ?",
                (len(content), instant, memory),
            )
            return True

        is_new = self._writer.write_now(insert)
        row = self._reader.fetch_one(f"{_TEXTS} AND source = ? AND sha256 = ?", (memory, store_text(source), sha256))
        return text_from_row(row), is_new

    def list_waiting(self, memory: int) -> list[MemoryText]:
        """Return the texts that are not read to their end, in order of arrival."""
        return self._list_texts(f"{_TEXTS} AND position < characters ORDER BY number", memory)

    def list_texts(self, memory: int) -> list[MemoryText]:
        """Return all texts, in order of arrival."""
        return self._list_texts(f"{_TEXTS} ORDER BY number", memory)

    def count_texts(self, memory: int) -> int:
        """Return the number of texts."""
        count = self._reader.fetch_one("SELECT count(*) FROM memory_texts WHERE memory = ?", (memory,))[0]
        return int(count)

    def load_text(self, memory: int, number: int) -> str:
        """Return the words of a text."""
        query = "SELECT content FROM memory_texts WHERE memory = ? AND number = ?"
        row = self._reader.fetch_one(query, (memory, number))
        if row is None:
            raise JournalError(f"text {number} was forgotten")
        return load_text(row[0])

    def add_version(self, memory: int, version: MemoryVersion) -> None:
        """Insert a version, and how far its text is read with it, in one transaction."""
        self._writer.write_now(lambda connection: _insert_version(connection, memory, version))

    def newest_version(self, memory: int, limit: int, until: int | None = None) -> MemoryVersion | None:
        """Return the newest version, or the newest one up to a number; None where nothing was read."""
        query = f"{_VERSIONS} AND version <= ? ORDER BY version DESC LIMIT 1"
        row = self._reader.fetch_one(query, (memory, 2**62 if until is None else until))
        return version_from_row(row, limit) if row else None

    def list_versions(self, memory: int, limit: int, after: int = 0) -> list[MemoryVersion]:
        """Return the versions behind a number, oldest first."""
        rows = self._reader.fetch_all(f"{_VERSIONS} AND version > ? ORDER BY version", (memory, after))
        return [version_from_row(row, limit) for row in rows]

    def find_known(self, memory: int, instant: str) -> int:
        """Return the newest version before the first one that knows anything from after an instant (UTC)."""
        later = (
            "SELECT min(version) FROM memory_versions LEFT JOIN memory_texts "
            "ON memory_texts.memory = memory_versions.memory AND memory_texts.number = memory_versions.text "
            "WHERE memory_versions.memory = ?1 AND julianday(coalesce(at, kept)) > julianday(?2)"
        )
        (first,) = self._reader.fetch_one(later, (memory, instant))
        return 2**62 if first is None else first - 1

    def count_tokens_today(self, memory: int) -> int:
        """Return the tokens of the readings and questions of this day in UTC."""
        today = datetime.now(UTC).date().isoformat()
        total = 0
        for table, time_column in (("memory_versions", "kept"), ("memory_answers", "asked")):
            query = (
                f"SELECT sum(prompt_tokens + completion_tokens) FROM {table} WHERE memory = ? AND {time_column} >= ?"
            )
            total += self._reader.fetch_one(query, (memory, today))[0] or 0
        return total

    def add_answer(self, memory: int, version: int, record: Mapping[str, Any], tokens: tuple[int, int]) -> None:
        """Keep an answer."""
        values = (version, store_text(json.dumps(record, ensure_ascii=False)), *tokens, write_time())
        query = f"INSERT INTO memory_answers VALUES (?1, ({_NEXT} memory_answers WHERE memory = ?1), ?, ?, ?, ?, ?)"
        self._writer.write_now(lambda connection: connection.execute(query, (memory, *values)).close())

    def list_answers(self, memory: int) -> list[dict[str, Any]]:
        """Return the answers that were given, oldest first."""
        rows = self._reader.fetch_all("SELECT record FROM memory_answers WHERE memory = ? ORDER BY number", (memory,))
        return [json.loads(load_text(row[0])) for row in rows]

    def begin_forgetting(self, memory: int, scope: str, sources: Sequence[str], masks: Mapping[int, str | None]) -> int:
        """Note what is forgotten: for each text what remains of it, or None where nothing does."""

        def insert(connection: sqlite3.Connection) -> int:
            (number,) = connection.execute(f"{_NEXT} memory_forgets WHERE memory = ?", (memory,)).fetchone()
            names = store_text(json.dumps(list(sources), ensure_ascii=False))
            kept = store_text(json.dumps([masks[text] for text in sorted(masks)], ensure_ascii=False))
            connection.execute(
                "INSERT INTO memory_forgets (memory, number, scope, sources, texts, masks, began) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (memory, number, scope, names, json.dumps(sorted(masks)), kept, write_time()),
            )
            return int(number)

        return self._writer.write_now(insert)

    def list_tombstones(self, memory: int) -> list[Tombstone]:
        """Return what was forgotten and what is being forgotten, oldest first."""
        return [tombstone_from_row(row) for row in self._reader.fetch_all(f"{_TOMBSTONES} ORDER BY number", (memory,))]

    def load_masks(self, memory: int, tombstone: Tombstone) -> dict[int, str | None]:
        """Return what remains of each text that a forgetting under way is about."""
        query = "SELECT masks FROM memory_forgets WHERE memory = ? AND number = ?"
        (masks,) = self._reader.fetch_one(query, (memory, tombstone.number))
        return dict(zip(tombstone.texts, json.loads(load_text(masks)), strict=True))

    def load_replays(self, memory: int, limit: int) -> dict[int, MemoryVersion]:
        """Return the versions that a forgetting under way has made anew, by their numbers."""
        rows = self._reader.fetch_all(f"SELECT {VERSION_COLUMNS} FROM memory_replays WHERE memory = ?", (memory,))
        return {row[0]: version_from_row(row, limit) for row in rows}

    def add_replay(self, memory: int, version: MemoryVersion) -> None:
        """Keep a version that a forgetting under way has made anew."""
        query = f"INSERT INTO memory_replays (memory, {VERSION_COLUMNS}) VALUES ({_places(VERSION_COLUMNS)})"
        self._writer.write_now(lambda to: to.execute(query, (memory, *version_to_row(version))).close())

    def end_forgetting(
        self, memory: int, tombstone: Tombstone, replays: Sequence[MemoryVersion], dropped: Sequence[int], since: str
    ) -> None:
        """Put the new versions in the place of the old ones, and drop texts, answers and masks, in one transaction."""
        masks = self.load_masks(memory, tombstone)

        def swap(connection: sqlite3.Connection) -> None:
            gone = [*dropped, *(version.version for version in replays)]
            connection.executemany(
                "DELETE FROM memory_versions WHERE memory = ? AND version = ?", [(memory, version) for version in gone]
            )
            for version in replays:
                query = f"INSERT INTO memory_versions (memory, {VERSION_COLUMNS}) VALUES ({_places(VERSION_COLUMNS)})"
                connection.execute(query, (memory, *version_to_row(version)))
            for text, mask in masks.items():
                if text:
                    _drop_words(connection, memory, text, mask)
            connection.execute("DELETE FROM memory_answers WHERE memory = ? AND asked >= ?", (memory, since))
            connection.execute("DELETE FROM memory_replays WHERE memory = ?", (memory,))
            connection.execute(
                "UPDATE memory_forgets SET masks = '[]', texts = '[]', ended = ?, replayed = ?, lines = ? "
                "WHERE memory = ? AND number = ?",
                (write_time(), tombstone.replayed, tombstone.lines, memory, tombstone.number),
            )

        self._writer.write_now(swap)

    def purge(self) -> bool:
        """Rewrite the file without what was deleted, and empty its log; False while another process reads from it."""
        path = self._reader.path
        with translate_errors(path, "purge"), closing(connect(path)) as connection:
            # A page that was split may keep words in its unused part, which only a rewrite of the file drops.
            connection.execute("VACUUM")
            patience = time.monotonic() + _PURGE_SECONDS
            while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > patience:
                    return False
                time.sleep(0.05)
        self._writer.write_now(lambda to: to.execute("UPDATE memory_forgets SET purged = 1 WHERE ended <> ''").close())
        return True

    def copy_to(self, target: MemoryTables, record: MemoryRecord) -> None:
        """Copy a memory with all that it holds into another journal."""
        fresh = target.begin(record)
        copies: list[tuple[str, list[Any]]] = []
        for table in ("memory_texts", "memory_versions", "memory_answers", "memory_forgets"):
            rows = self._reader.fetch_all(f"SELECT * FROM {table} WHERE memory = ?", (record.number,))
            copies.append((table, [(fresh.number, *row[1:]) for row in rows]))
        counts = "SELECT texts, characters, newest FROM memories WHERE number = ?"
        totals = self._reader.fetch_one(counts, (record.number,))

        def insert(connection: sqlite3.Connection) -> None:
            for table, rows in copies:
                if rows:
                    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
            update = "UPDATE memories SET texts = ?, characters = ?, newest = ? WHERE number = ?"
            connection.execute(update, (*totals, fresh.number))

        target.write(insert)

    def write(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Run a function inside a transaction."""
        self._writer.write_now(work)

    def _list_texts(self, query: str, memory: int) -> list[MemoryText]:
        return [text_from_row(row) for row in self._reader.fetch_all(query, (memory,))]


def blank_version(limit: int) -> MemoryVersion:
    """Return version 0: nothing was read."""
    from bookwheel.journal.memory_rows import VersionKind

    return MemoryVersion(version=0, kind=VersionKind.READ, memory=Memory.blank(limit))


def _places(columns: str) -> str:
    return ", ".join("?" * (1 + len(columns.split(", "))))


def _insert_version(connection: sqlite3.Connection, memory: int, version: MemoryVersion) -> None:
    query = f"INSERT INTO memory_versions (memory, {VERSION_COLUMNS}) VALUES ({_places(VERSION_COLUMNS)})"
    try:
        connection.execute(query, (memory, *version_to_row(version)))
    except sqlite3.IntegrityError as error:
        raise JournalError(f"version {version.version} is there already: another process has written it") from error
    if version.text is not None:
        update = "UPDATE memory_texts SET position = ? WHERE memory = ? AND number = ?"
        connection.execute(update, (version.end, memory, version.text))


def _drop_words(connection: sqlite3.Connection, memory: int, text: int, mask: str | None) -> None:
    """Drop a text, or put what remains of it in its place."""
    key = (memory, text)
    if mask is None:
        count = "SELECT characters FROM memory_texts WHERE memory = ? AND number = ?"
        found = connection.execute(count, key).fetchone()
        connection.execute("DELETE FROM memory_texts WHERE memory = ? AND number = ?", key)
        update = "UPDATE memories SET characters = characters - ? WHERE number = ?"
        connection.execute(update, (found[0] if found else 0, memory))
    else:
        sha256 = hashlib.sha256(mask.encode("utf-8", "surrogatepass")).hexdigest()
        update = "UPDATE memory_texts SET content = ?, sha256 = ? WHERE memory = ? AND number = ?"
        connection.execute(update, (store_text(mask), sha256, *key))
