"""`bookwheel list` and `bookwheel show`: the readings in the journal, and one reading step by step."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from bookwheel.cli.options import FilePath, OutputOptions, PositiveInt
from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from bookwheel.reading.provenance import LineOrigin
    from bookwheel.training.rollout_store import StoredRollout
    from bookwheel.types import Reading

# The columns of a list, and the least width of each.
_COLUMNS: Final = {"reading": 8, "when": 16, "status": 9, "document": 8, "question": 8, "answer": 8}
_MAX_WIDTH: Final = 48
_COLOURS: Final = {
    Status.ANSWERED: "green",
    Status.FAILED: "red",
    Status.STOPPED: "yellow",
    Status.CANCELLED: "yellow",
    Status.READING: "cyan",
}


def list_readings(
    *, search: str | None = None, limit: PositiveInt | None = None, output: OutputOptions | None = None
) -> int:
    """List the readings in the journal, newest first.

    Parameters
    ----------
    search
        List only readings with these words in the question, answer or document name.
    limit
        List at most this many.

    """
    from bookwheel.cli.output import print_line, stderr, stdout
    from bookwheel.record import reading_to_json

    output = output or OutputOptions()
    with output.open_journal() as journal:
        readings = journal.readings(limit=limit, search=search)
    if output.as_json:
        print_line(json.dumps([reading_to_json(reading, steps=False) for reading in readings]))
        return 0
    if not readings:
        stderr().print('no readings yet; start one with: bookwheel ask FILE "QUESTION"', style="dim")
        return 0
    stdout().print(_build_table(readings))
    return 0


def show(
    reading: str,
    *,
    html: FilePath | None = None,
    changes: Annotated[bool, Parameter(negative="")] = False,
    output: OutputOptions | None = None,
) -> int:
    """Show a reading step by step: what each step added to the memory and removed.

    For each line of the final memory, show the step at which it entered and the passage it comes from.

    Parameters
    ----------
    reading
        The reading's id, its first characters, or "last".
    html
        Write the timeline to this file, as one self-contained HTML page.
    changes
        Show only steps that changed the memory.

    """
    from bookwheel.cli.output import print_line, stdout
    from bookwheel.reading.provenance import find_origins
    from bookwheel.record import reading_to_json

    output = output or OutputOptions()
    with output.open_journal() as journal:
        record = journal.reading(reading)
        lines = find_origins(record.steps, journal.document_of(record.id))
        rollout = _find_rollout(journal.path, record.id)
    if html:
        _write_page(html, record, lines)
    if output.as_json:
        print_line(json.dumps(reading_to_json(record) | ({"rollout": asdict(rollout)} if rollout else {})))
    elif not html:
        _print_timeline(stdout(), record, rollout, only_changes=changes)
        _print_origins(stdout(), lines)
    return 0


def _find_rollout(journal: Path, id_: str) -> StoredRollout | None:
    """Return this reading's rollout if the journal belongs to a training run."""
    if not journal.with_name("rollouts.jsonl").is_file():
        return None
    from bookwheel.training.rollout_store import load_rollouts

    return next((rollout for rollout in load_rollouts(journal.parent) if rollout.reading == id_), None)


def _build_table(readings: list[Reading]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from bookwheel.text.sanitize import sanitize

    table = Table(box=None, header_style="bold", pad_edge=False)
    for head, width in _COLUMNS.items():
        table.add_column(head, overflow="ellipsis", no_wrap=True, min_width=width, max_width=max(width, _MAX_WIDTH))
    for reading in readings:
        answer = reading.answer.text if reading.answer else reading.error
        row = (reading.id[:8], reading.created[:16].replace("T", " "), reading.status)
        cells = (sanitize(text).replace("\n", " ") for text in (reading.document.name, reading.question, answer))
        colour = _COLOURS.get(reading.status, "")
        table.add_row(*(Text(text, style=colour if text == reading.status else "") for text in (*row, *cells)))
    return table


def _print_timeline(console: Console, reading: Reading, rollout: StoredRollout | None, *, only_changes: bool) -> None:
    """Print every step: its place in the document, its flags, its changes to the memory, its advantage."""
    from rich.text import Text

    from bookwheel.cli.progress import format_step_title, memory_diff
    from bookwheel.text.sanitize import sanitize

    console.print(Text(sanitize(reading.question), style="bold"))
    origin = f" · forked from {reading.parent[:8]}" if reading.parent else ""
    facts = (reading.id[:8], sanitize(reading.document.name), reading.model, reading.way, reading.status)
    console.print(Text(" · ".join(facts) + origin, style="dim"))
    if rollout:
        console.print(Text(_format_reward(rollout), style="magenta"))
    advantage = Text(f" · advantage {rollout.advantage:+.3f}", style="magenta") if rollout else Text()
    for step in reading.steps:
        if only_changes and step.before.text == step.after.text:
            continue
        console.print(Text("\n") + format_step_title(step) + advantage)
        for line in memory_diff(step.before.text, step.after.text):
            console.print(Text("  ") + line)
    if reading.answer:
        console.print(Text("\nanswer", style="bold green") + advantage)
    console.print(Text(sanitize(reading.answer.text) if reading.answer else f"\n{sanitize(reading.error)}"))


def _format_reward(rollout: StoredRollout) -> str:
    """Return a rollout's reward and its parts as one line."""
    reward = "not scored" if rollout.reward is None else f"reward {rollout.reward:g}"
    parts = ", ".join(f"{name} {value:g}" for name, value in rollout.parts.items())
    return f"rollout of step {rollout.step} · sample {rollout.sample} · {reward}" + (f" ({parts})" if parts else "")


def _print_origins(console: Console, lines: Sequence[LineOrigin]) -> None:
    """Print where each line of the final memory comes from."""
    from rich.text import Text

    from bookwheel.text.sanitize import sanitize

    if lines:
        console.print(Text("\nwhere the memory's lines come from", style="bold"))
    for origin in lines:
        console.print(Text(f"  {sanitize(origin.line)}"))
        pages = f" · p. {', '.join(map(str, origin.pages))}" if origin.pages else ""
        place = f"    entered at step {origin.step}{' by hand' if origin.by_hand else ''}{pages}"
        if origin.quote:
            place += f" · characters {origin.quote.start:,}–{origin.quote.end:,} "
            console.print(Text(place, style="dim") + Text(f"“{sanitize(origin.quote.quote)}”", style="italic dim"))
        else:
            console.print(Text(place, style="dim"))
        if not origin.found and not origin.by_hand:
            missing = f": {sanitize(', '.join(origin.missing))}" if origin.missing else ""
            console.print(Text(f"    not found in the text{missing}; check it", style="yellow"))


def _write_page(path: Path, reading: Reading, lines: Sequence[LineOrigin]) -> None:
    from bookwheel.cli.output import stderr
    from bookwheel.errors import InputError
    from bookwheel.views.html import render_page

    try:
        path.write_text(render_page(reading, lines), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}") from error
    stderr().print(f"wrote {path}", style="dim")
