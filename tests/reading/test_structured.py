"""A reply becomes the value that its schema asks for, however a model writes it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from threading import current_thread, main_thread
from unittest.mock import DEFAULT, Mock

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import UnfitAnswer
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading import structured
from bookwheel.reading.loop import read
from bookwheel.reading.structured import _find_messages, _parse_value, allow_nulls, apply_schema, is_call, settle_nulls
from bookwheel.types import Answer, Conversation, Message, Reply, Step

OBJECT = {"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}


@pytest.mark.parametrize(
    "text",
    [
        '{"year": 2031}',
        '<think>2030?</think>{"year": 2031}',
        'Here it is:\n```json\n{"year": 2031}\n```\nas asked.',
        'Here it is: {"year": 2031}.',
        "{'year': 2031,}",
        'First {"month": 5}, then {"year": 2031}',
    ],
)
def test_an_object_is_found_in_what_stands_around_it(text: str) -> None:
    assert _parse_value(text, OBJECT) == ({"year": 2031}, "")


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("2031", {"type": "integer"}, 2031),
        ('```json\n["May", "June"]\n```', {"type": "array", "items": {"type": "string"}}, ["May", "June"]),
    ],
)
def test_a_value_of_any_type_may_be_the_whole_reply(text: str, schema: dict, value: object) -> None:
    assert _parse_value(text, schema) == (value, "")


@pytest.mark.parametrize(
    ("tool", "answer", "found"),
    [
        ({"const": "pay"}, '{"tool": "pay", "arguments": {"crowns": 9}}', True),
        ({"const": "call"}, '{"tool": "pay", "arguments": {"crowns": 9}}', False),
        ({"type": "string"}, '{"tool": "pay", "arguments": {"crowns": 9}}', False),
        ({"const": "pay"}, "The tool is called pay.", False),
    ],
)
def test_a_call_is_one_of_a_tool_that_the_schema_offers(tool: dict, answer: str, found: bool) -> None:
    call = {"type": "object", "properties": {"tool": tool, "arguments": {"type": "object"}}}
    words = {"type": "object", "properties": {"reply": {"type": "string"}}}
    for schema in (call, {"anyOf": [words, call]}):
        assert is_call(answer, replace(Plan(), schema=json.dumps(schema))) is found


def test_what_does_not_fit_is_told() -> None:
    value, fault = _parse_value('{"year": "May"}', OBJECT)
    assert value == {"year": "May"}
    assert "$.year" in fault
    _, fault = _parse_value('{"end": 1, "fee": "none", "parties": [{"name": 5}]}', allow_nulls(FACTS))
    assert [place in fault for place in ("$.end", "$.fee", "$: 'may_assign'", "$.parties[0].name")] == [True] * 4
    assert _parse_value("It ends in May.", OBJECT)[0] is None
    # A null that may stand there, too, is no reason why another value does not.
    assert _parse_value('{"year": "May"}', allow_nulls(OBJECT))[1] == "$.year: 'May' is not of type 'integer'"


FACTS = {
    "type": "object",
    "required": ["end", "fee", "may_assign"],
    "properties": {
        "end": {"type": ["string", "null"], "format": "date"},
        "fee": {"type": "number", "description": "Euros a call"},
        "may_assign": {"type": "boolean"},
        "kind": {"enum": ["lease", "sale"]},
        "parties": {"type": "array", "items": {"$ref": "#/$defs/party"}},
    },
    "$defs": {"party": {"type": "object", "properties": {"name": {"type": "string"}}}},
}
TEXT = "The lease ends in 2031. The fee is 265 euros a call."


def read_fields(values: dict, schema: dict = FACTS, question: str = "Give the main facts.", **changes: object):
    """Return the prompts of a reading whose model writes these values, and its answer."""
    asked: list[str] = []

    def reply(messages: Sequence[Message]) -> str:
        asked.append(messages[-1].content)
        return json.dumps(values) if "<schema>" in asked[-1] else "\\boxed{It ends in 2031.}"

    plan = replace(Plan(chunk_tokens=60, memory_tokens=60, answer_tokens=60), schema=json.dumps(schema), **changes)

    async def collect() -> list[Step | Answer]:
        way = apply_schema(read, plan)
        return [event async for event in way(TextDocument(TEXT), question, ScriptedModel(reply), plan)]

    return asked, asyncio.run(collect())[-1]


def test_the_fields_of_a_schema_reach_every_turn_of_the_reading() -> None:
    asked, answer = read_fields({"end": "2031", "fee": 265, "may_assign": True})
    fields = [
        "- end (text, date)",
        "- fee (number): Euros a call",
        "- may_assign (true or false)",
        "- kind (one of lease, sale)",
        "- parties (list)",
        "  - name (text)",
    ]
    assert all("\n".join(fields) in prompt for prompt in asked[:-1])
    assert json.loads(answer.text)["fee"] == 265


def test_names_of_fields_do_not_choose_the_language_of_the_prompts() -> None:
    asked, _ = read_fields({"end": "2031", "fee": 265, "may_assign": True}, question="主要内容是什么?")
    assert "- end (text, date)" in asked[0]
    assert "The section is material" not in asked[0]


def test_what_the_document_does_not_tell_is_not_made_up() -> None:
    # The whole of what it tells is there, for whoever can do without the rest.
    with pytest.raises(UnfitAnswer, match=r"fee, may_assign.* What it tells is \{.*\"fee\": null.*\}$"):
        read_fields({"end": "2031", "fee": None, "may_assign": None})
    _, answer = read_fields({"end": None, "fee": 265, "may_assign": True, "kind": None})
    assert json.loads(answer.text) == {"end": None, "fee": 265, "may_assign": True}


def test_a_call_of_a_tool_that_lacks_what_it_needs_is_not_made() -> None:
    call = {"type": "object", "required": ["tool", "arguments"]}
    call["properties"] = {"tool": {"const": "note"}, "arguments": FACTS}
    reply = {"type": "object", "properties": {"reply": {"type": "string"}}, "required": ["reply"]}
    schema = {"anyOf": [reply, call], "$defs": FACTS["$defs"]}
    called = {"tool": "note", "arguments": {"end": None, "fee": None, "may_assign": True}}
    _, answer = read_fields(called, schema, schema_optional=True)
    assert answer.text == "It ends in 2031."
    called["arguments"]["fee"] = 265
    asked, answer = read_fields(called, schema, schema_optional=True)
    assert json.loads(answer.text) == called
    assert all("- fee (number): Euros a call" in prompt for prompt in asked[:-1])
    called["arguments"]["fee"] = None
    assert settle_nulls([called], {"items": schema, "$defs": FACTS["$defs"]})[1] == ["[0].arguments.fee"]


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"properties": {"fee": {"type": "number"}}}]},
        {"patternProperties": {"^fee": {"type": "number"}}},
        {"additionalProperties": {"type": "number"}},
    ],
)
def test_no_null_is_left_that_the_schema_has_not(schema: dict) -> None:
    value = {"fee": None, "rent": 4}
    assert structured.settle(value, schema) == ({"rent": 4}, [])
    assert structured.settle(value, {**schema, "required": ["fee"]})[1]
    assert structured.settle({"rent": None}, {"properties": {"rent": {"type": "number"}}, "minProperties": 1})[1]


def test_a_long_list_of_calls_stops_no_other_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = [{"required": ["tool"], "properties": {"tool": {"const": f"tool{n}"}}} for n in range(20)]
    # Each value is compared with the tools, not with the whole schema over and over; more calls than these are an error.
    counted = Mock(wraps=structured.allow_nulls, side_effect=[DEFAULT] * 20_000)
    monkeypatch.setattr(structured, "allow_nulls", counted)
    calls = [{"tool": "tool19"}] * 20
    assert settle_nulls(calls, {"type": "array", "items": {"anyOf": tools}}) == (calls, [])
    monkeypatch.undo()
    seen: list[object] = []
    for name in ("_parse_value", "settle"):
        work = Mock(wraps=getattr(structured, name), side_effect=lambda *_: seen.append(current_thread()) or DEFAULT)
        monkeypatch.setattr(structured, name, work)
    read_fields({"end": "2031", "fee": 265, "may_assign": True})
    assert seen
    assert main_thread() not in seen


def test_the_name_of_a_tool_is_never_null() -> None:
    schema = allow_nulls({"type": "object", "required": ["tool"], "properties": {"tool": {"const": "call"}}})
    assert _parse_value('{"tool": null}', schema)[1]


def test_the_turn_that_writes_the_json_goes_on_from_the_answer_with_its_memory() -> None:
    prompts: list[Sequence[Message]] = []

    def reply(messages: Sequence[Message]) -> str:
        prompts.append(messages)
        return '{"year": 2031}' if "<schema>" in messages[-1].content else "\\boxed{It ends in 2031.}"

    plan = replace(Plan(chunk_tokens=60, memory_tokens=60, answer_tokens=60), schema=json.dumps(OBJECT))

    async def collect() -> list[Step | Answer]:
        way = apply_schema(read, plan)
        return [event async for event in way(TextDocument(TEXT), "When?", ScriptedModel(reply), plan)]

    asyncio.run(collect())
    assert [message.role for message in prompts[-1]] == ["user", "assistant", "user"]
    assert prompts[-1][:1] == prompts[-2]
    assert "<memory>" in prompts[-1][0].content


def test_without_room_to_go_on_the_answer_alone_becomes_json() -> None:
    asked = Message(role="user", content="word " * 900)
    said = Answer(text="480", conversation=Conversation(messages=(asked,), reply=Reply(text="480")))
    plan = replace(Plan(answer_tokens=60), schema=json.dumps(OBJECT))
    (alone,) = _find_messages(said, "What holds now?", ScriptedModel(lambda _: "", window=600), plan) or ()
    assert "<answer>\n480\n</answer>" in alone.content
    assert (
        _find_messages(said, "What?", ScriptedModel(lambda _: "", window=9), replace(plan, schema_optional=True))
        is None
    )
