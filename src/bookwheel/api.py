"""Read from Python: `read` for scripts and notebooks, `aread` for async programs. They can do what `ask` can."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bookwheel.errors import InputError
from bookwheel.reading import runner
from bookwheel.text.cancellation import run_cancellable

if TYPE_CHECKING:
    from collections.abc import Callable

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
    from bookwheel.reading.loop import Way
    from bookwheel.types import Answer, Document, Reading, Step

    Source = str | Path | Sequence[str | Path] | Document


async def aread(
    source: Source,
    question: str,
    *,
    model: str | Model | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    plan: Plan | None = None,
    way: str | Way = "sequential",
    journal: str | Path | None = None,
    watch: Callable[[Step | Answer], None] = runner.ignore_event,
    **settings: Any,
) -> Reading:
    """Read a document and answer a question.

    `source` is a path, a URL, a folder, several of them, or a document such as `TextDocument(text)`. `model` is a name
    or a Model; a Model is not closed. `way` is a name or a function with the signature of Way. `watch` is called with
    each step and the answer. `settings` change values of the plan, such as `chunk_tokens=900` or
    `budget={"seconds": 60}`. The reading is kept in the journal. A budget or a failing model ends it with a status,
    not with an exception.
    """
    from bookwheel.journal import Journal, journal_path
    from bookwheel.models.registry import open_model

    way_name, way_function = _resolve_way(way)
    document = await run_cancellable(_open_source, source)
    with Journal(Path(journal) if journal else journal_path()) as store:
        if model is None or isinstance(model, str):
            reader = await open_model(model, base_url=base_url, api_key=api_key)
        else:
            reader = model
        try:
            # Keeping a document reads it whole, which would block the caller's event loop.
            kept = await asyncio.to_thread(store.keep, document)
            complete = (plan or reader.plan).with_values(settings)
            reading = runner.new_reading(kept.info, question, reader, complete, way_name)
            runner.check_reading(reading, reader)
            store.begin(reading)
            with store.claim(reading.id):
                await runner.run_reading(reading, kept, reader, way=way_function, journal=store, watch=watch)
            return store.reading(reading.id, texts=True)
        finally:
            if reader is not model:  # A model of the caller's stays open.
                await reader.aclose()


def read(
    source: Source,
    question: str,
    *,
    model: str | Model | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    plan: Plan | None = None,
    way: str | Way = "sequential",
    journal: str | Path | None = None,
    watch: Callable[[Step | Answer], None] = runner.ignore_event,
    **settings: Any,
) -> Reading:
    """Read a document and answer a question; see `aread`. Works inside a notebook's event loop too."""
    work = aread(
        source,
        question,
        model=model,
        base_url=base_url,
        api_key=api_key,
        plan=plan,
        way=way,
        journal=journal,
        watch=watch,
        **settings,
    )
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # `asyncio.run` refuses to run inside a running loop, so the work gets a thread and a loop of its own.
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, work).result()


def _resolve_way(way: str | Way) -> tuple[str, Way]:
    """Return the name to record and the function to run."""
    from bookwheel.reading.ways.registry import list_ways, load_way

    if isinstance(way, str):
        return way, load_way(way)
    name = getattr(way, "__name__", type(way).__name__)
    if name in list_ways() and load_way(name) is not way:
        # `bookwheel resume` would go on with the registered way, and mix two ways in one reading.
        raise InputError(f"there is a registered way {name!r}; give your function another name")
    return name, way


def _open_source(source: Source) -> Document:
    from bookwheel.text.documents import open_document

    if isinstance(source, (str, Path)):
        return open_document([source])
    return open_document(source) if isinstance(source, Sequence) else source
