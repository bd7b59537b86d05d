"""What the attacks of attacks.py go against: an endpoint that counts its tokens, and servers in front of it.

The endpoint writes as many words as it may, streams them slowly where that is asked for, and counts every token of
prompt and reply that it has worked on, whoever was still listening. That count is the truth about money.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from bookwheel.serve.engine.access import add_key

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).resolve().parents[2] / "src"
MODEL = "paid"
WINDOW = 4096
# Words of a reply that has no limit.
LONGEST_REPLY = 400
WORDS_PER_CHUNK = 10
SECONDS_PER_CHUNK = 0.01


class PaidEndpoint:
    """An OpenAI-compatible endpoint in a thread of its own. A word is a token."""

    def __init__(self, secret: str = "") -> None:
        self.secret = secret
        self.seen = 0
        """Calls whose prompt had the secret in it."""
        self.tokens = 0
        self.calls = 0
        self._loop = asyncio.new_event_loop()
        self._port: int = 0
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait()
        self.url = f"http://127.0.0.1:{self._port}/v1"

    def close(self) -> None:
        """Stop the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self, ready: threading.Event) -> None:
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 24))
        self._port = server.sockets[0].getsockname()[1]
        ready.set()
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while line := await reader.readline():
                path, length = line.split()[1].decode(), 0
                while (head := await reader.readline()).strip():
                    name, _, value = head.decode().partition(":")
                    length = int(value) if name.lower() == "content-length" else length
                body = json.loads(await reader.readexactly(length)) if length else {}
                if path.endswith("/chat/completions"):
                    await self._complete(body, writer)
                elif path.endswith("/models"):
                    await _send(writer, {"object": "list", "data": [{"id": MODEL, "max_model_len": WINDOW}]})
                elif path.endswith("/secret"):
                    await _send(writer, {"secret": self.secret})
                else:
                    await _send(writer, {"error": {"message": "no such route"}}, b"404 Not Found")
        writer.close()

    async def _complete(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        self.seen += bool(self.secret) and any(self.secret in str(message) for message in body["messages"])
        prompt = sum(len(str(message["content"]).split()) for message in body["messages"])
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or LONGEST_REPLY
        wanted = min(limit, LONGEST_REPLY) * (body.get("n") or 1)
        self.tokens += prompt
        usage = {"prompt_tokens": prompt, "completion_tokens": wanted, "total_tokens": prompt + wanted}
        if not body.get("stream"):
            await asyncio.sleep(SECONDS_PER_CHUNK * wanted / WORDS_PER_CHUNK)
            self.tokens += wanted
            message = {"role": "assistant", "content": "word " * wanted}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            await _send(writer, {"object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage})
            return
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for at in range(0, wanted, WORDS_PER_CHUNK):
            words = min(WORDS_PER_CHUNK, wanted - at)
            self.tokens += words
            _write_chunk(writer, {"choices": [{"index": 0, "delta": {"content": "word " * words}}]})
            await writer.drain()
            await asyncio.sleep(SECONDS_PER_CHUNK)
        _write_chunk(writer, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        _write_chunk(writer, {"choices": [], "usage": usage})
        writer.write(b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()


def _write_chunk(writer: asyncio.StreamWriter, values: dict[str, Any]) -> None:
    payload = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": MODEL, **values}
    writer.write(f"data: {json.dumps(payload)}\n\n".encode())


async def _send(writer: asyncio.StreamWriter, values: dict[str, Any], status: bytes = b"200 OK") -> None:
    payload = json.dumps({"id": "x", "created": 0, **values}).encode()
    head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (status, len(payload))
    writer.write(head + payload)
    await writer.drain()


@dataclass
class Target:
    """A server under attack."""

    url: str
    folder: Path
    endpoint: PaidEndpoint
    secrets: dict[str, str] = field(default_factory=dict)
    """The key of each client."""

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.url.rpartition(":")[2])

    def client(self, name: str = "") -> httpx2.Client:
        """Return a client with this name's key."""
        headers = {"Authorization": f"Bearer {self.secrets[name]}"} if name else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=120, trust_env=False)


@contextmanager
def serving(
    folder: Path,
    endpoint: PaidEndpoint,
    *options: str,
    keys: tuple[str, ...] = (),
    tokens_per_day: int | None = None,
    command: str = "serve",
    **environment: str,
) -> Iterator[Target]:
    """Run a server, with a key for each name."""
    folder.mkdir(parents=True)
    secrets, words = {}, list(options)
    for name in keys:
        secrets[name] = add_key(folder / "keys.toml", name)
        if tokens_per_day:
            with (folder / "keys.toml").open("a") as file:
                file.write(f"tokens_per_day = {tokens_per_day}\n")
    if keys:
        words += ["--key-file", str(folder / "keys.toml")]
    port = _free_port()
    words += ["--port", str(port), "--journal", str(folder / "journal.sqlite")]
    words += ["--model", MODEL, "--base-url", endpoint.url]
    variables = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bookwheel", command, *words], env=variables, stdout=log, stderr=log
        )
    target = Target(f"http://127.0.0.1:{port}", folder, endpoint, secrets)
    try:
        _wait_for(target, process)
        yield target
    finally:
        process.terminate()
        process.wait()


def _wait_for(target: Target, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        with suppress(httpx2.HTTPError), target.client() as client:
            client.get("/healthz")
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit(f"the server did not start:\n{(target.folder / 'log').read_text()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
