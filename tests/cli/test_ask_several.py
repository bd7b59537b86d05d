"""Several questions in one command, and skipped sections read again."""

import json

import pytest

from bookwheel.errors import ServerFault
from bookwheel.models import scripted
from bookwheel.models.scripted import keyword_reader

TEXT = "".join(
    f"Page {n} tells of harvests, tolls and rain.\n"
    + ("The colour of the wheel is vermilion.\n" if n == 40 else "")
    + ("The keeper of the lamp was Ada Quill.\n" if n == 70 else "")
    for n in range(120)
)
QUESTION, OTHER = "What is the colour of the wheel?", "Who was the keeper of the lamp?"


@pytest.fixture
def run(tmp_path, command):
    book = tmp_path / "book.txt"
    book.write_text(TEXT)
    journal = ["--journal", str(tmp_path / "journal.sqlite")]

    def call(name: str, *words: str) -> tuple[int, str, str]:
        words = tuple(str(book) if word == "BOOK" else word for word in words)
        return command(name, *words, *journal, *([] if name == "list" else ["--model", "scripted"]))

    return call


PLAN = ("--chunk-tokens", "100", "--memory-tokens", "60", "--way", "gated+edits", "--gate-threshold", "0.5")


def test_each_question_has_an_answer_and_a_reading_of_its_own(run):
    code, out, _ = run("ask", "BOOK", QUESTION, "--question", OTHER, *PLAN, "--quiet")
    assert code == 0
    assert out.splitlines() == [
        QUESTION,
        "The colour of the wheel is vermilion.",
        OTHER,
        "The keeper of the lamp was Ada Quill.",
    ]
    listed = json.loads(run("list", "--json")[1])
    assert {reading["question"] for reading in listed} == {QUESTION, OTHER}
    assert {reading["status"] for reading in listed} == {"answered"}


def test_what_is_told_of_each_answer_stands_below_its_question(run):
    _, _, err = run("ask", "BOOK", QUESTION, "--question", OTHER, *PLAN)
    assert "the steps of the first question are shown; those of 1 more come at the same time" in err
    first, _, second = err.partition(f"answer to: {QUESTION}")[2].partition(f"answer to: {OTHER}")
    assert "wheel is vermilion" in first
    assert "lamp was Ada Quill" in second


def test_where_some_of_several_have_no_answer_the_exit_code_is_that_of_gaps(run, monkeypatch):
    def fail(messages):
        if "\\boxed" in messages[-1].content and OTHER in messages[-1].content:
            raise ServerFault("the server is down")
        return keyword_reader(messages)

    monkeypatch.setattr(scripted, "keyword_reader", fail)
    plan = ("--chunk-tokens", "400", "--memory-tokens", "60", "--way", "sequential", "--patience", "0")
    assert run("ask", "BOOK", QUESTION, "--question", OTHER, *plan)[0] == 5
    assert run("ask", "BOOK", OTHER, *plan)[0] == 3


def test_json_of_several_questions_is_one_object(run):
    code, out, _ = run("ask", "BOOK", QUESTION, "--question", OTHER, *PLAN, "--json")
    readings = json.loads(out)["readings"]
    assert code == 0
    assert [reading["question"] for reading in readings] == [QUESTION, OTHER]
    assert all(reading["steps"] for reading in readings)


def test_events_of_several_readings_are_refused(run):
    code, _, err = run("ask", "BOOK", QUESTION, "--question", OTHER, *PLAN, "--json-events")
    assert code == 2
    assert "one by one" in err


def test_a_wrong_second_question_is_refused_before_anything_is_kept(run):
    code, _, err = run("ask", "BOOK", QUESTION, "--question", "why " * 4000, *PLAN)
    assert code == 2
    assert "--question-tokens" in err
    assert json.loads(run("list", "--json")[1]) == []


def test_skipped_sections_are_read_again_down_to_a_lower_threshold(run):
    # Nothing reaches 0.999, so all is skipped; the two kinds of section score 0.98 and 0.02.
    skipping = (*PLAN[:-1], "0.999")
    _, out, _ = run("ask", "BOOK", QUESTION, *skipping, "--json")
    first = json.loads(out)
    assert all("skipped" in step["flags"] for step in first["steps"])
    assert "vermilion" not in first["answer"]
    code, out, _ = run("resume", "last", "--flagged", "--gate-threshold", "0.5", "--json")
    again = json.loads(out)
    assert code == 0
    assert "vermilion" in again["answer"]
    assert sum("reread" in step["flags"] for step in again["steps"]) == 1


def test_a_threshold_without_flagged_is_refused(run):
    code, _, err = run("resume", "last", "--gate-threshold", "0.5")
    assert code == 2
    assert "--flagged" in err
