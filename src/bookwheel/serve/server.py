"""Uvicorn with an orderly end: readings are interrupted and stored before open connections are waited for."""

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
    """A server of the app, at a socket from `bind_socket`."""

    def __init__(self, app: Starlette, bound: socket.socket, *, grace: int = 10) -> None:
        self.socket = bound
        host, port = bound.getsockname()[:2]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self._readings = app.state.service.readings
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=grace,
        )
        super().__init__(config)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until SIGINT, SIGTERM or `should_exit`."""
        await super().serve(sockets or [self.socket])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Interrupt and store the readings under way, then wait for connections to end."""
        await self._readings.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Turn signals into an orderly end, and return to the caller, who has a journal and a model to close."""
        loop, signals = asyncio.get_running_loop(), []
        with suppress(NotImplementedError, RuntimeError, ValueError):  # in a thread, or on Windows
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self.handle_exit, number, None)
                signals.append(number)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)


def bind_socket(host: str, port: int) -> socket.socket:
    """Bind a socket, so that a wrong address is reported before a model is loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host.strip("[]"), port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise InputError(f"{host}:{port} cannot be bound: {error}. Take another --port or --host.") from error
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each answer waits 40 ms for its last packet
    return bound
