"""Rows without a writer: the parts of a document that the sentence asks for."""

from __future__ import annotations

from bookwheel.documents.opening import TextDocument
from bookwheel.tables.columns import TableRequest
from bookwheel.tables.quoted import QuotedRows


def test_the_mark_of_a_picture_is_no_value_of_the_words_below_it() -> None:
    document = TextDocument("[page 3, figure 1]\nItem Price\nRope | 12.50\n\nSee price note [4].\n", name="prices.png")
    found = QuotedRows.find(document, TableRequest.parse("every item: name, price"))
    assert found.rows[0].quote == "Item Price\nRope | 12.50"
    assert found.rows[0].cells[1] == "12.50"
    assert document.slice(found.starts[0], found.starts[0] + 10) == "Item Price"


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


def test_where_a_word_names_some_rows_only_those_are_rows() -> None:
    found = find(LEDGER, "every invoice of Kestrel Legal: Invoice, amount, due date")
    assert found == [("R-1", "120.00", "2025-02-01"), ("R-3", "12.00", "2025-02-19")]


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


LEASE = (
    "This lease is between Corbridge LLP (the Landlord) and Marrow Ltd (the Tenant).\n\n"
    "1.1 The Tenant shall pay a rent of £14,400 a year on the first day of each month.\n\n"
    "1.2 Before any work is begun, and in any case by 31 January 2026, Marrow & Sons shall fit a damper.\n\n"
    "1.3 The Tenant may, but need not, put up a sign. It is hoped that the Tenant will come to the open days.\n\n"
    "1.4 The Landlord must insure the building, and show the policy on request.\n\n"
    "| party | duty | date |\n|---|---|---|\n| Tenant | damper | 31 January 2026 |\n"
)


def test_duties_are_rows_with_who_bears_them_and_until_when() -> None:
    assert find(LEASE, "every obligation: who, what, until when, amount") == [
        (
            "The Tenant",
            "pay a rent of £14,400 a year on the first day of each month",
            "on the first day of each month",
            "£14,400",
        ),
        ("Marrow & Sons", "fit a damper", "31 January 2026", None),
        ("The Landlord", "insure the building, and show the policy on request", "on request", None),
    ]


def test_actions_of_minutes_are_rows_and_what_only_says_more_of_one_is_none() -> None:
    text = (
        "2. Bins. Clerk still has to ring the District. He will do so by Friday 13 March 2026.\n\n"
        "3. Seats. Cllr Bhatt will order two, not over £180. RB suggested that somebody might look into panels.\n\n"
        "4. Hedge. T Oduya to get quotes by the April meeting. Correction to item 3: the limit is £160.\n"
    )
    assert find(text, "every action: who, what, by when, amount") == [
        ("Clerk", "ring the District", "13 March 2026", None),
        ("Cllr Bhatt", "order two, not over £180", None, "£180"),
        ("T Oduya", "get quotes by the April meeting", "by the April meeting", None),
    ]


def test_duties_in_chinese() -> None:
    text = "第一条 乙方应于2026年3月5日前支付租金。\n\n第二条 甲方负责修缮屋顶。\n\n第三条 本合同一式两份。\n"
    found = find(text, "每一项义务：谁，什么，期限")
    assert [(who, what) for who, what, _ in found] == [("乙方", "于2026年3月5日前支付租金"), ("甲方", "修缮屋顶")]
