"""The MCP tools: to search and list what was read before, and to read.

A client waits for a tool a minute at most, and a reading can take hours. So `read` starts one and returns its id, and
`wait` may be called again and again. An error of bookwheel goes to the client's model with its message, which says what
to do; `build_server` sees to that.

The MCP SDK reads the annotations of the tools at run time, so this file does not postpone their evaluation.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Final, TypeAlias

from mcp.server.mcpserver import Context
from pydantic import Field

from bookwheel.errors import InputError
from bookwheel.reading.ways.registry import is_known
from bookwheel.serve.engine.access import AccessPolicy, Key, SourceRequest
from bookwheel.serve.engine.running_reading import Caller, DocumentOpener, RunningReading
from bookwheel.serve.engine.service import ReadingSpec, Service
from bookwheel.serve.engine.starting import start_readings
from bookwheel.serve.http.requests import BudgetValues, PlanValues
from bookwheel.serve.mcp.results import (
    ReadingList,
    ReadingState,
    ReadingStates,
    SearchResults,
    Timeline,
    opening_state,
    origin_info,
    reading_state,
    reading_summary,
    search_hit,
    step_changes,
)
from bookwheel.session import names_chunks
from bookwheel.types import Reading, Status
from bookwheel.verdict.provenance import find_origins

LONGEST_WAIT: Final = 50.0
"""Seconds; clients commonly give up on a call after 60."""
WaitSeconds = Annotated[float, Field(ge=0, le=LONGEST_WAIT, description="The most seconds to wait.")]
ReadingId = Annotated[str, Field(description='The id of a reading, its beginning, or "last".')]
Question = Annotated[
    str,
    Field(
        description="What to find out from the document: one whole question with all it needs. The reader sees "
        "nothing of this conversation."
    ),
]
Questions = Annotated[
    list[Annotated[str, Field(min_length=1)]],
    Field(min_length=1, description="What to find out from the document: whole questions, each for itself."),
]
Way = Annotated[
    str,
    Field(
        description="The way of reading; by default, the one that suits the model. `sequential` reads every section, "
        "`whole` sends a document that fits the window in one call, `gated` skips sections that a judgement finds "
        "useless, `bm25` reads only sections that share words with the question."
    ),
]
PlanField = Annotated[
    PlanValues | None,
    Field(
        description='What differs from the recommended plan, such as {"answer_tokens": 400, "schema": "a JSON Schema '
        'as text, if the answer is to be JSON", "budget": {"tokens": 200000, "seconds": 600}}. Larger '
        "chunks cost fewer calls and lose more; a larger memory holds more facts."
    ),
]
Document = Annotated[str | None, Field(description="The id of a document that was read before, as `search` gives it.")]
BudgetField = Annotated[BudgetValues | None, Field(description="Limits for what is still to be read; they count anew.")]

_MOST_STEPS: Final = 200
ProgressReport: TypeAlias = Callable[[RunningReading], Coroutine[Any, Any, None]]


def get_key(ctx: Context) -> Key | None:
    """Return the key of the caller, where the request came over HTTP and the server asks for keys."""
    request = ctx.request_context.request
    return request.state.key if request else None


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
        document: Document = None,
        name: Annotated[str | None, Field(description="What to call the text.")] = None,
        plan: PlanField = None,
        way: Way = "",
        wait_seconds: WaitSeconds = 10.0,
    ) -> ReadingState:
        """Read one document (one of path, url, text, document) from beginning to end to answer a question.

        Worth it where the document is longer than you can see at once, where the answer may stand anywhere or in
        several places, or where you need proof: a verdict and verbatim quotes come with the answer. Not worth it for a
        text that you have before you, or for one word that `search` finds.

        Costs one model call for each section (some 20,000 characters) and one for the answer, and takes seconds to
        hours. Returns the reading's id; call `wait` with it until the status is no longer opening or reading.

        The verdict: `found`, the document says it; `partly`, it says part of it; `not-found`, do not rely on it;
        `absent`, the model says that the document does not have it; `by-hand`, it rests on a memory that a person
        edited.
        """
        source = SourceRequest(path=path, url=url, text=text, document=document, name=name)
        opener = await self._find_opener(ctx, source)
        (state,) = await self._start(ctx, opener, self._make_spec(plan, way), [question], wait_seconds)
        return state

    async def read_several(
        self,
        ctx: Context,
        *,
        questions: Questions,
        path: Annotated[str | None, Field(description="A file or folder inside the configured roots.")] = None,
        url: Annotated[str | None, Field(description="An http(s) address.")] = None,
        text: Annotated[str | None, Field(description="The text itself.")] = None,
        document: Document = None,
        name: Annotated[str | None, Field(description="What to call the text.")] = None,
        reading: Annotated[str | None, Field(description="The id of a reading whose document to read again.")] = None,
        plan: PlanField = None,
        way: Way = "",
        wait_seconds: WaitSeconds = 10.0,
    ) -> ReadingStates:
        """Read one document (one of path, url, text, document, reading) once for several questions at the same time.

        Costs and verdicts are those of `read`, but servers that keep what they have computed read each section once for
        all questions. Each question has a reading of its own with an id: `wait` for each.
        """
        if reading is not None:
            if (path, url, text, document) != (None, None, None, None):
                raise InputError("give one of path, url, text, document and reading")
            opener = self._service.stored_opener(await self._find_id(ctx, reading))
        else:
            source = SourceRequest(path=path, url=url, text=text, document=document, name=name)
            opener = await self._find_opener(ctx, source)
        return {"readings": await self._start(ctx, opener, self._make_spec(plan, way), questions, wait_seconds)}

    async def wait(self, ctx: Context, *, reading: ReadingId, wait_seconds: WaitSeconds = 45.0) -> ReadingState:
        """Wait for a reading, with progress notifications at each step; wait_seconds=0 returns its state at once."""
        return await self._wait_for_state(ctx, await self._find_id(ctx, reading), wait_seconds)

    async def ask_again(
        self,
        ctx: Context,
        *,
        reading: ReadingId,
        question: Question,
        from_memory: Annotated[
            bool,
            Field(
                description="Answer from the memory of that reading, for the cost of one call, and read again only if"
                " the memory cannot answer. Right for details of what it found; wrong for another subject"
                " or for counts."
            ),
        ] = False,
        plan: PlanField = None,
        way: Way = "",
        wait_seconds: WaitSeconds = 10.0,
    ) -> ReadingState:
        """Ask the document of an earlier reading another question, by its plan and way unless you name others.

        It is read again with the new question in mind, at the cost of `read`: a memory holds only what served the old
        one.
        """
        id_ = await self._find_id(ctx, reading)
        old = await asyncio.to_thread(self._journal.reading, id_)
        spec = self._make_spec(plan, way, old)
        if from_memory and old.status is Status.ANSWERED and old.memory.text:
            spec = replace(spec, finished=old)
        (state,) = await self._start(ctx, self._service.stored_opener(id_), spec, [question], wait_seconds)
        return state

    async def resume(
        self, ctx: Context, *, reading: ReadingId, budget: BudgetField = None, wait_seconds: WaitSeconds = 10.0
    ) -> ReadingState:
        """Continue a reading that was cancelled, stopped by a budget or failed; nothing is read twice."""
        id_, limits = await self._find_id(ctx, reading), budget or {}
        stopped = await asyncio.to_thread(self._journal.reading, id_)
        await self._service.resume(stopped, limits, self._caller(ctx))
        return await self._wait_for_state(ctx, id_, wait_seconds)

    async def cancel(self, ctx: Context, *, reading: ReadingId) -> ReadingState:
        """Interrupt a reading; what was read is kept, and `resume` continues from there."""
        id_ = await self._find_id(ctx, reading)
        await self._readings.interrupt(id_)
        return await self._get_state(id_)

    async def search(
        self,
        ctx: Context,
        *,
        query: Annotated[str, Field(min_length=1, description="Words that must all be there, in any order.")],
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
    ) -> SearchResults:
        """Search the full text of all documents that were read before, and the questions, memories and answers.

        Costs nothing and takes no model: try it before `read`. A hit with a `reading` is an earlier reading that may
        have answered already; one without is a passage, with its place. It finds words, not meanings: where nothing is
        found or a question needs several places of a document, `read` with the hit's `document`.
        """
        hits = await self._service.search(get_key(ctx), query, limit)
        return {"hits": [search_hit(hit) for hit in hits]}

    async def list_readings(
        self,
        ctx: Context,
        *,
        search: Annotated[str | None, Field(description="Words of a question, answer, document or model.")] = None,
        limit: Annotated[int, Field(ge=1, le=200)] = 20,
    ) -> ReadingList:
        """List earlier readings, newest first, with their questions and answers; costs nothing."""
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
        """List what each step added to the memory, reworded and removed, and where the final lines come from.

        For checking an answer: each line of the final memory has the passage of the document it came from. Costs
        nothing.
        """
        id_ = await self._find_id(ctx, reading)
        return await asyncio.to_thread(self._build_timeline, id_, first, count, changes_only=changes_only)

    def _build_timeline(self, id_: str, first: int, count: int, *, changes_only: bool) -> Timeline:
        reading = self._journal.reading(id_)
        steps = [step for step in reading.steps[first:] if not changes_only or step.before.text != step.after.text]
        origins = find_origins(reading.steps, self._journal.document_of(id_)) if first == 0 else ()
        return {
            "reading": reading.id,
            "status": reading.status,
            "steps": len(reading.steps),
            "changes": [step_changes(step) for step in steps[:count]],
            "more_from": steps[count].chunk.index if len(steps) > count else None,
            "origins": [origin_info(line) for line in origins],
        }

    def _caller(self, ctx: Context) -> Caller:
        return Caller(key=get_key(ctx), survives_restart=self._survives_restart)

    async def _find_opener(self, ctx: Context, source: SourceRequest) -> DocumentOpener:
        """Return what opens the document that the caller names; it is checked first."""
        self._access.check(source)
        if source.document is not None:
            await self._service.get_document(source.document, get_key(ctx))
        return self._service.source_opener(source, self._access, self._caller(ctx))

    async def _start(
        self, ctx: Context, opener: DocumentOpener, spec: ReadingSpec, questions: Sequence[str], wait: float
    ) -> list[ReadingState]:
        """Start a reading for each question; return their states when they have ended, or after so many seconds."""
        caller = self._caller(ctx)
        started = await start_readings(self._service, spec, questions, opener, caller)
        end, report = time.monotonic() + min(wait, LONGEST_WAIT), _make_reporter(ctx)
        return [
            await self._wait_for_state(ctx, one.reading.id, max(0.0, end - time.monotonic()), report) for one in started
        ]

    def _make_spec(self, plan: PlanValues | None, way: str, old: Reading | None = None) -> ReadingSpec:
        """Return how to read: by the plan and the way of an earlier reading, if there is one, with these changes."""
        model, kept = next(iter(self._service.models)), {}
        if old:
            model = old.model if old.model in self._service.models else model
            # Limits count anew, and a request cannot name a file with prompts.
            kept = {name: value for name, value in old.plan.to_json().items() if name not in {"budget", "prompts"}}
            way = way or (old.way if is_known(old.way) else "")
        values = self._service.make_plan(model, kept, plan or {})
        return ReadingSpec(model=model, plan=values, way=way, has_chunks=names_chunks(plan or {}))

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
        return await self._service.find_id(name, get_key(ctx))

    async def _get_state(self, id_: str) -> ReadingState:
        running = self._readings.get_recent(id_)
        if running and not running.is_started:
            if running.error and not running.is_interrupted:
                raise running.error
            return opening_state(running)
        reading = await asyncio.to_thread(self._journal.reading, id_)
        if running and running.error and not reading.error:
            reading = replace(reading, error=str(running.error))
        return reading_state(reading, running.waiting if running else None)


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
