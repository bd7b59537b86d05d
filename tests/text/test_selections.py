"""Which rows of a table have a value beyond a bound, or a certain word."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwheel.text.comparisons import compare_rows
from bookwheel.text.selections import asks_bound, narrow_rows, select_rows

HEADER = "| Boat | Price | Shed | Berths | Open |"
ROWS = [
    "| Otter | £1,200 | North | 4 | yes |",
    "| Heron | £900 | South | 12 | no |",
    "| Teal | £30 | North | 6 | no |",
]
STOCK = "Item no.,Description,Qty on hand,Min. stock"
ITEMS = ["F-1,Hex bolt,850,1000", "F-2,Wood screw,900,400", "F-3,Grinder,4,5"]
UNITS = "Room             This year     Last year"
ROOMS = ["Bedroom              315           290", "Kitchen              530           598"]
STORES = "库名,存粮（吨）,主要品种,等级"
GRAIN = ["渡头库,19750,稻谷,良好", "城关库,8200,小麦,优秀", "南岭库,33850,稻谷,良好", "杨庄库,46200,玉米,优秀"]


@pytest.mark.parametrize(
    ("question", "header", "rows", "names", "is_measured"),
    [
        ("Which boats cost less than £950?", HEADER, ROWS, ("Heron", "Teal"), True),
        ("boats with more than five berths?", HEADER, ROWS, ("Heron", "Teal"), True),
        ("Which boats have at least 12 berths?", HEADER, ROWS, ("Heron",), True),
        ("Which boats have 6 or more berths?", HEADER, ROWS, ("Heron", "Teal"), True),
        ("Which boats are dearer than £100?", HEADER, ROWS, ("Otter", "Heron"), True),
        ("Which boats have no less than 6 berths?", HEADER, ROWS, ("Heron", "Teal"), True),
        ("Which boats have not more than 6 berths?", HEADER, ROWS, ("Otter", "Teal"), True),
        ("Which boats lie in the north shed?", HEADER, ROWS, ("Otter", "Teal"), False),
        ("Which items are below their minimum stock?", STOCK, ITEMS, ("Hex bolt", "Grinder"), True),
        ("Which rooms used more units than last year?", UNITS, ROOMS, ("Bedroom",), True),
        ("哪些库存粮超过3万吨？", STORES, GRAIN, ("南岭库", "杨庄库"), True),
        ("哪些库存粮不少于33850吨？", STORES, GRAIN, ("南岭库", "杨庄库"), True),
        ("哪些库被评为优秀？", STORES, GRAIN, ("城关库", "杨庄库"), False),
        ("存粮不到10000吨的是哪几个库？", STORES, GRAIN, ("城关库",), True),
    ],
)
def test_rows_are_chosen_by_a_bound_or_by_a_word(question, header, rows, names, is_measured):
    found = select_rows(question, header, rows)
    assert found is not None
    assert (found.names, found.is_measured) == (names, is_measured)
    assert all(row in rows for row in found.rows)


@pytest.mark.parametrize(
    "question",
    [
        "Which boats are for sale?",
        "Which boats are open?",
        "Which boats have no shed in the north?",
        "Which boats cost less than £10?",
        "Which boats cost more than £10?",
        "Which boats weigh more than 10 kg?",
        "Which boats came to the north shed before 1850?",
        "",
    ],
)
def test_none_or_all_rows_or_no_column_is_no_answer(question):
    assert select_rows(question, HEADER, ROWS) is None


def test_a_bound_is_known_by_its_words():
    assert asks_bound("rooms with over 1,000 objects?")
    assert asks_bound("金额超过2,000元")
    assert not asks_bound("Which boats lie in the north shed?")


RUNS = ("Runner | Time", ["Ada | 35 minutes", "Bo | 45 minutes"])
TWO_RUNS = ("Runner | Time | Last time", ["Ada | 35 minutes | 33 minutes", "Bo | 45 minutes | 50 minutes"])
BUILT = ("Boat | Built", ["Otter | 1980", "Heron | 1995"])
SPEEDS = ("Train | Speed | Price", ["A | 120 km/h | £2", "B | 90 km/h | £3"])
BUSES = ("Bus | Leaves | Arrives", ["A | 8:40 | 9:20", "B | 9:05 | 9:50", "C | 9:30 | 10:10"])
STAFF = ("Name | Joined", ["Ada | 3 April 2019", "Bo | 4 May 2020", "Cy | 12 June 2021"])
SINCE = ("Member | Since | Fee", ["Ada | 2001 | £5", "Bo | 2015 | £9"])
POSTS = ("Name | Years in post | Since", ["Ada | 20 | 2001", "Bo | 6 | 2015", "Cy | 3 | 2022"])
LAPS = ("Runner | Time | Laps", ["Ada | 2:05 | 3", "Bo | 12:30 | 5", "Cy | 9:45 | 2"])
LONG_RUNS = ("Runner | Time", ["Ada | 59:30", "Bo | 2:05:30", "Cy | 1:58:00"])
TALKS = ("Talk | Time | Length", ["A | 9:45 | 20 min", "B | 12:30 | 40 min", "C | 9:00 | 50 min"])
AGES = ("Name | Age", ["Ada | 30", "Bo | 12", "Cy | 50"])


@pytest.mark.parametrize(
    ("question", "table", "names"),
    [
        ("Which runners were faster than 40 minutes?", RUNS, ("Ada",)),
        ("Which runners were slower than 40 minutes?", RUNS, ("Bo",)),
        ("Whose time was faster than their last time?", TWO_RUNS, ("Bo",)),
        ("Which boats are older than 1990?", BUILT, ("Otter",)),
        ("Which boats are younger than 1990?", BUILT, ("Heron",)),
        ("Which boats are newer than 1990?", BUILT, ("Heron",)),
        ("Which trains are faster than 100 km/h?", SPEEDS, ("A",)),
        ("Which trains are slower than 100 km/h?", SPEEDS, ("B",)),
        ("Who is older than 20?", AGES, ("Ada", "Cy")),
        ("Who is younger than 20?", AGES, ("Bo",)),
        ("哪些船早于1990年？", ("船 | 建造年份", ["甲 | 1980年", "乙 | 2000年"]), ("甲",)),
        ("哪些线路快于40分钟？", ("线路 | 用时", ["甲 | 30分钟", "乙 | 50分钟"]), ("甲",)),
        ("哪些无人机的价格超过50元？", ("无人机 | 价格", ["甲 | 30元", "乙 | 60元"]), ("乙",)),
        ("Which item no. cost over £2?", ("Item no. | Cost", ["Bolt | £1", "Nut | £3"]), ("Nut",)),
        # A day and a time of day are more than their first number.
        ("Which buses leave earlier than 9:15?", BUSES, ("A", "B")),
        ("Which buses arrive later than 9:45?", BUSES, ("B", "C")),
        ("Which buses leave later than 10 am?", ("Bus | Leaves", ["A | 1:30 pm", "B | 9:15 am"]), ("A",)),
        ("Which shops close later than 5 pm?", ("Shop | Closes", ["A | 9 pm", "B | 11 am"]), ("A",)),
        ("Who joined earlier than 3 May 2020?", STAFF, ("Ada",)),
        ("Who joined later than May 3, 2020?", STAFF, ("Bo", "Cy")),
        ("Who joined later than 2020?", STAFF, ("Cy",)),
        ("谁晚于2020年5月3日入职？", ("姓名 | 入职日期", ["甲 | 2019年4月3日", "乙 | 2020年5月4日"]), ("乙",)),
        # A length of time is compared with lengths of time.
        ("Who has been in post longer than 5 years?", POSTS, ("Ada", "Bo")),
        ("Which runners ran longer than 3 minutes?", LAPS, ("Bo", "Cy")),
        ("Which races lasted longer than 10 minutes?", LAPS, ("Bo",)),
        ("Who ran longer than 2 hours?", LONG_RUNS, ("Bo",)),
        ("Which films are longer than 2 hours?", ("Film | Duration", ["A | 1:45", "B | 2:10"]), ("B",)),
        ("Which talks took longer than 30 minutes?", TALKS, ("B", "C")),
        ("Which buses take longer than 10 minutes?", ("Bus | Departure time", ["A | 9:45", "B | 12:30"]), None),
        ("Who has been a member longer than 5 years?", SINCE, None),
        ("Who has been a member since longer than 5 years?", SINCE, None),
        ("Which runners were faster than 40?", RUNS, None),
        ("Which buses leave later than 9?", BUSES, None),
        # A bound that is denied, two bounds, and what no figure tells.
        ("Which trains are not faster than 100 km/h?", SPEEDS, None),
        ("Which trains are no slower than 100 km/h?", SPEEDS, None),
        ("哪些无人机的价格没有超过50元？", ("无人机 | 价格", ["甲 | 30元", "乙 | 60元"]), None),
        ("Which runners were not faster than their last time?", TWO_RUNS, None),
        ("Who is older than 20 and younger than 40?", AGES, None),
        # Figures in two units, and ranks.
        ("Which parcels are heavier than 2 kg?", ("Parcel | Weight", ["A | 900 g", "B | 3 kg", "C | 1 kg"]), None),
        ("Which parcels are heavier than 2 kg?", ("Parcel | Weight", ["A | 900 g", "B | 1 g"]), None),
        ("Which teams are ranked higher than 3?", ("Team | Rank", ["A | 1", "B | 5"]), None),
        ("Which trains are busier than 100?", SPEEDS, None),
    ],
)
def test_what_is_older_has_an_earlier_year_and_what_is_faster_a_shorter_time(question, table, names):
    found = select_rows(question, *table)
    assert (found and found.names) == names


@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4))
def test_any_text_gives_some_of_the_rows_or_none(question, header, rows):
    found = select_rows(question, header, rows)
    assert found is None or (set(found.rows) <= set(rows) and len(found.rows) < len(rows))


def test_a_bound_in_a_unit_is_about_the_column_that_has_it():
    header = "| Programme | Most | Time |"
    rows = ["| Cotton | 8 kg | 2 h |", "| Mixed | 3 kg | 1 h |", "| Cupboard | 7 kg | 3 h |"]
    assert select_rows("Which programmes can take more than 5 kg of laundry?", header, rows).names == (
        "Cotton",
        "Cupboard",
    )


@pytest.mark.parametrize("question", ["一" * 5_000, "1" * 5_000, "more than 5 " * 1_000])
def test_a_long_question_takes_no_longer_than_its_length(question):
    begun = process_time()
    assert select_rows(question, HEADER, ROWS) is None
    assert process_time() - begun < 2


JOBS = "| Job | Site | Kind | Who | State | Cost |"
JOB_ROWS = [
    "| J-1 | Old Lock | lamp | A. Berg | open | 80 |",
    "| J-2 | Old Lock | crane | B. Berg | done | 900 |",
    "| J-3 | Dry Dock | lamp | A. Berg | open | 450 |",
    "| J-4 | Old Lock | crane | A. Berg | open | 700 |",
    "| J-5 | Dry Dock | crane | B. Berg | done | 300 |",
]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Which jobs at the Old Lock are open?", ("J-1", "J-4")),
        ("Which jobs at the Old Lock cost more than 400?", ("J-2", "J-4")),
        ("Which open crane jobs did A. Berg have at the Old Lock?", ("J-4",)),
        ("Which lamps are done?", None),
        ("Which jobs cost more than 400?", ("J-2", "J-3", "J-4")),
    ],
)
def test_rows_have_all_that_a_question_names(question, names):
    found = select_rows(question, JOBS, JOB_ROWS)
    assert (found and found.names) == names


def test_a_word_of_two_columns_narrows_nothing():
    games = [
        "Home | Guests | Day",
        *("Leeds | York | Mon", "York | Leeds | Tue", "Leeds | Hull | Wed", "Hull | York | Thu"),
    ]
    assert narrow_rows("When did Leeds win?", games[0], games[1:]) == []
    assert narrow_rows("Which games of Hull at home?", games[0], games[1:]) == []


def test_what_a_bound_says_names_no_cell():
    header, rows = (
        "品名,品种,存量,最低存量,备注",
        ["稻,晚糯,85,100,低于最低存量", "麦,郑丰,95,60,", "豆,黑河,48,50,低于最低存量；已订", "米,香丝,9,8,"],
    )
    assert select_rows("哪些品种低于最低存量？", header, rows).names == ("晚糯", "黑河")


BOOK = "| No | Text | Amount |"
BOOKED = ["| 1 | Insurance | -312.40 |", "| 2 | Fair | 418.20 |", "| 3 | Pump | -240.00 |", "| 4 | Rent | 30.00 |"]
OFFER = "| Item | Price |"
OFFERED = ["| Mast | 250 |", "| Sail | 300 |", "| Rope | 20 |", "| Oar | 90 |", "| Old customers | -25 |"]


@pytest.mark.parametrize(
    ("question", "header", "rows", "names"),
    [
        ("How many payments were over 200 euros?", BOOK, BOOKED, ("Insurance", "Pump")),
        ("How many payments of over 200 euros were received?", BOOK, BOOKED, ("Fair",)),
        ("How many amounts were over 200 euros?", BOOK, BOOKED, ("Fair",)),
        ("How many items cost more than 200?", OFFER, OFFERED, ("Mast", "Sail")),
    ],
)
def test_what_was_paid_is_negative_in_a_book_that_has_both(question, header, rows, names):
    assert select_rows(question, header, rows).names == names


def test_the_largest_payment_is_the_most_negative_amount_of_a_book_that_has_both():
    assert compare_rows("What was the largest payment?", BOOK, BOOKED).rows == (BOOKED[0],)
    assert compare_rows("What was the largest payment received?", BOOK, BOOKED).rows == (BOOKED[1],)
