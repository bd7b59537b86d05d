"""The lasting memories of a server: each key has its own; texts are read in the loop of readings, in turn."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

from bookwheel.documents.transcripts import find_instant, find_message
from bookwheel.errors import InputError
from bookwheel.journal import StoredDocument
from bookwheel.journal.memory_rows import MemoryLimits, MemoryRecord, MemoryText
from bookwheel.memory import record as records
from bookwheel.memory.append import append_all, append_files, read_waiting, store_all, store_files
from bookwheel.memory.asking import ask
from bookwheel.memory.editing import edit
from bookwheel.memory.entries import DatedText, NewFile, split_file
from bookwheel.memory.files import FileCommand, MemoryFiles, run_command
from bookwheel.memory.forgetting import forget, preview
from bookwheel.memory.graph import Graph, change_graph
from bookwheel.memory.lasting import export_memory
from bookwheel.memory.opened import WRITTEN_ABOUT, OpenMemory, begin_memory, check_name, open_memory
from bookwheel.memory.pieces import MemoryUpdate, read_time
from bookwheel.memory.text_index import TextIndex
from bookwheel.models.patience import Patience, Retry
from bookwheel.serve.engine.errors import ApiError, not_found
from bookwheel.serve.engine.running_reading import Waiting
from bookwheel.types import Part

if TYPE_CHECKING:
    from bookwheel.serve.engine.access import Key
    from bookwheel.serve.engine.service import Service

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
# Memories whose newest texts, which are in no kept index yet, are held looked through; those asked last.
_INDEXED: Final = 64


class ServedMemories:
    """What a client may do with memories. Answers are JSON, as the command line prints it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tables = service.journal.memories
        self._newest: dict[int, list[Any]] = {}
        self._stalled: dict[int, Waiting] = {}

    async def list_all(self, key: Key | None) -> list[records.MemorySummaryJson]:
        """Return the client's memories, newest first."""

        def summarize() -> list[records.MemorySummaryJson]:
            return [records.summary_of(self._tables, one) for one in self._tables.list_all(self._service.owner(key))]

        return await asyncio.to_thread(summarize)

    async def begin(
        self,
        key: Key | None,
        name: str,
        about: str,
        *,
        model: str,
        plan: Mapping[str, Any],
        way: str,
        limits: MemoryLimits,
    ) -> records.MemorySummaryJson:
        complete = self._service.make_plan(model, plan)
        work = begin_memory(
            self._service.make_session(key, model),
            name,
            about,
            complete,
            way=way,
            limits=limits,
            owner=self._service.owner(key),
        )
        record = await self._service.readings.loop.run(work)
        return await asyncio.to_thread(records.summary_of, self._tables, record)

    async def find(self, key: Key | None, name: str) -> MemoryRecord:
        """Return the client's memory of this name, or raise a 404."""
        try:
            return await asyncio.to_thread(self._tables.find, name, self._service.owner(key))
        except InputError as error:
            raise not_found(f"memory {name!r}") from error

    async def show(self, key: Key | None, name: str, version: int | None) -> records.MemoryJson:
        record = await self.find(key, name)
        return await asyncio.to_thread(records.show_version, self._tables, record, version)

    async def find_stall(self, key: Key | None, name: str) -> Waiting | None:
        """Return what a memory's call waits for, while the model fails."""
        return self._stalled.get((await self.find(key, name)).number)

    async def log(self, key: Key | None, name: str) -> records.MemoryLogJson:
        record = await self.find(key, name)
        return await asyncio.to_thread(records.log_to_json, self._tables, record)

    async def diff(self, key: Key | None, name: str, old: int, new: int) -> records.MemoryDiffJson:
        record = await self.find(key, name)
        return await asyncio.to_thread(records.compare_versions, self._tables, record, old, new)

    async def add(
        self, key: Key | None, name: str, text: str, *, source: str, at: str | None, waits: bool = True
    ) -> records.MemoryJson:
        """Read a text into a memory; without waiting, return as soon as it cannot be lost."""
        parts = (Part(text=text, source="-"),)
        texts = split_file(NewFile(parts=parts, name="", named=source), at) or [
            DatedText(content=text, source=source, at=at)
        ]

        async def store(opened: OpenMemory) -> Any:
            return await store_all(opened, texts), ()

        return await self._add(key, name, partial(append_all, texts=texts) if waits else store, waits=waits)

    async def add_file(
        self, key: Key | None, name: str, file: NewFile, *, at: str | None, waits: bool
    ) -> records.MemoryJson:
        work = partial(append_files if waits else store_files, files=[file], at=at)
        return await self._add(key, name, work, waits=waits)

    async def _add(
        self, key: Key | None, name: str, work: Callable[[OpenMemory], Awaitable[Any]], *, waits: bool
    ) -> records.MemoryJson:
        await self._service.documents.check_disk()
        if waits:
            return records.update_to_json(name, await self._run(key, name, work))
        opened = await self._open(key, name)
        stored, notes = await work(opened)
        is_known = not any(is_new for _, is_new in stored)
        if not is_known:
            self._read_later(opened)
        waiting = len(await asyncio.to_thread(self._tables.list_waiting, opened.record.number))
        text: MemoryText = stored[-1][0]
        return {
            "memory": name,
            "source": text.source,
            "at": text.at,
            "late": any(one.is_late for one, _ in stored),
            "known": is_known,
            "notes": list(notes),
            "waiting": waiting,
        }

    async def load_file(self, key: Key | None, sha256: str, source: str) -> NewFile:
        """Return a document of the client with the bytes of its pictures, as a file of a source or of its own name."""
        document = await self._service.get_document(sha256, key)
        parts = await asyncio.to_thread(_load_parts, document)
        return NewFile(parts=parts, name=document.name, named=source or document.name)

    async def load_picture(self, key: Key | None, name: str, sha256: str) -> bytes:
        pictures = self._tables.pictures((await self.find(key, name)).number)
        if not await asyncio.to_thread(pictures.has, sha256):
            raise not_found("picture of that hash")
        return await asyncio.to_thread(pictures.load, sha256)

    def _read_later(self, opened: OpenMemory) -> None:
        def tell(outcome: Future[MemoryUpdate]) -> None:
            # The text waits in the journal; the next one to read is told what is wrong.
            if error := outcome.exception():
                _log.warning("memory %s: %s", opened.record.name, error or type(error).__name__)

        self._service.readings.loop.submit(read_waiting(opened)).outcome.add_done_callback(tell)

    async def ask(
        self,
        key: Key | None,
        name: str,
        question: str,
        *,
        as_of: str | None,
        is_kept: bool = True,
        turns: Sequence[str] = (),
    ) -> records.MemoryAnswerJson:
        work = partial(ask, question=question, as_of=as_of, is_kept=is_kept, turns=turns)
        answer = await self._run(key, name, work)
        return records.answer_to_json(name, answer)

    async def edit(self, key: Key | None, name: str, old: str, new: str, at: str | None) -> records.MemoryJson:
        return records.update_to_json(name, await self._run(key, name, partial(edit, old=old, new=new, at=at)))

    async def forget(
        self, key: Key | None, name: str, *, source: str | None, before: str | None, text: str | None, is_preview: bool
    ) -> records.ForgetPreviewJson | records.TombstoneJson:
        """Forget with all that came of it, or only tell what would go."""
        scope: dict[str, Any] = {"source": source, "before": read_time(before) if before else None, "text": text}
        if is_preview:
            opened = await self._open(key, name)
            return records.preview_to_json(name, await asyncio.to_thread(preview, opened, **scope))
        record = await self.find(key, name)
        try:
            forgotten = await self._run(key, name, partial(forget, **scope))
        finally:
            self._newest.pop(record.number, None)
        return records.tombstone_to_json(name, forgotten)

    async def run_command(self, key: Key | None, name: str, command: FileCommand) -> str:
        """Run a command on the files that an agent keeps in a memory; one that is not there has none."""
        try:
            reply: str = await self._run(key, name, partial(run_command, command=command))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return MemoryFiles.parse("").run(command)
        return reply

    async def change_graph(self, key: Key | None, name: str, change: Callable[[Graph], _T]) -> _T:
        result: _T = await self._run(key, name, partial(change_graph, change=change))
        return result

    async def read_graph(self, key: Key | None, name: str) -> Graph:
        shown = await self.show(key, name, None)
        return await asyncio.to_thread(Graph.parse, shown["text"])

    async def begin_written(self, key: Key | None, name: str, *, model: str) -> None:
        """Begin a memory that an agent writes, unless it is there."""
        with suppress(ApiError):
            await self.find(key, name)
            return
        session, plan = self._service.make_session(key, model), self._service.make_plan(model, {})
        owner = self._service.owner(key)
        work = begin_memory(session, name, WRITTEN_ABOUT, plan, owner=owner, is_written=True)
        await self._service.readings.loop.run(work)

    async def rename(self, key: Key | None, name: str, new: str) -> records.MemorySummaryJson:
        check_name(new)
        record = await self.find(key, name)
        await asyncio.to_thread(self._tables.rename, record.number, new)
        return await asyncio.to_thread(records.summary_of, self._tables, replace(record, name=new))

    async def delete(self, key: Key | None, name: str) -> None:
        record = await self.find(key, name)
        opened = await self._open(key, name)
        async with opened.hold():
            await asyncio.to_thread(self._tables.delete, record.number)
        self._newest.pop(record.number, None)

    async def export(self, key: Key | None, name: str) -> BinaryIO:
        """Return a memory as a journal of its own: an open file, which goes when it is closed."""
        record = await self.find(key, name)

        def write() -> BinaryIO:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"{name}.sqlite"
                export_memory(self._service.journal, record, path)
                return path.open("rb")

        return await asyncio.to_thread(write)

    async def _run(self, key: Key | None, name: str, work: Callable[[OpenMemory], Awaitable[Any]]) -> Any:
        """Return the result of work on a memory, done in the loop of readings."""
        opened = await self._open(key, name)
        self._service.queue.check_capacity()

        async def run() -> Any:
            try:
                return await work(opened)
            finally:
                self._stalled.pop(opened.record.number, None)

        return await self._service.readings.loop.run(run())

    def _note_retry(self, memory: int, retry: Retry) -> None:
        self._stalled.pop(memory, None)
        # Once a try begins, nobody knows yet that it fails.
        if retry.wait:
            self._stalled[memory] = Waiting(seconds=round(retry.seconds, 1), tries=retry.tries, error=str(retry.error))

    async def _open(self, key: Key | None, name: str) -> OpenMemory:
        record = await self.find(key, name)
        if record.model not in self._service.models:
            there = ", ".join(self._service.models)
            message = (
                f"the memory {name!r} was begun with the model {record.model!r}, which is not here; there are: {there}"
            )
            raise ApiError(409, message, kind="model_not_found")
        patience = Patience(on_retry=partial(self._note_retry, record.number))
        session = replace(self._service.make_session(key, record.model), patience=patience)
        budget = self._service.plans[record.model].budget
        opened = open_memory(session, name, owner=self._service.owner(key), budget=budget)
        newest = self._newest[record.number] = self._newest.pop(record.number, [])
        if len(self._newest) > _INDEXED:
            del self._newest[next(iter(self._newest))]
        return replace(opened, index=TextIndex(newest))


def _load_parts(document: StoredDocument) -> tuple[Part, ...]:
    pictures = document.list_pictures()
    parts, at, entry = [], "", ""
    for (source, page), run in groupby(document.parts(), key=lambda part: (part.source, part.page)):
        text = "".join(part.text for part in run)
        mine = (one for one in pictures if one.mark in text and (one.source, one.page) == (source, page))
        held = tuple(replace(one, content=document.load_picture(one.sha256)) for one in mine)
        # An attachment is of the time of its mail.
        if not (entry and source.startswith(f"{entry}#")):
            at, entry = find_message(text, source)
        at = at or find_instant(text, source)
        parts.append(Part(text=text, source=source, page=page, pictures=held, at=at, entry=entry))
    return tuple(parts)
