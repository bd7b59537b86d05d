"""Run a command's coroutine, and readings with their progress: a live view, lines in a log, or lines of JSON."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from bookwheel.cli.last import remember_last
from bookwheel.cli.output import (
    EXIT_CODES,
    INCOMPLETE,
    find_exit_code,
    print_answer,
    print_event,
    print_json,
    print_note,
    stderr,
)
from bookwheel.cli.terminal import StyledLine
from bookwheel.cli.watching import StepLines, WaitLines
from bookwheel.errors import WorkCancelled
from bookwheel.record import reading_to_json, step_to_json, summary_to_json
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Answer, Document, Memory, Reading, Status, Step

if TYPE_CHECKING:
    from types import FrameType

    from bookwheel.cli.options import OutputOptions
    from bookwheel.documents.conversions import OpeningProgress
    from bookwheel.models.base import Model
    from bookwheel.models.patience import Retry
    from bookwheel.session import Prepared, Session

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


async def read_to_end(session: Session, prepared: Prepared, output: OutputOptions) -> int:
    """Read from where the readings stand, print their answers in order, and return the exit code of all."""
    ended = await read_shown(session, prepared, output)
    if len(ended) == 1:
        return print_answer(ended[0], output)
    codes = []
    if output.as_json:
        print_json({"readings": [reading_to_json(reading) for reading in ended]})
    for reading in ended:
        if not output.as_json:
            print(sanitize(reading.question), flush=True)
        # The answer stands on another stream than what is told of it.
        title = f"answer to: {reading.question}"
        codes.append(find_exit_code(reading) if output.as_json else print_answer(reading, output, title))
    return join_codes(codes)


def join_codes(codes: Sequence[int]) -> int:
    """Return the first code but 0; a model that failed for some questions only left gaps."""
    failed = EXIT_CODES["failed"]
    others = [code for code in codes if code != failed]
    if not others:
        return failed
    return next((code for code in others if code), INCOMPLETE if failed in codes else 0)


async def read_shown(session: Session, prepared: Prepared, output: OutputOptions) -> list[Reading]:
    """Read from where the readings stand, and show the progress; return them as they ended, interrupted ones too.

    The first reading's progress stands for all: they are never a chunk apart.
    """
    journal = session.require_journal()
    remember_last(journal.path, prepared.readings[-1].id)
    try:
        with _watch(prepared.readings[0], output, len(prepared.readings) - 1) as watch:
            waits = replace(session.patience, on_retry=watch.report_retry)
            return await replace(session, patience=waits).read_on(prepared, watch)
    except asyncio.CancelledError:
        # The runner has kept the interrupted readings; the user is told how to resume them.
        stored = [journal.reading(reading.id) for reading in prepared.readings]
        for at, one in enumerate(stored):
            if one.status is Status.READING:  # One that had not begun is ended here, as nothing else has.
                ended = replace(one, status=Status.CANCELLED, error="interrupted")
                stored[at] = replace(ended, error_kind=WorkCancelled.__name__)
                await journal.end(stored[at])
        return stored


@contextmanager
def _watch(reading: Reading, output: OutputOptions, others: int) -> Iterator[WaitLines | _JsonEvents]:
    """Yield what follows a reading: it is called with each event, and told of each wait."""
    if output.json_events:
        print_event("reading", summary_to_json(reading))
        yield _JsonEvents(reading.memory)
    elif output.is_silent:
        yield WaitLines(stderr())
    else:
        console = stderr()
        if others:
            print_note(f"the steps of the first question are shown; those of {others} more come at the same time")
        if not console.is_terminal:
            yield StepLines(reading, console)
            return
        from bookwheel.cli.progress import LiveProgress

        with LiveProgress(reading, console) as watch:
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
        if retry.wait:
            values = {"tries": retry.tries, "wait": round(retry.wait, 1), "seconds": round(retry.seconds, 1)}
            print_event("waiting", {"error": str(retry.error), "kind": type(retry.error).__name__, **values})


@contextmanager
def show_download() -> Iterator[Callable[[int, int], None]]:
    """Yield a callback for the download of the local model. The bar appears at its first call."""
    shown: list[Callable[[int, int], None]] = []
    with ExitStack() as stack:

        def update(done: int, total: int) -> None:
            if not shown:
                from bookwheel.cli.progress import open_download_bar

                shown.append(stack.enter_context(open_download_bar()))
            shown[0](done, total)

        yield update


@contextmanager
def show_opening(*, is_silent: bool) -> Iterator[OpeningProgress | None]:
    """Yield a callback for the conversion of documents: one line on a terminal, which goes when it is done."""
    console = stderr()
    if is_silent or not console.is_terminal:
        yield None
        return
    with console.open_rich().status("") as status:

        def update(name: str, done: int, total: int, page: int | None) -> None:
            count = f" ({done} of {total} files)" if total > 1 else ""
            status.update(StyledLine(f"opening {sanitize(name)}{f', page {page}' if page else ''}{count}").__rich__())

        yield update


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
            print_note(f"note: {note}")
