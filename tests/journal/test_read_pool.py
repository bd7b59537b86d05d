"""Reads see what is written, while it is written."""

import asyncio
import threading
from itertools import pairwise

import pytest
from journal_readings import (
    begin_reading,
    step,
)

from bookwheel.errors import JournalError
from bookwheel.journal import Journal


def test_the_journal_can_be_read_while_it_is_written(journal):
    reading, seen = begin_reading(journal), []

    async def write():
        for index in range(60):
            await journal.add_step(reading.id, step(index))

    thread = threading.Thread(target=lambda: asyncio.run(write()))
    thread.start()
    while thread.is_alive():
        seen.append([done.chunk.index for done in journal.steps(reading.id)])
    thread.join()
    assert all(numbers == list(range(len(numbers))) for numbers in seen)
    assert all(len(a) <= len(b) for a, b in pairwise(seen))
    assert journal.progress(reading.id)[0] == 60


def test_a_look_sees_what_another_process_has_just_written(tmp_path):
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:
        begin_reading(journal)
        with Journal(path, read_only=True) as looked:
            assert len(looked.readings()) == 1


def test_a_closed_journal_says_so(tmp_path):
    journal = Journal(tmp_path / "j.sqlite")
    reading = begin_reading(journal)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        asyncio.run(journal.add_step(reading.id, step(0)))
    with pytest.raises(JournalError, match="closed"):
        journal.readings()


def test_two_threads_may_close_a_journal_at_once(tmp_path, monkeypatch):
    with Journal(tmp_path / "j.sqlite") as journal:
        begin_reading(journal)
        journal.readings()
        # The other thread takes the last connection just after this one has looked.
        monkeypatch.setattr(journal._reader._idle, "empty", lambda: False)
