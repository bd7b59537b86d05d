"""Readings as MCP resources: as JSON, as text, and the list of the newest."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.context import Context  # noqa: TC002  the SDK reads the annotations
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types import Resource

from bookwheel.errors import BookwheelError
from bookwheel.record import reading_to_json
from bookwheel.serve.mcp.calls import get_key
from bookwheel.serve.mcp.render import reading_summary, reading_text

if TYPE_CHECKING:
    from bookwheel.serve.engine.service import Service
    from bookwheel.serve.mcp.schemas import ReadingSummary
    from bookwheel.types import Reading

# Clients show the whole list to a person.
_MOST_LISTED: Final = 50


class ReadingResources:
    """The readings of a service as resources."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_newest(self) -> list[Resource]:
        """List the newest readings as text; the tool `list_readings` searches all of them."""
        # The SDK does not say who asks for the list, so it is empty where a client sees only its own.
        if self._service.keys and not self._service.settings.is_shared:
            return []
        readings = await self._service.list_readings(None, limit=_MOST_LISTED)
        return [_to_resource(reading_summary(reading)) for reading in readings]

    async def read_json(self, reading: str, ctx: Context) -> str:
        """Return a whole reading as JSON: question, answer, evidence, and every step with the memory after it."""
        return json.dumps(reading_to_json(await self._load(reading, ctx)))

    async def read_text(self, reading: str, ctx: Context) -> str:
        """Return a reading as text: question, answer, evidence, and what each step changed."""
        return reading_text(await self._load(reading, ctx))

    async def _load(self, name: str, ctx: Context) -> Reading:
        try:
            id_ = await self._service.find_id(name, get_key(ctx))
            return await asyncio.to_thread(self._service.journal.reading, id_)
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
