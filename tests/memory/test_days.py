"""The day that a text tells of itself."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from bookwheel import LastingMemory
from bookwheel.documents.opening import open_document
from bookwheel.memory.days import find_head_day, list_day_lines
from bookwheel.memory.entries import NewFile, split_file

DIARY = """Notebook of Nora

3 January 2020
Felix has a fever of 39.4.

### Saturday, 11 January 2020

The flat of Greta costs 980 euros.

22 May 2020
The flat of Greta costs 890 euros. Since 11 January 2020 nobody came.
"""


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("Minutes of the owners\nDate: Tuesday, 14 May 2024, 19:00, at the Ratskeller\nPresent: all\n", "2024-05-14"),
        ("Protokoll\nDatum: Dienstag, den 14. Mai 2024\n", "2024-05-14"),
        ("Lübeck, 10 January 2016\n\nDear Mother,\n", "2016-01-10"),
        ("===== a.txt =====\n5 Nov 2017\n\nNora,\n", "2017-11-05"),
        ("2024年5月3日\n大家好\n", "2024-05-03"),
        ("会议纪要\n日期：2024年5月14日\n屋顶。", "2024-05-14"),
        ("The roof was mended on 14 May 2024.\n", None),
        ("Margaret Ellis, 4 June 1960\nborn in Whitby.\n", None),
        ("Birthday: 4 June 1960\n", None),
        ("Valid from 1 January 2024\n", None),
        ("In force:\n1 January 2024\nuntil\n1 January 2025\n", None),
        ("Line\n" * 9 + "5 Nov 2017\n", None),
    ],
)
def test_a_day_in_the_head_of_a_text_is_its_own(words, day) -> None:
    assert find_head_day(words) == day


def test_a_day_to_come_is_of_no_text() -> None:
    coming = datetime.now().astimezone().date() + timedelta(days=1)
    assert find_head_day(f"{coming}\n") is None
    assert list_day_lines(f"{DIARY}\n{coming}\nThe van comes.\n") == []


def test_a_month_of_several_languages_makes_one_day() -> None:
    days = [f"{day}\nNo rain.\n\n" for day in ("6 April 2020", "1 September 2020", "14 November 2020")]
    assert [day for _, day in list_day_lines("".join(days))] == ["2020-04-06", "2020-09-01", "2020-11-14"]


def test_dates_in_no_order_make_no_diary() -> None:
    assert list_day_lines(DIARY.replace("22 May", "8 January")) == []
    assert list_day_lines(DIARY.partition("22 May")[0]) == []
    assert [day for _, day in list_day_lines(DIARY)] == ["2020-01-03", "2020-01-11", "2020-05-22"]


def test_a_diary_is_known_day_by_day(tmp_path) -> None:
    (tmp_path / "diary.txt").write_text(DIARY)
    memory = LastingMemory("nora", about="The flat of Greta", model="scripted", journal=tmp_path / "j.sqlite")
    update = memory.read(tmp_path / "diary.txt")
    assert (update.steps, update.text.at[:10], update.notes) == (1, "2020-05-22", ())
    question = "What does the flat of Greta cost?"
    assert "890" in memory.ask(question).answer
    then = memory.ask(question, as_of="2020-02-01")
    assert ("980" in then.answer, then.evidence[0].at[:10]) == (True, "2020-01-11")
    assert memory.ask(question, as_of="2020-01-04").verdict == "absent"


def test_a_file_without_a_day_is_named(tmp_path) -> None:
    (tmp_path / "will.txt").write_text("I leave the house to Nora.\n")
    memory = LastingMemory("nora", about="The house", model="scripted", journal=tmp_path / "j.sqlite")
    assert "no day of its own" in memory.read(tmp_path / "will.txt", source="will.txt").notes[0]
    assert not memory.read(tmp_path / "will.txt", source="old.txt", at="2014-03-02").notes


def test_a_chat_with_its_dates_in_words_is_read_message_by_message(tmp_path) -> None:
    said = ("Bo  8 May 2023, 13:56\nHello.", "Ada  May 9, 2023 at 1:58 PM\nHow was it?", "Bo  9 May 2023, 13:59\nFine.")
    (tmp_path / "signal.txt").write_text("Signal chat with Ada\n\n" + "\n\n".join(said) + "\n")
    parts = tuple(open_document([tmp_path / "signal.txt"]).parts())
    (text,) = split_file(NewFile(parts=parts, name="signal.txt", named="signal.txt"))
    assert text.at == "2023-05-09 13:59"
    assert "[2023-05-09 13:58] Ada: How was it?" in text.words
