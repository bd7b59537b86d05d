"""`bookwheel list`, `show` and `forget`: the readings of the journal, one of them step by step, and their end."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bookwheel.cli import STDIN
from bookwheel.cli.last import find_reading_id
from bookwheel.cli.options import ModelOptions, OutputOptions, PositiveInt, Text
from bookwheel.cli.output import print_event, print_json, print_line, print_note, stdout
from bookwheel.errors import BookwheelError, InputError, explain_failure
from bookwheel.schema import to_plain
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Memory, Reading, Status
from bookwheel.views.verdicts import describe_span

if TYPE_CHECKING:
    from bookwheel.journal import Journal
    from bookwheel.reading.worth import ReadingWorth

# Seconds between two looks at the journal for new steps.
_FOLLOW_SECONDS: Final = 0.5


def list_readings(
    *, search: Text | None = None, limit: PositiveInt | None = None, output: OutputOptions = OutputOptions()
) -> int:
    """List the readings in the journal, newest first.

    Parameters
    ----------
    search
        List only readings with these words in the question, answer, document name or model.
    limit
        List at most this many; by default, all.

    """
    from bookwheel.cli.listing import print_json_list, print_list

    output.check_journal()
    (print_json_list if output.as_json else print_list)(output.path, limit=limit, search=search)
    return 0


def search(*words: str, limit: PositiveInt = 10, output: OutputOptions = OutputOptions()) -> int:
    """Find what has all the words: readings by question, answer or memory, and passages of the documents kept here.

    Parameters
    ----------
    words
        Words, or beginnings of words.
    limit
        Print at most this many.

    """
    if not words:
        raise InputError("say what to look for: bookwheel search WORDS")
    from bookwheel.journal.search import list_holding

    journal, hits, memories = output.find_journal(), [], list[str]()
    if journal:
        with journal:
            hits = journal.search(" ".join(words), limit=limit)
            memories = list_holding(journal.memories, " ".join(words).split())
    if output.as_json:
        print_json([to_plain(hit) for hit in hits])
        return 0
    for hit in hits:
        source = ", ".join(hit.sources) or hit.name
        title = f"{hit.reading[:8]} · {hit.question}" if hit.reading else describe_span(hit, source)
        print_line(sanitize(" ".join(title.split())))
        print_line(sanitize("  " + " ".join(hit.snippet.split())))
    if memories and not output.quiet:
        print_note(f"lasting memories have it: {', '.join(memories)}; bookwheel memory ask {memories[0]} QUESTION")
    elif not hits and not output.quiet:
        print_note(f"nothing kept here has {' '.join(words)!r}", style="dim")
    return 0


def show(
    reading: str,
    *,
    html: Path | None = None,
    markdown: Path | None = None,
    follow: bool = False,
    changes: bool = False,
    worth: bool = False,
    judge: bool = False,
    models: ModelOptions = ModelOptions(),
    output: OutputOptions = OutputOptions(),
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
    worth
        Measure how much of the answer and of the next section each memory knows, in bits, and which of its lines know
        it. The model must give likelihoods: by default the one that read, else what --model names.
    judge
        Let the model judge whether the document bears out what the answer says and whether that answers the question,
        and keep its verdicts: by default the one that read, else what --model names.

    """
    from bookwheel.cli.timeline import find_note, print_origins, print_timeline, print_worth
    from bookwheel.record import reading_to_json
    from bookwheel.verdict.provenance import find_origins

    with output.require_journal(reading) as journal:
        record = journal.reading(find_reading_id(journal, reading))
        if follow:
            record = _follow(journal, record, output)
        if judge:
            record = asyncio.run(_judge(journal, record, models))
        lines = find_origins(record.steps, journal.document_of(record.id))
        note = find_note(journal.path, record.id)
        measured = asyncio.run(_measure_worth(journal, record, models)) if worth else None
    if html:
        from bookwheel.views.html import render_page

        _write_file(html, render_page(record, lines))
    if markdown:
        from bookwheel.views.markdown import render_markdown

        _write_file(markdown, render_markdown(record, lines))
    if output.as_json:
        more = {"worth": to_plain(measured)} if measured else {}
        print_json({**reading_to_json(record), **(note.fields if note else {}), **more})
    elif not (html or markdown or output.json_events):
        if not follow:
            print_timeline(stdout(), record, note, only_changes=changes)
        print_origins(stdout(), lines)
        if measured:
            print_worth(stdout(), measured)
    return 0


async def _judge(journal: Journal, reading: Reading, models: ModelOptions) -> Reading:
    from bookwheel.reading.runner import judge_again

    async with models.open_session(kept=journal.address_of(reading.id)) as session:
        with journal.claim(reading.id):
            return await judge_again(reading, journal.document_of(reading.id), session.model, journal, session.patience)


async def _measure_worth(journal: Journal, reading: Reading, models: ModelOptions) -> ReadingWorth:
    from bookwheel.reading.worth import measure_reading

    async with models.open_session(kept=journal.address_of(reading.id)) as session:
        return await measure_reading(reading, journal.document_of(reading.id), session.model)


def _follow(journal: Journal, reading: Reading, output: OutputOptions) -> Reading:
    """Print the steps of a reading as they come into the journal, and return it when it has ended."""
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


def _write_file(path: Path, text: str) -> None:
    if str(path) == STDIN:
        print_line(text.rstrip("\n"))
        return
    from bookwheel.tables.files import replace_whole

    with explain_failure(path, "written"), replace_whole(path) as new:
        new.write_text(text, encoding="utf-8")
    print_note(f"wrote {path}", style="dim")


def forget(
    *readings: str,
    older_than: PositiveInt | None = None,
    unread: bool = False,
    output: OutputOptions = OutputOptions(),
) -> int:
    """Delete readings, each with its document if no other reading is of it. Nothing brings them back.

    Parameters
    ----------
    readings
        The readings' ids, their first characters, or "last".
    older_than
        Delete all readings that began more than this many days ago.
    unread
        Delete the documents that no reading is of, however new they are.

    """
    if not readings and older_than is None and not unread:
        raise InputError("say what to forget: bookwheel forget READING, or --older-than DAYS")
    journal = output.find_journal()
    deleted: list[str] = []
    kept: dict[str, str] = {}
    is_gone = True
    if journal is not None:
        with journal:
            for id_ in _find_ids(journal, readings, older_than):
                try:
                    journal.delete(id_)
                    deleted.append(id_)
                except BookwheelError as error:  # the others go all the same
                    kept[id_] = str(error)
            if unread or deleted:
                is_gone = journal.delete_unread(all_=unread)
    elif readings:
        output.require_journal(readings[0])
    if output.as_json:
        print_json({"deleted": deleted, "kept": kept})
    else:
        left = "" if is_gone else "; the journal's log is in use and has their words until the next command"
        print_note(f"deleted {len(deleted)} readings{left}", style="dim")
        for reason in kept.values():
            print_note(reason)
    return 2 if kept else 0


def _find_ids(journal: Journal, readings: tuple[str, ...], days: int | None) -> list[str]:
    """Return whole ids. Raise JournalError, before anything is deleted, for one that is not there."""
    ids = dict.fromkeys(find_reading_id(journal, name) for name in readings)
    if days is not None:
        before = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
        ids |= dict.fromkeys(reading.id for reading in journal.readings() if reading.created < before)
    return list(ids)
