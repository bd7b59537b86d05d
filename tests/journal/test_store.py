"""A reading comes back as it was, and can be resumed, found, forked and deleted."""

import asyncio
import sqlite3
from dataclasses import replace

import pytest
from journal_readings import (
    MILL,
    PLAN,
    STRANGE,
    Sheets,
    begin_reading,
    count_rows,
    drop_prompts,
    read_to_end,
    step,
)

from bookwheel.errors import JournalError
from bookwheel.flags import Flag
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.types import Answer, Conversation, DocumentInfo, Memory, Reading, Reply, Status


def test_a_whole_reading_comes_back_as_it_was(journal):
    reading = asyncio.run(read_to_end(journal, begin_reading(journal), MILL, ScriptedModel(keyword_reader)))
    assert len(reading.steps) > 3
    assert journal.reading(reading.id) == drop_prompts(reading)
    assert list(journal.steps("last")) == list(drop_prompts(reading).steps)
    assert journal.progress("last") == (len(reading.steps), MILL.length)


def test_a_killed_reading_goes_on_where_it_was_and_ends_the_same(journal):
    whole = asyncio.run(read_to_end(journal, begin_reading(journal), MILL, ScriptedModel(keyword_reader)))
    broken = ScriptedModel(keyword_reader, faults={2: RuntimeError("the lights went out")})
    with pytest.raises(RuntimeError):
        asyncio.run(read_to_end(journal, begin_reading(journal), MILL, broken))
    half = journal.reading("last")
    assert len(half.steps) == 2
    assert half.usage.calls == 2, "a reading that never came to its end knows what it cost"
    model = ScriptedModel(keyword_reader)
    resumed = asyncio.run(read_to_end(journal, half, journal.document_of(half.id), model))
    assert model.calls == len(whole.steps) + 1 - 2
    assert [done.after for done in resumed.steps] == [done.after for done in whole.steps]
    assert journal.reading(half.id).steps == drop_prompts(resumed).steps


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
    old = asyncio.run(read_to_end(journal, begin_reading(journal), MILL, ScriptedModel(keyword_reader)))
    memory = Memory(text="by hand", tokens=2, limit=60)
    new = journal.fork(old.id, 1, memory)
    kept = journal.reading(new.id)
    assert kept == new
    assert journal.reading(old.id) == drop_prompts(old)
    assert (kept.parent, kept.status, kept.answer) == (old.id, Status.READING, None)
    assert kept.steps[:1] == drop_prompts(old).steps[:1]
    assert kept.steps[1].after == memory
    assert Flag.EDITED in kept.steps[1].flags
    resumed = asyncio.run(read_to_end(journal, kept, journal.document_of(kept.id), ScriptedModel(keyword_reader)))
    assert resumed.steps[2].before == memory
    assert [done.chunk.end for done in resumed.steps] == [done.chunk.end for done in old.steps]
    # The calls of the two steps that it took over were the old one's.
    assert resumed.usage.calls == old.usage.calls - 2
    for step_number in (-1, len(old.steps)):
        with pytest.raises(JournalError, match="no step"):
            journal.fork(old.id, step_number, memory)


def test_a_reading_needs_its_document_and_a_new_name(journal):
    reading = begin_reading(journal)
    with pytest.raises(JournalError, match="already"):
        journal.begin(reading)
    lost = replace(reading, id="other", document=DocumentInfo(id="0" * 64, name="?", length=1))
    with pytest.raises(JournalError, match=r"keep\(\)"):
        journal.begin(lost)
    with pytest.raises(JournalError, match="begin it"):
        asyncio.run(journal.add_step("other", step(0)))
    with pytest.raises(JournalError, match="begin it"):
        asyncio.run(journal.end(lost))


def test_a_list_goes_on_behind_a_reading_and_fills_its_pages_past_damaged_ones(journal):
    ids = [begin_reading(journal).id for _ in range(9)][::-1]
    assert [reading.id for reading in journal.readings(before=ids[2], limit=3)] == ids[3:6]
    assert [reading.id for reading in journal.readings(before=ids[8])] == []
    assert [reading.id for reading in journal.readings(limit=3, offset=3)] == ids[3:6]
    with sqlite3.connect(journal.path) as other:
        other.execute("UPDATE readings SET checksum = 0 WHERE id IN (?, ?)", (ids[4], ids[5]))
    other.close()
    assert [reading.id for reading in journal.readings(before=ids[2], limit=3)] == [ids[3], ids[6], ids[7]]
    assert [reading.id for reading in journal.readings(limit=3, offset=3)] == [ids[3], ids[6], ids[7]]
    assert [reading.id for reading in journal.readings()] == [*ids[:4], *ids[6:]]
    with pytest.raises(JournalError, match="no reading 'gone'"):
        journal.readings(before="gone")


def test_a_search_takes_any_case_and_script_and_what_is_no_text(journal):
    begin_reading(journal, Sheets("words", name="STRASSE \ud800 書"))
    assert [len(journal.readings(search=words)) for words in ("straße", "\ud800 書", "SIGNED", "mill?x", "")] == [
        1,
        1,
        1,
        0,
        1,
    ]


def test_unread_documents_go_after_a_day_or_at_once_with_all(journal):
    read = begin_reading(journal).document.id
    journal.keep(Sheets("new", name="new"))
    old = journal.keep(Sheets("old", name="old"))
    with sqlite3.connect(journal.path) as other:
        other.execute("UPDATE texts SET kept = '2026-01-01T00:00:00.000Z' WHERE sha256 = ?", (old.id,))
    other.close()
    journal.delete_unread()
    assert count_rows(journal, "texts") == 2
    journal.delete_unread(all_=True)
    assert count_rows(journal, "texts") == 1
    assert journal.document(read).length


def test_an_answer_keeps_the_passage_that_it_is_taken_from(journal):
    reading = begin_reading(journal)
    said = Conversation(messages=(), reply=Reply(text="Ada"))
    ended = replace(reading, status=Status.ANSWERED, answer=Answer(text="Ada", conversation=said, passage=STRANGE))
    asyncio.run(journal.end(ended))
    assert journal.reading(reading.id) == ended


def test_an_ambiguous_beginning_names_three(journal):
    for end in "abcd":
        journal.begin(replace(begin_reading(journal), id=f"same{end}"))
    with pytest.raises(JournalError, match="more than one reading: samed, samec, sameb, …;"):
        journal.reading("same")
