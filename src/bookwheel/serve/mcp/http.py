"""MCP over streamable HTTP, behind the same guard, keys and limits as everything else that is served."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from bookwheel.errors import InputError
from bookwheel.serve.engine.keys import Key, KeyRing, hash_secret
from bookwheel.serve.engine.settings import is_loopback
from bookwheel.serve.mcp.tools import build_server

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from starlette.routing import BaseRoute

    from bookwheel.serve.engine.access_policy import AccessPolicy
    from bookwheel.serve.engine.service import Service

_KEY_LENGTH: Final = 16
"""Characters that a key must have; a shorter one can be guessed."""


def mount_tools(
    service: Service, reach: AccessPolicy, *, goes_on: bool
) -> tuple[Sequence[BaseRoute], Callable[[], AbstractAsyncContextManager[None]]]:
    """The route `/mcp`, and what has to be entered while it is served."""
    server = build_server(service, reach, goes_on=goes_on)
    # No host: who may call, and by which name, is for the guard to say.
    app = server.streamable_http_app(host="", max_request_body_size=service.settings.limits.body_bytes)

    @asynccontextmanager
    async def sessions() -> AsyncGenerator[None]:
        """Taken until the readings are closed: after that an open stream would only hold up the server's end."""
        entered = asyncio.Event()

        async def held() -> None:
            async with server.session_manager.run():
                entered.set()
                await service.readings.closed.wait()

        task = asyncio.create_task(held())
        await entered.wait()
        try:
            yield
        finally:
            await service.readings.close()
            await task

    return app.routes, sessions


def only_key(host: str, key: str | None) -> KeyRing:
    """The one key of a server at that address, or none on this machine. InputError when others would need none."""
    if key and len(key) < _KEY_LENGTH:
        raise InputError(f"the key has fewer than {_KEY_LENGTH} characters; make one: openssl rand -hex 24")
    if not key and not is_loopback(host):
        raise InputError(
            f"{host} can be reached by others, so a key is needed: set BOOKWHEEL_MCP_KEY, or bind to 127.0.0.1"
        )
    return KeyRing([Key(name="mcp", sha256=hash_secret(key))] if key else ())
