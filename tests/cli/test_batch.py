"""`bookwheel batch`: a table of questions in, a table of answers out, row by row."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from bookwheel.batch import run as documents
from bookwheel.models import registry, scripted
from bookwheel.models.scripted import ScriptedModel, keyword_reader

FACTS = {"a.txt": "The rent of the pier is nine crowns.", "b.txt": "The rent of the mill is four crowns."}
FILLER = "Gulls circle over the bay, and the keeper writes down the wind. " * 30
QUESTIONS = ("What is the rent of the pier?", "What is the rent of the mill?")
PLAN = ("--model", "scripted", "--chunk-tokens", "100", "--memory-tokens", "40", "--answer-tokens", "40")


@pytest.fixture
def table(tmp_path: Path, book: Path) -> Path:
    for name, fact in FACTS.items():
        (tmp_path / name).write_text(f"{FILLER}\n\n{fact}\n\n{FILLER}")
    path = tmp_path / "contracts.csv"
    rows = [["a.txt", QUESTIONS[0], "7"], ["b.txt", QUESTIONS[1], "8"], ["none.txt", "What is it?", "9"]]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["source", "question", "id"], *rows])
    return path


def read(path: Path) -> list[dict]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_has_its_answer_or_its_reason(run, table):
    result = run("batch", table, *PLAN)
    out = table.with_name("contracts.answers.csv")
    rows = read(out)
    assert [row["id"] for row in rows] == ["7", "8", "9"]
    assert [row["status"] for row in rows] == ["answered", "answered", "failed"]
    assert rows[0]["answer"] == FACTS["a.txt"]
    assert rows[0]["verdict"] in {"quoted", "supported"}
    assert FACTS["a.txt"] in rows[0]["quote"]
    assert "none.txt" in rows[2]["error"]
    assert (result.code, result.out.strip()) == (5, str(out))
    assert "2 answered, 1 failed" in result.err


def test_a_row_whose_sections_were_not_taken_in_says_so(run, table, monkeypatch):
    def decline(messages):
        text = messages[-1].content
        return "" if "<section>" in text and "pier" in text.partition("<section>")[2] else keyword_reader(messages)

    monkeypatch.setattr(scripted, "keyword_reader", decline)
    (table.parent / "none.txt").write_text("It is a heron.")
    result = run("batch", table, *PLAN)
    first, *others = read(table.with_name("contracts.answers.csv"))
    assert (first["status"], first["gaps"]) == ("answered", "1")
    assert "not taken in whole: 1 of" in first["notes"]
    assert f"bookwheel resume {first['reading'][:8]} --flagged" in first["notes"]
    assert [row["gaps"] for row in others] == ["0", "0"]
    assert result.code == 5


@pytest.mark.slow
def test_a_second_run_reads_nothing_again_and_a_failed_row_only_when_asked(run, table, monkeypatch):
    run("batch", table, *PLAN)
    opened = []
    real = documents.open_document
    monkeypatch.setattr(
        documents, "open_document", lambda sources, **more: opened.append(sources) or real(sources, **more)
    )
    run("batch", table, *PLAN)
    assert opened == []
    (table.parent / "none.txt").write_text("It is a heron.")
    run("batch", table, *PLAN, "--retry-failed")
    assert len(opened) == 1
    assert read(table.with_name("contracts.answers.csv"))[2]["status"] == "answered"
    # Another plan asks for other answers.
    run("batch", table, *PLAN, "--temperature", "0.1")
    assert len(opened) == 4


def test_the_same_questions_about_each_file_of_a_folder(run, tmp_path, book, monkeypatch):
    folder, asked = tmp_path / "folder", tmp_path / "fields.txt"
    folder.mkdir()
    for name, fact in FACTS.items():
        (folder / name).write_text(fact)
    asked.write_text("\n".join(QUESTIONS) + "\n\n")
    out = tmp_path / "answers.jsonl"
    result = run("batch", folder, "--questions", asked, "--out", out, "--model", "scripted", "--json")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["source"], row["question"]) for row in rows] == [
        (name, question) for name in FACTS for question in QUESTIONS
    ]
    assert result.json["rows"] == result.json["answered"] == 4
    assert result.json["tokens"] == sum(row["tokens"] for row in rows)
    assert len(json.loads(run("list", "--json").out)) == 4


@pytest.mark.slow
def test_the_budget_holds_for_all_rows_together_and_the_next_run_goes_on(run, table):
    whole = run("batch", table, *PLAN, "--json", "--out", table.with_name("whole.csv")).json["tokens"]
    limit = whole // 2
    result = run("batch", table, *PLAN, "--max-tokens-total", limit, "--json")
    rows = read(table.with_name("contracts.answers.csv"))
    assert result.code == 4
    assert "stopped" in {row["status"] for row in rows}
    spent = sum(int(row["tokens"]) for row in rows)
    assert 0 < spent <= limit
    stopped = {row["reading"] for row in rows if row["status"] == "stopped"}
    assert run("batch", table, *PLAN, "--json").json["answered"] == 2
    after = read(table.with_name("contracts.answers.csv"))
    assert stopped <= {row["reading"] for row in after}
    assert sum(int(row["tokens"]) for row in after) == whole


def test_the_estimate_is_printed_before_anything_is_read(run, table):
    result = run("batch", table, *PLAN, "--estimate", "--json", "--price-in", "1", "--price-out", "1")
    assert (result.json["documents"], result.json["rows"]) == (2, 2)
    assert result.json["cost"] == pytest.approx((result.json["prompt_tokens"] + result.json["completion_tokens"]) / 1e6)
    assert json.loads(run("list", "--json").out) == []
    assert "2 questions about 2 documents" in run("batch", table, *PLAN, "--estimate").out


def test_the_estimate_is_that_of_the_way_that_each_document_is_read_in(run, table, monkeypatch):
    async def wide(*_names, **_settings):
        return ScriptedModel(keyword_reader, window=8192)

    monkeypatch.setattr(registry, "open_model", wide)
    # Two short documents: one call each, or one more for a chunk.
    for way, calls in (((), 2), (("--way", "sequential"), 4)):
        assert run("batch", table, *way, "--estimate", "--json").json["calls"] == calls


def test_an_estimate_over_the_limit_is_said(run, table):
    assert "more than the limit" in run("batch", table, *PLAN, "--max-tokens-total", "900").err


def test_a_question_that_cannot_be_asked_fails_alone(run, table):
    with table.open("a", newline="") as file:
        csv.writer(file).writerow(["a.txt", "why " * 2000, "10"])
    run("batch", table, *PLAN)
    rows = read(table.with_name("contracts.answers.csv"))
    assert [row["status"] for row in rows] == ["answered", "answered", "failed", "failed"]
    assert "question" in rows[3]["error"]


def test_costs_are_told_where_prices_are_known(run, table):
    result = run("batch", table, *PLAN, "--price-in", "2", "--price-out", "3", "--json")
    rows = read(table.with_name("contracts.answers.csv"))
    assert result.json["cost"] == pytest.approx(sum(float(row["cost"] or 0) for row in rows))
    assert result.json["cost"] > 0


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("nowhere.csv",), "nowhere.csv"),
        (("TABLE", "--out", "x.txt"), "x.txt"),
        (("TABLE", "--questions", "nowhere.txt"), "nowhere.txt"),
        (("TABLE", "--way", "sideways"), "sideways"),
    ],
)
def test_bad_input_is_refused_before_anything_is_opened(run, table, words, match):
    result = run("batch", *[table if word == "TABLE" else word for word in words], *PLAN)
    assert result.code == 2
    assert match in result.err
