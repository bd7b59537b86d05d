"""Rows without a writer: the parts of a document that the sentence asks for."""

from __future__ import annotations

from bookwheel.documents.opening import TextDocument
from bookwheel.tables.columns import TableRequest
from bookwheel.tables.quoted import QuotedRows


def test_the_mark_of_a_picture_is_no_value_of_the_words_below_it() -> None:
    text = "[page 3, figure 1]\nItem | Price\nRope | 12.50\nOar | 4.00\n\nSee price note [4].\n"
    document = TextDocument(text, name="prices.png")
    found = QuotedRows.find(document, TableRequest.parse("every item: name, price"))
    assert [row.cells for row in found.rows] == [("Rope", "12.50"), ("Oar", "4.00")]
    assert document.slice(found.starts[0], found.starts[0] + 4) == "Rope"


def find(text: str, ask: str) -> list[tuple[str | None, ...]]:
    return [row.cells for row in QuotedRows.find(TextDocument(text), TableRequest.parse(ask)).rows]


LEDGER = (
    "| Invoice | Date | Supplier | Net | VAT | Gross | Due | Cost centre |\n|---|---|---|---|---|---|---|---|\n"
    "| R-1 | 2025-01-02 | Kestrel Legal | 100.00 | 20.00 | 120.00 | 2025-02-01 | 210 |\n"
    "| R-2 | 2025-01-03 | 晨光文具 | 50.00 | 10.00 | 60.00 | 2025-02-02 | 110 |\n"
    "| R-3 | 2025-01-05 | Kestrel Legal | 10.00 | 2.00 | 12.00 | 2025-02-19 | 340 |\n"
)


def test_a_column_goes_to_the_one_of_its_name_or_else_of_its_kind() -> None:
    assert find(LEDGER, "every invoice: Invoice, Supplier, Gross, Due")[1] == ("R-2", "晨光文具", "60.00", "2025-02-02")
    # A deadline is no date of issue, an amount the last figure, and a cost centre no amount.
    assert find(LEDGER, "every invoice: who, amount, until when")[0] == ("Kestrel Legal", "120.00", "2025-02-01")


BOATS = (
    "| Boat | Class | Customer | Fee |\n|---|---|---|---|\n"
    "| Curlew | skiff | Ada Quill | 4.00 |\n| Old Martha | eight | Bo Reuter | 15.00 |\n"
)


def test_a_name_is_that_of_the_thing_that_is_asked_for() -> None:
    assert find(BOATS, "every boat: name, class, fee")[1] == ("Old Martha", "eight", "15.00")
    assert find(BOATS, "every customer: name, fee")[0] == ("Ada Quill", "4.00")
    # Whose name stands under none of its own.
    assert find(BOATS, "every order of a boat: name, fee")[0][0] != "Curlew"
    chinese = "| 船 | 船型 | 费用 |\n|---|---|---|\n| 白鹭 | 单人艇 | 40元 |\n| 海燕 | 双人艇 | 65元 |\n"
    assert find(chinese, "每艘船：名称，船型，费用")[0] == ("白鹭", "单人艇", "40元")


def test_what_stands_first_under_no_name_is_what_the_rows_are_called() -> None:
    boats = "| | Price | Class |\n|---|---|---|\n| Otter | £48 | B |\n| Heron | £36 | C |\n"
    assert find(boats, "every boat: name, price") == [("Otter", "£48"), ("Heron", "£36")]
    crew = "| | Role | Since |\n|---|---|---|\n| Ada Quill | keeper | 2019 |\n| Tom Rook | cooper | 2020 |\n"
    assert find(crew, "every person: owner, role") == [("Ada Quill", "keeper"), ("Tom Rook", "cooper")]


def test_a_line_that_names_the_columns_is_no_row() -> None:
    masters = "Boat | Master\nWren | Ada\nTern | Bo\nSwan | Cy\n"
    assert find(masters, "every boat: boat, master") == [("Wren", "Ada"), ("Tern", "Bo"), ("Swan", "Cy")]
    filled = "Date | Boat | Cost | Litres\n2024-03-01 | Wren | 40.00 | 21.50\n2024-03-05 | Gull | 20.00 | 11.50\n"
    assert find(filled, "every filling: date, boat, cost") == [
        ("2024-03-01", "Wren", "40.00"),
        ("2024-03-05", "Gull", "20.00"),
    ]


def test_where_a_word_names_some_rows_only_those_are_rows() -> None:
    found = find(LEDGER, "every invoice of Kestrel Legal: Invoice, amount, due date")
    assert found == [("R-1", "120.00", "2025-02-01"), ("R-3", "12.00", "2025-02-19")]


def test_what_a_row_is_called_leaves_none_out_that_does_not_say_it_in_other_words() -> None:
    book = "| Date | Kind | Text | Amount |\n|---|---|---|---|\n| 5 May | rent | Lee, part payment | 30 |\n"
    book += "| 6 May | rent | Tuohy | 15 |\n| 7 May | repair | hinge | -9 |\n"
    assert len(find(book, "every payment: date, text, amount")) == 3
    # A column of kinds says which rows are meant.
    assert [row[1] for row in find(book, "every repair: date, text, amount")] == ["hinge"]


def test_what_sums_up_the_rows_is_none_of_them() -> None:
    tools = "| Tool | Pieces | State |\n|---|---|---|\n| Spade | 9 | good |\n| Fork | 6 | bent |\n"
    for line in ("| Summe | 15 | |", "| **All** | **15** | |", "| Average | 7.5 | |", "| | Total | 15 |"):
        assert [row[0] for row in find(f"{tools}{line}\n", "every tool: tool, pieces, state")] == ["Spade", "Fork"]
    # In a row that is as full as the others it is a name.
    assert len(find(f"{tools}| All | 2 | new |\n", "every tool: tool, pieces, state")) == 3


def test_a_column_that_one_table_names_is_guessed_in_no_other_one() -> None:
    text = "# Active\n\n| No | Surname | Fee | Discount |\n|---|---|---|---|\n| 1 | Hsu | 60 | none |\n\n"
    text += "# Left\n\n| No | Surname | Left on | Reason | Owes |\n|---|---|---|---|---|\n"
    text += "| 8 | Novak | 2026-06-30 | injury | 16 |\n"
    assert ("Hsu", "60", "none") in find(text, "every member: surname, fee, discount")
    assert not any("16" in row or "injury" in row for row in find(text, "every member: surname, fee, discount"))


def test_what_is_struck_out_is_no_row_and_no_value() -> None:
    tools = "| Tool | Pieces |\n|---|---|\n| Spade | 9 |\n| Barrow | ~~3~~ 5 |\n| ~~Axe~~ | ~~1~~ |\n"
    assert find(tools, "every tool: tool, pieces") == [("Spade", "9"), ("Barrow", "5")]
    text = "~~The mower may be borrowed on Sundays.~~ The mower was stolen on 3 March 2026.\n"
    assert not any("Sundays" in (cell or "") for row in find(text, "every mower: what, date") for cell in row)


MINUTES = (
    "# Meeting in May\n\n## Actions\n\n| No. | Action | Owner | Due |\n|---|---|---|---|\n"
    "| 1 | Order the survey | Joel Abara | 31 May 2025 |\n| 2 | Call the fire officer | Sunil Rao | 7 June 2025 |\n\n"
    "# Meeting in June\n\n1. Oil. It was found.\n\n2. Actions.\n"
    "- Henrik Dahl to ask three builders by 14 July 2025.\n- Mina: send the plans by 1 July 2025.\n\n"
    "Actions: Sunil Rao tells the roofers by 28 July 2025. Petra Nemec signs the order by 1 August 2025.\n"
)


def test_tasks_in_tables_items_and_behind_a_label_have_their_doer_and_their_day() -> None:
    assert find(MINUTES, "every action: who, what, until when") == [
        ("Joel Abara", "Order the survey", "31 May 2025"),
        ("Sunil Rao", "Call the fire officer", "7 June 2025"),
        ("Henrik Dahl", "to ask three builders by 14 July 2025.", "14 July 2025"),
        ("Mina", "send the plans by 1 July 2025.", "1 July 2025"),
        ("Sunil Rao", "tells the roofers by 28 July 2025.", "28 July 2025"),
        ("Petra Nemec", "signs the order by 1 August 2025.", "1 August 2025"),
    ]


def test_a_label_before_tasks_in_chinese() -> None:
    text = "一、屋顶。已完成。\n\n待办事项:苏尼尔·拉奥,8月1日之前提出申诉;陈晓岚,8月15日之前寄出请柬。\n"
    found = find(text, "每项待办事项:谁、什么、期限")
    assert [(who, day) for who, _, day in found] == [("苏尼尔·拉奥", "8月1日"), ("陈晓岚", "8月15日")]


def test_an_amount_has_its_currency_and_is_no_number_of_a_clause_a_house_or_a_day() -> None:
    text = "4.1 On 3 May 2025 the Tenant of 48 Corn Street pays a deposit of GBP 23,550.\n"
    ((what, amount),) = find(text, "every deposit of a tenant: what, amount")
    assert what
    assert what.startswith("On 3 May")
    assert amount == "GBP 23,550"


SHEET = (
    "|  |  |  |  |  |\n|---|---|---|---|---|\n"
    "| 1 | 10:05 | Mrs Adeyemi | mixer | smells of burning |\n| 2 | 10:10 | Tom Birch | scooter | wheel wobbles |\n"
    "| — tea — |  |  |  |  |\n| 3 | 11:30 | Hettie Lowe | jeans | ripped |\n"
)


def test_a_table_without_names_for_its_columns_is_read_by_their_order_and_kinds() -> None:
    assert find(SHEET, "every item: who brought it, what it was, what was wrong") == [
        ("Mrs Adeyemi", "mixer", "smells of burning"),
        ("Tom Birch", "scooter", "wheel wobbles"),
        ("Hettie Lowe", "jeans", "ripped"),
    ]
    # What counts the rows is no price.
    assert ("1", "mixer", "smells of burning") not in find(SHEET, "every item: price, who brought it, what was wrong")


ACTIONS = (
    "| Action | Owner | Status | Notes |\n|---|---|---|---|\n| Order the survey | Joel | open | soon |\n"
    "| Ring Bo | Sunil | open |  |\n| Paint the door | Ada | done | red |\n"
)
ASKED = "every action: who, what, priority, remark"


def test_a_table_with_names_is_never_read_by_its_order_against_them() -> None:
    for text in (ACTIONS, f"# Actions\n\n{ACTIONS}\n# Repairs\n\n{SHEET}"):
        found = [row[:2] for row in find(text, ASKED)]
        assert {("Joel", "Order the survey"), ("Sunil", "Ring Bo"), ("Ada", "Paint the door")} <= {*found}
        assert ("Order the survey", "Joel") not in found
        assert not any("Owner" in row or "Mrs Adeyemi" in row for row in found)
    codes = ACTIONS.replace("Action", "c1").replace("Owner", "c2")
    assert not any("c1" in (cell or "") for row in find(codes, "every step: where, how, state") for cell in row)


def test_a_sheet_whose_columns_have_codes_for_names_is_read_by_their_order_and_its_first_row_is_a_row() -> None:
    sheet = (
        "| exp_id | src | ttl | qty2 | wt.g | rem |\n|---|---|---|---|---|---|\n"
        "| 88012 | hand | Tongs, bent | 1 | 212,5 | gift |\n| 88013 | hand | Stick | 3 | 1.140,0 |  |\n"
        "| 88015 | scan | Quoins | 1 | 3.020,0 | a box |\n"
    )
    asked = "every object: number, what it is, how many, weight, remark"
    whole = ("88012", "Tongs, bent", "1", "212,5", "gift")
    assert find(sheet, asked)[:2] == [whole, ("88013", "Stick", "3", "1.140,0", None)]
    named = "| R01 | Rosa canina | 3 L | 18,50 |\n|---|---|---|---|\n| R02 | Rosa alba | bare root | 4,20 |\n"
    named += "| R03 | Rosa rugosa | 3 L | 17,00 |\n"
    assert find(named, "every plant: number, name, size, price")[0] == ("R01", "Rosa canina", "3 L", "18,50")


def test_a_sentence_with_the_values_that_are_asked_for_comes_before_one_without() -> None:
    text = "The swords are kept in the hall.\n\nNuala took them from Hartley for £7.50 until 2 March 2026.\n"
    ((what, price, day),) = find(text, "everything hired: item, price, until when")
    assert what is not None
    assert (price, day) == ("£7.50", "2 March 2026")
