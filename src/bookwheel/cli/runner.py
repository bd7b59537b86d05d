"""Run a command's coroutine, and a reading with its progress on the terminal."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from rich.text import Text

from bookwheel.cli.output import print_answer, stderr
from bookwheel.cli.progress import show_progress
from bookwheel.reading.runner import run_reading
from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from bookwheel.cli.options import OutputOptions
    from bookwheel.journal import Journal, StoredDocument
    from bookwheel.models.base import Model
    from bookwheel.reading.loop import Way
    from bookwheel.types import Document, Reading


_T = TypeVar("_T")


def run_command(work: Coroutine[Any, Any, _T]) -> _T:
    """Run the coroutine to its end. SIGTERM cancels it, as Ctrl-C does."""

    async def main() -> _T:
        task = asyncio.current_task()
        assert task is not None
        with suppress(NotImplementedError):  # Windows has no signal handlers on its loop
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    return asyncio.run(main())


async def read_to_end(
    reading: Reading, document: StoredDocument, model: Model, journal: Journal, output: OutputOptions, *, way: Way
) -> int:
    """Run the reading from where it stands, print its answer, and return the exit code."""
    quiet = output.quiet or output.as_json
    with journal.claim(reading.id):
        try:
            with show_progress(reading, quiet=quiet) as watch:
                reading = await run_reading(reading, document, model, way=way, journal=journal, watch=watch)
        except asyncio.CancelledError:
            # The runner has kept the interrupted reading; the user is told how to resume it.
            reading = journal.reading(reading.id)
    return print_answer(reading, as_json=output.as_json, quiet=output.quiet)


def print_warnings(document: Document, model: Model, *, quiet: bool) -> None:
    """Print what was left out of the document, and whether token counts are estimates."""
    console = stderr()
    for note in getattr(document, "notes", ()):
        console.print(Text(f"note: {sanitize(note)}", style="yellow"))
    if not model.tokenizer.exact and not quiet:
        text = (
            "note: the endpoint does not name its tokenizer, so token counts are estimates, on the high side; "
            "--tokenizer FILE makes them exact"
        )
        console.print(Text(text, style="yellow"))
