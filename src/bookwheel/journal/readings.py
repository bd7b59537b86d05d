"""The readings of a journal: insert them and their steps, each inside a transaction of the writer, and find them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from bookwheel.errors import JournalError, NotKept
from bookwheel.journal.access import ReadPool
from bookwheel.journal.documents import NEWEST_DOCUMENT, StoredDocument
from bookwheel.journal.rows import (
    ADDRESS,
    PLAN,
    READINGS,
    STEPS,
    reading_from_row,
    reading_to_row,
    step_from_row,
    step_to_row,
)
from bookwheel.journal.tables import IS_SOUND, from_json, load_text, store_text
from bookwheel.models.registry import ModelAddress
from bookwheel.reading.earlier import leave_out
from bookwheel.types import DocumentInfo, Memory, Reading, Step

# Steps that one query fetches.
_STEPS_PER_QUERY: Final = 64
READING_TABLES: Final = (
    "FROM readings JOIN documents ON documents.id = readings.document JOIN texts ON texts.id = documents.text"
)
READING_IS_SOUND: Final = f"({IS_SOUND['readings']} AND {IS_SOUND['documents']} AND {IS_SOUND['texts']})"
SELECT_READINGS: Final = (
    "SELECT readings.number, readings.document, texts.sha256, documents.name, texts.characters, documents.notes, "
    f"{', '.join(f'readings.{name}' for name in READINGS.columns)} {READING_TABLES}"
)
_BEGINS: Final = "substr(readings.id, 1, length(?1)) = ?1 AND ?1 <> ''"
_ADD_USAGE: Final = (
    "UPDATE readings SET calls = calls + ?, prompt_tokens = prompt_tokens + ?, "
    "completion_tokens = completion_tokens + ?, seconds = seconds + ? WHERE number = ?"
)


class FoundReading(NamedTuple):
    """A reading's row, and the numbers by which other tables know it."""

    number: int
    document: int
    info: DocumentInfo
    row: tuple[Any, ...]

    @property
    def id(self) -> str:
        return str(self.row[0])

    def to_reading(self, steps: tuple[Step, ...] = ()) -> Reading:
        return reading_from_row(self.row, self.info, steps)


def parse_row(row: Sequence[Any]) -> FoundReading:
    number, document, sha256, name, length, notes, *columns = row
    info = DocumentInfo(id=sha256, name=load_text(name), length=length, notes=tuple(from_json(notes)))
    return FoundReading(number, document, info, tuple(columns))


def row_id(row: Sequence[Any]) -> str:
    return str(row[-len(READINGS.columns)])


def load_reading(row: Sequence[Any]) -> Reading:
    """Return the reading of a row, without its steps."""
    return parse_row(row).to_reading()


def find_reading(reader: ReadPool, id_or_prefix: str) -> FoundReading:
    """Return the reading of an id, of the beginning of one, or "last". Raise JournalError if it is damaged."""
    row = find_row(reader, id_or_prefix)
    sound = reader.fetch_one(f"SELECT {READING_IS_SOUND} {READING_TABLES} WHERE number = ?", (row[0],))
    if not (sound and sound[0]):
        raise JournalError(
            f"reading {row_id(row)} is damaged in the journal {reader.path}: bookwheel doctor "
            f"--repair drops it and keeps the others"
        )
    return parse_row(row)


def match_rows(reader: ReadPool, id_or_prefix: str) -> list[Any]:
    """Return the rows of the readings that are named: at most one for a whole id, and at most four."""
    if id_or_prefix == "last":
        return reader.fetch_all(f"{SELECT_READINGS} ORDER BY number DESC LIMIT 1")
    wanted = (store_text(id_or_prefix),)
    rows = reader.fetch_all(f"{SELECT_READINGS} WHERE readings.id = ?", wanted)
    return rows or reader.fetch_all(f"{SELECT_READINGS} WHERE {_BEGINS} ORDER BY number DESC LIMIT 4", wanted)


def find_row(reader: ReadPool, id_or_prefix: str) -> Any:
    """Return the row of a reading, also of a damaged one."""
    rows = match_rows(reader, id_or_prefix)
    if len(rows) == 1:
        return rows[0]
    if rows:
        ids = ", ".join(map(row_id, rows[:3]))
        raise JournalError(f"{id_or_prefix!r} matches more than one reading: {ids}, …; give more of the id")
    missing = "no readings yet" if id_or_prefix == "last" else f"no reading {id_or_prefix!r}"
    raise NotKept(f"the journal {reader.path} has {missing}; `bookwheel list` shows what it has")


def forget_turns(connection: sqlite3.Connection, deleted: FoundReading) -> None:
    """Drop a deleted reading's question and answer from the plans of those of the same text, which were told them."""
    reading = deleted.to_reading()
    query = f"SELECT number, plan {READING_TABLES} WHERE texts.sha256 = ?"
    for number, kept in connection.execute(query, (deleted.info.id,)).fetchall():
        plan = PLAN.decode(kept)
        if (earlier := leave_out(reading, plan.earlier)) != plan.earlier:
            values = (PLAN.encode(replace(plan, earlier=earlier)), number)
            connection.execute("UPDATE readings SET plan = ? WHERE number = ?", values)


def load_steps(reader: ReadPool, found: FoundReading, *, with_texts: bool = False) -> Iterator[Step]:
    """Yield the steps of a reading, with the chunks' texts if `with_texts` is true."""
    document = StoredDocument(reader, found.document) if with_texts else None
    memory, seen = Memory.blank(found.to_reading().plan.memory_tokens), -1
    query = (
        f"SELECT {STEPS.names}, {IS_SOUND['steps']} FROM steps "
        f"WHERE reading = ? AND step > ? ORDER BY step LIMIT {_STEPS_PER_QUERY}"
    )
    while rows := reader.fetch_all(query, (found.number, seen)):
        for *row, is_sound in rows:
            if not is_sound:
                raise JournalError(
                    f"step {row[0]} of this reading is damaged in the journal {reader.path}: bookwheel doctor "
                    f"--repair drops it and what follows, and bookwheel resume reads that again"
                )
            step = step_from_row(row, memory, document.slice(row[1], row[2]) if document else "")
            yield step
            memory, seen = step.after, step.chunk.index


def insert_reading(
    connection: sqlite3.Connection, reading: Reading, address: ModelAddress | None, document: int | None = None
) -> None:
    """Insert a reading with the steps that it has. Its document must be there, or `document` is its row."""
    if document is None:
        kept = connection.execute(NEWEST_DOCUMENT, (reading.document.id, store_text(reading.document.name))).fetchone()
        if kept is None:
            raise JournalError(
                f"the document of reading {reading.id} is not in the journal; store it with keep() before begin()"
            )
        document = kept[0]
    values = (document, ADDRESS.encode(address), *reading_to_row(reading))
    try:
        number = connection.execute(READINGS.insert("readings", "document", "address"), values).lastrowid
    except sqlite3.IntegrityError as error:
        raise JournalError(f"the journal already has a reading {reading.id}; resume it, or use a new id") from error
    memory = Memory.blank(reading.plan.memory_tokens)
    for step in reading.steps:
        row = (number, *step_to_row(step, follows=step.before == memory))
        connection.execute(STEPS.insert("steps", "reading"), row)
        memory = step.after


def insert_step(connection: sqlite3.Connection, reading_id: str, step: Step) -> None:
    """Insert the step and add its usage to the reading's. Raise JournalError if the reading has it already."""
    found = connection.execute(
        "SELECT number, memory, memory_tokens FROM readings LEFT JOIN steps ON reading = number "
        "AND step = (SELECT max(step) FROM steps WHERE reading = number) WHERE id = ?",
        (reading_id,),
    ).fetchone()
    if found is None:
        raise JournalError(f"the journal has no reading {reading_id}; begin it before you add steps")
    number, memory, tokens = found
    before = (load_text(memory), tokens) if memory is not None else ("", 0)
    try:
        row = (number, *step_to_row(step, follows=(step.before.text, step.before.tokens) == before))
        connection.execute(STEPS.insert("steps", "reading"), row)
    except sqlite3.IntegrityError as error:
        raise JournalError(
            f"step {step.chunk.index} of reading {reading_id} is already in the journal; another process may have "
            f"continued it: resume it from there"
        ) from error
    usage = step.conversation.reply.usage
    connection.execute(_ADD_USAGE, (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.seconds, number))
