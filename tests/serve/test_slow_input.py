"""What is slow to arrive or to convert holds up nobody else."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from bookwheel.documents.children import run_in_child
from bookwheel.serve.engine.settings import Limits, ServerSettings


@pytest.fixture
def limited(serving):
    return lambda **limits: serving(settings=ServerSettings(limits=Limits(**limits)))


def connect(up) -> socket.socket:
    host, _, port = up.url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=60)


@pytest.mark.parametrize("begin", [b"", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
@pytest.mark.slow
def test_a_half_open_request_is_closed(limited, begin: bytes) -> None:
    with limited(header_seconds=0.05) as up, closing(connect(up)) as client:
        client.sendall(begin)
        assert client.recv(100) == b""


@pytest.mark.slow
def test_a_second_half_request_on_a_kept_connection_is_closed(limited) -> None:
    with limited(header_seconds=0.3) as up, closing(connect(up)) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b"200 OK" in client.recv(10_000)
        client.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        rest = b""
        while block := client.recv(10_000):
            rest += block
        assert b"HTTP/1.1" not in rest


@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00",
        b"GET / please\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost\r\n\r\n",
        b"POST /documents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        (
            b"POST /readings HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n"
        ),
    ],
)
def test_what_is_no_request_is_told_so_in_json(limited, request_: bytes) -> None:
    with limited() as up, closing(connect(up)) as client:
        client.sendall(request_)
        head, _, body = b"".join(iter(lambda: client.recv(10_000), b"")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert json.loads(body)["kind"] == "bad_request"


def test_no_request_within_the_body_of_another_is_answered(limited) -> None:
    hidden = b"GET /hidden HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    heads = b"POST /memories HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with limited() as up, closing(connect(up)) as client:
        client.sendall(heads + b"Content-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden)
        answers = b"".join(iter(lambda: client.recv(10_000), b""))
    assert answers.startswith(b"HTTP/1.1 400")
    assert answers.count(b"HTTP/1.1") == 1


def test_a_silent_body_is_declined(limited) -> None:
    with limited(body_silence=0.1) as up, closing(connect(up)) as client:
        client.sendall(b"POST /documents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nabc")
        assert b"408" in client.recv(10_000).split(b"\r\n")[0]


@pytest.mark.slow
def test_a_dripping_body_is_declined(limited) -> None:
    with limited(body_silence=0.2, body_rate=1000) as up, closing(connect(up)) as client:
        client.sendall(b"POST /documents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n")
        ended = threading.Event()

        def drip() -> None:
            while not ended.wait(0.05):
                try:
                    client.sendall(b"x")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            assert b"408" in client.recv(10_000).split(b"\r\n")[0]
        finally:
            ended.set()
            thread.join()


@pytest.mark.slow
def test_a_document_that_takes_too_long_is_refused_with_its_name(limited, monkeypatch) -> None:
    monkeypatch.setattr("bookwheel.serve.engine.documents.open_isolated", open_slowly)
    with limited(conversion_seconds=1) as up, up.client() as client:
        answer = client.post("/documents", content=b"x", headers={"X-Filename": "slow.html"})
        assert answer.status_code == 400
        assert "slow.html takes more than 4 seconds" in answer.json()["error"]


@pytest.mark.slow
def test_conversions_in_line_leave_the_rest_of_the_server_free(limited, monkeypatch) -> None:
    monkeypatch.setattr("bookwheel.serve.engine.documents.open_isolated", open_slowly)
    with limited(conversions=1, conversion_seconds=0.5, waiting_documents=2) as up:
        uploads = [threading.Thread(target=upload, args=(up, n)) for n in range(6)]
        for thread in uploads:
            thread.start()
        with up.client() as client:
            begun = time.monotonic()
            while any(thread.is_alive() for thread in uploads) and time.monotonic() - begun < 1:
                assert client.get("/readings").status_code == 200
                assert client.get("/healthz").status_code == 200
        for thread in uploads:
            thread.join()


def upload(up, number: int) -> None:
    with up.client() as client:
        answer = client.post("/documents", content=b"x", headers={"X-Filename": f"{number}.html"})
        assert answer.status_code in {400, 429}


def open_slowly(_path, name: str):
    """A document whose child never ends by itself."""
    from bookwheel.documents.opening import IsolatedDocument

    return IsolatedDocument(name, run_in_child(time_out, name=name), Path(name))


def time_out():
    raise NotImplementedError


time_out.__module__, time_out.__qualname__ = "signal", "pause"  # what the child finds under this name


def test_a_full_disk_quota_is_said(limited) -> None:
    with limited(journal_bytes=1) as up, up.client() as client:
        answer = client.post("/documents", content=b"words", headers={"X-Filename": "a.txt"})
        assert (answer.status_code, answer.json()["kind"]) == (507, "disk_quota")
