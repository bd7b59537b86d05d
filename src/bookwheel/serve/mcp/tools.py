"""Readings as MCP tools, for programs that talk to models.

A client waits for a tool a minute at most, and a reading can take hours. So `read` starts one and returns its id, and
`wait` may be called again and again. Control and invisible characters of documents and models are removed.

The MCP SDK reads the annotations of the tools at run time, so this file does not postpone their evaluation.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Annotated, Any, Final, TypeAlias

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from bookwheel.errors import BookwheelError, SourceError
from bookwheel.journal import StoredDocument
from bookwheel.reading.provenance import find_origins
from bookwheel.serve.engine.access_policy import AccessPolicy, SourceRequest
from bookwheel.serve.engine.keys import Key
from bookwheel.serve.engine.lockstep import start_several
from bookwheel.serve.engine.running_reading import DocumentOpener, RunningReading
from bookwheel.serve.engine.service import Caller, ReadingSpec, Service
from bookwheel.serve.http.schemas import BudgetValues, PlanValues
from bookwheel.serve.mcp.render import (
    opening_state,
    origin_info,
    reading_state,
    reading_summary,
    step_changes,
)
from bookwheel.serve.mcp.schemas import ReadingList, ReadingState, ReadingStates, Timeline

LONGEST_WAIT: Final = 50.0
"""Seconds; clients commonly give up on a call after 60."""
_MOST_STEPS: Final = 200
WaitSeconds = Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="The most seconds to wait.")]
ReadingId = Annotated[str, Field(description='The id of a reading, its beginning, or "last".')]
Question = Annotated[str, Field(description="What to find out from the document.")]
Questions = Annotated[
    list[Annotated[str, Field(min_length=1)]], Field(min_length=1, description="What to find out from the document.")
]
Way = Annotated[str, Field(description="The way of reading; by default, the one that suits the model.")]
PlanField = Annotated[PlanValues | None, Field(description="What differs from the model's recommended plan.")]
BudgetField = Annotated[BudgetValues | None, Field(description="Limits for what is still to be read; they count anew.")]

ProgressReport: TypeAlias = Callable[[RunningReading], Coroutine[Any, Any, None]]


class ReadingTools:
    """The tools. Each public method is one tool, and its docstring is the description that clients see."""

    def __init__(self, service: Service, access: AccessPolicy, *, survives_restart: bool) -> None:
        self._service = service
        self._readings = service.readings
        self._journal = service.journal
        self._access = access
        self._survives_restart = survives_restart

    async def read(
        self,
        ctx: Context,
        *,
        question: Question,
        path: Annotated[str | None, Field(description="A file or folder inside the configured roots.")] = None,
        url: Annotated[str | None, Field(description="An http(s) address.")] = None,
        text: Annotated[str | None, Field(description="The text itself.")] = None,
        name: Annotated[str | None, Field(description="What to call the text.")] = None,
        plan: PlanField = None,
        way: Way = "",
        wait_seconds: WaitSeconds = 10.0,
    ) -> ReadingState:
        """Start reading a document (one of path, url, text) to answer a question; returns the reading's id."""
        source = SourceRequest(path=path, url=url, text=text, name=name)
        with translate_errors():
            self._access.check(source)
        return await self._start(ctx, self._make_opener(source, ctx), question, plan, way, wait=wait_seconds)

    async def read_several(
        self,
        ctx: Context,
        *,
        questions: Questions,
        path: Annotated[str | None, Field(description="A file or folder inside the configured roots.")] = None,
        url: Annotated[str | None, Field(description="An http(s) address.")] = None,
        text: Annotated[str | None, Field(description="The text itself.")] = None,
        name: Annotated[str | None, Field(description="What to call the text.")] = None,
        reading: Annotated[str | None, Field(description="The id of a reading whose document to read again.")] = None,
        plan: PlanField = None,
        way: Way = "",
        wait_seconds: WaitSeconds = 10.0,
    ) -> ReadingStates:
        """Read a document (one of path, url, text, reading) once for several questions; each has a reading's id."""
        source = SourceRequest(path=path, url=url, text=text, name=name)
        with translate_errors():
            if reading is None:
                self._access.check(source)
            elif (path, url, text) != (None, None, None):
                raise SourceError("give one of path, url, text and reading")
        opener = (
            self._readings.document_opener(await self._find_id(ctx, reading))
            if reading is not None
            else self._make_opener(source, ctx)
        )
        with translate_errors():
            spec, caller = self._make_spec("", plan, way), Caller(key=get_key(ctx))
            running = await start_several(
                self._service, spec, questions, opener, caller, survives_restart=self._survives_restart
            )
        end, report = time.monotonic() + min(wait_seconds, LONGEST_WAIT), _make_reporter(ctx)
        states = [
            await self._wait_for_state(ctx, one.reading.id, max(0.0, end - time.monotonic()), report) for one in running
        ]
        return {"readings": states}

    async def wait(self, ctx: Context, *, reading: ReadingId, wait_seconds: WaitSeconds = 45.0) -> ReadingState:
        """Wait for a reading, with progress notifications at each step; wait_seconds=0 returns its state at once."""
        return await self._wait_for_state(ctx, await self._find_id(ctx, reading), wait_seconds)

    async def ask_again(
        self,
        ctx: Context,
        *,
        reading: ReadingId,
        question: Question,
        plan: PlanField = None,
        way: Way = "",
        wait_seconds: WaitSeconds = 10.0,
    ) -> ReadingState:
        """Ask the document of a reading another question; it is read again with that question in mind."""
        opener = self._readings.document_opener(await self._find_id(ctx, reading))
        return await self._start(ctx, opener, question, plan, way, wait=wait_seconds)

    async def resume(
        self, ctx: Context, *, reading: ReadingId, budget: BudgetField = None, wait_seconds: WaitSeconds = 10.0
    ) -> ReadingState:
        """Continue a reading that was cancelled, stopped by a budget or failed; nothing is read twice."""
        id_, limits = await self._find_id(ctx, reading), budget or {}
        with translate_errors():
            stopped = await asyncio.to_thread(self._journal.reading, id_)
            await self._service.resume(stopped, limits, get_key(ctx), survives_restart=self._survives_restart)
        return await self._wait_for_state(ctx, id_, wait_seconds)

    async def cancel(self, ctx: Context, *, reading: ReadingId) -> ReadingState:
        """Interrupt a reading; what was read is kept, and `resume` continues from there."""
        id_ = await self._find_id(ctx, reading)
        await self._readings.interrupt(id_)
        return await self._get_state(id_)

    async def list_readings(
        self,
        ctx: Context,
        *,
        search: Annotated[str | None, Field(description="Words of a question, answer, document or model.")] = None,
        limit: Annotated[int, Field(ge=1, le=200)] = 20,
    ) -> ReadingList:
        """List the readings of the journal, newest first."""
        with translate_errors():
            readings = await self._service.list_readings(get_key(ctx), limit=limit, search=search)
        return {"readings": [reading_summary(reading) for reading in readings]}

    async def timeline(
        self,
        ctx: Context,
        *,
        reading: ReadingId,
        first: Annotated[int, Field(ge=0, description="The step to begin with.")] = 0,
        count: Annotated[int, Field(ge=1, le=_MOST_STEPS)] = 50,
        changes_only: Annotated[bool, Field(description="Leave out steps that left the memory as it was.")] = True,
    ) -> Timeline:
        """List what each step added to the memory, reworded and removed, and where the final lines come from."""
        id_ = await self._find_id(ctx, reading)
        with translate_errors():
            return await asyncio.to_thread(self._build_timeline, id_, first, count, changes_only=changes_only)

    def _make_opener(self, source: SourceRequest, ctx: Context) -> DocumentOpener:
        client, documents = Caller(key=get_key(ctx)).key_name, self._service.documents

        async def open_document() -> StoredDocument:
            if source.text is not None:
                return await documents.store_text(source.text, source.name, client)
            if source.url is not None:
                return await documents.store_url(source.url, client, allow_private=self._access.allow_private)
            return await documents.store_path(self._access.resolve(source.path or ""), client)

        return open_document

    async def _start(
        self, ctx: Context, opener: DocumentOpener, question: str, plan: PlanValues | None, way: str, *, wait: float
    ) -> ReadingState:
        with translate_errors():
            spec, caller = self._make_spec(question, plan, way), Caller(key=get_key(ctx))
            running = await self._service.start(spec, opener, caller, survives_restart=self._survives_restart)
        return await self._wait_for_state(ctx, running.reading.id, wait)

    def _make_spec(self, question: str, plan: PlanValues | None, way: str) -> ReadingSpec:
        model = next(iter(self._service.models))
        return ReadingSpec(question=question, model=model, plan=self._service.make_plan(model, plan or {}), way=way)

    async def _wait_for_state(
        self, ctx: Context, id_: str, seconds: float, report: ProgressReport | None = None
    ) -> ReadingState:
        """Return the state of a reading when it has ended, or after so many seconds; report each change until then."""
        running, report = self._readings.get_running(id_), report or _make_reporter(ctx)
        with suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, LONGEST_WAIT)):
                while running and not running.done.is_set():
                    changed = running.changed
                    await report(running)
                    await changed.wait()
        return await self._get_state(id_)

    async def _find_id(self, ctx: Context, name: str) -> str:
        """Return the whole id, also of a reading whose document is still being opened."""
        with translate_errors():
            return await self._service.find_id(name, get_key(ctx))

    async def _get_state(self, id_: str) -> ReadingState:
        running = self._readings.get_recent(id_)
        if running and not running.is_started:
            if running.error and not running.is_interrupted:
                raise ToolError(str(running.error))
            return opening_state(running)
        with translate_errors():
            reading = await asyncio.to_thread(self._journal.reading, id_)
        if running and running.error and not reading.error:
            reading = replace(reading, error=str(running.error))
        return reading_state(reading, running.waiting if running else None)

    def _build_timeline(self, id_: str, first: int, count: int, *, changes_only: bool) -> Timeline:
        reading = self._journal.reading(id_)
        steps = [step for step in reading.steps[first:] if not changes_only or step.before.text != step.after.text]
        origins = find_origins(reading.steps, self._journal.document_of(id_)) if first == 0 else ()
        return {
            "reading": reading.id,
            "status": str(reading.status),
            "steps": len(reading.steps),
            "changes": [step_changes(step) for step in steps[:count]],
            "more_from": steps[count].chunk.index if len(steps) > count else None,
            "origins": [origin_info(line) for line in origins],
        }


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn an error of bookwheel into a tool error with the same message, which says what to do."""
    try:
        yield
    except BookwheelError as error:
        raise ToolError(str(error)) from error


def get_key(ctx: Context) -> Key | None:
    """Return the key of the caller, where the request came over HTTP and the server asks for keys."""
    request = ctx.request_context.request
    return request.state.key if request else None


def _make_reporter(ctx: Context) -> ProgressReport:
    """Return a function that reports the characters read, and stays silent where their number has not grown."""
    last = -1

    async def report(running: RunningReading) -> None:
        nonlocal last
        read_to = running.steps[-1].chunk.end if running.steps else 0
        if read_to > last:
            last = read_to
            length = running.reading.document.length if running.is_started else None
            message = f"step {len(running.steps)}" if running.is_started else "opening the document"
            await ctx.report_progress(read_to, length, message)

    return report
