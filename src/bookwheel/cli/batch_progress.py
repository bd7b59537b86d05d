"""Show how far a batch has come: a bar on a terminal, else a line for each row."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from bookwheel.batch.rows import DONE
from bookwheel.cli.output import stderr
from bookwheel.cli.progress import WaitLines
from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.batch.rows import BatchRow, RowOutcome
    from bookwheel.batch.run import BatchRun
    from bookwheel.models.patience import Retry


class BatchWatcher:
    """Counts the rows that are done, and their cost."""

    def __init__(self, batch: BatchRun, *, is_silent: bool) -> None:
        self._console = stderr()
        self._is_silent = is_silent
        self._waits = WaitLines(self._console)
        done = len(batch.rows) - len(batch.list_open())
        self._rows = len(batch.rows)
        self._done = done
        self._failed = self._tokens = 0
        self._cost = 0.0
        columns = (BarColumn(None), MofNCompleteColumn(), TextColumn("{task.fields[spent]}"), TimeRemainingColumn())
        self.bar = Progress(*columns, console=self._console, expand=True, transient=True)
        self._task = self.bar.add_task("rows", total=self._rows, completed=done, spent="")

    def __call__(self, row: BatchRow, outcome: RowOutcome) -> None:
        """Count the outcome of a row."""
        if self._is_silent or outcome.status == "reading":
            return
        self._tokens += outcome.tokens
        self._cost += outcome.cost or 0.0
        self._done += outcome.status in DONE
        self._failed += outcome.status == "failed"
        price = f" · {self._cost:.4g}" if self._cost else ""
        failed = f" · {self._failed:,} failed" if self._failed else ""
        self.bar.update(self._task, completed=self._done, spent=f"{self._tokens:,} tokens{price}{failed}")
        if not self._console.is_terminal:
            text = outcome.answer if outcome.status == "answered" else f"{outcome.status}: {outcome.error}"
            line = f"[{self._done} of {self._rows}] {row.source}: {row.question}: {text}"
            self._console.print(Text(sanitize(" ".join(line.split()))))

    def report_retry(self, retry: Retry) -> None:
        """Say that a call failed and is tried again."""
        if not self._is_silent:
            self._waits.report(retry)


@contextmanager
def show_batch(batch: BatchRun, *, is_silent: bool) -> Iterator[BatchWatcher]:
    """Yield what is called with each outcome."""
    watcher = BatchWatcher(batch, is_silent=is_silent)
    if is_silent or not stderr().is_terminal:
        yield watcher
        return
    with watcher.bar:
        yield watcher
