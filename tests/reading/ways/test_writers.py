"""A note is kept letter by letter as the model wrote it, whatever numbers stand in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.reading.ways.edits import apply_edits, parse_edits

NOTES = "The lamp is green.\nThe clock is wound on Fridays."
WORDS = st.lists(
    st.one_of(
        st.integers(0, 9999).map(str), st.sampled_from(["lamp", "£14,500)", "in 1588.", "(12)", "3、", "Lot 37."])
    ),
    min_size=1,
    max_size=8,
)


def write(reply: str, memory: str = NOTES) -> str:
    edits, others = parse_edits(reply)
    assert not others
    return apply_edits(memory, edits)[0]


@pytest.mark.parametrize(
    "note",
    [
        "Lot 4 (Guide £14,500) and Lot 5 share a drive.",
        "Lot 37. Old fire station: Guide £175,000. A survey found a lean of 11 cm.",
        "The mill was built in 1588. Later it burned.",
        "9. März 1912: die Lampe brennt wieder.",
        "1911. The lamp was lit.",
        "鐘樓建於1588、1602 及 1640 年。",
    ],
)
def test_numbers_of_a_note_stay_in_it(note: str) -> None:
    assert write(f"ADD: {note}") == f"{NOTES}\n{note}"
    assert write(f"REPLACE 2: {note}").splitlines()[1] == note


@pytest.mark.parametrize(
    ("reply", "lines"),
    [
        ("REPLACE 2: 2. It is wound daily.\nADD: 3. Rain.\nADD: 4) Snow.", [0, "It is wound daily.", "Rain.", "Snow."]),
        ("ADD: 2. The clock is wound on Fridays.", [0, 1]),
        ("ADD: 1. Rain.\nADD: 2. Snow.", [0, 1, "Rain.", "Snow."]),
        ("DROP 2\nADD: 2. Rain.", [0, "Rain."]),
        ("ADD: 3. March 1911 was cold.", [0, 1, "3. March 1911 was cold."]),
    ],
)
def test_the_number_that_a_line_is_shown_with_is_no_part_of_it(reply: str, lines: list[int | str]) -> None:
    known = NOTES.splitlines()
    assert write(reply).splitlines() == [known[line] if isinstance(line, int) else line for line in lines]


@pytest.mark.parametrize("form", ["1. ADD: {}", "**ADD:** {}", "**ADD**: {}", "- ADD: {}", "2) `ADD`: {}", "add: {}"])
def test_a_change_may_be_numbered_or_dressed(form: str) -> None:
    assert write(form.format("Rain.")).splitlines()[-1] == "Rain."
    assert (
        write(form.replace("ADD", "REPLACE 1").replace("add", "replace 1").format("Rain.")).splitlines()[0] == "Rain."
    )


@pytest.mark.parametrize(
    ("reply", "lines"),
    [
        (
            "REPLACE 1: The lamp is red, and\nits oil is colza,\nas of old.\nADD: Rain.",
            ["The lamp is red, and its oil is colza, as of old.", 1, "Rain."],
        ),
        ("REPLACE 1 with: The lamp is red.\nDelete 2.", ["The lamp is red."]),
        ("DROP 2 (no longer needed)\nADD: Rain.", [0, "Rain."]),
        ("REPLACE 1-2: Lamp green, clock wound.", ["Lamp green, clock wound."]),
        ("DROP lines 1 and 2\nADD: Rain.", ["Rain."]),
        ("REPLACE 7: The lamp is red.", [0, 1, "The lamp is red."]),
        ("REPLACE 1: Red.\nREPLACE 1: It burns colza.", ["Red.", 1, "It burns colza."]),
    ],
)
def test_what_a_change_says_is_lost_in_no_form_of_it(reply: str, lines: list[int | str]) -> None:
    known = NOTES.splitlines()
    assert write(reply).splitlines() == [known[line] if isinstance(line, int) else line for line in lines]


def test_a_line_behind_a_whole_sentence_is_no_part_of_it() -> None:
    assert parse_edits("ADD: Rain.\nand so on")[1] == 1
    assert parse_edits("ADD: Rain\n\nand so on")[1] == 1


def test_changes_in_other_usual_words_are_made() -> None:
    reply = "新增：a\n修改1：b\n补充：c\n替换第三行：d\n将第4行替换为：e\n删去5\nUPDATE 6: f\nremove 7\n添加：更新 2: g"
    edits, others = parse_edits(reply)
    assert others == 0
    assert [(str(one.kind)[0], one.line, one.text) for one in edits] == [
        *(("a", 0, "a"), ("r", 1, "b"), ("a", 0, "c"), ("r", 3, "d"), ("r", 4, "e"), ("d", 5, "")),
        *(("r", 6, "f"), ("d", 7, ""), ("a", 0, "更新 2: g")),
    ]


@given(WORDS)
def test_whatever_is_added_is_the_last_line(words: list[str]) -> None:
    note = f"Note {' '.join(words)}"
    assert write(f"ADD: {note}").splitlines()[-1] == note
