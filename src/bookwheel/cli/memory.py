"""`bookwheel memory`: a memory that goes on."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from bookwheel.cli import STDIN
from bookwheel.cli.edit import choose_memory
from bookwheel.cli.memory_output import print_change, print_log, print_reply, print_values
from bookwheel.cli.option_types import FilePath, PositiveInt, Text, WholeNumber
from bookwheel.cli.options import BudgetOptions, ModelOptions, OutputOptions, PlanOptions, list_given
from bookwheel.configuration import load_configuration
from bookwheel.errors import InputError
from bookwheel.memory import record as records

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bookwheel.memory.append import MemoryUpdate
    from bookwheel.memory.opened import OpenMemory

_GAPS = 5


def new(
    name: str,
    *,
    about: Text,
    way: Text | None = None,
    max_characters: PositiveInt | None = None,
    max_tokens_per_day: PositiveInt | None = None,
    models: ModelOptions | None = None,
    plan: PlanOptions | None = None,
    output: OutputOptions | None = None,
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
    from bookwheel.cli.runner import run_command

    async def begin() -> int:
        from bookwheel.arguments import build_plan
        from bookwheel.journal.memory_rows import MemoryLimits
        from bookwheel.memory.opened import begin_memory

        where, chosen = output or OutputOptions(), models or ModelOptions()
        settings = load_configuration()
        address = chosen.find_address(settings)
        limits = MemoryLimits(max_characters=max_characters, max_tokens_per_day=max_tokens_per_day)
        with where.open_journal() as journal:
            async with chosen.open_session(address, journal) as session:
                complete = build_plan(None, session.model, list_given(plan or PlanOptions()), settings, address)
                record = await begin_memory(session, name, about, complete, way=way or "", limits=limits)
                values = records.summary_of(journal.memories, record)
        return print_values(values, where, f"began {name}; add to it: bookwheel memory add {name} FILE")

    return run_command(begin())


def add(
    name: str,
    *sources: str,
    source: Text | None = None,
    at: Text | None = None,
    models: ModelOptions | None = None,
    budget: BudgetOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Read what is new into a memory. The same text from the same source is told, and not read again.

    Parameters
    ----------
    name
        The memory.
    sources
        Files, folders, URLs, or "-" for standard input; each is a source of its own.
    source
        The id of the source, by default its file's name; needed to forget it.
    at
        The time that it is from, such as 2026-11-24T09:30+01:00; by default, now.

    """
    from bookwheel.cli.runner import run_command

    async def read() -> int:
        from bookwheel.memory.append import append

        where, code = output or OutputOptions(), 0
        async with _open(name, models, budget, where) as opened:
            for word in sources or (STDIN,):
                content = await asyncio.to_thread(_load, word)
                named = source or ("" if word == STDIN else word)
                update = await append(opened, content, source=named, at=at)
                code = _print_update(name, update, where) or code
        return code

    return run_command(read())


def ask(
    name: str,
    question: Text,
    *,
    as_of: Text | None = None,
    models: ModelOptions | None = None,
    budget: BudgetOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Ask a memory; where it does not bear the answer out, the question is looked up in the texts themselves.

    Parameters
    ----------
    name
        The memory.
    question
        The question, in quotes.
    as_of
        Answer as it was known at this time.

    """
    from bookwheel.cli.runner import run_command

    async def answer() -> int:
        from bookwheel.memory.asking import ask as ask_memory

        where = output or OutputOptions()
        async with _open(name, models, budget, where) as opened:
            return print_reply(name, await ask_memory(opened, question, as_of=as_of), where)

    return run_command(answer())


def show(name: str, *, version: WholeNumber | None = None, output: OutputOptions | None = None) -> int:
    """Print what a memory says now, or said at a version.

    Parameters
    ----------
    name
        The memory.
    version
        The version, as `log` numbers them.

    """
    where = output or OutputOptions()
    with where.require_journal(name) as journal:
        tables = journal.memories
        record = tables.find(name)
        limit = record.plan.memory_tokens
        found = tables.newest_version(record.number, limit, version) or _blank(limit)
        before = tables.newest_version(record.number, limit, found.version - 1) or _blank(limit)
        waiting = len(tables.list_waiting(record.number))
    values = {**records.version_to_json(name, found, before), "limit": limit, "waiting": waiting}
    if waiting and not where.is_silent:
        _note(f"{waiting} texts are not read yet: the next `bookwheel memory add` reads them")
    return print_values(values, where, found.memory.text or "(nothing was read yet)")


def log(name: str, *, output: OutputOptions | None = None) -> int:
    """List a memory's versions with what each changed and who said it, its answers and what was forgotten."""
    where = output or OutputOptions()
    with where.require_journal(name) as journal:
        values = records.log_to_json(journal.memories, journal.memories.find(name))
    return print_log(values, where)


def diff(name: str, old: WholeNumber, new_: WholeNumber, *, output: OutputOptions | None = None) -> int:
    """Print the lines that differ between two versions."""
    where = output or OutputOptions()
    with where.require_journal(name) as journal:
        tables = journal.memories
        record = tables.find(name)
        limit = record.plan.memory_tokens
        texts = [
            (tables.newest_version(record.number, limit, number) or _blank(limit)).memory.text for number in (old, new_)
        ]
    changes = records.changes_to_json(*texts)
    return print_change({"memory": name, "from": old, "to": new_, "changes": changes}, where)


def edit(
    name: str,
    *,
    old: Text | None = None,
    new_: Annotated[str | None, Parameter(name="--new")] = None,
    memory: Text | None = None,
    memory_file: FilePath | None = None,
    models: ModelOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Correct a memory by hand, as a new version. The versions before stay: to erase something, forget its source.

    Parameters
    ----------
    name
        The memory.
    old
        Words to put right.
    new_
        What stands in their place.
    memory
        The whole memory anew. Without this and --old, $EDITOR opens it.
    memory_file
        A file with the whole memory anew, or "-" for standard input.

    """
    from bookwheel.cli.runner import run_command

    async def correct() -> int:
        from bookwheel.memory.editing import edit as edit_memory

        where = output or OutputOptions()
        async with _open(name, models, None, where) as opened:
            if (old is None) != (new_ is None):
                raise InputError("give both --old and --new, or the whole memory")
            text = new_ if new_ is not None else choose_memory(opened.newest().memory.text, memory, memory_file)
            return _print_update(name, await edit_memory(opened, old or "", text), where)

    return run_command(correct())


def forget(
    name: str,
    *,
    source: Text | None = None,
    before: Text | None = None,
    text: Text | None = None,
    preview: Annotated[bool, Parameter(negative="")] = False,
    models: ModelOptions | None = None,
    budget: BudgetOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Forget a source, what is from before a time, or some words, with all that came of them.

    The memory becomes what it would be without, and the words go from the journal's file. An interrupted forgetting
    goes on with the next command that reads. Copies of the file and the provider of the model are out of reach.

    Parameters
    ----------
    name
        The memory.
    source
        The id of the source.
    before
        A time; what is from before it goes.
    text
        Words; they are blotted out of every text.
    preview
        Print what would go, and stop.

    """
    from bookwheel.cli.runner import run_command

    async def erase() -> int:
        from bookwheel.memory import forgetting
        from bookwheel.memory.append import read_time

        where = output or OutputOptions()
        until = read_time(before) if before else None
        async with _open(name, models, budget, where) as opened:
            if preview:
                found = forgetting.preview(opened, source=source, before=until, text=text)
                values: dict[str, Any] = {"memory": name, "texts": [records.text_to_json(one) for one in found.texts]}
                values |= {"versions": found.versions, "later": found.later}
                told = f"{len(found.texts)} texts, {found.versions} versions; up to {found.later} pieces are read again"
                return print_values(values, where, told)
            tombstone = await forgetting.forget(opened, source=source, before=until, text=text)
            left = "" if tombstone.is_purged else "; the file is still in use and is purged with the next command"
            work = f"{tombstone.replayed} pieces read again, {tombstone.lines} lines changed"
            told = f"forgot {', '.join(tombstone.sources)}: {work}{left}"
            return print_values(records.tombstone_to_json(name, tombstone), where, told)

    return run_command(erase())


def list_memories(*, output: OutputOptions | None = None) -> int:
    """List the memories, newest first."""
    where = output or OutputOptions()
    journal = where.find_journal()
    rows: list[dict[str, Any]] = []
    if journal:
        with journal:
            rows = [records.summary_of(journal.memories, record) for record in journal.memories.list_all()]
    if where.as_json:
        sys.stdout.write(json.dumps(rows) + "\n")
        return 0
    for row in rows:
        sys.stdout.write(
            f"{row['memory']:24} {row['tokens']:>6} of {row['limit']} tokens  {row['texts']} texts  {row['about']}\n"
        )
    return 0


def rename(name: str, new_name: str, *, output: OutputOptions | None = None) -> int:
    """Give a memory another name."""
    from bookwheel.memory.opened import check_name

    where = output or OutputOptions()
    check_name(new_name)
    with where.require_journal(name) as journal:
        journal.memories.rename(journal.memories.find(name).number, new_name)
    return print_values({"memory": new_name}, where, f"{name} is {new_name} now")


def delete(name: str, *, output: OutputOptions | None = None) -> int:
    """Delete a memory with all texts, versions and answers. Nothing brings it back."""
    where = output or OutputOptions()
    with where.require_journal(name) as journal:
        number = journal.memories.find(name).number
        with journal.memories.claim(number):
            is_purged = journal.memories.delete(number)
    return print_values({"memory": name, "deleted": True, "purged": is_purged}, where, f"deleted {name}")


def export(name: str, file: FilePath, *, output: OutputOptions | None = None) -> int:
    """Write a memory to a journal of its own, which opens elsewhere with --journal FILE."""
    from bookwheel.memory.lasting import export_memory

    where = output or OutputOptions()
    with where.require_journal(name) as journal:
        export_memory(journal, journal.memories.find(name), file)
    return print_values({"memory": name, "file": str(file)}, where, f"wrote {file}")


def _blank(limit: int) -> Any:
    from bookwheel.journal.memory_rows import blank_version

    return blank_version(limit)


def _load(word: str) -> str:
    from bookwheel.documents.opening import open_document

    stdin = sys.stdin.buffer if sys.stdin else None
    # Not through the cache of conversions, which a forgetting could not reach.
    document = open_document(["-" if word == STDIN else word], stdin=stdin, is_cached=False)
    return "".join(part.text for part in document.parts())


def _print_update(name: str, update: MemoryUpdate, where: OutputOptions) -> int:
    print_change(records.update_to_json(name, update), where)
    return _GAPS if update.gaps else 0


def _note(text: str) -> None:
    from bookwheel.cli.output import stderr

    stderr().print(text, style="yellow", markup=False)


@asynccontextmanager
async def _open(
    name: str, models: ModelOptions | None, budget: BudgetOptions | None, where: OutputOptions
) -> AsyncGenerator[OpenMemory]:
    """Open a memory with the model that began it, unless the options name another."""
    from bookwheel.arguments import renew_budget
    from bookwheel.memory.opened import open_memory

    chosen, settings = models or ModelOptions(), load_configuration()
    with where.require_journal(name) as journal:
        record = journal.memories.find(name)
        address = chosen.find_address(settings, record.address)
        async with chosen.open_session(address, journal) as session:
            limits = renew_budget(record.plan.budget, list_given(budget or BudgetOptions()))
            yield open_memory(session, name, budget=limits)


app = App(name="memory", help="A memory that goes on: append, ask, look back, correct, forget.")
for function in (new, add, ask, show, log, diff, edit, forget, rename, delete, export):
    app.command(function)
app.command(list_memories, name="list")
