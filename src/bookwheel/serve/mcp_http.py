"""MCP over streamable HTTP: on this machine without a key, to others only with one."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings

from bookwheel.errors import InputError
from bookwheel.serve.mcp import build

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socket import socket

    from mcp.server.mcpserver import MCPServer

    from bookwheel.serve.reach import Reach
    from bookwheel.serve.room import ReadingRoom

_MOST_BYTES: Final = 64 << 20
"""Of a request, so that a long text can be sent as it is."""
_GRACE: Final = 3
"""Seconds that open connections have when the server ends."""
_KEY_LENGTH: Final = 16
"""Characters that a key must have; a shorter one can be guessed."""


class OneKey:
    """Knows one key, by its hash, and compares in constant time."""

    def __init__(self, key: str) -> None:
        if len(key) < _KEY_LENGTH:
            raise InputError(f"the key has fewer than {_KEY_LENGTH} characters; make one: openssl rand -hex 24")
        self._hash = _hashed(key)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who holds the key; None for any other."""
        if not secrets.compare_digest(_hashed(token), self._hash):
            return None
        return AccessToken(token="", client_id="holder of the key", scopes=[])


def _hashed(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class HttpServer(uvicorn.Server):
    """Ends when `serve` is cancelled, in good order, and leaves signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    async def serve(self, sockets: list[socket] | None = None) -> None:
        """Serve until `should_exit` is set or this is cancelled."""
        serving = asyncio.create_task(super().serve(sockets))
        try:
            await asyncio.wait({serving})
        finally:
            self.should_exit = True
            await serving


def http_server(room: ReadingRoom, reach: Reach, *, host: str, port: int, key: str | None = None) -> HttpServer:
    """A server ready to `serve()`. InputError when others could reach it without a key."""
    if not key and not is_loopback(host):
        raise InputError(
            f"{host} can be reached by others, so a key is needed: set BOOKWHEEL_MCP_KEY, or bind to 127.0.0.1"
        )
    server = _guarded(room, reach, key) if key else build(room, reach)
    app = server.streamable_http_app(host="127.0.0.1" if is_loopback(host) else host, max_request_body_size=_MOST_BYTES)
    return HttpServer(
        uvicorn.Config(
            app, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=_GRACE
        )
    )


def _guarded(room: ReadingRoom, reach: Reach, key: str) -> MCPServer:
    # The key is ours and no authorization server's; the settings want an issuer's address all the same.
    settings = AuthSettings.model_validate({"issuer_url": "http://127.0.0.1", "resource_server_url": None})
    return build(room, reach, auth=settings, keys=OneKey(key))
