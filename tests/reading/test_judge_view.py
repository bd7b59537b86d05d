"""What a judge is shown of a document that is too long to be shown whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading.judge_view import JudgeView
from bookwheel.reading.model_judge import make_judge
from bookwheel.verdict.judge import examine
from bookwheel.verdict.sources import PlacedParts

FILLING = "\n\n".join(f"## Note {number}\n\nIt rained on the moor, and nobody came to the hut." for number in range(60))
NAMES = ("Ada", "Bo", "Cy", "Dee", "Eve", "Fay", "Gus", "Hal", "Ida", "Jo", "Kim", "Lou", "Mia", "Ned", "Ola", "Pia")
ROWS = "\n".join(f"| {name} | {at + 20} kg |" for at, name in enumerate(NAMES[:7]))
TABLE = f"## Results\n\n| boat | catch |\n|---|---|\n{ROWS}"


def show(text: str, answer: str, question: str, room: int = 1500) -> str:
    document = TextDocument(text)
    (finding, *_) = examine(answer, question, PlacedParts(document))
    return JudgeView(document, room).show(finding, question)


def test_each_value_of_a_sentence_brings_a_passage_that_has_it():
    talk = "\n\n".join(f"The default of max attempts in production overrides what {name} says." for name in NAMES)
    text = f"Courier: max attempts is 5.\n\n{talk}\n\nIn production it is 8.\n\n{talk}\n\nKestrel has 4 of them."
    answer = "The default of max attempts is 5, production has 8, which overrides it, and Kestrel 4."
    shown = show(text, answer, "How often does the courier try?")
    assert all(one in shown for one in ("is 5.", "it is 8.", "Kestrel has 4"))
    assert len(shown) <= 1500


def test_a_row_comes_with_its_header_and_the_rows_beside_it():
    shown = show(f"{FILLING}\n\n{TABLE}\n\n{FILLING}", "The Ada brought in 20.", "Who caught most?")
    assert f"Results\n| boat | catch |\n{ROWS}" in shown


def test_what_the_question_asks_about_is_shown_though_nothing_of_the_sentence_is_found():
    later = "From July the doctor may bring his car on the first sailing."
    document, question = (
        TextDocument(f"{FILLING}\n\n{later}\n\n{FILLING}"),
        "May the doctor bring his car on a sailing?",
    )
    (finding,) = examine("No vehicles are carried.", question, PlacedParts(document))
    assert later in JudgeView(document, 1500).show(replace(finding, passages=(), near=()), question)


def test_passages_stand_in_order_below_their_headings_once():
    text = f"# Crew\n\nAda steers.\n\n{FILLING}\n\n# Boat\n\nThe boat is red. It was built in Riga.\n\nAda bought it."
    shown = show(text, "Ada steers the red boat from Riga.", "Who steers which boat?")
    assert shown.index("Crew\nAda steers.") < shown.index("Boat\nThe boat is red.")
    assert shown.count("Boat\n") == 1


def test_of_a_row_that_has_no_room_the_passages_alone_are_shown():
    long = "| Ada | " + "It rained on the moor. " * 900 + "The fee of Ada was 40 crowns. " + "It was dry. " * 900 + "|"
    for answer in ("The fee of Ada was 40 crowns.", "Nobody came."):
        shown = show(f"| name | notes |\n|---|---|\n{long}\n{long}\n", answer, "What was the fee of Ada?")
        assert len(shown.encode()) <= 1500
        assert "fee of Ada was 40" in shown or "Ada" not in answer


def test_small_sections_leave_the_room_of_section_and_memory():
    judge = make_judge("Who came?", ScriptedModel("Yes"), Plan(chunk_tokens=100, memory_tokens=900))
    assert JudgeView(TextDocument(FILLING[:2900]), judge.room).whole


CREW = "Ada steers the boat. Bo tars the nets. Cy mends the sail. Dee counts the fish. Eve sells them in Riga."


def test_a_sentence_that_two_passages_share_is_shown_once():
    shown = show(f"{FILLING}\n\n{CREW}\n\n{FILLING}", "Bo tars the nets and Dee counts the fish.", "Who does what?")
    assert CREW in shown


def test_a_passage_of_many_files_stands_below_the_name_of_its_own():
    files = (f"===== {name} =====\n{name.title()}\n\n{FILLING}\n\n# Claims\n\n{name} pays." for name in ("ada", "bo"))
    shown = show("\n\n".join(files), "Bo pays.", "Who pays?")
    assert "bo\nClaims\nbo pays." in shown
    assert "=====" not in shown


def test_what_has_one_word_of_sentence_and_question_together_is_shown_last():
    calls = "\n\n".join(f"{name} closes the book of sales at the mill." for name in NAMES)
    later = "They agree to put the closing back by a week."
    text = f"The sale of the mill closes on 14 August.\n\n{calls}\n\n{FILLING}\n\n{later}\n\n{FILLING}"
    assert later in show(text, "On 14 August.", "When does the sale of the mill close?", 4000)


WEATHER = "\n\n".join(
    f"{name} looked at the clouds and at the {what} in the harbour of the town."
    for what in ("boats", "birds", "lamps", "nets")
    for name in NAMES
)


def test_what_is_put_right_in_other_words_is_shown_with_the_sentence_before_as_far_as_there_is_room():
    later = "Tom has his hands full. Ines has taken that whole business off his plate."
    text = f"Tom Averill leads the safeguarding.\n\n{WEATHER}\n\n{later}\n\n{WEATHER}"
    shown = show(text, "Tom Averill.", "Who leads the safeguarding?", 2000)
    assert later in shown
    assert len(shown.encode()) <= 2000


def test_the_room_is_used():
    shown = show(f"The fee is 9 crowns.\n\n{WEATHER}", "9 crowns.", "What is the fee?", 3000)
    assert 2800 < len(shown.encode()) <= 3000


@pytest.mark.parametrize(
    ("passage", "answer", "question", "referring"),
    [
        (
            "4.5 Up to 12% of the grant may be used for overheads.",
            "Up to 12%.",
            "What of overheads?",
            "Clause 4.5: fifteen.",
        ),
        ("§ 6 Verwalterin ist Frau Kern.", "Frau Kern.", "Wer verwaltet das Haus?", "§ 6: Herr Adam."),
        ("第六条 管家为周小姐。", "周小姐。", "管家是谁？", "第六条：郑先生。"),
        (
            "B11 Car park for 22 cars[LF10]",
            "22 cars.",
            "For how many cars is the park?",
            "Comment [LF10]: Trees want four.",
        ),
        ("0020: a stool for the piano, 340.00", "Yes.", "Was the stool for the piano paid?", "Reversal of 0020."),
        ("The contractor allows £1,200.[^1]", "£1,200.", "What is allowed?", "[^1]: Waived."),
    ],
)
def test_what_names_the_clause_or_is_the_note_to_it_is_shown(passage, answer, question, referring):
    text = f"{passage}\n\n{WEATHER}\n\n{referring}\n\n{WEATHER}"
    assert referring in show(text, answer, question, 1200)


def test_words_of_a_mail_stand_below_who_sent_it_and_when():
    mail = "From: {}\nTo: all@desk.example\nDate: {} Feb 2025\nSubject: {}\n\n{}\n\n" + f"{WEATHER}\n\n"
    text = mail.format("Ada", 19, "Money", "Let us say 29 crowns.") + mail.format(
        "Bo", 3, "Fee", "The fee is 31 crowns."
    )
    shown = show(text, "31 crowns.", "What is the fee?", 1200)
    assert "From: Bo\nDate: 3 Feb 2025\n" in shown
    assert shown.index("Date: 19 Feb 2025") < shown.index("29 crowns") < shown.index("From: Bo")


def test_programs_and_settings_keep_their_lines_and_what_is_a_comment_there_stays_one():
    program = "RETRIES = 4\n# TIMEOUT = 30  # the old carrier\nTIMEOUT = 12\n\ndef wait(seconds):\n    sleep(seconds)\n"
    settings = "# page_size was 200 until May\nminutes: 20\npage_size: 100\ncarriers:\n  - dpx\n"
    text = f"===== net.py =====\n{program}\n===== web.yaml =====\n{settings}\n===== notes.md =====\n{FILLING}\n"
    shown = show(text, "The page_size is 100 and TIMEOUT is 12.", "What are page_size and TIMEOUT?")
    assert "# TIMEOUT = 30  # the old carrier\nTIMEOUT = 12" in shown
    assert "web.yaml\n# page_size was 200 until May\nminutes: 20\npage_size: 100\ncarriers:" in shown
