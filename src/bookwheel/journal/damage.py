"""Find damage in a journal, and copy what is sound to a new file.

A disk, a copy or a crash of the machine can damage single values, which the checksums show, or the structure of the
file, which SQLite notices. Either way every row that can still be read is read, one by one where a table breaks off.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bookwheel.errors import JournalError
from bookwheel.journal.access import ReadPool
from bookwheel.journal.files import (
    COMMITS,
    LockTaken,
    connect,
    connect_read_only,
    count_commits,
    file_beside,
    hold_lock,
    load_commits,
    lock_folder,
    prepare_file,
    translate_errors,
)
from bookwheel.journal.tables import IS_WHOLE

# How a damaged row is called: SQL for its name.
_NAMES: Final = {
    "texts": "'text ' || id",
    "pieces": "'text ' || text || ' from character ' || start",
    "documents": "'document ' || id",
    "readings": "'reading ' || id",
    "steps": "'step ' || step || ' of reading ' || coalesce((SELECT id FROM readings WHERE number = reading), reading)",
    "memories": "'memory ' || number",
    "memory_texts": "'text ' || number || ' of memory ' || memory",
    "memory_versions": "'version ' || version || ' of memory ' || memory",
    "memory_replays": "'version ' || version || ', read again, of memory ' || memory",
    "memory_answers": "'answer ' || number || ' of memory ' || memory",
    "memory_forgets": "'tombstone ' || number || ' of memory ' || memory",
    "memory_follows": "'a source that memory ' || memory || ' follows'",
    "row_edits": (
        "'change ' || number || ' by hand of the table of reading ' || "
        "coalesce((SELECT id FROM readings WHERE number = reading), reading)"
    ),
}
# What each row belongs to: its column, and the column there.
_PARENTS: Final = {
    "documents": ("text", "texts", "id"),
    "readings": ("document", "documents", "id"),
    "steps": ("reading", "readings", "number"),
    "pieces": ("text", "texts", "id"),
    "row_edits": ("reading", "readings", "number"),
    **{table: ("memory", "memories", "number") for table in _NAMES if table.startswith("memory_")},
}
# Rows in a row that cannot be read before a table is given up.
_MOST_MISSES: Final = 10_000
# SQLite's log: its version, the bytes before its frames and before each page, and the sizes that a page may have.
_LOG_VERSION: Final = 3_007_000
_LOG_HEADER: Final = 32
_FRAME_HEADER: Final = 24
_PAGE_SIZES: Final = tuple(512 << shift for shift in range(8))


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
            rows = reader.fetch_all(f"SELECT {name} FROM {table} WHERE NOT {IS_WHOLE[table]}")
            found += [f"{row[0]} is damaged" for row in rows]
        except JournalError as error:
            found.append(f"some {table} cannot be read: {error.__cause__ or error}")
    return list(dict.fromkeys(found))


def repair(path: Path) -> tuple[Path, list[str]]:
    """Replace a journal by a copy of what is sound in it; return where the old one is, and what was left out.

    Raise JournalError while another process reads into it, or if nothing in it can be read.
    """
    fresh = file_beside(path, ".repaired")
    for end in ("", "-wal", "-shm"):
        file_beside(fresh, end).unlink(missing_ok=True)
    with translate_errors(path, "repair"), hold_lock(lock_folder(path) / "opening", wait=True):
        for lock in lock_folder(path).glob("*.lock"):
            try:
                with hold_lock(lock):
                    pass
            except LockTaken as taken:
                raise JournalError(f"the journal {path} is being read into by process {taken}; end it first") from None
        old = file_beside(path, f".damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}")
        with ExitStack() as open_files:
            source = open_files.enter_context(_open_damaged(path))
            prepare_file(fresh)
            target = open_files.enter_context(closing(connect(fresh)))
            lost = _Copy(source, target).run()
            target.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        # The log belongs to the old file, so it moves first: a new file beside an old log would be damaged by it.
        for end in ("-wal", "-shm", COMMITS, ""):
            if (beside := file_beside(path, end)).exists():
                beside.rename(file_beside(old, end))
        fresh.rename(path)
        # The numbers in the index were those of the old file.
        for gone in (file_beside(path, ".search"), file_beside(fresh, "-wal"), file_beside(fresh, "-shm")):
            gone.unlink(missing_ok=True)
    return old, lost


@contextmanager
def _open_damaged(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the journal as it is or, where that has more, with a log whose damaged pages are taken for sound ones."""
    with TemporaryDirectory(dir=path.parent) as folder, ExitStack() as opened:
        copy, found = Path(folder) / path.name, []
        log = file_beside(path, "-wal")
        if log.exists() and load_commits(path):
            shutil.copyfile(path, copy)
            file_beside(copy, "-wal").write_bytes(mend_log(log.read_bytes()))
        for file in (path, copy):
            try:
                if file.exists():
                    connection = connect_read_only(file, may_have_lost=True)
                    found.append((count_commits(connection), opened.enter_context(closing(connection))))
            except (sqlite3.Error, JournalError) as error:
                reason = error
        if not found:
            raise JournalError(
                f"nothing in the journal {path} can be read ({reason}): put a copy of it back, or move it away"
            )
        yield max(found, key=itemgetter(0))[1]


def mend_log(log: bytes) -> bytes:
    """Return SQLite's log with checksums that fit its pages, so that SQLite reads on behind a damaged one.

    A page is mostly there again in a later transaction, and the rows of one that is not have checksums of their own.
    https://www.sqlite.org/fileformat2.html#the_write_ahead_log
    """
    magic, size = (0x377F0682 if sys.byteorder == "little" else 0x377F0683), int.from_bytes(log[8:12], "big")
    if size not in _PAGE_SIZES:
        size = _PAGE_SIZES[3]
    starts = range(_LOG_HEADER, len(log) - _FRAME_HEADER - size + 1, _FRAME_HEADER + size)
    # Each frame repeats the two numbers of its log: what most say is right. Older logs' frames stand behind them.
    salts = Counter([log[16:24], *(log[at + 8 : at + 16] for at in starts[:3])]).most_common(1)[0][0]
    mended = bytearray(struct.pack(">4I", magic, _LOG_VERSION, size, 0) + salts)
    sums = _add_sums(mended, (0, 0))
    mended += struct.pack(">2I", *sums)
    for at in starts:
        differing = int.from_bytes(log[at + 8 : at + 16], "big") ^ int.from_bytes(salts, "big")
        if differing.bit_count() > 1:
            break
        head, page = log[at : at + 8], log[at + _FRAME_HEADER : at + _FRAME_HEADER + size]
        sums = _add_sums(head + page, sums)
        mended += head + salts + struct.pack(">2I", *sums) + page
    return bytes(mended)


def _add_sums(content: bytes | bytearray, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"={len(content) // 4}I", content)
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


class _Copy:
    """Copies every sound row, and collects a sentence for each that is left out."""

    def __init__(self, source: sqlite3.Connection, target: sqlite3.Connection) -> None:
        self._source = source
        self._target = target
        self._lost: list[str] = []

    def run(self) -> list[str]:
        self._target.execute("PRAGMA foreign_keys = OFF")
        self._target.execute("BEGIN IMMEDIATE")
        for table in _NAMES:
            self._copy_table(table)
        for document, name in self._target.execute("SELECT id, name FROM documents").fetchall():
            self._copy_all("places", f"the sources and pages of {name}", f"WHERE document = {document}")
        for table in ("originals", "original_pieces"):  # their SHA-256 is checked where one is read
            self._copy_all(table, "some of the files that documents were read from")
        for table in ("pictures", "document_pictures"):
            self._copy_all(table, "some of the pictures of documents")
        for table in ("memory_pictures", "memory_pages"):
            self._copy_all(table, "some of the pictures and pages of memories")
        self._drop_broken_texts()
        self._cut_broken_chains()
        self._drop_orphans()
        self._copy_all("labels", "the names and stars of documents and readings")
        for kind, there in (("reading", "SELECT id FROM readings"), ("document", "SELECT sha256 FROM texts")):
            self._target.execute(f"DELETE FROM labels WHERE kind = ? AND id NOT IN ({there})", (kind,))
        if any("version" in what for what in self._lost):  # what was read in the last ones is read again
            self._target.execute(
                "UPDATE memory_texts SET position = min(position, coalesce((SELECT max(stop) FROM memory_versions "
                "WHERE memory_versions.memory = memory_texts.memory AND text = memory_texts.number), 0))"
            )
        self._target.execute("COMMIT")
        return self._lost

    def _copy_table(self, table: str) -> None:
        columns = ", ".join(row[1] for row in self._target.execute(f"PRAGMA table_info({table})"))
        query = f"SELECT rowid, {IS_WHOLE[table]}, {_NAMES[table]}, {columns} FROM {table} WHERE rowid > ? ORDER BY 1"
        for is_sound, name, *values in self._rows(query, table):
            if is_sound:
                self._insert(table, values)
            else:
                self._lost.append(f"{name} is damaged")

    def _insert(self, table: str, values: list[Any]) -> None:
        # `OR IGNORE`: damage of an index can show a row twice.
        self._target.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(values))})", values)

    def _rows(self, query: str, table: str) -> Iterator[list[Any]]:
        """Yield the rows of a table in the order of their row ids, and go on behind rows that cannot be read."""
        last = misses = 0
        while misses < _MOST_MISSES:
            try:
                for rowid, *row in self._source.execute(query, (last,)):
                    last, misses = rowid, 0
                    yield row
            except sqlite3.Error as error:
                if not misses:
                    self._lost.append(f"some {table} cannot be read: {error}")
                misses += 1
                last += 1
            else:
                return

    def _copy_all(self, table: str, what: str, where: str = "") -> None:
        """Copy the rows of a table without checksums; `what` is lost where they cannot be read."""
        try:
            rows = self._source.execute(f"SELECT * FROM {table} {where}").fetchall()
        except sqlite3.Error:
            self._lost.append(what)
            return
        for row in rows:
            self._insert(table, row)

    def _drop_broken_texts(self) -> None:
        """Drop the pieces of each text that does not have its SHA-256 any more, so that none is read in part."""
        for text, sha256 in self._target.execute("SELECT id, sha256 FROM texts").fetchall():
            sha = hashlib.sha256()
            for (content,) in self._target.execute("SELECT content FROM pieces WHERE text = ? ORDER BY start", (text,)):
                sha.update(zlib.decompress(content))
            if sha.hexdigest() != sha256:
                self._lost.append(f"the text {sha256[:12]} is not whole any more")
                self._target.execute("DELETE FROM pieces WHERE text = ?", (text,))

    def _cut_broken_chains(self) -> None:
        """Drop the steps behind a missing one: their memories rest on it. The reading can be resumed from there."""
        for number, id_ in self._target.execute("SELECT number, id FROM readings").fetchall():
            rows = self._target.execute("SELECT step FROM steps WHERE reading = ? ORDER BY step", (number,)).fetchall()
            sound = next((at for at, (step,) in enumerate(rows) if step != at), len(rows))
            if sound < len(rows):
                self._lost.append(f"the steps of reading {id_} from {sound} on")
                self._target.execute("DELETE FROM steps WHERE reading = ? AND step >= ?", (number, sound))

    def _drop_orphans(self) -> None:
        for table, (column, parent, key) in _PARENTS.items():
            orphans = f"FROM {table} WHERE {column} NOT IN (SELECT {key} FROM {parent})"
            names = self._target.execute(f"SELECT {_NAMES[table]} {orphans}")
            self._lost += [f"{row[0]} has lost what it belongs to" for row in names]
            self._target.execute(f"DELETE {orphans}")
        for table in ("places", "originals", "document_pictures"):
            self._target.execute(f"DELETE FROM {table} WHERE document NOT IN (SELECT id FROM documents)")
        self._target.execute("DELETE FROM original_pieces WHERE original NOT IN (SELECT id FROM originals)")
        for table in ("memory_pictures", "memory_pages"):
            self._target.execute(
                f"DELETE FROM {table} WHERE (memory, text) NOT IN (SELECT memory, number FROM memory_texts)"
            )
