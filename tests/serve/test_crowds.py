"""One client's crowd of sockets, sessions, bad headers or log lines takes nothing from the others."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import time
from contextlib import ExitStack, closing, suppress

import pytest

pytest.importorskip("starlette")

import uvicorn
from uvicorn.server import ServerState

from bookwheel.errors import InputError
from bookwheel.serve.engine.access import Key, KeyRing, hash_secret
from bookwheel.serve.engine.settings import Limits, ServerSettings
from bookwheel.serve.server import (
    _MOST_LINES,
    _RESERVED_FILES,
    LineLimit,
    TimedProtocol,
    bind_socket,
    find_most_connections,
)

SECRET = "bw-a-long-secret-that-nobody-guesses"
RINGS = KeyRing([Key(name="reader", sha256=hash_secret(SECRET), requests_per_minute=3)])


def connect(up) -> socket.socket:
    host, _, port = up.url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=10)


@pytest.mark.parametrize("begin", [b"", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_half_open_connections_give_way_to_new_ones_the_oldest_first(serving, begin: bytes) -> None:
    limits = Limits(connections=16, header_seconds=60)
    with serving(settings=ServerSettings(limits=limits)) as up, ExitStack() as stack:
        sockets = [stack.enter_context(closing(connect(up))) for _ in range(60)]
        for one in sockets:
            with suppress(OSError):
                one.sendall(begin)
        with up.client() as client:
            assert client.get("/healthz").status_code == 200
        sockets[0].settimeout(5)
        with suppress(ConnectionError):
            assert sockets[0].recv(10) == b""
        sockets[-1].settimeout(0.1)
        with pytest.raises(TimeoutError):
            sockets[-1].recv(10)


def test_a_connection_that_is_used_again_is_no_longer_the_oldest(serving) -> None:
    limits = Limits(connections=8, header_seconds=60)
    with serving(settings=ServerSettings(limits=limits)) as up, ExitStack() as stack:
        kept = stack.enter_context(closing(connect(up)))
        ask = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        for _ in range(3):
            others = [stack.enter_context(closing(connect(up))) for _ in range(4)]
            time.sleep(0.05)
            kept.sendall(ask)
            answer = b""
            while not answer.endswith(b"}"):
                piece = kept.recv(10_000)
                assert piece
                answer += piece
            assert b"200 OK" in answer
        assert others


@pytest.mark.parametrize(
    ("limits", "wanted", "most"),
    [
        ((1024, 1024), 1024, 1024 - _RESERVED_FILES),
        ((1024, 4096), 1024, 1024),
        ((4096, 4096), 100, 100),
        ((1024, resource.RLIM_INFINITY), 1024, 1024),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 1024, 1024),
    ],
)
def test_connections_stay_below_the_limit_of_open_files(
    monkeypatch, limits: tuple[int, int], wanted: int, most: int
) -> None:
    asked = []
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, values: asked.append(values))
    assert find_most_connections(wanted) == most
    assert all(soft <= hard or hard == resource.RLIM_INFINITY for soft, hard in asked)


def test_a_server_with_too_few_descriptors_says_so_before_it_starts(monkeypatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (256, 256))
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, _values: None)
    with pytest.raises(InputError, match="ulimit -n 352"):
        find_most_connections(1024)


@pytest.mark.parametrize(
    "headers", [{"Host": "[::1"}, {"Host": "[]"}, {"Origin": "http://[::1"}, {"Origin": "http://[x]:y"}]
)
def test_a_malformed_host_or_origin_is_the_clients_mistake(up, headers: dict[str, str]) -> None:
    with up.client() as client:
        answer = client.get("/readings", headers=headers)
    assert answer.status_code == 400
    assert answer.json()["kind"] == next(iter(headers)).lower()


def test_signing_in_counts_as_a_request_of_the_key(serving) -> None:
    with serving(keys=RINGS) as up, up.client() as client:
        statuses = [client.post("/session", json={"key": SECRET}).status_code for _ in range(5)]
    assert statuses == [204, 204, 204, 429, 429]


def test_tools_keep_no_session_that_another_client_could_use_up(serving) -> None:
    pytest.importorskip("mcp")
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    with serving() as up, up.client() as client:
        answer = client.post("/mcp", json=body, headers={"Accept": "application/json, text/event-stream"})
    assert answer.status_code == 200
    assert "mcp-session-id" not in answer.headers


def make_record(text: str, at: float, *values: object) -> logging.LogRecord:
    record = logging.LogRecord("bookwheel", logging.WARNING, __file__, 1, text, values, None)
    record.created = at
    return record


def test_a_flood_of_one_kind_of_line_is_counted_and_not_written() -> None:
    limit = LineLimit()
    passed = [limit.filter(make_record("reading %s broke", 1000.0 + number / 100, number)) for number in range(500)]
    assert passed == [True] * _MOST_LINES + [False] * (500 - _MOST_LINES)
    assert limit.filter(make_record("another line", 1005.0))
    later = make_record("reading %s broke", 1061.0, 7)
    assert limit.filter(later)
    assert later.getMessage() == f"reading 7 broke ({500 - _MOST_LINES} more like it in an earlier minute)"
    again = make_record("reading %s broke", 1062.0, 8)
    assert limit.filter(again)
    assert again.getMessage() == "reading 8 broke"


def test_a_long_line_is_cut_so_that_a_long_address_fills_no_log() -> None:
    record = make_record('"GET %s HTTP/1.1" 404', 1000.0, "/" + "a" * 60_000)
    assert LineLimit().filter(record)
    assert len(record.getMessage()) < 1100
    assert record.getMessage().endswith("… (60,020 characters)")


def test_what_is_searched_for_stands_in_no_log() -> None:
    path = "/search?query=gout"
    said = logging.LogRecord("uvicorn.access", logging.INFO, "", 0, '%s - "%s %s" %d', ("::1", "GET", path, 200), None)
    assert LineLimit().filter(said)
    assert said.getMessage() == '::1 - "GET /search" 200'


def test_clients_whose_body_does_not_come_give_way_to_new_ones(serving) -> None:
    limits = Limits(connections=16, header_seconds=60)
    with serving(settings=ServerSettings(limits=limits)) as up, ExitStack() as stack:
        for _ in range(60):
            one = stack.enter_context(closing(connect(up)))
            with suppress(OSError):
                one.sendall(b"POST /session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{")
            time.sleep(0.02)  # until the server has it
        for _ in range(3):
            with up.client() as client:
                assert client.get("/healthz").status_code == 200


def test_a_reply_that_nobody_reads_is_given_up(serving) -> None:
    with serving(settings=ServerSettings(limits=Limits(header_seconds=0.5))) as up, closing(connect(up)) as one:
        one.sendall(b"GET /page/sample.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 400)
        time.sleep(1.5)
        received = 0
        with suppress(OSError):
            while piece := one.recv(1 << 20):
                received += len(piece)
        assert received < 400 * 40_000


class Drip:
    """An app whose replies are so long, behind the server's protocol with its deadlines."""

    def __init__(self, length: int, seconds: float, *, is_small: bool = True) -> None:
        self.is_small = is_small
        self.body = bytes(length)
        self.seconds = seconds

    async def __call__(self, scope, receive, send) -> None:
        headers = [(b"content-length", str(len(self.body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})

    async def talk(self, talk_to) -> object:
        """Return what a client says of a connection; small buffers leave most of a reply with the server."""
        config = uvicorn.Config(self, http=TimedProtocol.for_server(self.seconds, 16), lifespan="off", log_config=None)
        config.load()
        state = ServerState()
        made = lambda: config.http_protocol_class(config=config, server_state=state, app_state={})  # noqa: E731
        listening = bind_socket("127.0.0.1", 0)
        if self.is_small:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 12)
        server = await asyncio.get_running_loop().create_server(made, sock=listening)
        with closing(socket.socket()) as client:
            if self.is_small:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
            client.settimeout(10)
            client.connect(listening.getsockname())
            said = await asyncio.to_thread(talk_to, client, state)
        server.close()
        return said


def test_a_long_reply_is_sent_whole_to_a_slow_but_steady_reader() -> None:
    def read_slowly(client: socket.socket, _state: ServerState) -> int:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        received = 0
        while piece := client.recv(20_000):
            received += len(piece)
            time.sleep(0.01)
        return received

    begun = time.monotonic()
    assert asyncio.run(Drip(2_000_000, 0.3).talk(read_slowly)) > 2_000_000
    assert time.monotonic() - begun > 0.6


@pytest.mark.slow
def test_the_kernels_buffers_do_not_hide_that_a_client_reads() -> None:
    def read_slowly(client: socket.socket, _state: ServerState) -> int:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        received = 0
        while piece := client.recv(50_000):
            received += len(piece)
            time.sleep(0.05)
        return received

    assert asyncio.run(Drip(8_000_000, 0.5, is_small=False).talk(read_slowly)) > 8_000_000


@pytest.mark.parametrize("ask", ["GET / HTTP/1.1\r\nConnection: close", "GET / HTTP/1.0", "GET / HTTP/1.1"])
def test_the_last_bytes_of_a_reply_are_not_kept_for_ever(ask: str) -> None:
    def read_nothing(client: socket.socket, state: ServerState) -> int:
        client.sendall(f"{ask}\r\nHost: a\r\n\r\n".encode())
        time.sleep(0.1)
        held = len(state.connections)
        with suppress(OSError):
            client.sendall(b"G")
        time.sleep(1.0)
        return held - len(state.connections)

    assert asyncio.run(Drip(60_000, 0.2).talk(read_nothing)) == 1


def test_the_streams_of_one_key_take_no_connection_from_another(serving, gated) -> None:
    other = "bw-another-long-secret-that-nobody-guesses"
    keys = KeyRing([Key(name="eve", sha256=hash_secret(SECRET)), Key(name="ada", sha256=hash_secret(other))])
    model = gated()
    model.after(0)
    with serving(model, keys=keys, settings=ServerSettings(limits=Limits(connections=16))) as up, ExitStack() as stack:
        eve = {"Authorization": f"Bearer {SECRET}"}
        with up.client(headers=eve) as client:
            id_ = client.post("/readings", json={"text": "Ada wound it. " * 99, "question": "Who?"}).json()["reading"]
        statuses = []
        for _ in range(12):
            client = stack.enter_context(up.client(headers=eve))
            statuses.append(stack.enter_context(client.stream("GET", f"/readings/{id_}/events")).status_code)
        assert statuses == [200] * 8 + [429] * 4
        with up.client(headers=eve) as client:
            assert client.post(f"/readings/{id_}/cancel", json={}).status_code == 200
            assert client.delete(f"/readings/{id_}").status_code == 204
        with up.client(headers={"Authorization": f"Bearer {other}"}) as client:
            assert client.get("/readings").status_code == 200
        model.after(10**9)


def test_the_only_key_may_use_every_connection(serving, gated) -> None:
    model = gated()
    model.after(0)
    keys = KeyRing([Key(name="ada", sha256=hash_secret(SECRET))])
    headers = {"Authorization": f"Bearer {SECRET}"}
    with serving(model, keys=keys, settings=ServerSettings(limits=Limits(connections=16))) as up, ExitStack() as stack:
        with up.client(headers=headers) as client:
            id_ = client.post("/readings", json={"text": "Ada wound it. " * 99, "question": "Who?"}).json()["reading"]
        for _ in range(12):
            client = stack.enter_context(up.client(headers=headers))
            events = stack.enter_context(client.stream("GET", f"/readings/{id_}/events"))
            assert events.status_code == 200
        model.after(10**9)
