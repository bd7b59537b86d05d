"""Run a command's coroutine, and a reading with its progress on the terminal."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from rich.text import Text

from bookwheel.cli.output import find_exit_code, print_answer, print_event, stderr
from bookwheel.cli.progress import show_progress
from bookwheel.record import reading_to_json, step_to_json, summary_to_json
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
    from types import FrameType

    from bookwheel.cli.options import OutputOptions
    from bookwheel.cli.progress import Watcher
    from bookwheel.models.base import Model
    from bookwheel.models.patience import Retry
    from bookwheel.reading.loop import Way
    from bookwheel.session import Session
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
    session: Session, readings: Sequence[Reading], document: Document, way: Way, output: OutputOptions
) -> int:
    """Read from where the readings stand, print their answers in order, and return the first exit code but 0."""
    ended = await read_shown(session, readings, document, way, output)
    if len(ended) == 1:
        return print_answer(ended[0], output)
    if output.as_json:
        print(json.dumps({"readings": [reading_to_json(reading) for reading in ended]}))
        codes = [find_exit_code(reading) for reading in ended]
    else:
        codes = [_print_one(reading, output) for reading in ended]
    return next((code for code in codes if code), 0)


async def read_shown(
    session: Session, readings: Sequence[Reading], document: Document, way: Way, output: OutputOptions
) -> list[Reading]:
    """Read from where the readings stand, and show the progress; return them as they ended, interrupted ones too.

    The first reading's progress stands for all: they are never a chunk apart.
    """
    try:
        with _watch(readings[0], output) as watch:
            waits = replace(session.patience, on_retry=watch.report_retry)
            return await replace(session, patience=waits).read_on(readings, document, way, watch)
    except asyncio.CancelledError:
        # The runner has kept the interrupted readings; the user is told how to resume them.
        assert session.journal
        return [session.journal.reading(reading.id) for reading in readings]


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
