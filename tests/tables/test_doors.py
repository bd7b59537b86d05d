"""Tables over HTTP and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from table_model import SENTENCE, extract, make_model, write_document


def test_the_command_writes_shows_and_asks_a_table(run, tmp_path: Path) -> None:
    book, out = tmp_path / "book.txt", tmp_path / "rows.jsonl"
    book.write_text(write_document(12))
    code, printed, _ = run("collect", str(book), SENTENCE, "--out", str(out), "--quiet")
    assert (code, printed.strip()) == (0, str(out))
    assert [json.loads(line)["who"] for line in out.read_text().splitlines()] == [f"Tenant {n}" for n in range(12)]
    code, printed, _ = run("collect", "last", "--sql", "select count(*) from rows", "--json")
    assert (code, json.loads(printed)["rows"]) == (0, [[12]])
    code, printed, _ = run("collect", "last", "--json")
    table = json.loads(printed)
    assert (code, table["count"], table["unproven"], table["gaps"]) == (0, 12, 0, [])
    code, printed, _ = run("collect", "last")
    assert printed.splitlines()[0] == "who\tamount\tdue date\tquote\trow"
    assert len(printed.splitlines()) == 13


def test_a_limit_that_ends_a_collection_is_said_with_what_goes_on(run, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text(write_document(12))
    code, _, told = run("collect", str(book), SENTENCE, "--max-tokens-total", "50")
    assert code == 4
    assert "stopped: " in told
    assert "bookwheel resume" in told


def test_names_of_columns_that_are_a_guess_are_said_at_each_door(run, tmp_path: Path) -> None:
    book, note = tmp_path / "words.csv", "in tables where nothing tells: words.csv"
    book.write_text("pane,workshop\nputty,cellar\nglass,attic\n")
    assert note in run("collect", str(book), SENTENCE)[2]
    assert note in run("collect", "last")[2]
    assert any(one.endswith(note) for one in json.loads(run("collect", "last", "--json")[1])["notes"])
    assert note in run("ask", str(book), "Where is the putty?")[2]


HALF = json.dumps({"rows": [{"who": "A\ud800a", "amount": "2", "due date": "3 May 2027", "quote": "A\ud800a pays"}]})


@pytest.mark.parametrize("model", [make_model(lambda _: HALF)])
def test_half_a_character_in_a_row_is_shown_and_asked(run, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("Ada pays 2.")
    _, printed, _ = run("collect", str(book), SENTENCE, "--json")
    assert json.loads(printed)["rows"][0]["who"] == "A\ufffda"
    code, printed, _ = run("collect", "last", "--sql", "select who from rows where '\ud800' <> ''", "--json")
    assert (code, json.loads(printed)["rows"]) == (5, [["A\ufffda"]])


def test_the_estimate_reads_nothing(run, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text(write_document(12))
    code, printed, _ = run("collect", str(book), SENTENCE, "--estimate")
    assert code == 0
    assert "calls" in printed
    assert run("list", "--json")[1].strip() == "[]"


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["collect", "{book}", "every payment"], "which columns"),
        (["collect", "{book}", SENTENCE, "--key", "whom"], "no column 'whom'"),
        (["collect", "{book}", SENTENCE, "--out", "rows.doc"], ".csv"),
        (["collect", "{book}", SENTENCE, "--way", "edits"], "goes with the gates"),
    ],
)
def test_bad_input_is_refused_before_anything_is_read(words: list[str], advice: str, run, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text(write_document(2))
    code, _, error = run(*(word.format(book=book) for word in words))
    assert code == 2
    assert advice in error
    assert run("list", "--json")[1].strip() == "[]"


def test_a_reading_of_another_way_has_no_table(run, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text(write_document(2))
    run("ask", str(book), "Who pays?", "--quiet")
    code, _, error = run("collect", "last")
    assert code == 2
    assert "has no table" in error


def test_the_command_edits_rows_by_hand(run, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text(write_document(3))
    assert run("collect", str(book), SENTENCE, "--quiet", "--parallel")[0] == 0
    rows = json.loads(run("collect", "last", "--json")[1])["rows"]
    first, second = rows[0]["row"], rows[1]["row"]
    code, printed, _ = run("collect", "last", "--remove", first, "--set", f"{second}:amount=7 crowns", "--json")
    table = json.loads(printed)
    assert (code, table["count"], table["removed"]) == (0, 2, 1)
    assert (table["rows"][0]["amount"], table["rows"][0]["by hand"]) == ("7 crowns", True)
    assert json.loads(run("collect", "last", "--json")[1]) == table
    code, _, error = run("collect", "last", "--set", "amount=7")
    assert (code, "ROW:COLUMN=VALUE" in error) == (2, True)


@pytest.mark.slow  # a real server
def test_a_row_is_edited_over_http(serving) -> None:
    with serving(make_model()) as up, up.client() as client:
        body = {"text": write_document(5), "question": SENTENCE, "way": "collect"}
        id_ = client.post("/readings", json=body).json()["reading"]
        up.events(id_)
        page = client.get(f"/readings/{id_}/rows", params={"offset": 1, "limit": 2}).json()
        row = page["rows"][0]["row"]
        changed = client.patch(f"/readings/{id_}/rows", json={"row": row, "cells": {"who": "Ada"}}).json()
        removed = client.patch(f"/readings/{id_}/rows", json={"row": row, "removed": True}).json()
        refused = client.patch(f"/readings/{id_}/rows", json={"row": row})
        book = client.get(f"/readings/{id_}/rows", params={"format": "xlsx"}).content
    assert (page["count"], [one["who"] for one in page["rows"]]) == (5, ["Tenant 1", "Tenant 2"])
    assert (changed["rows"][1]["who"], removed["count"], refused.status_code, book[:2]) == ("Ada", 4, 400, b"PK")


@pytest.mark.slow  # a real server
def test_rows_are_served_as_json_csv_and_sql(serving) -> None:
    with serving(make_model()) as up, up.client() as client:
        body = {"text": write_document(9), "question": SENTENCE, "way": "collect"}
        id_ = client.post("/readings", json=body).json()["reading"]
        up.events(id_)
        table = client.get(f"/readings/{id_}/rows").json()
        lines = client.get(f"/readings/{id_}/rows", params={"format": "csv"}).text.splitlines()
        counted = client.get(f"/readings/{id_}/rows", params={"sql": "select count(*) from rows"}).json()
        refused = client.get(f"/readings/{id_}/rows", params={"sql": "drop table rows"})
    assert (table["count"], table["unproven"]) == (9, 0)
    assert (len(lines), counted["rows"], refused.status_code) == (10, [[9]], 400)


@pytest.mark.slow  # a real server
def test_columns_that_a_request_leaves_out_are_proposed_and_shown(serving) -> None:
    def reply(messages) -> str:
        names = ["who", "amount", "due date"]
        return json.dumps({"columns": names}) if "Which columns" in messages[0].content else extract(messages)

    with serving(make_model(reply)) as up, up.client() as client:
        body = {"text": write_document(3), "question": "every payment", "way": "collect"}
        begun = client.post("/readings", json=body).json()
        up.events(begun["reading"])
        table = client.get(f"/readings/{begun['reading']}/rows").json()
        whole = client.get(f"/readings/{begun['reading']}").json()
    assert whole["usage"]["calls"] == 1 + sum(step["usage"]["calls"] for step in whole["steps"])
    assert begun["question"] == "every payment: who, amount, due date"
    assert (table["count"], [column["name"] for column in table["columns"]]) == (3, ["who", "amount", "due date"])
