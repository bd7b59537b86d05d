"""Questions over a table in words: the model writes SQL, SQLite counts, and each figure has its rows."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from table_model import PLAN, SENTENCE, extract, write_document

from bookwheel import TextDocument, collect
from bookwheel.cli.main import main
from bookwheel.errors import InputError
from bookwheel.models.scripted import ScriptedModel
from bookwheel.tables.questions import ask_table

QUESTION = "how many per month, and how much?"
SQL = (
    "select substr(due_date_date, 1, 7) as month, count(*) as n, sum(amount_number) as crowns from rows group by month"
)


def make_model(*queries: str) -> ScriptedModel:
    left = list(queries)

    def reply(messages) -> str:
        if "SQLite" in messages[0].content:
            return f"```json\n{json.dumps({'sql': left.pop(0) if len(left) > 1 else left[0]})}\n```"
        return extract(messages)

    return ScriptedModel(reply, plan=PLAN, window=900)


def ask(tmp_path: Path, *queries: str):
    model = make_model(*queries)
    table = collect(TextDocument(write_document(6)), SENTENCE, model=model, plan=PLAN, journal=tmp_path / "j.sqlite")
    return table, asyncio.run(ask_table(table, len(table.rows), QUESTION, model, PLAN)), model


def test_figures_are_sqlites_and_name_the_rows_behind_them(tmp_path: Path) -> None:
    table, answer, _ = ask(tmp_path, SQL)
    assert (answer.columns, answer.rows) == (("month", "n", "crowns"), (("2027-06", 6, 615.0),))
    assert (answer.sql, set(answer.behind[0])) == (SQL, {row.id for row in table.rows})


@pytest.mark.parametrize(
    ("sql", "behind"),
    [
        ("select who from rows where amount_number > 104", [1]),
        ("select who, (select max(amount_number) from rows) as most from rows limit 2", [1, 1]),
        ("select max(amount_number) from rows", [6]),
        ("select 'from' as word, count(*) from rows where who in (select who from rows limit 2)", [2]),
        ("select distinct substr(who, 1, 6) from rows", None),
        ("with own as (select who from rows) select count(*) from own", None),
        ("select count(*) from (select who from rows)", None),
    ],
)
def test_rows_are_named_where_the_query_with_their_ids_gives_the_same(sql: str, behind, tmp_path: Path) -> None:
    _, answer, _ = ask(tmp_path, sql)
    assert (answer.behind and [len(ids) for ids in answer.behind]) == behind


def test_a_query_that_does_not_run_is_written_again_and_none_that_writes_is_run(tmp_path: Path) -> None:
    _, answer, model = ask(tmp_path, "select nobody from rows", "select count(*) from rows;")
    assert (answer.rows, answer.sql) == (((6,),), "select count(*) from rows")
    assert "no such column: nobody" in model.last_messages[-1].content
    with pytest.raises(InputError, match="wrote no query that runs"):
        ask(tmp_path, "delete from rows")
    with pytest.raises(InputError, match="too big"):
        ask(tmp_path, "select zeroblob(1000000000) from rows")


def test_a_question_that_the_table_cannot_answer_gets_no_figures(tmp_path: Path) -> None:
    _, answer, _ = ask(tmp_path, "")
    assert (answer.sql, answer.rows, answer.usage.calls) == ("", (), 1)


def test_the_command_shows_figures_sql_and_rows(
    monkeypatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[object] = []

    async def open_model(*words: object, **_settings: object) -> ScriptedModel:
        opened.append(words[0])
        return make_model(SQL)

    monkeypatch.setattr("bookwheel.models.registry.open_model", open_model)
    monkeypatch.setenv("BOOKWHEEL_JOURNAL", str(tmp_path / "journal.sqlite"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    (tmp_path / "rent.txt").write_text(write_document(6))
    for words in ([str(tmp_path / "rent.txt"), SENTENCE, "--model", "reader"], ["last"]):
        with pytest.raises(SystemExit) as ended:
            main(["collect", *words, *(["--ask", QUESTION] if words == ["last"] else [])])
    output = capsys.readouterr()
    assert ended.value.code == 0
    assert opened == ["reader", "reader"]
    assert f"sql: {SQL}" in " ".join(output.err.split())
    assert output.out.splitlines()[-1].startswith("2027-06\t6\t615")


@pytest.mark.slow  # a real server
def test_a_chat_that_names_a_way_is_read_though_it_fits(serving) -> None:
    first = {"role": "user", "content": f"{write_document(3)}\n\n{SENTENCE}"}
    with serving(make_model(SQL)) as up, up.client() as client:
        body = {"model": "scripted", "way": "collect", "messages": [first]}
        said = client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
    assert "| Tenant 0 | 100 crowns | 1 June 2027 |" in said


def test_a_table_is_asked_over_http_and_in_a_chat(serving) -> None:
    first = {"role": "user", "content": SENTENCE}
    with serving(make_model(SQL)) as up, up.client() as client:
        body = {"model": "scripted", "document": write_document(6), "way": "collect", "messages": [first]}
        collected = client.post("/v1/chat/completions", json=body).json()
        said = collected["choices"][0]["message"]["content"]
        turns = [first, {"role": "assistant", "content": said}, {"role": "user", "content": QUESTION}]
        counted = client.post("/v1/chat/completions", json={**body, "messages": turns}).json()
        streamed = client.post("/v1/chat/completions", json={**body, "messages": turns, "stream": True}).text
        asked = client.post(f"/readings/{collected['reading']}/rows", json={"question": QUESTION}).json()
    assert "| Tenant 0 | 100 crowns | 1 June 2027 |" in said
    answer = counted["choices"][0]["message"]["content"]
    assert "| 2027-06 | 6 | 615 |" in answer
    assert f"```sql\n{SQL}\n```" in answer
    assert "2027-06 · 6 · 615 (6): “Tenant 0 pays 100 crowns by 1 June 2027.”" in answer
    assert "and 1 more" in answer
    assert "615" in streamed
    assert (asked["rows"], len(asked["behind"][0])) == ([["2027-06", 6, 615.0]], 6)
