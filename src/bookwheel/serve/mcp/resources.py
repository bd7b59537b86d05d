"""Readings as MCP resources: as JSON, as text, and the list of the newest."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types import Resource

from bookwheel.errors import BookwheelError
from bookwheel.record import reading_to_json
from bookwheel.serve.mcp.render import reading_summary, reading_text

if TYPE_CHECKING:
    from bookwheel.journal import Journal
    from bookwheel.serve.mcp.schemas import ReadingSummary
    from bookwheel.types import Reading

# Clients show the whole list to a person.
_MOST_LISTED: Final = 50


class ReadingResources:
    """The readings of a journal as resources."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def list_newest(self) -> list[Resource]:
        """List the newest readings as text; the tool `list_readings` searches all of them."""
        readings = await asyncio.to_thread(self._journal.readings, limit=_MOST_LISTED)
        return [_to_resource(reading_summary(reading)) for reading in readings]

    async def read_json(self, reading: str) -> str:
        """Return a whole reading as JSON: question, answer, evidence, and every step with the memory after it."""
        return json.dumps(reading_to_json(await self._load(reading)))

    async def read_text(self, reading: str) -> str:
        """Return a reading as text: question, answer, evidence, and what each step changed."""
        return reading_text(await self._load(reading))

    async def _load(self, id_: str) -> Reading:
        try:
            return await asyncio.to_thread(self._journal.reading, id_)
        except BookwheelError as error:
            raise ResourceNotFoundError(str(error)) from error


def _to_resource(reading: ReadingSummary) -> Resource:
    return Resource(
        uri=f"{reading['resource']}/text",
        name=reading["reading"],
        title=f"{reading['document']}: {reading['question']}",
        description=reading["answer"] or reading["status"],
        mime_type="text/plain",
    )
