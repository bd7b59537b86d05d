"""Answers as JSON of a given schema, whatever the way of reading.

    asked   = the question, and the fields of the schema
    answer  = the way's own answer to it, in words
    answer' = model(question, answer, schema)       one more conversation; its reply must be JSON that fits

A server that can constrain its sampling to a schema does so in this conversation alone: notes and reasoning stay free.
A reply that does not fit is sent back with the reason, so servers without that ability are served too. What the answer
does not tell is null. Where the schema has no room for that, no number or truth value is made up: fields are named.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from bookwheel.errors import InputError, Rejected, UnfitAnswer, explain_failure
from bookwheel.flags import Flag
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.json_replies import read_values
from bookwheel.reading.loop import Way, converse
from bookwheel.reading.prompts import prompts_for
from bookwheel.text.sanitize import escape_markup
from bookwheel.types import Answer, Document, Finish, Message, Step

_TRIES: Final = 3
_PROMPT: Final = """\
A question was put to a long document, and this is the answer that was found.

<question>
{question}
</question>

<answer>
{answer}
</answer>

Write the answer as one JSON value that fits this JSON Schema. Use only what the answer says. Where it does not say what
the schema asks for, use null, or an empty text or list if the schema has no null there; make nothing up.

<schema>
{schema}
</schema>

Reply with the JSON alone."""
_FIELDS: Final = {"en": "The answer is to have:", "zh": "答案要包括:"}
_DEEPEST: Final = 4
# Keywords whose values are no schemas.
_PLAIN: Final = frozenset({"const", "default", "examples", "required"})
_UNTOLD: Final = frozenset({"number", "integer", "boolean"})
_AGAIN: Final = "That does not fit the schema: {fault}. Reply with the corrected JSON alone."


def load_answer_schema(path: Path) -> str:
    """Return the JSON Schema of a file as compact JSON; InputError names the file and what is wrong."""
    with explain_failure(path, "read"):
        text = path.read_text(encoding="utf-8")
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON: {error}") from error
    return format_schema(schema, str(path))


def format_schema(schema: Any, where: str = "schema") -> str:
    """Return a JSON Schema as compact JSON; InputError says where it is and what is wrong."""
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for

    if not isinstance(schema, dict):
        raise InputError(f'{where} is no JSON Schema: a schema is an object such as {{"type": "object"}}')
    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        raise InputError(f"{where} is no JSON Schema: {error.json_path}: {error.message}") from error
    for reference in _list_values(schema, "$ref"):
        if not _resolves(schema, reference):
            raise InputError(
                f'{where}: "$ref" must lead to a part of the same file such as "#/$defs/x", not {reference!r}'
            )
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def _list_values(node: Any, keyword: str) -> Iterator[str]:
    """Yield every text under a keyword in a schema."""
    if isinstance(node, dict):
        if isinstance(value := node.get(keyword), str):
            yield value
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from _list_values(part, keyword)


def _resolves(schema: Any, reference: str) -> bool:
    """Return True if the reference leads to a part of the schema. Nothing is fetched."""
    if not reference.startswith("#"):
        return False
    fragment = unquote(reference[1:])
    if fragment and not fragment.startswith("/"):
        return fragment in {*_list_values(schema, "$anchor"), *_list_values(schema, "$dynamicAnchor")}
    for part in fragment.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, list) and key.isdecimal() and int(key) < len(schema):
            schema = schema[int(key)]
        elif isinstance(schema, dict) and key in schema:
            schema = schema[key]
        else:
            return False
    return True


def apply_schema(way: Way, plan: Plan) -> Way:
    """Return the way, followed by the turn that makes its answer fit the plan's schema, if it has one."""
    if not plan.schema:
        return way

    async def read_structured(
        document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
    ) -> AsyncGenerator[Step | Answer]:
        prompts = prompts_for(plan, question)
        asked = question if prompts.quotes or plan.schema_optional else _add_fields(question, model, plan)
        # The names of the fields may be in another language.
        own = replace(plan, language=prompts.language)
        async with aclosing(way(document, asked, model, own, done)) as events:
            async for event in events:
                yield await _structure(event, question, model, plan) if isinstance(event, Answer) else event

    return read_structured


def _add_fields(question: str, model: Model, plan: Plan) -> str:
    """Return the question with the schema's fields below it, as many as its budget has room for."""
    schema = json.loads(plan.schema or "{}")
    asked = f"{question.rstrip()}\n\n{_FIELDS.get(prompts_for(plan, question).language, _FIELDS['en'])}"
    fields = list(_list_fields(schema, schema))
    while fields and model.tokenizer.count("\n".join((asked, *fields))) > plan.question_tokens:
        fields.pop()
    return "\n".join((asked, *fields)) if fields else question


def _list_fields(node: Any, schema: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    """Yield a line for each value that a schema asks for: its name, and what is said of it."""
    if not isinstance(node, dict) or depth > _DEEPEST:
        return
    if isinstance(reference := node.get("$ref"), str):
        node = {**_find_part(schema, reference), **node}
    parts = node.get("properties")
    if isinstance(parts, dict) and parts:
        for name, part in parts.items():
            yield from _list_fields(part, schema, f"{path}.{name}" if path else name, depth + 1)
        return
    if isinstance(items := node.get("items"), dict) and path:
        yield f"- {path}{_describe(node)}"
        if "properties" in items or "$ref" in items:
            yield from _list_fields(items, schema, path, depth + 1)
        return
    if path:
        yield f"- {path}{_describe(node)}"


def _describe(node: dict[str, Any]) -> str:
    said = node.get("description") or node.get("title") or ""
    kinds = node["enum"] if isinstance(node.get("enum"), list) else node.get("type", ())
    choices = " or ".join(map(str, [kinds] if isinstance(kinds, str) else kinds))
    return (f": {' '.join(str(said).split())}" if said else "") + (f" ({choices})" if choices else "")


def _find_part(schema: Any, reference: str) -> dict[str, Any]:
    """Return the part of a schema that a reference leads to; empty where that is no plain path."""
    part = schema
    for key in unquote(reference).removeprefix("#").split("/")[1:]:
        part = part.get(key, {}) if isinstance(part, dict) else {}
    return part if isinstance(part, dict) and part is not schema else {}


def _allow_null(node: Any) -> Any:
    """Return a schema in which each number, truth value and choice may be null."""
    if isinstance(node, list):
        return [_allow_null(part) for part in node]
    if not isinstance(node, dict):
        return node
    node = {name: _allow_null(part) if name not in _PLAIN else part for name, part in node.items()}
    kinds, choices = node.get("type"), node.get("enum")
    if isinstance(choices, list) and None not in choices:
        node["enum"] = [*choices, None]
    if isinstance(kinds, str) and (kinds in _UNTOLD or isinstance(choices, list)):
        node["type"] = [kinds, "null"]
    return node


async def _structure(answer: Answer, question: str, model: Model, plan: Plan) -> Answer:
    """Return the answer as JSON of the plan's schema, or in words where they are allowed.

    Raise UnfitAnswer when the model cannot write what it must.
    """
    schema = plan.schema or "{}"
    loose = json.loads(schema) if plan.schema_optional else _allow_null(json.loads(schema))
    shown = json.dumps(loose, ensure_ascii=False, separators=(",", ":"))
    prompt = _PROMPT.format(question=escape_markup(question), answer=escape_markup(answer.text), schema=shown)
    messages: tuple[Message, ...] = (Message(role="user", content=prompt),)
    need = model.template_tokens + model.tokenizer.count(prompt) + plan.answer_tokens
    has_room = model.window is None or need <= model.window
    if plan.schema_optional and (prompts_for(plan, question).quotes or not has_room):
        return answer
    sampling, fault, reply = replace(plan.sampling, schema=shown), "", answer.conversation.reply
    for _ in range(_TRIES):
        try:
            conversation = await converse(messages, model, plan.answer_tokens, sampling)
        except Rejected:
            if sampling.schema is None:
                raise
            # Grammars know less than JSON Schema does. The prompt has the schema too, and the reply is checked.
            sampling = replace(sampling, schema=None)
            conversation = await converse(messages, model, plan.answer_tokens, sampling)
        reply = conversation.reply
        value, fault = _parse_value(reply.text, json.loads(schema))
        if plan.schema_optional and value is None:
            # Who writes words where a tool may be called calls none.
            return answer
        if not fault:
            flags = tuple(flag for flag in answer.flags if flag is not Flag.NO_ANSWER)
            text = json.dumps(value, ensure_ascii=False)
            return Answer(text=text, conversation=conversation, flags=flags)
        if untold := _list_untold(value, json.loads(schema), loose):
            raise UnfitAnswer(
                f"the answer does not tell what the schema must have: {', '.join(untold)}. "
                f"Allow null there, or ask for it. The answer in words was: {answer.text[:300]}",
                tries=1,
            )
        messages = conversation.go_on(_AGAIN.format(fault=fault))
    if plan.schema_optional:
        return answer
    cut = "; it was cut off: raise --answer-tokens" if reply.finish is Finish.LENGTH else ""
    raise UnfitAnswer(
        f"{model.name} gave no JSON that fits the schema in {_TRIES} tries ({fault}){cut}; the answer in words was: "
        f"{answer.text[:300]}",
        tries=_TRIES,
    )


def _list_untold(value: Any, schema: dict[str, Any], loose: dict[str, Any]) -> list[str]:
    """Return where a value that fits otherwise has null for what the schema must have."""
    from jsonschema.validators import validator_for

    if next(validator_for(loose)(loose).iter_errors(value), None):
        return []
    faults = validator_for(schema)(schema).iter_errors(value)
    return list(dict.fromkeys(fault.json_path.removeprefix("$.") for fault in faults if fault.instance is None))


def _parse_value(text: str, schema: dict[str, Any]) -> tuple[Any, str]:
    """Return the reply's JSON value, the first that fits the schema, else the first with what does not fit."""
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for

    values, reason = read_values(text)
    if not values:
        return None, reason
    validator = validator_for(schema)(schema)
    faults = [best_match(validator.iter_errors(value)) for value in values]
    value, fault = next((pair for pair in zip(values, faults, strict=True) if not pair[1]), (values[0], faults[0]))
    return value, f"{fault.json_path}: {fault.message[:300]}" if fault else ""
