"""A long table is kept as it is shown, shows the same as one that is made anew, and goes with its reading."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from table_model import SENTENCE, make_model, write_document

from bookwheel import TextDocument, collect
from bookwheel.cli.collect import print_grid
from bookwheel.errors import InputError
from bookwheel.journal import Journal
from bookwheel.tables import build
from bookwheel.tables.api import edit_table
from bookwheel.tables.build import load_shown

SQL = "select who, amount_number from rows where amount_number > 103 order by 2 desc"
STOLEN = (
    "select * from kept_rows",
    "select * from main.kept_rows",
    "with rows as (select * from kept_rows) select * from rows",
    "with rows as (select * from main.kept_rows) select * from rows",
    "select who from rows where who in (select content from main.kept_rows)",
    "select (select content from main.kept_rows limit 1) from rows",
    "select * from texts",
    "select count(*) from texts",
    "select content from pieces",
    "select * from sqlite_master",
    "select * from temp.sqlite_master",
    "select * from sqlite_temp_schema",
    "select * from pragma_table_info('texts')",
    "attach 'x' as y",
    "drop view rows",
    "create temp table x (y)",
    "pragma query_only = off",
    "insert into rows values (1)",
    "delete from kept_rows",
    "select load_extension('x')",
)


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(build, "_LEAST_KEPT", 5)
    with Journal(tmp_path / "j.sqlite") as store:
        yield store


def read(journal: Journal, count: int = 12) -> str:
    document = TextDocument(write_document(count))
    return collect(document, SENTENCE, model=make_model(), journal=journal.path).reading.id


def test_what_is_kept_shows_the_same(journal: Journal) -> None:
    id_ = read(journal)
    made, kept = load_shown(journal, id_), load_shown(journal, id_)
    assert (made.kept, kept.table) == (None, None)
    assert kept.to_json() == made.to_json()
    assert json.loads(json.dumps(kept.to_json(2, 3)))["rows"] == list(made.list_records())[2:5]
    assert kept.query(SQL) == made.query(SQL)
    assert kept.query("with t as (select who w from rows) select count(*) from t") == (["count(*)"], [(12,)])
    assert kept.query("select count(*) from rows")[1] == [(12,)]
    assert kept.is_whole
    assert kept.name_fact("quote") == "quote"


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select amount from rows order by amount limit 1", "99"),
        ("select max(amount) from rows", "1,010"),
        ("select amount from rows where amount > 1000", "1,010"),
        ("select amount from rows where amount >= '99.0' order by amount limit 1", "99"),
        ("select amount from rows where amount between 90 and 100", "99"),
        ("select amount from (select distinct amount from rows) order by amount desc limit 1", "1,010"),
    ],
)
def test_amounts_are_sorted_and_bounded_as_numbers_and_shown_as_they_are_written(
    journal: Journal, sql: str, told: str
) -> None:
    id_ = read(journal)
    first, second, *_ = (record["row"] for record in load_shown(journal, id_).list_records())
    edit_table(id_, first, {"amount": "99"}, journal=journal.path)
    edit_table(id_, second, {"amount": "1,010"}, journal=journal.path)
    made, kept = load_shown(journal, id_), load_shown(journal, id_)
    assert kept.table is None
    assert made.query(sql)[1] == kept.query(sql)[1] == [(told,)]


def test_names_in_double_quotes_are_names_as_files_have_them_and_no_texts(journal: Journal) -> None:
    id_ = read(journal)
    made, kept = load_shown(journal, id_), load_shown(journal, id_)
    sql = 'select "Amount (number)" as "the ""n" from rows where who <> \'"who"\' order by "the ""n" desc limit 1'
    assert made.query(sql) == kept.query(sql) == (['the "n'], made.query("select max(amount_number) from rows")[1])
    for shown in (made, kept):
        with pytest.raises(InputError, match="no such column: whom"):
            shown.query('select "whom", count(*) from rows group by 1')


def test_a_change_by_hand_and_another_key_make_it_anew(journal: Journal) -> None:
    id_ = read(journal)
    row = next(load_shown(journal, id_).list_records())["row"]
    edit_table(id_, row, None, journal=journal.path)
    fresh = load_shown(journal, id_)
    assert fresh.table
    assert (fresh.facts["count"], fresh.facts["removed"]) == (11, 1)
    kept = load_shown(journal, id_)
    assert (kept.table, kept.facts["count"]) == (None, 11)
    assert row not in {record["row"] for record in kept.list_records()}
    assert load_shown(journal, id_, ["amount"]).table


def test_a_short_table_is_not_kept(journal: Journal) -> None:
    id_ = read(journal, 3)
    load_shown(journal, id_)
    assert load_shown(journal, id_).table


def test_what_was_kept_goes_with_its_reading(journal: Journal) -> None:
    id_ = read(journal)
    load_shown(journal, id_)
    assert count_kept(journal) == 12
    journal.delete(id_)
    assert count_kept(journal) == 0


def count_kept(journal: Journal) -> int:
    return journal._reader.fetch_one("SELECT count(*) FROM kept_rows")[0]


def test_a_query_sees_the_rows_of_its_own_table_and_nothing_else(journal: Journal) -> None:
    for count in (12, 13):
        load_shown(journal, read(journal, count))
    id_ = read(journal)
    load_shown(journal, id_)
    for sql in STOLEN:
        kept = load_shown(journal, id_)
        assert kept.kept
        with pytest.raises(InputError, match="the table is called rows"):
            kept.query(sql)
        assert count_kept(journal) == 12 + 13 + 12, sql


def test_a_column_of_a_reserved_name_is_found(journal: Journal) -> None:
    model = make_model()
    table = collect(TextDocument("x"), "every thing: page, row", model=model, journal=journal.path)
    assert load_shown(journal, table.reading.id).name_fact("row") == "row (of the row)"


def test_a_long_cell_without_blanks_is_shown_whole(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    print_grid(["客户", "日期"], [["杭州明远贸易有限公司上海分公司第二营业部", "2025年1月15日星期三上午十点"]])
    shown = "".join(sign for sign in capsys.readouterr().out if "\u4e00" <= sign <= "\u9fff")
    assert sorted(shown) == sorted("客户日期杭州明远贸易有限公司上海分公司第二营业部年月日星期三上午十点")
