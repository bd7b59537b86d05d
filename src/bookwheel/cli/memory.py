"""`bookwheel memory`: a memory that goes on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from bookwheel.cli import STDIN
from bookwheel.cli.arguments import Option
from bookwheel.cli.commands import CommandGroup
from bookwheel.cli.options import CallOptions, ModelOptions, OutputOptions, PlanOptions, PositiveInt, Text, Words
from bookwheel.cli.output import EXIT_CODES, INCOMPLETE, count, print_json, print_line, print_note, print_notes
from bookwheel.cli.resume import choose_memory
from bookwheel.errors import InputError
from bookwheel.memory import record as records
from bookwheel.text.sanitize import sanitize
from bookwheel.types import Status
from bookwheel.views.diff import SIGNS, find_changes, mark_words

if TYPE_CHECKING:
    from bookwheel.documents.opening import SourceDocument
    from bookwheel.journal.memories import MemoryTables
    from bookwheel.journal.memory_rows import MemoryRecord
    from bookwheel.memory.answers import MemoryAnswer
    from bookwheel.memory.opened import OpenMemory
    from bookwheel.memory.pieces import MemoryUpdate


app = CommandGroup("A memory that goes on: append, ask, look back, correct, forget.")
_FOLLOW: Final = "Read a file or stream as it grows, and tell when the answer to a question changes."
app.command("bookwheel.cli.follow:follow", name="follow", about=_FOLLOW)
_FORGET: Final = "Forget a source, what is from before a time, or some words, with all that came of them."
app.command("bookwheel.cli.memory_forgetting:forget", name="forget", about=_FORGET)
_UNFINISHED: Final = (
    "a forgetting is not finished: this still says what is to go; the next command that reads goes on with it"
)


@app.command
async def new(
    name: str,
    *,
    about: Words,
    way: Text | None = None,
    max_characters: PositiveInt | None = None,
    max_tokens_per_day: PositiveInt | None = None,
    models: ModelOptions = ModelOptions(),
    plan: PlanOptions = PlanOptions(),
    output: OutputOptions = OutputOptions(),
) -> int:
    """Begin a memory.

    Parameters
    ----------
    name
        Letters, digits and . - _ @; what all other commands call it.
    about
        What is to be noted: the standing brief.
    way
        `sequential`, `edits`, `heads`, `gated+edits`, or `quotes` for models that cannot write; by default, the
        model's own.
    max_characters
        How much text it may hold.
    max_tokens_per_day
        What it may cost on a day in UTC.

    """
    from bookwheel.journal.memory_rows import MemoryLimits
    from bookwheel.memory.opened import begin_memory

    limits = MemoryLimits(max_characters=max_characters, max_tokens_per_day=max_tokens_per_day)
    with output.open_journal() as journal:
        async with models.open_session(journal) as session:
            complete = session.build_plan(plan.given)
            record = await begin_memory(session, name, about, complete, way=way or "", limits=limits)
            values = records.summary_of(journal.memories, record)
    return print_values(values, output, f"began {name}; add to it: bookwheel memory add {name} FILE")


@app.command
async def add(
    name: str,
    *sources: str,
    source: Text | None = None,
    at: Text | None = None,
    options: CallOptions = CallOptions(),
) -> int:
    """Read what is new into a memory. The same text from the same source is told, and not read again.

    A message is of its own date, as is each day of a chat: they are read in the order of their times, each as a text.

    Parameters
    ----------
    sources
        Files, folders, URLs, or "-" for standard input; each is a source of its own.
    source
        The id of the source, by default its file's name; needed to forget it.
    at
        The time that it is from, such as 2026-11-24T09:30+01:00; by default, that which it tells, or now.

    """
    from bookwheel.memory.append import append_files
    from bookwheel.memory.entries import NewFile

    async with open_named(name, options) as opened:
        files: list[NewFile] = []
        notes: list[str] = []
        for word in sources or (STDIN,):
            document = await asyncio.to_thread(_open, word)
            parts = await asyncio.to_thread(tuple, document.parts())
            files.append(NewFile(parts=parts, name=document.name, named=source or ("" if word == STDIN else word)))
            notes += document.notes
        update = await append_files(opened, files, at)
        return _print_update(name, replace(update, notes=(*notes, *update.notes)), options.output)


@app.command
async def ask(name: str, question: Text, *, as_of: Text | None = None, options: CallOptions = CallOptions()) -> int:
    """Ask a memory; where it does not bear the answer out, the question is looked up in the texts themselves.

    Parameters
    ----------
    question
        The question, in quotes.
    as_of
        Answer as it was known at this time.

    """
    from bookwheel.memory.asking import ask as ask_memory

    async with open_named(name, options) as opened:
        return _print_reply(name, await ask_memory(opened, question, as_of=as_of), options.output)


@app.command
def show(name: str, *, version: int | None = None, output: OutputOptions = OutputOptions()) -> int:
    """Print what a memory says now, or said at a version.

    Parameters
    ----------
    version
        The version, as `log` numbers them.

    """
    from bookwheel.reading.prompts import prompts_for

    with output.require_journal(name) as journal:
        record = journal.memories.find(name)
        values = records.show_version(journal.memories, record, version)
        note_unfinished(journal.memories, record, output)
    if values["waiting"] and not output.is_silent:
        print_note(f"{count(values['waiting'], 'text')} not read yet: the next `bookwheel memory add` reads them")
    if values["gaps"] and not output.is_silent:
        print_note("the piece that was read last was not taken in whole", style="bold yellow")
    if values["text"] and prompts_for(record.plan, record.about).quotes and not output.is_silent:
        print_note(
            "passages as they stand, which newer texts may change: `bookwheel memory ask` answers from all texts"
        )
    return print_values(values, output, values["text"] or "(nothing was read yet)")


@app.command
def log(name: str, *, output: OutputOptions = OutputOptions()) -> int:
    """List a memory's versions with what each changed and who said it, its answers and what was forgotten."""
    from bookwheel.views.verdicts import describe_version_flags

    with output.require_journal(name) as journal:
        values = records.log_to_json(journal.memories, journal.memories.find(name))
    lines = []
    for version in values["versions"]:
        late = ("late",) if version["late"] else ()
        words = *late, *describe_version_flags(version)
        lines.append(" · ".join((f"version {version['version']}", version["at"], version["source"], *words)))
        lines += [format_change(change) for change in version["changes"]]
    for answer in values["answers"]:
        lines.append(f"asked at version {answer['version']}: {answer['question']} → {answer['answer']}")
    for stone in values["forgotten"]:
        end = stone["ended"] or "not finished: the next command that reads goes on with it"
        lines.append(f"forgotten · {end} · {', '.join(stone['sources'])} · {describe_work(stone)}")
    return print_values(values, output, *lines)


@app.command
def diff(name: str, old: int, new_: int, *, output: OutputOptions = OutputOptions()) -> int:
    """Print the lines that differ between two versions."""
    with output.require_journal(name) as journal:
        values = records.compare_versions(journal.memories, journal.memories.find(name), old, new_)
    return print_values(values, output, *(format_change(change) for change in values["changes"]))


@app.command
async def edit(
    name: str,
    *,
    old: Words | None = None,
    new_: Annotated[str | None, Option(name="--new", takes_hyphen=True)] = None,
    memory: Words | None = None,
    memory_file: Path | None = None,
    at: Text | None = None,
    options: CallOptions = CallOptions(),
) -> int:
    """Correct a memory by hand, as a new version. The versions before stay: to erase something, forget its source.

    Parameters
    ----------
    old
        Words to put right, of the memory or else of its texts.
    new_
        What stands in their place.
    memory
        The whole memory anew. Without this and --old, $EDITOR opens it.
    memory_file
        A file with the whole memory anew, or "-" for standard input.
    at
        The time from which it holds, such as 2026-11-24; by default, now. A text of a later one says what is newer.

    """
    from bookwheel.memory.editing import edit as edit_memory

    async with open_named(name, options) as opened:
        if (old is None) != (new_ is None):
            raise InputError("give both --old and --new, or the whole memory")
        text = new_ if new_ is not None else choose_memory(opened.newest().memory.text, memory, memory_file)
        return _print_update(name, await edit_memory(opened, old or "", text, at), options.output)


def note_unfinished(tables: MemoryTables, record: MemoryRecord, output: OutputOptions) -> None:
    """Say where a forgetting was interrupted."""
    if not output.is_silent and any(not stone.ended for stone in tables.list_tombstones(record.number)):
        print_note(f"{record.name}: {_UNFINISHED}", style="bold yellow")


def describe_work(stone: Mapping[str, Any]) -> str:
    lines = ", ".join(f"{SIGNS[one['kind']]}{one['line']}" for one in stone["changed"])
    work = f"{count(stone['replayed'], 'piece')} read again, {count(stone['lines'], 'line')} changed"
    return f"{work}: {lines}" if lines else work


def list_memories(*, output: OutputOptions = OutputOptions()) -> int:
    """List the memories, newest first."""
    rows, lines = list[records.MemorySummaryJson](), list[str]()
    if journal := output.find_journal():
        with journal:
            for record in journal.memories.list_all():
                rows.append(records.summary_of(journal.memories, record))
                note_unfinished(journal.memories, record, output)
    for row in rows:
        size = f"{row['tokens']:>6} of {row['limit']} tokens  {count(row['texts'], 'text')}"
        lines.append(f"{row['memory']:24} {size}  {row['about']}")
    return print_values(rows, output, *lines)


app.command(list_memories, name="list")


@app.command
def rename(name: str, new_name: str, *, output: OutputOptions = OutputOptions()) -> int:
    """Give a memory another name."""
    from bookwheel.memory.opened import check_name

    check_name(new_name)
    with output.require_journal(name) as journal:
        journal.memories.rename(journal.memories.find(name).number, new_name)
    return print_values({"memory": new_name}, output, f"{name} is {new_name} now")


@app.command
def delete(name: str, *, output: OutputOptions = OutputOptions()) -> int:
    """Delete a memory with all texts, versions and answers. Nothing brings it back."""
    with output.require_journal(name) as journal:
        number = journal.memories.find(name).number
        with journal.memories.claim(number):
            is_purged = journal.memories.delete(number)
    return print_values({"memory": name, "deleted": True, "purged": is_purged}, output, f"deleted {name}")


@app.command
def export(name: str, file: Path, *, output: OutputOptions = OutputOptions()) -> int:
    """Write a memory to a journal of its own, which opens elsewhere with --journal FILE."""
    from bookwheel.memory.lasting import export_memory

    with output.require_journal(name) as journal:
        export_memory(journal, journal.memories.find(name), file)
    return print_values({"memory": name, "file": str(file)}, output, f"wrote {file}")


@asynccontextmanager
async def open_named(name: str, options: CallOptions) -> AsyncGenerator[OpenMemory]:
    """Open a memory with the model that began it, unless the options name another."""
    from bookwheel.memory.opened import open_memory

    with options.output.require_journal(name) as journal:
        record = journal.memories.find(name)
        async with options.models.open_session(journal, kept=record.address) as session:
            limits = session.renew_budget(record.plan.budget, options.budget.given)
            yield open_memory(session, name, budget=limits)


def _open(word: str) -> SourceDocument:
    from bookwheel.documents.opening import open_document

    stdin = sys.stdin.buffer if sys.stdin else None
    # Not through the cache of conversions, which a forgetting could not reach.
    return open_document(["-" if word == STDIN else word], stdin=stdin, is_cached=False)


def print_values(values: Mapping[str, Any] | Sequence[Any], output: OutputOptions, *lines: str) -> int:
    if output.is_for_program:
        print_json(values)
    else:
        for line in lines:
            print_line(sanitize(line))
    return 0


def _print_update(name: str, update: MemoryUpdate, output: OutputOptions) -> int:
    """Print what changed in a memory, and what was not taken in; return the exit code."""
    from bookwheel.views.verdicts import describe_flags

    values, gaps = records.update_to_json(name, update), update.gaps
    if not output.is_for_program:
        print_notes(update.notes, output)
        if values.get("known"):
            print_note(f"{values['source']} has said this before; it was not read again")
        if values.get("late"):
            print_note("note: texts of a later time were read before this one")
    print_values(values, output, *(format_change(change) for change in values["changes"]))
    if not output.is_silent:
        steps = f"{count(values['steps'], 'piece')} read · {values['tokens']} tokens"
        print_note(f"version {values['version']} · {steps}", style="dim")
    if gaps and not output.is_for_program:
        why = "; ".join(describe_flags(sorted({flag for gap in values["gaps"] for flag in gap["flags"]})))
        advice = "where the memory is full, begin one with more --memory-tokens"
        note = f"not taken in whole: {len(gaps)} of {values['steps']} pieces ({why}); {advice}"
        print_note(note, style="bold yellow")
    return INCOMPLETE if gaps else 0


def format_change(change: Mapping[str, Any]) -> str:
    """Return a changed line behind its sign, with its words marked where it was reworded."""
    words = [mark_words(one) for one in find_changes(change["old"], change["text"])] if "old" in change else []
    return f"  {SIGNS[change['kind']]} {words[0] if len(words) == 1 else change['text']}"


def _print_reply(name: str, answer: MemoryAnswer, output: OutputOptions) -> int:
    from bookwheel.views.verdicts import describe_verdict

    code = EXIT_CODES[answer.status]
    if answer.gaps and answer.origin == "memory" and not code:
        # What a full memory did not take in may be what was asked for.
        code = INCOMPLETE
    if output.is_for_program:
        print_json(records.answer_to_json(name, answer))
        return code
    if answer.status is not Status.ANSWERED:
        print_note(f"{answer.status}: {answer.error}", style="bold yellow")
        return code
    print_line(sanitize(answer.answer))
    if output.quiet:
        return code
    where = "from the memory" if answer.origin == "memory" else "looked up in the texts"
    verdict = describe_verdict(answer.verdict, answer.answers) if answer.verdict else "not judged"
    print_note(f"{where} · version {answer.version} · {verdict}", style="dim")
    if answer.gaps:
        print_note("the memory is full: what it read last was not taken in whole", style="bold yellow")
    for label, quotes in (("", answer.evidence), ("newer: ", answer.newer), ("superseded: ", answer.superseded)):
        for quote in quotes:
            print_note(f"    {label}“{quote.quote.strip()}”  {quote.describe_place()}", style="italic")
    return code
