"""Short answers out of tables: a cell under its column's name, and the row with the most or the least."""

import asyncio
import re

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.flags import Flag
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading.ways.document_index import index_passages
from bookwheel.reading.ways.passages import PassageIndex
from bookwheel.reading.ways.quotes import quotes
from bookwheel.reading.ways.table_answers import find_numbered_row, find_table_answer, names_other_row
from bookwheel.text.structure import Shape
from bookwheel.types import Answer

TEXT = """# Boats for hire

All boats carry oars. Ask at the kiosk before noon.

| Boat | Price a day | Crew | Berth |
| --- | --- | --- | --- |
| Otter | £48 | 4 | 303 |
| Heron | £36 | 6 | 12 |
| Teal | £40 | 2 | 9 |

## Winter stores

| Boat | Price a day | Shed |
| --- | --- | --- |
| Heron | £5 | North |
| Smew | £3 | South |
"""
HEADER = "Boats for hire … | Boat | Price a day | Crew | Berth | … "
OTTER, HERON, TEAL = "| Otter | £48 | 4 | 303 |", "| Heron | £36 | 6 | 12 |", "| Teal | £40 | 2 | 9 |"


def overlap(messages, question):
    text = re.findall(r"\w+", messages[-1].content.partition("Write one question")[0].casefold())
    return [-1.0 - len(text) / 500 if word in text else -6.0 for word in re.findall(r"\w+", question.casefold())]


def ask(question, text=TEXT, least_gain=0.0):
    async def run():
        model = ScriptedModel(lambda _: "303", likelihood=overlap, window=4096)
        plan = Plan(chunk_tokens=90, memory_tokens=120, answer_tokens=40, prompts="small", least_gain=least_gain)
        return [event async for event in quotes(TextDocument(text), question, model, plan)][-1]

    answer = asyncio.run(run())
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize(
    ("question", "row", "text", "is_sure"),
    [
        ("Otter price a day?", OTTER, "£48", True),
        ("What is the crew that Heron takes?", HERON, "6", False),
        ("Which is cheaper, Otter or Heron?", OTTER, "Heron", True),
        ("Which boat has the biggest crew?", TEAL, "Heron", False),
        ("What is the most that Otter costs?", OTTER, "£48", False),
    ],
)
def test_a_row_answers_by_its_column_and_by_its_table(question, row, text, is_sure):
    found = find_table_answer(question, HEADER + row, TextDocument(TEXT))
    assert found is not None
    assert (found.text, found.is_sure) == (text, is_sure)
    assert all(line.startswith(HEADER) for line in found.passage.splitlines())


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("Otter price a day?", "All boats carry oars."),
        ("Which boats have a berth?", HEADER + OTTER),
        ("Which boats lie in the north shed?", "All boats carry oars."),
        ("Is the Otter cheaper than the Heron?", HEADER + OTTER),
        ("Which has more oars, Heron or Teal?", HEADER + HERON),
        ("How many boats cost as much as Heron or more?", HEADER + HERON),
        ("How many boats cost at least as much as Heron?", HEADER + HERON),
        ("Who paints the Otter?", HEADER + OTTER),
        ("Otter price a day?", HEADER + "| Coot | £1 | 1 | 1 |"),
    ],
)
def test_what_no_column_tells_is_left_to_others(question, passage):
    assert find_table_answer(question, passage, TextDocument(TEXT)) is None


@pytest.mark.parametrize(
    ("question", "passage", "text", "is_sure"),
    [
        ("Which boats cost more than £38 a day?", "All boats carry oars.", "Otter\nTeal", True),
        ("boats with at least 4 crew?", HEADER + TEAL, "Otter\nHeron", True),
        ("Which is the boat with the biggest crew?", "", "Heron", False),
    ],
)
def test_rows_of_any_table_are_compared_and_those_beyond_a_bound_listed(question, passage, text, is_sure):
    found = find_table_answer(question, passage, TextDocument(TEXT))
    assert found is not None
    assert (found.text, found.is_sure, found.is_looked_up) == (text, is_sure, True)
    assert len(found.passage.splitlines()) == len(text.splitlines())


@pytest.mark.parametrize(
    "question",
    ["What does the boat in the north shed cost for more than 2 days?", "What hangs over the bar?", "When is it over?"],
)
def test_a_bound_in_another_question_asks_for_no_list(question):
    assert find_table_answer(question, "All boats carry oars.", TextDocument(TEXT)) is None


def test_of_a_long_table_no_rows_are_compared_and_no_long_list_is_an_answer():
    rows = "\n".join(f"| Boat {number} | £{number} |" for number in range(60))
    table = TextDocument(f"| Boat | Price |\n| --- | --- |\n{rows}\n")
    assert find_table_answer("Which boats cost less than £59?", "", table) is None
    few = find_table_answer("Which boats cost less than £3?", "", table)
    assert few is not None
    assert few.text == "Boat 0\nBoat 1\nBoat 2"
    longer = TextDocument(f"| Boat | Price |\n| --- | --- |\n{rows}\n" + "| Boat x | £99 |\n" * 5000)
    assert find_table_answer("Which boats cost less than £3?", "", longer) is None


def test_how_many_rows_lie_beyond_a_bound_is_counted():
    found = find_table_answer("How many boats cost more than £38 a day?", HEADER + OTTER, TextDocument(TEXT))
    assert found is not None
    assert (found.text, found.is_sure, len(found.passage.splitlines())) == ("2", False, 2)


def test_rows_are_those_of_one_table_though_another_has_the_same_names():
    rows = PassageIndex.build(TEXT).list_windows(Shape.ROW)
    assert [row.text for row in rows] == [OTTER, HERON, TEAL, "| Heron | £5 | North |", "| Smew | £3 | South |"]
    found = find_table_answer("Which is cheaper, Heron or Smew?", rows[-1].shown, TextDocument(TEXT))
    assert found is not None
    assert found.text == "Smew"


RECEIPT = """Harbour Coffee

Flat white            3.80
Almond croissant      2.95
Tea                   2.40
Tea, large            2.90
Total                12.05
"""


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What did the flat white cost?", "3.80"),
        ("How much was a large tea?", "2.90"),
        ("what is the total?", "12.05"),
        ("What did the juice cost?", None),
        ("What was the total of the other shop?", None),
        ("What was the total area?", None),
        ("How much sugar goes into a tea?", None),
        ("Who had the flat white?", None),
    ],
)
def test_a_line_without_a_header_answers_by_its_name(question, text):
    found = find_table_answer(question, "", TextDocument(RECEIPT))
    assert (found.text if found else None) == text


def test_a_line_without_a_header_answers_in_chinese_too():
    found = find_table_answer(
        "拿铁多少钱？", "", TextDocument("海港咖啡\n\n拿铁      28.00\n可颂      15.00\n红茶      12.00\n")
    )
    assert found is not None
    assert found.text == "28.00"


def test_a_reading_says_the_cell_and_shows_its_row():
    answer = ask("What is the price a day of the Otter, the price a day?")
    assert answer.text == "£48"
    assert OTTER in answer.passage


def test_a_comparison_is_told_though_no_passage_answers():
    answer = ask("Which one has the smallest crew of the whole lot, by the way?")
    assert answer.text == "Teal"


def test_a_reading_that_compares_shows_both_rows():
    answer = ask("Which boat has the cheaper price a day: Otter or Heron?")
    assert answer.text == "Heron"
    assert Flag.UNSURE not in answer.flags
    assert [line.rpartition(" … ")[2] for line in answer.passage.splitlines()] == [OTTER, HERON]


LEDGER = """| Invoice | Date | Supplier | Gross | Due |
| --- | --- | --- | --- | --- |
| R-25000 | 2025-03-02 | Kestrel Legal | 120.00 | 2025-04-01 |
| R-25003 | 2025-03-03 | Halden Energy | 60.00 | 2025-04-02 |
| R-25006 | 2025-04-05 | Kestrel Legal | 12.00 | 2025-05-19 |
| R-25009 | 2026-03-05 | Lumen Catering | 112.50 | 2026-04-19 |
"""


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which invoices have a gross amount of more than 100?", "R-25000\nR-25009"),
        ("Which invoice has the lowest gross amount?", "R-25006"),
        ("How many invoices are from Kestrel Legal?", "2"),
        ("How many invoices are dated in March 2025?", "2"),
        ("Which invoices are due in April 2025?", "R-25000\nR-25003"),
    ],
)
def test_rows_that_only_a_code_tells_apart_are_compared_listed_and_counted(question, text):
    document = TextDocument(LEDGER)
    row = next(iter(PassageIndex.build(LEDGER).list_windows(Shape.ROW)))
    found = find_table_answer(question, row.shown, document)
    assert found
    assert (found.text, found.is_looked_up) == (text, True)


@pytest.mark.parametrize(
    ("question", "is_other"),
    [
        ("What is the gross amount of invoice R-99999?", True),
        ("What is the gross amount of invoice R-25000?", False),
        ("What did the hotel in Shanghai cost?", True),
        ("What does Kestrel charge?", False),
        ("How much is Kestrell?", False),
        ("When is R-25000 due?", False),
    ],
)
def test_a_row_of_something_else_than_what_is_asked_about_answers_nothing(question, is_other):
    row = next(iter(PassageIndex.build(LEDGER).list_windows(Shape.ROW)))
    assert names_other_row(question, row.shown, TextDocument(LEDGER)) is is_other


STALLS = """# Market

| Pitch no. | Trader | Sells | Fee |
| --- | --- | --- | --- |
| 14 | Tobias Fenn | bread | 30 |
| 21 | Ruth Calder | knives | 28 |
| 22 | Ivo Brandt | cheese | 21 |

| 摊位号 | 摊主 |
| --- | --- |
| 3 | 单国平 |
| 25 | 林小满 |
"""


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who is on pitch 21?", "Ruth Calder"),
        ("What does pitch 22 cost?", "Ivo Brandt"),
        ("25号摊位是谁的？", "林小满"),
        ("When is pitch 21?", ""),
        ("When does pitch 21 open?", ""),
        ("Who has pitch 33?", ""),
        ("Who has pitch 21 or 22?", ""),
    ],
)
def test_a_row_is_named_by_a_column_and_its_number(question, text):
    shown = find_numbered_row(question, TextDocument(STALLS))
    assert bool(shown) is bool(text)
    assert text in shown


def test_a_row_that_its_number_names_answers_whatever_the_gain():
    assert "Ruth Calder" in ask("Who is on pitch 21?", STALLS, 90).text
    assert "not" in ask("Who is on pitch 33?", STALLS, 90).text


@pytest.mark.parametrize(("question", "is_other"), [("Who has pitch 21?", False), ("Who has pitch 33?", True)])
def test_a_row_with_another_number_in_the_named_column_is_another_one(question, is_other):
    rows = PassageIndex.build(STALLS).list_windows(Shape.ROW)
    row = next(one for one in rows if "Ruth" in one.text)
    assert names_other_row(question, row.shown, TextDocument(STALLS)) is is_other


CHART = """Traffic of the port
|  | Passengers, 2024 (thousands) |
| --- | --- |
| Aldby | 412 |
| Munk | 139 |
0 100 200 300 400
"""


@pytest.mark.parametrize(
    ("question", "row", "text"),
    [
        ("Which harbour had the fewest passengers?", "Aldby", "Munk"),
        ("How many thousand did Munk have?", "Munk", "139"),
        ("What share goes to Aldby?", "Aldby", "412"),
        ("Who is the master of Munk?", "Munk", None),
    ],
)
def test_a_table_right_below_its_title_and_with_an_empty_corner_is_one(question, row, text):
    document = TextDocument(CHART)
    shown = next(one.shown for one in index_passages(document).list_windows(Shape.ROW) if row in one.text)
    found = find_table_answer(question, shown, document)
    assert (found.text if found else None) == text


@pytest.mark.parametrize(
    "question", ["Which symbolic solver is used for first-order logic?", "Which encoder has the least memory?"]
)
def test_a_table_of_another_matter_compares_nothing(question):
    table = "| Method | TimeQA | Rounds |\n| --- | --- | --- |\n| Plain | 38.1 | 4 |\n| Stepped | 66.0 | 9 |\n"
    assert find_table_answer(question, "", TextDocument(table)) is None


def test_what_only_looks_like_a_comparison_is_told_by_its_row():
    row = next(iter(PassageIndex.build(LEDGER).list_windows(Shape.ROW)))
    found = find_table_answer("Which supplier sent invoice R-25000?", row.shown, TextDocument(LEDGER))
    assert found
    assert (found.text, found.is_looked_up) == ("Kestrel Legal", False)


@pytest.mark.parametrize(
    "text",
    [
        "| Boat | Days |\n| --- | --- |\n| Otter | 4 | spare |\n",
        "Key\n\nOtter | brown line\nHeron | red cross: doctor, Tue\n",
    ],
)
def test_a_row_with_other_cells_than_its_header_has_names_breaks_nothing(text):
    """A heading, or a line of a picture's legend, may pass for a header."""
    document = TextDocument(text, "map.md")
    rows = index_passages(document).list_windows(Shape.ROW)
    assert rows
    for row in rows:
        assert find_table_answer("How many days does the doctor come?", row.shown, document) is None


JOBS = """job,day,site,kind,person,state,cost
J-1,2026-03-01,Old Lock,lamp,A. Berg,open,80
J-2,2026-04-01,Old Lock,crane,B. Berg,done,900
J-3,2026-05-01,Dry Dock,lamp,A. Berg,open,450
J-4,2026-06-01,Old Lock,crane,C. Lund,open,700
J-5,2026-07-01,Dry Dock,crane,B. Berg,done,1300
"""


@pytest.mark.parametrize(
    ("question", "text"),
    [
        # What the rows are stands in the file's name alone.
        ("What was the most expensive repair?", "J-5"),
        ("Which repair at the Old Lock was the cheapest?", "J-1"),
        ("How much was the dearest repair at the Old Lock?", "900"),
        ("What did the most expensive lamp repair cost?", "450"),
        ("Who did the most expensive repair at the Old Lock?", "B. Berg"),
        ("When was the most expensive repair?", "2026-07-01"),
        ("Which site had the most expensive repair?", "Dry Dock"),
        ("What kind of repair was the cheapest?", "lamp"),
        ("How many repairs at the Old Lock are open?", "2"),
        ("What was the most expensive boat?", None),
    ],
)
def test_of_the_rows_that_a_question_names_one_has_the_most(question, text):
    document = TextDocument(JOBS, "repairs_2026.csv")
    passage = index_passages(document).list_windows(Shape.ROW)[0].shown
    found = find_table_answer(question, passage, document)
    assert (found and found.text) == text


DUES = """| Berth | Tenant | Rent due | Rent paid | Paid on |
| --- | --- | --- | --- | --- |
| 1 | Ada Quill | 40 | 40 | 3 May |
| 2 | Bo Fell | 40 | | |
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Has Bo Fell paid?", "No."),
        ("Has Bo Fell paid the rent?", "No."),
        ("Has Ada Quill paid?", None),
        ("Has Bo Fell not paid?", None),
        ("Has Bo Fell a dog?", None),
    ],
)
def test_an_empty_cell_under_what_is_asked_for_says_no(question, answer):
    row = next(line for line in DUES.splitlines() if question.split()[1] in line)
    told = find_table_answer(question, row, TextDocument(DUES))
    assert (told and told.text) == answer
    assert told is None or not told.is_sure


def test_what_is_copied_out_of_a_row_where_no_column_is_told_is_not_sure():
    answer = ask("Who sails Heron?")
    assert "Heron" in answer.text
    assert Flag.UNSURE in answer.flags
