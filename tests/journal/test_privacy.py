"""Only its owner can read a journal and what lies beside it."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from journal_readings import begin_reading, step

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import JournalError
from bookwheel.journal import Journal, files

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}


def test_the_journal_and_all_beside_it_are_the_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "bookwheel"
    before = os.umask(0o022)
    try:
        with Journal(folder / "journal.sqlite") as journal:
            journal.keep(TextDocument("A secret. " * 99))
            with journal.claim("abc"):
                found = modes(folder)
    finally:
        os.umask(before)
    assert {name: mode & 0o077 for name, mode in found.items()} == dict.fromkeys(found, 0)
    assert {"journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "abc.lock"} <= set(found)


def test_an_older_journal_becomes_private_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    Journal(path).close()
    path.chmod(0o644)
    Journal(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.filterwarnings("ignore:.*fork")
def test_opening_a_journal_again_leaves_the_locks_of_this_process_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:

        def work(connection) -> None:
            connection.execute("UPDATE texts SET kept = kept")
            Journal(path).close()
            pid = os.fork()
            if pid == 0:
                import sqlite3

                try:
                    other = sqlite3.connect(path, timeout=0, isolation_level=None)
                    other.execute("BEGIN IMMEDIATE")
                    os._exit(1)
                except sqlite3.OperationalError:
                    os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

        journal._writer.write_now(work)


def test_looking_needs_no_right_to_write(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:
        journal.keep(TextDocument("words"))
    before = path.stat().st_mtime_ns
    with Journal(path, read_only=True) as journal:
        assert journal.readings() == []
        with pytest.raises(JournalError):
            journal._writer.write_now(lambda connection: connection.execute("DELETE FROM texts"))
    assert path.stat().st_mtime_ns == before


def test_what_is_deleted_is_in_no_file_of_a_journal_that_stays_open_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"

    def has_secret() -> bool:
        return any(b"giraffe" in one.read_bytes() for one in tmp_path.iterdir() if one.is_file())

    with Journal(path) as served, Journal(path) as other:
        for forgetting in (served, other):
            reading = begin_reading(served)
            asyncio.run(served.add_step(reading.id, step(0, "the giraffe")))
            assert has_secret()
            forgetting.delete(reading.id)
            assert not has_secret()


def test_a_log_that_another_process_reads_is_told_and_emptied_by_the_next_deletion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_EMPTYING_SECONDS", 0.1)
    monkeypatch.setattr(files, "_BUSY_SECONDS", 0.1)
    with Journal(tmp_path / "journal.sqlite") as journal, closing(sqlite3.connect(journal.path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM texts").fetchall()
        journal.keep(TextDocument("words"))
        assert not journal.delete_unread(all_=True)
        reader.rollback()
        assert journal.delete_unread()
