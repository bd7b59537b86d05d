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
