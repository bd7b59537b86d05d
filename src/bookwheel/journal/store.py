"""The journal: store readings and find them again."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict, Unpack

from bookwheel.errors import JournalError, NotKept
from bookwheel.flags import Flag
from bookwheel.journal.access import ReadPool, Writer
from bookwheel.journal.documents import NEWEST_DOCUMENT, SpooledDocument, StoredDocument, delete_unread
from bookwheel.journal.files import (
    LockTaken,
    claim_path,
    connect,
    connect_read_only,
    empty_log,
    hold_lock,
    is_held,
    prepare_file,
    translate_errors,
)
from bookwheel.journal.listing import SEARCH_CONDITION
from bookwheel.journal.readings import (
    READING_IS_SOUND,
    READING_TABLES,
    SELECT_READINGS,
    find_reading,
    find_row,
    forget_turns,
    insert_reading,
    insert_step,
    load_reading,
    load_steps,
    match_rows,
    row_id,
)
from bookwheel.journal.rows import ADDRESS, FIXED_COLUMNS, PLAN, READINGS, reading_to_row
from bookwheel.journal.tables import IS_SOUND, from_json, store_text, to_json
from bookwheel.models.registry import ModelAddress
from bookwheel.types import Memory, Reading, Status, Step, Usage

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from bookwheel.journal.kept_rows import KeptRows
    from bookwheel.journal.memories import MemoryTables
    from bookwheel.journal.search import SearchHit
    from bookwheel.journal.shelf import Shelf
    from bookwheel.plan import Plan
    from bookwheel.types import Document

# A number behind that of every reading.
_NEVER: Final = 2**62
_CHANGING: Final = ", ".join(f"{name} = ?" for name in READINGS.columns[FIXED_COLUMNS:])


class ReadingQuery(TypedDict, total=False):
    """Which readings are listed."""

    limit: int | None
    search: str | None
    """Looked for in question, answer, document name and model."""
    ids: Sequence[str] | None
    """Only these."""
    document: str | None
    """Only those of the text with this SHA-256."""
    offset: int
    """So many of the newest are passed."""
    before: str | None
    """Those are passed that did not begin before this reading, in the same time however many they are."""
    way: str | None
    """Only those by a way that it is or is a part of."""


def new_id() -> str:
    import secrets

    return secrets.token_hex(6)


def open_existing(path: Path) -> Journal | None:
    """Open a journal, only for reading where this user may not write to it. Return None if there is no such file."""
    if not path.exists():
        return None
    return Journal(path, read_only=not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)))


class Journal:
    """One SQLite file of readings and their documents. Any number of threads and processes may use it at once."""

    def __init__(self, path: Path, *, read_only: bool = False, keeps_files: bool = True) -> None:
        """Open the file, or create it and its folder. Raise JournalError, with advice, if that fails.

        With `read_only`, nothing is created, migrated or written. Without `keeps_files`, documents leave their text
        alone: of a PDF or an office file nothing else stays.
        """
        if not read_only:
            prepare_file(path)
        self.path = path
        self._is_read_only = read_only
        self._keeps_files = keeps_files
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
        self._writer.close()
        self._reader.close()

    @property
    def shelf(self) -> Shelf:
        from bookwheel.journal.shelf import Shelf

        return Shelf(self._reader, self._writer)

    def row_edits(self, reading: str) -> list[tuple[str, tuple[str | None, ...] | None]]:
        """Return the rows of a reading's table that a person changed, by their ids, with their cells in order.

        None in the place of cells is a row that was removed.
        """
        query = f"SELECT row, cells, {IS_SOUND['row_edits']} FROM row_edits WHERE reading = ? ORDER BY number"
        rows = self._reader.fetch_all(query, (find_reading(self._reader, reading).number,))
        if not all(is_sound for *_, is_sound in rows):
            raise JournalError(f"a change of the table of reading {reading} is damaged: bookwheel doctor --repair")
        return [(row, None if cells is None else tuple(from_json(cells))) for row, cells, _ in rows]

    def edit_row(self, reading: str, row: str, cells: Sequence[str | None] | None) -> None:
        """Keep that a person changed a row of a reading's table; None removes it."""
        kept = None if cells is None else to_json(cells)
        found = find_reading(self._reader, reading)
        number = "(SELECT coalesce(max(number), 0) + 1 FROM row_edits WHERE reading = ?1)"
        query = f"INSERT INTO row_edits (reading, number, row, cells, made) VALUES (?1, {number}, ?2, ?3, ?4)"
        self._writer.execute_now(query, (found.number, row, kept, _now()))

    def kept_rows(self, reading: str) -> KeptRows:
        from bookwheel.journal.kept_rows import KeptRows

        number = find_reading(self._reader, reading).number
        return KeptRows(self.path, number, self._reader, None if self._is_read_only else self._writer)

    @property
    def memories(self) -> MemoryTables:
        from bookwheel.journal.memories import MemoryTables

        return MemoryTables(self._reader, self._writer)

    def keep(
        self, document: Document, most_bytes: int | None = None, find_known: Callable[[str], int | None] | None = None
    ) -> StoredDocument:
        """Store the document's text unless the journal has it. Return the stored document, to read and resume from.

        The row that `find_known` returns for the SHA-256 of the text is taken as it is, with its own name and files.
        Raise JournalFull if the journal would then have more than `most_bytes`.
        """
        with closing(SpooledDocument(document, self.path, keeps_files=self._keeps_files)) as spooled:
            if find_known and (known := find_known(spooled.sha256)) is not None:
                return self.document_at(known)
            what = f"document {spooled.sha256[:12]}"
            row = self._writer.write_now(lambda connection: spooled.insert(connection, most_bytes), what)
            return self.document_at(row)

    def document(self, id_: str) -> StoredDocument:
        """Return the text of this SHA-256, with the name and places that it was last stored with."""
        row = self._reader.fetch_one(NEWEST_DOCUMENT, (id_, None))
        if row is None:
            raise NotKept(f"the journal {self.path} has no document {id_}")
        return self.document_at(row[0])

    def document_at(self, row: int) -> StoredDocument:
        return StoredDocument(self._reader, row, None if self._is_read_only else self._writer)

    def document_of(self, reading: str) -> StoredDocument:
        """Return a reading's document, with the name and places that the reading began with."""
        return self.document_at(find_reading(self._reader, reading).document)

    def begin(self, reading: Reading, address: ModelAddress | None = None) -> None:
        """Insert a reading, with its steps if it has any. Its document must be in the journal.

        The address is for `resume`, which then needs no model named.
        """
        if not reading.created:
            reading = replace(reading, created=_now())
        self._writer.write_now(lambda connection: insert_reading(connection, reading, address), f"reading {reading.id}")

    def address_of(self, id_or_prefix: str) -> ModelAddress:
        """Return the way back to a reading's model: its kept address, or its name alone."""
        found = find_reading(self._reader, id_or_prefix)
        (address,) = self._reader.fetch_one("SELECT address FROM readings WHERE number = ?", (found.number,))
        return ADDRESS.decode(address) or ModelAddress(model=found.to_reading().model)

    def keep_address(self, id_: str, address: ModelAddress) -> None:
        self._writer.execute_now("UPDATE readings SET address = ? WHERE id = ?", (ADDRESS.encode(address), id_))

    async def add_step(self, reading_id: str, step: Step) -> None:
        """Insert a step and return once it is on disk. Raise JournalError if the reading has a step of that index."""
        what = f"step {step.chunk.index} of reading {reading_id}"
        await self._writer.write(lambda connection: insert_step(connection, reading_id, step), what)

    async def set_plan(self, reading_id: str, plan: Plan) -> None:
        """Replace a reading's plan. Steps that it has were read by the old one."""
        values = (PLAN.encode(plan), reading_id)
        await self._writer.write(lambda to: to.execute("UPDATE readings SET plan = ? WHERE id = ?", values).close())

    async def end(self, reading: Reading) -> None:
        """Store the reading's current status, answer, usage, evidence, claims and error, at its end or before."""
        values = (*reading_to_row(reading)[FIXED_COLUMNS:], reading.id)

        def update(connection: sqlite3.Connection) -> None:
            if not connection.execute(f"UPDATE readings SET {_CHANGING} WHERE id = ?", values).rowcount:
                raise JournalError(f"the journal {self.path} has no reading {reading.id} to update; begin it first")

        await self._writer.write(update, f"the end of reading {reading.id}")

    def reading(self, id_or_prefix: str, *, texts: bool = False) -> Reading:
        """Return a reading by its id, a prefix of it, or "last", with the chunks' texts if `texts` is true."""
        found = find_reading(self._reader, id_or_prefix)
        return found.to_reading(tuple(load_steps(self._reader, found, with_texts=texts)))

    def steps(self, id_or_prefix: str) -> Iterator[Step]:
        """Yield the steps one by one, for readings too long for memory."""
        return load_steps(self._reader, find_reading(self._reader, id_or_prefix))

    def progress(self, id_or_prefix: str) -> tuple[int, int]:
        """Return the number of stored steps, and the character where the last one ends."""
        query = "SELECT count(*), coalesce(max(stop), 0) FROM steps WHERE reading = ?"
        steps, stop = self._reader.fetch_one(query, (find_reading(self._reader, id_or_prefix).number,))
        return steps, stop

    def readings(self, **which: Unpack[ReadingQuery]) -> list[Reading]:
        """Return readings without steps, newest first. Damaged ones are left out; `find_damage` names them."""
        return [load_reading(row) for row in self.list_rows(**which)]

    def list_rows(self, **which: Unpack[ReadingQuery]) -> list[tuple[Any, ...]]:
        """Return what `load_reading` makes readings of: the same of a row that is the same."""
        limit, search, ids, document = which.get("limit"), which.get("search"), which.get("ids"), which.get("document")
        conditions = [SEARCH_CONDITION] if search else []
        conditions += ["texts.sha256 = ?4"] if document else []
        conditions += [] if ids is None else ["readings.id IN (SELECT value FROM json_each(?3))"]
        before, offset = which.get("before"), which.get("offset", 0)
        last = _NEVER if before is None else find_row(self._reader, before)[0]
        # The rows are chosen first: what is passed over need not be sound, and a checksum costs more than the rest.
        tables = READING_TABLES if search or document else "FROM readings"
        by_way = "(?7 IS NULL OR instr('+' || way || '+', '+' || ?7 || '+'))"
        where = " AND ".join([*conditions, "number < ?6", by_way])
        chosen = f"SELECT number {tables} WHERE {where} ORDER BY number DESC LIMIT ?2 OFFSET ?5"
        query = f"{SELECT_READINGS} WHERE number IN ({chosen}) ORDER BY number DESC"
        query = query.replace("SELECT ", f"SELECT {READING_IS_SOUND}, ", 1)
        found: list[tuple[Any, ...]] = []
        while limit is None or len(found) < limit:
            room = -1 if limit is None else limit - len(found)
            values = (
                store_text(search or ""),
                room,
                json.dumps(list(ids or ())),
                document,
                offset,
                last,
                which.get("way"),
            )
            rows = self._reader.fetch_all(query, values)
            found += [row[1:] for row in rows if row[0]]
            if limit is None or len(rows) < room:
                break
            offset, last = 0, rows[-1][1]
        return found

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
        return is_held(self._lock_path(id_))

    def _lock_path(self, id_: str) -> Path:
        return claim_path(self.path, id_)

    def fork(self, id_or_prefix: str, step: int, memory: Memory) -> Reading:
        """Copy a reading up to this step, with this memory after it. The old reading does not change."""
        found = find_reading(self._reader, id_or_prefix)
        old = self.reading(found.id)
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
            # What the steps cost was paid for the old one.
            usage=Usage(),
            created=_now(),
        )
        address = self.address_of(old.id)
        self._writer.write_now(lambda to: insert_reading(to, new, address, found.document), f"reading {new.id}")
        return new

    def delete(self, id_or_prefix: str) -> None:
        """Delete a reading, its document if no other refers to it, and its words in the plans of later questions."""
        from bookwheel.documents.conversions import clear_conversions

        found = find_reading(self._reader, id_or_prefix)

        def delete(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM readings WHERE number = ?", (found.number,))
            forget_turns(connection, found)
            delete_unread(connection, found.document)
            connection.execute("PRAGMA incremental_vacuum").fetchall()

        with self.claim(found.id):
            self._writer.write_now(delete)
        # The cache may hold the same text. Which of its entries does is not known, and it is only a cache.
        clear_conversions()
        self.forget_deleted()

    def delete_unread(self, *, all_: bool = False) -> bool:
        """Delete the documents that no reading is of: those older than a day, or with `all_` every one.

        Return what `forget_deleted` does.
        """
        self._writer.write_now(lambda connection: delete_unread(connection, all_=all_))
        return self.forget_deleted()

    def search(
        self, query: str, *, limit: int = 20, ids: Sequence[str] | None = None, documents: Sequence[str] | None = None
    ) -> list[SearchHit]:
        """Return readings and passages of documents that have all the words of the query, the best first.

        With `ids` and `documents`, only these readings and the texts with these SHA-256s.
        """
        from bookwheel.journal.search import search

        return search(self._reader, query, limit=limit, ids=ids, documents=documents)

    def forget_deleted(self) -> bool:
        """Drop the words of what was deleted from the index and the log; False while another process reads the log."""
        from bookwheel.journal.search import forget_deleted

        forget_deleted(self._reader)
        return empty_log(self.path)

    def find_damage(self) -> list[str]:
        """Return a sentence for each damaged row and for damage of the file itself; it reads the whole journal."""
        from bookwheel.journal.damage import find_damage

        return find_damage(self._reader)

    def find_id(self, id_or_prefix: str) -> str:
        return row_id(find_row(self._reader, id_or_prefix))

    def match_ids(self, id_or_prefix: str) -> list[str]:
        """Return the ids of the readings that are named so, at most four."""
        return [row_id(row) for row in match_rows(self._reader, id_or_prefix)]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
