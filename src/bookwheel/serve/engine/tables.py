"""Questions over the tables of a server: in words, which a model turns into SQL, and in a chat after its rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bookwheel.errors import InputError
from bookwheel.reading.prompts import prompts_for
from bookwheel.tables.build import ShownTable, load_shown
from bookwheel.tables.columns import names_columns
from bookwheel.tables.proposal import complete_request
from bookwheel.tables.questions import TableAnswer, ask_table, format_answer
from bookwheel.tables.table import format_grid
from bookwheel.tables.way import makes_table
from bookwheel.text.lexicon import language_of
from bookwheel.types import Status, Usage

if TYPE_CHECKING:
    from bookwheel.serve.engine.access import Key
    from bookwheel.serve.engine.service import ReadingSpec, Service

_MOST_LOOKED_AT = 50
_MOST_SHOWN = 30


async def ask_rows(service: Service, key: Key | None, shown: ShownTable, question: str, model: str = "") -> TableAnswer:
    """Return what SQLite says of a table, by a query that a model writes; its calls count for the key."""
    model = model or next(iter(service.models))
    session = service.make_session(key, model)
    service.queue.check_capacity()
    work = ask_table(shown, shown.facts["count"], question, session.model, service.make_plan(model))
    return await service.readings.loop.run(work)


async def complete_question(service: Service, key: Key | None, spec: ReadingSpec, question: str) -> tuple[str, Usage]:
    """Return what a table is asked for with its columns; those that it leaves out the model proposes, at this cost."""
    if not makes_table(spec.way) or names_columns(question) or not question.strip():
        return question, Usage()
    session = service.make_session(key, spec.model)
    service.queue.check_capacity()
    complete = await service.readings.loop.run(complete_request(question, session.model, spec.plan))
    return complete.request.to_question(), complete.usage


async def answer_from_rows(
    service: Service, key: Key | None, sha: str, said: Sequence[str], question: str, model: str
) -> tuple[str, TableAnswer] | None:
    """Return what the newest table of a chat says to its question, in Markdown; None where there is none that can."""
    if names_columns(question) or prompts_for(service.plans[model], question).quotes:
        return None
    listed = await service.list_readings(key, limit=_MOST_LOOKED_AT, document=sha)
    turns = [turn.strip() for turn in said]
    # Columns that a turn left out stand in the reading's question after a colon.
    begun = tuple(f"{turn.rstrip(' .。')}:" for turn in turns if turn)
    tables = (one for one in listed if makes_table(one.way) and one.status is Status.ANSWERED)
    found = next((one for one in tables if one.question in turns or one.question.startswith(begun)), None)
    if found is None:
        return None
    shown = await asyncio.to_thread(load_shown, service.journal, found.id)
    try:
        answer = await ask_rows(service, key, shown, question, model)
    except InputError:  # No query of its runs, so the document is read.
        return None
    if not answer.sql:
        return None
    return await asyncio.to_thread(_format, shown, answer, question), answer


def _format(shown: ShownTable, answer: TableAnswer, question: str) -> str:
    wanted = {id_ for ids in answer.behind or () for id_ in ids}
    name = shown.name_fact("row")
    records = {record[name]: record for record in shown.list_records() if record[name] in wanted} if wanted else {}
    text = format_answer(answer, records, shown.name_fact("quote"), shown.facts["count"], language_of(question))
    return "\n".join((text, *(f"\n_{note}_" for note in shown.facts["notes"])))


def format_first_rows(service: Service, reading: str) -> str:
    """Return the first rows of a reading's table in Markdown; empty where there are none."""
    shown = load_shown(service.journal, reading)
    quote, page = shown.name_fact("quote"), shown.name_fact("page")
    names = [column["name"] for column in shown.facts["columns"]]
    rows = [
        [*("" if record[name] is None else str(record[name]) for name in (*names, page)), str(record[quote])]
        for record in shown.list_records(0, _MOST_SHOWN)
    ]
    left = shown.facts["count"] - len(rows)
    notes = [*([f"+ {left}"] if left > 0 else ()), *shown.facts["notes"]]
    return "\n".join(("", "", format_grid([*names, "page", "quote"], rows), *notes)) if rows else ""
