"""Whose words are whose in a talk."""

from __future__ import annotations

import pytest

from bookwheel.memory.speakers import find_turn, is_named, keep_spans, list_speakers

TALK = """== Session 3 ==
Ilse: I saw my doctor today.
Dorian: By the way, my doctor is called Naicksteand.
Dorian: Ilse's doctor was here.
Dorian: I met him at your place.
Dorian: I have another doctor, who is called Orm.
Ilse: You told me that your doctor is called Naicksteand.
Dorian: I should tell you that my doctor is called Vix.
The door was shut.
"""


def left(question: str, text: str = TALK) -> str:
    return "".join(text[start:end] for start, end in keep_spans(text, question, list_speakers([text])))


def test_who_speaks() -> None:
    assert list_speakers([TALK]) == {"Ilse", "Dorian"}
    assert find_turn(TALK, TALK.index("another doctor")) == ("Dorian", "")
    assert find_turn(TALK, TALK.index("The door")) == ("", "")


def test_turns_of_another_who_speaks_of_themselves_are_left_out() -> None:
    kept = left("What is the name of Ilse's doctor?")
    for gone in ("my doctor is called Naicksteand", "Orm", "Vix"):
        assert gone not in kept
    for stays in ("I saw my doctor", "Ilse's doctor was here", "I met him", "The door was shut", "your doctor"):
        assert stays in kept


@pytest.mark.parametrize("question", ["Who is the doctor?", "What is the name of Bo's doctor?", ""])
def test_where_no_speaker_is_asked_about_all_is_kept(question: str) -> None:
    assert left(question) == TALK


def test_chinese() -> None:
    talk = "叶明：对了，我的医生叫安平。\n高远：我的医生叫青石。\n高远：他来找过叶明。\n"
    assert left("叶明的医生叫什么名字？", talk) == talk.replace("高远：我的医生叫青石。", "")


@pytest.mark.parametrize("text", ["", "\n", "a: ", "12:30 noor: any deploys?", ":", "x" * 5000 + ": I"])
def test_what_is_no_talk_is_kept(text: str) -> None:
    assert left("Who is x's doctor?", text).strip() == text.strip()


def test_in_a_talk_with_times_a_turn_has_all_of_its_lines() -> None:
    talk = "[2026-05-04 08:15] Nkechi: Morning!\nNote: the shed is locked.\n\nThe key is in the pot.\n\n"
    talk += "[2026-05-04 08:31] Barnaby Stott: Lovely."
    for words in ("Morning", "Note: the shed", "The key"):
        assert find_turn(talk, talk.index(words)) == ("Nkechi", "2026-05-04 08:15")
    assert find_turn(talk, talk.index("Lovely")) == ("Barnaby Stott", "2026-05-04 08:31")


@pytest.mark.parametrize(
    ("who", "question", "named"),
    [
        ("Dorian", "Where is Dorian's boat?", True),
        ("Dr Oona Hennessy", "When does Oona come?", True),
        ("Concert hall", "Where is the hall?", False),
        ("静姝", "静姝的老师叫什么名字？", True),
        ("工长老郑", "老郑说哪天开工？", True),
        ("橱柜店小曾", "橱柜哪天来装？", False),
        ("本周起排练", "在哪儿排练？", False),
    ],
)
def test_a_speaker_is_named_by_a_name_and_by_no_common_word_of_a_label(who, question, named):
    assert is_named(who, question) is named
