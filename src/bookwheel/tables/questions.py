"""A question over a table, answered by counting: the model writes SQL, SQLite runs it, and each figure has its rows.

    "how many per month?"  ->  select substr(date_date, 1, 7) as month, count(*) as n from rows group by month
                               2027-01 | 2 | rows 3fa9c1, 4be1f0

The model sees the columns and a few values, and no figure is its own. The query can only read the table, ends after so
many steps, and is shown. The rows behind a figure are found by the same query with their ids beside it; where that one
gives other figures, none are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Protocol

from bookwheel.errors import InputError
from bookwheel.models.base import Model
from bookwheel.plan import Plan
from bookwheel.reading.loop import check_question, converse
from bookwheel.reading.prompts import prompts_for
from bookwheel.tables.rows import UnreadableRowsError, parse_object
from bookwheel.tables.sql import name_for_sql
from bookwheel.tables.table import format_grid
from bookwheel.text.sanitize import escape_markdown
from bookwheel.types import Usage

_TURN: Final = "sql"
_TRIES: Final = 3
_TOKENS: Final = 400
_MOST_FIGURES: Final = 200
_MOST_BEHIND: Final = 1000
"""Rows that are named behind one figure; their number is told in any case."""
_SAMPLED: Final = 200
_VALUES: Final = 4
_LONGEST: Final = 40
_AGAIN: Final = "SQLite says: {fault}. Reply with the corrected JSON object alone."
_PIECES: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[()]|\w+|.", re.DOTALL)
_COUNTS: Final = re.compile(r"(?i)\b(count|sum|avg|min|max|total|group_concat)\s*\(")
_SHOWN_BEHIND: Final = 5
_WORDS: Final = {
    "en": ("Counted by SQLite over {count} rows:", "Rows behind each figure:", "and {more} more", "nothing"),
    "zh": ("由 SQLite 在 {count} 行上计算：", "每个数字背后的行：", "另有 {more} 行", "无"),
}


class AskedTable(Protocol):
    """What a question needs of a table."""

    @property
    def fields(self) -> Sequence[str]: ...

    def list_records(self) -> Iterator[dict[str, Any]]: ...

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAnswer:
    """What SQLite says to a question."""

    question: str
    sql: str
    """Empty where the model says that the table cannot answer it."""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str | int | float | None, ...], ...] = ()
    behind: tuple[tuple[str, ...], ...] | None = None
    """For each row of the answer, the ids of the table's rows that it is made of; None where that cannot be told."""
    is_cut: bool = False
    """There were more rows in the answer."""
    usage: Usage


async def ask_table(table: AskedTable, count: int, question: str, model: Model, plan: Plan) -> TableAnswer:
    """Return what SQLite says of a table of so many rows; InputError where the model writes no query that runs."""
    prompts = prompts_for(plan, question)
    if prompts.quotes or _TURN not in prompts.turns:
        raise InputError(f"{model.name} cannot write SQL: name a model that can, or give the query yourself")
    check_question(question, model, plan)
    schema = _describe_schema(table, count)
    messages = prompts.turn(_TURN, question=question, section=schema)
    usage, fault = Usage(), ""
    for _ in range(_TRIES):
        talk = await converse(messages, model, min(_TOKENS, plan.memory_tokens + plan.answer_tokens), plan.sampling)
        usage += talk.reply.usage
        try:
            sql = str(parse_object(talk.reply.text).get("sql") or "").strip().rstrip(";").strip()
            if not sql:
                return TableAnswer(question=question, sql="", usage=usage)
            return _run(table, question, sql, usage)
        except (UnreadableRowsError, InputError) as error:
            fault = str(error)
        messages = talk.go_on(_AGAIN.format(fault=fault))
    raise InputError(f"{model.name} wrote no query that runs ({fault}): ask in other words, or give the SQL yourself")


def _describe_schema(table: AskedTable, count: int) -> str:
    """Return the table's columns for a prompt, with some values of each."""
    seen: dict[str, dict[str, None]] = {name: {} for name in table.fields}
    for record in islice(table.list_records(), _SAMPLED):
        for name, value in record.items():
            if value is not None and len(seen[name]) < _VALUES:
                seen[name].setdefault(repr(value)[:_LONGEST])
    names = name_for_sql(table.fields)
    lines = [f"- {name}: {', '.join(values)}" for name, values in zip(names, seen.values(), strict=True)]
    return "\n".join((f"rows ({count} rows)", *lines))


def _run(table: AskedTable, question: str, sql: str, usage: Usage) -> TableAnswer:
    names, rows = table.query(sql)
    shown = [tuple(None if isinstance(cell, bytes) else cell for cell in row) for row in rows[:_MOST_FIGURES]]
    behind = _find_behind(table, sql, rows)
    return TableAnswer(
        question=question,
        sql=sql,
        columns=tuple(names),
        rows=tuple(shown),
        behind=None if behind is None else tuple(behind[: len(shown)]),
        is_cut=len(rows) > len(shown),
        usage=usage,
    )


def _find_behind(table: AskedTable, sql: str, rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, ...]] | None:
    """Return the ids of the rows behind each row of an answer; None where the query with ids gives another answer."""
    *_, id_ = name_for_sql(table.fields)
    pieces = [found[0] for found in _PIECES.finditer(sql)]
    depth, outer, selected = 0, "", ""
    at = None
    for place, piece in enumerate(pieces):
        depth -= piece == ")"
        if depth == 0:
            outer += piece
            if piece.lower() == "from" and at is None:
                at, selected = place, outer
        depth += piece == "("
    if at is None or pieces[0].lower() != "select":
        return None
    head, tail = "".join(pieces[:at]), "".join(pieces[at:])
    is_grouped = _COUNTS.search(selected) or re.search(r"(?i)\bgroup\s+by\b", outer)
    # In quotes, a name that is none of the table's would be a text.
    added = f"group_concat([{id_}], ' ')" if is_grouped else f"[{id_}]"
    try:
        _, with_ids = table.query(f"{head.rstrip()}, {added} {tail}")
    except InputError:
        return None
    if [row[:-1] for row in with_ids] != list(rows):
        return None
    return [tuple(str(row[-1] or "").split()) for row in with_ids]


def format_answer(
    answer: TableAnswer, records: Mapping[str, dict[str, Any]], quote: str, count: int, language: str
) -> str:
    """Return an answer as Markdown: the figures, the query, and some of the rows behind each figure."""
    title, heading, more, nothing = _WORDS.get(language, _WORDS["en"])
    cells = [
        ["" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in answer.rows
    ]
    lines = [title.format(count=count), "", format_grid(answer.columns, cells) if cells else nothing]
    lines += ["```sql", answer.sql.replace("```", "` ` `"), "```"]
    if answer.behind is not None and cells:
        lines += ["", heading]
        for figure, ids in zip(cells, answer.behind, strict=True):
            words = [str(records[id_][quote]) for id_ in ids[:_SHOWN_BEHIND] if id_ in records]
            left = len(ids) - len(words)
            grid = "; ".join(
                (*(f"“{escape_markdown(one)}”" for one in words), *([more.format(more=left)] if left else ()))
            )
            lines.append(f"- {' · '.join(figure)} ({len(ids)}): {grid}")
    return "\n".join(lines)
