"""Cells of rows, and the one that a question asks for by its column's name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.cells import has_header, split_cells
from bookwheel.text.rows import find_cell

PLANS = "| Plan | Unlock | Each minute | Insured to |"
YEARLY = "| Yearly | free | 4p | £500 |"
CLASSES = "| 课号 | 课程 | 教师 | 教室 | 学费（元/期） |"
FIDDLE = "| D02 | 二胡 | 单国平 | 303 | 300 |"


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("| a | | c |", ["a", "", "c"]),
        ("a;b;c", ["a", "b", "c"]),
        ('Otter,"1,200",4', ["Otter", "1,200", "4"]),
        ("a\tb", ["a", "b"]),
        ("a sentence of words", []),
        ("", []),
        ("|", []),
    ],
)
def test_a_row_is_cut_at_its_own_marks(line, cells):
    assert split_cells(line) == cells


@pytest.mark.parametrize(
    ("header", "row", "question", "cell", "is_named"),
    [
        (PLANS, YEARLY, "What does each minute cost on the yearly plan?", "4p", False),
        (PLANS, YEARLY, "yearly plan: each minute?", "4p", True),
        (PLANS, YEARLY, "yearly, unlock?", "free", True),
        (CLASSES, FIDDLE, "二胡学费？", "300", True),
        (CLASSES, FIDDLE, "二胡的老师是谁？", "单国平", False),
        ("Name,Built,Spans", "Harrow Gate,1847,3", "Harrow Gate: built when?", "1847", True),
        ("| Type | Annual fee | Monthly fee |", "| Student | $140 | $13 |", "student, per month?", "$13", True),
        ("| Item | Unit price | Total |", "| Door | 148.00 | 740.00 |", "How much is a door?", "148.00", False),
        ("| Item | Unit price | Total |", "| Door | 148.00 | 740.00 |", "doors: what in total?", "740.00", True),
        ("Pos   Team       P     Pts", "4     St Oswin   18    31", "how many points did St Oswin get", "31", False),
        ("Stop       Bus A    Bus D", "Quay       06:40    14:35", "When does Bus D leave the Quay?", "14:35", False),
        ("| Site | Conductivity (µS/cm) |", "| Weir | 340 |", "weir conductivty?", "340", False),
        (
            "| Car | Per day | Km included per day |",
            "| Vanto | 47.00 | 300 |",
            "What is the Vanto per day?",
            "47.00",
            True,
        ),
        ("| Tap | before (l) | after (l) |", "| South | 14 | 21 |", "What was it at the south tap before?", "14", True),
        (
            "| No | Surname | First name | Joined | Licence until |",
            "| 8 | Ibrahim | Noor | 2025-09-15 | 2026-10-31 |",
            "When does Noor Ibrahim's licence expire?",
            "2026-10-31",
            False,
        ),
        ("| 证件 | 册数 | 借期 |", "| 成人证 | 10册 | 30天 |", "成人证能借几册？", "10册", False),
        (
            "| Card | Loan | Kept for |",
            "| Adult | 10 books | 30 days |",
            "How many days on an adult card?",
            "30 days",
            False,
        ),
        (
            "| Plan | Trial | Notice |",
            "| Basic | 14 days | 3 months |",
            "How many days of notice has Basic?",
            "3 months",
            True,
        ),
        (
            "| Plan | Trial | Notice |",
            "| Basic | 14 days | 3 months |",
            "How many months is the trial of Basic?",
            "14 days",
            True,
        ),
        ("| By | Title | Finding |", "| Orm | Salt in marshes | 4 % |", "What did Orm find?", "4 %", True),
        ("课程      教师    教室     学费(元)", "瑜伽      蓝婷    舞蹈室   300", "瑜伽课在哪个教室", "舞蹈室", False),
    ],
)
def test_the_column_with_the_questions_words_has_the_cell(header, row, question, cell, is_named):
    assert find_cell(header, row, question) == (cell, is_named)


@pytest.mark.parametrize(
    ("header", "row", "question"),
    [
        (PLANS, YEARLY, "Who may ride on Sundays?"),
        ("| Plan | Price a day | Price a week |", "| Van | £30 | £150 |", "What is the price of the van?"),
        ("| Plan | Minute |", "| Yearly | 4p | more |", "yearly minute?"),
        (PLANS, "| Yearly | | 4p | £500 |", "yearly, unlock?"),
        ("| 编号 | 品名 | 备注 |", "| ZZ-08 | 油菜 | 去年余货210袋 |", "ZZ-08实收几袋？"),
        ("| 产品 | 整机期限 | 部件期限 |", "| 洗衣机 | 2年 | 8年 |", "洗衣机有几种颜色？"),
        ("Name     Room     Shift", "Ada      12       early      late", "Where is Ada?"),
        ("Prices of the year", "Yearly costs 4p", "yearly price?"),
    ],
)
def test_no_cell_where_no_column_or_more_than_one_fits(header, row, question):
    assert find_cell(header, row, question) is None


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=40))
def test_any_text_gives_a_cell_of_the_row_or_none(header, row, question):
    found = find_cell(header, row, question)
    assert found is None or found.text in row or '"' in row


def test_a_bar_within_a_cell_parts_nothing_and_a_quote_opens_nothing() -> None:
    assert split_cells(r'| =cmd\|x | 6" pipe | "a |') == ["=cmd|x", '6" pipe', '"a']


@pytest.mark.parametrize(
    ("rows", "has"),
    [
        ("item,price / putty,9.50 / pane,74.00", True),
        ("putty,9.50 / pane,74.00", False),
        ("Ada,1987-03-01 / Bo,1990-11-30", False),
        ("Room 12,Ada / Room 14,Bo", False),
        ("who,where / Ada,shed / Bo,shed", None),
        ("Name,Type,Description / name,string,full name / age,number,in years", None),
        ("Size,36,38,40 / stock,5,3,0", True),
        ("Zone,10,20,50 / A,3.20,4.10,6.00", True),
        ("week,3,2,1 / sales,4,0,7", True),
        ("team,1,2 / reds,4,0", True),
        ("1,Ada,1987 / 2,Bo,1990", False),
        ("pane,2,EUR 74.00 / putty,1,EUR 9.50", False),
        ("Ada,4,4 / Bo,3,7", False),
        ("region,2023,2024 / north,12,15", True),
        ("team,1,2,3 / reds,4,0,7", True),
        ("who,when / Ada,9:30 / who,when / Bo,10:00", True),
        ("quarter,Q1,Q2 / sales,12,15", True),
        ("Ada,n/a,4.50 / Bo,3,9.00 / Cy,4,9.10", False),
        ("only,one", True),
    ],
)
def test_a_first_row_with_figures_like_those_below_it_is_no_header(rows, has):
    assert has_header([row.split(",") for row in rows.split(" / ")]) is has
