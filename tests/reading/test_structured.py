"""A reply becomes the value that its schema asks for, however a model writes it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import UnfitAnswer
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.reading.loop import read
from bookwheel.reading.structured import _parse_value, apply_schema
from bookwheel.types import Answer, Message, Step

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


def test_what_does_not_fit_is_told() -> None:
    value, fault = _parse_value('{"year": "May"}', OBJECT)
    assert value == {"year": "May"}
    assert "$.year" in fault
    assert _parse_value("It ends in May.", OBJECT)[0] is None


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
        "The answer is to have:",
        "- end (string or null)",
        "- fee: Euros a call (number)",
        "- may_assign (boolean)",
        "- kind (lease or sale)",
        "- parties (array)",
        "- parties.name (string)",
    ]
    assert all("\n".join(fields) in prompt for prompt in asked[:-1])
    assert json.loads(answer.text)["fee"] == 265


def test_fields_are_as_many_as_the_question_has_room_for() -> None:
    asked, _ = read_fields({"end": "2031", "fee": 265, "may_assign": True}, question_tokens=20)
    assert "- end" in asked[0]
    assert "- parties.name" not in asked[0]


def test_names_of_fields_do_not_choose_the_language_of_the_prompts() -> None:
    asked, _ = read_fields({"end": "2031", "fee": 265, "may_assign": True}, question="主要内容是什么?")
    assert "答案要包括:\n- end" in asked[0]
    assert "The section is material" not in asked[0]


def test_what_the_answer_does_not_tell_is_not_made_up() -> None:
    with pytest.raises(UnfitAnswer, match="fee, may_assign"):
        read_fields({"end": "2031", "fee": None, "may_assign": None})
    asked, _ = read_fields({"end": "2031", "fee": 265, "may_assign": True})
    assert '"fee":{"type":["number","null"]' in asked[-1]
    assert '"enum":["lease","sale",null]' in asked[-1]
