"""The files of a journal: where they lie, who may read them, their connections and their locks.

The operating system releases a lock when its process ends, however it ends. Not filelock: it leaves a file behind for
every reading, and does not say which process holds a lock.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from bookwheel.errors import JournalError, LostWrites
from bookwheel.journal.tables import FIRST_VERSION, MIGRATIONS, add_functions, load_text

# Marks an SQLite file as a journal of ours ("BOKW").
_APPLICATION: Final = 0x424F4B57
SYNCHRONOUS: Final = "FULL"
"""SQLite waits for the disk at every commit, so that a power cut takes no step that was paid for."""
# Seconds to wait for another process that is writing.
_BUSY_SECONDS: Final = 60
# Seconds for which a checkpoint waits for other processes that read.
_EMPTYING_SECONDS: Final = 5.0
# Size that the write-ahead log shrinks to after a large document.
_LOG_BYTES: Final = 64 << 20
COMMITS: Final = ".commits"
"""The end of the name of the file that notes each transaction once it is on disk."""
# Lost writes that are named one by one.
_MOST_NAMED: Final = 4
# Windows denies reading a locked byte, so the lock is on one far behind the process id.
_LOCKED_BYTE: Final = 1 << 30
_TYPES: Final = {
    "pdf": "pdf",
    "word": "docx doc odt rtf",
    "slides": "pptx ppt odp",
    "sheet": "xlsx xls xlsb ods csv tsv",
    "web": "html htm xhtml",
    "book": "epub",
    "mail": "eml mbox",
    "picture": "png jpg jpeg tif tiff webp",
}
_TYPE_OF: Final = {suffix: type_ for type_, suffixes in _TYPES.items() for suffix in suffixes.split()}
_WEB: Final = ("http://", "https://")
DOCUMENT_TYPES: Final = ("text", *_TYPES)
"""What a document is by its name; text is what says nothing else."""


class LockTaken(Exception):
    """Another process holds the lock; the message is its process id, if it could be read."""


def journal_path() -> Path:
    """Return $BOOKWHEEL_JOURNAL, or journal.sqlite in the user's data folder."""
    if named := os.environ.get("BOOKWHEEL_JOURNAL"):
        return Path(named).expanduser()
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "bookwheel" / "journal.sqlite"


def file_beside(journal: Path, end: str) -> Path:
    """Return a file that belongs to a journal: `-wal`, `-shm`, `.commits`, `.locks`, `.search`."""
    return journal.with_name(f"{journal.name}{end}")


def measure_journal(path: Path) -> int:
    return sum(file.stat().st_size for file in (path, file_beside(path, "-wal")) if file.exists())


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
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # one that exists stays open to others: it may hold other things
            path.parent.mkdir(mode=0o700)
        with hold_lock(lock_folder(path) / "opening", wait=True):
            if not path.exists():
                file_beside(path, COMMITS).unlink(missing_ok=True)
            if noted := load_commits(path):
                # Before anything is written: what is left of a damaged log must not be overwritten.
                with closing(_connect_read_only(path)) as connection:
                    check_commits(path, noted, connection)
            if not path.exists():
                make_private(path)
            with closing(connect(path)) as connection:
                _migrate(connection, path)
            make_private(path)  # Another program's database is refused by now, with its permissions as they were.


def check_commits(path: Path, noted: Sequence[str], connection: sqlite3.Connection) -> None:
    """Raise LostWrites if the journal has fewer transactions than were noted when each was on disk.

    The notes must have been read before the journal was opened: another process may add to both.
    """
    lost = [line for line in noted if int(line.partition(" ")[0]) > count_commits(connection)]
    if lost:
        writes = [what for line in lost for what in line.partition(" ")[2].split("; ") if what]
        shown = ", ".join(writes if len(writes) < _MOST_NAMED else (writes[0], "…", *writes[-2:]))
        raise LostWrites(
            f"the journal {path} has lost {len(lost)} transactions that were on disk ({shown or 'without a name'}): "
            f"its log is damaged, or an older copy was put in its place; bookwheel doctor --repair takes what it can "
            f"out of the log, and bookwheel resume reads the rest again"
        )


def count_commits(connection: sqlite3.Connection) -> int:
    """Return the number of transactions; 0 where nothing is left of the table."""
    has_table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'commits'").fetchone()
    return int(connection.execute("SELECT count FROM commits").fetchone()[0]) if has_table else 0


def load_commits(path: Path) -> list[str]:
    """Return the notes of the newest transactions: each has its number, and what it wrote."""
    try:
        content = file_beside(path, COMMITS).read_bytes()
    except OSError:  # there is none, or it is another user's
        return []
    # Two processes write to it, and a crash can cut the last line: a line that is not whole says nothing.
    lines = content.decode("utf-8", "replace").split("\n")[:-1]
    return [line for line in lines if line.partition(" ")[0].isdecimal()]


def make_private(path: Path) -> None:
    """Let only this user read a database. SQLite gives the files beside it the same permissions."""
    # Only a file that is new may be opened here: closing a file drops every lock that this process has on it, those of
    # SQLite too.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    for file in (path, file_beside(path, "-wal"), file_beside(path, "-shm")):
        with suppress(OSError):  # another user's, whom this one may only read from
            file.chmod(0o600)


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection in autocommit mode; writers use BEGIN IMMEDIATE."""
    connection = _connect(str(path))
    connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
    connection.execute("PRAGMA foreign_keys = ON")
    # What is deleted is overwritten, not only left to be overwritten some day.
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
    return connection


def empty_log(path: Path) -> bool:
    """Empty the write-ahead log, which keeps what was deleted; return False while another process reads from it."""
    with translate_errors(path, "empty the log of"), closing(connect(path)) as connection:
        patience = time.monotonic() + _EMPTYING_SECONDS
        while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > patience:
                return False
            time.sleep(0.05)
    return True


def connect_read_only(path: Path, *, may_have_lost: bool = False) -> sqlite3.Connection:
    """Open a connection that cannot write to the journal. With `may_have_lost`, lost transactions are no error."""
    noted = [] if may_have_lost else load_commits(path)
    connection = _connect_read_only(path)
    try:
        check_commits(path, noted, connection)
        _check_version(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    found = (_read_pragma(connection, "application_id"), _read_pragma(connection, "user_version"))
    if found != (_APPLICATION, newest_version()):
        raise JournalError(
            f"{path} is not a journal of this version; `bookwheel list --journal {path}` updates an older one"
        )


def _connect_read_only(path: Path) -> sqlite3.Connection:
    log = file_beside(path, "-wal")
    # `immutable` creates no file at all, but ignores the log; to read a log, SQLite must create its index beside it.
    mode = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    connection = _connect(f"{path.absolute().as_uri()}?{mode}")
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _connect(name: str) -> sqlite3.Connection:
    is_uri = name.startswith("file:")
    connection = sqlite3.connect(name, uri=is_uri, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.create_function("mentions", -1, _mentions, deterministic=True)
    connection.create_function("fold", 1, _fold, deterministic=True)
    connection.create_function("alphabetical", 1, _alphabetize, deterministic=True)
    connection.create_function("type_of", 1, find_type, deterministic=True)
    add_functions(connection)
    return connection


def _mentions(wanted: str | bytes, *texts: str | bytes | None) -> bool:
    """Return whether one of the texts has the wanted one in it, in any case and script."""
    folded = _fold(wanted)
    return any(folded in _fold(text) for text in texts if text)


def find_type(name: str | bytes) -> str:
    text = load_text(name)
    return "web" if text.startswith(_WEB) else _TYPE_OF.get(text.rpartition(".")[2].casefold(), "text")


def _fold(text: str | bytes) -> str:
    return load_text(text).casefold()


def _alphabetize(text: str | bytes) -> bytes:
    """Return what names are sorted by: their letters without case, Chinese ones in the order of their sounds."""
    # So GB 2312 numbers its common characters; those of ASCII come first.
    return _fold(text).encode("gb18030", "replace")


def newest_version() -> int:
    return FIRST_VERSION + len(MIGRATIONS) - 1


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    version = _read_pragma(connection, "user_version")
    if version > newest_version():
        raise JournalError(
            f"the journal {path} has schema version {version} and this bookwheel knows versions up to "
            f"{newest_version()}: update bookwheel, or name another journal with --journal FILE"
        )
    is_new = version == 0 and not connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    if not is_new and (version == 0 or _read_pragma(connection, "application_id") != _APPLICATION):
        raise JournalError(f"{path} is a database of another program; name another file with --journal FILE")
    if is_new:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
    if 0 < version < FIRST_VERSION:
        raise JournalError(
            f"the journal {path} has schema version {version}, of a bookwheel before its first release, and is not "
            "read any more: move it away, or name another journal with --journal FILE"
        )
    done = version - FIRST_VERSION + 1 if version else 0
    for next_version, script in enumerate(MIGRATIONS[done:], FIRST_VERSION + done):
        connection.executescript(
            f"BEGIN IMMEDIATE; {script} PRAGMA application_id = {_APPLICATION};"
            f"PRAGMA user_version = {next_version}; COMMIT;"
        )


def _read_pragma(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def lock_folder(journal: Path) -> Path:
    return file_beside(journal, ".locks")


@contextmanager
def hold_lock(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock of this name. Without `wait`, raise LockTaken if another process holds it."""
    handle = _open_locked(path, wait=wait)
    try:
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        with suppress(OSError):  # Windows cannot remove an open file; it stays, and can be locked again
            path.unlink()
        os.close(handle)


def claim_path(journal: Path, reading: str) -> Path:
    """Return the lock file that whoever reads holds."""
    from urllib.parse import quote  # which a list of readings that have ended does without

    return lock_folder(journal) / f"{quote(reading, safe='')}.lock"


def is_held(path: Path) -> bool:
    """Return True if a living process wrote the lock file. Taking the lock to see would disturb who wants it."""
    try:
        holder = int(path.read_text(encoding="ascii"))
        if sys.platform != "win32":  # where signal 0 would end the process
            os.kill(holder, 0)
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return False
    except PermissionError:  # a process of another user
        return True
    return True


def _open_locked(path: Path, *, wait: bool) -> int:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(handle, wait=wait)
            # The last holder removes its file. If that was ours, its lock guards nothing, and we try again.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
        except BlockingIOError:
            holder = os.read(handle, 20).decode("ascii", "replace")
            os.close(handle)
            raise LockTaken(holder) from None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, *, wait: bool) -> None:
    """Lock the file. Raise BlockingIOError if another process holds it; with `wait`, wait for that process."""
    if sys.platform == "win32":
        _lock_on_windows(handle, wait=wait)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_on_windows(handle: int, *, wait: bool) -> None:
    import msvcrt

    while True:
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError as error:
            if not wait:
                raise BlockingIOError(str(error)) from error
        else:
            return
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
