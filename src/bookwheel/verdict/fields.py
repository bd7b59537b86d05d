"""The statements of an answer in JSON: each value with the name of its field, each object of a list as one.

    {"end": "2031", "landlord": {"name": "Odo"}, "offices": [{"office": "chair", "holder": "Bo"}]}

    "end": "2031"                                       measured by its words: 2031
    "landlord": {"name": "Odo"}                         Odo
    "offices": {"office": "chair", "holder": "Bo"}      chair, Bo

Without its field a value says nothing: a name that stands in the document would be right in any field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def list_fields(answer: str) -> list[tuple[str, str]] | None:
    """Return the statements of an answer in JSON, each with the words of its values; None where it is none."""
    if not answer.lstrip().startswith(("{", "[")):
        return None
    try:
        value = json.loads(answer)
    except ValueError:
        return None
    return [(text, words) for text, words in _walk((), value) if words.strip()]


def _walk(path: tuple[str, ...], value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _walk((*path, name), inner)
    elif isinstance(value, list):
        for one in value:
            is_row = isinstance(one, dict) and not any(isinstance(cell, dict | list) for cell in one.values())
            yield from (
                [(_name(path, one), ", ".join(filter(None, map(_say, one.values()))))] if is_row else _walk(path, one)
            )
    else:
        yield _name(path, value), _say(value)


def _name(path: tuple[str, ...], value: Any) -> str:
    """Return a value as JSON with the names of the fields that it stands in."""
    text = json.dumps(value, ensure_ascii=False)
    for at, name in reversed([*enumerate(path)]):
        text = f"{json.dumps(name, ensure_ascii=False)}: {text}"
        text = f"{{{text}}}" if at else text
    return text


def _say(value: Any) -> str:
    """Return the words of a text or a number; true, false and null have none."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
