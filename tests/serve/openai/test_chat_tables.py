"""A chat that was given a table counts in it by SQLite, also where the whole chat fits the model's window."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("starlette")

from report_model import make_report_model
from table_model import SENTENCE, write_document

from bookwheel.serve.openai.chat_reader import ChatReader, _cut_table
from bookwheel.serve.openai.conversation import parse_messages
from bookwheel.serve.openai.requests import ChatShape

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


TABLE = {"role": "assistant", "content": "3 rows\n| a | b |\n| - | - |\n| 1 | 2 |"}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}


def ask(parts: list[dict], newest: list[dict], **more: object) -> ChatShape:
    turns = [{"role": "user", "content": parts}, TABLE, {"role": "user", "content": newest}]
    return ChatShape.model_validate({"model": "scripted", "messages": turns, **more})


@pytest.mark.parametrize(
    ("parts", "newest", "more"),
    [
        ([PICTURE], [], {}),
        ([], [SOUND], {}),
        ([], [], {"tools": [TOOL]}),
        ([], [], {"tools": [TOOL], "tool_choice": "required"}),
        ([], [], {"response_format": FORMAT}),
        ([{"type": "file", "file": {"file_id": "file-0"}}], [], {}),
    ],
)
def test_a_table_is_not_counted_for_what_words_do_not_answer(parts: list, newest: list, more: dict) -> None:
    text, question = {"type": "text", "text": "These are rows. " * 9}, {"type": "text", "text": "How many are red?"}
    chat = ask([text, *parts], [question, *newest], **more)
    # It is settled before the service is asked anything.
    assert asyncio.run(ChatReader(None).count(None, chat, parse_messages(chat.messages), "scripted")) is None


@pytest.mark.parametrize("said", ["1 row\n| a |", "3 rows\n\n| a |", "3 行\n| a |"])
def test_a_table_of_a_reading_is_known_by_its_first_line(said: str) -> None:
    assert "|" not in _cut_table(said)
