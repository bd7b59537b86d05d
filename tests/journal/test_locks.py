"""One process at a time holds a reading."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from bookwheel.errors import JournalError
from bookwheel.journal import locks

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
    lock, calls = locks._lock, []

    def removed_just_before(handle, *, wait):
        calls.append(handle)
        if len(calls) == 1:
            next(locks.lock_folder(journal.path).iterdir()).unlink()
        lock(handle, wait=wait)

    monkeypatch.setattr(locks, "_lock", removed_just_before)
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
    monkeypatch.setattr(locks, "_lock", locks._lock_on_windows)
    with (
        journal.claim("abc"),
        pytest.raises(JournalError, match=rf"another process \({os.getpid()}\)"),
        journal.claim("abc"),
    ):
        pass
