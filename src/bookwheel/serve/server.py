"""Uvicorn with an orderly end, with room for everybody, and with a log that nobody can fill.

At the end, readings are interrupted and stored before open connections are waited for. There are fewer connections than
the process may open files; where most of them only wait for their clients, the oldest of these gives way to a new one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import sys
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from bookwheel.errors import InputError

_BACKLOG: Final = 2048
# Connections that asyncio takes at a time, before it looks at any of them: more could use up the descriptors.
_TAKEN_AT_ONCE: Final = 32
# Threads that wait for SQLite and for tokenizers behind a network.
_JOURNAL_THREADS: Final = 16
# Readings compute in threads beside the one that answers requests. Python lets a thread that computes go on for so long
# while another waits for its turn, and a request waits a dozen times.
_SECONDS_BETWEEN_TURNS: Final = 0.0005
# Descriptors for everything but connections: the journal, models, conversions, and those about to be taken or closed.
_RESERVED_FILES: Final = 320
_LEAST_CONNECTIONS: Final = 32
# Bytes that the kernel keeps of a reply unsent: with megabytes, it would long be unknown whether a slow client reads.
_MOST_UNSENT: Final = 1 << 16
# Lines of the log of one kind in a minute; the rest are counted.
_MOST_LINES: Final = 60
_SECONDS_PER_MINUTE: Final = 60.0
# Characters of a line: whoever asks for a long address writes no long log.
_LONGEST_LINE: Final = 1000


class Server(uvicorn.Server):
    """A server of the app, at a socket from `bind_socket`."""

    def __init__(self, app: Starlette, bound: socket.socket, *, grace: int = 10) -> None:
        self.socket = bound
        host, port = bound.getsockname()[:2]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        service = app.state.service
        self._readings, limits = service.readings, service.settings.limits
        most = service.connections = find_most_connections(limits.connections)
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=grace,
            backlog=_TAKEN_AT_ONCE,
            limit_concurrency=most,
            http=TimedProtocol.for_server(limits.header_seconds, most),
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Give the journal threads of its own: what can take long never runs in the loop's default ones."""
        pool = ThreadPoolExecutor(_JOURNAL_THREADS, thread_name_prefix="bookwheel journal")
        asyncio.get_running_loop().set_default_executor(pool)
        sys.setswitchinterval(_SECONDS_BETWEEN_TURNS)
        await super().startup(sockets)
        # asyncio has set the kernel's queue to what it takes at once.
        self.socket.listen(_BACKLOG)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        handlers = list(logging.getLogger().handlers)
        if not handlers and logging.lastResort:
            handlers.append(logging.lastResort)
        bound = LineLimit()
        for handler in handlers:
            handler.addFilter(bound)
        try:
            await super().serve(sockets or [self.socket])
        finally:
            for handler in handlers:
                handler.removeFilter(bound)

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


class LineLimit(logging.Filter):
    """Lets so many lines of one kind a minute through; the first one of a later minute says how many were left out.

    A long line is cut, and no query of a request is in one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._minute = 0.0
        self._seen: Counter[tuple[str, str]] = Counter()
        self._left_out: Counter[tuple[str, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.created - self._minute >= _SECONDS_PER_MINUTE:
            self._minute = record.created
            self._left_out = self._seen
            self._seen = Counter()
        # The text before its values are filled in: what varies does not make it another kind.
        kind = (record.name, str(record.msg)[:80])
        self._seen[kind] += 1
        if self._seen[kind] > _MOST_LINES:
            return False
        if record.name == "uvicorn.access" and isinstance(record.args, tuple):
            # What is searched for stands in the query.
            record.args = tuple(arg.partition("?")[0] if isinstance(arg, str) else arg for arg in record.args)
        text = record.getMessage()
        if len(text) > _LONGEST_LINE:
            record.msg, record.args = f"{text[:_LONGEST_LINE]} … ({len(text):,} characters)", ()
        if (missed := self._left_out.pop(kind, 0) - _MOST_LINES) > 0:
            record.msg, record.args = f"{record.getMessage()} ({missed} more like it in an earlier minute)", ()
        return True


def find_most_connections(wanted: int) -> int:
    """Return how many connections there is room for, after asking for as many descriptors as are allowed."""
    try:
        import resource
    except ModuleNotFoundError:  # on Windows
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed, infinite = wanted + _RESERVED_FILES, resource.RLIM_INFINITY
    if soft != infinite and soft < needed:
        allowed = needed if hard == infinite else min(needed, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, allowed), hard))
            soft = max(soft, allowed)
    most = wanted if soft == infinite else min(wanted, soft - _RESERVED_FILES)
    if most < min(wanted, _LEAST_CONNECTIONS):
        least = _RESERVED_FILES + _LEAST_CONNECTIONS
        raise InputError(f"a process may open {soft} files here, too few for a server: ulimit -n {least} or more")
    return most


_BAD_REQUEST: Final = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
)
_Protocol: Any = AutoHTTPProtocol  # whichever parser is installed


class TimedProtocol(_Protocol):
    """Uvicorn's protocol with a deadline for headers and unread replies, and a bound of connections that only wait.

    Such a connection has no whole request, or its client does not read the reply. Without a bound, they would take
    every place and every descriptor.
    """

    seconds: float
    most_waiting: int
    waiting: dict[TimedProtocol, None]
    """Those of one server, the oldest first."""
    _deadline: asyncio.TimerHandle | None = None
    _left: int = 0
    """Bytes that the client had still to take when the deadline was set."""
    _is_unread: bool = False
    """More is to be sent than the client takes."""

    @classmethod
    def for_server(cls, seconds: float, most: int) -> type[asyncio.Protocol]:
        """Return the protocol of one server; a quarter of the connections is kept for those that are answered."""
        bound = {"seconds": seconds, "most_waiting": max(1, 3 * most // 4), "waiting": {}}
        return type("TimedProtocol", (cls,), bound)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._is_unread = True
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._is_unread = False
        self._end_watch()
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self._watch()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        # What is unread keeps a connection that is closing.
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request as other errors are answered; where a reply has begun, it is only broken off."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            error = {"error": f"{msg} Look at its first line, its headers and its length.", "kind": "bad_request"}
            body = json.dumps(error).encode()
            self.transport.write(_BAD_REQUEST % len(body) + body)
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_watch()
        super().connection_lost(exc)

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: a request to become a WebSocket is answered as any other, and no package would help."""

    def _watch(self) -> None:
        has_request = self.cycle is not None and not self.cycle.response_complete
        if not has_request or self._is_unread:
            if self._deadline is None:
                self._wait()
                self._set_deadline()
            return
        self._end_watch()
        if self.cycle.more_body:  # its deadline is that of the body; one that comes is the newest again
            self._wait()

    def _wait(self) -> None:
        """Count as one that waits; the oldest gives way where there are too many."""
        self.waiting[self] = None
        if len(self.waiting) > self.most_waiting:
            oldest = next(iter(self.waiting))
            del self.waiting[oldest]
            oldest.transport.abort()

    def _set_deadline(self) -> None:
        self._left = self.transport.get_write_buffer_size()
        self._deadline = asyncio.get_running_loop().call_later(self.seconds, self._end)

    def _end_watch(self) -> None:
        self.waiting.pop(self, None)
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _end(self) -> None:
        """End the connection, unless its client has taken some of the reply: on a slow line, a long one takes long."""
        self._deadline = None
        if 0 < self.transport.get_write_buffer_size() < self._left:
            self._set_deadline()
        elif self._is_unread or self.transport.is_closing():
            self.transport.abort()
        elif self.cycle is None or self.cycle.response_complete:
            self.transport.close()
            self._set_deadline()  # of what is still to be taken


def bind_socket(host: str, port: int) -> socket.socket:
    """Bind a socket, so that a wrong address is reported before a model is loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host.strip("[]"), port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        raise InputError(f"{host}:{port} cannot be bound: {error}. Take another --port or --host.") from error
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each answer waits 40 ms for its last packet
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # not on Windows
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _MOST_UNSENT)
    return bound
