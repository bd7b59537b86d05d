"""What a later section puts right is set beside the row that it puts right, and says which comes later."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from table_model import FILLER, PLAN

from bookwheel import TextDocument, collect
from bookwheel.graph.facts import build_graph
from bookwheel.models.scripted import ScriptedModel
from bookwheel.tables import disagreeing
from bookwheel.tables.build import _join_rows
from bookwheel.tables.columns import TableRequest
from bookwheel.tables.disagreeing import mark_disagreeing
from bookwheel.tables.rows import SectionRows
from bookwheel.tables.table import Place, Table, TableRow

SENTENCE = "every order: what, who from, amount, date"
TEXT = (
    "Nails from Brown cost 287.50. Rope from Brown cost 40.00. Nails from Fell cost 12.00.\n"
    + FILLER * 30
    + "\nBrown sent the bill for nails: 278.50, they had it wrong.\n"
)


def read(messages) -> str:
    section = messages[0].content.partition("<section>")[2]
    rows = [
        {"what": what, "who from": who, "amount": amount, "quote": found[0]}
        for found in re.finditer(r"(\w+) from (\w+) cost ([\d.]+)\.", section)
        for what, who, amount in [found.groups()]
    ]
    if "had it wrong" in section:
        quote = "the bill for nails: 278.50, they had it wrong"
        rows.append({"what": "nails", "who from": "Brown", "amount": "278.50", "quote": quote, "corrects": "287.50"})
    return json.dumps({"rows": rows, "memory": ""})


def make_table(tmp_path: Path) -> Table:
    model = ScriptedModel(read, plan=PLAN, window=1400)
    return collect(TextDocument(TEXT), SENTENCE, model=model, journal=tmp_path / "j.sqlite")


def test_a_value_that_is_put_right_later_is_told_beside_the_new_one(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    old, *others, new = table.rows
    assert (old.later, old.is_corrected, old.others) == (new.id, True, (new.id,))
    assert (new.later, new.others, new.corrects) == (None, (old.id,), "287.50")
    assert not any(row.contradicts for row in others)
    assert table.query("select sum(amount_number) from rows where holds")[1] == [(330.5,)]
    assert f"row {new.id} further on says otherwise" in table.to_markdown()
    assert any("one further on says otherwise: 1;" in note for note in table.list_notes())


def test_a_correction_of_one_value_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.request = TableRequest.parse("every place: name, year, boxes, chicks, guests")
    found: list[tuple[tuple[str | None, ...], str]] = [
        (("Low Lode", "2024", "28", "86", "7"), ""),
        (("Low Lode", "2024", None, "68", None), "86"),
        (("Upper Lode", "2024", "31", "120", "9"), ""),
        (("Low Lode", "2024", "29", None, None), "28"),
        (("Upper Lode", "2024", None, None, None), "9"),
    ]
    table.rows = [
        TableRow(id=str(at), cells=cells, places=table.rows[0].places, is_proven=True, corrects=corrects)
        for at, (cells, corrects) in enumerate(found)
    ]
    mark_disagreeing(table.rows, table.columns, [])
    held = "select row, boxes, chicks, guests from rows where holds"
    assert table.query(held)[1] == [("3", "29", "68", "7"), ("4", "31", "120", None)]
    assert table.rows[1].cells == found[1][0]


def test_a_correction_of_what_is_in_no_row_is_counted(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.rows = table.rows[1:]
    mark_disagreeing(table.rows, table.columns, [])
    assert not any(row.contradicts for row in table.rows)
    assert any("that put right what stands in no other row: 1;" in note for note in table.list_notes())


@pytest.mark.parametrize(
    ("corrects", "cells", "expected"),
    [
        ("46", ("item 4", None, "64"), 0),  # named by the value that it had
        ("as printed", ("item 4", "homes", "64"), 0),
        ("120 guests", ("tent of item 8", None, "150"), 1),
        ("120", ("tent of item 8", "guests", None), 1),  # to nothing
        ("something", ("item 9", "homes", "64"), None),  # the same of another thing
        ("46", ("item 4", "homes", "46"), None),  # nothing differs
        ("", ("item 4", None, "64"), None),  # it does not say that it puts anything right
    ],
)
def test_a_correction_finds_the_row_that_it_is_most_like(corrects: str, cells, expected: int | None) -> None:
    columns = TableRequest.parse("every item: name, what, number").columns
    earlier = [("item 4", "homes", "46"), ("tent of item 8", "guests", "120"), ("item 5", "homes", "64")]
    rows = [
        TableRow(id=str(at), cells=one, places=[Place(quote="", start=0, end=0, step=at)], is_proven=True)
        for at, one in enumerate([*earlier, cells])
    ]
    rows[-1].corrects = corrects
    mark_disagreeing(rows, columns, [])
    assert [at for at, row in enumerate(rows) if row.is_corrected] == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("corrects", "expected"),
    [
        ("1.850,00 €", ["rent"]),  # not the last row that is like it
        ("伍仟伍佰伍拾元", ["deposit"]),
        ("59,081.40 €", []),  # no row has it
        ("the old one", ["deposit"]),
    ],
)
def test_a_correction_that_names_a_number_is_of_a_row_that_has_it(corrects: str, expected: list[str]) -> None:
    columns = TableRequest.parse("every payment: who, Betrag, ab wann").columns
    cells = {
        "rent": ("tenant", "1.850,00 € monatlich", "1. Januar 2023"),
        "deposit": ("tenant", "5.550,00 €", None),
        "new": ("tenant", "1.950,00 €", "1. April 2025"),
    }
    rows = [
        TableRow(id=name, cells=one, places=[Place(quote="", start=0, end=0, step=at)], is_proven=True)
        for at, (name, one) in enumerate(cells.items())
    ]
    rows[-1].corrects = corrects
    mark_disagreeing(rows, columns, [])
    assert [row.id for row in rows if row.is_corrected] == expected


def test_a_correction_that_says_until_when_it_held_ends_the_open_one_and_no_other() -> None:
    columns = TableRequest.parse("every fact: subject, relation, object, since, until").columns
    cells = [
        ("Chidi Okafor", "holds shares of", "CharWorks AB", "2018", None),
        ("Chidi Okafor", "sold his shares of", "CharWorks AB", "30 November 2021", None),
        ("Chidi Okafor", "holds shares of", "CharWorks AB", "2018", "November 2021"),
    ]
    rows = [
        TableRow(id=str(at), cells=one, places=[Place(quote="", start=0, end=0, step=at)], is_proven=True)
        for at, one in enumerate(cells)
    ]
    rows[-1].corrects = "holds shares since 2018"
    mark_disagreeing(rows, columns, [])
    assert [row.id for row in rows if row.is_corrected] == ["0"]


def test_rows_of_one_key_that_only_complete_each_other_do_not_disagree() -> None:
    columns = TableRequest.parse("every endpoint: path, function, login").columns
    cells = [
        ("/a", "pick", None),
        ("/a", None, "yes"),
        ("/b", "put", None),
        ("/b", "get", None),
        ("", "x", None),
        ("", "y", None),
    ]
    rows = [
        TableRow(id=str(at), cells=one, places=[Place(quote="", start=0, end=0, step=at)], is_proven=True)
        for at, one in enumerate(cells)
    ]
    mark_disagreeing(rows, columns, [0])
    assert [row.id for row in rows if row.contradicts] == ["2", "3"]


def make_rows(names: list[str], corrects: list[str]) -> list[TableRow]:
    return [
        TableRow(
            id=f"{at:05}",
            cells=(name, f"{at}"),
            places=[Place(quote="", start=0, end=0, step=at)],
            is_proven=True,
            corrects=words,
        )
        for at, (name, words) in enumerate(zip(names, corrects, strict=True))
    ]


def test_rows_that_all_disagree_share_one_list_and_each_names_a_few() -> None:
    columns = TableRequest.parse("every item: name, number").columns
    rows = make_rows(["tent"] * 1000, [""] * 1000)
    mark_disagreeing(rows, columns, [0])
    assert len({id(group) for row in rows for group in row.groups}) == 1
    assert rows[3].others == ("00000", "00001", "00002", "00004", "00999")
    assert (rows[3].later, rows[-1].later) == ("00999", None)
    assert all(len(row.others) <= 6 for row in rows)


@pytest.mark.parametrize("name", ["the same tent", "tent {}"])
def test_a_correction_is_compared_with_few_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    are_alike = disagreeing._are_alike

    def count(*values) -> bool:
        nonlocal compared
        compared += 1
        return are_alike(*values)

    monkeypatch.setattr(disagreeing, "_are_alike", count)
    monkeypatch.setattr(disagreeing, "_MOST_COMPARED", 5)
    columns = TableRequest.parse("every item: name, number").columns
    rows = make_rows([name.format(at) for at in range(300)], ["5"] * 300)
    mark_disagreeing(rows, columns, [])
    assert compared <= 300 * 2 * 2 * 5


def test_a_correction_finds_its_row_in_a_long_table_by_its_rare_words_and_by_the_value() -> None:
    columns = TableRequest.parse("every item: name, number").columns
    rows = make_rows([*(f"tent of item {at}" for at in range(1000)), "tent of item 7"], [*[""] * 1000, "as printed"])
    mark_disagreeing(rows, columns, [])
    assert [row.id for row in rows if row.is_corrected] == ["00007"]
    rows = make_rows([*["tent"] * 1000, "tent"], [*[""] * 1000, "the 7"])
    mark_disagreeing(rows, columns, [])
    assert [row.id for row in rows if row.is_corrected] == ["00007"]


def test_what_a_row_puts_right_is_kept_with_it_unless_a_column_is_called_so() -> None:
    columns = TableRequest.parse("every item: name, number").columns
    reply = '{"rows": [{"name": "a", "number": "5", "quote": "a 5", "corrects": "4"}], "memory": ""}'
    said = SectionRows.from_json(reply, columns)
    assert said.rows[0].corrects == "4"
    assert SectionRows.from_json(said.to_json(columns), columns) == said
    columns = TableRequest.parse("every item: name, corrects").columns
    assert (
        SectionRows.from_json(reply, columns).rows[0]
        == SectionRows.from_json(
            '{"rows": [{"name": "a", "corrects": "4", "quote": "a 5"}], "memory": ""}', columns
        ).rows[0]
    )


def test_a_fact_that_is_put_right_holds_no_longer(tmp_path: Path) -> None:
    sentence = "every fact: subject, relation, object, since, until"

    def tell(messages) -> str:
        section = messages[0].content.partition("<section>")[2]
        found = re.search(r"The mill has (\d+) homes( after all)?", section)
        if not found:
            return '{"rows": [], "memory": ""}'
        row = {"subject": "The mill", "relation": "has", "object": f"{found[1]} homes", "quote": found[0]}
        return json.dumps({"rows": [{**row, "corrects": "the homes"} if found[2] else row], "memory": ""})

    text = f"The mill has 46 homes. {FILLER * 30}\nThe mill has 64 homes after all."
    model = ScriptedModel(tell, plan=PLAN, window=1400)
    graph = build_graph(collect(TextDocument(text), sentence, model=model, journal=tmp_path / "j.sqlite"))
    assert [(fact.object, fact.is_superseded) for fact in graph.facts] == [("46 homes", True), ("64 homes", False)]


def mark(sentence: str, *found: tuple[tuple[str | None, ...], str, str]) -> list[str | None]:
    """Return the values that hold of rows, each with what it corrects and its file: the last cell of each."""
    rows = [
        TableRow(
            id=str(at),
            cells=cells,
            places=[Place(quote="", start=at, end=at + 1, step=at, source=source)],
            is_proven=True,
            corrects=corrects,
        )
        for at, (cells, corrects, source) in enumerate(found)
    ]
    columns = TableRequest.parse(sentence).columns
    joined = _join_rows(rows, columns)
    mark_disagreeing(joined, columns, [])
    return [row.held[-1] for row in joined if not row.is_corrected]


def test_names_in_chinese_that_share_signs_are_of_two_people() -> None:
    found = (
        (("吴文焕", "吴守信", "雍正元年"), "", "a"),
        (("吴文炜", "吴守信", "乾隆二年"), "", "a"),
        (("吴文焕", "吴守信", "雍正三年"), "雍正元年", "a"),
    )
    assert mark("每一个人:姓名, 父亲, 卒年", *found) == ["乾隆二年", "雍正三年"]


def test_what_is_put_back_as_it_was_holds() -> None:
    found = (
        (("labour", "230"), "", "a"),
        (("labour", "203"), "230", "a"),
        (("tools", "40"), "", "a"),
        (("labour", "230"), "203", "a"),
    )
    assert mark("every item: what, amount", *found) == ["40", "230"]


def test_chinese_numbers_that_share_signs_are_two() -> None:
    found = ((("张薇", "光学组", "九千"), "", "a"), (("张薇", "光学组", "九千六"), "九千", "a"))
    assert mark("每个员工：姓名, 组别, 待遇", *found) == ["九千六"]


def test_a_row_that_is_void_holds_no_longer_and_one_of_which_something_else_changes_does() -> None:
    found = (
        (("Wells", "optics", "8000"), "", "a"),
        (("Quill", "optics", "9000"), "", "a"),
        (("Wells", "optics", None), "this line is void", "a"),
        (("Quill", "optics", None), "her address", "a"),
    )
    assert mark("every person: name, group, pay", *found) == ["9000", None, None]
    found = ((("Wells", "optics", "8000"), "", "a"), (("Wells", "lenses", None), "the optics group, cancelled", "a"))
    assert mark("every person: name, group, pay", *found) == ["8000"]


def test_a_file_that_goes_back_to_the_older_value_may_stand_first() -> None:
    found = (
        (("queens", "45"), "42", "a-errata.txt"),
        (("queens", "45"), "", "b-list.txt"),
        (("queens", "42"), "45", "b-list.txt"),
    )
    assert mark("every item: what, price", *found) == ["45"]
    assert mark("every item: what, price", *found[1:]) == ["42"]


def test_a_correction_of_another_file_may_stand_before_what_it_puts_right() -> None:
    notice = (("pages", "46,500"), "42,000", "a-notice.txt")
    assert mark("every figure: what, number", notice, (("pages", "42,000"), "", "tender.txt")) == ["46,500"]
    # In one file what follows is the newer.
    assert mark("every figure: what, number", notice, (("pages", "42,000"), "", "a-notice.txt")) == ["46,500", "42,000"]
    assert mark("every figure: what, number", notice, (("plans", "42,000"), "", "b.txt")) == ["46,500", "42,000"]
