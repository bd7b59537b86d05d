"""Insert and delete readings and steps, each inside a transaction of the writer."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from bookwheel.errors import JournalError
from bookwheel.journal.documents import delete_unread
from bookwheel.journal.rows import (
    READING_COLUMNS,
    STEP_COLUMNS,
    address_to_row,
    load_text,
    reading_to_row,
    step_to_row,
    store_text,
)
from bookwheel.types import Memory

if TYPE_CHECKING:
    from bookwheel.models.registry import ModelAddress
    from bookwheel.types import Reading, Step

NEWEST_DOCUMENT: Final = (
    "SELECT documents.id FROM documents JOIN texts ON texts.id = text "
    "WHERE sha256 = ?1 AND (?2 IS NULL OR name = ?2) ORDER BY used DESC LIMIT 1"
)
"""The row that `keep` stored last of this text and, if one is given, this name."""
_USAGE: Final = "calls = calls + ?, prompt_tokens = prompt_tokens + ?, completion_tokens = completion_tokens + ?"


def insert_reading(
    connection: sqlite3.Connection,
    reading: Reading,
    *,
    document: int | None = None,
    address: ModelAddress | None = None,
) -> None:
    """Insert a reading with the steps that it has. Its document must be there, or `document` is its row."""
    if document is None:
        kept = connection.execute(NEWEST_DOCUMENT, (reading.document.id, store_text(reading.document.name))).fetchone()
        if kept is None:
            raise JournalError(
                f"the document of reading {reading.id} is not in the journal; store it with keep() before begin()"
            )
        document = kept[0]
    values = (document, address_to_row(address), *reading_to_row(reading))
    places = ", ".join("?" * len(values))
    try:
        connection.execute(f"INSERT INTO readings (document, address, {READING_COLUMNS}) VALUES ({places})", values)
    except sqlite3.IntegrityError as error:
        raise JournalError(f"the journal already has a reading {reading.id}; resume it, or use a new id") from error
    number = connection.execute("SELECT number FROM readings WHERE id = ?", (reading.id,)).fetchone()[0]
    memory = Memory.blank(reading.plan.memory_tokens)
    for step in reading.steps:
        _insert_step_row(connection, number, step, follows=step.before == memory)
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
        _insert_step_row(connection, number, step, follows=(step.before.text, step.before.tokens) == before)
    except sqlite3.IntegrityError as error:
        raise JournalError(
            f"step {step.chunk.index} of reading {reading_id} is already in the journal; another process may have "
            f"continued it: resume it from there"
        ) from error
    usage = step.conversation.reply.usage
    connection.execute(
        f"UPDATE readings SET {_USAGE}, seconds = seconds + ? WHERE number = ?",
        (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.seconds, number),
    )


def _insert_step_row(connection: sqlite3.Connection, number: int, step: Step, *, follows: bool) -> None:
    values = (number, *step_to_row(step, follows=follows))
    places = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO steps (reading, {STEP_COLUMNS}) VALUES ({places})", values)


def delete_reading(connection: sqlite3.Connection, number: int, document: int) -> None:
    """Delete a reading, and its document if no other reading is of it."""
    connection.execute("DELETE FROM readings WHERE number = ?", (number,))
    delete_unread(connection, document)
    connection.execute("PRAGMA incremental_vacuum").fetchall()
