"""What was written stays written, whoever else writes and whatever breaks; reads see it meanwhile."""

import asyncio
import multiprocessing
import signal
import sqlite3
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from journal_readings import (
    begin_reading,
    step,
    write_steps,
)

from bookwheel.errors import JournalError
from bookwheel.journal import Journal, access


def test_a_second_step_of_the_same_index_is_refused_and_the_first_stays(journal):
    reading = begin_reading(journal)
    asyncio.run(journal.add_step(reading.id, step(0, "first")))
    with pytest.raises(JournalError, match=r"step 0 .* already"):
        asyncio.run(journal.add_step(reading.id, step(0, "second")))
    assert [done.after.text for done in journal.steps(reading.id)] == ["first"]
    assert journal.reading(reading.id).usage.calls == 1


def test_a_step_is_on_the_disk_when_add_step_returns(journal):
    reading = begin_reading(journal)

    async def check():
        for index in range(5):
            await journal.add_step(reading.id, step(index))
            with sqlite3.connect(journal.path) as other:
                assert other.execute("SELECT count(*) FROM steps").fetchone()[0] == index + 1
            other.close()

    asyncio.run(check())


def test_many_readings_share_their_trips_to_the_disk(journal, monkeypatch):
    commits, transact = [], access.Writer._transact

    def counted(self, connection, batch):
        commits.append(len(batch))
        transact(self, connection, batch)

    monkeypatch.setattr(access.Writer, "_transact", counted)
    readings = [begin_reading(journal) for _ in range(32)]
    commits.clear()

    async def all_of_them():
        await asyncio.gather(*(journal.add_step(reading.id, step(index)) for index in range(8) for reading in readings))

    asyncio.run(all_of_them())
    assert sum(commits) == 256
    assert len(commits) < 32
    assert all(journal.progress(reading.id)[0] == 8 for reading in readings)


def test_one_bad_write_does_not_spoil_those_that_share_its_transaction(journal):
    reading = begin_reading(journal)

    async def together():
        return await asyncio.gather(
            *(journal.add_step(reading.id, step(index)) for index in (0, 1, 1, 2)), return_exceptions=True
        )

    outcomes = asyncio.run(together())
    assert [type(outcome) for outcome in outcomes] == [type(None), type(None), JournalError, type(None)]
    assert [done.chunk.index for done in journal.steps(reading.id)] == [0, 1, 2]


def test_a_step_whose_waiter_was_cancelled_is_kept_all_the_same(journal):
    reading = begin_reading(journal)

    async def impatient():
        task = asyncio.create_task(journal.add_step(reading.id, step(0)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await journal.add_step(reading.id, step(1))

    asyncio.run(impatient())
    assert journal.progress(reading.id)[0] == 2


FULL = """
import asyncio, resource, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from journal_readings import begin_reading, step
from bookwheel.errors import JournalError
from bookwheel.journal import Journal
journal = Journal(Path({path!r}))
reading = begin_reading(journal)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
kept = 0
try:
    for index in range(1000):
        asyncio.run(journal.add_step(reading.id, step(index, "note " * 2000)))
        kept += 1
except JournalError as error:
    print(kept, error)
"""


@pytest.mark.slow
def test_a_full_disk_is_told_and_loses_no_earlier_step(tmp_path):
    path = tmp_path / "j.sqlite"
    code = FULL.format(tests=str(Path(__file__).parent), path=str(path))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kept, _, message = ran.stdout.partition(" ")
    assert 1 < int(kept) < 1000
    assert "--journal FILE" in message
    assert "earlier steps are kept" in message
    with Journal(path) as journal:
        assert [done.chunk.index for done in journal.steps("last")] == list(range(int(kept)))
        asyncio.run(journal.add_step(journal.reading("last").id, step(int(kept))))


def test_a_full_database_is_told_and_takes_steps_again_when_there_is_room(journal):
    reading = begin_reading(journal)
    journal._writer.write_now(lambda connection: connection.execute("PRAGMA max_page_count = 90").fetchall())

    async def fill():
        for index in range(100):
            await journal.add_step(reading.id, step(index, "note " * 2000))

    with pytest.raises(JournalError, match=r"full.*--journal FILE"):
        asyncio.run(fill())
    kept = journal.progress(reading.id)[0]
    assert kept > 0
    journal._writer.write_now(lambda connection: connection.execute("PRAGMA max_page_count = 80000").fetchall())
    asyncio.run(journal.add_step(reading.id, step(kept, "note " * 2000)))
    assert journal.progress(reading.id)[0] == kept + 1


@pytest.mark.slow
def test_two_processes_neither_corrupt_nor_duplicate(journal):
    reading, apart = begin_reading(journal), [begin_reading(journal), begin_reading(journal)]
    spawn = multiprocessing.get_context("spawn")
    outcomes = spawn.Queue()
    both = [
        spawn.Process(target=write_steps, args=(str(journal.path), reading.id, range(40), outcomes)) for _ in range(2)
    ]
    for process in both:
        process.start()
    mine = spawn.Queue()
    write_steps(journal.path, apart[0].id, range(40), mine)
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]
    assert outcomes.get(timeout=60) + outcomes.get(timeout=60) == 40
    assert mine.get(timeout=60) == 40
    assert [done.chunk.index for done in journal.steps(reading.id)] == list(range(40))
    assert journal._reader.fetch_one("PRAGMA integrity_check") == ("ok",)
    mine.close()
    outcomes.close()
    for process in both:
        process.close()


WRITE = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from journal_readings import step
from bookwheel.journal import Journal
async def write():
    with Journal(Path({path!r})) as journal:
        for index in range(100_000):
            await journal.add_step({name!r}, step(index))
            print(index, flush=True)
asyncio.run(write())
"""


@pytest.mark.slow
def test_a_process_that_is_killed_loses_no_step_that_it_was_told_of(journal):
    reading = begin_reading(journal)
    code = WRITE.format(tests=str(Path(__file__).parent), path=str(journal.path), name=reading.id)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        for line in other.stdout:
            if int(line) == 25:
                other.send_signal(signal.SIGKILL)
                break
        told = 25 + len(other.stdout.readlines())
    kept = [done.chunk.index for done in journal.steps(reading.id)]
    assert kept == list(range(len(kept)))
    assert told < len(kept) <= told + 2, "all that it was told of, and what was under way"


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
