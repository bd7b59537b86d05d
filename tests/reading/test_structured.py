"""A reply becomes the value that its schema asks for, however a model writes it."""

from __future__ import annotations

import pytest

from bookwheel.reading.structured import _parse_value

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
