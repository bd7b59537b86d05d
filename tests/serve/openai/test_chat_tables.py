"""A chat that was given a table counts in it by SQLite, also where the whole chat fits the model's window."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette")

from report_model import make_report_model
from table_model import SENTENCE, write_document

SQL = "select substr(due_date_date, 1, 7) as month, count(*) as n from rows group by month"
CHAT = "/v1/chat/completions"


@pytest.mark.slow  # a real server
@pytest.mark.parametrize("count", [3, 30])
def test_a_question_after_a_table_is_counted_by_sqlite(serving, count: int) -> None:
    with serving(make_report_model(sql=SQL)) as up, up.client() as client:
        turns = [{"role": "user", "content": f"{write_document(count)}\n\n{SENTENCE}"}]
        first = client.post(CHAT, json={"model": "scripted", "messages": turns, "way": "collect"}).json()
        table = first["choices"][0]["message"]["content"]
        turns += [{"role": "assistant", "content": table}, {"role": "user", "content": "how many per month?"}]
        second = client.post(CHAT, json={"model": "scripted", "messages": turns}).json()
        counted = second["choices"][0]["message"]["content"]
    assert f"Counted by SQLite over {count} rows" in counted
    assert f"| 2027-06 | {count} |" in counted
    assert SQL in counted
    assert "Tenant 0 pays 100 crowns" in counted


@pytest.mark.slow  # a real server
def test_what_a_table_cannot_answer_is_answered_as_ever(serving) -> None:
    with serving(make_report_model(sql="")) as up, up.client() as client:
        turns = [{"role": "user", "content": f"{write_document(3)}\n\n{SENTENCE}"}]
        table = client.post(CHAT, json={"model": "scripted", "messages": turns, "way": "collect"}).json()
        said = table["choices"][0]["message"]
        turns += [said, {"role": "user", "content": "Why do they pay?"}]
        answer = client.post(CHAT, json={"model": "scripted", "messages": turns})
    assert answer.status_code == 200
    assert "Counted by SQLite" not in answer.json()["choices"][0]["message"]["content"]
