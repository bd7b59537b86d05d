"""Columns for a sentence that names none: the model proposes them once, and whoever asked is shown them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from bookwheel.errors import InputError
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.loop import converse
from bookwheel.reading.prompts import prompts_for
from bookwheel.tables.columns import QUOTE, TableRequest, names_columns
from bookwheel.tables.rows import UnreadableRowsError, parse_object
from bookwheel.types import Usage

_TURN: Final = "columns"
_MOST: Final = 8
_LONGEST: Final = 40
_TOKENS: Final = 400
_SIGNS: Final = re.compile(r"[,，、;；:：{}\n\r\t]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteRequest:
    """A request with its columns, and whether the model proposed them."""

    request: TableRequest
    is_proposed: bool = False
    usage: Usage = field(default_factory=Usage)
    """Of the call that proposed them; the reading begins with it."""

    def describe(self) -> str:
        """Return the columns and what they cost in a line; empty where the caller named them."""
        names = ", ".join(column.name for column in self.request.columns)
        cost = f"1 call, {self.usage.prompt_tokens:,} + {self.usage.completion_tokens:,} tokens"
        return f"columns, as the model proposes them: {names} ({cost})" if self.is_proposed else ""


async def complete_request(sentence: str, model: Model, plan: Plan) -> CompleteRequest:
    """Return the request of a sentence; where it names no columns, the model is asked for them once."""
    prompts = prompts_for(plan, sentence)
    if prompts.quotes and sentence.strip() and not names_columns(sentence):
        # It cannot propose any; each row is what the document says.
        column = "内容" if prompts.language == "zh" else "item"
        return CompleteRequest(request=TableRequest.parse(f"{sentence.strip(' .。:：')}: {column}"))
    if names_columns(sentence) or _TURN not in prompts.turns or not sentence.strip():
        return CompleteRequest(request=TableRequest.parse(sentence))
    said = await converse(
        prompts.turn(_TURN, question=sentence), model, min(_TOKENS, plan.answer_tokens), plan.sampling
    )
    names = _parse_names(said.reply.text)
    if not names:
        kind = sentence.strip(" .:：")
        raise InputError(
            f'{model.name} proposed no columns; say which columns the table has: "{kind}: name, date, amount"'
        )
    request = TableRequest.parse(f"{sentence.strip(' .。:：')}: {', '.join(names)}")
    return CompleteRequest(request=request, is_proposed=True, usage=said.reply.usage)


def _parse_names(text: str) -> list[str]:
    try:
        given = parse_object(text).get("columns")
    except UnreadableRowsError:
        return []
    names: dict[str, str] = {}
    for name in given if isinstance(given, list) else []:
        plain = " ".join(_SIGNS.sub(" ", name).split())[:_LONGEST] if isinstance(name, str) else ""
        if plain and plain.casefold() != QUOTE:
            names.setdefault(plain.casefold(), plain)
    return list(names.values())[:_MOST]
