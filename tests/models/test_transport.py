"""Every reply of a server is bounded: in bytes once unpacked, in values and depth, in time."""

from __future__ import annotations

import asyncio
import ssl
import time

import httpx2
import pytest
from worst_replies import CLOSE, EVENTS, HEAD, REPLIES, Server, call

from bookwheel.errors import BadReply, ModelError, Refused, TimedOut
from bookwheel.models import client as client_module
from bookwheel.models import transport
from bookwheel.models.client import Client
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.transport import BoundedClient, BoundedTransport
from bookwheel.plan import Sampling
from bookwheel.types import Message

# Those that only the deadline ends.
ENDLESS = ("interim", "comments", "no choices", "chunks of one", "chunk's size")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=[pytest.mark.slow, pytest.mark.long] if "calls of tools" in one else [])
        for one in REPLIES
        if "15 MB" not in one and "300 MB" not in one
    ],
)
def test_the_worst_reply_ends_in_an_error_of_ours_or_a_reply(name):
    server = Server(REPLIES[name])
    deadline = 1.0 if any(word in name for word in ENDLESS) else 60.0
    try:
        outcome, _ = asyncio.run(call(server.port, stream="stream" in name, deadline=deadline))
    finally:
        server.close()
    assert not outcome.startswith("!"), outcome
    assert "Traceback" not in outcome


class Scripted(httpx2.AsyncBaseTransport):
    """A transport that fails, or sends pieces and then fails."""

    def __init__(self, *pieces, error=None, headers=(), fails_at_once=False):
        self.pieces, self.error, self.headers, self.fails_at_once = pieces, error, headers, fails_at_once

    async def handle_async_request(self, request):
        if self.fails_at_once:
            raise self.error

        async def body():
            for piece in self.pieces:
                yield piece
            if self.error:
                raise self.error

        return httpx2.Response(200, headers=list(self.headers), content=body())


def read(transport, deadline=30.0):
    endpoint = Endpoint.resolve("http://h/v1", deadline=deadline)

    async def run():
        async with httpx2.AsyncClient(transport=BoundedTransport(transport, endpoint)) as client:
            return (await client.post("http://h/v1", content=b"{}")).content

    return asyncio.run(run())


def test_a_body_comes_through_as_it_is():
    assert read(Scripted(b'{"a": "[[[', b'{"}')) == b'{"a": "[[[{"}'
    events = b"data: one\n\n: wait\r\n\r\ndata: two"
    pieces = [events[at : at + 1] for at in range(len(events))]
    assert read(Scripted(*pieces, headers=[("content-type", "text/event-stream")])) == events


def test_brackets_within_strings_have_no_depth():
    text = b'{"content": "' + b"[" * 500 + b'\\"{{"}'
    assert read(Scripted(text)) == text
    with pytest.raises(BadReply, match="more than 100 levels"):
        read(Scripted(b"[" * 101))


def test_a_long_event_stream_is_no_long_event():
    piece = b"data: " + b"x" * 1000 + b"\n\n"
    body = read(Scripted(*[piece] * 2000, headers=[("content-type", "text/event-stream")]))
    assert len(body) == 2000 * len(piece)


@pytest.mark.parametrize("fails_at_once", [True, False])
@pytest.mark.parametrize("error", [OSError(5, "broken"), EOFError(), RuntimeError("odd"), MemoryError(), KeyError("k")])
def test_whatever_breaks_below_is_an_error_of_the_network(error, fails_at_once):
    with pytest.raises(httpx2.ReadError):
        read(Scripted(b"{", error=error, fails_at_once=fails_at_once))


def test_the_deadline_holds_while_bytes_keep_coming():
    class Dripping(Scripted):
        async def handle_async_request(self, request):
            async def body():
                while True:
                    await asyncio.sleep(0.01)
                    yield b" "

            return httpx2.Response(200, content=body())

    began = time.perf_counter()
    with pytest.raises(ModelError, match="no whole reply"):
        read(Dripping(), deadline=0.2)
    assert time.perf_counter() - began < 20


def test_cookies_do_not_grow(server, acts, model):
    async def ask():
        asked = model()
        for number in range(70):
            server.plays(acts.sends(acts.completion(), set_cookie=f"c{number}={number}"))
            await asked.reply([Message(role="user", content="Hello")], limit=16, sampling=Sampling())
        await asked.aclose()

    asyncio.run(ask())
    assert len(server.asked[-1][1].get("cookie", "").split(";")) < 66


def test_no_redirect_leaves_tls(server, acts):
    endpoint = Endpoint.resolve("https://127.0.0.1/v1")
    client = endpoint.open_http_client()
    (check,) = client.event_hooks["request"]
    with pytest.raises(Refused, match="without TLS"):
        asyncio.run(check(httpx2.Request("POST", f"{server.url}/chat/completions")))


def test_a_proxy_is_bounded_too(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    client = Endpoint.resolve("https://elsewhere.example/v1").open_http_client()
    assert all(isinstance(one, BoundedTransport) for one in [client._transport, *filter(None, client._mounts.values())])


def test_what_is_packed_twice_is_refused():
    with pytest.raises(BadReply, match="packed 2 times"):
        read(Scripted(b"", headers=[("content-encoding", "gzip, gzip")]))


def test_the_heads_of_the_worst_replies_are_http():
    assert (HEAD + CLOSE).endswith(b"\r\n\r\n")
    assert EVENTS.endswith(b"\r\n\r\n")


def test_certificates_are_loaded_for_the_first_connection_that_needs_them(monkeypatch):
    opened = []
    monkeypatch.setattr(transport, "_open_tls", lambda *_: opened.append(1) or ssl.create_default_context())
    BoundedClient(Endpoint.resolve("http://localhost:1/v1"), httpx2.Timeout(1))
    assert not opened
    late = transport._LateTls(ssl.PROTOCOL_TLS_CLIENT)
    assert late.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="a").context.verify_mode is ssl.CERT_REQUIRED
    assert opened
    BoundedClient(Endpoint.resolve("https://localhost:1/v1"), httpx2.Timeout(1))
    assert len(opened) == 2


class Silent(httpx2.AsyncBaseTransport):
    """A transport that waits for ever: for a connection, for the body, or when it is closed."""

    def __init__(self, place):
        self.place, self.closed = place, 0

    async def _wait(self, place):
        if place == self.place:
            await asyncio.get_running_loop().create_future()

    async def handle_async_request(self, request):
        await self._wait("connection")
        return httpx2.Response(200, headers={"content-type": "application/json"}, stream=SilentBody(self))

    async def aclose(self):
        await self._wait("close")


class SilentBody(httpx2.AsyncByteStream):
    def __init__(self, transport):
        self.transport = transport

    async def __aiter__(self):
        await self.transport._wait("body")
        yield b"{}"

    async def aclose(self):
        self.transport.closed += 1


def post(sender, deadline=0.3):
    endpoint = Endpoint.resolve("http://h/v1", deadline=deadline)

    async def run():
        http = httpx2.AsyncClient(transport=BoundedTransport(sender, endpoint), timeout=600)
        async with Client(endpoint, http) as client:
            return await client.post("/embeddings", {"input": ["x"]})

    return asyncio.run(run())


@pytest.mark.parametrize("place", ["connection", "body"])
def test_whatever_waits_for_ever_below_a_call_it_ends_at_its_deadline(place):
    began = time.monotonic()
    with pytest.raises(TimedOut, match=r"no whole reply within 0\.3 s"):
        post(Silent(place))
    assert time.monotonic() - began < 20


def test_a_connection_that_does_not_close_holds_up_nothing(monkeypatch):
    monkeypatch.setattr(client_module, "_SECONDS_TO_CLOSE", 0.1)
    assert post(Silent("close"), deadline=30) == {}


def test_a_reply_that_breaks_before_anybody_has_it_gives_its_connection_back(monkeypatch):
    def break_there(*_args):
        raise MemoryError

    silent = Silent("nowhere")
    monkeypatch.setattr(transport, "_Body", break_there)
    with pytest.raises(MemoryError):
        post(silent, deadline=30)
    assert silent.closed == 1


@pytest.mark.parametrize(
    ("kind", "body", "most"),
    [
        ("application/json", b"[" + b"[]," * 600_000, "values"),
        ("application/json", b" " * (17 << 20), "bytes"),
        ("application/json", b"[" * 101 + b"]" * 101, "levels"),
        ("application/json", b'{"a":' * 101 + b"1" + b"}" * 101, "levels"),
        ("text/event-stream", b"data: " + b"[" * 101 + b"\n\n", "levels"),
        ("text/event-stream", b"data: " + b"a" * (1 << 20), "an event"),
    ],
)
def test_what_passes_a_bound_is_refused_by_that_bound(kind, body, most):
    pieces = [body[at : at + 65_536] for at in range(0, len(body), 65_536)]
    with pytest.raises(BadReply, match=most):
        read(Scripted(*pieces, headers=[("content-type", kind)]))


def test_what_keeps_to_the_bounds_comes_through():
    for body in (b"[" * 100 + b"]" * 100, b"[" + b"1," * 400_000 + b"1]"):
        assert read(Scripted(body, headers=[("content-type", "application/json")])) == body
