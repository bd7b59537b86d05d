"""Two servers on loopback: one that answers as badly as it is told to, and llama.cpp's own with the local weights."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bookwheel.models.openai import OpenAIModel
from bookwheel.plan import Sampling
from bookwheel.types import Message, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Act = Callable[[BaseHTTPRequestHandler], None]

CHAT = "/v1/chat/completions"


class Faulty:
    """A server whose routes play what they are given: one answer after the other, the last one again and again."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.over, self.reached = threading.Event(), threading.Event()
        self._plays: dict[str, list[Act]] = {}
        self.busy = self.most_busy = 0
        self._lock = threading.Lock()
        faulty = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                faulty.answer(self)

            do_GET = do_POST  # noqa: N815 - the name that http.server asks for

            def log_message(self, *args: object) -> None:
                """Keep the tests' output clean."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.root = f"http://127.0.0.1:{self._http.server_port}"
        self.url = f"{self.root}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def plays(self, *acts: Act, route: str = CHAT) -> None:
        self._plays[route] = list(acts)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("content-length", 0))
        body = handler.rfile.read(length)
        with self._lock:
            self.asked.append(
                (
                    handler.path,
                    {name.lower(): value for name, value in handler.headers.items()},
                    json.loads(body) if body else None,
                )
            )
            self.busy += 1
            self.most_busy = max(self.most_busy, self.busy)
            acts = self._plays.get(handler.path, [sends({"detail": "Not Found"}, 404)])
            act = acts.pop(0) if len(acts) > 1 else acts[0]
        try:
            act(handler)
        except OSError:
            handler.close_connection = True
        finally:
            with self._lock:
                self.busy -= 1

    def bodies(self, route: str = CHAT) -> list[Any]:
        return [body for path, _, body in self.asked if path == route]

    def close(self) -> None:
        self.over.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def hangs(self, handler: BaseHTTPRequestHandler) -> None:
        """Take the request and never answer."""
        self.reached.set()
        self.over.wait(30)
        handler.close_connection = True


def sends(body: object, status: int = 200, *, kind: str = "application/json", **headers: str) -> Act:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()

    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return act


def completion(
    text: str | None = "Noted.", finish: str | None = "stop", usage: tuple[int, int] | None = (7, 3), **more: Any
) -> dict[str, Any]:
    """A whole reply's JSON; `message` and `choice` add fields there, anything else at the top."""
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": finish, **more.pop("choice", {})}
    counted = {"usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}} if usage else {}
    return {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **counted, **more}


def fault(status: int, message: str, *, code: str | None = None, param: str | None = None, **headers: str) -> Act:
    error = {"message": message, "type": "invalid_request_error", "code": code, "param": param}
    return sends({"error": error}, status, **headers)


def streams(
    *pieces: str, finish: str | None = "stop", usage: tuple[int, int] | None = (7, 3), ends: bool = True
) -> Act:
    """The pieces as server-sent events, in chunks; without `ends` the connection is cut in mid-reply."""
    events: list[Any] = [
        {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces
    ]
    if finish:
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        events.append({"choices": [], "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}})
    lines = [f"data: {json.dumps(event)}\n\n" for event in events] + (["data: [DONE]\n\n"] if ends else [])

    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for line in lines:
            handler.wfile.write(f"{len(line.encode()):x}\r\n{line}\r\n".encode())
        if ends:
            handler.wfile.write(b"0\r\n\r\n")
        else:
            cut(handler)

    return act


def drops(handler: BaseHTTPRequestHandler) -> None:
    """Half of a reply, then a cut connection."""
    data = json.dumps(completion()).encode()
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data[: len(data) // 2])
    cut(handler)


def cut(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def ask(
    model: OpenAIModel, text: str = "Hello", *, limit: int = 16, sampling: Sampling | None = None, times: int = 1
) -> Reply:
    """Ask so many times, one after the other, and close the model; the last reply."""

    async def run() -> Reply:
        try:
            for _ in range(times):
                reply = await model.reply(
                    [Message(role="user", content=text)], limit=limit, sampling=sampling or Sampling()
                )
            return reply
        finally:
            await model.aclose()

    return asyncio.run(run())


class Acts:
    """What a server can be told to do, for the tests to name."""

    sends = staticmethod(sends)
    completion = staticmethod(completion)
    fault = staticmethod(fault)
    streams = staticmethod(streams)
    drops = staticmethod(drops)
    cut = staticmethod(cut)
    ask = staticmethod(ask)


@pytest.fixture
def acts() -> type[Acts]:
    return Acts


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    faulty = Faulty()
    try:
        yield faulty
    finally:
        faulty.close()


@pytest.fixture
def model(server: Faulty) -> Callable[..., OpenAIModel]:
    """A model behind the faulty server, without second tries."""

    def make(**settings: Any) -> OpenAIModel:
        return OpenAIModel(**{"name": "m", "base_url": server.url, "timeout": 60.0, **settings})

    return make


@contextmanager
def llama_server(weights: Path) -> Iterator[str]:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads = 4096, 2, 1
    params.verbosity, params.warmup = -1, False
    running = xllamacpp.Server(params)
    yield f"{running.listening_address}/v1"
    del running


@pytest.fixture(scope="session")
def llama() -> Iterator[str]:
    """The base URL of a real llama.cpp server with the local model."""
    known = Path.home() / ".cache/bookwheel/SmolLM2-135M-Instruct.Q8_0.gguf"
    weights = Path(os.environ.get("BOOKWHEEL_WEIGHTS", known))
    if not weights.exists():
        pytest.skip(f"no weights at {weights}")
    pytest.importorskip("xllamacpp")
    with llama_server(weights) as url:
        yield url
