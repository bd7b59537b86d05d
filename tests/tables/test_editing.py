"""What a person changes in a table stays, also when the reading goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from table_model import FILLER, SENTENCE, extract, make_model, write_document

from bookwheel import TextDocument, collect, resume
from bookwheel.errors import InputError
from bookwheel.journal import Journal
from bookwheel.tables.api import edit_table, load_table


def test_a_row_that_was_removed_or_edited_stays_so_after_the_reading_goes_on(tmp_path: Path) -> None:
    journal, text = tmp_path / "j.sqlite", TextDocument(write_document(60))
    half = collect(text, SENTENCE, model=make_model(), journal=journal, max_tokens_total=6000)
    assert half.reading.status == "stopped"
    edit_table(half.reading.id, half.rows[0].id, None, journal=journal)
    edit_table(half.reading.id, half.rows[1].id[:6], {"Amount": "7 crowns"}, journal=journal)
    resume(half.reading.id, model=make_model(), journal=journal)
    after = load_table(half.reading.id, journal=journal)
    assert (len(after.rows), after.removed, after.unproven) == (59, 1, 0)
    assert after.rows[0].cells == ("Tenant 1", "7 crowns", "2 June 2027")
    assert (after.rows[0].is_by_hand, after.rows[0].id) == (True, half.rows[1].id)
    assert "1 rows were removed by hand" in after.list_notes()


def test_an_edit_goes_with_its_reading(tmp_path: Path) -> None:
    journal = tmp_path / "j.sqlite"
    table = collect(TextDocument(write_document(2)), SENTENCE, model=make_model(), journal=journal)
    edit_table("last", table.rows[0].id, {"who": "Mallory Grange"}, journal=journal)
    with Journal(journal) as store:
        assert store.find_damage() == []
        store.delete(table.reading.id)
    assert b"Mallory" not in journal.read_bytes()


@pytest.mark.parametrize(
    ("row", "values", "advice"),
    [
        ("", {"who": "x"}, "no row"),
        ("zz", {"who": "x"}, "no row"),
        ("{0}", {"whom": "x"}, "no column"),
        ("{0}", {"who": "", "amount": "", "due date": ""}, "remove it"),
    ],
)
def test_an_edit_of_nothing_that_is_there_is_refused(row: str, values, advice: str, tmp_path: Path) -> None:
    journal = tmp_path / "j.sqlite"
    table = collect(TextDocument(write_document(2)), SENTENCE, model=make_model(), journal=journal)
    with pytest.raises(InputError, match=advice):
        edit_table("last", row.format(table.rows[0].id), values, journal=journal)


def test_rows_that_differ_in_one_number_alone_contradict_until_one_is_removed(tmp_path: Path) -> None:
    journal = tmp_path / "j.sqlite"
    text = "Tenant 1 pays 5 crowns by 3 June 2027.\n" + FILLER * 30 + "Tenant 1 pays 6 crowns by June 3, 2027.\n"

    def read(messages) -> str:
        return (
            extract(messages).replace("[]", "[]")
            if "June 3" not in messages[0].content
            else (
                '{"rows": [{"who": "Tenant 1", "amount": "6 crowns", "due date": "June 3, 2027", '
                '"quote": "Tenant 1 pays 6 crowns by June 3, 2027"}], "memory": ""}'
            )
        )

    table = collect(TextDocument(text), SENTENCE, model=make_model(read), journal=journal)
    assert [row.contradicts for row in table.rows] == [True, True]
    after = edit_table("last", table.rows[1].id, None, journal=journal)
    assert [row.contradicts for row in after.rows] == [False]


def test_one_fact_in_two_wordings_is_one_row(tmp_path: Path) -> None:
    wordings = {
        "Ada paid 5,000 crowns on 3 June 2027": ("Ada", "5,000 crowns", "3 June 2027"),
        "ada paid 5000 Crowns on June 3rd, 2027": ("ada", "5000 Crowns.", "June 3rd, 2027"),
    }

    def read(messages) -> str:
        section = messages[0].content.partition("<section>")[2]
        found = [(quote, cells) for quote, cells in wordings.items() if quote in section]
        names = ("who", "amount", "due date")
        return json.dumps({"rows": [dict(zip(names, cells, strict=True)) | {"quote": quote} for quote, cells in found]})

    text = f"{'. '.join([*wordings][:1])}. {FILLER * 20} {[*wordings][1]}."
    table = collect(TextDocument(text), SENTENCE, model=make_model(read), journal=tmp_path / "j.sqlite")
    assert [len(row.places) for row in table.rows] == [2]
