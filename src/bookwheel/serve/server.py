"""Uvicorn, ended in the right order: readings are interrupted and kept first, so that no open stream holds them up."""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn

from bookwheel.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Generator

    from starlette.applications import Starlette

_BACKLOG = 2048


class Server(uvicorn.Server):
    """One server of the app, at a socket that `listening` gave."""

    def __init__(self, app: Starlette, at: socket.socket, *, grace: int = 10) -> None:
        self.socket = at
        host, bound = at.getsockname()[:2]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{bound}"
        self._readings = app.state.service.readings
        config = uvicorn.Config(
            app,
            host=host,
            port=bound,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=grace,
        )
        super().__init__(config)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until an interrupt, SIGTERM or `should_exit`."""
        await super().serve(sockets or [self.socket])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Interrupt and keep what is under way, then let connections end."""
        await self._readings.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """End gently, and go on to the caller, who has a journal and a model to close."""
        loop, taken = asyncio.get_running_loop(), []
        with suppress(NotImplementedError, RuntimeError, ValueError):  # in a thread, or on Windows
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self.handle_exit, number, None)
                taken.append(number)
        try:
            yield
        finally:
            for number in taken:
                loop.remove_signal_handler(number)


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket bound to that address, so that what is wrong with it shows before anything else is opened."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host.strip("[]"), port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise InputError(f"{host}:{port} cannot be listened at: {error}. Take another --port or --host.") from error
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each answer waits 40 ms for its last packet
    return bound
