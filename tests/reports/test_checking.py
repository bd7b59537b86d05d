"""A sentence of a report in its rows' words is kept, one in other words is marked, and an invention never stands unmarked."""

from __future__ import annotations

import asyncio
import re
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
    ("said", "kept"),
    [
        *(("Yes", 3), ("No", 1), ("No, for it says nothing of the kind at all.", 1), ("Perhaps", 2), ("", 2)),
        # What it copies is in no row.
        *(("Yes\nBoth of them owe some money in the summer.", 2), (ModelError("the server is down"), 2)),
    ],
)
def test_a_judging_model_decides_on_what_is_said_in_other_words(said: str | Exception, kept: int) -> None:
    text = (
        "Ada Quill pays 12 crowns by 3 June 2027 [1]. 12 crowns are due from Ada Quill by 3 June 2027 [1]. "
        "Both Ada Quill and Odo Farr owe money in that summer [1][2]. It snowed."
    )
    found, asked = write(text, said)
    found = tuple(one for one in found if one.text != OTHER.quote)
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
    (one, *told), asked = write(text, "Yes")
    assert (one.is_kept, asked) == (False, [])
    # A row that is not there says nothing of those that are: then all of them stand in their own words.
    assert [row.text for row in told] == [PAYMENT.quote] + [OTHER.quote] * (not one.numbers)


def test_a_section_of_which_no_sentence_is_kept_has_its_rows_in_their_own_words() -> None:
    found, _ = write("Ada pays much [20]. It is due in June [21].", "No")
    assert [one.text for one in found if one.is_kept] == [PAYMENT.quote, OTHER.quote]


def test_a_row_of_a_sentence_that_is_left_out_stands_in_its_own_words_unless_another_names_it() -> None:
    lost = "Ada Quill never pays 12 crowns [1]. Odo Farr owes 99 crowns [2]."
    found, _ = write(f"{lost} Ada Quill pays 12 crowns by 3 June 2027 [1].", "No")
    assert [(one.text, one.numbers) for one in found if one.is_kept] == [
        (OTHER.quote, (2,)),
        ("Ada Quill pays 12 crowns by 3 June 2027.", (1,)),
    ]
    nameless = SourceLine(number=1, said="study: Harlow 2023; calls: none", quote="No calls were played", document="d")
    assert nameless.tell().text == "Harlow 2023: “No calls were played”"


def test_a_sentence_that_stands_in_the_report_is_not_listed_as_left_out_of_it() -> None:
    found, _ = write("Ada Quill pays 12 crowns by 3 June 2027 [2]. Ada Quill pays 12 crowns by 3 June 2027 [1].", "No")
    assert [one.text for one in found].count("Ada Quill pays 12 crowns by 3 June 2027.") == 1
    assert all(one.is_kept for one in found)
    assert {number for one in found for number in one.numbers} == {1, 2}


def test_a_name_may_be_that_of_the_document_where_a_judge_sees_it() -> None:
    bid = SourceLine(number=1, said="net: 23,000", quote="| Total | 23000 |", document="d", source="bid-of-wells.txt")
    plan = JUDGED
    for name, kept in (("Wells", True), ("Quill", False)):
        asked: list[str] = []

        def reply(messages, name=name, asked=asked) -> str:
            asked.append(messages[-1].content)
            return "Yes" if "Reply Yes or No" in asked[-1] else f"In all, the firm of {name} asks 23,000 net [1]."

        model = ScriptedModel(reply, plan=plan, window=2048)
        first, *_ = asyncio.run(write_sentences("Bids", "What is asked", [bid], model, plan))
        assert (first.is_kept, "bid-of-wells.txt" in asked[-1]) == (kept, kept)


def test_a_row_told_in_its_own_words_has_a_full_stop_and_no_marks_of_a_mail() -> None:
    quote = "it cost\n>> us 118 pounds for a new mat"
    told = SourceLine(number=1, said="cost: 118 pounds", quote=quote, document="d").tell()
    assert told.format() == "it cost us 118 pounds for a new mat. [1]"


def test_a_row_of_a_table_is_told_by_its_cells() -> None:
    told = SourceLine(number=3, said="job: Painting", quote="| 18 April | Painting | | Ida |", document="d").tell()
    assert told.format() == "18 April, Painting, Ida. [3]"


def test_a_row_that_another_puts_right_is_not_told_alone_without_a_mark() -> None:
    fee = SourceLine(number=1, said="fee: lot; amount: 180 crowns", quote="180 crowns for a lot", document="d")
    now = SourceLine(
        number=2, said="fee: lot; amount: 150 crowns", quote="the fee for a lot is 150 crowns", document="d"
    )
    known = {1: replace(fee, others=(2,), later=2), 2: replace(now, others=(1,), corrects="180 crowns")}
    alone, later, both = check_sentences(
        "180 crowns for a lot [1]. The fee for a lot is 150 crowns [2]. "
        "For a lot the fee is given first as 180 crowns and further on, by a correction, as 150 crowns [1][2].",
        known,
    )
    assert (alone.is_marked, later.is_marked, both.is_marked) == (True, False, True)
    assert "150 crowns" in alone.passage
    assert not next(check_sentences("For a lot the fee is 180 crowns and not 160 crowns [1][2].", known)).is_kept
    shown = "\n".join(one.format() for one in known.values())
    assert "([2] says otherwise further on or puts it right)" in shown
    assert "(says otherwise than [1]; puts right: 180 crowns)" in shown
    assert known[2].format("zh").endswith("(与 [1] 说法不同; 更正了：180 crowns)")


def test_what_a_document_cites_is_no_row_and_no_word_of_it() -> None:
    cited = replace(PAYMENT, quote="Ada Quill pays [7] 12 crowns by 3 June 2027 [7, 8]")
    assert re.findall(r"\[\d+\]", cited.format()) == ["[1]"]
    assert check("Ada Quill pays 12 crowns by 3 June 2027 [1].", cited).verdict is Verdict.SUPPORTED


def test_whom_a_row_is_about_may_be_named_before_its_words() -> None:
    source = SourceLine(number=1, said="study: Harlow 2023", quote="boxes facing north were taken", document="d")
    assert check("At Harlow, boxes facing north were taken [1].", source).verdict is Verdict.SUPPORTED
    assert check("At Harlow, no boxes facing north were taken [1].", source).verdict is not Verdict.SUPPORTED


def write_parts(rows: int, *, answer_tokens: int) -> tuple[tuple[WrittenSentence, ...], list[str]]:
    """Return what is written of many rows by a model that says each of those that it is shown, and what it was asked."""
    plan = Plan(chunk_tokens=120, memory_tokens=60, answer_tokens=answer_tokens, question_tokens=60)
    sources = [
        SourceLine(
            number=n,
            said=f"who: T{n}; amount: {n} crowns",
            quote=f"T{n} pays {n} crowns",
            document="d",
            source=f"{n % 2}",
        )
        for n in range(1, rows + 1)
    ]
    asked: list[str] = []

    def reply(messages) -> str:
        asked.append(messages[-1].content)
        shown = asked[-1].partition("<section>")[2].partition("</section>")[0]
        return " ".join(f"T{n} pays {n} crowns [{n}]." for n in re.findall(r"^\[(\d+)\]", shown, re.MULTILINE))

    model = ScriptedModel(reply, plan=plan, window=2048)
    return asyncio.run(write_sentences("Dues", "What is due", sources, model, plan)), asked


def test_a_section_of_many_rows_is_written_part_by_part_from_where_it_ends_so_far() -> None:
    found, asked = write_parts(12, answer_tokens=300)
    assert [one.numbers for one in found] == [(n,) for n in range(1, 13)]
    assert len(asked) > 1
    assert all("Write a part of one section" in one for one in asked)
    ends = [one.partition("<memory>\n")[2].partition("\n</memory>")[0] for one in asked]
    first = [re.findall(r"^\[(\d+)\]", one, re.MULTILINE)[0] for one in asked]
    assert all(end.endswith(f"[{int(n) - 1}]") for end, n in zip(ends[1:], first[1:], strict=True))
    assert "0:\n[2]" in asked[0]  # the name of its document
    one, asked = write_parts(1, answer_tokens=300)
    assert (len(one), "<memory>" in asked[0], "1:" in asked[0]) == (1, False, False)


def test_a_reply_that_is_cut_off_is_asked_for_again_in_two_halves() -> None:
    found, asked = write_parts(5, answer_tokens=25)
    assert [one.numbers for one in found] == [(n,) for n in range(1, 6)]
    assert all(one.is_kept for one in found)
    assert len(asked) > 1
