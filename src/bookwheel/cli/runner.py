"""Run a command's coroutine, and readings with their progress: a live view, lines in a log, or lines of JSON."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from bookwheel.cli.last import remember_last
from bookwheel.cli.output import (
    find_exit_code,
    format_flags,
    format_place,
    format_step_title,
    memory_diff,
    print_answer,
    print_event,
    print_json,
    print_note,
    stderr,
)
from bookwheel.errors import WorkCancelled
from bookwheel.models.patience import format_duration
from bookwheel.reading.follow_up import count_carried
from bookwheel.record import reading_to_json, step_to_json, summary_to_json
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Answer, Flag, Status, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator
    from types import FrameType

    from bookwheel.cli.options import OutputOptions
    from bookwheel.documents.conversions import OpeningProgress
    from bookwheel.journal import Journal
    from bookwheel.models.base import Model
    from bookwheel.models.patience import Retry
    from bookwheel.session import Prepared, Session
    from bookwheel.types import Document, Memory, Reading

_T = TypeVar("_T")

# Of an outage, in a log.
_SECONDS_BETWEEN_LINES: Final = 60.0
# The live view shows the end of a longer memory, so that it fits the terminal.
_MEMORY_LINES: Final = 16


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
    """Read from where the readings stand, print their answers in order, and return the first exit code but 0."""
    ended = await read_shown(session, prepared, output)
    if len(ended) == 1:
        return print_answer(ended[0], output)
    codes = []
    if output.as_json:
        print_json({"readings": [reading_to_json(reading) for reading in ended]})
    for reading in ended:
        if not output.as_json:
            print(sanitize(reading.question), flush=True)
        codes.append(find_exit_code(reading) if output.as_json else print_answer(reading, output))
    return next((code for code in codes if code), 0)


async def read_shown(session: Session, prepared: Prepared, output: OutputOptions) -> list[Reading]:
    """Read from where the readings stand, and show the progress; return them as they ended, interrupted ones too.

    The first reading's progress stands for all: they are never a chunk apart.
    """
    if session.journal:
        remember_last(session.journal.path, prepared.readings[-1].id)
    try:
        with _watch(prepared.readings[0], output) as watch:
            waits = replace(session.patience, on_retry=watch.report_retry)
            return await replace(session, patience=waits).read_on(prepared, watch)
    except asyncio.CancelledError:
        # The runner has kept the interrupted readings; the user is told how to resume them.
        assert session.journal
        return [await _close_interrupted(session.journal, reading.id) for reading in prepared.readings]


async def _close_interrupted(journal: Journal, reading: str) -> Reading:
    """Return an interrupted reading. One that had not begun is ended here, as nothing else has."""
    stored = journal.reading(reading)
    if stored.status is Status.READING:
        stored = replace(stored, status=Status.CANCELLED, error="interrupted", error_kind=WorkCancelled.__name__)
        await journal.end(stored)
    return stored


class Watcher(Protocol):
    """Whoever follows a reading: called with each event, and told of each wait."""

    def __call__(self, event: Step | Answer) -> None:
        """Take one event."""
        ...

    def report_retry(self, retry: Retry) -> None:
        """Take the news that a call failed and is about to be tried again."""
        ...


@contextmanager
def _watch(reading: Reading, output: OutputOptions) -> Iterator[Watcher]:
    if output.json_events:
        print_event("reading", summary_to_json(reading))
        yield _JsonEvents(reading.memory)
    elif output.is_silent:
        yield WaitLines(stderr())
    else:
        with ReadingProgress(reading) as watch:
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


class WaitLines:
    """Shows no progress, but says that a reading waits: when a call begins to fail, then once a minute."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._due = 0.0

    def __call__(self, event: Step | Answer) -> None:
        """Say nothing."""

    def report_retry(self, retry: Retry) -> None:
        """Print a line if one is due."""
        if retry.wait and (retry.tries == 1 or retry.seconds >= self._due):
            self._due = retry.seconds + _SECONDS_BETWEEN_LINES
            self._console.print(Text(format_retry(retry), style="yellow"))


def format_retry(retry: Retry) -> str:
    """Return a failed call as one line: the reason, and when it is tried again."""
    when = f"in {retry.wait:.0f} s" if retry.wait else "now"
    since = f", {format_duration(retry.seconds)} after the first" if retry.seconds >= 1 else ""
    reason = sanitize(str(retry.error)).partition(". ")[0].rstrip(".")  # the advice is for when patience is over
    return f"waiting for the model: {reason}. Try {retry.tries + 1} comes {when}{since}."


class ReadingProgress:
    """Progress of one reading: a live view on a terminal, else a few lines for each step."""

    def __init__(self, reading: Reading, console: Console | None = None) -> None:
        self._console = console or stderr()
        self._length = max(reading.document.length, 1)
        self._waits = WaitLines(self._console)
        self._tokens = 0
        self._began = time.monotonic()
        # What an earlier reading has read says nothing of how far this one is.
        own = reading.steps[count_carried(reading.steps) :]
        self._lengths = [_measure(step) for step in own if Flag.UNREAD not in step.flags]
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(None),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True),
            console=self._console,
            expand=True,
        )
        self._task = self._bar.add_task("reading", total=self._length, completed=sum(self._lengths), rate="")
        self._live = Live(self._bar, console=self._console, transient=True, refresh_per_second=8)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, event: Step | Answer) -> None:
        """Draw one event."""
        self._tokens += event.conversation.reply.usage.tokens
        if not isinstance(event, Step) or Flag.UNREAD in event.flags:
            return
        # A step of no chunk says nothing about how many there are.
        self._lengths += [_measure(event)] if _measure(event) else []
        number, done = event.chunk.index + 1, sum(self._lengths)
        chunks = max(number, round(self._length * len(self._lengths) / max(done, 1)))
        rate = self._tokens / max(time.monotonic() - self._began, 1e-6)
        self._bar.update(
            self._task,
            completed=done,
            description=f"{number} of about {chunks}",
            rate=f"{self._tokens:,} tokens · {rate:,.0f}/s",
        )
        if self._console.is_terminal:
            self._live.update(Group(_build_memory_panel(event), self._bar))
            return
        self._console.print(format_step_title(event, of=f" of about {chunks}"))
        for line in memory_diff(event.before.text, event.after.text, unchanged=False):
            self._console.print(Text("  ") + line)

    def report_retry(self, retry: Retry) -> None:
        """Say that a call failed and is about to be tried again: live on a terminal, else in lines."""
        if self._console.is_terminal:
            self._live.update(Group(Text(format_retry(retry), style="yellow"), self._bar))
        else:
            self._waits.report_retry(retry)


def _measure(step: Step) -> int:
    return step.chunk.end - step.chunk.start


def _build_memory_panel(step: Step) -> Panel:
    lines = list(memory_diff(step.before.text, step.after.text))[-_MEMORY_LINES:]
    return Panel(
        Group(*lines) if lines else Text("(empty)", style="dim"),
        title=f"memory after chunk {step.chunk.index} · {step.after.tokens} of {step.after.limit} tokens",
        title_align="left",
        subtitle=Text(format_place(step)) + format_flags(step),
        subtitle_align="right",
        border_style="cyan",
    )


@contextmanager
def show_download() -> Iterator[Callable[[int, int], None]]:
    """Yield a callback for the download of the local model. The bar appears at its first call."""
    bar = Progress(
        TextColumn("[bold]downloading the local model (once)"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(compact=True),
        console=stderr(),
    )
    task = bar.add_task("weights", total=None)

    def update(done: int, total: int) -> None:
        if not bar.live.is_started:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield update
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def show_opening(*, is_silent: bool) -> Iterator[OpeningProgress | None]:
    """Yield a callback for the conversion of documents: one line on a terminal, which goes when it is done."""
    console = stderr()
    if is_silent or not console.is_terminal:
        yield None
        return
    with console.status("") as status:

        def update(name: str, done: int, total: int, page: int | None) -> None:
            count = f" ({done} of {total} files)" if total > 1 else ""
            status.update(Text(f"opening {sanitize(name)}{f', page {page}' if page else ''}{count}"))

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
