"""Rows without a writer: the parts of a document that the sentence asks for."""

from __future__ import annotations

import time

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.tables.columns import TableRequest
from bookwheel.tables.duties import asks_for_duties, find_deadline, find_duties
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
        ("Henrik Dahl", "ask three builders by 14 July 2025", "14 July 2025"),
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
        ("Tenant", "damper", "31 January 2026", None),
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


TASKS = "every task: who, what, by when"


def test_duties_take_no_row_of_a_table_or_of_a_sentence_that_says_itself_that_it_is_asked_for() -> None:
    text = (
        "| who | task | by when |\n|---|---|---|\n| Ada | Paint the door | 4 May 2026 |\n| Odo | Ring Bo | 5 May 2026 |\n\n"
        "The members shall vote at seven. The guests must leave at nine. All tenants must pay then. Ada must ring Bo.\n\n"
        "Odo must ring Bo by 5 May 2026.\n"
    )
    assert find(text, TASKS) == [
        ("Ada", "Paint the door", "4 May 2026"),
        ("Odo", "Ring Bo", "5 May 2026"),
        ("The members", "vote at seven", None),
        ("The guests", "leave at nine", None),
        ("All tenants", "pay then", None),
        ("Ada", "ring Bo", None),
    ]
    text = "Obligation of all guests: leave by 4 May 2026.\n\nThe Host shall pay.\n\nThe Guest shall pay.\n"
    found = find(text, "every obligation: who, what, until when")
    assert [cells[2] for cells in found] == ["4 May 2026", None, None]


@pytest.mark.parametrize(
    ("sentence", "duties"),
    [
        ("Due to rain the hall was shut.", []),
        ("According to plan it will close.", []),
        ("The road to the mill is shut.", []),
        ("The weather will change.", []),
        ("The meeting will begin at seven.", []),
        ("Any guest must leave.", [("Any guest", "leave")]),
        ("No guest shall smoke.", [("No guest", "smoke")]),
        ("A tenant shall pay.", [("A tenant", "pay")]),
        ("The Tenant, at his own cost, shall paint it.", [("The Tenant", "paint it")]),
        (
            "The Tenant shall pay rent, and the Landlord shall insure the barn.",
            [("The Tenant", "pay rent"), ("the Landlord", "insure the barn")],
        ),
        ("The Contractor (Bo Ltd) shall paint it.", [("The Contractor", "paint it")]),
        ("Every member of the club must vote.", [("Every member of the club", "vote")]),
        ("I promise to come.", []),
        ("ACTION: the clerk to send the plans.", [("the clerk", "send the plans")]),
        ("Ada and Bo must ring.", [("Ada and Bo", "ring")]),
        ("供应商名单在附件中。", []),
        ("需求说明见附件。", []),
        ("公司应收账款见附表。", []),
        ("项目负责人见附表。", []),
        ("王芳负责签订合同，李明负责场地。", [("王芳", "签订合同"), ("李明", "场地")]),
        ("供应商应按时交货。", [("供应商", "按时交货")]),
        ("项目负责人应当签字。", [("项目负责人", "签字")]),
    ],
)
def test_a_duty_has_a_doer_and_no_thing_does_one(sentence: str, duties: list[tuple[str, str]]) -> None:
    assert [(duty.who, duty.what) for duty in find_duties(sentence, TASKS)] == duties


@pytest.mark.parametrize(
    "ask", ["every customs duty", "each enforcement action", "all legal action", "每家有限责任公司"]
)
def test_other_duties_and_actions_are_none_of_somebody(ask: str) -> None:
    assert not asks_for_duties(f"{ask}: who, what")


def test_a_deadline_is_no_verb() -> None:
    assert find_deadline("do such works on what the Landlord may require") == ""
    assert find_deadline("pay by the end of May") == "by the end of May" or find_deadline("pay by May") == "by May"
    assert find_deadline("乙方应于每月5日前支付租金") == "每月5日前"


def test_what_says_again_stands_directly_behind_its_duty() -> None:
    text = "# Bins\n\nAda must ring Bo.\n\n# Oil\n\nHe will do so by 4 May 2026.\n"
    assert ("Ada", "ring Bo", None) in find(text, TASKS)


def test_long_sentences_are_read_in_linear_time() -> None:
    began = time.process_time()
    assert not [*find_duties("Ada and " * 20_000, TASKS)]
    assert time.process_time() - began < 1


def test_duties_in_chinese() -> None:
    text = "第一条 乙方应于2026年3月5日前支付租金。\n\n第二条 甲方负责修缮屋顶。\n\n第三条 本合同一式两份。\n"
    found = find(text, "每一项义务：谁，什么，期限")
    assert [(who, what) for who, what, _ in found] == [("乙方", "于2026年3月5日前支付租金"), ("甲方", "修缮屋顶")]
