"""The journal's file: its path, its tables, its versions and its connections.

docs/journal.md documents the tables. A new version is one more script in `MIGRATIONS`; the file's `user_version` counts
the scripts that it has run.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.errors import JournalError
from bookwheel.journal.checksums import CHECKSUMS, add_function, add_later_column
from bookwheel.journal.locks import hold_lock, lock_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

# Marks an SQLite file as a journal of ours ("BOKW").
_APPLICATION: Final = 0x424F4B57
SYNCHRONOUS: Final = "FULL"
"""SQLite waits for the disk at every commit, so that a power cut takes no step that was paid for."""
# Seconds to wait for another process that is writing.
_BUSY_SECONDS: Final = 60

# Size that the write-ahead log shrinks to after a large document.
_LOG_BYTES: Final = 64 << 20

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

_SCORES: Final = "ALTER TABLE steps ADD COLUMN score REAL;"
_VERDICTS: Final = """
ALTER TABLE readings ADD COLUMN claims TEXT NOT NULL DEFAULT '[]';
ALTER TABLE documents ADD COLUMN notes TEXT NOT NULL DEFAULT '[]';
"""
# The way back to a reading's model, as JSON; NULL where only its name is known.
_ADDRESS: Final = "ALTER TABLE readings ADD COLUMN address TEXT;"

# Names and stars that people give; `owner` is the key of a server, or empty. They go with what they stand on.
_LABELS: Final = """
CREATE TABLE labels (
    owner TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('document', 'reading')),
    id TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    starred INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, kind, id)
) WITHOUT ROWID;
CREATE TRIGGER labels_of_readings AFTER DELETE ON readings BEGIN
    DELETE FROM labels WHERE kind = 'reading' AND id = old.id;
END;
CREATE TRIGGER labels_of_texts AFTER DELETE ON texts BEGIN
    DELETE FROM labels WHERE kind = 'document' AND id = old.sha256;
END;
"""

# Memories that outlive a question. `memory_replays` holds what a forgetting under way has read again.
_VERSION_COLUMNS: Final = """
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text INTEGER,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    content TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    flags TEXT NOT NULL,
    reply TEXT NOT NULL,
    finish TEXT NOT NULL,
    calls INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    scores TEXT NOT NULL,
    changes TEXT NOT NULL,
    kept TEXT NOT NULL,
    PRIMARY KEY (memory, version)
"""
_MEMORIES: Final = f"""
CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
    owner TEXT NOT NULL DEFAULT '',
    name TEXT NOT NULL,
    about TEXT NOT NULL,
    model TEXT NOT NULL,
    way TEXT NOT NULL,
    plan TEXT NOT NULL,
    address TEXT,
    limits TEXT NOT NULL,
    created TEXT NOT NULL,
    texts INTEGER NOT NULL DEFAULT 0,
    characters INTEGER NOT NULL DEFAULT 0,
    newest TEXT NOT NULL DEFAULT '',
    UNIQUE (owner, name)
);
CREATE TABLE memory_texts (
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    source TEXT NOT NULL,
    at TEXT NOT NULL,
    arrived TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    characters INTEGER NOT NULL,
    position INTEGER NOT NULL,
    is_late INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (memory, number)
);
CREATE INDEX memory_texts_known ON memory_texts(memory, source, sha256);
CREATE INDEX memory_texts_waiting ON memory_texts(memory, number) WHERE position < characters;
CREATE TABLE memory_versions ({_VERSION_COLUMNS});
CREATE INDEX memory_versions_kept ON memory_versions(memory, kept);
CREATE TABLE memory_replays ({_VERSION_COLUMNS});
CREATE TABLE memory_answers (
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    version INTEGER NOT NULL,
    record TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    asked TEXT NOT NULL,
    PRIMARY KEY (memory, number)
);
CREATE TABLE memory_forgets (
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    scope TEXT NOT NULL,
    sources TEXT NOT NULL,
    texts TEXT NOT NULL,
    masks TEXT NOT NULL,
    began TEXT NOT NULL,
    ended TEXT NOT NULL DEFAULT '',
    replayed INTEGER NOT NULL DEFAULT 0,
    lines INTEGER NOT NULL DEFAULT 0,
    purged INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (memory, number)
);
CREATE TABLE memory_follows (
    memory INTEGER NOT NULL REFERENCES memories(number) ON DELETE CASCADE,
    source TEXT NOT NULL,
    place TEXT NOT NULL,
    PRIMARY KEY (memory, source)
);
"""

MIGRATIONS: list[str] = [
    _FIRST,
    _SCORES,
    _VERDICTS,
    _ADDRESS,
    CHECKSUMS,
    _LABELS,
    add_later_column("steps", "TEXT"),
    _MEMORIES,
    add_later_column("readings", "TEXT"),
]
"""Script k takes a journal of version k to version k + 1."""


def journal_path() -> Path:
    """Return $BOOKWHEEL_JOURNAL, or journal.sqlite in the user's data folder."""
    if named := os.environ.get("BOOKWHEEL_JOURNAL"):
        return Path(named).expanduser()
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "bookwheel" / "journal.sqlite"


@contextmanager
def translate_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn errors of SQLite and the file system into a JournalError that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # the last: damage in the names of tables
        raise JournalError(f"cannot {doing} the journal {path}: {error}; {_suggest_fix(error)}") from error


def _suggest_fix(error: Exception) -> str:
    message = str(error)
    if "full" in message or "No space" in message or "disk I/O" in message or "too large" in message:
        return "free some disk space, or use another file with --journal FILE; all earlier steps are kept"
    if "not a database" in message or "malformed" in message:
        return "a damaged one is mended by bookwheel doctor --repair; or name another with --journal FILE"
    if "is damaged" in message or isinstance(error, UnicodeDecodeError):
        return "see what is damaged: bookwheel doctor; mend it: bookwheel doctor --repair"
    if "locked" in message:
        return (
            f"another process has been writing to it for over {_BUSY_SECONDS} seconds; try again or use --journal FILE"
        )
    return "name a writable file with --journal FILE"


def prepare_file(path: Path) -> None:
    """Create the file and its folder, or migrate an older journal."""
    with translate_errors(path, "open"):
        make_private_folder(path.parent)
        with hold_lock(lock_folder(path) / "opening", wait=True):
            make_private(path)
            connection = connect(path)
            try:
                _migrate(connection, path)
            finally:
                connection.close()


def make_private_folder(folder: Path) -> None:
    """Create a folder that only this user may enter. One that exists stays as it is: it may hold other things."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)


def make_private(path: Path) -> None:
    """Let only this user read a database. SQLite gives the files beside it the same permissions."""
    # Only a file that is new may be opened here: closing a file drops every lock that this process has on it, those of
    # SQLite too.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    for file in (path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))):
        with suppress(OSError):  # another user's, whom this one may only read from
            file.chmod(0o600)


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection in autocommit mode; writers use BEGIN IMMEDIATE."""
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
    connection.execute("PRAGMA foreign_keys = ON")
    # What is deleted is overwritten, not only left to be overwritten some day.
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
    connection.create_function("casefold", 1, _casefold, deterministic=True)
    add_function(connection)
    return connection


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a connection that cannot write to the journal."""
    log = path.with_name(f"{path.name}-wal")
    # `immutable` creates no file at all, but ignores the log; to read a log, SQLite must create its index beside it.
    mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.create_function("casefold", 1, _casefold, deterministic=True)
    add_function(connection)
    if (_read_pragma(connection, "application_id"), _read_pragma(connection, "user_version")) != (
        _APPLICATION,
        len(MIGRATIONS),
    ):
        connection.close()
        raise JournalError(
            f"{path} is not a journal of this version; `bookwheel list --journal {path}` updates an older one"
        )
    return connection


def _casefold(value: str | bytes | None) -> str:
    """Fold the case of a text in any script, for searches."""
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
        raise JournalError(f"{path} is a database of another program; name another file with --journal FILE")
    if version and _read_pragma(connection, "application_id") != _APPLICATION:
        raise JournalError(f"{path} is a database of another program; name another file with --journal FILE")
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
