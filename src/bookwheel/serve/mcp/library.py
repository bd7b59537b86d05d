"""Tools that look at what was read before: they call no model and cost nothing.

The MCP SDK reads the annotations of the tools at run time, so this file does not postpone their evaluation.
"""

import asyncio
from typing import Annotated, Final

from mcp.server.mcpserver import Context
from pydantic import Field

from bookwheel.serve.engine.service import Service
from bookwheel.serve.mcp.calls import get_key, translate_errors
from bookwheel.serve.mcp.render import origin_info, reading_summary, search_hit, step_changes
from bookwheel.serve.mcp.schemas import ReadingList, SearchResults, Timeline
from bookwheel.verdict.provenance import find_origins

_MOST_STEPS: Final = 200


class LibraryTools:
    """The tools. Each public method is one tool, and its docstring is the description that clients see."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._journal = service.journal

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
        key, service = get_key(ctx), self._service
        sees_all = key is None or service.sees_all(key)
        with translate_errors():
            hits = await asyncio.to_thread(
                self._journal.search,
                query,
                limit=limit,
                ids=None if sees_all or key is None else service.usage.list_owned(key.name),
                documents=None if sees_all or key is None else service.usage.list_documents(key.name),
            )
        return {"hits": [search_hit(hit) for hit in hits]}

    async def list_readings(
        self,
        ctx: Context,
        *,
        search: Annotated[str | None, Field(description="Words of a question, answer, document or model.")] = None,
        limit: Annotated[int, Field(ge=1, le=200)] = 20,
    ) -> ReadingList:
        """List earlier readings, newest first, with their questions and answers; costs nothing."""
        with translate_errors():
            readings = await self._service.list_readings(get_key(ctx), limit=limit, search=search)
        return {"readings": [reading_summary(reading) for reading in readings]}

    async def timeline(
        self,
        ctx: Context,
        *,
        reading: Annotated[str, Field(description='The id of a reading, its beginning, or "last".')],
        first: Annotated[int, Field(ge=0, description="The step to begin with.")] = 0,
        count: Annotated[int, Field(ge=1, le=_MOST_STEPS)] = 50,
        changes_only: Annotated[bool, Field(description="Leave out steps that left the memory as it was.")] = True,
    ) -> Timeline:
        """List what each step added to the memory, reworded and removed, and where the final lines come from.

        For checking an answer: each line of the final memory has the passage of the document it came from. Costs
        nothing.
        """
        with translate_errors():
            id_ = await self._service.find_id(reading, get_key(ctx))
            return await asyncio.to_thread(self._build_timeline, id_, first, count, changes_only=changes_only)

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
