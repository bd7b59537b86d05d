"""Any value of a chat's body may be any JSON: it is read or refused in words, and never breaks the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.serve.app import build_app

LONG = "Ada wound the clock. " * 300
PICTURE = "data:image/png;base64,iVBORw0KGgo="
ODD: tuple[Any, ...] = (
    [],
    {},
    "x",
    5,
    None,
    True,
    -1.5,
    [5],
    ["x"],
    [[]],
    {"a": 1},
    {"type": {}},
    {"type": "function"},
)
FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}
TOOLS = [{"type": "function", "function": FUNCTION}]
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"a": "b"}'}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}}
PARTS = [{"type": "text", "text": "Who?"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
CHAT = [
    {"role": "system", "content": LONG},
    {"role": "user", "content": "What is it?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "a", "content": "c"},
    {"role": "user", "content": PARTS},
]
BLOCKS = [
    {"type": "text", "text": "Who?"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    {"type": "document", "title": "a.txt", "source": {"type": "text", "media_type": "text/plain", "data": LONG}},
]
TOOL = {"name": "f", "description": "d", "input_schema": FUNCTION["parameters"]}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "model": "scripted",
        "messages": CHAT,
        "tools": TOOLS,
        "tool_choice": "auto",
        "response_format": SCHEMA,
        "plan": {"chunk_tokens": 300},
        "stream_options": {"include_usage": True},
        "max_tokens": 9,
        "temperature": 0.5,
        "stop": ["x"],
        "metadata": {"a": "b"},
        "logit_bias": {"1": 1},
    },
    "/v1/responses": {
        "model": "scripted",
        "instructions": LONG,
        "reasoning": {"effort": "low"},
        "text": {"format": SCHEMA},
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Who?"}]},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "c"}]},
            {
                "role": "user",
                "content": [{"type": "input_image", "image_url": PICTURE}, {"type": "input_text", "text": "?"}],
            },
        ],
        "tools": [{"type": "function", **FUNCTION}],
        "tool_choice": {"type": "function", "name": "f"},
    },
    "/v1/messages": {
        "model": "scripted",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": BLOCKS},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"a": "b"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": BLOCKS[:1]}]},
        ],
        "tools": [TOOL],
        "tool_choice": {"type": "tool", "name": "f"},
        "thinking": {"type": "enabled"},
        "stop_sequences": ["x"],
        "metadata": {"user_id": "a"},
    },
    "/api/chat": {
        "model": "scripted",
        "stream": False,
        "format": {"type": "object"},
        "options": {"num_predict": 9},
        "messages": [
            {"role": "system", "content": LONG},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": "b"}}}]},
            {"role": "user", "content": "Who?", "images": ["iVBORw0KGgo="]},
        ],
        "tools": TOOLS,
        "keep_alive": "5m",
        "think": False,
    },
    "/v1/completions": {"model": "scripted", "prompt": [LONG + "Who?"], "max_tokens": 9, "stop": ["x"], "echo": False},
    "/v1/embeddings": {"model": "scripted", "input": ["a"], "encoding_format": "float", "dimensions": 9},
}
WORDS_OF_PYTHON = re.compile(
    r"Traceback|NoneType|object has no attribute|unhashable|\b(?:Type|Value|Key|Attribute)Error\b"
)


def change(value: Any, odd: Any) -> Iterator[Any]:
    """Yield the value with each of its parts exchanged in turn, itself the first."""
    yield odd
    if isinstance(value, dict):
        for name, part in value.items():
            yield from ({**value, name: other} for other in change(part, odd))
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in change(part, odd))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    plan = Plan(chunk_tokens=400, memory_tokens=64, answer_tokens=32)
    model = ScriptedModel(keyword_reader, plan=plan, window=1000)
    with Journal(tmp_path_factory.mktemp("odd") / "j.sqlite") as journal:
        app = build_app(journal=journal, models={"scripted": model})
        with TestClient(app, base_url="http://127.0.0.1") as opened:
            yield opened


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    "odd", [ODD[:2], pytest.param(ODD[2:], marks=[pytest.mark.slow, pytest.mark.long])], ids=["empty", "all"]
)
def test_any_part_of_a_body_may_be_any_json(client: TestClient, path: str, odd: tuple[Any, ...]) -> None:
    broken = {}
    for value in odd:
        for body in change(BODIES[path], value):
            answer = client.post(path, json=body)
            if answer.status_code == 500 or (answer.is_error and WORDS_OF_PYTHON.search(answer.text)):
                broken[str(body)[-1500:]] = answer.text[:200]
    assert broken == {}
