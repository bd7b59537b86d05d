"""HTTP clients whose replies are bounded: in bytes once unpacked, in JSON values and depth, in time.

A server's reply is untrusted. Each of these limits is far above what an honest server sends, and what passes one is a
`ModelError` like any other: it is told, and tried again where that makes sense.

httpx2 bounds the headers (100 KiB), the redirects (20) and each unpacked piece (1 MiB).

The first calls go through httpx2's own transport. aiohttp's takes 0.7 of its CPU time with one call at a time and half
with 64, because httpx2 looks at every idle connection for each request. But its import, with the SDK that brings it,
costs more than the calls of one document save, so it is loaded when many calls have been made.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import sys
import time
from contextlib import aclosing
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import httpx2

from bookwheel.errors import BadReply, ModelError, Refused, TimedOut

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from bookwheel.models.endpoint import Endpoint

# Vectors of 32 texts, 8,192 numbers each, have 6 MB. Longer replies repeat their request in some form: its tokens, its
# log-probabilities. vLLM sends 25 bytes for each byte of a prompt that it scores, and one value for each.
_MOST_BYTES: Final = 16 << 20
_MOST_VALUES: Final = 1_000_000
_BYTES_PER_BYTE: Final = 64
_VALUES_PER_BYTE: Final = 4
_MOST_ERROR_BYTES: Final = 1 << 20
# A stream is not kept: the text that it brings has a limit of its own, and so has each event.
_MOST_STREAMED_BYTES: Final = 256 << 20
_MOST_EVENT_BYTES: Final = 1 << 20
_DEEPEST: Final = 100
_MOST_COOKIES: Final = 64
_VALUE_MARKS: Final = (b",", b"[", b"{")
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_BLANK_LINE: Final = re.compile(rb"\n\n|\r\r|\r\n\r\n")
_LONGEST_BLANK_LINE: Final = 4
_OURS: Final = (ModelError, httpx2.TransportError)
# As the SDK has them: more than a server's readings need, and kept for the next calls.
_CONNECTIONS: Final = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
# The import costs as much as this many calls save. The SDK may be there already, for its types.
_CALLS_BEFORE_AIOHTTP: Final = 1000


@cache
def _open_tls(_places: ssl.DefaultVerifyPaths) -> ssl.SSLContext:
    """Return the context of all clients: certificates take 25 ms to load, and a model has three clients."""
    return httpx2.create_ssl_context()


class _LateTls(ssl.SSLContext):
    """The context of a client that is sent to no server with a certificate, unless another one redirects it there."""

    def wrap_bio(self, *arguments: Any, **settings: Any) -> ssl.SSLObject:
        return _open_tls(ssl.get_default_verify_paths()).wrap_bio(*arguments, **settings)


class BoundedClient(httpx2.AsyncClient):
    """A client with bounded transports, also to proxies. It connects first in the event loop that first uses it."""

    def __init__(self, endpoint: Endpoint, timeout: httpx2.Timeout) -> None:
        self._endpoint = endpoint
        hooks: dict[str, list[Callable[..., Any]]] = {"request": [self._check_host], "response": [self._bound_cookies]}
        is_plain = endpoint.url.startswith("http://")
        tls = _LateTls(ssl.PROTOCOL_TLS_CLIENT) if is_plain else _open_tls(ssl.get_default_verify_paths())
        super().__init__(verify=tls, timeout=timeout, limits=_CONNECTIONS, follow_redirects=True, event_hooks=hooks)

    def _init_transport(self, **settings: Any) -> httpx2.AsyncBaseTransport:  # type: ignore[override]
        return self._bound(super()._init_transport(**settings), None, settings)

    def _init_proxy_transport(self, proxy: httpx2.Proxy, **settings: Any) -> httpx2.AsyncBaseTransport:  # type: ignore[override]
        return self._bound(super()._init_proxy_transport(proxy, **settings), proxy, settings)

    def _bound(
        self, light: httpx2.AsyncBaseTransport, proxy: httpx2.Proxy | None, settings: dict[str, Any]
    ) -> BoundedTransport:
        # aiohttp takes no password in an address beside a key.
        if "@" not in urlsplit(self._endpoint.url).netloc:
            light = GrowingTransport(light, lambda: _open_aiohttp(proxy, settings))
        return BoundedTransport(light, self._endpoint)

    async def _check_host(self, request: httpx2.Request) -> None:
        """Raise Refused where a redirect would carry the document to another host, or off TLS."""
        named, address = httpx2.URL(self._endpoint.url), self._endpoint.display_url
        if named.scheme == "https" and request.url.scheme != "https":
            raise Refused(
                f"{address} redirects to an address without TLS, and no document is sent where others can read it. If "
                f"that is right, give the http address as the base URL."
            )
        is_upgraded = (named.scheme, request.url.scheme) == ("http", "https")
        # Another port is another program, unless it is the same one's with TLS.
        if request.url.host != named.host or (request.url.port != named.port and not is_upgraded):
            raise Refused(
                f"{address} redirects to {request.url.netloc.decode()[:100]}, and no document is sent to a host that "
                f"you did not name. If that one is right, give its address as the base URL."
            )

    async def _bound_cookies(self, _response: httpx2.Response) -> None:
        # A server that sets another cookie with every reply would make each request longer than the last.
        if len(self.cookies.jar) > _MOST_COOKIES:
            self.cookies.clear()


class GrowingTransport(httpx2.AsyncBaseTransport):
    """A transport that is cheap to load, and one that is cheap to use from when many calls have been made."""

    def __init__(self, light: httpx2.AsyncBaseTransport, open_heavy: Callable[[], httpx2.AsyncBaseTransport]) -> None:
        self._light = light
        self._open_heavy = open_heavy
        self._heavy: asyncio.Future[httpx2.AsyncBaseTransport] | None = None
        self._calls = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request by the heavy transport where that is loaded."""
        self._calls += 1
        if self._heavy is None and (self._calls > _CALLS_BEFORE_AIOHTTP or _is_sdk_loaded()):
            # In a thread: an import takes half a second.
            self._heavy = asyncio.get_running_loop().run_in_executor(None, self._open_heavy)
        # Where it cannot be loaded, calls cost more and go on.
        is_loaded = self._heavy and self._heavy.done() and not self._heavy.exception()
        chosen = self._heavy.result() if self._heavy and is_loaded else self._light
        return await chosen.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections of both."""
        await self._light.aclose()
        if self._heavy:
            await asyncio.wait([self._heavy])
            if not self._heavy.exception():
                await self._heavy.result().aclose()


def _is_sdk_loaded() -> bool:
    return "openai" in sys.modules


def _open_aiohttp(proxy: httpx2.Proxy | None, settings: dict[str, Any]) -> httpx2.AsyncBaseTransport:
    """Return the SDK's transport on aiohttp, whose failures are those of httpx2's own."""
    import aiohttp
    from openai import DefaultAioHttpClient

    never_made = aiohttp.ClientConnectorError | aiohttp.ServerTimeoutError

    class AiohttpTransport(httpx2.AsyncBaseTransport):
        def __init__(self) -> None:
            client = DefaultAioHttpClient()
            # The SDK offers its transport as a part of a client only.
            if proxy:
                self._inner = client._init_proxy_transport(proxy, **settings)  # noqa: SLF001
            else:
                self._inner = client._init_transport(**settings)  # noqa: SLF001

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            try:
                return await self._inner.handle_async_request(request)
            except httpx2.TransportError as error:
                cause = error.__cause__
                # One that was there and broke is reported like one that was never made.
                if isinstance(cause, aiohttp.ClientConnectionError) and not isinstance(cause, never_made):
                    raise _broken_connection(cause) from error
                raise

        async def aclose(self) -> None:
            await self._inner.aclose()

    return AiohttpTransport()


class BoundedTransport(httpx2.AsyncBaseTransport):
    """A transport whose replies keep to the limits, whatever the server sends."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, endpoint: Endpoint) -> None:
        self._inner = inner
        self._endpoint = endpoint

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request; return its reply with a bounded body, already unpacked."""
        ends = time.monotonic() + self._endpoint.deadline
        try:
            reply = await self._inner.handle_async_request(request)
        except _OURS:
            raise
        except Exception as error:
            raise _broken_connection(error) from error
        try:
            return self._bound(reply, request, ends)
        except BaseException:
            # A reply that nobody gets would keep its connection.
            await reply.aclose()
            raise

    def _bound(self, reply: httpx2.Response, request: httpx2.Request, ends: float) -> httpx2.Response:
        # The client sets it again; the reply that unpacks needs it now.
        reply.request = request
        headers = reply.headers.copy()
        codings = [name for name in headers.get("content-encoding", "").split(",") if name.strip()]
        if len(codings) > 1:
            # Each unpacks a thousandfold, and only what comes out of the last could be counted.
            raise BadReply(f"{self._endpoint.display_url} sent a reply that is packed {len(codings)} times")
        if codings:
            for name in ("content-encoding", "content-length"):
                headers.pop(name, None)
        body = _Body(reply, self._endpoint, ends)
        return httpx2.Response(
            reply.status_code, headers=headers, stream=body, request=request, extensions=reply.extensions
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Body(httpx2.AsyncByteStream):
    """The body of one reply."""

    def __init__(self, reply: httpx2.Response, endpoint: Endpoint, ends: float) -> None:
        self._reply = reply
        self._endpoint = endpoint
        self._ends = ends

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        is_stream = "event-stream" in self._reply.headers.get("content-type", "") and self._reply.is_success
        parts = self._events() if is_stream else self._whole()
        try:
            async with aclosing(parts):
                async for part in parts:
                    yield part
        except _OURS:
            raise
        except Exception as error:
            raise _broken_connection(error) from error

    async def aclose(self) -> None:
        await self._reply.aclose()

    async def _pieces(self, most: int) -> AsyncGenerator[bytes]:
        """Yield the unpacked pieces of the body while they keep to the limits of size and time."""
        size = 0
        async with aclosing(self._reply.aiter_bytes()) as pieces:
            async for piece in pieces:
                size += len(piece)
                if size > most:
                    raise self._too_much(f"more than {most:,} bytes")
                if time.monotonic() > self._ends:
                    raise late_reply(self._endpoint)
                yield piece

    async def _whole(self) -> AsyncGenerator[bytes]:
        # Not its content: that of a request that was redirected is not at hand.
        sent = int(self._reply.request.headers.get("content-length", 0))
        most_values = _MOST_VALUES + _VALUES_PER_BYTE * sent
        most_bytes = _MOST_BYTES + _BYTES_PER_BYTE * sent if self._reply.is_success else _MOST_ERROR_BYTES
        kept, values = [], 0
        async with aclosing(self._pieces(most_bytes)) as pieces:
            async for piece in pieces:
                kept.append(piece)
                values += sum(map(piece.count, _VALUE_MARKS))
                if values > most_values:
                    raise self._too_much(f"more than {most_values:,} values")
        content = b"".join(kept)
        kept.clear()
        self._check_depth(content)
        yield content

    async def _events(self) -> AsyncGenerator[bytes]:
        """Yield whole lines. An event ends with a blank line; without one it would be kept for ever."""
        rest, tail, size = bytearray(), b"", 0
        async with aclosing(self._pieces(_MOST_STREAMED_BYTES)) as pieces:
            async for piece in pieces:
                end = max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1
                rest += piece[:end]
                size += len(piece)
                if end:
                    lines, rest = bytes(rest), bytearray(piece[end:])
                    size = len(rest) if _BLANK_LINE.search(tail + lines) else size
                    tail = (tail + lines)[1 - _LONGEST_BLANK_LINE :]
                    self._check_event(lines)
                    yield lines
                else:
                    rest += piece
                if size > _MOST_EVENT_BYTES:
                    raise self._too_much(f"an event of more than {_MOST_EVENT_BYTES:,} bytes")
        self._check_event(bytes(rest))
        yield bytes(rest)

    def _check_event(self, lines: bytes) -> None:
        """Raise BadReply for what no event can have. The parser of events would replace bytes that are no text."""
        try:
            lines.decode()
        except UnicodeDecodeError as error:
            raise BadReply(f"{self._endpoint.display_url} sent a stream that is not UTF-8", is_charged=True) from error
        self._check_depth(lines)

    def _check_depth(self, content: bytes) -> None:
        """Raise BadReply for JSON too deep to be parsed, shown or compared without the end of Python's stack."""
        if _measure_depth(content) > _DEEPEST and _measure_depth(_STRING.sub(b"", content)) > _DEEPEST:
            raise self._too_much(f"JSON of more than {_DEEPEST} levels")

    def _too_much(self, what: str) -> BadReply:
        return BadReply(
            f"{self._endpoint.display_url} sent {what}, which no reply to this request can have. "
            f"Is this a chat model's address? Look at the server's log.",
            is_charged=True,
        )


def _measure_depth(content: bytes) -> int:
    """Return how deep brackets are nested, those within strings included."""
    brackets = content.translate(None, _NO_BRACKETS)
    if brackets.count(b"[") + brackets.count(b"{") <= _DEEPEST:
        return 0
    return max(accumulate(map(_STEPS.__getitem__, brackets)))


def late_reply(endpoint: Endpoint, received: str | None = None) -> TimedOut:
    """Return what is said of a reply that is not whole at its deadline."""
    return TimedOut(
        f"{endpoint.display_url} sent no whole reply within {endpoint.deadline:g} s. "
        f"Raise --deadline if the model is this slow, or request fewer tokens at once.",
        is_charged=True,
        received=received,
    )


def _broken_connection(error: Exception) -> httpx2.ReadError:
    """Return a known error for any other that comes out of the network."""
    known = error.strerror if isinstance(error, OSError) else None
    if isinstance(error, httpx2.DecodingError):
        known = "it is not packed as it says"
    return httpx2.ReadError(known or str(error) or type(error).__name__)
