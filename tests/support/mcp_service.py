"""A service over MCP's official client in memory, and a document for it to read."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import Client

from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.serve.app import wrap_app
from bookwheel.serve.engine.access import AccessPolicy
from bookwheel.serve.engine.service import Service
from bookwheel.serve.mcp.server import build_server, make_key_ring, mount_tools
from bookwheel.serve.server import Server, bind_socket

QUESTION = "Who is the harbour master of Skarholm?"
FILLER = "Gulls circle over the pier, and the keeper writes down the wind. " * 12 + "\n\n"
TEXT = FILLER * 3 + "The harbour master of Skarholm is Ada Quill.\n\n" + FILLER * 3
SMALL = Plan(chunk_tokens=100, memory_tokens=40, answer_tokens=40)


class Gate:
    """A model that replies when it is let."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inner = ScriptedModel(keyword_reader, plan=SMALL)

    def __getattr__(self, name: str):
        return getattr(self.inner, name)

    async def reply(self, messages, *, limit, sampling):
        if self.inner.calls >= 2:
            await self.open.wait()
        return await self.inner.reply(messages, limit=limit, sampling=sampling)


@asynccontextmanager
async def service_of(folder: Path, model=None, *, plan: Plan = SMALL, **settings):
    model = model or ScriptedModel(keyword_reader, plan=SMALL)
    with Journal(folder / "journal.sqlite") as journal:
        service = Service(journal=journal, models={"scripted": model}, plans={"scripted": plan}, **settings)
        try:
            yield service
        finally:
            await service.aclose()


@asynccontextmanager
async def client_of(folder: Path, model=None, *, reach: AccessPolicy | None = None, mode: str = "auto", **settings):
    async with (
        service_of(folder, model, **settings) as service,
        Client(build_server(service, reach or AccessPolicy()), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def served(folder: Path, key: str | None = None):
    """A listening socket takes connections before the server has started, and lets them wait."""
    async with service_of(folder, keys=make_key_ring("127.0.0.1", key)) as service:
        tools = mount_tools(service, AccessPolicy(), survives_restart=False)
        server = Server(wrap_app(service, *tools), bind_socket("127.0.0.1", 0))
        task = asyncio.create_task(server.serve())
        try:
            yield f"{server.address}/mcp"
        finally:
            server.should_exit = True
            await task


async def call(client: Client, tool: str, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return result.structured_content


async def refused(client: Client, tool: str, **arguments) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return result.content[0].text
