"""Answers as JSON of a given schema, whatever the way of reading.

    answer  = the way's own answer, in words; its fields were asked for in every prompt (inquiry.py)
    answer' = the same conversation, gone on: "now as JSON"      so the memory, or the text, is before the model

Null may stand for every value there, so that nothing has to be made up. Where the schema has no null, a field that may
be absent is left out; where one must be there, the reading fails and names it.

A server that can constrain its sampling to a schema does so in this turn alone: notes and reasoning stay free.
A reply that does not fit is sent back with the reason, so servers without that ability are served too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import InputError, Rejected, UnfitAnswer, explain_failure
from bookwheel.flags import Flag
from bookwheel.models.base import Model, count_messages
from bookwheel.plan import Plan
from bookwheel.reading.inquiry import find_part, list_objects, list_options, resolve
from bookwheel.reading.json_replies import read_values
from bookwheel.reading.loop import Way, converse
from bookwheel.reading.prompts import prompts_for
from bookwheel.text.sanitize import escape_markup
from bookwheel.types import Answer, Document, Finish, Message, Step

if TYPE_CHECKING:
    from jsonschema import ValidationError

TOOL: Final = "tool"
ARGUMENTS: Final = "arguments"
"""The two fields of an answer that calls a tool; the schema names the tool in an option of its own."""
_TRIES: Final = 3
_MOST_FAULTS: Final = 12
_ASK: Final = """\
Now write the answer as one JSON value that fits this JSON Schema. Use only what is said above. Where it does not say
what the schema asks for, write null: null may stand for every value, also where the schema has none. Put no guess, no
0, no false and no empty text in the place of what is not said.

<schema>
{schema}
</schema>

Reply with the JSON alone."""
# Where the answer's own conversation is not there, or has no room left.
_RECALL: Final = """\
A question was put to a long document, and this is the answer that was found.

<question>
{question}
</question>

<answer>
{answer}
</answer>

"""
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
    seen = dict[int, bool]()
    for reference in _list_values(schema, "$ref"):
        if (part := find_part(schema, reference)) is None:
            raise InputError(
                f'{where}: "$ref" must lead to a part of the same file such as "#/$defs/x", not {reference!r}'
            )
        if _is_endless(part, schema, seen):
            raise InputError(f"{where}: {reference!r} leads back to itself before any property or item of it")
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def _list_values(node: Any, keyword: str) -> Iterator[str]:
    """Yield every text under a keyword in a schema."""
    return (one[keyword] for one in list_objects(node) if isinstance(one.get(keyword), str))


def _is_endless(node: Any, root: Any, seen: dict[int, bool]) -> bool:
    """Return whether a value must fit a part of a schema before it can be told whether it fits that part.

    `seen` has the parts that were looked at, and whether to their end.
    """
    if not isinstance(node, dict) or id(node) in seen:
        return not seen.get(id(node), True)
    seen[id(node)] = False
    same = [node.get(keyword) for keyword in ("not", "if", "then", "else")]
    same += [part for keyword in ("allOf", "anyOf", "oneOf") for part in node.get(keyword) or ()]
    same += [find_part(root, node["$ref"])] if isinstance(node.get("$ref"), str) else []
    is_endless = any(_is_endless(part, root, seen) for part in same)
    seen[id(node)] = True
    return is_endless


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """A way of a reading that has its answer, in the form that was asked for, and only has to be judged."""

    answer: Answer

    async def __call__(self, *_: Any, **__: Any) -> AsyncGenerator[Step | Answer]:
        yield self.answer


def apply_schema(way: Way, plan: Plan) -> Way:
    """Return the way, followed by the turn that makes its answer fit the plan's schema, if it has one."""
    if not plan.schema or isinstance(way, Repetition):
        return way

    async def read_structured(
        document: Document, question: str, model: Model, plan: Plan, done: Sequence[Step] = ()
    ) -> AsyncGenerator[Step | Answer]:
        async with aclosing(way(document, question, model, plan, done)) as events:
            async for event in events:
                yield await _structure(event, question, model, plan) if isinstance(event, Answer) else event

    return read_structured


async def _structure(answer: Answer, question: str, model: Model, plan: Plan) -> Answer:
    """Return the answer as JSON of the plan's schema, or in words where they are allowed.

    Raise UnfitAnswer when the model cannot write what it must.
    """
    schema = plan.schema or "{}"
    asked = json.loads(schema)
    messages = await asyncio.to_thread(_find_messages, answer, question, model, plan)
    if messages is None:
        return answer
    allowed = allow_nulls(asked)
    sampling, fault, reply = replace(plan.sampling, schema=json.dumps(allowed)), "", answer.conversation.reply
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
        # A long list of one of many tools takes seconds.
        value, fault = await asyncio.to_thread(_parse_value, reply.text, allowed)
        if plan.schema_optional and value is None:
            # Who writes words where a tool may be called calls none.
            return answer
        if not fault:
            value, untold = await asyncio.to_thread(settle, value, asked)
            if untold and plan.schema_optional:
                # A call without what it needs is none; the answer in words says what there is.
                return answer
            if untold:
                raise UnfitAnswer(
                    f"the document does not tell what the schema must have: {', '.join(untold)}. "
                    f"Allow null there, or ask for it. What it tells is {json.dumps(value, ensure_ascii=False)}",
                    tries=1,
                )
            flags = tuple(flag for flag in answer.flags if flag is not Flag.NO_ANSWER)
            return Answer(text=json.dumps(value, ensure_ascii=False), conversation=conversation, flags=flags)
        messages = conversation.go_on(_AGAIN.format(fault=fault))
    if plan.schema_optional:
        return answer
    cut = "; it was cut off: raise --answer-tokens" if reply.finish is Finish.LENGTH else ""
    raise UnfitAnswer(
        f"{model.name} gave no JSON that fits the schema in {_TRIES} tries ({fault}){cut}; the answer in words was: "
        f"{answer.text}",
        tries=_TRIES,
    )


def _find_messages(answer: Answer, question: str, model: Model, plan: Plan) -> tuple[Message, ...] | None:
    """Return the prompt of the turn; None where the answer may stay in words: of quotes, or where it has no room."""
    is_quoted = prompts_for(plan, question).quotes
    if is_quoted and plan.schema_optional:
        return None
    said, ask = answer.conversation, _ASK.format(schema=plan.schema or "{}")
    recalled = _RECALL.format(question=escape_markup(question), answer=escape_markup(answer.text))
    alone = (Message(role="user", content=recalled + ask),)
    is_whole = bool(said.messages and said.reply.text.strip()) and not is_quoted
    for messages in (said.go_on(ask), alone) if is_whole else (alone,):
        need = model.template_tokens + count_messages(messages, model.tokenizer) + plan.answer_tokens
        if model.window is None or need <= model.window:
            return messages
    return None if plan.schema_optional else alone


def is_call(answer: str, plan: Plan) -> bool:
    """Return whether an answer calls a tool that the plan's schema offers: it says what to do, and states nothing."""
    if not plan.schema or TOOL not in answer:
        return False
    try:
        value, schema = json.loads(answer), json.loads(plan.schema)
    except ValueError:
        return False
    options = [option.get("properties") or {} for option in list_options(schema) or [schema]]
    return isinstance(value, dict) and any(
        value.keys() == option.keys() == {TOOL, ARGUMENTS} and option[TOOL] == {"const": value[TOOL]}
        for option in options
    )


def count_turn(model: Model, plan: Plan) -> int:
    """Return what must be left of the window so that the answer's conversation can go on as JSON."""
    if not plan.schema or plan.schema_optional:
        return 0
    return model.tokenizer.count(_ASK.format(schema=plan.schema)) + plan.answer_tokens


def allow_nulls(schema: Any) -> Any:
    """Return the schema with null as a value of every property.

    >>> allow_nulls({"properties": {"year": {"type": "integer"}}})
    {'properties': {'year': {'anyOf': [{'type': 'integer'}, {'type': 'null'}]}}}
    """
    if isinstance(schema, list):
        return [allow_nulls(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _allow_null(inner) if key == "properties" else allow_nulls(inner) for key, inner in schema.items()}


def _allow_null(properties: Any) -> Any:
    if not isinstance(properties, dict):
        return properties
    return {
        name: inner
        if isinstance(inner, dict) and "const" in inner
        else {"anyOf": [allow_nulls(inner), {"type": "null"}]}
        for name, inner in properties.items()
    }


def settle(value: Any, schema: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return the value as it fits the schema, and what it lacks for that: nulls stay only where the schema has them."""
    settled, untold = settle_nulls(value, schema)
    if untold or not (fault := _find_fault(settled, schema)):
        return settled, untold
    # What stands behind "allOf", "patternProperties" and their like is not walked.
    bare = _drop_nulls(value)
    return (settled, [fault]) if _find_fault(bare, schema) else (bare, [])


def _drop_nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [_drop_nulls(one) for one in value]
    if isinstance(value, dict):
        return {name: _drop_nulls(one) for name, one in value.items() if one is not None}
    return value


def settle_nulls(value: Any, schema: Any, root: Any = None, path: str = "") -> tuple[Any, list[str]]:
    """Return the value without the nulls that may be absent, and where one is left that the schema has not."""
    root = schema if root is None else root
    schema = resolve(schema, root)
    if not isinstance(schema, dict):
        return value, []
    if options := list_options(schema):
        chosen = next((one for one in options if _fits(value, one, root, with_nulls=True)), True)
        return settle_nulls(value, chosen, root, path)
    if isinstance(value, list):
        settled = [settle_nulls(one, schema.get("items"), root, f"{path}[{at}]") for at, one in enumerate(value)]
        return [one for one, _ in settled], [name for _, names in settled for name in names]
    if not isinstance(value, dict):
        return value, []
    untold, kept = list[str](), dict[str, Any]()
    for name, inner in value.items():
        field, place = (schema.get("properties") or {}).get(name, True), f"{path}.{name}".lstrip(".")
        if inner is None and not _fits(None, field, root):
            if name not in schema.get("required", ()):
                continue
            untold.append(place)
        kept[name], below = settle_nulls(inner, field, root, place)
        untold += below
    return kept, untold


def _fits(value: Any, schema: Any, root: Any, *, with_nulls: bool = False) -> bool:
    """Return whether a value fits a part of a schema, whose references lead into the whole of it."""
    from jsonschema.validators import validator_for

    whole = {**{key: root[key] for key in ("$schema", "$defs", "definitions") if key in root}, "allOf": [schema]}
    whole = allow_nulls(whole) if with_nulls else whole
    return bool(validator_for(whole)(whole).is_valid(value))


def _parse_value(text: str, schema: dict[str, Any]) -> tuple[Any, str]:
    """Return the reply's JSON value, the first that fits the schema, else the first with what does not fit."""
    values, reason = read_values(text)
    if not values:
        return None, reason
    faults = [_find_fault(value, schema) for value in values]
    return next((pair for pair in zip(values, faults, strict=True) if not pair[1]), (values[0], faults[0]))


def _find_fault(value: Any, schema: dict[str, Any]) -> str:
    """Return where a value does not fit a schema, and why; empty if it fits."""
    from jsonschema.validators import validator_for

    faults = _list_faults(validator_for(schema)(schema).iter_errors(value))
    told = dict.fromkeys(f"{fault.json_path}: {fault.message[:300]}" for fault in faults)
    return "; ".join([*told][:_MOST_FAULTS])


def _list_faults(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """Yield what is wrong with a value; of what may have several forms, by the one that comes nearest."""
    from jsonschema.exceptions import relevance

    for error in errors:
        forms: dict[Any, list[ValidationError]] = {}
        for one in error.context or ():
            forms.setdefault(one.schema_path[0], []).append(one)
        # Null is a choice of ours, and a form of another type is none of this value.
        others = [form for form in forms.values() if form[0].schema != {"type": "null"}]
        fitting = [form for form in others if not any(one.validator == "type" and not one.path for one in form)]
        if others:
            yield from _list_faults(min(fitting or others, key=lambda form: max(map(relevance, form))))
        else:
            yield error
