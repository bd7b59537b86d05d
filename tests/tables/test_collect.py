"""Rows leave the memory for a table: all of them, once each, with quote and place, whatever ends the reading."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_model import FILLER, PLAN, SENTENCE, extract, make_model, write_document

from bookwheel import TextDocument, collect, resume
from bookwheel.errors import InputError, Overloaded
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Budget, Plan
from bookwheel.tables.api import load_table
from bookwheel.tables.columns import Kind, TableRequest
from bookwheel.tables.rows import SectionRows, UnreadableRowsError, WrittenRow, parse_rows
from bookwheel.text.numbers import find_dates


@pytest.mark.parametrize("count", [0, 1, 40, 179])
def test_every_row_is_found_once_with_its_quote(count: int, tmp_path: Path) -> None:
    text = write_document(count) or FILLER
    table = collect(TextDocument(text), SENTENCE, model=make_model(), journal=tmp_path / "j.sqlite")
    assert [row.cells[0] for row in table.rows] == [f"Tenant {n}" for n in range(count)]
    assert (table.unproven, table.reading.verdict) == (0, None)  # "40 rows" is no statement of the document
    for row in table.rows:
        (place,) = row.places
        assert text[place.start : place.end] == place.quote.rstrip(".") or text[place.start : place.end] == place.quote


def test_what_a_word_stands_for_is_carried_by_the_memory(tmp_path: Path) -> None:
    text = 'Tenant 7 (the "debtor") signed.\n' + FILLER * 40 + "The debtor pays 90 crowns by 3 June 2027.\n"
    table = collect(TextDocument(text), SENTENCE, model=make_model(), journal=tmp_path / "j.sqlite")
    assert [row.cells for row in table.rows] == [("Tenant 7", "90 crowns", "3 June 2027")]
    assert table.rows[0].is_proven


def test_a_reply_that_is_cut_off_loses_no_row(tmp_path: Path) -> None:
    text = "".join(f"Tenant {n} pays {n} crowns by 3 June 2027.\n" for n in range(60))
    small = ScriptedModel(extract, plan=PLAN, window=560)
    table = collect(TextDocument(text), SENTENCE, model=small, journal=tmp_path / "j.sqlite")
    assert len(table.rows) == 60
    assert table.reading.usage.calls > len(table.reading.steps)


def test_an_invented_row_is_asked_for_again_and_then_marked(tmp_path: Path) -> None:
    asked = []

    def invent(messages) -> str:
        asked.append(len(messages))
        rows = json.loads(extract(messages[:1]))
        rows["rows"].append({"who": "Bo Fell", "amount": "5,000 crowns", "quote": "Bo Fell pays 5,000 crowns"})
        return json.dumps(rows)

    table = collect(TextDocument(write_document(2)), SENTENCE, model=make_model(invent), journal=tmp_path / "j.sqlite")
    assert asked == [1, 3]
    invented = [row for row in table.rows if not row.is_proven]
    assert [row.cells[0] for row in invented] == ["Bo Fell"]
    assert invented[0].places[0].start is None
    assert "1 of 3 rows are unproven" in table.list_notes()[0]


def test_of_a_chat_the_file_is_named_of_which_there_is_no_row_and_not_each_message(tmp_path: Path) -> None:
    said = "".join(f"2026-03-0{n} 10:00 - Ada: {FILLER}\n" for n in range(1, 5))
    (tmp_path / "chat.txt").write_text(said + "2026-03-06 10:00 - Bo: Tenant 1 pays 5 crowns by 3 June 2027.\n")
    (tmp_path / "idle.txt").write_text(said)
    files = [tmp_path / "chat.txt", tmp_path / "idle.txt"]
    table = collect(files, SENTENCE, model=make_model(), journal=tmp_path / "j.sqlite")
    assert len(table.rows) == 1
    assert "no row is from idle.txt" in table.list_notes()


def test_a_row_that_is_not_proven_is_asked_for_alone_with_what_is_wrong_in_it(tmp_path: Path) -> None:
    asked = []

    def mend(messages) -> str:
        asked.append(messages[-1].content)
        if len(messages) == 1:
            said = json.loads(extract(messages))
            said["rows"][0] |= {"amount": "1,000 crowns", "quote": "Tenant 0 is to pay"}
            return json.dumps({**said, "memory": "Tenant 0 (the first)"})
        return json.dumps({"rows": json.loads(extract(messages[:1]))["rows"][:1]})

    table = collect(TextDocument(write_document(2)), SENTENCE, model=make_model(mend), journal=tmp_path / "j.sqlite")
    assert [(row.cells[1], row.is_proven) for row in table.rows] == [("100 crowns", True), ("101 crowns", True)]
    assert table.reading.steps[-1].after.text == "Tenant 0 (the first)"
    (line,) = [line for line in asked[-1].splitlines() if line.startswith("- ")]
    assert 'of "amount", neither the section nor the memory has 1,000; the words of "quote" do not stand' in line
    assert "Tenant 1" not in asked[-1]


def test_a_wrong_number_beside_a_true_quote_is_unproven(tmp_path: Path) -> None:
    def distort(messages) -> str:
        return extract(messages[:1]).replace('"100 crowns"', '"1,000 crowns"')

    table = collect(TextDocument(write_document(1)), SENTENCE, model=make_model(distort), journal=tmp_path / "j.sqlite")
    assert (table.rows[0].is_proven, table.rows[0].missing) == (False, ("1,000",))


def test_a_model_that_writes_no_json_leaves_a_gap_that_is_counted(tmp_path: Path) -> None:
    model = make_model(lambda _: "I could not find any.")
    table = collect(TextDocument(write_document(2)), SENTENCE, model=model, journal=tmp_path / "j.sqlite")
    assert len(table.reading.gaps) == len(table.reading.steps) > 0
    assert "not taken in" in table.list_notes()[-1]


def test_a_reading_that_stops_goes_on_and_ends_with_the_same_table(tmp_path: Path) -> None:
    text, journal = TextDocument(write_document(60)), tmp_path / "j.sqlite"
    whole = collect(text, SENTENCE, model=make_model(), journal=tmp_path / "whole.sqlite")
    half = collect(text, SENTENCE, model=make_model(), journal=journal, max_tokens_total=6000)
    assert half.reading.status == "stopped"
    assert 0 < len(half.rows) < 60
    resume(half.reading.id, model=make_model(), journal=journal)
    after = load_table(half.reading.id, journal=journal)
    assert [(row.cells, row.places) for row in after.rows] == [(row.cells, row.places) for row in whole.rows]


def test_a_failing_call_is_tried_again(tmp_path: Path) -> None:
    model = make_model(faults={1: Overloaded("busy")})
    table = collect(TextDocument(write_document(30)), SENTENCE, model=model, journal=tmp_path / "j.sqlite", patience=1)
    assert len(table.rows) == 30


def test_the_same_row_twice_is_one_with_two_places_and_other_values_contradict(tmp_path: Path) -> None:
    text = (
        "Tenant 1 pays 5 crowns by 3 June 2027.\n"
        + FILLER * 30
        + "Tenant 1 pays 5 crowns by 3 June 2027.\nTenant 1 pays 6 crowns by 3 June 2027.\n"
    )
    table = collect(TextDocument(text), SENTENCE, model=make_model(), key=["who"], journal=tmp_path / "j.sqlite")
    assert [(row.cells[1], len(row.places), row.contradicts) for row in table.rows] == [
        ("5 crowns", 2, True),
        ("6 crowns", 1, True),
    ]


def test_sql_counts_what_the_rows_say(tmp_path: Path) -> None:
    table = collect(TextDocument(write_document(10)), SENTENCE, model=make_model(), journal=tmp_path / "j.sqlite")
    names, rows = table.query("select count(*) as n, sum(amount_number), max(due_date_date) from rows")
    assert (names[0], rows) == ("n", [(10, 1045.0, "2027-06-10")])


def test_a_column_of_bare_numbers_has_them_as_numbers_whatever_its_name(tmp_path: Path) -> None:
    def read(_messages: object) -> str:
        yields = {"rye": "9.7", "bare": "9.2", "mixture": "10.6"}
        rows = [{"strip": strip, "maize yield in t/ha": t, "quote": f"{strip} {t}"} for strip, t in yields.items()]
        return json.dumps({"rows": rows, "memory": ""})

    document, journal = TextDocument("rye 9.7\nbare 9.2\nmixture 10.6\n"), tmp_path / "j.sqlite"
    table = collect(document, "every strip: strip, maize yield in t/ha", model=ScriptedModel(read), journal=journal)
    assert [column["kind"] for column in table.describe()["columns"]] == ["text", "number"]
    assert table.query("select max(maize_yield_in_t_ha_number) from rows")[1] == [(10.6,)]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (("62.50", "~~7~~ 1,204.50", "8"), "number"),
        (("2019", "2021"), "number"),
        (("3.7.2027", "14.7.2027"), "date"),
        (("05.2027", "11.2027"), "date"),
    ],
)
def test_a_column_that_is_called_as_a_date_is_of_numbers_where_all_cells_are(
    cells: tuple[str, ...], kind: str, tmp_path: Path
) -> None:
    lines = [f"plot {at} {cell}" for at, cell in enumerate(cells)]

    def read(_messages: object) -> str:
        rows = [{"plot": f"plot {at}", "rent due": cell, "quote": lines[at]} for at, cell in enumerate(cells)]
        return json.dumps({"rows": rows, "memory": ""})

    document, journal = TextDocument("\n".join(lines)), tmp_path / "j.sqlite"
    table = collect(document, "every plot: plot, rent due", model=ScriptedModel(read), journal=journal)
    assert [column["kind"] for column in table.describe()["columns"]] == ["text", kind]
    assert any("SQL has null" in note for note in table.list_notes()) is ("05.2027" in cells)


@pytest.mark.parametrize(
    ("sentence", "is_told"), [("every tool: tool, pieces", True), ("every total: tool, pieces", False)]
)
def test_a_row_that_sums_up_others_is_told_where_a_model_gives_it(
    sentence: str, *, is_told: bool, tmp_path: Path
) -> None:
    lines = ["| Spade | 9 | good |", "| Fork | 6 | bent |", "| **All** | **15** | |"]

    def read(_messages: object) -> str:
        cells = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines]
        rows = [{"tool": a, "pieces": b, "quote": q} for (a, b, _), q in zip(cells, lines, strict=True)]
        return json.dumps({"rows": rows, "memory": ""})

    document = TextDocument("\n".join(["| Tool | Pieces | State |", "|---|---|---|", *lines]))
    table = collect(document, sentence, model=ScriptedModel(read), journal=tmp_path / "j.sqlite")
    assert len(table.rows) == 3
    assert any("1 rows sum up others" in note for note in table.list_notes()) is is_told


@pytest.mark.parametrize(
    "sql", ["drop table rows", "select nothing from rows", "attach 'x' as y", "pragma user_version"]
)
def test_sql_only_reads_and_a_mistake_names_the_columns(sql: str, tmp_path: Path) -> None:
    table = collect(TextDocument(write_document(1)), SENTENCE, model=make_model(), journal=tmp_path / "j.sqlite")
    with pytest.raises(InputError, match="due_date_date"):
        table.query(sql)


HUGE = (
    "with recursive n(x) as (select 1 union all select x + 1 from n limit 9000) select printf('%.*c', 9000, 'x') from n"
)


@pytest.mark.parametrize("sql", [HUGE, "select hex(zeroblob(400000000))"])
def test_an_answer_of_sql_is_bounded_in_bytes(sql: str, tmp_path: Path) -> None:
    table = collect(TextDocument(write_document(1)), SENTENCE, model=make_model(), journal=tmp_path / "j.sqlite")
    with pytest.raises(InputError, match=r"MB|too big"):
        table.query(sql)


def test_an_answer_of_sql_is_what_json_can_hold(tmp_path: Path) -> None:
    table = collect(TextDocument(write_document(1)), SENTENCE, model=make_model(), journal=tmp_path / "j.sqlite")
    assert table.query("select x'00ff', 9e999, -9e999, null")[1] == [("00ff", "inf", "-inf", None)]


def test_a_table_in_csv_runs_no_formula(tmp_path: Path) -> None:
    def dangerous(_messages) -> str:
        return json.dumps({"rows": [{"=who": "=1+1", "quote": "=1+1"}], "memory": ""})

    model = make_model(dangerous)
    table = collect(TextDocument("=1+1 is here"), "every cell: =who", model=model, journal=tmp_path / "j.sqlite")
    table.write(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open() as file:
        header, row = list(csv.reader(file))
    assert (header[0], row[0]) == ("'=who", "'=1+1")


@pytest.mark.parametrize(
    ("sentence", "advice"),
    [("every payment", "which columns"), ("every payment: who, who", "named twice"), ("every payment: quote", "quote")],
)
def test_a_sentence_without_good_columns_is_refused_with_advice(sentence: str, advice: str) -> None:
    with pytest.raises(InputError, match=advice):
        collect(TextDocument("x"), sentence, model=make_model())


def test_a_model_that_only_quotes_gives_the_rows_of_tables_and_lists_without_a_call(tmp_path: Path) -> None:
    text = (
        "# Prices\n\n| Plan | Minute | Fee |\n| --- | --- | --- |\n| Yearly | 4p | 60 |\n| Monthly | 6p | 9 |\n\n"
        "# Weather\n\nIt rained on 3 May 2027. The gulls were loud.\n\nBring to the pier:\n- gloves\n- a lamp\n\n"
        "# Tasks\n\n1. Task: Mina rings the surveyor by 4 June.\n"
    )
    asked = make_model(lambda _: pytest.fail("no call is made"))

    def find(sentence: str) -> list[tuple]:
        table = collect(TextDocument(text), sentence, model=asked, prompts="small", journal=tmp_path / "j.sqlite")
        assert table.unproven == 0
        return [row.cells for row in table.rows]

    assert find("every plan with its fee: plan, fee") == [("Yearly", "60"), ("Monthly", "9")]
    assert find("what to bring to the pier") == [("gloves",), ("a lamp",)]
    assert find("when it rained: what, date") == [("It rained on 3 May 2027.", "3 May 2027")]
    # A sentence is no person, and the day in it no amount.
    task = "Mina rings the surveyor by 4 June."
    assert find("every task: who, what, until when, amount") == [(None, task, "4 June", None)]
    assert find("every dragon: name") == []


def test_a_schema_names_columns_kinds_and_what_they_mean() -> None:
    schema = {
        "properties": {
            "party": {"type": "string", "description": "who owes"},
            "sum": {"type": "number"},
            "end": {"type": "string", "format": "date"},
        }
    }
    request = TableRequest.from_schema("every obligation", schema)
    assert [column.kind for column in request.columns] == [Kind.TEXT, Kind.NUMBER, Kind.DATE]
    assert TableRequest.parse(request.to_question()).columns == request.columns
    # Also where the names alone tell the kinds.
    plain = TableRequest.from_schema("every payment", {"properties": {"who": {}, "amount": {"type": "number"}}})
    assert TableRequest.parse(plain.to_question()).columns == plain.columns


def test_budget_and_estimate_hold(tmp_path: Path) -> None:
    plan = Plan(chunk_tokens=120, memory_tokens=60, answer_tokens=40, question_tokens=60, budget=Budget(tokens=1))
    table = collect(TextDocument(write_document(5)), SENTENCE, model=make_model(), plan=plan, journal=tmp_path / "j.db")
    assert (table.reading.status, table.rows) == ("stopped", [])


def test_whom_something_is_from_is_no_day():
    request = TableRequest.parse("every loan: from whom, to whom, valid from, from when, from account")
    kinds = [column.kind for column in request.columns]
    assert kinds == [Kind.TEXT, Kind.TEXT, Kind.DATE, Kind.DATE, Kind.TEXT]


COLUMNS = TableRequest.parse(SENTENCE).columns
CELL = st.none() | st.text(min_size=1, max_size=20).map(lambda text: " ".join(text.split())).filter(bool)


@given(st.lists(st.tuples(CELL, CELL, CELL).filter(any), max_size=5), CELL)
def test_rows_survive_being_stored(cells, quote) -> None:
    rows = tuple(WrittenRow(cells=row, quote=quote or "") for row in cells)
    assert SectionRows.from_json(SectionRows(rows=rows, memory="m").to_json(COLUMNS), COLUMNS).rows == rows


@pytest.mark.parametrize(
    "reply", ["", "{", "[5]", '{"rows": 5}', '{"rows": [5]}', "[" * 10_000, '{"rows": ' + "[" * 10_000]
)
def test_a_reply_that_is_no_table_says_why(reply: str) -> None:
    with pytest.raises(UnreadableRowsError):
        parse_rows(reply, COLUMNS)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("by 30 June 2027", ["2027-06-30"]),
        ("on the 1st of May 1999", ["1999-05-01"]),
        ("June 3rd, 2027", ["2027-06-03"]),
        ("2027年6月30日前", ["2027-06-30"]),
        ("30.06.2027", ["2027-06-30"]),
        ("13/06/2027 and 06/13/2027", ["2027-06-13"]),
        ("06/07/2027", []),
        ("31 June 2027", []),
        ("nothing", []),
    ],
)
def test_dates_have_one_form(text: str, dates: list[str]) -> None:
    assert find_dates(text) == dates


def test_a_row_has_the_file_that_it_stands_in_and_its_quote_over_the_end_of_a_section(tmp_path: Path) -> None:
    for name, day in (("a.md", "3 May 2027"), ("b.md", "4 June 2027")):
        (tmp_path / name).write_text(f"# Rain\n\nIt rained on {day}, and the gulls were loud all day.\n", "utf-8")
    for tokens in (400, 10):
        table = collect(
            tmp_path, "when it rained: what, date", model=make_model(), prompts="small", chunk_tokens=tokens
        )
        assert [row.places[0].source for row in table.rows] == ["a.md", "b.md"]
        assert table.unproven == 0


def test_a_row_that_is_asked_for_again_stays_before_what_puts_it_right(tmp_path: Path) -> None:
    text = "The rope costs 40 crowns. Later the rope went up to 45 crowns."
    late = {"what": "rope", "amount": "45 crowns", "quote": "the rope went up to 45 crowns", "corrects": "40 crowns"}
    first = {"what": "rope", "amount": "40 crowns", "quote": "The rope costs 40 crowns"}
    replies = iter(([{**first, "quote": "The rope is at 40 crowns"}, late], [first]))
    model = make_model(lambda _: json.dumps({"rows": next(replies), "memory": ""}))
    table = collect(TextDocument(text), "every price: what, amount", model=model, journal=tmp_path / "j.sqlite")
    assert [(row.cells[1], row.is_corrected) for row in table.rows] == [("40 crowns", True), ("45 crowns", False)]


def test_amounts_in_different_units_are_told(tmp_path: Path) -> None:
    text = "The rope costs 40 crowns. The nails cost 45 euros. The lamp costs 7."
    amounts = {"rope": "40 crowns", "nails": "45 euros", "lamp": "7"}
    rows = [{"what": what, "amount": amount, "quote": amount} for what, amount in amounts.items()]
    for written, told in ((rows, "(crown, euro, none)"), (rows[:1], "")):
        model = make_model(lambda _, written=written: json.dumps({"rows": written, "memory": ""}))
        table = collect(
            TextDocument(text), "every price: what, amount", model=model, journal=tmp_path / f"{len(written)}.sqlite"
        )
        units = [note for note in table.list_notes() if "different units" in note]
        assert len(units) == bool(told)
        assert all(told in note for note in units)
