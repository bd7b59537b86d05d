"""The journal: store readings and find them again."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote

from bookwheel.errors import JournalError
from bookwheel.journal.checksums import IS_SOUND
from bookwheel.journal.damage import find_damage
from bookwheel.journal.documents import SpooledDocument, StoredDocument, delete_unread
from bookwheel.journal.inserts import NEWEST_DOCUMENT, delete_reading, insert_reading, insert_step
from bookwheel.journal.listing import SEARCH_CONDITION
from bookwheel.journal.locks import LockTaken, hold_lock, is_held, lock_folder
from bookwheel.journal.read_pool import ReadPool
from bookwheel.journal.rows import (
    FIXED_COLUMNS,
    READING_COLUMNS,
    STEP_COLUMNS,
    address_from_row,
    address_to_row,
    load_text,
    notes_from_column,
    reading_from_row,
    reading_to_row,
    step_from_row,
    store_text,
)
from bookwheel.journal.schema import connect, connect_read_only, prepare_file, translate_errors
from bookwheel.journal.writer import Writer
from bookwheel.models.registry import ModelAddress
from bookwheel.types import DocumentInfo, Flag, Memory, Reading, Status, Step, Usage

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from bookwheel.journal.memories import MemoryTables
    from bookwheel.journal.search import SearchHit
    from bookwheel.journal.shelf import Shelf
    from bookwheel.plan import Plan
    from bookwheel.types import Document

# Steps that one query fetches.
_STEPS_PER_QUERY: Final = 64
_CHANGING_COLUMNS: Final = ", ".join(f"{name} = ?" for name in READING_COLUMNS.split(", ")[FIXED_COLUMNS:])
_TABLES: Final = (
    "FROM readings JOIN documents ON documents.id = readings.document JOIN texts ON texts.id = documents.text"
)
_READINGS: Final = (
    f"SELECT {', '.join(f'readings.{name}' for name in READING_COLUMNS.split(', '))}, "
    "texts.sha256, documents.name, texts.characters, documents.notes, readings.number, readings.document "
    f"{_TABLES}"
)


_IS_SOUND: Final = f"({IS_SOUND['readings']} AND {IS_SOUND['documents']} AND {IS_SOUND['texts']})"


def new_id() -> str:
    """Return a new, unique reading id."""
    import secrets

    return secrets.token_hex(6)


class Journal:
    """One SQLite file of readings and their documents. Any number of threads and processes may use it at once."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the file, or create it and its folder. Raise JournalError, with advice, if that fails.

        With `read_only`, nothing is created, migrated or written.
        """
        if not read_only:
            prepare_file(path)
        self.path = path
        open_connection = connect_read_only if read_only else connect
        self._reader = ReadPool(path, open_connection)
        self._writer = Writer(path, open_connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish pending writes and close the file."""
        self._writer.close()
        self._reader.close()

    def keep(self, document: Document, most_bytes: int | None = None) -> StoredDocument:
        """Store the document's text unless the journal has it. Return the stored document, to read and resume from.

        Raise JournalFull if the journal would then have more than `most_bytes`.
        """
        spooled = SpooledDocument(document, self.path)
        try:
            return StoredDocument(self._reader, self._writer.write_now(lambda to: spooled.insert(to, most_bytes)))
        finally:
            spooled.close()

    def document(self, id_: str) -> StoredDocument:
        """Return the text of this SHA-256, with the name and places that it was last stored with."""
        row = self._reader.fetch_one(NEWEST_DOCUMENT, (id_, None))
        if row is None:
            raise JournalError(f"the journal {self.path} has no document {id_}")
        return StoredDocument(self._reader, row[0])

    def document_at(self, row: int) -> StoredDocument:
        """Return the document that `StoredDocument.row` names."""
        return StoredDocument(self._reader, row)

    def document_of(self, reading: str) -> StoredDocument:
        """Return a reading's document, with the name and places that the reading began with."""
        return StoredDocument(self._reader, self._find(reading)[-1])

    def begin(self, reading: Reading, address: ModelAddress | None = None) -> None:
        """Insert a reading, with its steps if it has any. Its document must be in the journal.

        The address is for `resume`, which then needs no model named.
        """
        if not reading.created:
            reading = replace(reading, created=datetime.now(UTC).isoformat(timespec="seconds"))
        self._writer.write_now(lambda connection: insert_reading(connection, reading, address=address))

    def address_of(self, id_or_prefix: str) -> ModelAddress:
        """Return the way back to a reading's model: its kept address, or its name alone."""
        row = self._find(id_or_prefix)
        (address,) = self._reader.fetch_one("SELECT address FROM readings WHERE number = ?", (row[-2],))
        return address_from_row(address) or ModelAddress(model=reading_from_row(row, _info_from_row(row)).model)

    def keep_address(self, id_: str, address: ModelAddress) -> None:
        """Replace the address of a reading that goes on with another model."""
        update = "UPDATE readings SET address = ? WHERE id = ?"
        self._writer.write_now(lambda connection: connection.execute(update, (address_to_row(address), id_)))

    async def add_step(self, reading_id: str, step: Step) -> None:
        """Insert a step and return once it is on disk. Raise JournalError if the reading has a step of that index."""
        await self._writer.write(lambda connection: insert_step(connection, reading_id, step))

    async def set_plan(self, reading_id: str, plan: Plan) -> None:
        """Replace a reading's plan. Steps that it has were read by the old one."""
        content = store_text(json.dumps(plan.to_json(), ensure_ascii=False))

        def update(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE readings SET plan = ? WHERE id = ?", (content, reading_id))

        await self._writer.write(update)

    async def end(self, reading: Reading) -> None:
        """Store the reading's current status, answer, usage, evidence, claims and error, at its end or before."""

        def update(connection: sqlite3.Connection) -> None:
            updated = connection.execute(
                f"UPDATE readings SET {_CHANGING_COLUMNS} WHERE id = ?",
                (*reading_to_row(reading)[FIXED_COLUMNS:], reading.id),
            )
            if not updated.rowcount:
                raise JournalError(f"the journal {self.path} has no reading {reading.id} to update; begin it first")

        await self._writer.write(update)

    def reading(self, id_or_prefix: str, *, texts: bool = False) -> Reading:
        """Return a reading by its id, a prefix of it, or "last", with the chunks' texts if `texts` is true."""
        row = self._find(id_or_prefix)
        document = StoredDocument(self._reader, row[-1]) if texts else None
        plan = reading_from_row(row, _info_from_row(row)).plan
        return reading_from_row(row, _info_from_row(row), tuple(self._steps(row[-2], plan.memory_tokens, document)))

    def steps(self, id_or_prefix: str) -> Iterator[Step]:
        """Yield the steps one by one, for readings too long for memory."""
        row = self._find(id_or_prefix)
        return self._steps(row[-2], reading_from_row(row, _info_from_row(row)).plan.memory_tokens, None)

    def progress(self, id_or_prefix: str) -> tuple[int, int]:
        """Return the number of stored steps, and the character where the last one ends."""
        query = "SELECT count(*), coalesce(max(stop), 0) FROM steps WHERE reading = ?"
        steps, stop = self._reader.fetch_one(query, (self._find(id_or_prefix)[-2],))
        return steps, stop

    def readings(
        self,
        *,
        limit: int | None = None,
        search: str | None = None,
        ids: Sequence[str] | None = None,
        document: str | None = None,
        offset: int = 0,
    ) -> list[Reading]:
        """Return readings without steps, newest first; `search` looks in question, answer, document name and model.

        Damaged ones are left out; `find_damage` names them.

        With `ids`, only these; with `document`, only those of the text with this SHA-256; `offset` passes the newest.
        """
        conditions = [_IS_SOUND, *([SEARCH_CONDITION] if search else [])]
        conditions += ["texts.sha256 = ?4"] if document else []
        conditions += [] if ids is None else ["readings.id IN (SELECT value FROM json_each(?3))"]
        values = store_text(search or ""), -1 if limit is None else limit, json.dumps(list(ids or ())), document, offset
        query = f"{_READINGS} WHERE {' AND '.join(conditions)} ORDER BY number DESC LIMIT ?2 OFFSET ?5"
        rows = self._reader.fetch_all(query, values)
        return [reading_from_row(row, _info_from_row(row)) for row in rows]

    @contextmanager
    def claim(self, id_: str) -> Iterator[None]:
        """Hold the reading for this process alone. The operating system releases it when the process ends."""
        with ExitStack() as held:
            try:
                with translate_errors(self.path, "claim a reading of"):
                    held.enter_context(hold_lock(self._lock_path(id_)))
            except LockTaken as taken:
                raise JournalError(
                    f"reading {id_} is being read by another process ({taken}); wait for it, or end it first"
                ) from None
            yield

    def is_claimed(self, id_: str) -> bool:
        """Return True while a process holds the reading."""
        return is_held(self._lock_path(id_))

    def _lock_path(self, id_: str) -> Path:
        return lock_folder(self.path) / f"{quote(id_, safe='')}.lock"

    def fork(self, id_or_prefix: str, step: int, memory: Memory) -> Reading:
        """Copy a reading up to this step, with this memory after it. The old reading does not change."""
        old = self.reading(id_or_prefix)
        steps = list(old.steps[: step + 1]) if step >= 0 else []
        if len(steps) <= step or not steps:
            raise JournalError(
                f"reading {old.id} has no step {step} to edit; its steps go from 0 to {len(old.steps) - 1}"
            )
        flags = tuple(dict.fromkeys((*steps[-1].flags, Flag.EDITED)))
        steps[-1] = replace(steps[-1], after=memory, flags=flags)
        new = replace(
            old,
            id=new_id(),
            parent=old.id,
            status=Status.READING,
            steps=tuple(steps),
            answer=None,
            evidence=(),
            claims=(),
            error="",
            error_kind="",
            usage=sum((step.conversation.reply.usage for step in steps), Usage()),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        row = self._find(old.id)
        address = self.address_of(old.id)
        self._writer.write_now(lambda connection: insert_reading(connection, new, document=row[-1], address=address))
        return new

    def delete(self, id_or_prefix: str) -> None:
        """Delete a reading, and its document if no other reading refers to it."""
        row = self._find(id_or_prefix)
        with self.claim(row[0]):
            self._writer.write_now(lambda connection: delete_reading(connection, row[-2], row[-1]))
        from bookwheel.documents.conversions import clear_conversions

        # The cache may hold the same text. Which of its entries does is not known, and it is only a cache.
        clear_conversions()
        self.forget_deleted()

    def delete_unread(self, *, all_: bool = False) -> None:
        """Delete the documents that no reading is of: those older than a day, or with `all_` every one."""
        self._writer.write_now(lambda connection: delete_unread(connection, all_=all_))
        self.forget_deleted()

    def search(
        self, query: str, *, limit: int = 20, ids: Sequence[str] | None = None, documents: Sequence[str] | None = None
    ) -> list[SearchHit]:
        """Return readings and passages of documents that have all the words of the query, the best first.

        With `ids` and `documents`, only these readings and the texts with these SHA-256s.
        """
        from bookwheel.journal.search import search

        return search(self._reader, query, limit=limit, ids=ids, documents=documents)

    @property
    def shelf(self) -> Shelf:
        """The documents as people see them, with the names and stars that they gave."""
        from bookwheel.journal.shelf import Shelf

        return Shelf(self._reader, self._writer)

    @property
    def memories(self) -> MemoryTables:
        """The lasting memories."""
        from bookwheel.journal.memories import MemoryTables

        return MemoryTables(self._reader, self._writer)

    def forget_deleted(self) -> None:
        """Clear the search index if it has anything that was deleted."""
        from bookwheel.journal.search import forget_deleted

        forget_deleted(self._reader)

    def find_id(self, id_or_prefix: str) -> str:
        """Return a reading's whole id, also of a damaged one."""
        found: str = self._find(id_or_prefix, check=False)[0]
        return found

    def _steps(self, number: int, limit: int, document: StoredDocument | None) -> Iterator[Step]:
        memory, seen = Memory.blank(limit), -1
        query = (
            f"SELECT {STEP_COLUMNS}, {IS_SOUND['steps']} FROM steps "
            f"WHERE reading = ? AND step > ? ORDER BY step LIMIT {_STEPS_PER_QUERY}"
        )
        while rows := self._reader.fetch_all(query, (number, seen)):
            for *row, is_sound in rows:
                if not is_sound:
                    raise JournalError(
                        f"step {row[0]} of this reading is damaged in the journal {self.path}: bookwheel doctor "
                        f"--repair drops it and what follows, and bookwheel resume reads that again"
                    )
                step = step_from_row(row, memory, document.slice(row[1], row[2]) if document else "")
                yield step
                memory, seen = step.after, step.chunk.index

    def _check_sound(self, row: Any) -> None:
        """Raise JournalError if the reading of this row is damaged."""
        found = self._reader.fetch_one(f"SELECT {_IS_SOUND} {_TABLES} WHERE number = ?", (row[-2],))
        if not (found and found[0]):
            raise JournalError(
                f"reading {row[0]} is damaged in the journal {self.path}: bookwheel doctor --repair drops it and keeps "
                f"the others"
            )

    def find_damage(self) -> list[str]:
        """Return a sentence for each damaged row and for damage of the file itself; it reads the whole journal."""
        return find_damage(self._reader)

    def _find(self, id_or_prefix: str, *, check: bool = True) -> Any:
        """Find a reading's row. Its last two values are the numbers of the reading and of its document."""
        if id_or_prefix == "last":
            rows = self._reader.fetch_all(f"{_READINGS} ORDER BY number DESC LIMIT 1")
        else:
            rows = self._reader.fetch_all(f"{_READINGS} WHERE readings.id = ?", (store_text(id_or_prefix),))
            rows = rows or self._reader.fetch_all(
                f"{_READINGS} WHERE substr(readings.id, 1, length(?1)) = ?1 AND ?1 <> '' ORDER BY number DESC LIMIT 4",
                (store_text(id_or_prefix),),
            )
        if len(rows) == 1:
            if check:
                self._check_sound(rows[0])
            return rows[0]
        if rows:
            ids = ", ".join(row[0] for row in rows[:3])
            raise JournalError(f"{id_or_prefix!r} matches more than one reading: {ids}, …; give more of the id")
        missing = "no readings yet" if id_or_prefix == "last" else f"no reading {id_or_prefix!r}"
        raise JournalError(f"the journal {self.path} has {missing}; `bookwheel list` shows what it has")


def _info_from_row(row: Any) -> DocumentInfo:
    sha256, name, length, notes = row[-6:-2]
    return DocumentInfo(id=sha256, name=load_text(name), length=length, notes=notes_from_column(notes))
