"""Reading from Python: `read` for scripts and notebooks, `aread` inside async programs. The same power as `ask`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bookwheel.reading import runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from bookwheel.models.base import Model
    from bookwheel.plan import Plan
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
    way: str = "sequential",
    journal: str | Path | None = None,
    watch: Callable[[Step | Answer], None] = runner.ignore_event,
    **settings: Any,
) -> Reading:
    """Read a document and answer a question.

    `source` is a path, a URL, a folder, several of them, or a document such as `TextDocument(text)`. `settings` are
    values of the plan (`chunk_tokens=900`, `budget={"seconds": 60}`) on top of the model's own. The reading is kept
    in the journal; what ends it early is its status, not an exception.
    """
    from bookwheel.journal import Journal, journal_path
    from bookwheel.models.registry import open_model
    from bookwheel.reading.ways.registry import load_way

    follow = load_way(way)
    document = _open_source(source)
    with Journal(Path(journal) if journal else journal_path()) as kept_in:
        if model is None or isinstance(model, str):
            reader, lent = await open_model(model, base_url=base_url, api_key=api_key), False
        else:
            reader, lent = model, True
        try:
            kept = await asyncio.to_thread(kept_in.keep, document)
            reading = runner.new_reading(kept.info, question, reader, (plan or reader.plan).with_values(settings), way)
            runner.check_reading(reading, reader)
            kept_in.begin(reading)
            with kept_in.claim(reading.id):
                await runner.run_reading(reading, kept, reader, way=follow, journal=kept_in, watch=watch)
            return kept_in.reading(reading.id, texts=True)
        finally:
            if not lent:
                await reader.aclose()


def read(source: Source, question: str, **options: Any) -> Reading:
    """Read a document and answer a question; takes what `aread` takes, and works inside a notebook's event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(aread(source, question, **options))
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(asyncio.run, aread(source, question, **options)).result()


def _open_source(source: Source) -> Document:
    from bookwheel.text.documents import open_document

    if isinstance(source, (str, Path)):
        return open_document([source])
    return open_document(source) if isinstance(source, Sequence) else source
