"""Ollama's API: models, and chats that are read where they do not fit."""

from __future__ import annotations

import json

from loopback_server import QUESTION, TEXT

from bookwheel.serve.openai.ollama import OllamaChatShape, to_chat_request

USER = "user"
LONG = [{"role": USER, "content": f"{TEXT.strip()}\n\n{QUESTION}"}]


def chat(up, **body):
    with up.client() as client:
        answer = client.post("/api/chat", json={"model": "scripted:latest", **body})
    return answer, [json.loads(line) for line in answer.text.splitlines()]


def test_the_models_are_listed_and_described(up) -> None:
    with up.client() as client:
        assert client.get("/api/version").json()["version"]
        names = [model["name"] for model in client.get("/api/tags").json()["models"]]
        assert names == ["scripted", "bookwheel/scripted"]
        shown = client.post("/api/show", json={"model": "bookwheel/scripted:latest"}).json()
        assert shown["model_info"]["bookwheel.context_length"] == 400
        assert client.post("/api/show", json={"name": "gpt-9"}).status_code == 404


def test_a_short_chat_goes_to_the_model_line_by_line(up) -> None:
    answer, lines = chat(up, messages=[{"role": USER, "content": "Hello there"}])
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    assert "".join(line["message"]["content"] for line in lines)
    assert lines[-1]["prompt_eval_count"] == 2
    assert up.journal.readings() == []


def test_a_long_chat_is_read_whole_or_streamed(up) -> None:
    _, (said,) = chat(up, messages=LONG, stream=False, think=True)
    assert "Ada Quill" in said["message"]["content"]
    assert said["message"]["thinking"]
    assert (said["done"], said["done_reason"], said["reading"]) == (True, "stop", up.journal.reading("last").id)
    _, lines = chat(up, messages=LONG)
    assert "Ada Quill" in "".join(line["message"]["content"] for line in lines)
    assert not any("thinking" in line["message"] for line in lines)
    assert lines[-1]["eval_count"] > 0


def test_errors_are_a_sentence(up) -> None:
    answer, (error,) = chat(up, model="gpt-9", messages=LONG)
    assert answer.status_code == 404
    assert isinstance(error["error"], str)


def test_options_formats_tools_and_their_calls_become_those_of_a_chat() -> None:
    call = {"function": {"name": "look", "arguments": {"at": 3}}}
    shape = OllamaChatShape(
        model="m:latest",
        stream=False,
        format={"type": "object"},
        options={"temperature": 0.5, "num_predict": 7, "num_ctx": 99},
        messages=[{"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "content": "a gull"}],
    )
    request, raw = to_chat_request(shape)
    sent = json.loads(raw)
    assert (request.model, request.limit, request.temperature) == ("m", 7, 0.5)
    assert sent["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert sent["messages"][0]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at": 3}'}
    assert "num_ctx" not in sent
