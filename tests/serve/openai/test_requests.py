"""What a chat completion asks for: formats and tools in the answer step, other fields, room in the window."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from jsonschema import validate

from bookwheel.errors import InputError
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.openai.chat import fits_by_bytes, fits_by_tokens
from bookwheel.serve.openai.conversation import parse_messages
from bookwheel.serve.openai.requests import (
    ChatShape,
    build_message,
    check_supported,
    find_answer_schema,
    name_unused,
    reply_limit,
    window_tokens,
)

PARTY = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOL = {"type": "function", "function": {"name": "remind", "description": "Set a reminder.", "parameters": PARTY}}
OTHER = {"type": "function", "function": {"name": "stop"}}


def chat(**values):
    return ChatShape.model_validate({"model": "m", "messages": [{"role": "user", "content": "x"}], **values})


def schema_of(**values):
    found = find_answer_schema(chat(**values))
    return found and json.loads(found)


def test_words_need_no_schema():
    assert schema_of() is schema_of(response_format={"type": "text"}) is schema_of(tools=[]) is None
    assert schema_of(tools=[TOOL], tool_choice="none") is None


def test_a_format_is_the_schema():
    assert schema_of(response_format={"type": "json_object"}) == {"type": "object"}
    format_ = {"type": "json_schema", "json_schema": {"name": "party", "strict": True, "schema": PARTY}}
    assert schema_of(response_format=format_) == PARTY


@pytest.mark.parametrize(
    ("values", "param"),
    [
        ({"response_format": {"type": "xml"}}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": 3}}}, "response_format"),
        ({"response_format": "json"}, "response_format"),
        ({"tools": [{}]}, "tools"),
        ({"tools": "all"}, "tools"),
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"tools": [TOOL], "tool_choice": "some"}, "tool_choice"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "no"}}}, "tool_choice"),
    ],
)
def test_what_is_no_format_or_tool_is_refused_by_name(values, param):
    with pytest.raises(ApiError) as error:
        schema_of(**values)
    assert (error.value.status, error.value.param) == (400, param)


def test_a_schema_that_is_none_is_refused():
    with pytest.raises(InputError, match="JSON Schema"):
        schema_of(response_format={"type": "json_schema", "json_schema": {"schema": {"type": 3}}})


def test_with_tools_the_answer_is_a_reply_or_one_call():
    schema = schema_of(tools=[TOOL, OTHER])
    for value in (
        {"reply": "Done."},
        {"tool": "remind", "arguments": {"name": "x"}},
        {"tool": "stop", "arguments": {}},
    ):
        validate(value, schema)
    assert "Set a reminder." in json.dumps(schema)
    for choice in ("required", {"type": "function", "function": {"name": "remind"}}):
        forced = schema_of(tools=[TOOL], tool_choice=choice)
        validate({"tool": "remind", "arguments": {"name": "x"}}, forced)
        with pytest.raises(Exception, match="required"):
            validate({"reply": "Done."}, forced)


def test_the_reply_of_an_answer_with_tools_may_have_a_format():
    format_ = {"type": "json_schema", "json_schema": {"schema": PARTY}}
    validate({"reply": {"name": "Ada"}}, schema_of(tools=[TOOL], response_format=format_))


def test_definitions_of_arguments_stay_in_reach():
    parameters = {
        "type": "object",
        "properties": {"day": {"$ref": "#/$defs/Day"}},
        "$defs": {"Day": {"type": "string"}},
    }
    tool = {"type": "function", "function": {"name": "remind", "parameters": parameters}}
    validate({"tool": "remind", "arguments": {"day": "Monday"}}, schema_of(tools=[tool]))


def test_an_answer_becomes_a_message():
    assert build_message(chat(), "Ada Quill", "r1") == ({"content": "Ada Quill"}, None)
    with_tools = chat(tools=[TOOL])
    assert build_message(with_tools, '{"reply": "Done."}', "r1") == ({"content": "Done."}, None)
    message, finish = build_message(with_tools, '{"tool": "remind", "arguments": {"name": "é"}}', "r1")
    assert finish == "tool_calls"
    assert message["content"] is None
    (call,) = message["tool_calls"]
    assert (call["id"], call["type"], call["function"]["name"]) == ("call_r1", "function", "remind")
    assert json.loads(call["function"]["arguments"]) == {"name": "é"}
    formatted = chat(tools=[TOOL], response_format={"type": "json_object"})
    assert build_message(formatted, '{"reply": {"name": "Ada"}}', "r1")[0] == {"content": '{"name": "Ada"}'}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 2),
        ("functions", [{}]),
        ("logprobs", True),
        ("modalities", ["text", "audio"]),
        ("audio", {"voice": "ash"}),
    ],
)
def test_a_setting_that_a_reading_cannot_follow_is_refused_by_name(name, value):
    with pytest.raises(ApiError, match=name) as error:
        check_supported(chat(**{name: value}))
    assert (error.value.kind, error.value.status, error.value.param) == ("unsupported_parameter", 400, name)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"n": 1},
        {"n": None},
        {"tools": []},
        {"functions": None},
        {"response_format": {"type": "text"}},
        {"response_format": None},
        {"logprobs": False},
    ],
)
def test_a_setting_that_asks_for_nothing_more_is_accepted(values):
    check_supported(chat(**values))


def test_tools_and_formats_are_refused_where_there_is_no_answer_step():
    for values in ({"tools": [{"type": "function"}]}, {"response_format": {"type": "json_object"}}):
        check_supported(chat(**values))
        with pytest.raises(ApiError, match=next(iter(values))):
            check_supported(chat(**values), has_tools=False)


def test_fields_that_a_reading_does_not_use_are_named():
    used = {"temperature": 0.2, "response_format": {"type": "json_object"}, "user": "ada", "metadata": {"a": "b"}}
    assert name_unused(chat(**used)) == ()
    assert name_unused(chat(top_k=40, presence_penalty=0, frequency_penalty=0.5, logit_bias={})) == (
        "frequency_penalty",
        "top_k",
    )


def chat_of(text: str, **fields: object) -> ChatShape:
    return ChatShape(model="m", messages=[{"role": "user", "content": text}], **fields)


def model_of(window: int | None = 100) -> ScriptedModel:
    model = ScriptedModel(lambda messages: "yes", window=window)
    model.template_tokens = 8
    return model


@pytest.mark.parametrize(("window", "limit", "most"), [(100, None, 25), (100, 7, 7), (3, None, 1)])
def test_a_reply_without_a_limit_may_fill_a_quarter_of_the_window(window: int, limit: int | None, most: int) -> None:
    assert reply_limit(chat_of("x", max_tokens=limit), model_of(window)) == most


def test_a_window_that_is_not_told_is_that_of_the_longest_update() -> None:
    model = model_of(None)
    assert window_tokens(model) == Plan().update_tokens(question=1024, template=8)
    assert reply_limit(chat_of("x"), model) == window_tokens(model) // 4


@pytest.mark.parametrize(("size", "fits"), [(82, True), (83, False)])
def test_a_chat_fits_by_its_bytes_up_to_the_last_one(size: int, fits: bool) -> None:
    for text in ("x" * size, "é" * (size // 2) + "x" * (size % 2)):
        chat = chat_of(text, max_tokens=10)
        assert fits_by_bytes(parse_messages(chat.messages), chat, model_of()) is fits


@pytest.mark.parametrize(("words", "fits"), [(82, True), (83, False)])
def test_a_chat_fits_by_its_tokens_up_to_the_last_one(words: int, fits: bool) -> None:
    chat = chat_of("word " * words, max_tokens=10)
    assert fits_by_tokens(parse_messages(chat.messages), chat, model_of()) is fits


def test_a_text_that_cannot_fit_is_not_tokenized() -> None:
    model = model_of()
    model.tokenizer = SimpleNamespace(count=lambda text: pytest.fail("it was tokenized"))
    chat = chat_of("x" * (82 * 64 + 1), max_tokens=10)
    assert not fits_by_tokens(parse_messages(chat.messages), chat, model)
