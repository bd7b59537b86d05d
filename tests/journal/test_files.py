"""Only a journal is opened as one, an older one is migrated, and one process at a time holds a reading."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from journal_readings import QUESTION, begin_reading, step

from bookwheel.errors import JournalError
from bookwheel.journal import Journal, files, journal_path
from bookwheel.journal.files import SYNCHRONOUS
from bookwheel.models.registry import ModelAddress
from bookwheel.types import Memory


def test_a_journal_of_a_newer_bookwheel_is_refused_by_both_versions(journal):
    with sqlite3.connect(journal.path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(JournalError, match=f"version 99 .* up to {files.newest_version()}.*--journal"):
        Journal(journal.path)


def test_an_older_journal_is_brought_up_to_date_with_all_that_is_in_it(journal, monkeypatch):
    reading = begin_reading(journal)
    monkeypatch.setattr(files, "MIGRATIONS", [*files.MIGRATIONS, "ALTER TABLE readings ADD COLUMN shelf TEXT;"])
    with Journal(journal.path) as newer:
        assert newer.reading(reading.id).question == QUESTION
    with sqlite3.connect(journal.path) as other:
        assert other.execute("PRAGMA user_version").fetchone()[0] == files.newest_version()
        assert other.execute("SELECT shelf FROM readings").fetchall() == [(None,)]
    other.close()


def test_a_journal_from_before_the_first_release_is_refused_and_left_as_it_is(journal):
    with sqlite3.connect(journal.path) as other:
        other.execute("PRAGMA user_version = 18")
    other.close()
    with pytest.raises(JournalError, match=r"version 18, of a bookwheel before its first release.*--journal"):
        Journal(journal.path)


def test_what_is_known_of_a_step_is_sealed_with_it(journal):
    reading = begin_reading(journal)
    asyncio.run(journal.add_step(reading.id, step(0)))
    asyncio.run(journal.add_step(reading.id, replace(step(1, before="notes"), ranking=(0.5,))))
    assert [one.ranking for one in journal.steps(reading.id)] == [(), (0.5,)]
    with sqlite3.connect(journal.path) as damaged:
        damaged.create_function("checksum", -1, lambda *_: 0)
        for trigger in ("steps_check_old", "steps_seal_changed"):
            damaged.execute(f"DROP TRIGGER {trigger}")
        damaged.execute("UPDATE steps SET findings = '{\"ranking\": [0.75]}' WHERE step = 1")
    damaged.close()
    with pytest.raises(JournalError, match=r"step 1 .* is damaged"):
        list(journal.steps(reading.id))


def test_an_address_is_kept_and_forked_without_its_secrets(journal):
    address = ModelAddress(model="m", url="https://me:secret@host:8/v1?key=secret", key_variable="MY_KEY", window=9)
    reading = begin_reading(journal, address=address)
    kept = ModelAddress(model="m", url="https://host:8/v1", key_variable="MY_KEY", window=9)
    assert journal.address_of(reading.id) == kept
    asyncio.run(journal.add_step(reading.id, step(0)))
    fork = journal.fork(reading.id, 0, Memory(text="by hand", tokens=2, limit=60))
    assert journal.address_of(fork.id) == kept
    assert b"secret" not in journal.path.read_bytes()


def test_what_is_no_journal_is_not_written_to(tmp_path):
    notes = tmp_path / "notes.sqlite"
    notes.write_text("these are my notes, dear to me, and no database at all " * 30)
    with pytest.raises(JournalError, match="--journal"):
        Journal(notes)
    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()
    (tmp_path / "other.sqlite").chmod(0o644)
    with pytest.raises(JournalError, match="another program"):
        Journal(tmp_path / "other.sqlite")
    assert (tmp_path / "other.sqlite").stat().st_mode & 0o777 == 0o644
    assert notes.read_text().startswith("these are my notes")


def test_a_place_that_cannot_be_written_is_told_with_a_way_out(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "journal.sqlite", Path("/proc/bookwheel/journal.sqlite"), tmp_path):
        with pytest.raises(JournalError, match="--journal FILE"):
            Journal(place)


def test_the_journal_lies_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("BOOKWHEEL_JOURNAL", raising=False)
    assert journal_path() == tmp_path / "bookwheel" / "journal.sqlite"
    monkeypatch.setenv("BOOKWHEEL_JOURNAL", "/elsewhere/j")
    assert journal_path() == Path("/elsewhere/j")
    monkeypatch.delenv("BOOKWHEEL_JOURNAL")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert journal_path() == tmp_path / ".local" / "share" / "bookwheel" / "journal.sqlite"


def test_a_journal_that_is_only_looked_at_is_never_written_to(tmp_path):
    path = tmp_path / "kept" / "journal.sqlite"
    with pytest.raises(JournalError):
        Journal(path, read_only=True).readings()
    assert not path.parent.exists()
    with Journal(path) as journal:
        begin_reading(journal)
    before = {one.name: one.read_bytes() for one in path.parent.iterdir() if one.is_file()}
    with Journal(path, read_only=True) as looked:
        (reading,) = looked.readings()
        assert looked.document_of(reading.id).length == reading.document.length
        with pytest.raises(JournalError, match="readonly"):
            looked.begin(replace(reading, id="another"))
    assert {one.name: one.read_bytes() for one in path.parent.iterdir() if one.is_file()} == before


def test_a_database_of_something_else_is_not_looked_at(tmp_path):
    sqlite3.connect(tmp_path / "other.sqlite").execute("CREATE TABLE readings (id)").connection.close()
    with pytest.raises(JournalError, match="not a journal of this version"):
        Journal(tmp_path / "other.sqlite", read_only=True).readings()


def test_a_commit_waits_for_the_disk(tmp_path, monkeypatch):
    # As it was when this file was imported: later all tests do without.
    monkeypatch.setattr(files, "SYNCHRONOUS", SYNCHRONOUS)
    with Journal(tmp_path / "journal.sqlite"):
        connection = files.connect(tmp_path / "journal.sqlite")
    with closing(connection):
        assert connection.execute("PRAGMA synchronous").fetchone()[0] >= 2


HOLD = """
import sys, time
from pathlib import Path
from bookwheel.journal import Journal
journal = Journal(Path({path!r}))
with journal.claim("abc"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_only_one_process_may_carry_a_reading_out_until_it_is_killed(journal):
    code = HOLD.format(path=str(journal.path))
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout.readline() == b"held\n"
    with pytest.raises(JournalError, match=rf"being read by another process \({other.pid}\)"), journal.claim("abc"):
        pass
    with journal.claim("another"):
        pass
    other.send_signal(signal.SIGKILL)
    other.wait()
    other.stdin.close()
    other.stdout.close()
    with journal.claim("abc"), pytest.raises(JournalError, match=str(os.getpid())), journal.claim("abc"):
        pass
    with journal.claim("abc"):
        pass
    with journal.claim("../../etc/x"):
        pass


def test_what_goes_wrong_inside_a_claim_is_not_taken_for_the_journals_fault(journal):
    with pytest.raises(OSError, match="the printer"), journal.claim("abc"):
        raise OSError("the printer is on fire")


def test_a_claim_passes_from_hand_to_hand_and_is_never_in_two(journal):
    holding, most, guard = [0], [0], threading.Lock()

    def take():
        for _ in range(60):
            try:
                with journal.claim("abc"):
                    with guard:
                        holding[0] += 1
                        most[0] = max(most[0], holding[0])
                    with guard:
                        holding[0] -= 1
            except JournalError:
                continue

    threads = [threading.Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1


def test_a_claim_is_of_the_file_that_has_its_name_even_when_the_last_holder_removed_it(journal, monkeypatch):
    lock, calls = files._lock, []

    def removed_just_before(handle, *, wait):
        calls.append(handle)
        if len(calls) == 1:
            next(files.lock_folder(journal.path).iterdir()).unlink()
        lock(handle, wait=wait)

    monkeypatch.setattr(files, "_lock", removed_just_before)
    with journal.claim("abc"), pytest.raises(JournalError, match="another process"), journal.claim("abc"):
        pass
    assert len(calls) == 3


def test_on_windows_the_lock_is_on_a_byte_behind_the_holders_number(journal, monkeypatch):
    taken = set()

    class Windows:
        LK_LOCK, LK_NBLCK = 1, 2

        @staticmethod
        def locking(handle, mode, size):
            place = (os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR))
            assert size == 1
            assert place[1] > 20
            if place in taken:
                raise PermissionError("locked")
            taken.add(place)

    monkeypatch.setitem(sys.modules, "msvcrt", Windows)
    monkeypatch.setattr(files, "_lock", files._lock_on_windows)
    with (
        journal.claim("abc"),
        pytest.raises(JournalError, match=rf"another process \({os.getpid()}\)"),
        journal.claim("abc"),
    ):
        pass
