"""A question goes to the memory first, and to the texts where the memory does not bear the answer out."""

from __future__ import annotations

import pytest

from bookwheel.memory.append import append
from bookwheel.memory.asking import ask

pytestmark = pytest.mark.anyio


async def test_the_memory_answers_what_it_knows(session, begin):
    opened = await begin(session)
    await append(opened, "room = 12", source="mail-1", at="2026-01-01")
    answer = await ask(opened, "room?")
    assert (answer.answer, answer.origin, answer.version) == ("room = 12", "memory", 1)
    (quote,) = answer.evidence
    assert (quote.quote.strip(), quote.source, quote.at[:10]) == ("room = 12", "mail-1", "2026-01-01")


async def test_what_the_memory_does_not_know_is_looked_up_in_the_texts(session, begin):
    opened = await begin(session)
    await append(opened, "room = 12\nThe gate of the yard is painted green.", source="mail-1")
    answer = await ask(opened, "What colour is the gate of the yard?")
    assert answer.origin == "texts"


async def test_older_values_are_superseded_and_as_of_goes_back(session, begin):
    opened = await begin(session)
    for day, room in (("01", "12"), ("02", "31"), ("03", "44")):
        await append(opened, f"room = {room}", source=f"mail-{day}", at=f"2026-01-{day}T12:00+00:00")
    answer = await ask(opened, "room?")
    assert answer.answer == "room = 44"
    assert [quote.quote for quote in answer.superseded] == ["room = 31", "room = 12"]
    then = await ask(opened, "room?", as_of="2026-01-02T13:00+00:00")
    assert (then.answer, then.version) == ("room = 31", 2)


async def test_an_empty_memory_says_so(session, begin):
    answer = await ask(await begin(session), "room?")
    assert answer.origin == "memory"
    assert not answer.claims


async def test_answers_are_kept(session, begin):
    opened = await begin(session)
    await append(opened, "room = 12", source="mail-1")
    await ask(opened, "room?")
    assert [one["answer"] for one in opened.tables.list_answers(opened.record.number)] == ["room = 12"]
