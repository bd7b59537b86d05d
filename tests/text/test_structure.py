"""The parts that a text is written in."""

from itertools import pairwise

import pytest

from bookwheel.text.structure import Shape, split_parts

DOCUMENT = """# Terms

## Prices

| Plan | Minute |
|---|---|
| Yearly | 4p |
| Monthly | 5p |

You bring:
- a lamp
- 1,200 matches

1.1 The key stays here.
1.2 The dog does not.
"""
CHAT = "07:01 noor: any deploys?\n07:02 juho: the last one was yesterday, nothing since then as far as I know\n07:09 ann: ok\n"


def parts(text):
    def cut(span):
        return text[span[0] : span[1]] if span else None

    return [(one.shape, text[one.start : one.end], cut(one.heading), cut(one.lead)) for one in split_parts(text)]


def test_a_row_has_its_header_and_the_headings_above_it():
    assert parts(DOCUMENT)[0] == (Shape.ROW, "| Yearly | 4p |", "# Terms\n\n## Prices", "| Plan | Minute |")


def test_the_lines_of_a_receipt_are_rows_also_right_below_its_head():
    rows = ["Flat white | 3.80", "Oat porridge | 6.20", "Total | 10.00"]
    found = parts("\n".join(["CAFE HARBOUR", "12 March 2026 10:42", *rows]))
    assert found[1:] == [(Shape.ROW, row, "CAFE HARBOUR", None) for row in rows]


def test_the_first_of_pairs_of_words_is_no_header_but_that_above_numbers_is():
    offices = ["总工程师 | 林海生", "财务主任 | 赵国强", "安全主任 | 孙小梅"]
    assert parts("\n".join(offices)) == [(Shape.ROW, row, None, None) for row in offices]
    goods = ["Goods | Barrels", "Salt | 120", "Tar | 87"]
    assert parts("\n".join(goods)) == [(Shape.ROW, row, None, goods[0]) for row in goods[1:]]


@pytest.mark.parametrize(
    "table",
    [
        ["Date | What | Cost", "2024-03-01 | hull | 40.00", "2024-03-05 | sail | 20.00"],
        ["Time | Who | What", "09:00 | Ada | talk", "09:30 | Bo | tea"],
        ["Runner | 5 km | 10 km", "Ada | 28 min | 59 min", "Bo | 31 min | 66 min"],
        ["Item | Price", "putty | 9", "nails | call", "tar | ask"],
    ],
)
def test_a_header_in_bars_stays_with_its_rows(table):
    assert parts("\n".join(table)) == [(Shape.ROW, row, None, table[0]) for row in table[1:]]


def test_a_bar_in_a_talk_ends_nothing():
    said = ["Noor: use cat x | less here\nand leave it with q", "Juho: fine", "Noor: thanks"]
    assert parts("\n".join(said)) == [(Shape.TURN, turn, None, None) for turn in said]


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-05-03T07:29:26Z ERROR",
        "2026-05-03 07:29:26,101 ERROR",
        "May  3 07:29:26 nas02 importer[81]:",
        "E0503 07:29:26.101 81 importer.go:12]",
        '10.0.0.7 - ana [03/May/2026:07:29:26 +0000] "GET /',
        "ts=2026-05-03T07:29:26Z level=error",
        "[2026-05-03T07:29:26Z] user:",
    ],
)
def test_each_line_of_a_log_is_a_part(stamp):
    lines = [f"{stamp} batch {n} of the importer gave up; it is queued again." for n in range(20)]
    assert [(shape, text) for shape, text, *_ in parts("\n".join(lines))] == [(Shape.TURN, line) for line in lines]


def test_a_talk_about_code_is_no_program():
    turns = [f"[2026-05-03T07:{n:02}:26Z] tool:\ndef f{n}(x):\n    return x\nclass C:" for n in range(9)]
    assert Shape.CODE not in {shape for shape, *_ in parts("\n\n".join(turns))}


def test_items_and_clauses_stand_alone_under_the_line_that_leads_them_in():
    found = [(text, lead) for shape, text, _, lead in parts(DOCUMENT) if shape is Shape.ITEM]
    assert found[:2] == [("- a lamp", "You bring:"), ("- 1,200 matches", "You bring:")]
    assert [text for text, _ in found[2:]] == ["1.1 The key stays here.", "1.2 The dog does not."]


def test_a_turn_after_a_question_or_a_short_one_is_led_in_by_the_one_before():
    turns = parts(CHAT)
    assert [shape for shape, *_ in turns] == [Shape.TURN] * 3
    assert turns[1][3] == "07:01 noor: any deploys?"
    assert turns[2][3] == turns[1][1]


@pytest.mark.parametrize("title", ["3. Payment", "第三条 租金及押金"])
def test_the_title_of_clauses_leads_them_in_and_is_no_part(title):
    clauses = ["3.1 The fee is due on the first day.", "3.2 Late fees are doubled."]
    found = parts("\n".join(["2. Nothing else.", title, *clauses]) + "\n")
    assert [(shape, text) for shape, text, *_ in found] == [
        (Shape.ITEM, line) for line in ("2. Nothing else.", *clauses)
    ]
    assert [lead for *_, lead in found] == [None, title, title]


@pytest.mark.parametrize("title", ["3.  Payment", "第三条  租金及押金"])
def test_blanks_behind_the_number_of_a_heading_make_no_row(title):
    clause = "3.1 The fee is due on the first day."
    assert [(one.shape, one.heading) for one in split_parts(f"{title}\n\n{clause}\n")] == [
        (Shape.ITEM, (0, len(title)))
    ]


@pytest.mark.parametrize(
    "stamps",
    [
        ("[03/06/2024, 18:02] ", "[03/06/2024, 18:04] ", "[05/06/2024, 08:15] "),
        ("3/6/24, 6:02 PM - ", "3/6/24, 6:04 PM - ", "5/6/24, 8:15 AM - "),
        ("03.06.24, 18:02 - ", "03.06.24, 18:04 - ", "05.06.24, 08:15 - "),
        ("2024/6/3 18:02 - ", "2024/6/3 18:04 - ", "2024/6/5 08:15 - "),
    ],
)
def test_each_message_of_a_chat_that_was_exported_is_a_turn(stamps):
    said = (
        "Ida: who has booked?",
        "Bo: me! Saturday, lands 11:35\nand it was cheap",
        "Ida: good, and I pick up the keys",
    )
    lines = [stamp + text for stamp, text in zip(stamps, said, strict=True)]
    turns = parts("\n".join(lines) + "\n")
    assert [(shape, text) for shape, text, *_ in turns] == [(Shape.TURN, line) for line in lines]
    assert turns[1][3] == lines[0]


def test_parts_stand_in_order_and_no_text_but_headings_is_lost():
    spans = [(one.start, one.end) for one in split_parts(DOCUMENT)]
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert split_parts("") == []
    assert parts("One sentence.") == [(Shape.PROSE, "One sentence.", None, None)]


def test_a_row_with_a_price_is_no_header_unless_a_rule_below_says_so():
    plain = parts("Flat white   3.80\nCroissant    2.95\nTea, large   2.40\n")
    assert [(shape, lead) for shape, _, _, lead in plain] == [(Shape.ROW, None)] * 3
    ruled = parts("| Plan | £3.80 |\n| --- | --- |\n| Yearly | 4 |\n")
    assert [(shape, lead) for shape, _, _, lead in ruled] == [(Shape.ROW, "| Plan | £3.80 |")]


def test_below_an_empty_header_every_row_is_one_and_has_no_header():
    text = "## Bill\n\n|  |  |\n| --- | --- |\n| pane | EUR 74.00 |\n| putty | EUR 9.50 |\n"
    assert [(shape, words, lead) for shape, words, _, lead in parts(text)] == [
        (Shape.ROW, "| pane | EUR 74.00 |", None),
        (Shape.ROW, "| putty | EUR 9.50 |", None),
    ]
