"""What a reading is asked for: the question, what was said before it, and the fields that its answer has to fill.

It stands in the place of the question in every prompt of the reading, so a memory is kept for all of it:

    Said before about the same document: …      plan.earlier
    And by when must it be paid?                the question
    - due (text, date): the last day            plan.schema, field by field

A model that only looks for passages to quote is asked the question alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Self
from urllib.parse import unquote

from bookwheel.plan import Plan

_DEEPEST: Final = 4
_MOST_CHOICES: Final = 12
# A schema whose parts refer to one another has far more fields than it has text.
_MOST_PARTS: Final = 1000
_LONGEST_PATH: Final = 40
# Bytes a token of the question's budget: with what fields are about, and for their names alone.
_ROOM_FOR_ALL: Final = 2
_ROOM_FOR_NAMES: Final = 4
_KINDS: Final = {"string": "text", "integer": "whole number", "boolean": "true or false", "array": "list"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A question with what belongs to it."""

    question: str
    earlier: str = ""
    """What was said before, each turn with its role."""
    fields: str = ""
    """The fields that the answer has to fill, one a line."""

    @classmethod
    def from_plan(cls, plan: Plan, question: str) -> Self:
        """Return what a reading by this plan asks; fields that are too many for its prompts are left to their names."""
        fields = describe_fields(plan.schema, plan.question_tokens) if plan.schema else ""
        return cls(question=question.strip(), earlier=plan.earlier, fields=fields)

    def is_asked_by(self, question: str) -> bool:
        """Return True for the question itself, for one that begins with it, and for a prompt with nothing filled in."""
        return question.startswith(self.question) or not question


@lru_cache(maxsize=16)
def describe_fields(schema: str, question_tokens: int) -> str:
    """Return the fields of a JSON Schema, one a line, within a share of the question's budget; else their names.

    >>> describe_fields('{"properties": {"due": {"type": ["string", "null"], "description": "The last day."}}}', 99)
    '- due (text): The last day.'
    """
    root = json.loads(schema)
    whole = resolve(root, root)
    listed = ["- list, of each item:"] if isinstance(whole, dict) and "array" in _list_types(whole) else []
    for has_notes, room in ((True, _ROOM_FOR_ALL), (False, _ROOM_FOR_NAMES)):
        lines, left = list[str](), room * question_tokens + 1
        for at, line in enumerate(_list_fields(root, root, len(listed), has_notes=has_notes)):
            left -= len(line.encode("utf-8", "replace")) + 1 if line else 0
            if left < 0 or at >= _MOST_PARTS:
                break
            lines += [line] if line else []
        else:
            return "\n".join((*listed, *lines)) if lines else ""
    return ""


def resolve(node: Any, root: Any) -> Any:
    """Return the part of a schema that a node refers to, or the node itself."""
    for _ in range(_DEEPEST):
        reference = node.get("$ref") if isinstance(node, dict) else None
        if not isinstance(reference, str):
            return node
        node = find_part(root, reference)
    return node


def find_part(schema: Any, reference: str) -> Any:
    """Return the part of the schema that a reference leads to; None where there is none. Nothing is fetched."""
    if not reference.startswith("#"):
        return None
    fragment = unquote(reference[1:])
    if fragment and not fragment.startswith("/"):
        named = (one for one in list_objects(schema) if fragment in (one.get("$anchor"), one.get("$dynamicAnchor")))
        return next(named, None)
    for part in fragment.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, list) and key.isdecimal() and int(key) < len(schema):
            schema = schema[int(key)]
        elif isinstance(schema, dict) and key in schema:
            schema = schema[key]
        else:
            return None
    return schema


def list_objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from list_objects(part)


def list_options(node: Any) -> list[Any]:
    """Return the schemas that a value may choose between; none where there is no choice."""
    options = (node.get("anyOf") or node.get("oneOf") or []) if isinstance(node, dict) else []
    return [one for one in options if not (isinstance(one, dict) and one.get("type") == "null")]


def _list_fields(node: Any, root: Any, depth: int, path: tuple[Any, ...] = (), *, has_notes: bool) -> Iterator[str]:
    """Yield a line for each field, and an empty one for each part; a part within itself is not gone into again."""
    yield ""
    node, pad = resolve(node, root), "  " * depth
    is_within = any(node is part for part in path) or len(path) > _LONGEST_PATH
    if not isinstance(node, dict) or depth > _DEEPEST or is_within:
        return
    path, options = (*path, node), list_options(node)
    for option in options:
        about = resolve(option, root)
        note = _describe(about) if len(options) > 1 else ""
        if note:
            yield f"{pad}- {note}"
        yield from _list_fields(about, root, depth + bool(note), path, has_notes=has_notes)
    properties = node.get("properties")
    for name, inner in (properties if isinstance(properties, dict) else {}).items():
        field = resolve(inner, root)
        if not isinstance(field, dict) or "const" in field:
            continue
        note = _describe(field) if has_notes else ""
        yield f"{pad}- {name}{_name_kind(field, root)}{note and f': {note}'}"
        yield from _list_fields(field, root, depth + 1, path, has_notes=has_notes)
    parts = node.get("allOf")
    for inner in (*(parts if isinstance(parts, list) else ()), node.get("items")):
        yield from _list_fields(inner, root, depth, path, has_notes=has_notes)


def _describe(node: Any) -> str:
    note = node.get("description") if isinstance(node, dict) else None
    return " ".join(note.split()) if isinstance(note, str) else ""


def _name_kind(node: Any, root: Any) -> str:
    choices = node.get("enum")
    if isinstance(choices, list):
        shown = [str(one) for one in choices[:_MOST_CHOICES] if one is not None]
        return f" (one of {', '.join(shown)}{', …' if len(choices) > _MOST_CHOICES else ''})"
    options = [resolve(one, root) for one in list_options(node)] or [node]
    kinds = [kind for one in options if isinstance(one, dict) for kind in _list_types(one)]
    words = [_KINDS.get(kind, kind) for kind in kinds if kind not in ("null", "object")]
    words += [one["format"] for one in options if isinstance(one, dict) and isinstance(one.get("format"), str)]
    return f" ({', '.join(dict.fromkeys(words))})" if words else ""


def _list_types(node: dict[str, Any]) -> list[str]:
    types = node.get("type", [])
    return [types] if isinstance(types, str) else [str(one) for one in types]
