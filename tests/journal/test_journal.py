"""What is in the journal stays in it, exactly, whoever else writes and whatever breaks."""

import asyncio
import hashlib
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bookwheel.errors import JournalError
from bookwheel.journal import Journal, documents, journal_path, locks, new_id, rows, schema, writer
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.reading.loop import read
from bookwheel.types import (
    Answer,
    Chunk,
    Conversation,
    DocumentInfo,
    Evidence,
    Finish,
    Flag,
    Memory,
    Part,
    Reading,
    Reply,
    Status,
    Step,
    TokenRecord,
    Usage,
)

PLAN = Plan(chunk_tokens=120, memory_tokens=60, question_tokens=40, answer_tokens=40)
QUESTION = "Who signed the plan of the mill?"
STRANGE = "lone \ud83d\ude00 \udfff, nul \x00, tag </memory>, 书轮"


class Sheets:
    """A document of several parts."""

    def __init__(self, *parts, name="sheets"):
        self._parts = [part if isinstance(part, Part) else Part(text=part, source=name) for part in parts]
        self.name = name
        self.text = "".join(part.text for part in self._parts)
        self.length = len(self.text)

    def parts(self, start=0):
        for part in self._parts:
            if start < len(part.text):
                yield replace(part, text=part.text[start:])
            start = max(0, start - len(part.text))


MILL = Sheets(
    Part(text="The mill was built in 1588. " * 40, source="a.pdf", page=1),
    Part(text="Ramelli signed the plan of the mill. " + "Rain fell. " * 60, source="a.pdf", page=2),
    name="a.pdf",
)


def step(index, text="notes", *, before="", tokens=None, limit=60):
    usage = Usage(calls=1, prompt_tokens=10, completion_tokens=2, seconds=0.5)
    return Step(
        chunk=Chunk(
            index=index, start=index * 10, end=index * 10 + 10, text="", tokens=3, sources=("a.pdf",), pages=(1, 2)
        ),
        before=Memory(text=before, tokens=len(before), limit=limit),
        after=Memory(text=text, tokens=len(text), limit=limit),
        conversation=Conversation(messages=(), reply=Reply(text=text + "!", usage=usage, tokens=tokens)),
        flags=(Flag.CLEANED,),
    )


def begun(journal, document=MILL, **values):
    kept = journal.keep(document)
    reading = Reading(
        id=new_id(), document=kept.info, question=QUESTION, plan=PLAN, model="scripted", created="2026-11-21", **values
    )
    journal.begin(reading)
    return reading


async def carried_out(journal, reading, document, model):
    """What a desk does: read, keep each step, end."""
    async for event in read(document, QUESTION, model, PLAN, reading.steps):
        if isinstance(event, Answer):
            reading = replace(
                reading, answer=event, status=Status.ANSWERED, usage=reading.usage + event.conversation.reply.usage
            )
            await journal.end(reading)
        else:
            await journal.add_step(reading.id, event)
            reading = reading.with_step(event)
    return reading


def without_prompts(reading):
    """As the journal gives it: chunk texts and messages are not kept."""
    steps = tuple(
        replace(done, chunk=replace(done.chunk, text=""), conversation=replace(done.conversation, messages=()))
        for done in reading.steps
    )
    answer = reading.answer and replace(reading.answer, conversation=replace(reading.answer.conversation, messages=()))
    return replace(reading, steps=steps, answer=answer)


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "home" / "journal.sqlite") as opened:
        yield opened


def test_a_whole_reading_comes_back_as_it_was(journal):
    reading = asyncio.run(carried_out(journal, begun(journal), MILL, ScriptedModel(keyword_reader)))
    assert len(reading.steps) > 3
    assert journal.reading(reading.id) == without_prompts(reading)
    assert list(journal.steps("last")) == list(without_prompts(reading).steps)
    assert journal.progress("last") == (len(reading.steps), MILL.length)


def test_chunk_texts_are_filled_in_from_the_kept_document(journal):
    reading = asyncio.run(carried_out(journal, begun(journal), MILL, ScriptedModel(keyword_reader)))
    texts = [done.chunk.text for done in journal.reading("last", texts=True).steps]
    assert texts == [done.chunk.text for done in reading.steps]
    assert "".join(texts) == MILL.text


def test_a_killed_reading_goes_on_where_it_was_and_ends_the_same(journal):
    whole = asyncio.run(carried_out(journal, begun(journal), MILL, ScriptedModel(keyword_reader)))
    broken = ScriptedModel(keyword_reader, faults={2: RuntimeError("the lights went out")})
    with pytest.raises(RuntimeError):
        asyncio.run(carried_out(journal, begun(journal), MILL, broken))
    half = journal.reading("last")
    assert len(half.steps) == 2
    assert half.usage.calls == 2, "a reading that never came to its end knows what it cost"
    model = ScriptedModel(keyword_reader)
    resumed = asyncio.run(carried_out(journal, half, journal.document_of(half.id), model))
    assert model.calls == len(whole.steps) + 1 - 2
    assert [done.after for done in resumed.steps] == [done.after for done in whole.steps]
    assert journal.reading(half.id).steps == without_prompts(resumed).steps


def test_an_answer_is_kept_with_its_evidence_and_exact_tokens(journal):
    reading = begun(journal)
    tokens = TokenRecord(prompt=(1, 2**40), reply=(7,), logprobs=(-0.1,))
    reply = Reply(text=r"\boxed{" + STRANGE + "}", finish=Finish.LENGTH, tokens=tokens)
    ended = replace(
        reading,
        status=Status.STOPPED,
        answer=Answer(text=STRANGE, conversation=Conversation(messages=(), reply=reply), flags=(Flag.TRUNCATED,)),
        evidence=(Evidence(quote=STRANGE, start=3, end=9, step=0, pages=(4,)),),
        error=STRANGE,
        usage=Usage(calls=3, seconds=1.25),
    )
    asyncio.run(journal.end(ended))
    assert journal.reading("last") == ended


record = st.builds(
    lambda prompt, pairs: TokenRecord(
        prompt=tuple(prompt), reply=tuple(i for i, _ in pairs), logprobs=tuple(p for _, p in pairs)
    ),
    st.lists(st.integers(0, 2**62)),
    st.lists(st.tuples(st.integers(0, 2**62), st.floats(allow_nan=False))),
)


@given(record)
def test_token_records_are_packed_without_loss(tokens):
    assert rows.unpack_tokens(rows.pack_tokens(tokens)) == tokens


@given(
    st.lists(
        st.tuples(
            st.text(st.characters() | st.sampled_from("\ud83d\ude00\x00")),
            st.sampled_from("ab"),
            st.none() | st.integers(1, 3),
        )
    ),
    st.integers(0, 300),
)
@example([("abcd", "a", None), ("efgh", "b", 2)], 1)
@settings(max_examples=25)
def test_a_kept_document_has_the_same_text_and_places_from_any_character_on(tmp_path_factory, written, start):
    document = Sheets(*(Part(text=text, source=source, page=page) for text, source, page in written))
    with pytest.MonkeyPatch.context() as patch, Journal(tmp_path_factory.mktemp("j") / "j.sqlite") as journal:
        patch.setattr(documents, "_PIECE", 7)
        patch.setattr(documents, "_PART", 3)
        kept = journal.keep(document)
        assert kept.id == hashlib.sha256(document.text.encode("utf-8", "surrogatepass")).hexdigest()
        start = min(start, document.length)
        of = [(part.source, part.page) for part in document.parts() for _ in part.text]
        assert [(part.source, part.page) for part in kept.parts(start) for _ in part.text] == of[start:]
        assert "".join(part.text for part in kept.parts(start)) == document.text[start:]
        assert kept.slice(start, start + 10) == document.text[start : start + 10]
        assert kept.length == document.length


def count(journal, table):
    with sqlite3.connect(journal.path) as connection:
        found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    connection.close()
    return found


def test_the_same_text_is_stored_once_and_each_reading_knows_its_own_files(journal):
    first = begun(journal, Sheets(Part(text="one text", source="old.txt"), name="old.txt"))
    second = begun(journal, Sheets(Part(text="one text", source="new.txt"), name="new.txt"))
    assert (count(journal, "texts"), count(journal, "pieces")) == (1, 1)
    assert [next(journal.document_of(r.id).parts()).source for r in (first, second)] == ["old.txt", "new.txt"]
    assert journal.document(first.document.id).name == "new.txt"


def test_pages_found_anew_do_not_change_an_older_reading(journal):
    first = begun(journal, Sheets(Part(text="one text", source="a", page=1), name="a"))
    begun(journal, Sheets(Part(text="one text", source="a", page=9), name="a"))
    assert next(journal.document_of(first.id).parts()).page == 1
    assert next(journal.document(first.document.id).parts()).page == 9


def test_a_document_that_breaks_off_leaves_nothing(journal):
    class Breaking(Sheets):
        def parts(self, start=0):
            yield Part(text="x" * 3_000_000, source="a")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        journal.keep(Breaking("never"))
    assert (count(journal, "texts"), count(journal, "pieces")) == (0, 0)
    assert {path.name for path in journal.path.parent.iterdir()} <= {
        "journal.sqlite",
        "journal.sqlite-wal",
        "journal.sqlite-shm",
        "journal.sqlite.locks",
    }


def test_a_second_step_of_the_same_index_is_refused_and_the_first_stays(journal):
    reading = begun(journal)
    asyncio.run(journal.add_step(reading.id, step(0, "first")))
    with pytest.raises(JournalError, match=r"step 0 .* already"):
        asyncio.run(journal.add_step(reading.id, step(0, "second")))
    assert [done.after.text for done in journal.steps(reading.id)] == ["first"]
    assert journal.reading(reading.id).usage.calls == 1


def test_a_step_is_on_the_disk_when_add_step_returns(journal):
    reading = begun(journal)

    async def check():
        for index in range(5):
            await journal.add_step(reading.id, step(index))
            with sqlite3.connect(journal.path) as other:
                assert other.execute("SELECT count(*) FROM steps").fetchone()[0] == index + 1
            other.close()

    asyncio.run(check())


def test_many_readings_share_their_trips_to_the_disk(journal, monkeypatch):
    commits, transact = [], writer.Writer._transact

    def counted(self, connection, batch):
        commits.append(len(batch))
        transact(self, connection, batch)

    monkeypatch.setattr(writer.Writer, "_transact", counted)
    readings = [begun(journal) for _ in range(32)]
    commits.clear()

    async def all_of_them():
        await asyncio.gather(*(journal.add_step(reading.id, step(index)) for index in range(8) for reading in readings))

    asyncio.run(all_of_them())
    assert sum(commits) == 256
    assert len(commits) < 32
    assert all(journal.progress(reading.id)[0] == 8 for reading in readings)


def test_one_bad_write_does_not_spoil_those_that_share_its_transaction(journal):
    reading = begun(journal)

    async def together():
        return await asyncio.gather(
            *(journal.add_step(reading.id, step(index)) for index in (0, 1, 1, 2)), return_exceptions=True
        )

    outcomes = asyncio.run(together())
    assert [type(outcome) for outcome in outcomes] == [type(None), type(None), JournalError, type(None)]
    assert [done.chunk.index for done in journal.steps(reading.id)] == [0, 1, 2]


def test_a_step_whose_waiter_was_cancelled_is_kept_all_the_same(journal):
    reading = begun(journal)

    async def impatient():
        task = asyncio.create_task(journal.add_step(reading.id, step(0)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await journal.add_step(reading.id, step(1))

    asyncio.run(impatient())
    assert journal.progress(reading.id)[0] == 2


def test_memories_and_replies_hold_any_character(journal):
    reading = begun(journal)
    asyncio.run(journal.add_step(reading.id, step(0, STRANGE)))
    asyncio.run(journal.add_step(reading.id, step(1, "next", before=STRANGE)))
    asyncio.run(journal.add_step(reading.id, step(2, "last", before=STRANGE + "of another way")))
    found = journal.reading(reading.id)
    assert found.steps[0].after.text == STRANGE
    assert found.steps[0].conversation.reply.text == STRANGE + "!"
    assert [done.before.text for done in found.steps] == ["", STRANGE, STRANGE + "of another way"]


def test_a_reading_is_found_by_the_beginning_of_its_name_or_as_the_last(journal):
    kept = journal.keep(MILL)
    for name in ("aaa1", "aab2", "bbb3"):
        journal.begin(Reading(id=name, document=kept.info, question="?", plan=PLAN, model="m"))
    assert journal.reading("bb").id == journal.reading("last").id == "bbb3"
    with pytest.raises(JournalError, match="aab2, aaa1"):
        journal.reading("aa")
    for absent in ("zz", "", "%", "a_a"):
        with pytest.raises(JournalError, match="no reading"):
            journal.reading(absent)
    assert journal.reading("aaa1").created, "the day of a reading is always known"


def test_readings_are_listed_newest_first_and_can_be_searched(journal):
    kept = journal.keep(MILL)
    for name, question in (("a1", "Wo steht die MÜHLE?"), ("b2", "書輪?"), ("c3", "Any%?")):
        journal.begin(Reading(id=name, document=kept.info, question=question, plan=PLAN, model="m"))
    assert [reading.id for reading in journal.readings()] == ["c3", "b2", "a1"]
    assert [reading.id for reading in journal.readings(limit=2)] == ["c3", "b2"]
    assert [reading.id for reading in journal.readings(search="mühle")] == ["a1"]
    assert [reading.id for reading in journal.readings(search="書")] == ["b2"]
    assert [reading.id for reading in journal.readings(search="%")] == ["c3"]
    assert len(journal.readings(search="A.PDF")) == 3


def test_a_fork_has_the_edited_memory_and_leaves_the_old_reading(journal):
    old = asyncio.run(carried_out(journal, begun(journal), MILL, ScriptedModel(keyword_reader)))
    memory = Memory(text="by hand", tokens=2, limit=60)
    new = journal.fork(old.id, 1, memory)
    kept = journal.reading(new.id)
    assert kept == new
    assert journal.reading(old.id) == without_prompts(old)
    assert (kept.parent, kept.status, kept.answer) == (old.id, Status.READING, None)
    assert kept.steps[:1] == without_prompts(old).steps[:1]
    assert kept.steps[1].after == memory
    assert Flag.EDITED in kept.steps[1].flags
    resumed = asyncio.run(carried_out(journal, kept, journal.document_of(kept.id), ScriptedModel(keyword_reader)))
    assert resumed.steps[2].before == memory
    assert [done.chunk.end for done in resumed.steps] == [done.chunk.end for done in old.steps]
    for step_number in (-1, len(old.steps)):
        with pytest.raises(JournalError, match="no step"):
            journal.fork(old.id, step_number, memory)


def test_a_deleted_reading_takes_its_document_along_unless_another_needs_it(journal):
    first, second = begun(journal), begun(journal)
    asyncio.run(journal.add_step(first.id, step(0)))
    journal.delete(first.id)
    assert (count(journal, "steps"), count(journal, "texts")) == (0, 1)
    assert journal.document_of(second.id).slice(0, 8) == "The mill"
    unread = journal.keep(Sheets("about to be read", name="x"))
    journal.delete(second.id)
    assert count(journal, "texts") == 1
    assert unread.slice(0, 5) == "about"
    with pytest.raises(JournalError, match="no document"):
        journal.document(first.document.id)


def test_a_reading_needs_its_document_and_a_new_name(journal):
    reading = begun(journal)
    with pytest.raises(JournalError, match="already"):
        journal.begin(reading)
    lost = replace(reading, id="other", document=DocumentInfo(id="0" * 64, name="?", length=1))
    with pytest.raises(JournalError, match="keep it"):
        journal.begin(lost)
    with pytest.raises(JournalError, match="begin it"):
        asyncio.run(journal.add_step("other", step(0)))
    with pytest.raises(JournalError, match="begin it"):
        asyncio.run(journal.end(lost))


def test_a_closed_journal_says_so(tmp_path):
    journal = Journal(tmp_path / "j.sqlite")
    reading = begun(journal)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        asyncio.run(journal.add_step(reading.id, step(0)))
    with pytest.raises(JournalError, match="closed"):
        journal.readings()


def test_a_journal_of_a_newer_bookwheel_is_refused_by_both_versions(journal):
    with sqlite3.connect(journal.path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(JournalError, match=f"version 99 .* up to {len(schema.MIGRATIONS)}.*--journal"):
        Journal(journal.path)


def test_an_older_journal_is_brought_up_to_date_with_all_that_is_in_it(journal, monkeypatch):
    reading = begun(journal)
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, "ALTER TABLE readings ADD COLUMN shelf TEXT;"])
    with Journal(journal.path) as newer:
        assert newer.reading(reading.id).question == QUESTION
    with sqlite3.connect(journal.path) as other:
        assert other.execute("PRAGMA user_version").fetchone()[0] == 2
        assert other.execute("SELECT shelf FROM readings").fetchall() == [(None,)]
    other.close()


def test_what_is_no_journal_is_not_written_to(tmp_path):
    notes = tmp_path / "notes.sqlite"
    notes.write_text("these are my notes, dear to me, and no database at all " * 30)
    with pytest.raises(JournalError, match="--journal"):
        Journal(notes)
    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()
    with pytest.raises(JournalError, match="something else"):
        Journal(tmp_path / "other.sqlite")
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


FULL = """
import asyncio, resource, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_journal import begun, step
from bookwheel.errors import JournalError
from bookwheel.journal import Journal
journal = Journal(Path({path!r}))
reading = begun(journal)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
kept = 0
try:
    for index in range(1000):
        asyncio.run(journal.add_step(reading.id, step(index, "note " * 2000)))
        kept += 1
except JournalError as error:
    print(kept, error)
"""


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
    reading = begun(journal)
    journal._writer.write_now(lambda connection: connection.execute("PRAGMA max_page_count = 60").fetchall())

    async def fill():
        for index in range(100):
            await journal.add_step(reading.id, step(index, "note " * 2000))

    with pytest.raises(JournalError, match=r"full.*--journal FILE"):
        asyncio.run(fill())
    kept = journal.progress(reading.id)[0]
    assert kept > 0
    journal._writer.write_now(lambda connection: connection.execute("PRAGMA max_page_count = 60000").fetchall())
    asyncio.run(journal.add_step(reading.id, step(kept, "note " * 2000)))
    assert journal.progress(reading.id)[0] == kept + 1


def _write_steps(path, name, numbers, outcomes):
    with Journal(Path(path)) as journal:
        done = 0
        for index in numbers:
            try:
                asyncio.run(journal.add_step(name, step(index)))
                done += 1
            except JournalError:
                continue
        outcomes.put(done)


@pytest.mark.slow
def test_two_processes_neither_corrupt_nor_duplicate(journal):
    reading, apart = begun(journal), [begun(journal), begun(journal)]
    spawn = multiprocessing.get_context("spawn")
    outcomes = spawn.Queue()
    both = [
        spawn.Process(target=_write_steps, args=(str(journal.path), reading.id, range(40), outcomes)) for _ in range(2)
    ]
    for process in both:
        process.start()
    mine = spawn.Queue()
    _write_steps(journal.path, apart[0].id, range(40), mine)
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]
    assert outcomes.get(timeout=60) + outcomes.get(timeout=60) == 40
    assert mine.get(timeout=60) == 40
    assert [done.chunk.index for done in journal.steps(reading.id)] == list(range(40))
    assert journal._reader.one("PRAGMA integrity_check") == ("ok",)
    mine.close()
    outcomes.close()
    for process in both:
        process.close()


WRITE = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_journal import step
from bookwheel.journal import Journal
async def write():
    with Journal(Path({path!r})) as journal:
        for index in range(100_000):
            await journal.add_step({name!r}, step(index))
            print(index, flush=True)
asyncio.run(write())
"""


def test_a_process_that_is_killed_loses_no_step_that_it_was_told_of(journal):
    reading = begun(journal)
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


def test_the_journal_can_be_read_while_it_is_written(journal):
    reading, seen = begun(journal), []

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


def test_a_journal_that_is_only_looked_at_is_never_written_to(tmp_path):
    path = tmp_path / "kept" / "journal.sqlite"
    with pytest.raises(JournalError):
        Journal(path, read_only=True).readings()
    assert not path.parent.exists()
    with Journal(path) as journal:
        begun(journal)
    before = {one.name: one.read_bytes() for one in path.parent.iterdir() if one.is_file()}
    with Journal(path, read_only=True) as looked:
        (reading,) = looked.readings()
        assert looked.document_of(reading.id).length == reading.document.length
        with pytest.raises(JournalError, match="readonly"):
            looked.begin(replace(reading, id="another"))
    assert {one.name: one.read_bytes() for one in path.parent.iterdir() if one.is_file()} == before


def test_a_look_sees_what_another_process_has_just_written(tmp_path):
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:
        begun(journal)
        with Journal(path, read_only=True) as looked:
            assert len(looked.readings()) == 1


def test_a_database_of_something_else_is_not_looked_at(tmp_path):
    sqlite3.connect(tmp_path / "other.sqlite").execute("CREATE TABLE readings (id)").connection.close()
    with pytest.raises(JournalError, match="no journal of this version"):
        Journal(tmp_path / "other.sqlite", read_only=True).readings()
