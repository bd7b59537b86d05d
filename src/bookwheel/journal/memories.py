"""The lasting memories of a journal: their texts in order of arrival, their versions, their answers, their tombstones.

A text that `add_text` has returned is durable, and is read sooner or later, in its turn. Texts and versions stand in
plain letters, so that a search of the file's bytes can prove what was forgotten.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import InputError, JournalError
from bookwheel.journal.files import LockTaken, connect, hold_lock, lock_folder, translate_errors
from bookwheel.journal.memory_rows import MEMORIES, TEXTS, TOMBSTONES, VERSIONS, MemoryText, Tombstone
from bookwheel.journal.rows import from_json, load_text, store_text, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bookwheel.journal.access import ReadPool, Writer
    from bookwheel.journal.memory_rows import MemoryRecord, MemoryVersion

_MEMORIES: Final = f"SELECT {MEMORIES.names} FROM memories WHERE"
_TEXTS: Final = f"SELECT {TEXTS.names} FROM memory_texts WHERE memory = ?"
_VERSIONS: Final = f"SELECT {VERSIONS.names} FROM memory_versions WHERE memory = ?"
_NEXT: Final = "SELECT coalesce(max(number), 0) + 1 FROM"
_THIS: Final = "WHERE memory = ? AND number = ?"
# Seconds for which a checkpoint waits for other processes that read.
_PURGE_SECONDS: Final = 5.0
_NEVER: Final = 2**62
"""A version behind every other."""


def write_time() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class MemoryTables:
    """Stores lasting memories and finds them again."""

    def __init__(self, reader: ReadPool, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer

    def begin(self, record: MemoryRecord) -> MemoryRecord:
        """Insert a memory that has read nothing yet, and return it with its number."""

        def insert(connection: sqlite3.Connection) -> None:
            (number,) = connection.execute(f"{_NEXT} memories").fetchone()
            try:
                connection.execute(MEMORIES.insert("memories"), MEMORIES.to_row(replace(record, number=number)))
            except sqlite3.IntegrityError as error:
                raise InputError(
                    f"there is a memory {record.name!r} already: add to it, or take another name"
                ) from error

        self._writer.write_now(insert)
        return self.find(record.name, record.owner)

    def find(self, name: str, owner: str = "") -> MemoryRecord:
        """Return the memory of this name; InputError names those that there are."""
        row = self._reader.fetch_one(f"{_MEMORIES} owner = ? AND name = ?", (owner, store_text(name)))
        if row is None:
            names = ", ".join(record.name for record in self.list_all(owner)[:10])
            there = f"there are: {names}" if names else f"begin one: bookwheel memory new {name} --about TEXT"
            raise InputError(f"no memory {name!r}; {there}")
        return MEMORIES.from_row(row, {})

    def list_all(self, owner: str | None = "") -> list[MemoryRecord]:
        """Return an owner's memories, newest first; with None, everybody's."""
        rows = self._reader.fetch_all(f"{_MEMORIES} ?1 IS NULL OR owner = ?1 ORDER BY number DESC", (owner,))
        return [MEMORIES.from_row(row, {}) for row in rows]

    def rename(self, memory: int, name: str) -> None:
        def update(connection: sqlite3.Connection) -> None:
            try:
                connection.execute("UPDATE memories SET name = ? WHERE number = ?", (store_text(name), memory))
            except sqlite3.IntegrityError as error:
                raise InputError(f"there is a memory {name!r} already") from error

        self._writer.write_now(update)

    def delete(self, memory: int) -> bool:
        """Delete a memory with all that it holds; return whether the file has been rewritten without it."""
        self._writer.execute_now("DELETE FROM memories WHERE number = ?", (memory,))
        return self.purge()

    @contextmanager
    def claim(self, memory: int) -> Iterator[None]:
        """Hold the memory for one writer; LockTaken while there is another."""
        with hold_lock(lock_folder(self._reader.path) / f"memory-{memory}.lock"):
            yield

    def is_free(self, memory: int) -> bool:
        try:
            with self.claim(memory):
                return True
        except LockTaken:
            return False

    def find_place(self, memory: int, source: str) -> str:
        """Return how far a source that grows was read; empty where it never was."""
        query = "SELECT place FROM memory_follows WHERE memory = ? AND source = ?"
        row = self._reader.fetch_one(query, (memory, store_text(source)))
        return str(row[0]) if row else ""

    def keep_place(self, memory: int, source: str, place: str) -> None:
        """Note how far a source that grows was read."""
        self._writer.write_now(lambda connection: _keep_place(connection, memory, source, place))

    def add_text(
        self, record: MemoryRecord, content: str, source: str, at: str, place: str = ""
    ) -> tuple[MemoryText, bool]:
        """Queue a text behind those that are there; return it, and False if this source has said the same before.

        A source that grows gives the place behind the text: it says what is new, so that equal lines are no repetition.
        """
        sha256 = _hash(content)
        instant = datetime.fromisoformat(at).astimezone(UTC).isoformat()
        memory, most = record.number, record.limits.max_characters
        find = f"{_TEXTS} AND source = ? AND sha256 = ?"

        def insert(connection: sqlite3.Connection) -> tuple[MemoryText, bool]:
            if place:
                _keep_place(connection, memory, source, place)
            elif row := connection.execute(find, (memory, store_text(source), sha256)).fetchone():
                return TEXTS.from_row(row, {}), False
            counts = "SELECT texts, characters, newest FROM memories WHERE number = ?"
            texts, characters, newest = connection.execute(counts, (memory,)).fetchone()
            if most is not None and characters + len(content) > most:
                raise InputError(
                    f"the memory {record.name!r} may hold {most:,} characters and has {characters:,}: forget sources, "
                    f"or begin another memory"
                )
            text = MemoryText(
                number=texts + 1,
                source=source,
                at=at,
                arrived=write_time(),
                sha256=sha256,
                characters=len(content),
                position=0,
                is_late=instant < newest,
            )
            values = (memory, store_text(content), *TEXTS.to_row(text))
            connection.execute(TEXTS.insert("memory_texts", "memory", "content"), values)
            connection.execute(
                "UPDATE memories SET texts = texts + 1, characters = characters + ?, newest = max(newest, ?) "
                "WHERE number = ?",
                (len(content), instant, memory),
            )
            return text, True

        return self._writer.write_now(insert)

    def list_waiting(self, memory: int) -> list[MemoryText]:
        rows = self._reader.fetch_all(f"{_TEXTS} AND position < characters ORDER BY number", (memory,))
        return [TEXTS.from_row(row, {}) for row in rows]

    def list_texts(self, memory: int) -> list[MemoryText]:
        rows = self._reader.fetch_all(f"{_TEXTS} ORDER BY number", (memory,))
        return [TEXTS.from_row(row, {}) for row in rows]

    def count_texts(self, memory: int) -> int:
        return int(self._reader.fetch_one("SELECT count(*) FROM memory_texts WHERE memory = ?", (memory,))[0])

    def load_text(self, memory: int, number: int) -> str:
        row = self._reader.fetch_one(f"SELECT content FROM memory_texts {_THIS}", (memory, number))
        if row is None:
            raise JournalError(f"text {number} was forgotten")
        return load_text(row[0])

    def add_version(self, memory: int, version: MemoryVersion) -> None:
        """Insert a version, and how far its text is read with it, in one transaction."""

        def insert(connection: sqlite3.Connection) -> None:
            values = (memory, *VERSIONS.to_row(version))
            try:
                connection.execute(VERSIONS.insert("memory_versions", "memory"), values)
            except sqlite3.IntegrityError as error:
                raise JournalError(
                    f"version {version.version} is there already: another process has written it"
                ) from error
            if version.text is not None:
                update = f"UPDATE memory_texts SET position = ? {_THIS}"
                connection.execute(update, (version.end, memory, version.text))

        self._writer.write_now(insert)

    def newest_version(self, memory: int, limit: int, until: int | None = None) -> MemoryVersion | None:
        """Return the newest version, or the newest one up to a number; None where nothing was read."""
        query = f"{_VERSIONS} AND version <= ? ORDER BY version DESC LIMIT 1"
        row = self._reader.fetch_one(query, (memory, _NEVER if until is None else until))
        return VERSIONS.from_row(row, {"memory.limit": limit}) if row else None

    def list_versions(self, memory: int, limit: int, after: int = 0) -> list[MemoryVersion]:
        rows = self._reader.fetch_all(f"{_VERSIONS} AND version > ? ORDER BY version", (memory, after))
        return [VERSIONS.from_row(row, {"memory.limit": limit}) for row in rows]

    def find_known(self, memory: int, instant: str) -> int:
        """Return the newest version before the first one that knows anything from after an instant (UTC)."""
        later = (
            "SELECT min(version) FROM memory_versions LEFT JOIN memory_texts "
            "ON memory_texts.memory = memory_versions.memory AND memory_texts.number = memory_versions.text "
            "WHERE memory_versions.memory = ?1 AND julianday(coalesce(at, kept)) > julianday(?2)"
        )
        (first,) = self._reader.fetch_one(later, (memory, instant))
        return _NEVER if first is None else first - 1

    def count_tokens_today(self, memory: int) -> int:
        query = (
            "SELECT coalesce(sum(tokens), 0) FROM (SELECT prompt_tokens + completion_tokens AS tokens "
            "FROM memory_versions WHERE memory = ?1 AND kept >= ?2 UNION ALL SELECT prompt_tokens + completion_tokens "
            "FROM memory_answers WHERE memory = ?1 AND asked >= ?2)"
        )
        return int(self._reader.fetch_one(query, (memory, datetime.now(UTC).date().isoformat()))[0])

    def add_answer(self, memory: int, version: int, record: Mapping[str, Any], tokens: tuple[int, int]) -> None:
        query = f"INSERT INTO memory_answers VALUES (?1, ({_NEXT} memory_answers WHERE memory = ?1), ?, ?, ?, ?, ?)"
        self._writer.execute_now(query, (memory, version, to_json(record), *tokens, write_time()))

    def list_answers(self, memory: int) -> list[dict[str, Any]]:
        rows = self._reader.fetch_all("SELECT record FROM memory_answers WHERE memory = ? ORDER BY number", (memory,))
        return [from_json(row[0]) for row in rows]

    def begin_forgetting(self, memory: int, scope: str, sources: Sequence[str], masks: Mapping[int, str | None]) -> int:
        """Note what is forgotten: for each text what remains of it, or None where nothing does."""

        def insert(connection: sqlite3.Connection) -> int:
            (number,) = connection.execute(f"{_NEXT} memory_forgets WHERE memory = ?", (memory,)).fetchone()
            texts = tuple(sorted(masks))
            stone = Tombstone(number=number, scope=scope, sources=tuple(sources), texts=texts, began=write_time())
            values = (memory, to_json([masks[text] for text in texts]), *TOMBSTONES.to_row(stone))
            connection.execute(TOMBSTONES.insert("memory_forgets", "memory", "masks"), values)
            return int(number)

        return self._writer.write_now(insert)

    def list_tombstones(self, memory: int) -> list[Tombstone]:
        query = f"SELECT {TOMBSTONES.names} FROM memory_forgets WHERE memory = ? ORDER BY number"
        return [TOMBSTONES.from_row(row, {}) for row in self._reader.fetch_all(query, (memory,))]

    def load_masks(self, memory: int, tombstone: Tombstone) -> dict[int, str | None]:
        """Return what remains of each text that a forgetting under way is about."""
        (masks,) = self._reader.fetch_one(f"SELECT masks FROM memory_forgets {_THIS}", (memory, tombstone.number))
        return dict(zip(tombstone.texts, from_json(masks), strict=True))

    def load_replays(self, memory: int, limit: int) -> dict[int, MemoryVersion]:
        """Return the versions that a forgetting under way has made anew, by their numbers."""
        rows = self._reader.fetch_all(f"SELECT {VERSIONS.names} FROM memory_replays WHERE memory = ?", (memory,))
        return {row[0]: VERSIONS.from_row(row, {"memory.limit": limit}) for row in rows}

    def add_replay(self, memory: int, version: MemoryVersion) -> None:
        self._writer.execute_now(VERSIONS.insert("memory_replays", "memory"), (memory, *VERSIONS.to_row(version)))

    def end_forgetting(
        self, memory: int, tombstone: Tombstone, replays: Sequence[MemoryVersion], dropped: Sequence[int], since: str
    ) -> None:
        """Put the new versions in the place of the old ones, and drop texts, answers and masks, in one transaction."""
        masks = self.load_masks(memory, tombstone)
        gone = [(memory, version) for version in (*dropped, *(made.version for made in replays))]
        new = [(memory, *VERSIONS.to_row(version)) for version in replays]
        ended = replace(tombstone, texts=(), ended=write_time())

        def swap(connection: sqlite3.Connection) -> None:
            connection.executemany("DELETE FROM memory_versions WHERE memory = ? AND version = ?", gone)
            connection.executemany(VERSIONS.insert("memory_versions", "memory"), new)
            for text, mask in masks.items():
                if text:
                    _drop_words(connection, memory, text, mask)
            connection.execute("DELETE FROM memory_answers WHERE memory = ? AND asked >= ?", (memory, since))
            connection.execute("DELETE FROM memory_replays WHERE memory = ?", (memory,))
            update = ", ".join(f"{name} = ?" for name in TOMBSTONES.columns)
            values = (*TOMBSTONES.to_row(ended), memory, tombstone.number)
            connection.execute(f"UPDATE memory_forgets SET masks = '[]', {update} {_THIS}", values)

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
        self._writer.execute_now("UPDATE memory_forgets SET purged = 1 WHERE ended <> ''")
        return True

    def copy_to(self, target: MemoryTables, record: MemoryRecord) -> None:
        """Copy a memory with all that it holds into another journal."""
        number = target.begin(record).number
        copies: list[tuple[str, list[Any]]] = []
        for table in ("memory_texts", "memory_versions", "memory_answers", "memory_forgets", "memory_follows"):
            rows = self._reader.fetch_all(f"SELECT * FROM {table} WHERE memory = ?", (record.number,))
            if rows:
                insert = f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})"
                copies.append((insert, [(number, *row[1:]) for row in rows]))
        totals = self._reader.fetch_one(
            "SELECT texts, characters, newest FROM memories WHERE number = ?", (record.number,)
        )

        def copy(connection: sqlite3.Connection) -> None:
            for insert, rows in copies:
                connection.executemany(insert, rows)
            update = "UPDATE memories SET texts = ?, characters = ?, newest = ? WHERE number = ?"
            connection.execute(update, (*totals, number))

        target._writer.write_now(copy)


def _hash(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _keep_place(connection: sqlite3.Connection, memory: int, source: str, place: str) -> None:
    query = "INSERT OR REPLACE INTO memory_follows (memory, source, place) VALUES (?, ?, ?)"
    connection.execute(query, (memory, store_text(source), place))


def _drop_words(connection: sqlite3.Connection, memory: int, text: int, mask: str | None) -> None:
    """Drop a text, or put what remains of it in its place."""
    if mask is not None:
        update = f"UPDATE memory_texts SET content = ?, sha256 = ? {_THIS}"
        connection.execute(update, (store_text(mask), _hash(mask), memory, text))
    elif found := connection.execute(f"SELECT characters FROM memory_texts {_THIS}", (memory, text)).fetchone():
        connection.execute(f"DELETE FROM memory_texts {_THIS}", (memory, text))
        connection.execute("UPDATE memories SET characters = characters - ? WHERE number = ?", (found[0], memory))
