"""What moves on a terminal: a reading's bar and memory, and the bar of a download."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Self

from rich.console import Group
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from bookwheel.cli.output import format_flags, format_place, memory_diff, stderr
from bookwheel.cli.terminal import StyledLine, Terminal
from bookwheel.cli.watching import StepLines, format_retry
from bookwheel.types import Answer

if TYPE_CHECKING:
    from bookwheel.models.patience import Retry
    from bookwheel.types import Reading, Step

# The end of a longer memory is shown, so that it fits the terminal.
_MEMORY_LINES: Final = 16


class LiveProgress(StepLines):
    """A bar with the time left, and the memory as it is now."""

    def __init__(self, reading: Reading, console: Terminal) -> None:
        super().__init__(reading, console)
        self._tokens = 0
        self._began = time.monotonic()
        rich = console.open_rich()
        self._bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(None),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(compact=True),
            console=rich,
            expand=True,
        )
        self._task = self._bar.add_task("reading", total=self._length, completed=sum(self._lengths), rate="")
        self._live = Live(self._bar, console=rich, transient=True, refresh_per_second=8)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, event: Step | Answer) -> None:
        self._tokens += event.conversation.reply.usage.tokens
        super().__call__(event)
        if isinstance(event, Answer):
            # By a model that takes a while, the first time above all: then it is tried.
            self._bar.update(self._task, description="the answer is judged")

    def _show(self, step: Step, chunks: int) -> None:
        rate = self._tokens / max(time.monotonic() - self._began, 1e-6)
        self._bar.update(
            self._task,
            completed=sum(self._lengths),
            description=f"{step.chunk.index + 1} of about {chunks}",
            rate=f"{self._tokens:,} tokens · {rate:,.0f}/s",
        )
        self._live.update(Group(_build_memory_panel(step), self._bar))

    def report_retry(self, retry: Retry) -> None:
        self._live.update(Group(StyledLine(format_retry(retry), style="yellow"), self._bar))


def _build_memory_panel(step: Step) -> Panel:
    lines = list(memory_diff(step.before.text, step.after.text))[-_MEMORY_LINES:]
    return Panel(
        Group(*(lines or [StyledLine("(empty)", style="dim")])),
        title=f"memory after chunk {step.chunk.index} · {step.after.tokens} of {step.after.limit} tokens",
        title_align="left",
        subtitle=(StyledLine(format_place(step)) + format_flags(step)).__rich__(),
        subtitle_align="right",
        border_style="cyan",
    )


@contextmanager
def open_download_bar() -> Iterator[Callable[[int, int], None]]:
    """Show a bar, and yield what tells it how much of the local model is there."""
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn(compact=True))
    text = TextColumn("[bold]downloading the local model (once)")
    with Progress(text, *columns, console=stderr().open_rich()) as bar:
        task = bar.add_task("weights", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
