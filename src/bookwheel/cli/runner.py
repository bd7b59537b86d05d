"""Run a command's coroutine, and a reading with its progress on the terminal."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from rich.text import Text

from bookwheel.cli.output import find_exit_code, print_answer, print_event, stderr
from bookwheel.cli.progress import show_progress
from bookwheel.models.patience import Patience
from bookwheel.reading.runner import run_reading
from bookwheel.reading.several import run_readings
from bookwheel.reading.structured import apply_schema
from bookwheel.record import reading_to_json, step_to_json, summary_to_json
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
    from types import FrameType

    from bookwheel.cli.options import OutputOptions
    from bookwheel.cli.progress import Watcher
    from bookwheel.journal import Journal, StoredDocument
    from bookwheel.models.base import Model
    from bookwheel.models.patience import Retry
    from bookwheel.reading.loop import Way
    from bookwheel.types import Document, Memory, Reading, Step


_T = TypeVar("_T")


def run_command(work: Coroutine[Any, Any, _T]) -> _T:
    """Run the coroutine to its end. Ctrl-C and SIGTERM cancel it; a second one does not wait for it."""
    # A signal that is ignored, as Ctrl-C by a shell's background job, stays so.
    kinds = [kind for kind in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(kind) is signal.default_int_handler]
    noted: list[int] = []

    async def main() -> _T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def cancel(_number: int, _frame: object) -> None:
            if task.cancelling():
                raise KeyboardInterrupt
            loop.call_soon_threadsafe(task.cancel)

        # Not the loop's own handlers: when it closes, they leave a moment in which SIGTERM just kills.
        _handle(kinds, cancel)
        if noted:
            task.cancel()
        try:
            return await work
        finally:
            _handle(kinds, signal.default_int_handler)

    # An exception in the middle of making the loop would leave half of one, which complains: until it runs, take note.
    _handle(kinds, lambda number, _frame: noted.append(number))
    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        _handle(kinds, signal.default_int_handler)


def _handle(kinds: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], object]) -> None:
    for kind in kinds:
        signal.signal(kind, handler)


async def read_to_end(
    reading: Reading,
    document: StoredDocument,
    model: Model,
    journal: Journal,
    output: OutputOptions,
    *,
    way: Way,
    patience: float,
) -> int:
    """Run the reading from where it stands, print its answer, and return the exit code. Patience is in minutes."""
    way = apply_schema(way, reading.plan)
    with journal.claim(reading.id):
        try:
            with _watch(reading, output) as watch:
                waits = Patience.from_minutes(patience, watch.report_retry)
                reading = await run_reading(
                    reading, document, model, way=way, journal=journal, watch=watch, patience=waits
                )
        except asyncio.CancelledError:
            # The runner has kept the interrupted reading; the user is told how to resume it.
            reading = journal.reading(reading.id)
    return print_answer(reading, output)


async def read_several_to_end(
    readings: Sequence[Reading],
    document: StoredDocument,
    model: Model,
    journal: Journal,
    output: OutputOptions,
    *,
    way: Way,
    patience: float,
) -> int:
    """Run the readings in lockstep, print their answers in order, and return the first exit code that is not 0."""
    with ExitStack() as claims:
        for reading in readings:
            claims.enter_context(journal.claim(reading.id))
        try:
            with _watch(readings[0], output) as watch:
                waits = Patience.from_minutes(patience, watch.report_retry)
                # The first reading's progress stands for all: they are never a chunk apart.
                ended = await run_readings(
                    readings, document, model, way=way, journal=journal, watch=[watch], patience=waits
                )
        except asyncio.CancelledError:
            ended = [journal.reading(reading.id) for reading in readings]
    if output.as_json:
        print(json.dumps({"readings": [reading_to_json(reading) for reading in ended]}))
        codes = [find_exit_code(reading) for reading in ended]
    else:
        codes = [_print_one(reading, output) for reading in ended]
    return next((code for code in codes if code), 0)


def _print_one(reading: Reading, output: OutputOptions) -> int:
    """Print the question before its answer: there are several."""
    print(sanitize(reading.question), flush=True)
    return print_answer(reading, output)


@contextmanager
def _watch(reading: Reading, output: OutputOptions) -> Iterator[Watcher]:
    """Yield what is called with each event and each wait: it draws the progress, or prints JSON, or does nothing."""
    if output.json_events:
        print_event("reading", summary_to_json(reading))
        yield _JsonEvents(reading.memory)
    else:
        with show_progress(reading, quiet=output.is_silent) as watch:
            yield watch


class _JsonEvents:
    """Steps and waits as lines of JSON; the answer is part of the last line."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __call__(self, event: Step | Answer) -> None:
        if not isinstance(event, Answer):
            print_event("step", step_to_json(event, self._memory))
            self._memory = event.after

    def report_retry(self, retry: Retry) -> None:
        """Print why a call is tried again, and when."""
        if retry.wait:
            values = {"tries": retry.tries, "wait": round(retry.wait, 1), "seconds": round(retry.seconds, 1)}
            print_event("waiting", {"error": str(retry.error), "kind": type(retry.error).__name__, **values})


def print_warnings(document: Document, model: Model, output: OutputOptions) -> None:
    """Print what was left out of the document, and whether token counts are estimates."""
    notes = [sanitize(note) for note in getattr(document, "notes", ())]
    if not model.tokenizer.exact and not output.quiet:
        notes.append(
            "the endpoint does not name its tokenizer, so token counts are estimates, on the high side; "
            "--tokenizer FILE makes them exact"
        )
    for note in notes:
        if output.json_events:
            print_event("note", {"note": note})
        else:
            stderr().print(Text(f"note: {note}", style="yellow"))
