"""Which row of a table has the most or the least."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.comparisons import asks_comparison, compare_rows, find_outermost

DRYER = "| Programme | Max. load | Typical time |"
PROGRAMMES = ["| Cotton | 8 kg | 3 h 05 min |", "| Duvets | 2.5 kg | 2 h 20 min |", "| Quick | 2 kg | 34 min |"]
BIDS = "| 品牌 | 单台报价（万元） | 质保 | 工期 |"
BIDDERS = ["| 海岳 | 31.2 | 5年 | 40天 |", "| 通达 | 26.9 | 2年 | 60天 |", "| 北辰 | 29.5 | 3年 | 45天 |"]
BOATS = ("| Yard | Price |", ["| Otter AG | £48 |", "| Heron & Sons | £36 |"])
PLAN = "| Plan | Mbit/s | Term |"
PLANS = ["| Basic | 50 | 12 months |", "| Turbo | 500 | 24 months |"]
STAFF = "Name;Since;Room"
PEOPLE = ["Vera Holm;14 March 2019;12", "Bo Quist;3 May 2016;14", "Ines Okoro;1 July 2021;9"]


@pytest.mark.parametrize(
    ("question", "header", "rows", "answer", "is_certain"),
    [
        ("Which takes longer, Cotton or Duvets?", DRYER, PROGRAMMES, "Cotton", True),
        ("Which takes longer, Duvets or Quick?", DRYER, PROGRAMMES, "Duvets", True),
        ("Which programme has the shortest time?", DRYER, PROGRAMMES, "Quick", False),
        ("Which programme is the fastest?", DRYER, PROGRAMMES, "Quick", False),
        ("Which is slower, Duvets or Quick?", DRYER, PROGRAMMES, "Duvets", True),
        ("哪家工期最快？", BIDS, BIDDERS, "海岳", False),
        ("Which bus leaves last?", "Bus | Leaves", ["A | 11:00 am", "B | 1:30 pm", "C | 9:15 am"], "B", False),
        ("Which bus leaves first?", "Bus | Leaves", ["A | 11 am", "B | 1 p.m.", "C | 12:10 am"], "C", False),
        ("Which plan is fastest?", PLAN, PLANS, "Turbo", False),
        (
            "Which train is fastest?",
            "| Train | Speed | Stops |",
            ["| Crane | 200 km/h | 4 |", "| Ruff | 90 km/h | 9 |"],
            "Crane",
            False,
        ),
        ("Who was fastest?", "| Swimmer | Time |", ["| Ada | 1:02 |", "| Bo | 0:58 |"], "Bo", False),
        ("谁最快？", "姓名 | 成绩", ["李明 | 1:02", "王芳 | 0:58"], "王芳", False),
        ("Who was slowest?", "| Swimmer | Time (s) |", ["| Ada | 12.3 |", "| Bo | 11.8 |"], "Ada", False),
        ("Smaller max. load: Cotton or Duvets?", DRYER, PROGRAMMES, "Duvets", True),
        ("What is the best mark in maths?", "| Pupil | Maths |", ["| Kate | 73 |", "| Livia | 96 |"], "96", False),
        ("Which is cheaper, the one from Otter or the one from Heron?", *BOATS, "Heron & Sons", True),
        ("Who is the oldest?", "| Pupil | Age | Since |", ["| Kate | 12 | x |", "| Livia | 14 | y |"], "Livia", False),
        (
            "Which is the oldest bridge?",
            "| Bridge | Built |",
            ["| Hazel Leap | 1981 |", "| Fern Lane | 1847 |"],
            "Fern Lane",
            False,
        ),
        ("Who is younger, Kate or Livia?", "| Pupil | Born |", ["| Kate | 2012 |", "| Livia | 2014 |"], "Livia", True),
        ("哪家的质保期最短？", BIDS, BIDDERS, "通达", False),
        ("海岳和北辰哪家报价高？", BIDS, BIDDERS, "海岳", True),
        ("哪家最便宜？", BIDS, BIDDERS, "通达", False),
        ("Who has been here since the earliest day?", STAFF, PEOPLE, "Bo Quist", False),
    ],
)
def test_the_row_with_the_most_or_the_least_is_named(question, header, rows, answer, is_certain):
    found = compare_rows(question, header, rows)
    assert found is not None
    assert (found.text, found.is_certain) == (answer, is_certain)
    assert all(row in rows for row in found.rows)


BUSES = "Stop          Bus A    Bus B    Bus C"
STOPS = ["Quay          06:40    08:15    11:05", "Mill          06:55    08:31    11:02"]
OFFERS = "| 比较项目 | 锦川家具 | 东霖办公 | 和木工坊 |"
OFFERED = ["| 单价 | 860元 | 795元 | 1,020元 |", "| 交货期 | 15天 | 25天 | 10天 |", "| 质保年限 | 3年 | 2年 | 5年 |"]


@pytest.mark.parametrize(
    ("question", "header", "rows", "answer", "row"),
    [
        ("Which gets to the Mill earlier, Bus A or Bus B?", BUSES, STOPS, "Bus A", STOPS[1]),
        ("哪家单价最低？", OFFERS, OFFERED, "东霖办公", OFFERED[0]),
        ("锦川家具和东霖办公，哪家保修更长？", OFFERS, OFFERED, "锦川家具", OFFERED[2]),
    ],
)
def test_columns_are_compared_where_each_row_is_of_one_kind(question, header, rows, answer, row):
    found = compare_rows(question, header, rows)
    assert found is not None
    assert (found.text, found.rows) == (answer, (row,))


@pytest.mark.parametrize(
    ("question", "time"),
    [
        ("When is the first bus from Quay?", "06:40"),
        ("What time does the last one leave Quay?", "11:05"),
        ("When does Bus B leave?", None),
        ("first and last bus?", None),
    ],
)
def test_the_first_and_the_last_of_a_rows_times(question, time):
    assert find_outermost(question, ["Quay", "06:40", "08:15", "11:05"]) == time
    assert find_outermost(question, ["Quay", "06:40", "£3", "4"]) is None


def test_of_two_columns_of_a_kind_the_first_is_meant_and_nothing_is_certain():
    found = compare_rows(
        "Which is dearer, van or car?", "| What | Price | Set-up fee |", ["| Van | £3 | £1 |", "| Car | £2 | £9 |"]
    )
    assert found is not None
    assert (found.text, found.is_certain) == ("Van", False)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How much is the dearest?", "£48"),
        ("Which costs the most?", "Otter"),
        ("Which closes the latest?", "Heron"),
        ("Which costs less, the otter by the day or the heron?", "Heron"),
    ],
)
def test_a_value_is_asked_for_or_the_row_that_has_it(question, answer):
    rows = ["| Otter | £48 | 9:00–17:00 |", "| Heron | £36 | 10:00–18:30 |", "| | £84 | |"]
    found = compare_rows(question, "| Boat | Price | Closes |", rows)
    assert found is not None
    assert found.text == answer


ACCOUNTS = "| Section | Income Other | Expenses Other |"
OF_ACCOUNTS = [
    "| Judo | 412 | 655 |",
    "| Volleyball | 1,204 | 2,871 |",
    "| Tax adviser | 0 | 30 |",
    "| Total | 4,761 | 6,063 |",
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which section had the highest other expenses?", "Volleyball"),
        ("Which section had the lowest other expenses?", "Tax adviser"),
    ],
)
def test_a_total_is_compared_with_none_of_its_parts(question, answer):
    found = compare_rows(question, ACCOUNTS, OF_ACCOUNTS)
    assert found
    assert found.text == answer


PLOTS = "| Plot | Tenant | Size (m²) |"
OF_PLOTS = ["| 1 | Oyelaran | 250 |", "| 2 | Kohl | 125 |", "| 3 | Jensen | 500 |", "| 4 | Aziz | 240 |"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which is the largest plot?", "3"),
        ("Who has the largest plot?", "Jensen"),
        ("Which is the smallest plot?", "2"),
        ("Who has the highest plot?", None),
    ],
)
def test_the_number_of_a_row_is_no_measure(question, answer):
    found = compare_rows(question, PLOTS, OF_PLOTS)
    assert (found and found.text) == answer


def test_a_comparison_of_two_shows_both_and_of_all_the_one_that_won():
    two = compare_rows("Which takes longer, Cotton or Duvets?", DRYER, PROGRAMMES)
    one = compare_rows("Which programme has the shortest time?", DRYER, PROGRAMMES)
    assert two is not None and one is not None  # noqa: PT018 - both are narrowed
    assert (two.rows, one.rows) == (tuple(PROGRAMMES[:2]), (PROGRAMMES[2],))


@pytest.mark.parametrize(
    ("question", "header", "rows"),
    [
        ("Which is nicer, Cotton or Duvets?", DRYER, PROGRAMMES),
        ("Which takes longer, Cotton or Silk?", DRYER, PROGRAMMES),
        ("Which programmes take less than 3 h?", DRYER, PROGRAMMES),
        ("Which has the longest time?", DRYER, [PROGRAMMES[0], PROGRAMMES[0].replace("Cotton", "Wool")]),
        ("Which has the longest time?", DRYER, PROGRAMMES[:1]),
        ("Which has the longest time?", DRYER, []),
        ("Which is longer or shorter?", DRYER, PROGRAMMES),
        ("Does the shop or the hotel ask which yard has the lower price?", *BOATS),
        ("Which parcel is heaviest?", "Parcel | Weight", ["A | 900 g", "B | 3 kg"]),
        ("Which team is ranked highest?", "Team | Rank", ["A | 1", "B | 5"]),
        ("Which line has the worst delay?", "Line | Delay", ["Mill | 30 minutes", "Quay | 5 minutes"]),
        ("Which yard has the best price?", *BOATS),
    ],
)
def test_what_the_table_cannot_tell_is_not_told(question, header, rows):
    assert compare_rows(question, header, rows) is None


@pytest.mark.parametrize(
    "question",
    [
        "Which is dearer, A or B?",
        "What is the highest fee?",
        "Where is it coldest?",
        "Who is the oldest?",
        "谁的隐患多？",
        "哪家最便宜？",
    ],
)
def test_questions_that_compare(question):
    assert asks_comparison(question)


@pytest.mark.parametrize("question", ["What does A cost?", "Where is the order kept?", "A多少钱？"])
def test_questions_that_do_not(question):
    assert not asks_comparison(question)


@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4))
def test_any_text_gives_one_of_the_rows_or_none(question, header, rows):
    found = compare_rows(question, header, rows)
    assert found is None or set(found.rows) <= set(rows)
