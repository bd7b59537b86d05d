"""Lines that have no room in the memory come back where they are needed, also after a kill."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

from bookwheel import TextDocument, acollect, aresume
from bookwheel.errors import ModelError
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.tables.api import load_table
from bookwheel.tables.carried import WaitingLines
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Memory

PLAN = Plan(chunk_tokens=200, memory_tokens=60, answer_tokens=100, question_tokens=100)
CALLED = re.compile(r"(Person [A-Z]+) is called Tenant (\d+)\b")
PAYS = re.compile(r"Tenant (\d+) pays (\d+) crowns\.")
PEOPLE = 40
FILLER = "The wind rose from the west, and the boats stayed in.\n" * 8


def name(number: int) -> str:
    return "Person " + "".join("ABCDEFGHIJ"[int(digit)] for digit in f"{number:03d}")


def write_document() -> str:
    names = "".join(f"{name(n)} is called Tenant {n}.\n" for n in range(PEOPLE))
    return names + "".join(f"Tenant {n} pays {1000 + n} crowns.\n{FILLER}" for n in range(PEOPLE))


def extract(messages) -> str:
    """Write what the section says, with the names that memory and section have; keep all of these names."""
    text = messages[0].content
    memory = text.partition("<memory>\n")[2].partition("\n</memory>")[0]
    section = text.partition("<section>\n")[2].partition("\n</section>")[0]
    known = {number: who for who, number in CALLED.findall(f"{memory}\n{section}")}
    rows = [
        {"who": known.get(found[1], f"Tenant {found[1]}"), "amount": f"{found[2]} crowns", "quote": found[0]}
        for found in PAYS.finditer(section)
    ]
    lines = [f"{who} is called Tenant {number}" for number, who in known.items()]
    return json.dumps({"rows": rows, "memory": "\n".join(lines)})


def make_model(dies_after: int | None = None) -> ScriptedModel:
    calls = 0

    def reply(messages) -> str:
        nonlocal calls
        calls += 1
        if dies_after is not None and calls > dies_after:
            raise ModelError("gone")
        return extract(messages)

    return ScriptedModel(reply, plan=PLAN, window=1200)


def check(table) -> None:
    assert [row.cells for row in table.rows] == [(name(n), f"{1000 + n} crowns") for n in range(PEOPLE)]
    assert all(row.is_proven for row in table.rows)
    assert all(step.after.tokens <= PLAN.memory_tokens for step in table.reading.steps)
    assert table.reading.gaps == ()
    assert any("came back" in note for note in table.list_notes())


def test_names_that_the_memory_has_no_room_for_are_known_where_they_are_needed(tmp_path: Path) -> None:
    document = TextDocument(write_document())
    check(asyncio.run(acollect(document, "every payment: who, amount", model=make_model(), journal=tmp_path / "j")))


def test_a_reading_that_goes_on_knows_what_waited(tmp_path: Path) -> None:
    journal, document = tmp_path / "j", TextDocument(write_document())

    async def main() -> None:
        model = make_model(3)
        await acollect(document, "every payment: who, amount", model=model, journal=journal, patience=0)
        await aresume("last", model=make_model(), journal=journal)

    asyncio.run(main())
    check(load_table("last", journal=journal))


def test_new_lines_stay_and_the_oldest_wait() -> None:
    waiting = WaitingLines(tokenizer=WordTokenizer())
    given = "old one two three\nold four five six"
    memory = waiting.keep(f"{given}\nnew seven eight nine", given, 9)
    assert memory.text.splitlines() == ["old four five six", "new seven eight nine"]
    assert memory.tokens <= 9
    back = waiting.recall(memory, "It has one and two and three.")
    assert "old one two three" in back.text.splitlines()
    assert waiting.recall(Memory.blank(9), "Nothing of that.").text == ""


def test_what_fits_is_left_as_it_was_written() -> None:
    waiting = WaitingLines(tokenizer=WordTokenizer())
    assert waiting.keep("  a b\n\nc", "", 10).text == "  a b\n\nc"
    assert waiting.recall(Memory.blank(10), "a b c").text == ""
