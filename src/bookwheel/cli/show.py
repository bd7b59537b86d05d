"""`bookwheel show`: one reading step by step, on the terminal, as a page or as Markdown."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from bookwheel.cli import STDIN
from bookwheel.cli.option_types import FilePath
from bookwheel.cli.options import OutputOptions
from bookwheel.errors import InputError
from bookwheel.types import Memory, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.journal import Journal
    from bookwheel.types import Reading
    from bookwheel.verdict.provenance import LineOrigin

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
    from bookwheel.cli.timeline import find_note, print_origins, print_timeline
    from bookwheel.record import reading_to_json
    from bookwheel.verdict.provenance import find_origins

    output = output or OutputOptions()
    with output.require_journal(reading) as journal:
        record = journal.reading(reading)
        if follow:
            record = _follow(journal, record, output)
        lines = find_origins(record.steps, journal.document_of(record.id))
        note = find_note(journal.path, record.id)
    if html:
        _write_page(html, record, lines)
    if markdown:
        _write_markdown(markdown, record, lines)
    if output.as_json:
        print_line(json.dumps({**reading_to_json(record), **(note.fields if note else {})}))
    elif not (html or markdown or output.json_events):
        if not follow:
            print_timeline(stdout(), record, note, only_changes=changes)
        print_origins(stdout(), lines)
    return 0


def _follow(journal: Journal, reading: Reading, output: OutputOptions) -> Reading:
    """Print the steps of a reading as they come into the journal, and return it when it has ended."""
    from bookwheel.cli.output import print_event, stdout
    from bookwheel.cli.timeline import print_end, print_head, print_step
    from bookwheel.record import outcome_to_json, step_to_json, summary_to_json

    console, seen, unclaimed = stdout(), 0, 0
    memory = Memory.blank(reading.plan.memory_tokens)
    if output.json_events:
        print_event("reading", summary_to_json(reading))
    elif not output.as_json:
        print_head(console, reading)
    while True:
        for step in reading.steps[seen:]:
            if output.json_events:
                print_event("step", step_to_json(step, memory))
                memory = step.after
            elif not output.as_json:
                print_step(console, step)
        seen = len(reading.steps)
        # A reading whose process was killed stays "reading" for ever. Two looks: it begins a moment before its claim.
        unclaimed = 0 if journal.is_claimed(reading.id) else unclaimed + 1
        if reading.status is not Status.READING or unclaimed > 1:
            break
        time.sleep(_FOLLOW_SECONDS)
        reading = journal.reading(reading.id)
    if output.json_events:
        print_event("end", outcome_to_json(reading))
    elif not output.as_json:
        print_end(console, reading)
    return reading


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
