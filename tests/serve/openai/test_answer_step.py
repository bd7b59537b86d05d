"""Formats and tools are in the answer step: a schema goes in, a message comes out."""

import json

import pytest
from jsonschema import validate

from bookwheel.errors import InputError
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.openai.answer_step import build_message, find_answer_schema
from bookwheel.serve.openai.schemas import ChatShape

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
