"""Anthropic's Messages API: short ones pass, long ones are read, as in OpenAI's chats."""

from __future__ import annotations

import base64
import json

import pytest
from loopback_server import QUESTION, TEXT

from bookwheel.serve.engine.access import Key, KeyRing, hash_secret
from bookwheel.serve.openai.messages import MessagesShape, to_chat_request

USER = "user"
LONG = [{"role": USER, "content": f"{TEXT.strip()}\n\n{QUESTION}"}]
DOCUMENT = {
    "type": "document",
    "title": "notes.txt",
    "source": {
        "type": "base64",
        "media_type": "text/plain",
        "data": base64.b64encode(TEXT.encode()).decode(),
    },
}


def post(up, *, headers=None, **body):
    with up.client() as client:
        return client.post("/v1/messages", json={"model": "scripted", "max_tokens": 40, **body}, headers=headers)


def events(up, **body):
    with (
        up.client() as client,
        client.stream(
            "POST", "/v1/messages", json={"model": "scripted", "max_tokens": 40, "stream": True, **body}
        ) as got,
    ):
        lines = [line.partition(": ") for line in got.iter_lines()]
    found = [json.loads(value) for name, _, value in lines if name == "data"]
    assert [value for name, _, value in lines if name == "event"] == [event["type"] for event in found]
    return found


def test_a_short_message_goes_to_the_model(up) -> None:
    said = post(up, system="Be brief.", messages=[{"role": USER, "content": "Hello there"}]).json()
    assert (said["type"], said["role"], said["stop_reason"]) == ("message", "assistant", "end_turn")
    assert said["content"][0]["type"] == "text"
    assert said["usage"]["input_tokens"] == 5
    assert [message.content for message in up.model.last_messages] == ["Be brief.", "Hello there"]
    assert up.journal.readings() == []


def test_a_message_is_counted_with_its_document(up) -> None:
    with up.client() as client:
        asked = {"model": "scripted", "messages": [{"role": USER, "content": "Hello there"}]}
        assert client.post("/v1/messages/count_tokens", json=asked).json() == {"input_tokens": 2}
        asked["messages"][0]["content"] = [DOCUMENT, {"type": "text", "text": "Hello there"}]
        assert client.post("/v1/messages/count_tokens", json=asked).json()["input_tokens"] > 100


def test_who_asks_for_a_thread_is_told_to_send_all_messages(up) -> None:
    said = post(up, messages=[{"role": USER, "content": "Hello there"}], thread={"type": "create"})
    assert said.status_code == 400
    assert said.json()["error"]["details"]["error_code"] == "thread_unsupported_request"


def test_an_error_is_of_the_type_of_errors(up) -> None:
    with up.client() as client:
        said = client.post("/v1/messages", json={"model": "scripted", "messages": LONG})
    assert (said.status_code, said.json()["type"], said.json()["error"]["type"]) == (
        400,
        "error",
        "invalid_request_error",
    )


def test_a_document_is_called_by_its_title(up) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": TEXT}
    content = [{"type": "document", "title": "The mill", "source": source}, {"type": "text", "text": QUESTION}]
    said = post(up, messages=[{"role": USER, "content": content}]).json()
    assert up.journal.reading(said["reading"]).document.name == "The mill.txt"


def test_a_long_one_is_read_and_the_memory_is_the_thinking_of_who_asks_for_it(up) -> None:
    said = post(up, messages=LONG).json()
    assert [block["type"] for block in said["content"]] == ["text"]
    assert "Ada Quill" in said["content"][0]["text"]
    assert said["reading"] == up.journal.reading("last").id
    said = post(up, messages=LONG, thinking={"type": "enabled", "budget_tokens": 1024}).json()
    assert [block["type"] for block in said["content"]] == ["thinking", "text"]


def test_a_stream_has_the_events_of_blocks_in_their_order(up) -> None:
    found = events(up, messages=LONG, thinking={"type": "enabled", "budget_tokens": 1024})
    kinds = [event["type"] for event in found if event["type"] != "content_block_delta"]
    block = ["content_block_start", "content_block_stop"]
    assert kinds == ["message_start", *block, *block, "message_delta", "message_stop"]
    starts = [event["content_block"]["type"] for event in found if event["type"] == "content_block_start"]
    assert starts == ["thinking", "text"]
    deltas = [event["delta"] for event in found if event["type"] == "content_block_delta"]
    assert "Ada Quill" in "".join(delta.get("text", "") for delta in deltas)
    assert found[-2]["delta"]["stop_reason"] == "end_turn"
    assert found[-2]["usage"]["output_tokens"] > 0


def test_a_document_of_a_message_is_read(up) -> None:
    said = post(up, messages=[{"role": USER, "content": [DOCUMENT, {"type": "text", "text": QUESTION}]}]).json()
    assert "Ada Quill" in said["content"][0]["text"]
    assert up.journal.document_of(said["reading"]).name == "notes.txt"


def test_tools_their_calls_and_what_they_gave_become_those_of_a_chat() -> None:
    shape = MessagesShape(
        model="m",
        max_tokens=9,
        tools=[{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
        tool_choice={"type": "any"},
        messages=[
            {"role": USER, "content": "Look."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 3}}]},
            {"role": USER, "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a gull"}]},
        ],
    )
    chat, raw = to_chat_request(shape)
    sent = json.loads(raw)
    assert sent["tools"] == [
        {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}, "description": "Looks."}}
    ]
    assert sent["tool_choice"] == "required"
    assert [message.role for message in chat.messages] == [USER, "assistant", "tool"]
    assert sent["messages"][1]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at": 3}'}
    assert sent["messages"][2] == {"role": "tool", "tool_call_id": "t1", "content": "a gull"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"messages": []}, 400),
        ({"messages": [{"role": USER, "content": [{"type": "audio"}]}]}, 400),
        ({"messages": LONG, "tools": [{"type": "web_search_20250305", "name": "web_search"}]}, 400),
        ({"messages": LONG, "model": "gpt-9"}, 404),
    ],
)
def test_what_cannot_be_honoured_is_refused(up, body, status) -> None:
    assert post(up, **body).status_code == status


def test_the_key_may_come_in_anthropics_header(serving) -> None:
    secret = "a secret of Ada's"
    with serving(keys=KeyRing([Key(name="ada", sha256=hash_secret(secret))])) as up:
        hello = [{"role": USER, "content": "Hello"}]
        assert post(up, messages=hello).status_code == 401
        assert post(up, messages=hello, headers={"x-api-key": secret}).status_code == 200
        assert post(up, messages=hello, headers={"x-api-key": "wrong"}).status_code == 401
