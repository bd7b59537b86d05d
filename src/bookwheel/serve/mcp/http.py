"""MCP over streamable HTTP, behind the same guard, keys and limits as the other routes."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.serve.engine.keys import Key, KeyRing, hash_secret
from bookwheel.serve.engine.settings import is_loopback
from bookwheel.serve.mcp.server import build_server

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from starlette.routing import BaseRoute

    from bookwheel.serve.engine.access_policy import AccessPolicy
    from bookwheel.serve.engine.service import Service

# Least characters of a key; a shorter one could be guessed.
_KEY_LENGTH: Final = 16


def mount_tools(
    service: Service, access: AccessPolicy, *, survives_restart: bool
) -> tuple[Sequence[BaseRoute], Callable[[], AbstractAsyncContextManager[None]]]:
    """Return the route `/mcp`, and a context manager that is held while it is served."""
    server = build_server(service, access, survives_restart=survives_restart)
    # No host: the guard decides who may call, and by which host name.
    app = server.streamable_http_app(host="", max_request_body_size=service.settings.limits.body_bytes)

    @asynccontextmanager
    async def run_sessions() -> AsyncGenerator[None]:
        # Sessions end as soon as the readings are closed: an open stream would delay the end of the server.
        is_running = asyncio.Event()

        async def run() -> None:
            async with server.session_manager.run():
                is_running.set()
                await service.readings.closed.wait()

        task = asyncio.create_task(run())
        await is_running.wait()
        try:
            yield
        finally:
            await service.readings.close()
            await task

    return app.routes, run_sessions


def make_key_ring(host: str, key: str | None) -> KeyRing:
    """Return the one key of a server at this address; none on this machine. InputError where others could call."""
    if key and len(key) < _KEY_LENGTH:
        raise InputError(f"the key has fewer than {_KEY_LENGTH} characters; make one: openssl rand -hex 24")
    if not key and not is_loopback(host):
        raise InputError(
            f"{host} can be reached by others, so a key is needed: set BOOKWHEEL_MCP_KEY, or bind to 127.0.0.1"
        )
    return KeyRing([Key(name="mcp", sha256=hash_secret(key))] if key else ())
