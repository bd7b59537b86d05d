"""Values of rows that look like nothing, or like another number, and are neither."""

import json
from dataclasses import replace

import pytest

from bookwheel.tables.columns import Column, Kind, TableRequest
from bookwheel.tables.rows import SectionRows, WrittenRow, parse_rows, place_rows


def test_the_documents_own_word_for_nothing_is_a_value() -> None:
    columns = TableRequest.parse("every row: treatment, leaching, note").columns
    reply = {"rows": [{"treatment": "none", "leaching": "29.6", "note": "none", "quote": "control | 29.6"}]}
    assert parse_rows(json.dumps(reply), columns).rows[0].cells == (None, "29.6", None)
    reply["rows"][0] |= {"note": "n/a", "quote": "none | 30.8 | 28.4 | 29.6"}
    assert parse_rows(json.dumps(reply), columns).rows[0].cells == ("none", "29.6", None)


def test_a_reduction_is_a_negative_number_of_what_the_text_says() -> None:
    row = WrittenRow(cells=("-37 %",), quote="the reduction is 37 %, not 29 %")
    (placed,) = place_rows(SectionRows(rows=(row,)), "Corrected: the reduction is 37 %, not 29 %.", "")
    assert placed.is_proven
    (other,) = place_rows(SectionRows(rows=(replace(row, cells=("-38 %",)),)), "the reduction is 37 %, not 29 %", "")
    assert not other.is_proven


@pytest.mark.parametrize(
    ("quote", "value", "is_proven"),
    [
        ("| insurance | -312,40 |", "312,40", False),
        ("| insurance | -312,40 |", "-312,40", True),
        ("| water | -1.204,55 |", "1204.55", False),
        ("| 2019-2021 | rain |", "2021", True),
        ("- 5 crowns to Ada", "5 crowns", True),
        ("from -3 to 3 degrees", "3", True),
        ("~~Ada pays 5 crowns.~~ Bo pays 6.", "6", True),
        ("~~Ada pays 5 crowns.~~ Bo pays 6.", "5", False),
        ("~~Ada pays 5 crowns.~~", "Ada", False),
        ("| Barrow | ~~3~~ 5 | good |", "~~3~~ 5", True),
    ],
)
def test_a_number_without_its_minus_and_struck_words_prove_nothing(quote: str, value: str, *, is_proven: bool) -> None:
    row = WrittenRow(cells=(value,), quote=quote)
    assert place_rows(SectionRows(rows=(row,)), f"Some text.\n{quote}\nMore.", "")[0].is_proven is is_proven


def test_a_quote_may_leave_out_what_is_struck() -> None:
    section = "| Barrow | ~~3~~ 5 | good |"
    (placed,) = place_rows(SectionRows(rows=(WrittenRow(cells=("5",), quote="| Barrow | 5 | good |"),)), section, "")
    assert placed.is_proven


def test_a_model_is_told_what_to_mend_in_the_language_of_its_prompt() -> None:
    columns = TableRequest.parse("每一笔：谁，金额").columns
    row = WrittenRow(cells=("王芳", "999元"), quote="王芳付了136元")
    (placed,) = place_rows(SectionRows(rows=(row,)), "王芳付了204元。", "")
    told = placed.tell_faults(columns, "zh")
    assert "999" in told
    assert "neither" not in told
    assert "neither the section" in placed.tell_faults(columns, "de")


def test_a_unit_that_stands_above_the_numbers_of_a_table_is_theirs() -> None:
    section = "Ledger, all in thousand euros (人民币行单位：万元)\n| platform | 73.5 |\n| laser | 186.4 |"
    for cell, is_proven in (
        ("73.5万元", True),
        ("73.5 thousand euros", True),
        ("74.5万元", False),
        ("73.5亿元", False),
    ):
        row = WrittenRow(cells=(cell,), quote="platform | 73.5")
        (placed,) = place_rows(SectionRows(rows=(row,)), section, "")
        assert placed.is_proven is is_proven, cell


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("Preis Stückpreis Betrag Montant Importe 金額 费用 経費 Materialkosten", Kind.NUMBER),
        ("Frist Lieferdatum Échéance Fecha 日付 签订日", Kind.DATE),
        ("Name Nummer Ort data 備考 生日礼物 数值", Kind.TEXT),
    ],
)
def test_a_column_of_other_languages_speaks_of_a_date_or_an_amount(names: str, kind: Kind) -> None:
    for name in names.split():
        assert TableRequest.parse(f"every row: who, {name}").columns[1].kind is kind, name


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *(("5.9 ± 0.3 kg/ha", 5.9), ("3.1 × 10^6", 3.1e6), ("3.1×10⁶ cells", 3.1e6), ("1.5e-3 mol", 0.0015)),
        *(("10^-3", 0.001), ("0.42 h^−1", 0.42), ("1 900 SEK", 1900), ("12 345,6", 12_345.6)),
        *(("< 0.05", None), ("≥ 12", None), ("10–12", None), ("2024 120", None)),
    ],
)
def test_a_number_of_science_is_one_and_a_bound_is_none(value: str, number: float | None) -> None:
    assert Column(name="amount", kind=Kind.NUMBER).normalize(value) == number
