"""The lasting memories of a journal: their texts in order of arrival, their versions, their answers, their tombstones.

A text that `add_text` has returned is durable, and is read sooner or later, in its turn. Texts and versions stand in
plain letters, so that a search of the file's bytes can prove what was forgotten.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from bookwheel.errors import InputError, JournalError, NotKept
from bookwheel.journal.access import ReadPool, Writer
from bookwheel.journal.files import connect, empty_log, hold_lock, lock_folder, translate_errors
from bookwheel.journal.forgotten import drop_answers, drop_places, drop_words
from bookwheel.journal.memory_indexes import MemoryIndexes
from bookwheel.journal.memory_pictures import MemoryPictures, insert_parts, label_parts
from bookwheel.journal.memory_rows import (
    MEMORIES,
    TEXTS,
    TOMBSTONES,
    VERSIONS,
    MemoryRecord,
    MemoryText,
    MemoryVersion,
    Tombstone,
)
from bookwheel.journal.originals import PICTURE_COLUMNS
from bookwheel.journal.rows import RowFormat
from bookwheel.journal.tables import IS_SOUND, digest, from_json, load_text, store_text, to_json
from bookwheel.types import Part

_COPIED: Final = {
    "memory_texts": f"{TEXTS.names}, content",
    "memory_versions": VERSIONS.names,
    "memory_answers": "number, version, record, prompt_tokens, completion_tokens, asked",
    "memory_forgets": f"{TOMBSTONES.names}, masks",
    "memory_follows": "source, place",
    "memory_pages": "text, start, page",
    "memory_pictures": f"text, {PICTURE_COLUMNS}",
}
"""The columns of a memory that a copy of it has."""
_NEXT: Final = "SELECT coalesce(max(number), 0) + 1 FROM"
_THIS: Final = "WHERE memory = ? AND number = ?"
_KEEP_PLACE: Final = "INSERT OR REPLACE INTO memory_follows (memory, source, place) VALUES (?, ?, ?)"
_DROP_SUMS: Final = (
    "UPDATE memory_follows SET place = json_remove(place, '$.lines') WHERE memory = ? AND json_valid(place)"
)
# Texts that are loaded at once: a few are at most what one may be long, most are short.
_BATCH: Final = 16
_NEVER: Final = 2**62
"""A version behind every other."""


_T = TypeVar("_T")


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
        for record in self._load(MEMORIES, "memories", "owner = ? AND name = ?", owner, store_text(name)):
            return record
        names = ", ".join(record.name for record in self.list_all(owner)[:10])
        there = f"there are: {names}" if names else f"begin one: bookwheel memory new {name} --about TEXT"
        raise InputError(f"no memory {name!r}; {there}")

    def list_all(self, owner: str | None = "") -> list[MemoryRecord]:
        """Return an owner's memories, newest first; with None, everybody's. Damaged ones are left out."""
        condition = f"{IS_SOUND['memories']} AND (?1 IS NULL OR owner = ?1) ORDER BY number DESC"
        return self._load(MEMORIES, "memories", condition, owner)

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

    def find_place(self, memory: int, source: str) -> str:
        """Return how far a source that grows was read; empty where it never was."""
        condition = "memory = ? AND source = ?"
        rows = self._fetch("memory_follows", "place", condition, memory, store_text(source))
        return str(rows[0][0]) if rows else ""

    def keep_place(self, memory: int, source: str, place: str) -> None:
        what = f"how far a source of memory {memory} was read"
        values = (memory, store_text(source), place)
        self._writer.write_now(lambda connection: connection.execute(_KEEP_PLACE, values).close(), what)

    def add_text(
        self,
        record: MemoryRecord,
        words: str | Sequence[Part],
        source: str,
        at: str,
        place: str = "",
        *,
        is_dated: bool = False,
        is_changed: bool = False,
    ) -> tuple[MemoryText, bool]:
        """Queue a text behind those that are there; return it, and False if this source has said the same before.

        What has a day is the same on that day alone, and what came back with a change of its file is new. A text in
        parts may have pages and pictures. A source that grows gives the place behind it, and repeats nothing.
        """
        instant = datetime.fromisoformat(at).astimezone(UTC).isoformat()
        memory, most = record.number, record.limits.max_characters
        find = "memory_texts WHERE memory = ? AND source = ? AND sha256 = ?" + " AND at = ?" * is_dated

        def insert(connection: sqlite3.Connection) -> tuple[MemoryText, bool]:
            parts = [] if isinstance(words, str) else label_parts(connection, memory, words)
            content = words if isinstance(words, str) else "".join(part.text for part in parts)
            sha256 = digest(content)
            if place:
                connection.execute(_KEEP_PLACE, (memory, store_text(source), place))
            elif not is_changed:
                asked = memory, store_text(source), sha256, *([at] if is_dated else [])
                if row := connection.execute(f"SELECT {TEXTS.names} FROM {find}", asked).fetchone():
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
            insert_parts(connection, memory, text.number, parts)
            connection.execute(
                "UPDATE memories SET texts = texts + 1, characters = characters + ?, newest = max(newest, ?) "
                "WHERE number = ?",
                (len(content), instant, memory),
            )
            return text, True

        return self._writer.write_now(insert, f"a text of memory {memory}")

    def pictures(self, memory: int) -> MemoryPictures:
        return MemoryPictures(self._reader, memory)

    def indexes(self, memory: int, name: str) -> MemoryIndexes:
        return MemoryIndexes(self._reader, self._writer, memory, name)

    def list_waiting(self, memory: int) -> list[MemoryText]:
        return self._load(TEXTS, "memory_texts", "memory = ? AND position < characters ORDER BY number", memory)

    def list_texts(self, memory: int) -> list[MemoryText]:
        return self._load(TEXTS, "memory_texts", "memory = ? ORDER BY number", memory)

    def find_text(self, memory: int, number: int) -> MemoryText:
        """Return what is known of a text. Raise NotKept where it was forgotten."""
        for text in self._load(TEXTS, "memory_texts", "memory = ? AND number = ?", memory, number):
            return text
        raise NotKept(f"text {number} was forgotten")

    def count_texts(self, memory: int) -> int:
        return int(self._reader.fetch_one("SELECT count(*) FROM memory_texts WHERE memory = ?", (memory,))[0])

    def load_text(self, memory: int, number: int) -> str:
        for _, content in self.load_texts(memory, [number]):
            return content
        raise NotKept(f"text {number} was forgotten")

    def load_texts(self, memory: int, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Yield the numbers and words of those texts that are there; few are in memory at once."""
        for at in range(0, len(numbers), _BATCH):
            some = numbers[at : at + _BATCH]
            condition = f"memory = ? AND number IN ({', '.join('?' * len(some))})"
            for number, sha256, content in self._fetch(
                "memory_texts", "number, sha256, content", condition, memory, *some
            ):
                if digest(content) != sha256:
                    raise _damage_error("memory_texts", self._reader.path)
                yield number, load_text(content)

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

        self._writer.write_now(insert, f"version {version.version} of memory {memory}")

    def newest_version(self, memory: int, limit: int, until: int | None = None) -> MemoryVersion | None:
        """Return the newest version, or the newest one up to a number; None where nothing was read."""
        condition = "memory = ? AND version <= ? ORDER BY version DESC LIMIT 1"
        last = _NEVER if until is None else until
        found = self._load(VERSIONS, "memory_versions", condition, memory, last, limit=limit)
        return found[0] if found else None

    def list_versions(self, memory: int, limit: int) -> list[MemoryVersion]:
        return self._load(VERSIONS, "memory_versions", "memory = ? ORDER BY version", memory, limit=limit)

    def list_edits(self, memory: int, until: int | None = None) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
        """Return when each correction up to a version was made, and its lines: old and new."""
        condition = "memory = ? AND kind = 'edit' AND version <= ? ORDER BY version"
        rows = self._fetch("memory_versions", "kept, changes", condition, memory, _NEVER if until is None else until)
        return [(kept, tuple((old, new) for old, new in from_json(changes))) for kept, changes in rows]

    def find_known(self, memory: int, instant: str) -> int | None:
        """Return the newest version before the first one that knows anything from after an instant; None for all."""
        later = (
            "SELECT min(version) FROM memory_versions LEFT JOIN memory_texts "
            "ON memory_texts.memory = memory_versions.memory AND memory_texts.number = memory_versions.text "
            "WHERE memory_versions.memory = ?1 AND julianday(coalesce(at, kept)) > julianday(?2)"
        )
        (first,) = self._reader.fetch_one(later, (memory, instant))
        return None if first is None else first - 1

    def count_tokens_today(self, memory: int) -> int:
        query = (
            "SELECT coalesce(sum(tokens), 0) FROM (SELECT prompt_tokens + completion_tokens AS tokens "
            "FROM memory_versions WHERE memory = ?1 AND kept >= ?2 UNION ALL SELECT prompt_tokens + completion_tokens "
            "FROM memory_answers WHERE memory = ?1 AND asked >= ?2)"
        )
        return int(self._reader.fetch_one(query, (memory, datetime.now(UTC).date().isoformat()))[0])

    def add_answer(self, memory: int, version: int, record: Mapping[str, Any], tokens: tuple[int, int]) -> None:
        query = (
            f"INSERT INTO memory_answers (memory, {_COPIED['memory_answers']}) "
            f"VALUES (?1, ({_NEXT} memory_answers WHERE memory = ?1), ?, ?, ?, ?, ?)"
        )
        self._writer.execute_now(query, (memory, version, to_json(record), *tokens, write_time()))

    def list_answers(self, memory: int, since: str = "") -> list[dict[str, Any]]:
        rows = self._fetch("memory_answers", "record", "memory = ? AND asked >= ? ORDER BY number", memory, since)
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
        return self._load(TOMBSTONES, "memory_forgets", "memory = ? ORDER BY number", memory)

    def load_masks(self, memory: int, tombstone: Tombstone) -> dict[int, str | None]:
        ((masks,),) = self._fetch("memory_forgets", "masks", "memory = ? AND number = ?", memory, tombstone.number)
        return dict(zip(tombstone.texts, from_json(masks), strict=True))

    def load_replays(self, memory: int, limit: int) -> dict[int, MemoryVersion]:
        """Return the versions that a forgetting under way has made anew, by their numbers."""
        made = self._load(VERSIONS, "memory_replays", "memory = ?", memory, limit=limit)
        return {version.version: version for version in made}

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
                    drop_words(connection, memory, text, mask)
            connection.execute("DELETE FROM memory_answers WHERE memory = ? AND asked >= ?", (memory, since))
            if phrase := masks.get(0):
                drop_answers(connection, memory, phrase)
            if tombstone.scope == "source":
                drop_places(connection, memory, tombstone.sources)
            # The sum of a short line tells whoever guesses it that the line was there.
            connection.execute(_DROP_SUMS, (memory,))
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
        if not empty_log(path):
            return False
        self._writer.execute_now("UPDATE memory_forgets SET purged = 1 WHERE ended <> ''")
        return True

    def copy_to(self, target: MemoryTables, record: MemoryRecord) -> None:
        number = target.begin(record).number
        copies = [
            (
                f"INSERT INTO {table} (memory, {columns}) VALUES ({', '.join('?' * (columns.count(',') + 2))})",
                [(number, *row) for row in self._fetch(table, columns, "memory = ?", record.number)],
            )
            for table, columns in _COPIED.items()
        ]
        own = "sha256 IN (SELECT picture FROM memory_pictures WHERE memory = ?)"
        pictures = self._reader.fetch_all(f"SELECT sha256, content FROM pictures WHERE {own}", (record.number,))
        (totals,) = self._fetch("memories", "texts, characters, newest", "number = ?", record.number)

        def copy(connection: sqlite3.Connection) -> None:
            for insert, rows in copies:
                connection.executemany(insert, rows)
            connection.executemany("INSERT OR IGNORE INTO pictures VALUES (?, ?)", pictures)
            update = "UPDATE memories SET texts = ?, characters = ?, newest = ? WHERE number = ?"
            connection.execute(update, (*totals, number))

        target._writer.write_now(copy)

    def _load(
        self, rows: RowFormat[_T], table: str, condition: str, *values: Any, limit: int | None = None
    ) -> list[_T]:
        given = {} if limit is None else {"memory.limit": limit}
        return [rows.from_row(row, given) for row in self._fetch(table, rows.names, condition, *values)]

    def _fetch(self, table: str, columns: str, condition: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the columns of rows. Raise JournalError if one is damaged."""
        # Pages and pictures have no checksum.
        query = f"SELECT {IS_SOUND.get(table, '1')}, {columns} FROM {table} WHERE {condition}"
        rows = self._reader.fetch_all(query, values)
        if not all(is_sound for is_sound, *_ in rows):
            raise _damage_error(table, self._reader.path)
        return [row[1:] for row in rows]


def _damage_error(table: str, path: Path) -> JournalError:
    advice = "bookwheel doctor names it, and bookwheel doctor --repair drops it; a text read with it is then read again"
    return JournalError(f"a row of {table} is damaged in the journal {path}: {advice}")
