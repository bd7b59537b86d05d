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
from bookwheel.serve.engine.access import AccessPolicy, Key, SourceRequest
from bookwheel.serve.engine.running_reading import Caller, DocumentOpener, RunningReading
from bookwheel.serve.engine.service import ReadingSpec, Service
from bookwheel.serve.engine.starting import start_readings
from bookwheel.serve.mcp.results import (
    ROOM,
    Json,
    Part,
    list_entries,
    make_page,
    opening_state,
    parse_cursor,
    reading_state,
    reading_summary,
    search_hit,
)
from bookwheel.session import can_answer

LONGEST_WAIT: Final = 50.0
"""Seconds; clients commonly give up on a call after 60."""
_MOST_HITS: Final = 100
_MOST_LISTED: Final = 200
WaitSeconds = Annotated[float, Field(ge=0, le=LONGEST_WAIT)]
ReadingId = Annotated[str, Field(description='Its id, the beginning of it, or "last".')]
Question = Annotated[str, Field(description="One whole question: the reader sees nothing of this conversation.")]
Questions = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
FilePath = Annotated[str | None, Field(description="A file or folder inside the roots.")]
Url = Annotated[str | None, Field(description="An http(s) address.")]
Document = Annotated[str | None, Field(description="The id of one that was read before, from `search`.")]
Name = Annotated[str | None, Field(description="A name for the text.")]
Preset = Annotated[str, Field(description="A recommended plan, by name.")]
BudgetField = Annotated[
    dict[str, Any] | None, Field(description='Limits of this run: {"tokens": 200000, "seconds": 600}.')
]
PlanField = Annotated[
    dict[str, Any] | None,
    Field(description='Rarely: {"answer_tokens": 400, "schema": "JSON Schema"}.'),
]
Way = Annotated[
    str,
    Field(
        description="`sequential`: every section; `whole`: one call; `bm25`: what shares words with the question; "
        '`collect`: a table, the question as "every payment: who, amount"; then call `rows`.'
    ),
]
Cursor = Annotated[str, Field(description="From the page before.")]
Characters = Annotated[int, Field(ge=500, le=50_000, description="The most of a page.")]
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
        self._access = access
        self._survives_restart = survives_restart

    async def read(
        self,
        ctx: Context,
        *,
        question: Question,
        path: FilePath = None,
        url: Url = None,
        text: str | None = None,
        document: Document = None,
        name: Name = None,
        preset: Preset = "",
        budget: BudgetField = None,
        plan: PlanField = None,
        way: Way = "",
        wait_seconds: WaitSeconds = 10.0,
    ) -> Json:
        """Read one document (one of path, url, text, document) from beginning to end to answer a question.

        Worth it where the document is longer than you can see, where the answer may stand anywhere or in several
        places, or where you need proof. Not worth it for a text before you, or for one word that `search` finds.

        Costs one model call for each section (some 20,000 characters) and one for the answer: seconds to hours. Returns
        an id; call `wait` with it until the status is no longer opening or reading.

        Rely on an answer whose `sign` is green. Verdicts: `quoted`, the document has it word for word; `supported`, in
        other words; `partly`, part of it; `contradicted`, it says otherwise; `not-found`, do not rely on it; `absent`,
        the model says it is not there; `by-hand`, a person wrote it into the memory; `seen`, in a picture; `unchecked`.
        `answers` tells whether it answers the question.
        """
        source = SourceRequest(path=path, url=url, text=text, document=document, name=name)
        opener = await self._find_opener(ctx, source)
        spec = self._service.make_spec(*_list_layers(plan, budget), way=way, preset=preset)
        return (await self._start(ctx, opener, spec, [question], wait_seconds))[0]

    async def read_several(
        self,
        ctx: Context,
        *,
        questions: Questions,
        path: str | None = None,
        url: str | None = None,
        text: str | None = None,
        document: str | None = None,
        name: str | None = None,
        reading: Annotated[str | None, Field(description="A reading whose document to read again.")] = None,
        preset: str = "",
        budget: dict[str, Any] | None = None,
        plan: dict[str, Any] | None = None,
        way: str = "",
        wait_seconds: WaitSeconds = 10.0,
    ) -> Json:
        """Read one document (one of path, url, text, document, reading) once for several questions.

        As with `read`; a text that fits the window is sent for each. Each has a reading: `wait` for each.
        """
        source = SourceRequest(path=path, url=url, text=text, document=document, name=name)
        if reading is None:
            opener = await self._find_opener(ctx, source)
        elif source.list_given():
            raise InputError("give one of path, url, text, document and reading")
        else:
            opener = self._service.stored_opener(await self._service.find_id(reading, get_key(ctx)))
        spec = self._service.make_spec(*_list_layers(plan, budget), way=way, preset=preset)
        return {"readings": await self._start(ctx, opener, spec, questions, wait_seconds)}

    async def wait(self, ctx: Context, *, reading: ReadingId, wait_seconds: WaitSeconds = 45.0) -> Json:
        """Wait for a reading, with progress notifications; wait_seconds=0 returns its state at once."""
        return await self._wait_for_state(ctx, await self._service.find_id(reading, get_key(ctx)), wait_seconds)

    async def ask_again(
        self,
        ctx: Context,
        *,
        reading: ReadingId,
        question: Question,
        from_memory: Annotated[
            bool, Field(description="False reads again at once: for another subject, or for counts and lists.")
        ] = True,
        preset: str = "",
        budget: dict[str, Any] | None = None,
        plan: dict[str, Any] | None = None,
        way: str = "",
        wait_seconds: WaitSeconds = 10.0,
    ) -> Json:
        """Ask the document of an earlier reading another question, by its plan and way unless you name others.

        The one before is told with its answer. That memory answers, at the cost of one call; where it cannot, the
        document is read again, as by `read`.
        """
        id_ = await self._service.find_id(reading, get_key(ctx))
        old = await asyncio.to_thread(self._service.journal.reading, id_)
        spec = self._service.make_spec(*_list_layers(plan, budget), way=way, old=old, preset=preset)
        if from_memory and not way and can_answer(old, question, spec.plan):
            spec = replace(spec, finished=old)
        return (await self._start(ctx, self._service.stored_opener(id_), spec, [question], wait_seconds))[0]

    async def resume(
        self, ctx: Context, *, reading: ReadingId, budget: BudgetField = None, wait_seconds: WaitSeconds = 10.0
    ) -> Json:
        """Continue a reading that was cancelled, stopped by a budget or failed; nothing is read twice."""
        id_ = await self._service.find_id(reading, get_key(ctx))
        stopped = await asyncio.to_thread(self._service.journal.reading, id_)
        await self._service.resume(stopped, budget or {}, self._caller(ctx))
        return await self._wait_for_state(ctx, id_, wait_seconds)

    async def cancel(self, ctx: Context, *, reading: ReadingId) -> Json:
        """Interrupt a reading; what was read is kept, and `resume` continues from there."""
        id_ = await self._service.find_id(reading, get_key(ctx))
        await self._readings.interrupt(id_)
        return await self._get_state(id_)

    async def search(
        self,
        ctx: Context,
        *,
        query: Annotated[str, Field(min_length=1, description="Words that must all be there, in any order.")],
        limit: Annotated[int, Field(ge=1, le=_MOST_HITS)] = 10,
        cursor: Cursor = "",
        characters: Characters = ROOM,
    ) -> Json:
        """Search the full text of all documents that were read before, and the questions, memories and answers.

        Costs nothing: try it before `read`. A hit with a `reading` may have answered already; one without is a passage
        with its place. It finds words, not meanings: else `read` with the hit's `document`.
        """
        hits = await self._service.search(get_key(ctx), query, limit)
        return make_page("hits", [search_hit(hit) for hit in hits], cursor, characters)

    async def list_readings(
        self,
        ctx: Context,
        *,
        search: Annotated[str | None, Field(description="Words of a question, answer, document or model.")] = None,
        limit: Annotated[int, Field(ge=1, le=_MOST_LISTED)] = 20,
        cursor: Cursor = "",
        characters: Characters = ROOM,
    ) -> Json:
        """List earlier readings, newest first, with their questions and answers; costs nothing."""
        key, offset = get_key(ctx), parse_cursor(cursor)
        # One more than wanted tells whether there is a next page.
        readings = await self._service.list_readings(key, limit=limit + 1, search=search, offset=offset)
        page = make_page("readings", [reading_summary(reading) for reading in readings[:limit]], "", characters)
        more = len(page["readings"]) < len(readings)
        return {**page, **({"cursor": str(offset + len(page["readings"]))} if more else {})}

    async def timeline(
        self,
        ctx: Context,
        *,
        reading: ReadingId,
        part: Part = "changes",
        cursor: Cursor = "",
        characters: Characters = ROOM,
    ) -> Json:
        """Show a part of a reading by pages: what each step changed, or where its lines come from.

        `changes` are the lines that each step added, reworded or removed; `origins` the passage behind each line of the
        final memory; `claims` the sentences of the answer with verdicts and quotes. Costs nothing.
        """
        id_ = await self._service.find_id(reading, get_key(ctx))

        def load() -> Json:
            journal = self._service.journal
            found = journal.reading(id_)
            page = make_page(part, list_entries(found, journal.document_of(id_), part), cursor, characters - 80)
            return {"reading": id_, "status": str(found.status), "steps": len(found.steps), **page}

        return await asyncio.to_thread(load)

    def _caller(self, ctx: Context) -> Caller:
        return Caller(key=get_key(ctx), survives_restart=self._survives_restart)

    async def _find_opener(self, ctx: Context, source: SourceRequest) -> DocumentOpener:
        """Return what opens the document that the caller names; it is checked first."""
        self._access.check(source)
        if source.document is not None:
            key = get_key(ctx)
            source = replace(source, document=await self._service.find_sha(source.document, key))
            await self._service.get_document(source.document or "", key)
        return self._service.source_opener(source, self._access, self._caller(ctx))

    async def _start(
        self, ctx: Context, opener: DocumentOpener, spec: ReadingSpec, questions: Sequence[str], wait: float
    ) -> list[Json]:
        """Start a reading for each question; return their states when they have ended, or after so many seconds."""
        started = await start_readings(self._service, spec, questions, opener, self._caller(ctx))
        end, report, room = time.monotonic() + min(wait, LONGEST_WAIT), _make_reporter(ctx), ROOM // len(started)
        return [
            await self._wait_for_state(ctx, one.reading.id, max(0.0, end - time.monotonic()), report, room)
            for one in started
        ]

    async def _wait_for_state(
        self, ctx: Context, id_: str, seconds: float, report: ProgressReport | None = None, room: int = ROOM
    ) -> Json:
        """Return the state of a reading when it has ended, or after so many seconds; report each change until then."""
        running, report = self._readings.get_running(id_), report or _make_reporter(ctx)
        with suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, LONGEST_WAIT)):
                while running and not running.done.is_set():
                    changed = running.changed
                    await report(running)
                    await changed.wait()
        return await self._get_state(id_, room)

    async def _get_state(self, id_: str, room: int = ROOM) -> Json:
        running = self._readings.get_recent(id_)
        if running and not running.is_started:
            if running.error and not running.is_interrupted:
                raise running.error
            return opening_state(running)
        reading = await asyncio.to_thread(self._service.journal.reading, id_)
        if running and running.error and not reading.error:
            reading = replace(reading, error=str(running.error))
        return reading_state(reading, running.waiting if running else None, room)


def _list_layers(plan: dict[str, Any] | None, budget: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the changes of a plan that a client gives; its budget goes on top."""
    return [plan or {}, *([{"budget": budget}] if budget else [])]


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
