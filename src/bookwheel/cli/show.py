"""`bookwheel show`: one reading step by step, on the terminal, as a page or as Markdown."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from bookwheel.cli import STDIN
from bookwheel.cli.options import FilePath, OutputOptions
from bookwheel.errors import InputError
from bookwheel.types import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from bookwheel.journal import Journal
    from bookwheel.reading.provenance import LineOrigin
    from bookwheel.training.rollout_store import StoredRollout
    from bookwheel.types import Reading, Step

# Seconds between two looks at the journal for new steps.
_FOLLOW_SECONDS: Final = 0.5


def show(
    reading: str,
    *,
    html: FilePath | None = None,
    markdown: FilePath | None = None,
    follow: Annotated[bool, Parameter(negative="")] = False,
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
    markdown
        Write answer, evidence and timeline to this file as Markdown; "-" is standard output.
    follow
        Show the steps as another process reads them, until the reading ends.
    changes
        Show only steps that changed the memory.

    """
    from bookwheel.cli.output import print_line, stdout
    from bookwheel.reading.provenance import find_origins
    from bookwheel.record import reading_to_json

    output = output or OutputOptions()
    with output.require_journal(reading) as journal:
        record = journal.reading(reading)
        if follow:
            record = _follow(journal, record, output)
        lines = find_origins(record.steps, journal.document_of(record.id))
        rollout = _find_rollout(journal.path, record.id)
    if html:
        _write_page(html, record, lines)
    if markdown:
        _write_markdown(markdown, record, lines)
    if output.as_json:
        print_line(json.dumps(reading_to_json(record) | ({"rollout": asdict(rollout)} if rollout else {})))
    elif not (html or markdown or output.json_events):
        if not follow:
            _print_timeline(stdout(), record, rollout, only_changes=changes)
        _print_origins(stdout(), lines)
    return 0


def _follow(journal: Journal, reading: Reading, output: OutputOptions) -> Reading:
    """Print the steps of a reading as they come into the journal, and return it when it has ended."""
    from bookwheel.cli.output import print_event, stdout
    from bookwheel.record import reading_to_json, step_to_json

    console, seen, unclaimed = stdout(), 0, 0
    if output.json_events:
        print_event("reading", reading_to_json(reading, steps=False))
    elif not output.as_json:
        _print_head(console, reading)
    while True:
        for step in reading.steps[seen:]:
            if output.json_events:
                print_event("step", step_to_json(step, follows=step.chunk.index > 0))
            elif not output.as_json:
                _print_step(console, step)
        seen = len(reading.steps)
        # A reading whose process was killed stays "reading" for ever. Two looks: it begins a moment before its claim.
        unclaimed = 0 if journal.is_claimed(reading.id) else unclaimed + 1
        if reading.status is not Status.READING or unclaimed > 1:
            break
        time.sleep(_FOLLOW_SECONDS)
        reading = journal.reading(reading.id)
    if output.json_events:
        print_event("end", reading_to_json(reading, steps=False))
    elif not output.as_json:
        _print_end(console, reading)
    return reading


def _find_rollout(journal: Path, id_: str) -> StoredRollout | None:
    """Return this reading's rollout if the journal belongs to a training run."""
    if not journal.with_name("rollouts.jsonl").is_file():
        return None
    from bookwheel.training.rollout_store import load_rollouts

    return next((rollout for rollout in load_rollouts(journal.parent) if rollout.reading == id_), None)


def _print_timeline(console: Console, reading: Reading, rollout: StoredRollout | None, *, only_changes: bool) -> None:
    """Print every step: its place in the document, its flags, its changes to the memory, its advantage."""
    from rich.text import Text

    _print_head(console, reading)
    if rollout:
        console.print(Text(_format_reward(rollout), style="magenta"))
    advantage = f" · advantage {rollout.advantage:+.3f}" if rollout else ""
    for step in reading.steps:
        if not only_changes or step.before.text != step.after.text:
            _print_step(console, step, advantage)
    _print_end(console, reading, advantage)


def _print_head(console: Console, reading: Reading) -> None:
    """Print the question, and what was read by which model in which way."""
    from rich.text import Text

    from bookwheel.text.sanitize import sanitize

    console.print(Text(sanitize(reading.question), style="bold"))
    origin = f" · forked from {reading.parent[:8]}" if reading.parent else ""
    facts = (reading.id[:8], sanitize(reading.document.name), sanitize(reading.model), reading.way, reading.status)
    console.print(Text(" · ".join(facts) + origin, style="dim"))
    for note in reading.document.notes:
        console.print(Text(f"note: {sanitize(note)}", style="yellow"))


def _print_step(console: Console, step: Step, advantage: str = "") -> None:
    """Print one step and its changes to the memory."""
    from rich.text import Text

    from bookwheel.cli.progress import format_step_title, memory_diff

    console.print(Text("\n") + format_step_title(step) + Text(advantage, style="magenta"))
    for line in memory_diff(step.before.text, step.after.text):
        console.print(Text("  ") + line)


def _print_end(console: Console, reading: Reading, advantage: str = "") -> None:
    """Print the answer, or why there is none, and the cost."""
    from rich.text import Text

    from bookwheel.cli.output import format_usage, print_verdict
    from bookwheel.text.sanitize import sanitize

    if reading.answer:
        console.print(Text("\nanswer", style="bold green") + Text(advantage, style="magenta"))
    console.print(Text(sanitize(reading.answer.text) if reading.answer else f"\n{sanitize(reading.error)}"))
    if reading.answer:
        print_verdict(console, reading)
    console.print(Text(format_usage(reading), style="dim"))


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
    from bookwheel.views.html import render_page

    _write_file(path, render_page(reading, lines))


def _write_markdown(path: Path, reading: Reading, lines: Sequence[LineOrigin]) -> None:
    from bookwheel.cli.output import print_line
    from bookwheel.views.markdown import render_markdown

    text = render_markdown(reading, lines)
    if str(path) == STDIN:
        print_line(text.rstrip("\n"))
    else:
        _write_file(path, text)


def _write_file(path: Path, text: str) -> None:
    from bookwheel.cli.output import stderr

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    stderr().print(f"wrote {path}", style="dim", markup=False)
