"""Uvicorn with an orderly end: readings are interrupted and stored before open connections are waited for."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from bookwheel.errors import InputError

_BACKLOG = 2048
# Threads that wait for SQLite and for tokenizers behind a network.
_JOURNAL_THREADS = 16


class Server(uvicorn.Server):
    """A server of the app, at a socket from `bind_socket`."""

    def __init__(self, app: Starlette, bound: socket.socket, *, grace: int = 10) -> None:
        self.socket = bound
        host, port = bound.getsockname()[:2]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self._readings = app.state.service.readings
        limits = app.state.service.settings.limits
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=grace,
            limit_concurrency=limits.connections,
            http=_make_protocol(limits.header_seconds),
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Give the journal threads of its own: what can take long never runs in the loop's default ones."""
        pool = ThreadPoolExecutor(_JOURNAL_THREADS, thread_name_prefix="bookwheel journal")
        asyncio.get_running_loop().set_default_executor(pool)
        await super().startup(sockets)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
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


def _make_protocol(seconds: float) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol with a deadline for the headers of each request: half-open ones would stay for ever."""
    base: Any = AutoHTTPProtocol  # whichever parser is installed

    class TimedProtocol(base):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._deadline:
                self._deadline.cancel()
            super().connection_lost(exc)

        def _watch(self) -> None:
            has_request = self.cycle is not None and not self.cycle.response_complete
            if has_request and self._deadline:
                self._deadline.cancel()
                self._deadline = None
            elif not has_request and self._deadline is None:
                self._deadline = asyncio.get_running_loop().call_later(seconds, self._end)

        def _end(self) -> None:
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    protocol: type[asyncio.Protocol] = TimedProtocol
    return protocol


def bind_socket(host: str, port: int) -> socket.socket:
    """Bind a socket, so that a wrong address is reported before a model is loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host.strip("[]"), port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise InputError(f"{host}:{port} cannot be bound: {error}. Take another --port or --host.") from error
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each answer waits 40 ms for its last packet
    return bound
