"""Read from Python: `read` for scripts and notebooks, `aread` for async programs. They can do what `ask` can.

`resume` and `aresume` go on with a reading of the journal.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from bookwheel.arguments import (
    BUDGET,
    CONNECTION,
    PRICES,
    budget_values,
    build_patience,
    build_plan,
    check_question,
    find_address,
    open_reader,
    open_source,
    reading_id,
    refuse_unknown,
    resolve_journal,
    resolve_way,
)
from bookwheel.configuration import load_configuration
from bookwheel.documents.cancellation import run_cancellable
from bookwheel.errors import InputError
from bookwheel.reading import runner
from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
    from pathlib import Path

    from bookwheel.arguments import Source
    from bookwheel.models.address import ModelAddress
    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.loop import Way
    from bookwheel.types import Answer, Reading, Step

_T = TypeVar("_T")


async def aread(
    source: Source,
    question: str,
    *,
    model: str | Model | None = None,
    plan: Plan | None = None,
    way: str | Way | None = None,
    schema: Mapping[str, Any] | None = None,
    journal: str | Path | None = None,
    watch: Callable[[Step | Answer], None] = runner.ignore_event,
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
    watch: Callable[[Step | Answer], None] = runner.ignore_event,
    **settings: Any,
) -> list[Reading]:
    """Read a document once for several questions, in lockstep, and return a reading for each; see `aread`.

    `watch` is called with the events of the first one, which stands for all: they are never a chunk apart.
    """
    from bookwheel.journal import Journal
    from bookwheel.reading.choice import choose_way, find_default_way
    from bookwheel.reading.several import run_readings
    from bookwheel.reading.structured import apply_schema, format_schema
    from bookwheel.reading.ways.registry import check_abilities, is_known

    if not questions:
        raise InputError("no questions: give at least one")
    for question in questions:
        check_question(question)
    configuration = load_configuration()
    everything = bool(settings.pop("everything", False))
    document = await run_cancellable(partial(open_source, source, everything=everything))
    connection = {name: settings.pop(name) for name in CONNECTION if name in settings}
    address, patience = find_address(model, connection, configuration), build_patience(connection)
    has_chunks = bool(plan or configuration.has_chunks or {"preset", "chunk_tokens", "memory_tokens"} & settings.keys())
    way_name, way_function = resolve_way(way or configuration.way)
    with Journal(resolve_journal(journal)) as store:
        async with _open_model(model, address, connection) as reader:
            # Keeping a document reads it whole, which would block the caller's event loop.
            kept = await asyncio.to_thread(store.keep, document)
            complete = build_plan(plan, reader, settings, configuration, address)
            complete = replace(complete, schema=format_schema(schema) if schema is not None else complete.schema)
            if not way_name:
                choice = (
                    find_default_way(reader) if has_chunks else choose_way(reader, kept, complete, questions[0]).way
                )
                way_name, way_function = resolve_way(choice)
            if is_known(way_name):
                await check_abilities(way_name, reader, complete)
            readings = [runner.new_reading(kept.info, one, reader, complete, way_name) for one in questions]
            for reading in readings:
                runner.check_reading(reading, reader)
            with ExitStack() as claims:
                for reading in readings:
                    store.begin(reading, address.complete(reader))
                    claims.enter_context(store.claim(reading.id))
                if len(readings) > 1:
                    await run_readings(
                        readings, kept, reader, way=way_function, journal=store, watch=[watch], patience=patience
                    )
                else:
                    run = apply_schema(way_function, complete)
                    await runner.run_reading(
                        readings[0], kept, reader, way=run, journal=store, watch=watch, patience=patience
                    )
            return [store.reading(reading.id, texts=True) for reading in readings]


async def aresume(
    reading: str | Reading,
    *,
    model: str | Model | None = None,
    way: Way | None = None,
    journal: str | Path | None = None,
    watch: Callable[[Step | Answer], None] = runner.ignore_event,
    **settings: Any,
) -> Reading:
    """Go on with a reading of the journal that was stopped, interrupted or failed; return it.

    `reading` is its id, the first characters of it, "last", or the Reading. It goes on with the model that began it
    unless another is named, and with its own plan. `way` is needed where it began with a function of yours. `settings`
    are those of Connection, and limits and prices as in `aread`; the old limits do not hold any more.
    """
    from bookwheel.journal import Journal
    from bookwheel.reading.follow_up import continue_way
    from bookwheel.reading.structured import apply_schema

    connection = {name: settings.pop(name) for name in CONNECTION if name in settings}
    limits = {name: settings.pop(name) for name in (*BUDGET, *PRICES) if name in settings}
    refuse_unknown(settings, (*CONNECTION, *BUDGET, *PRICES))
    patience = build_patience(connection)
    with Journal(resolve_journal(journal)) as store:
        old = store.reading(reading if isinstance(reading, str) else reading_id(reading))
        if old.status is Status.ANSWERED:
            return store.reading(old.id, texts=True)
        way_function = way or resolve_way(old.way)[1]
        address = find_address(model, connection, load_configuration(), store.address_of(old.id))
        async with _open_model(model, address, connection) as reader:
            budget = {"tokens": None, "seconds": None, "cost": None, **budget_values(limits)}
            complete = old.plan.with_values({"budget": budget})
            begun = replace(old, plan=complete, status=Status.READING, model=reader.name, error="")
            run = apply_schema(continue_way(old.steps, way_function), complete)
            with store.claim(old.id):
                store.keep_address(old.id, address.complete(reader))
                document = store.document_of(old.id)
                await runner.run_reading(
                    begun, document, reader, way=run, journal=store, watch=watch, patience=patience
                )
            return store.reading(old.id, texts=True)


@asynccontextmanager
async def _open_model(
    model: str | Model | None, address: ModelAddress, connection: Mapping[str, Any]
) -> AsyncGenerator[Model]:
    """Open the model and close it afterwards; one that the caller opened stays open."""
    reader = await open_reader(model, address, connection)
    try:
        yield reader
    finally:
        if reader is not model:
            await reader.aclose()


def read(
    source: Source,
    question: str,
    *,
    model: str | Model | None = None,
    plan: Plan | None = None,
    way: str | Way | None = None,
    schema: Mapping[str, Any] | None = None,
    journal: str | Path | None = None,
    watch: Callable[[Step | Answer], None] = runner.ignore_event,
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
    return _run(work)


def resume(
    reading: str | Reading,
    *,
    model: str | Model | None = None,
    way: Way | None = None,
    journal: str | Path | None = None,
    watch: Callable[[Step | Answer], None] = runner.ignore_event,
    **settings: Any,
) -> Reading:
    """Go on with a reading of the journal; see `aresume`. Works inside a notebook's event loop too."""
    return _run(aresume(reading, model=model, way=way, journal=journal, watch=watch, **settings))


def _run(work: Coroutine[Any, Any, _T]) -> _T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # `asyncio.run` refuses to run inside a running loop, so the work gets a thread and a loop of its own.
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, work).result()
