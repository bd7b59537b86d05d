"""Carrying a reading out under the terminal's eyes: progress, interrupts, ending."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from rich.text import Text

from bookwheel.cli.output import print_answer, stderr
from bookwheel.cli.progress import show_progress
from bookwheel.reading.runner import run_reading
from bookwheel.reading.ways.registry import load_way
from bookwheel.text.shield import plain

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from bookwheel.cli.options import OutputOptions
    from bookwheel.journal import Journal, KeptDocument
    from bookwheel.models.base import Model
    from bookwheel.types import Document, Reading


_T = TypeVar("_T")


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a command; SIGTERM interrupts it as gently as Ctrl-C does."""

    async def main() -> _T:
        task = asyncio.current_task()
        assert task is not None
        with suppress(NotImplementedError):  # Windows has no signal handlers on its loop
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    return asyncio.run(main())


async def read_on(
    reading: Reading, document: KeptDocument, model: Model, journal: Journal, output: OutputOptions
) -> int:
    """Read from where the reading stands to its end, show it, and give the exit code."""
    quiet = output.quiet or output.as_json
    with journal.claim(reading.id):
        try:
            with show_progress(reading, quiet=quiet) as watch:
                reading = await run_reading(
                    reading, document, model, way=load_way(reading.way), journal=journal, watch=watch
                )
        except asyncio.CancelledError:
            reading = journal.reading(reading.id)
    return print_answer(reading, as_json=output.as_json, quiet=output.quiet)


def warn_about(document: Document, model: Model, *, quiet: bool) -> None:
    """Tell what was left out of the document, and when tokens are only estimated."""
    console = stderr()
    for note in getattr(document, "notes", ()):
        console.print(Text(f"note: {plain(note)}", style="yellow"))
    if not model.tokenizer.exact and not quiet:
        console.print(
            Text(
                "note: this endpoint does not tell its tokenizer, so tokens are estimated, on the high side; "
                "--tokenizer FILE makes them exact",
                style="yellow",
            )
        )
