"""Read from Python: `read` for scripts and notebooks, `aread` for async programs. They can do what `ask` can.

`resume` and `aresume` go on with a reading of the journal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, overload

from bookwheel.arguments import (
    Source,
    check_questions,
    find_own_model,
    make_blocking,
    name_reading,
    open_source,
    resolve_journal,
)
from bookwheel.configuration import Connection, load_configuration
from bookwheel.documents.cancellation import run_cancellable
from bookwheel.models.base import Model
from bookwheel.plan import LIMITS, Plan
from bookwheel.reading.loop import Way
from bookwheel.reading.runner import Watch, ignore_event
from bookwheel.reading.structured import format_schema
from bookwheel.session import WayRequest, find_way, open_session, refuse_unknown
from bookwheel.types import Reading, Status


@overload
async def aread(
    source: Source,
    question: str,
    *,
    model: str | Model | None = None,
    plan: Plan | None = None,
    way: str | Way | None = None,
    schema: Mapping[str, Any] | None = None,
    journal: str | Path | None = None,
    watch: Watch = ignore_event,
    **settings: Any,
) -> Reading: ...
@overload
async def aread(
    source: Source,
    question: Sequence[str],
    *,
    model: str | Model | None = None,
    plan: Plan | None = None,
    way: str | Way | None = None,
    schema: Mapping[str, Any] | None = None,
    journal: str | Path | None = None,
    watch: Watch = ignore_event,
    **settings: Any,
) -> list[Reading]: ...
async def aread(
    source: Source,
    question: str | Sequence[str],
    *,
    model: str | Model | None = None,
    plan: Plan | None = None,
    way: str | Way | None = None,
    schema: Mapping[str, Any] | None = None,
    journal: str | Path | None = None,
    watch: Watch = ignore_event,
    **settings: Any,
) -> Reading | list[Reading]:
    """Read a document and answer a question, or several of them in lockstep: then each has a reading.

    `source` is a path, a URL, a folder, several of them, or a document such as `TextDocument(text)`. `model` is a name
    or a Model; a Model is not closed. `way` is a name or a function with the signature of Way; by default, a document
    that fits the window is read in one call. `schema` is a JSON Schema: `answer.text` is then JSON that fits it, and
    `reading.value` the value.
    `watch` is called with each step and the answer, and awaited if it is async; of several readings, with those of the
    first.

    `settings` have the names of the options of `bookwheel ask`: those of Connection, `preset`, values of the plan such
    as `chunk_tokens=900`, `temperature=0` or `lang="zh"`, `everything`, `ocr`, limits such as `max_seconds=60`, prices.
    Wrong ones raise an InputError. A budget or a failing model ends the reading with a status, not with an exception.
    """
    from bookwheel.journal import Journal

    questions, files, own = check_questions(question), load_configuration(), find_own_model(model)
    everything, ocr = bool(settings.pop("everything", False)), str(settings.pop("ocr", ""))
    document = await run_cancellable(partial(open_source, source, everything=everything, ocr=ocr))
    connection = Connection.pop_from(settings, model)
    # A caller's plan says how to cut chunks.
    request = WayRequest.from_settings(way, {*settings, *(["preset"] if plan else [])}, files)
    with Journal(resolve_journal(journal)) as store:
        async with open_session(connection, store, model=own, configuration=files) as session:
            kept = await session.keep(document)
            complete = session.build_plan(settings, plan)
            complete = replace(complete, schema=format_schema(schema) if schema is not None else complete.schema)
            prepared = await session.prepare(kept, questions, complete, request)
            await session.run(prepared, watch)
            readings = [store.reading(reading.id, texts=True) for reading in prepared.readings]
            return readings[0] if isinstance(question, str) else readings


async def aresume(
    reading: str | Reading,
    *,
    model: str | Model | None = None,
    way: Way | None = None,
    journal: str | Path | None = None,
    watch: Watch = ignore_event,
    **settings: Any,
) -> Reading:
    """Go on with a reading of the journal that was stopped, interrupted or failed; return it.

    `reading` is its id, the first characters of it, "last", or the Reading. It goes on with the model that began it
    unless another is named, and with its own plan. `way` is needed where it began with a function of yours. `settings`
    are those of Connection, and limits and prices as in `aread`; the old limits do not hold any more.
    """
    from bookwheel.journal import Journal

    own, connection = find_own_model(model), Connection.pop_from(settings, model)
    refuse_unknown(settings, LIMITS)
    with Journal(resolve_journal(journal)) as store:
        old = store.reading(name_reading(reading))
        if old.status is not Status.ANSWERED:
            run, kept = find_way(old, way), store.address_of(old.id)
            async with open_session(connection, store, model=own, kept=kept) as session:
                await session.read_on(session.renew(old, settings, run), watch)
        return store.reading(old.id, texts=True)


read = make_blocking(aread, "read")
resume = make_blocking(aresume, "resume")
