"""Rows as models write them, and values in another form than the document's."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookwheel import TextDocument, collect
from bookwheel.models.scripted import ScriptedModel
from bookwheel.tables.columns import TableRequest
from bookwheel.tables.rows import SectionRows, UnreadableRowsError, WrittenRow, parse_rows, place_rows

SENTENCE = "every payment: who, amount, due date"
COLUMNS = TableRequest.parse(SENTENCE).columns
ROW = WrittenRow(cells=("Ada", "5 kg", None), quote="Ada owes 5 kg")


@pytest.mark.parametrize(
    "reply",
    [
        '<think>{"rows": [{"who": "Bob"}]}</think>```json\n{"rows": [{"who": "Ada", "amount": "5 kg", "quote": "Ada owes 5 kg"}]}\n```',
        'Here {you} are: [{"Who": "Ada", "amount": "5 kg", "DueDate": "N/A", "source_quote": "Ada owes 5 kg"}] [see above]',
        '{"who": "Ada", "amount": {"value": 5, "unit": "kg"}, "due_date": "none", "quote": ["Ada owes 5 kg"]}',
        "{'rows': [{'who': 'Ada', 'amount': '5 kg', 'due date': None, 'quote': 'Ada owes 5 kg',},  // one\n],}",
        '{"rows"：[{"who": "Ada"，"amount": "5 kg", "quote": "Ada owes\n5 kg"}]，"memory": null}',
        '{"items": [{"who": "Ada", "amount": "5 kg", "quote": "Ada owes 5 kg"}]}',
    ],
)
def test_a_row_is_read_in_whichever_shape_a_model_writes_it(reply: str) -> None:
    assert parse_rows(reply, COLUMNS).rows == (ROW,)


def test_a_line_for_each_row_is_a_table() -> None:
    lines = [json.dumps({"who": name, "amount": "5", "quote": name}) for name in ("Ada", "Bo")]
    assert [row.cells[0] for row in parse_rows("\n".join(lines), COLUMNS).rows] == ["Ada", "Bo"]


def test_what_stands_in_strings_is_not_mended() -> None:
    reply = "{'rows': [{'who': 'None, }', \"amount\": \"a // b, ]\", 'quote': 'x：y'}],}"
    assert parse_rows(reply, COLUMNS).rows == (WrittenRow(cells=("None, }", "a // b, ]", None), quote="x：y"),)


@pytest.mark.parametrize(
    "reply", ['{"rows": [{"who": "Ada", "quote": "Ada"}, {"who": "B', '{"rows": [{"who": "Ada"} {"who"']
)
def test_rows_of_a_broken_reply_are_not_taken_for_all(reply: str) -> None:
    with pytest.raises(UnreadableRowsError):
        parse_rows(reply, COLUMNS)


def test_keys_that_name_no_column_are_asked_for_again_and_then_taken_in_order(tmp_path: Path) -> None:
    reply = '{"rows": [{"party": "Ada", "sum": "5 kg", "until": null, "quote": "Ada owes 5 kg", "confidence": "high"}]}'
    with pytest.raises(UnreadableRowsError, match="who, amount, due date, and not party, sum, until"):
        parse_rows(reply, COLUMNS)
    assert parse_rows(reply, COLUMNS, by_order=True).rows == (ROW,)
    replies: Iterator[str] = iter([reply, reply.replace("party", "who").replace("sum", "amount")])
    model = ScriptedModel(lambda _: next(replies), window=8192)
    table = collect(TextDocument("Ada owes 5 kg."), SENTENCE, model=model, journal=tmp_path / "j.sqlite")
    assert [row.cells for row in table.rows] == [("Ada", "5 kg", None)]


@pytest.mark.parametrize(
    ("text", "value", "is_proven"),
    [
        ("due 15 March 2027", "2027-03-15", True),
        ("Minutes of 9 June 2026. Ada sends it by Friday 12 June.", "2026-06-12", True),
        ("before the first of July 2026", "2026-07-01", True),
        ("二〇二六年九月一日前", "2026-09-01", True),
        ("a fee of twelve thousand five hundred pounds", "12500", True),
        ("€ 8,75", "8.75", True),
        ("人民币壹万贰仟元整", "12000", True),
        ("鸡蛋两箱", "2", True),
        ("due 15 March 2027", "2027-03-16", False),
        ("due 15 March 2027, or May 2028", "2028-03-15", True),
        ("a fee of twelve thousand pounds", "12500", False),
        ("€ 8,75", "875", False),
        ("€ 8.75", "8", False),
        ("He paid 8.", "8", True),
        ("of 8, and 9", "8", True),
        ("a fee of .5", "5", False),
        ("人民币壹万贰仟元整", "1200", False),
    ],
)
def test_a_value_in_another_form_stands_there_and_another_value_does_not(
    text: str, value: str, is_proven: bool
) -> None:
    row = WrittenRow(cells=(value,), quote=text)
    assert place_rows(SectionRows(rows=(row,)), text, "")[0].is_proven is is_proven


def test_a_quote_that_says_what_it_leaves_out_has_its_place() -> None:
    text = "The Tenant shall, whatever the weather or the season may be, pay 5 crowns to Ada."
    (placed,) = place_rows(_said("The Tenant shall ... pay 5 crowns"), text, "")
    assert placed.span == (0, text.index(" to Ada"))
    (turned,) = place_rows(_said("pay 5 crowns … The Tenant shall"), text, "")
    assert turned.span is None


def _said(quote):
    return SectionRows(rows=(WrittenRow(cells=("5",), quote=quote),))
