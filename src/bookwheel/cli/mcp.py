"""`bookwheel mcp`: readings as tools for programs that speak the Model Context Protocol."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from bookwheel.cli.options import BudgetOptions, ModelOptions
from bookwheel.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bookwheel.plan import Budget
    from bookwheel.serve.engine.access import AccessPolicy
    from bookwheel.serve.engine.keys import KeyRing
    from bookwheel.serve.engine.service import Service

_INTERRUPTED: Final = 130
_GRACE: Final = 3
"""Seconds that open connections have when the server ends."""
_LONGEST_TEXT: Final = 64 << 20
"""Bytes of a request, so that a long text can be sent as it is."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """How clients reach the server, and what it may read for them."""

    root: Annotated[tuple[Path, ...], Parameter(negative="")] = ()
    "A folder whose files may be read; can be given several times. Without it no file is read."
    allow_private: Annotated[bool, Parameter(negative="")] = False
    "Fetch addresses inside this network too."
    http: Annotated[bool, Parameter(negative="")] = False
    "Streamable HTTP instead of standard input and output."
    host: str = "127.0.0.1"
    "The address to listen at; any but this machine's own needs a key."
    allow_host: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    "A name that the server may be called by, such as books.example.org; can be repeated."
    port: int = 8765
    "The port to listen at."
    key: Annotated[str | None, Parameter(env_var="BOOKWHEEL_MCP_KEY", show_env_var=True)] = None
    "The key that clients have to send as a bearer token; better kept in the environment."
    journal: Path | None = None
    "The journal's file; by default $BOOKWHEEL_JOURNAL or the user's data folder."


def mcp(
    *,
    serve: ServeOptions | None = None,
    models: ModelOptions | None = None,
    budget: BudgetOptions | None = None,
) -> int:
    """Offer reading as MCP tools, over standard input and output or, with --http, over HTTP.

    The budget holds for each reading. What is under way when the server ends is kept, and can be resumed.
    """
    from bookwheel.cli.running import run

    try:
        import mcp as _protocol
    except ImportError as error:
        raise MissingExtra("the MCP server", "mcp") from error
    del _protocol
    from bookwheel.serve.engine.access import AccessPolicy

    serve = serve or ServeOptions()
    reach = AccessPolicy.of(serve.root, allow_private=serve.allow_private)
    budgeted = (budget or BudgetOptions()).budget
    try:
        return run((_http if serve.http else _stdio)(serve, reach, models or ModelOptions(), budgeted))
    except asyncio.CancelledError:
        return _INTERRUPTED


@asynccontextmanager
async def _service(
    serve: ServeOptions, models: ModelOptions, budget: Budget, keys: KeyRing | None = None
) -> AsyncIterator[Service]:
    from bookwheel.journal import Journal, journal_path
    from bookwheel.serve.engine.service import Service
    from bookwheel.serve.engine.settings import LOOPBACK, Limits, ServerSettings

    limits = Limits(body=_LONGEST_TEXT, calls=models.concurrency)
    names = {serve.host.strip("[]").lower(), *(name.lower() for name in serve.allow_host)}
    settings = ServerSettings(hosts=LOOPBACK | names, limits=limits)
    with Journal(serve.journal or journal_path()) as journal:
        model = await models.open()
        plans = {model.name: replace(model.plan, budget=budget)}
        service = Service.of(journal=journal, models={model.name: model}, plans=plans, keys=keys, settings=settings)
        try:
            yield service
        finally:
            await service.aclose()
            await model.aclose()


async def _stdio(serve: ServeOptions, reach: AccessPolicy, models: ModelOptions, budget: Budget) -> int:
    """Serve until standard input ends.

    A thread that waits for standard input cannot be woken, so when a signal ends the server the process ends without
    it, after everything was kept.
    """
    from bookwheel.serve.mcp.tools import build_server

    try:
        async with _service(serve, models, budget) as service:
            serving = asyncio.create_task(build_server(service, reach).run_stdio_async())
            await asyncio.wait({serving})
            serving.result()
    except asyncio.CancelledError:
        os._exit(_INTERRUPTED)
    return 0


async def _http(serve: ServeOptions, reach: AccessPolicy, models: ModelOptions, budget: Budget) -> int:
    from bookwheel.cli.output import stderr
    from bookwheel.serve.app import wrap_app
    from bookwheel.serve.mcp.http import mount_tools, only_key
    from bookwheel.serve.server import Server, listening

    keys = only_key(serve.host, serve.key)
    with listening(serve.host, serve.port) as at:
        async with _service(serve, models, budget, keys) as service:
            server = Server(wrap_app(service, *mount_tools(service, reach, goes_on=False)), at, grace=_GRACE)
            stderr().print(f"MCP at {server.address}/mcp", style="dim")
            await server.serve()
    return _INTERRUPTED
