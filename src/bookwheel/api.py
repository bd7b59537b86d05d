"""Read from Python: `read` for scripts and notebooks, `aread` for async programs. They can do what `ask` can.

`resume` and `aresume` go on with a reading of the journal.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bookwheel.arguments import (
    BUDGET,
    CONNECTION,
    PRICES,
    build_patience,
    build_plan,
    check_question,
    find_address,
    open_source,
    reading_id,
    refuse_unknown,
    renew_budget,
    resolve_journal,
    run_now,
    split_model,
)
from bookwheel.configuration import load_configuration
from bookwheel.documents.cancellation import run_cancellable
from bookwheel.errors import InputError
from bookwheel.reading.runner import ignore_event
from bookwheel.reading.structured import format_schema
from bookwheel.session import WayRequest, find_way, open_session
from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bookwheel.arguments import Source
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.loop import Way
    from bookwheel.types import Answer, Reading, Step


async def aread(
    source: Source,
    question: str,
    *,
    model: str | Model | None = None,
    plan: Plan | None = None,
    way: str | Way | None = None,
    schema: Mapping[str, Any] | None = None,
    journal: str | Path | None = None,
    watch: Callable[[Step | Answer], None] = ignore_event,
    **settings: Any,
) -> Reading:
    """Read a document and answer a question.

    `source` is a path, a URL, a folder, several of them, or a document such as `TextDocument(text)`. `model` is a name
    or a Model; a Model is not closed. `way` is a name or a function with the signature of Way; by default, a document
    that fits the window is read in one call. `schema` is a JSON Schema: `answer.text` is then JSON that fits it.
    `watch` is called with each step and the answer.

    `settings` have the names of the options of `bookwheel ask`: those of Connection, `preset`, values of the plan such
    as `chunk_tokens=900`, `temperature=0` or `lang="zh"`, `everything`, limits such as `max_seconds=60`, and prices.
    Wrong ones raise an InputError. A budget or a failing model ends the reading with a status, not with an exception.
    """
    readings = await aread_several(
        source, [question], model=model, plan=plan, way=way, schema=schema, journal=journal, watch=watch, **settings
    )
    return readings[0]


async def aread_several(
    source: Source,
    questions: Sequence[str],
    *,
    model: str | Model | None = None,
    plan: Plan | None = None,
    way: str | Way | None = None,
    schema: Mapping[str, Any] | None = None,
    journal: str | Path | None = None,
    watch: Callable[[Step | Answer], None] = ignore_event,
    **settings: Any,
) -> list[Reading]:
    """Read a document once for several questions, in lockstep, and return a reading for each; see `aread`.

    `watch` is called with the events of the first one, which stands for all: they are never a chunk apart.
    """
    from bookwheel.journal import Journal

    if not questions:
        raise InputError("no questions: give at least one")
    for question in questions:
        check_question(question)
    configuration = load_configuration()
    everything = bool(settings.pop("everything", False))
    document = await run_cancellable(partial(open_source, source, everything=everything))
    connection = {name: settings.pop(name) for name in CONNECTION if name in settings}
    address, patience = find_address(model, connection, configuration), build_patience(connection)
    # A caller's plan says how to cut chunks.
    request = WayRequest.from_settings(way, {*settings, *(["preset"] if plan else [])}, configuration)
    with Journal(resolve_journal(journal)) as store:
        own, opening = split_model(model, connection)
        async with open_session(address, store, model=own, patience=patience, connection=opening) as session:
            kept = await session.keep(document)
            complete = build_plan(plan, session.model, settings, configuration, address)
            complete = replace(complete, schema=format_schema(schema) if schema is not None else complete.schema)
            prepared = await session.prepare(kept, questions, complete, request)
            await session.run(prepared, watch)
            return [store.reading(reading.id, texts=True) for reading in prepared.readings]


async def aresume(
    reading: str | Reading,
    *,
    model: str | Model | None = None,
    way: Way | None = None,
    journal: str | Path | None = None,
    watch: Callable[[Step | Answer], None] = ignore_event,
    **settings: Any,
) -> Reading:
    """Go on with a reading of the journal that was stopped, interrupted or failed; return it.

    `reading` is its id, the first characters of it, "last", or the Reading. It goes on with the model that began it
    unless another is named, and with its own plan. `way` is needed where it began with a function of yours. `settings`
    are those of Connection, and limits and prices as in `aread`; the old limits do not hold any more.
    """
    from bookwheel.journal import Journal

    connection = {name: settings.pop(name) for name in CONNECTION if name in settings}
    limits = {name: settings.pop(name) for name in (*BUDGET, *PRICES) if name in settings}
    refuse_unknown(settings, (*CONNECTION, *BUDGET, *PRICES))
    patience = build_patience(connection)
    with Journal(resolve_journal(journal)) as store:
        old = store.reading(reading if isinstance(reading, str) else reading_id(reading))
        if old.status is not Status.ANSWERED:
            run = find_way(old, way)
            address = find_address(model, connection, load_configuration(), store.address_of(old.id))
            own, opening = split_model(model, connection)
            async with open_session(address, store, model=own, patience=patience, connection=opening) as session:
                renewed = session.renew(old, renew_budget(old.plan.budget, limits))
                await session.read_on([renewed], store.document_of(old.id), run, watch)
        return store.reading(old.id, texts=True)


def read(
    source: Source,
    question: str,
    *,
    model: str | Model | None = None,
    plan: Plan | None = None,
    way: str | Way | None = None,
    schema: Mapping[str, Any] | None = None,
    journal: str | Path | None = None,
    watch: Callable[[Step | Answer], None] = ignore_event,
    **settings: Any,
) -> Reading:
    """Read a document and answer a question; see `aread`. Works inside a notebook's event loop too."""
    work = aread(
        source,
        question,
        model=model,
        plan=plan,
        way=way,
        schema=schema,
        journal=journal,
        watch=watch,
        **settings,
    )
    return run_now(work)


def resume(
    reading: str | Reading,
    *,
    model: str | Model | None = None,
    way: Way | None = None,
    journal: str | Path | None = None,
    watch: Callable[[Step | Answer], None] = ignore_event,
    **settings: Any,
) -> Reading:
    """Go on with a reading of the journal; see `aresume`. Works inside a notebook's event loop too."""
    return run_now(aresume(reading, model=model, way=way, journal=journal, watch=watch, **settings))
