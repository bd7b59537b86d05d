"""Print a reading step by step. Nothing here needs the parser of the command line, so that `show` is quick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from bookwheel.cli.last import find_reading_id
from bookwheel.cli.output import format_step_title, format_usage, memory_diff, print_verdict, stdout
from bookwheel.cli.terminal import StyledLine, Terminal
from bookwheel.journal.files import journal_path
from bookwheel.plugins import list_plugins, load_plugin
from bookwheel.reading.guards import find_working
from bookwheel.text.sanitize import sanitize
from bookwheel.views.verdicts import describe_pages, describe_span

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.journal import Journal
    from bookwheel.reading.worth import ReadingWorth, Worth
    from bookwheel.types import Reading, Step
    from bookwheel.verdict.provenance import LineOrigin

GROUP: Final = "bookwheel.notes"
"""Entry points: functions of a journal's path and a reading's id that return a ReadingNote or None."""
# Bits; a smaller change of a memory's worth between two steps is not pointed out.
_LEAST_CHANGE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingNote:
    """What another package says of a reading."""

    head: str
    """A line above the steps."""
    tail: str = ""
    """Words after each step's title."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What `--json` adds to the reading."""


def show_reading(journal: Journal, reading: str) -> None:
    from bookwheel.verdict.provenance import find_origins

    record = journal.reading(find_reading_id(journal, reading))
    lines = find_origins(record.steps, journal.document_of(record.id))
    print_timeline(stdout(), record, find_note(journal.path, record.id), only_changes=False)
    print_origins(stdout(), lines)


def find_note(journal: Path, id_: str) -> ReadingNote | None:
    """Return what another package knows of a reading in a journal that is not the user's own, as of a training run."""
    if journal == journal_path():
        return None
    finders = (load_plugin(GROUP, name) for name in list_plugins(GROUP))
    return next((note for find in finders if (note := find(journal, id_))), None)


def print_timeline(console: Terminal, reading: Reading, note: ReadingNote | None, *, only_changes: bool) -> None:
    """Print every step: its place in the document, its flags, its changes to the memory, and a note's words."""
    print_head(console, reading)
    if note:
        console.print(StyledLine(note.head, style="magenta"))
    tail = note.tail if note else ""
    for step in reading.steps:
        if not only_changes or step.before.text != step.after.text:
            print_step(console, step, tail)
    print_end(console, reading, tail)


def print_head(console: Terminal, reading: Reading) -> None:
    console.print(StyledLine(sanitize(reading.question), style="bold"))
    origin = f" · forked from {reading.parent[:8]}" if reading.parent else ""
    facts = (reading.id[:8], sanitize(reading.document.name), sanitize(reading.model), reading.way, reading.status)
    console.print(StyledLine(" · ".join(facts) + origin, style="dim"))
    for note in reading.document.notes:
        console.print(StyledLine(f"note: {sanitize(note)}", style="yellow"))


def print_step(console: Terminal, step: Step, tail: str = "") -> None:
    console.print(StyledLine("\n") + format_step_title(step) + StyledLine(tail, style="magenta"))
    for line in memory_diff(step.before.text, step.after.text):
        console.print(StyledLine("  ") + line)
    for text in step.given_up:
        console.print(StyledLine(f"  given up for want of room: {sanitize(text)}", style="yellow"))


def print_end(console: Terminal, reading: Reading, tail: str = "") -> None:
    if reading.answer:
        console.print(StyledLine("\nanswer", style="bold green") + StyledLine(tail, style="magenta"))
    console.print(StyledLine(sanitize(reading.answer.text) if reading.answer else f"\n{sanitize(reading.error)}"))
    if reading.answer:
        if working := find_working(reading.answer):
            console.print(StyledLine(sanitize(working), style="dim"))
        print_verdict(console, reading)
    console.print(StyledLine(format_usage(reading), style="dim"))


def print_origins(console: Terminal, lines: Sequence[LineOrigin]) -> None:
    if lines:
        console.print(StyledLine("\nwhere the memory's lines come from", style="bold"))
    for origin in lines:
        console.print(StyledLine(f"  {sanitize(origin.line)}"))
        entered = f"    entered at step {origin.step}{' by hand' if origin.by_hand else ''}"
        place = " · ".join(filter(None, (entered, describe_pages(origin.pages))))
        if origin.quote:
            place += f" · {describe_span(origin.quote, origin.quote.source if origin.quote.lines else '')} "
            console.print(
                StyledLine(place, style="dim") + StyledLine(f"“{sanitize(origin.quote.quote)}”", style="italic dim")
            )
        else:
            console.print(StyledLine(place, style="dim"))
        if not origin.found and not origin.by_hand:
            missing = f": {sanitize(', '.join(origin.missing))}" if origin.missing else ""
            console.print(StyledLine(f"    not found in the text{missing}; check it", style="yellow"))


def print_worth(console: Terminal, worth: ReadingWorth) -> None:
    """Print what each memory is worth for the answer and the next section, and the bits that rest on each line."""
    title = f"\nwhat the memories are worth to {sanitize(worth.model)}, in bits beside unrelated notes"
    console.print(StyledLine(title, style="bold"))
    before = 0.0
    for step in worth.steps:
        line = StyledLine(f"  step {step.index}")
        if step.answer:
            line += StyledLine(f" · answer {_format_worth(step.answer)}")
            change, before = step.answer.bits - before, step.answer.bits
            if abs(change) >= _LEAST_CHANGE:
                line += StyledLine(f" ({change:+.1f})", style="green" if change > 0 else "red")
        if step.ahead:
            line += StyledLine(f" · next section {_format_worth(step.ahead)}", style="dim")
        console.print(line)
    if worth.lines:
        console.print(StyledLine("what the answer loses without a line of the last memory", style="bold"))
    for one in worth.lines:
        console.print(StyledLine(f"  {one.bits:+6.1f}  {sanitize(one.line)}"))


def _format_worth(worth: Worth) -> str:
    share = "" if worth.recovered is None else f", {worth.recovered:.0%} of what the text tells"
    return f"{worth.bits:+.1f}{share}"
