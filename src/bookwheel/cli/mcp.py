"""`bookwheel mcp`: serve readings as tools over the Model Context Protocol."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from bookwheel.cli.option_types import FilePath, Port, Text
from bookwheel.cli.options import BudgetOptions, ModelOptions, build_server_plan
from bookwheel.configuration import load_configuration
from bookwheel.plugins import require_extra

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bookwheel.serve.engine.access import AccessPolicy, KeyRing
    from bookwheel.serve.engine.service import Service

_INTERRUPTED: Final = 130
# Seconds that open connections have after the server is told to end.
_GRACE: Final = 3
# Bytes of one request; a client may send a long text in the call itself.
_MAX_BODY: Final = 64 << 20


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class McpOptions:
    """The server's address, and the sources that clients may name."""

    root: Annotated[tuple[FilePath, ...], Parameter(negative="")] = ()
    "A folder whose files clients may read; can be repeated. Without it, clients can read no files."
    allow_private: Annotated[bool, Parameter(negative="")] = False
    "Also fetch documents from private network addresses."
    http: Annotated[bool, Parameter(negative="")] = False
    "Serve streamable HTTP instead of standard input and output."
    host: Text = "127.0.0.1"
    "The address to listen on; any but this machine's own needs --key."
    allow_host: Annotated[tuple[Text, ...], Parameter(negative="")] = ()
    "A host name that requests may use, such as books.example.org; can be repeated."
    port: Port = 8765
    "The port to listen on; 0 picks a free one."
    key: Annotated[str | None, Parameter(env_var="BOOKWHEEL_MCP_KEY", show_env_var=True)] = None
    "The bearer token that clients must send. Prefer the environment variable: other users can see command lines."
    journal: FilePath | None = None
    "The journal's file; by default, $BOOKWHEEL_JOURNAL or a file in the user's data folder."


def mcp(
    *,
    serve: McpOptions | None = None,
    models: ModelOptions | None = None,
    budget: BudgetOptions | None = None,
) -> int:
    """Serve reading as MCP tools, over standard input and output or, with --http, over HTTP.

    The budget holds for each reading. Readings under way when the server ends are kept and can be resumed.
    """
    from bookwheel.cli.runner import run_command

    require_extra("the MCP server", "mcp", "mcp", "mcp_types", "starlette", "uvicorn", "sse_starlette", "anyio")
    from bookwheel.serve.engine.access import AccessPolicy

    serve = serve or McpOptions()
    access = AccessPolicy.from_roots(serve.root, allow_private=serve.allow_private)
    budget = budget or BudgetOptions()
    try:
        return run_command((_http if serve.http else _stdio)(serve, access, models or ModelOptions(), budget))
    except asyncio.CancelledError:
        return _INTERRUPTED


@asynccontextmanager
async def _open_service(
    serve: McpOptions, models: ModelOptions, budget: BudgetOptions, keys: KeyRing | None = None
) -> AsyncIterator[Service]:
    from bookwheel.journal import Journal, journal_path
    from bookwheel.serve.engine.service import Service
    from bookwheel.serve.engine.settings import LOOPBACK, Limits, ServerSettings
    from bookwheel.session import WayRequest

    limits = Limits(body_bytes=_MAX_BODY, calls=models.concurrency)
    hosts = {serve.host.strip("[]").lower(), *(name.lower() for name in serve.allow_host)}
    settings = ServerSettings(hosts=LOOPBACK | hosts, limits=limits)
    with Journal(serve.journal or journal_path()) as journal:
        model = await models.open()
        plans = {model.name: build_server_plan(model, models, budget)}
        way = WayRequest.from_settings("", (), load_configuration())
        service = Service.create(
            journal=journal, models={model.name: model}, plans=plans, way=way, keys=keys, settings=settings
        )
        try:
            yield service
        finally:
            await service.aclose()
            await model.aclose()


async def _stdio(serve: McpOptions, access: AccessPolicy, models: ModelOptions, budget: BudgetOptions) -> int:
    """Serve until standard input ends."""
    from bookwheel.serve.mcp.server import build_server

    try:
        async with _open_service(serve, models, budget) as service:
            session = asyncio.create_task(build_server(service, access).run_stdio_async())
            await asyncio.wait({session})
            session.result()
    except asyncio.CancelledError:
        # A thread blocked on standard input cannot be woken, and would keep the process alive after a signal.
        # The service is closed by now, so nothing is lost.
        os._exit(_INTERRUPTED)
    return 0


async def _http(serve: McpOptions, access: AccessPolicy, models: ModelOptions, budget: BudgetOptions) -> int:
    from bookwheel.cli.output import stderr
    from bookwheel.serve.app import wrap_app
    from bookwheel.serve.mcp.server import make_key_ring, mount_tools
    from bookwheel.serve.server import Server, bind_socket

    keys = make_key_ring(serve.host, serve.key)
    with bind_socket(serve.host, serve.port) as at:
        async with _open_service(serve, models, budget, keys) as service:
            server = Server(wrap_app(service, *mount_tools(service, access, survives_restart=False)), at, grace=_GRACE)
            stderr().print(f"MCP at {server.address}/mcp", style="dim")
            await server.serve()
    return _INTERRUPTED
