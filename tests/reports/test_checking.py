"""A sentence of a report in its rows' words is kept, one in other words is marked, and an invention never stands unmarked."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bookwheel.claims import Verdict
from bookwheel.errors import ModelError
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan, VerdictMode
from bookwheel.reports.checking import SourceLine, WrittenSentence, check_sentences, write_sentences
from bookwheel.reports.output import format_markdown, list_blocks
from bookwheel.reports.report import ReportSection, WrittenReport

PAYMENT = SourceLine(
    number=1,
    said="who: Ada Quill; amount: 12 crowns; due date: 3 June 2027",
    quote="Ada Quill pays 12 crowns by 3 June 2027",
    document="d",
)
OTHER = SourceLine(
    number=2,
    said="who: Odo Farr; amount: 15 crowns",
    quote="Odo Farr shall pay 15 crowns no later than June",
    document="d",
)
SOURCES = {1: PAYMENT, 2: OTHER}


def check(text: str, source: SourceLine | None = None) -> WrittenSentence:
    (one,) = check_sentences(text, {1: source} if source else SOURCES)
    return one


@pytest.mark.parametrize(
    "text",
    [
        "Ada Quill pays 12 crowns by 3 June 2027 [1].",
        "Ada Quill must pay 12 crowns by 3 June 2027 [1].",
        "By 3 June 2027 Ada Quill pays 12 crowns [1].",
        "Ada Quill: 12 crowns, due 3 June 2027 [1].",
        "Odo Farr must pay 15 crowns by June [2].",
        "Ada Quill pays 12 crowns and Odo Farr shall pay 15 crowns [1][2].",
    ],
)
def test_a_rows_own_words_are_kept_without_a_mark(text: str) -> None:
    one = check(text)
    assert (one.is_kept, one.is_marked) == (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "12 crowns are due from Ada Quill by 3 June 2027 [1].",
        "On 3 June 2027 at the latest, Ada Quill owes 12 crowns [1].",
        "Ada Quill must have paid 12 crowns by 3 June 2027 [1].",
    ],
)
def test_other_words_than_the_rows_are_marked_with_the_passage(text: str) -> None:
    one = check(text)
    assert (one.is_kept, one.is_marked, one.passage) == (True, True, PAYMENT.quote)
    assert one.format().endswith("[≈1]")


@pytest.mark.parametrize(
    "text",
    [
        "Ada Quill is due 12 crowns [1].",
        "Ada Quill is paid 12 crowns by 3 June 2027 [1].",
        "Ada Quill paid 12 crowns after all [1].",
    ],
)
def test_what_turns_a_row_round_in_its_own_words_never_stands_without_a_mark(text: str) -> None:
    one = check(text)
    assert one.is_marked or not one.is_kept


@pytest.mark.parametrize(
    "text",
    [
        "Ada Quill receives 12 crowns by 3 June 2027 [1].",
        "Ada Quill never pays 12 crowns by 3 June 2027 [1].",
        "Ada Quill pays 12 crowns after 3 June 2027 [1].",
        "Ada Quill pays 12 crowns by 3 June 2027, out of sheer greed [1].",
        "Ada Quill pays 12 crowns by 3 June 2027 because it owes crowns [1].",
        "Ada Quill pays 13 crowns by 3 June 2027 [1].",
        "Ada Quill pays 15 crowns [1][2].",
        "Ada Quill pays 15 crowns and Odo Farr shall pay 12 crowns [1][2].",
        "The payments are outrageous [1].",
        "Ada Quill pays 12 crowns by 3 June 2027 [1][9].",
        "Ada Quill pays 12 crowns by 3 June 2027.",
    ],
)
def test_an_invention_is_left_out(text: str) -> None:
    assert not check(text).is_kept


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("If it rains, Ada pays 12 crowns", "Ada pays 12 crowns [1]."),
        ("Odo says that Ada pays 12 crowns", "Ada pays 12 crowns [1]."),
        ("Ada pays only 12 crowns", "Ada pays 12 crowns [1]."),
        ("Ada paid 12 crowns", "Ada must pay 12 crowns [1]."),
        ("头饰遗失者，按清单价百分之八十赔偿；戏服遗失者，按全价赔偿", "戏服遗失者，按清单价百分之八十赔偿[1]。"),
    ],
)
def test_what_a_row_says_under_a_condition_is_not_said_without_a_mark(quote: str, text: str) -> None:
    one = check(text, SourceLine(number=1, said="who: Ada", quote=quote, document="d"))
    assert one.is_marked or not one.is_kept


def test_a_row_that_a_person_changed_bears_out_its_values_and_no_longer_its_quote() -> None:
    changed = replace(PAYMENT, said=PAYMENT.said.replace("12 crowns", "9 crowns"), is_by_hand=True)
    assert "12 crowns" not in changed.format()
    assert not check("Ada Quill pays 12 crowns by 3 June 2027 [1].", changed).is_kept
    assert check("Ada Quill pays 9 crowns by 3 June 2027 [1].", changed).is_kept
    assert check("Ada Quill: 9 crowns, 3 June 2027 [1].", changed).verdict is Verdict.SUPPORTED


def test_a_number_or_date_may_be_spelled_otherwise() -> None:
    source = SourceLine(
        number=1, said="who: RA", quote="RA signs the lease before 1st July 2026, for two crowns", document="d"
    )
    assert check("Before 1 July 2026 the lease is signed by RA for 2 crowns [1].", source).is_marked
    assert not check("Before 2 July 2026 the lease is signed by RA for 2 crowns [1].", source).is_kept


def test_a_report_lists_marked_and_left_out_sentences_beside_their_passages() -> None:
    marked = check("12 crowns are due from Ada Quill [1].")
    left = check("Ada Quill is rich and famous [1].")
    section = ReportSection(title="Who", sentences=(marked,), left_out=(left,), rows=1, unproven=0)
    made = WrittenReport(brief="b", title="t", sections=(section,), sources=(PAYMENT,), coverage=())
    text = format_markdown(list(list_blocks(made)))
    assert (made.marked, made.left_out, left.verdict) == (1, 1, Verdict.NOT_FOUND)
    assert text.count(PAYMENT.quote) == 3  # beside each of them, and among the sources
    assert text.index("In other words") < text.index("Left out")


JUDGED = Plan(chunk_tokens=400, memory_tokens=60, answer_tokens=90, question_tokens=60, verdict=VerdictMode.MODEL)


def write(written: str, said: str | Exception) -> tuple[tuple[WrittenSentence, ...], list[str]]:
    """Return the sentences of a writer that judges itself so, and what it was asked."""
    asked: list[str] = []

    def reply(messages) -> str:
        if "everything that" not in messages[-1].content:
            return written
        asked.append(messages[-1].content)
        if isinstance(said, Exception):
            raise said
        return said

    model = ScriptedModel(reply, plan=JUDGED, window=2048)
    return asyncio.run(write_sentences("Dues", "What is due", [PAYMENT, OTHER], model, JUDGED)), asked


@pytest.mark.parametrize(
    ("said", "kept"), [("Yes", 3), ("No", 1), ("Perhaps", 2), ("", 2), (ModelError("the server is down"), 2)]
)
def test_a_judging_model_decides_on_what_is_said_in_other_words(said: str | Exception, kept: int) -> None:
    text = (
        "Ada Quill pays 12 crowns by 3 June 2027 [1]. 12 crowns are due from Ada Quill by 3 June 2027 [1]. "
        "Both Ada Quill and Odo Farr owe money in that summer [1][2]. It snowed."
    )
    found, asked = write(text, said)
    # Words of a row need no judge, and what names no row is left out whatever one says.
    assert (len(found), len(asked)) == (4, 2)
    assert all(PAYMENT.quote in one for one in asked)
    assert sum(one.is_kept for one in found) == kept
    assert [one.is_marked for one in found if one.is_kept] == [False, True, True][:kept]


@pytest.mark.parametrize(
    "text",
    [
        "Ada Quill owes 21 crowns [1].",
        "The dues of Ada Quill, as clause 9 has it [1][9].",
        "Cy Marsh owes 12 crowns [1].",
    ],
)
def test_no_judge_is_asked_about_a_row_a_figure_or_a_name_that_is_not_there(text: str) -> None:
    (one,), asked = write(text, "Yes")
    assert (one.is_kept, asked) == (False, [])
