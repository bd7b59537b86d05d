"""A lasting memory reads what is new, and never the old again."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bookwheel.errors import BudgetReached, InputError, Rejected
from bookwheel.flags import Flag
from bookwheel.journal.memory_rows import MemoryLimits
from bookwheel.memory.append import append, read_waiting
from bookwheel.memory.opened import begin_memory, open_memory

pytestmark = pytest.mark.anyio


async def test_an_append_costs_the_same_at_any_length(session, begin):
    opened = await begin(session)
    calls = []
    for number in range(30):
        before = session.model.calls
        await append(opened, f"key{number % 7} = {number}", source=f"mail-{number}")
        calls.append(session.model.calls - before)
    assert set(calls) == {1}
    assert "key6 = 27" in opened.newest().memory.text


async def test_a_long_text_is_read_in_pieces_that_each_have_its_header(session, begin):
    opened = await begin(session)
    update = await append(
        opened, "\n".join(f"k{n} = {n}" for n in range(90)), source="log", at="2026-05-01T09:00+02:00"
    )
    assert len(update.versions) > 2
    assert "[log · 2026-05-01T09:00:00+02:00]" in session.model.last_messages[-1].content
    spans = [(version.start, version.end) for version in update.versions]
    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]


async def test_the_same_text_of_the_same_source_is_told_and_not_read_again(session, begin):
    opened = await begin(session)
    await append(opened, "a = 1", source="one")
    calls = session.model.calls
    assert (await append(opened, "a = 1", source="one")).is_known
    assert session.model.calls == calls
    assert not (await append(opened, "a = 1", source="two")).is_known


async def test_two_writers_take_turns_and_lose_nothing(session, begin):
    await begin(session)
    one, two = open_memory(session, "ada"), open_memory(session, "ada")
    await asyncio.gather(*(append(at, f"k{n} = {n}", source=f"s{n}") for n, at in enumerate([one, two] * 6)))
    versions = one.tables.list_versions(one.record.number, 60)
    assert [version.text for version in versions] == [*range(1, 13)]


async def test_a_failure_keeps_the_text_and_the_next_append_reads_it_first(make_session, begin):
    session = make_session(faults={0: Rejected("no")})
    opened = await begin(session)
    with pytest.raises(Rejected):
        await append(opened, "a = 1", source="one")
    update = await append(opened, "b = 2", source="two")
    assert update.after.memory.text == "a = 1\nb = 2"


async def test_a_late_text_is_flagged(session, begin):
    opened = await begin(session)
    await append(opened, "a = 2", source="new", at="2026-05-02")
    update = await append(opened, "a = 1", source="old", at="2026-05-01")
    assert update.text
    assert update.text.is_late


async def test_a_full_memory_is_said(session, begin):
    opened = await begin(session)
    update = await append(opened, "\n".join(f"key{n} = {n}" for n in range(25)), source="much")
    update = await append(opened, "\n".join(f"word{n} = {n}" for n in range(25)), source="more")
    assert update.gaps
    assert {Flag.TRUNCATED, Flag.TRIMMED} & set(update.gaps[0].flags)


async def test_an_update_says_how_many_pieces_were_read_and_which_lines_differ(session, begin):
    opened = await begin(session)
    await append(opened, "room = 12\ncat = Mo", source="mail-1")
    update = await append(opened, "room = 31", source="mail-2")
    assert update.steps == 1
    assert [(str(line.kind), line.old_text, line.text) for line in update.changes] == [
        ("reworded", "room = 12", "room = 31")
    ]


async def test_limits_hold_for_a_memory_and_a_day(session, begin):
    opened = await begin(session, limits=MemoryLimits(max_characters=10, max_tokens_per_day=50))
    await append(opened, "a = 1", source="one")
    with pytest.raises(InputError, match="may hold 10 characters"):
        await append(opened, "b = 2222", source="two")
    with pytest.raises(BudgetReached, match="of today"):
        await append(opened, "b = 2", source="two")


async def test_what_waits_is_read_without_a_new_text(make_session, begin):
    session = make_session(faults={0: Rejected("no")})
    opened = await begin(session)
    with pytest.raises(Rejected):
        await append(opened, "a = 1", source="one")
    assert (await read_waiting(opened)).after.memory.text == "a = 1"


@pytest.mark.parametrize("way", ["bm25", "whole", "ranked", "early-exit"])
async def test_a_way_that_does_not_go_on_is_refused(session, way):
    with pytest.raises(InputError):
        await begin_memory(session, "ada", "Ada", session.model.plan, way=way)


async def test_a_session_without_a_journal_says_which_memory_it_cannot_have(session):
    bare = replace(session, journal=None)
    with pytest.raises(InputError, match="no journal for memory 'ada'; open the session with one"):
        await begin_memory(bare, "ada", "Ada", session.model.plan)
    with pytest.raises(InputError, match="no journal for memory 'ada'"):
        open_memory(bare, "ada")


async def test_edits_go_on_from_the_newest_memory_too(make_session, begin):
    session = make_session(script=lambda _messages: "ADD: a fact")
    opened = await begin(session, way="edits")
    assert (await append(opened, "some words", source="one")).after.memory.text == "a fact"
    assert (await append(opened, "more words", source="two")).after.memory.text == "a fact"


async def test_what_comes_back_on_another_day_is_no_repetition(session, begin):
    opened = await begin(session)
    for day, dose in (("01-01", 5), ("01-24", 10), ("02-07", 5)):
        update = await append(opened, f"dose = {dose}", source="pharmacy", at=f"2026-{day}")
        assert not update.is_known
    assert opened.newest().memory.text == "dose = 5"
    assert (await append(opened, "dose = 5", source="pharmacy", at="2026-02-07")).is_known
    assert (await append(opened, "dose = 5", source="pharmacy")).is_known
