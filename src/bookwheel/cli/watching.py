"""What is said of a reading while it goes on: a few lines for each step, or only that it waits."""

from __future__ import annotations

from typing import Final

from bookwheel.cli.output import format_step_title, memory_diff
from bookwheel.cli.terminal import StyledLine, Terminal
from bookwheel.flags import Flag
from bookwheel.models.patience import Retry, format_duration
from bookwheel.reading.follow_up import count_carried
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Answer, Reading, Step

# Of an outage, in a log.
_SECONDS_BETWEEN_LINES: Final = 60.0


class WaitLines:
    """Shows no progress, but says that a reading waits: when a call begins to fail, then once a minute."""

    def __init__(self, console: Terminal) -> None:
        self._console = console
        self._due = 0.0

    def __call__(self, event: Step | Answer) -> None:
        """Say nothing."""

    def report_retry(self, retry: Retry) -> None:
        if retry.wait and (retry.tries == 1 or retry.seconds >= self._due):
            self._due = retry.seconds + _SECONDS_BETWEEN_LINES
            self._console.print(StyledLine(format_retry(retry), style="yellow"))


def format_retry(retry: Retry) -> str:
    """Return a failed call as one line: the reason, and when it is tried again."""
    when = f"in {retry.wait:.0f} s" if retry.wait else "now"
    since = f", {format_duration(retry.seconds)} after the first" if retry.seconds >= 1 else ""
    reason = sanitize(str(retry.error)).partition(". ")[0].rstrip(".")  # the advice is for when patience is over
    return f"waiting for the model: {reason}. Try {retry.tries + 1} comes {when}{since}."


class StepLines(WaitLines):
    """Shows the progress of a reading in a few lines for each step."""

    def __init__(self, reading: Reading, console: Terminal) -> None:
        super().__init__(console)
        self._length = max(reading.document.length, 1)
        # What an earlier reading has read says nothing of how far this one is.
        own = reading.steps[count_carried(reading.steps) :]
        self._lengths = [_measure(step) for step in own if Flag.UNREAD not in step.flags]

    def __call__(self, event: Step | Answer) -> None:
        if isinstance(event, Step) and Flag.UNREAD not in event.flags:
            # A step of no chunk says nothing about how many there are.
            self._lengths += [_measure(event)] if _measure(event) else []
            number = event.chunk.index + 1
            self._show(event, max(number, -(-self._length * len(self._lengths) // max(sum(self._lengths), 1))))

    def _show(self, step: Step, chunks: int) -> None:
        self._console.print(format_step_title(step, of=f" of about {chunks}"))
        for line in memory_diff(step.before.text, step.after.text, unchanged=False):
            self._console.print(StyledLine("  ") + line)


def _measure(step: Step) -> int:
    return step.chunk.end - step.chunk.start
