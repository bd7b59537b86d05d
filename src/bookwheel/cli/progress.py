"""Show a reading's progress: the memory as it changes, the share of the document read, the time left."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol, Self

from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from bookwheel.cli.output import stderr
from bookwheel.cli.step_lines import format_flags, format_place, format_step_title, memory_diff
from bookwheel.models.patience import format_duration
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Flag, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from bookwheel.documents.conversions import OpeningProgress
    from bookwheel.models.patience import Retry
    from bookwheel.types import Answer, Reading

# Of an outage, in a log.
_SECONDS_BETWEEN_LINES: Final = 60.0
# The live view shows the end of a longer memory, so that it fits the terminal.
_MEMORY_LINES: Final = 16


class ReadingProgress:
    """Progress of one reading: a live view on a terminal, else a few lines for each step."""

    def __init__(self, reading: Reading, console: Console | None = None) -> None:
        self._console = console or stderr()
        self._length = max(reading.document.length, 1)
        self._waits = WaitLines(self._console)
        self._tokens = 0
        self._began = time.monotonic()
        self._lengths = [_measure(step) for step in reading.steps if _is_read(step)]
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
        usage = event.conversation.reply.usage
        self._tokens += usage.tokens
        if not isinstance(event, Step) or not _is_read(event):
            return
        # A step of no chunk says nothing about how many there are.
        self._lengths += [_measure(event)] if _measure(event) else []
        rate = self._tokens / max(time.monotonic() - self._began, 1e-6)
        self._bar.update(
            self._task,
            completed=sum(self._lengths),
            description=f"{event.chunk.index + 1} of about {self._estimate_chunks(event)}",
            rate=f"{self._tokens:,} tokens · {rate:,.0f}/s",
        )
        if self._console.is_terminal:
            self._live.update(Group(_build_memory_panel(event), self._bar))
        else:
            self._log(event)

    def report_retry(self, retry: Retry) -> None:
        """Say that a call failed and is about to be tried again: live on a terminal, else in lines."""
        if self._console.is_terminal:
            self._live.update(Group(Text(format_retry(retry), style="yellow"), self._bar))
        else:
            self._waits.report(retry)

    def _estimate_chunks(self, step: Step) -> int:
        return max(step.chunk.index + 1, round(self._length * len(self._lengths) / max(sum(self._lengths), 1)))

    def _log(self, step: Step) -> None:
        self._console.print(format_step_title(step, of=f" of about {self._estimate_chunks(step)}"))
        for line in memory_diff(step.before.text, step.after.text, unchanged=False):
            self._console.print(Text("  ") + line)


def _is_read(step: Step) -> bool:
    return Flag.UNREAD not in step.flags


def _measure(step: Step) -> int:
    return step.chunk.end - step.chunk.start


class WaitLines:
    """Lines that say that a reading waits: one when a call begins to fail, then one a minute."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._due = 0.0

    def report(self, retry: Retry) -> None:
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


def _build_memory_panel(step: Step) -> Panel:
    lines = list(memory_diff(step.before.text, step.after.text))[-_MEMORY_LINES:]
    title = f"memory after chunk {step.chunk.index} · {step.after.tokens} of {step.after.limit} tokens"
    return Panel(
        Group(*lines) if lines else Text("(empty)", style="dim"),
        title=title,
        title_align="left",
        subtitle=Text(format_place(step)) + format_flags(step),
        subtitle_align="right",
        border_style="cyan",
    )


class Watcher(Protocol):
    """Whoever follows a reading: called with each event, and told of each wait."""

    def __call__(self, event: Step | Answer) -> None:
        """Take one event."""
        ...

    def report_retry(self, retry: Retry) -> None:
        """Take the news that a call failed and is about to be tried again."""
        ...


class _NoProgress:
    """No progress; but a reading that stands still says why."""

    def __init__(self) -> None:
        self._waits = WaitLines(stderr())

    def __call__(self, event: Step | Answer) -> None:
        pass

    def report_retry(self, retry: Retry) -> None:
        """Print the wait as a warning."""
        self._waits.report(retry)


@contextmanager
def show_progress(reading: Reading, *, quiet: bool) -> Iterator[Watcher]:
    """Yield what is to be called with each event of a reading and each wait."""
    if quiet:
        yield _NoProgress()
        return
    with ReadingProgress(reading) as watch:
        yield watch


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
