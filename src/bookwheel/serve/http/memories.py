"""The routes of lasting memories: begun, added to, asked, looked back on, corrected, made to forget."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, Literal, NotRequired, cast
from urllib.parse import quote

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from typing_extensions import TypedDict

from bookwheel.errors import InputError
from bookwheel.journal.memory_rows import MemoryLimits
from bookwheel.memory.files import FileCommand
from bookwheel.memory.record import (
    ForgetPreviewJson,
    MemoryAnswerJson,
    MemoryDiffJson,
    MemoryJson,
    MemoryLogJson,
    MemorySummaryJson,
    TombstoneJson,
)
from bookwheel.picture import find_media
from bookwheel.schema import to_plain
from bookwheel.serve.engine.errors import ApiError
from bookwheel.serve.engine.running_reading import Waiting
from bookwheel.serve.http.answers import JsonResponse
from bookwheel.serve.http.operations import operation
from bookwheel.serve.http.requests import Body, PlanValues, Question, parse_flag, parse_number

if TYPE_CHECKING:
    from bookwheel.serve.engine.service import Service

_Name = Annotated[str, Field(min_length=1, max_length=64)]
_Words = Annotated[str, Field(min_length=1, max_length=16 << 20)]
_Text = Annotated[str, Field(max_length=16 << 20)]
_Source = Annotated[str, Field(max_length=1000)]
_Time = Annotated[str, Field(max_length=64)]
# Bytes of a file that are in memory at a time.
_BLOCK: Final = 1 << 18
_WAIT: Final = {"wait": int}
_PICTURE: Final = "image/png"
# What is forgotten is in no browser's cache either.
_NOT_STORED: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_Limit = Annotated[int, Field(ge=1, lt=1 << 53)]


class NewMemoryShape(Body):
    """A memory to begin."""

    name: _Name
    about: Annotated[str, Field(min_length=1, max_length=20_000)]
    """What it is to note: the standing brief."""
    model: str | None = None
    way: Annotated[str, Field(max_length=100)] = ""
    plan: PlanValues = Field(default_factory=dict)
    max_characters: _Limit | None = None
    max_tokens_per_day: _Limit | None = None


class NameShape(Body):
    """Another name."""

    name: _Name


class TextShape(Body):
    """A text to read, or a document that was uploaded, with its pages and pictures."""

    text: _Text = ""
    document: Annotated[str, Field(max_length=64)] = ""
    source: _Source = ""
    """Who says it; needed to forget it."""
    at: _Time | None = None
    """The time that it is from, such as 2026-11-24T09:30+01:00; by default, those of a document's turns, or now."""


class QuestionShape(Body):
    """A question to a memory."""

    question: Question
    as_of: _Time | None = None
    """Answer as it was known at this time."""


class EditShape(Body):
    """Words put right. Without `old`, the whole memory anew."""

    old: str = ""
    new: str
    at: _Time | None = None
    """The time from which it holds; by default, now."""


class ForgetShape(Body):
    """What to forget: one of source, before and text."""

    source: _Source | None = None
    before: _Time | None = None
    text: _Words | None = None
    preview: bool = False
    """Only tell what would go."""


class FileCommandShape(Body):
    """A command of Anthropic's memory tool, as its model gives it."""

    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"]
    path: _Source | None = None
    view_range: tuple[int, int] | None = None
    file_text: _Text | None = None
    old_str: _Text | None = None
    new_str: _Text | None = None
    insert_line: int | None = None
    insert_text: _Text | None = None
    old_path: _Source | None = None
    new_path: _Source | None = None


class FileReplyJson(TypedDict):
    """The content of a tool's result."""

    content: str
    is_error: bool


class ServedMemoryJson(MemoryJson):
    """A version of a lasting memory, and what it waits for."""

    stalled: NotRequired[Waiting]
    """The model fails at the moment, and is tried again."""


class MemoryRoutes:
    """One method for each operation."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._memories = service.memories

    @operation("GET", "/memories", "List the lasting memories")
    async def list_memories(self, request: Request) -> list[MemorySummaryJson]:
        return await self._memories.list_all(request.state.key)

    @operation("POST", "/memories", "Begin a lasting memory", status=201)
    async def begin_memory(self, request: Request, body: NewMemoryShape) -> MemorySummaryJson:
        return await self._memories.begin(
            request.state.key,
            body.name,
            body.about,
            model=body.model or next(iter(self._service.models)),
            plan=body.plan,
            way=body.way,
            limits=MemoryLimits(max_characters=body.max_characters, max_tokens_per_day=body.max_tokens_per_day),
        )

    @operation("GET", "/memories/{name}", "What a memory says, or said at a version", query={"version": int})
    async def get_memory(self, request: Request) -> ServedMemoryJson:
        version = parse_number(request, "version", 0) if "version" in request.query_params else None
        key, name = request.state.key, request.path_params["name"]
        shown = cast("ServedMemoryJson", await self._memories.show(key, name, version))
        if stalled := await self._memories.find_stall(key, name):
            shown["stalled"] = to_plain(stalled)
        return shown

    @operation("PATCH", "/memories/{name}", "Rename a memory")
    async def rename_memory(self, request: Request, body: NameShape) -> MemorySummaryJson:
        return await self._memories.rename(request.state.key, request.path_params["name"], body.name)

    @operation("DELETE", "/memories/{name}", "Delete a memory with all that it holds", status=204)
    async def delete_memory(self, request: Request) -> Response:
        await self._memories.delete(request.state.key, request.path_params["name"])
        return Response(status_code=204)

    @operation(
        "POST",
        "/memories/{name}/texts",
        "Read a text into a memory; with wait=0, only take it",
        MemoryJson,
        also=202,
        query=_WAIT,
    )
    async def add_text(self, request: Request, body: TextShape) -> Response:
        waits = "wait" not in request.query_params or parse_flag(request, "wait")
        if bool(body.text) == bool(body.document):
            raise ApiError(400, "give a text, or a document that was uploaded, and not both", param="text")
        key, name = request.state.key, request.path_params["name"]
        if body.document:
            file = await self._memories.load_file(key, body.document, body.source)
            added = await self._memories.add_file(key, name, file, at=body.at, waits=waits)
        else:
            added = await self._memories.add(key, name, body.text, source=body.source, at=body.at, waits=waits)
        return JsonResponse(added, 200 if waits else 202)

    @operation("POST", "/memories/{name}/questions", "Ask a memory")
    async def ask_memory(self, request: Request, body: QuestionShape) -> MemoryAnswerJson:
        name = request.path_params["name"]
        return await self._memories.ask(request.state.key, name, body.question, as_of=body.as_of)

    @operation("GET", "/memories/{name}/pictures/{sha256}", "A picture of its texts", bytes, kind=_PICTURE)
    async def get_picture(self, request: Request) -> Response:
        name, sha256 = request.path_params["name"], request.path_params["sha256"]
        content = await self._memories.load_picture(request.state.key, name, sha256)
        return Response(content, media_type=find_media(content), headers=_NOT_STORED)

    @operation("GET", "/memories/{name}/log", "All that happened to a memory")
    async def get_log(self, request: Request) -> MemoryLogJson:
        return await self._memories.log(request.state.key, request.path_params["name"])

    @operation("GET", "/memories/{name}/diff", "The lines that two versions differ in", query={"from": int, "to": int})
    async def get_diff(self, request: Request) -> MemoryDiffJson:
        if not {"from", "to"} <= set(request.query_params):
            raise ApiError(400, "say which versions: ?from=1&to=2", param="from")
        old, new = (parse_number(request, end, 0) for end in ("from", "to"))
        return await self._memories.diff(request.state.key, request.path_params["name"], old, new)

    @operation("POST", "/memories/{name}/edits", "Correct a memory by hand")
    async def edit_memory(self, request: Request, body: EditShape) -> MemoryJson:
        return await self._memories.edit(request.state.key, request.path_params["name"], body.old, body.new, body.at)

    @operation("POST", "/memories/{name}/forgets", "Forget with all that came of it")
    async def forget_source(self, request: Request, body: ForgetShape) -> ForgetPreviewJson | TombstoneJson:
        return await self._memories.forget(
            request.state.key,
            request.path_params["name"],
            source=body.source,
            before=body.before,
            text=body.text,
            is_preview=body.preview,
        )

    @operation("POST", "/memories/{name}/files", "Run a command of Anthropic's memory tool on the files in a memory")
    async def run_command(self, request: Request, body: FileCommandShape) -> FileReplyJson:
        name, command = request.path_params["name"], FileCommand(**body.model_dump())
        if body.command == "create":
            model = next(iter(self._service.models))
            await self._memories.begin_written(request.state.key, name, model=model)
        try:
            reply = await self._memories.run_command(request.state.key, name, command)
        except InputError as error:
            # An answer for the agent, which tries again: the request itself was right.
            return FileReplyJson(content=str(error), is_error=True)
        return FileReplyJson(content=reply, is_error=False)

    @operation(
        "GET", "/memories/{name}/export", "A memory as a journal of its own", bytes, kind="application/vnd.sqlite3"
    )
    async def export_memory(self, request: Request) -> Response:
        name = request.path_params["name"]
        file = await self._memories.export(request.state.key, name)

        def blocks() -> Iterator[bytes]:
            with file:
                yield from iter(partial(file.read, _BLOCK), b"")

        headers = {
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}.sqlite",
            "Content-Length": str(os.fstat(file.fileno()).st_size),
        }
        return StreamingResponse(blocks(), media_type="application/vnd.sqlite3", headers=headers)
