"""The journal's file: where it lies, its tables, its versions, and how a connection to it is opened.

docs/journal.md describes the tables for those who query them. A step up is one script more in `MIGRATIONS`; the file's
`user_version` tells how many of them it has seen.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.errors import JournalError
from bookwheel.journal.locks import hold_lock, lock_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

_APPLICATION: Final = 0x424F4B57
"""Marks an SQLite file as a journal of ours ("BOKW")."""
_PATIENCE: Final = 60
"""Seconds to wait for another process that is writing."""

_LOG_BYTES: Final = 64 << 20
"""What the write-ahead log shrinks to after a large document."""

_FIRST: Final = """
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,
    characters INTEGER NOT NULL,
    kept TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);
CREATE TABLE pieces (
    text INTEGER NOT NULL REFERENCES texts(id) ON DELETE CASCADE,
    start INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (text, start)
);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    text INTEGER NOT NULL REFERENCES texts(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    used INTEGER NOT NULL,
    UNIQUE (text, name, digest)
);
CREATE TABLE places (
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    start INTEGER NOT NULL,
    source TEXT NOT NULL,
    page INTEGER,
    PRIMARY KEY (document, start)
) WITHOUT ROWID;
CREATE TABLE readings (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    document INTEGER NOT NULL REFERENCES documents(id),
    question TEXT NOT NULL,
    model TEXT NOT NULL,
    way TEXT NOT NULL,
    language TEXT NOT NULL,
    plan TEXT NOT NULL,
    status TEXT NOT NULL,
    answer TEXT,
    answer_turn TEXT,
    answer_record BLOB,
    evidence TEXT NOT NULL,
    error TEXT NOT NULL,
    parent TEXT NOT NULL,
    created TEXT NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL
);
CREATE INDEX readings_document ON readings(document);
CREATE TABLE steps (
    reading INTEGER NOT NULL REFERENCES readings(number) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    sources TEXT NOT NULL,
    pages TEXT NOT NULL,
    before TEXT,
    before_tokens INTEGER,
    memory TEXT NOT NULL,
    memory_tokens INTEGER NOT NULL,
    flags TEXT NOT NULL,
    reply TEXT NOT NULL,
    finish TEXT NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    record BLOB,
    kept TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (reading, step)
);
"""

MIGRATIONS: list[str] = [_FIRST]
"""Script k takes a journal of version k to version k + 1."""


def journal_path() -> Path:
    """$BOOKWHEEL_JOURNAL, or journal.sqlite among the user's data."""
    if named := os.environ.get("BOOKWHEEL_JOURNAL"):
        return Path(named).expanduser()
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "bookwheel" / "journal.sqlite"


@contextmanager
def translate_errors(path: Path, doing: str) -> Iterator[None]:
    """What SQLite and the file system say, told as a JournalError that names a way out."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise JournalError(f"cannot {doing} the journal {path}: {error}; {_suggest_fix(error)}") from error


def _suggest_fix(error: Exception) -> str:
    message = str(error)
    if "full" in message or "No space" in message or "disk I/O" in message or "too large" in message:
        return "free some disk space, or keep it elsewhere with --journal FILE; all earlier steps are kept"
    if "not a database" in message or "malformed" in message:
        return "move it aside (it is no journal, or a damaged one), or name another with --journal FILE"
    if "locked" in message:
        return f"another process has been writing to it for over {_PATIENCE} seconds; try again or use --journal FILE"
    return "name a file that can be written with --journal FILE"


def prepare_file(path: Path) -> None:
    """Create the file and its folder, or bring an older journal up to date."""
    with translate_errors(path, "open"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(lock_folder(path) / "opening", wait=True):
            connection = connect(path)
            try:
                _migrate(connection, path)
            finally:
                connection.close()


def connect(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode; whoever writes says BEGIN IMMEDIATE."""
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
    connection.create_function("folded", 1, _casefold, deterministic=True)
    return connection


def connect_read_only(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing; beside a log that a kill left behind, SQLite puts its index of it."""
    log = path.with_name(f"{path.name}-wal")
    how = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.create_function("folded", 1, _casefold, deterministic=True)
    if (_read_pragma(connection, "application_id"), _read_pragma(connection, "user_version")) != (
        _APPLICATION,
        len(MIGRATIONS),
    ):
        connection.close()
        raise JournalError(
            f"{path} is no journal of this version; `bookwheel list --journal {path}` brings an older one up to date"
        )
    return connection


def _casefold(value: str | bytes | None) -> str:
    """For searches that know no upper and lower case, in any script."""
    text = value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value or ""
    return text.casefold().encode("utf-8", "replace").decode()


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    version = _read_pragma(connection, "user_version")
    if version > len(MIGRATIONS):
        raise JournalError(
            f"the journal {path} has schema version {version} and this bookwheel knows versions up to "
            f"{len(MIGRATIONS)}: update bookwheel, or name another journal with --journal FILE"
        )
    if version == 0 and connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise JournalError(f"{path} is a database of something else; name another file with --journal FILE")
    if version and _read_pragma(connection, "application_id") != _APPLICATION:
        raise JournalError(f"{path} is a database of something else; name another file with --journal FILE")
    if version == 0:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
    for script in MIGRATIONS[version:]:
        version += 1
        connection.executescript(
            f"BEGIN IMMEDIATE; {script} PRAGMA application_id = {_APPLICATION};PRAGMA user_version = {version}; COMMIT;"
        )


def _read_pragma(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
