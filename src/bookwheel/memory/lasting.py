"""A lasting memory from Python: each method in two forms, `read` for scripts and `aread` for async programs.

>>> memory = LastingMemory("ada", about="Everything about Ada")     # doctest: +SKIP
>>> memory.read("Ada moved to Este.", source="mail-17").steps       # doctest: +SKIP
1
>>> memory.ask("Where does Ada live?").answer                       # doctest: +SKIP
'Este'
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from bookwheel.arguments import find_own_model, open_source, resolve_journal, run_now
from bookwheel.configuration import Connection
from bookwheel.documents.cancellation import run_cancellable
from bookwheel.errors import InputError
from bookwheel.journal import Journal
from bookwheel.journal.memory_rows import MemoryLimits, MemoryRecord, MemoryVersion, Tombstone
from bookwheel.memory import append, asking, editing, forgetting
from bookwheel.memory.answers import MemoryAnswer
from bookwheel.memory.entries import NewFile
from bookwheel.memory.files import FileCommand, run_command
from bookwheel.memory.opened import WRITTEN_ABOUT, OpenMemory, begin_memory, find_version, open_memory
from bookwheel.memory.pieces import MemoryUpdate, read_time
from bookwheel.models.base import Model
from bookwheel.plan import LIMITS
from bookwheel.schema import parse
from bookwheel.session import Session, open_session, refuse_unknown
from bookwheel.types import Document
from bookwheel.views.diff import LineChange, diff_memories


class LastingMemory:
    """A memory that goes on. Any number of programs may use one at once; writers take turns."""

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        about: str = "",
        tokens: int | None = None,
        model: str | Model | None = None,
        way: str = "",
        journal: str | Path | None = None,
        **settings: Any,
    ) -> None:
        """Open the memory of this name, or begin it where there is none; then `about` says what it notes.

        A path with an ending, such as `ada.sqlite`, is a journal of its own, as `export` writes it. `model` is a name
        or a Model; a Model is not closed. `settings` are those of `bookwheel.read`, and the limits of a new memory:
        `max_characters` and `max_tokens_per_day`.
        """
        is_file = isinstance(name_or_path, Path) or Path(name_or_path).suffix in {".sqlite", ".db"}
        self.name = Path(name_or_path).stem if is_file else str(name_or_path)
        self._path = Path(name_or_path) if is_file else resolve_journal(journal)
        if is_file and self._path.exists():
            # A file that was renamed on its way still opens.
            with Journal(self._path) as kept:
                names = [record.name for record in kept.memories.list_all()]
            self.name = names[0] if len(names) == 1 else self.name
        self._about, self._way, self._model = about, way, model
        self._limits = {one.name: settings.pop(one.name) for one in fields(MemoryLimits) if one.name in settings}
        self._settings = settings if tokens is None else {**settings, "memory_tokens": tokens}

    @property
    def text(self) -> str:
        """What the memory says now."""
        return self.at(None).memory.text

    @property
    def versions(self) -> list[MemoryVersion]:
        """All versions, oldest first."""
        with Journal(self._path) as journal:
            record = journal.memories.find(self.name)
            return journal.memories.list_versions(record.number, record.plan.memory_tokens)

    def at(self, when: int | datetime | None) -> MemoryVersion:
        """Return the memory at a version, or as it was known at a time."""
        with Journal(self._path) as journal:
            tables = journal.memories
            record = tables.find(self.name)
            if not isinstance(when, datetime):
                return find_version(tables, record, when)
            return find_version(tables, record, tables.find_known(record.number, read_time(when)))

    def diff(self, old: int, new: int) -> tuple[LineChange, ...]:
        """Return the lines of two versions, each kept, reworded, new or gone."""
        return diff_memories(self.at(old).memory.text, self.at(new).memory.text)

    async def aread(
        self, source_or_text: str | Path | Document, *, source: str = "", at: datetime | str | None = None
    ) -> MemoryUpdate:
        """Read what is new: a text, or the texts of a file (a Path) or document, each of the time that it tells."""
        if isinstance(source_or_text, str):
            async with self._open() as opened:
                return await append.append(opened, source_or_text, source=source, at=at)
        document = await run_cancellable(lambda: open_source(source_or_text))
        parts = await run_cancellable(lambda: tuple(document.parts()))
        file = NewFile(parts=parts, name=document.name, named=source or document.name)
        async with self._open() as opened:
            update = await append.append_files(opened, [file], at)
        return replace(update, notes=(*getattr(document, "notes", ()), *update.notes))

    async def aask(self, question: str, *, as_of: datetime | str | None = None) -> MemoryAnswer:
        """Answer a question, from the memory or else from the texts."""
        async with self._open() as opened:
            return await asking.ask(opened, question, as_of=as_of)

    async def aedit(self, old: str, new: str, *, at: datetime | str | None = None) -> MemoryUpdate:
        """Put some words of the newest memory right, from a time on; with an empty `old`, `new` is the whole memory."""
        async with self._open() as opened:
            return await editing.edit(opened, old, new, at)

    async def aforget(
        self, *, source: str | None = None, before: datetime | str | None = None, text: str | None = None
    ) -> Tombstone:
        """Forget a source, what is from before a time, or some words, with all that came of them."""
        until = read_time(before) if before is not None else None
        async with self._open() as opened:
            return await forgetting.forget(opened, source=source, before=until, text=text)

    async def arun_command(self, command: Mapping[str, Any]) -> str:
        """Run a command of Anthropic's memory tool on the files that an agent keeps in this memory; return its reply.

        InputError, with words for the agent, where it cannot be run. A memory that is not there yet is begun, with room
        for what an agent writes.
        """
        parsed = parse(FileCommand, dict(command))
        async with self._open(is_written=True) as opened:
            return await run_command(opened, parsed)

    def read(
        self, source_or_text: str | Path | Document, *, source: str = "", at: datetime | str | None = None
    ) -> MemoryUpdate:
        """Read what is new; see `aread`."""
        return run_now(self.aread(source_or_text, source=source, at=at))

    def ask(self, question: str, *, as_of: datetime | str | None = None) -> MemoryAnswer:
        """Answer a question; see `aask`."""
        return run_now(self.aask(question, as_of=as_of))

    def edit(self, old: str, new: str, *, at: datetime | str | None = None) -> MemoryUpdate:
        """Correct the newest memory; see `aedit`."""
        return run_now(self.aedit(old, new, at=at))

    def forget(
        self, *, source: str | None = None, before: datetime | str | None = None, text: str | None = None
    ) -> Tombstone:
        """Forget; see `aforget`."""
        return run_now(self.aforget(source=source, before=before, text=text))

    def run_command(self, command: Mapping[str, Any]) -> str:
        """Run a command on the files of an agent; see `arun_command`."""
        return run_now(self.arun_command(command))

    def export(self, path: str | Path) -> None:
        """Write the memory to a journal of its own, which opens elsewhere."""
        with Journal(self._path) as journal:
            export_memory(journal, journal.memories.find(self.name), Path(path))

    @asynccontextmanager
    async def _open(self, *, is_written: bool = False) -> AsyncGenerator[OpenMemory]:
        """Open the journal, the memory and its model; begin the memory where there is none."""
        settings = dict(self._settings)
        own, connection = find_own_model(self._model), Connection.pop_from(settings, self._model)
        limits = {name: settings.pop(name) for name in LIMITS if name in settings}
        with Journal(self._path) as journal:
            names = {record.name: record for record in journal.memories.list_all()}
            record = names.get(self.name)
            kept = record.address if record else None
            async with open_session(connection, journal, model=own, kept=kept) as session:
                if record is None:
                    record = await self._begin(session, settings, is_written)
                else:
                    refuse_unknown(settings, ("memory_tokens", *LIMITS))
                yield open_memory(session, self.name, budget=session.renew_budget(record.plan.budget, limits))

    async def _begin(self, session: Session, settings: dict[str, Any], is_written: bool) -> MemoryRecord:
        about = self._about or (WRITTEN_ABOUT if is_written else "")
        if not about:
            raise InputError(f"there is no memory {self.name!r} yet: say what it is about, with about=TEXT")
        plan = session.build_plan(settings)
        limits = MemoryLimits(**self._limits)
        return await begin_memory(session, self.name, about, plan, way=self._way, limits=limits, is_written=is_written)


def export_memory(journal: Journal, record: MemoryRecord, path: Path) -> None:
    """Copy a memory, under its name, to a journal of its own; InputError where the file is there already."""
    if path.exists():
        raise InputError(f"{path} is there already; name a new file")
    with Journal(path) as fresh:
        journal.memories.copy_to(fresh.memories, replace(record, owner=""))
