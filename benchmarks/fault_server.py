"""An OpenAI-compatible server on loopback that plays faults: broken bodies, statuses and connections, streamed or not.

    python benchmarks/fault_server.py PORT [--rate 0.02] [--seed 1] [--delay 0] [--outages 40:90,300:90] [--tls FOLDER]

Its good reply is a chain: the memory after a section is a hash of the memory before and of the section's text, so that
an answer is right only if every section was taken in once and in order. A model named `fault:NAME` gets that fault for
the first try of every prompt; any other model gets faults at random. GET /counts tells how often each prompt was
answered, which faults were played and how many requests an outage turned away. Standard library only; `--tls` needs
the package cryptography.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
import random
import re
import socket
import ssl
import struct
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Play = Callable[["Exchange"], Awaitable[None]]

CHAT = "/chat/completions"
PAGE = "<!DOCTYPE html><html><body><h1>Please sign in</h1></body></html>"
TAG = r"<{0}>\n?(.*?)\n?</{0}>"


def chain_reply(prompt: str) -> str:
    """Return the reply to a prompt: the next memory of the chain, or its end as the answer."""
    found = {tag: re.findall(TAG.format(tag), prompt, re.DOTALL) for tag in ("memory", "section")}
    memory = re.search(r"sections (\d+) chain ([0-9a-f]{24})", found["memory"][-1] if found["memory"] else "")
    count, chain = (int(memory[1]), memory[2]) if memory else (0, "")
    if not found["section"]:
        return f"\\boxed{{sections {count} chain {chain}}}"
    chain = hashlib.sha256(f"{chain}\n{found['section'][-1]}".encode()).hexdigest()[:24]
    return f"sections {count + 1} chain {chain}"


@dataclass
class Exchange:
    """One request and the connection that it is answered on."""

    server: FaultServer
    writer: asyncio.StreamWriter
    stream: bool
    text: str
    """The good reply."""
    prompt_tokens: int
    closes: bool = False
    """The connection ends with this answer."""

    async def send(self, body: bytes, status: str = "200 OK", kind: str = "", **headers: str) -> None:
        """Send a whole answer."""
        await self.send_head(status, kind, content_length=str(len(body)), **headers)
        self.writer.write(body)
        await self.writer.drain()

    async def send_head(self, status: str = "200 OK", kind: str = "", **headers: str) -> None:
        """Send the status line and the headers."""
        kind = kind or ("text/event-stream" if self.stream else "application/json")
        lines = [f"HTTP/1.1 {status}", f"content-type: {kind}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if self.closes:
            lines.append("connection: close")
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await self.writer.drain()

    async def send_json(self, value: object, status: str = "200 OK", **headers: str) -> None:
        """Send a JSON value; in a stream, as its only event."""
        text = json.dumps(value)
        body = f"data: {text}\n\ndata: [DONE]\n\n" if self.stream and status.startswith("200") else text
        await self.send(body.encode(), status, **headers)

    async def send_completion(self, message: dict[str, Any] | None = None, finish: str = "stop") -> None:
        """Send a well-formed completion with this message."""
        await self.send(self.encode(message or {"content": self.text}, finish))

    def encode(self, message: dict[str, Any], finish: str | None = "stop") -> bytes:
        """Return a completion as a body: JSON, or events that carry it in pieces."""
        usage = {"prompt_tokens": self.prompt_tokens, "completion_tokens": 20}
        if not self.stream:
            choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
            return json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
        text = message.get("content")
        half = len(text) // 2 if isinstance(text, str) else 0
        deltas = [{**message, "content": text[:half]}, {"content": text[half:]}] if half else [message]
        events: list[Any] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        if finish:
            events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        events.append({"choices": [], "usage": usage})
        return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode() + b"data: [DONE]\n\n"

    def cut(self, *, reset: bool = False) -> None:
        """End the connection, with a reset instead of an end if that is wanted."""
        self.closes = True
        if reset and (found := self.writer.get_extra_info("socket")):
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if reset:
            self.writer.transport.abort()


def raw(body: bytes, kind: str = "") -> Play:
    """Return a fault that sends these bytes with status 200."""

    async def play(exchange: Exchange) -> None:
        await exchange.send(body, kind=kind)

    return play


def value(content: object) -> Play:
    """Return a fault that sends this JSON with status 200."""

    async def play(exchange: Exchange) -> None:
        await exchange.send_json(content)

    return play


def message(finish: str = "stop", **fields: Any) -> Play:
    """Return a fault that sends a completion with this message."""

    async def play(exchange: Exchange) -> None:
        await exchange.send_completion(fields, finish)

    return play


def status(line: str, body: object = None, **headers: str) -> Play:
    """Return a fault that sends this status, with a page or an error object."""

    async def play(exchange: Exchange) -> None:
        if isinstance(body, str):
            await exchange.send(body.encode(), line, kind="text/html", **headers)
        else:
            error = body or {"error": {"message": f"upstream said {line}", "type": "server_error", "code": None}}
            await exchange.send_json(error, line, **headers)

    return play


async def _cut_body(exchange: Exchange) -> None:
    body = exchange.encode({"content": exchange.text})
    exchange.closes = True
    await exchange.send_head(content_length=str(len(body)))
    exchange.writer.write(body[: len(body) // 2])
    await exchange.writer.drain()
    exchange.cut()


async def _cut_event(exchange: Exchange) -> None:
    """Half of one event, then a proper end of the body."""
    body = exchange.encode({"content": exchange.text})
    await exchange.send(body[: len(body) // 3])


async def _unfinished(exchange: Exchange) -> None:
    """Send the text without the event that ends it; without a stream, a body that ends in the middle."""
    body = exchange.encode({"content": exchange.text}, finish=None) if exchange.stream else b'{"choices": [{"index": 0'
    await exchange.send(body.replace(b"data: [DONE]\n\n", b""))


async def _short_length(exchange: Exchange) -> None:
    body = exchange.encode({"content": exchange.text})
    exchange.closes = True
    await exchange.send_head(content_length=str(len(body) // 2))
    exchange.writer.write(body)
    exchange.cut()


async def _long_length(exchange: Exchange) -> None:
    body = exchange.encode({"content": exchange.text}, finish=None if exchange.stream else "stop")
    body = body.replace(b"data: [DONE]\n\n", b"")
    exchange.closes = True
    await exchange.send_head(content_length=str(len(body) + 100))
    exchange.writer.write(body)
    exchange.cut()


async def _cut_gzip(exchange: Exchange) -> None:
    body = gzip.compress(exchange.encode({"content": exchange.text}))
    await exchange.send(body[: len(body) // 2], content_encoding="gzip")


async def _no_gzip(exchange: Exchange) -> None:
    await exchange.send(exchange.encode({"content": exchange.text}), content_encoding="gzip")


async def _not_utf8(exchange: Exchange) -> None:
    body = exchange.encode({"content": "sections 1"})
    await exchange.send(body.replace(b"sec", b"\xff\xfe\xe9\x80sec"))


async def _broken_chunks(exchange: Exchange) -> None:
    exchange.closes = True
    await exchange.send_head(transfer_encoding="chunked")
    exchange.writer.write(b'5\r\n{"cho\r\nzz\r\nnonsense\r\n')
    exchange.cut()


async def _cut_chunks(exchange: Exchange) -> None:
    body = exchange.encode({"content": exchange.text})
    exchange.closes = True
    await exchange.send_head(transfer_encoding="chunked")
    exchange.writer.write(b"%x\r\n" % len(body) + body[: len(body) // 2])
    await exchange.writer.drain()
    exchange.cut()


async def _error_in_stream(exchange: Exchange) -> None:
    if not exchange.stream:
        await exchange.send_json({"error": {"message": "worker died", "code": 500}, "choices": []})
        return
    start = exchange.encode({"content": exchange.text}, finish=None).split(b"\n\n")[0]
    await exchange.send(start + b'\n\ndata: {"error": {"message": "worker died", "code": 500}}\n\n')


async def _no_answer(exchange: Exchange) -> None:
    exchange.cut()


async def _reset(exchange: Exchange) -> None:
    exchange.cut(reset=True)


async def _half_head(exchange: Exchange) -> None:
    exchange.writer.write(b"HTTP/1.1 200 OK\r\ncontent-ty")
    await exchange.writer.drain()
    exchange.cut()


async def _no_http(exchange: Exchange) -> None:
    exchange.writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    await exchange.writer.drain()
    exchange.cut()


async def _late_reset(exchange: Exchange) -> None:
    body = exchange.encode({"content": exchange.text})
    exchange.closes = True
    await exchange.send_head(content_length=str(len(body)))
    exchange.writer.write(body[:40])
    await exchange.writer.drain()
    exchange.cut(reset=True)


async def _hang(exchange: Exchange) -> None:
    exchange.closes = True
    await exchange.server.wait(600)
    exchange.cut()


async def _hang_in_body(exchange: Exchange) -> None:
    body = exchange.encode({"content": exchange.text})
    exchange.closes = True
    await exchange.send_head(content_length=str(len(body)))
    exchange.writer.write(body[: len(body) // 2])
    await _hang(exchange)


async def _drip(exchange: Exchange) -> None:
    """Blanks for ever: never silent, never done."""
    exchange.closes = True
    await exchange.send_head()
    while not await exchange.server.wait(0.1):
        exchange.writer.write(b": wait\n\n" if exchange.stream else b" ")
        await exchange.writer.drain()
    exchange.cut()


OVERLOADED = {"error": {"message": "slow down", "type": "rate_limit_error", "code": None}}
FAULTS: dict[str, Play] = {
    "bad-json": raw(b'data: {"choices": [{"mess\n\n'),
    "bare-bad-json": raw(b'{"choices": [{"mess'),
    "cut-body": _cut_body,
    "cut-event": _cut_event,
    "unfinished": _unfinished,
    "empty-body": raw(b""),
    "short-length": _short_length,
    "long-length": _long_length,
    "cut-gzip": _cut_gzip,
    "no-gzip": _no_gzip,
    "not-utf8": _not_utf8,
    "plain-text": raw(b"upstream connect error or disconnect/reset before headers", "text/plain"),
    "html": raw(PAGE.encode(), "text/html"),
    "html-as-json": raw(PAGE.encode()),
    "no-choices": value({"id": "x", "object": "chat.completion"}),
    "null-choices": value({"choices": None}),
    "empty-choices": value({"choices": []}),
    "number-choices": value({"choices": [7]}),
    "list": value([1, 2]),
    "null": value(None),
    "error-with-200": value({"error": {"message": "upstream failed", "code": 502}}),
    "error-in-stream": _error_in_stream,
    "finish-error": message("error", content="half a"),
    "finish-abort": message("abort", content="half a"),
    "null-content": message(content=None),
    "number-content": message(content=7),
    "empty-text": message(content=""),
    "blank-text": message(content=" \n \n"),
    "only-special-tokens": message(content="<|im_end|>"),
    "only-thoughts": message(content="<think>Let me see</think>"),
    "only-reasoning": message(content=None, reasoning_content="Let me see"),
    "tool-call": message("tool_calls", content=None, tool_calls=[{"id": "1", "type": "function"}]),
    "redirect": status("302 Found", PAGE, location="/login"),
    "redirect-nowhere": status("302 Found", PAGE),
    "html-400": status("400 Bad Request", PAGE),
    "json-400": status("400 Bad Request"),
    "html-403": status("403 Forbidden", PAGE),
    "html-404": status("404 Not Found", PAGE),
    "json-404": status("404 Not Found", {"detail": "Not Found"}),
    "405": status("405 Method Not Allowed", {"detail": "Method Not Allowed"}),
    "408": status("408 Request Timeout"),
    "409": status("409 Conflict"),
    "425": status("425 Too Early"),
    "429": status("429 Too Many Requests", OVERLOADED),
    "429-retry-after": status("429 Too Many Requests", OVERLOADED, retry_after="0"),
    "429-retry-after-ms": status("429 Too Many Requests", OVERLOADED, retry_after_ms="20"),
    "500": status("500 Internal Server Error"),
    "502-html": status("502 Bad Gateway", PAGE),
    "503-retry-after": status("503 Service Unavailable", retry_after="0"),
    "504": status("504 Gateway Timeout"),
    "529": status("529 Overloaded"),
    "broken-chunks": _broken_chunks,
    "cut-chunks": _cut_chunks,
    "no-answer": _no_answer,
    "reset": _reset,
    "late-reset": _late_reset,
    "half-head": _half_head,
    "no-http": _no_http,
    "hang": _hang,
    "hang-in-body": _hang_in_body,
    "drip": _drip,
}
"""Every fault passes: the next try of the same prompt gets the good reply."""
SLOW = frozenset({"hang", "hang-in-body", "drip"})
"""Faults that end at a timeout or a deadline only."""
FINAL: dict[str, Play] = {
    "wrong-key": status("401 Unauthorized", {"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}),
    "json-403": status("403 Forbidden", {"error": {"message": "no access", "code": None}}),
    "no-credit": status("429 Too Many Requests", {"error": {"message": "quota", "code": "insufficient_quota"}}),
    "no-model": status(
        "404 Not Found", {"error": {"message": "The model x does not exist", "code": "model_not_found"}}
    ),
    "too-long": status("400 Bad Request", {"error": {"message": "maximum context length is 9 tokens", "code": None}}),
}
"""Errors that no second try can mend."""


@dataclass
class FaultServer:
    """The server, its faults and what it has counted."""

    rate: float = 0.0
    seed: int = 0
    delay: float = 0.0
    outages: tuple[tuple[float, float], ...] = ()
    """Seconds from the first reply to an outage's begin, and its length."""
    answered: Counter[str] = field(default_factory=Counter)
    """Good replies by prompt."""
    played: Counter[str] = field(default_factory=Counter)
    turned_away: int = 0
    requests: int = 0

    def __post_init__(self) -> None:
        self._tries: Counter[str] = Counter()
        self._draw = random.Random(self.seed)
        self._over = asyncio.Event()
        self._began: float | None = None
        self._open: set[asyncio.Task[Any]] = set()
        self._mixed = [name for name in FAULTS if name != "drip"]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests until it ends."""
        task = asyncio.current_task()
        assert task
        self._open.add(task)
        try:
            while not self._over.is_set() and (head := await _read_head(reader)):
                body = await reader.readexactly(int(head.get("content-length", 0)))
                if not await self._answer(head, body, writer):
                    break
        except (OSError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def wait(self, seconds: float) -> bool:
        """Wait, and return True when the server ends before."""
        try:
            await asyncio.wait_for(self._over.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """End all connections."""
        self._over.set()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _answer(self, head: dict[str, str], body: bytes, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection goes on."""
        path = head["path"]
        exchange = Exchange(self, writer, stream=False, text="", prompt_tokens=0)
        if path == "/counts":
            counts = {"answered": sum(self.answered.values()), "repeated": sum(n - 1 for n in self.answered.values())}
            await exchange.send_json(counts | {"faults": dict(self.played), "turned_away": self.turned_away})
        elif self._is_out():
            self.turned_away += 1
            exchange.cut(reset=True)
        elif path.endswith("/models"):
            await exchange.send_json({"object": "list", "data": [{"id": "chain", "max_model_len": 8192}]})
        elif path.endswith(CHAT):
            exchange = await self._chat(json.loads(body), writer)
        else:
            await exchange.send(b"{}", "404 Not Found")
        return not exchange.closes

    def _is_out(self) -> bool:
        now = time.monotonic() - self._began if self._began is not None else -1.0
        return any(begin <= now < begin + length for begin, length in self.outages)

    async def _chat(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> Exchange:
        self._began = self._began or time.monotonic()
        self.requests += 1
        prompt = "\n".join(str(message["content"]) for message in request["messages"])
        key = hashlib.sha256(prompt.encode()).hexdigest()[:16]
        stream = bool(request.get("stream"))
        exchange = Exchange(self, writer, stream, chain_reply(prompt), prompt_tokens=len(prompt) // 4)
        if self.delay:
            await asyncio.sleep(self.delay)
        name = self._choose_fault(str(request.get("model")), key)
        self._tries[key] += 1
        if name:
            self.played[name] += 1
            await (FAULTS | FINAL)[name](exchange)
        else:
            self.answered[key] += 1
            await exchange.send_completion()
        return exchange

    def _choose_fault(self, model: str, key: str) -> str:
        if model.startswith("fault:"):
            return "" if self._tries[key] else model.removeprefix("fault:")
        return self._draw.choice(self._mixed) if self._draw.random() < self.rate else ""


async def _read_head(reader: asyncio.StreamReader) -> dict[str, str]:
    line = await reader.readline()
    if not line:
        return {}
    head = {"path": line.split()[1].decode()}
    while (line := await reader.readline()).strip():
        name, _, text = line.decode().partition(":")
        head[name.lower()] = text.strip()
    return head


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for 127.0.0.1, signed by itself, and its key; return both."""
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "fault-server.pem", folder / "fault-server-key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


def load_tls(folder: Path) -> ssl.SSLContext:
    """Return the server's side of TLS with a new certificate in the folder."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*make_certificate(folder))
    return context


async def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--outages", default="")
    parser.add_argument("--tls", type=Path)
    options = parser.parse_args()
    pairs = (pair.split(":") for pair in options.outages.split(",") if pair)
    outages = tuple((float(begin), float(length)) for begin, length in pairs)
    faults = FaultServer(rate=options.rate, seed=options.seed, delay=options.delay, outages=outages)
    tls = load_tls(options.tls) if options.tls else None
    server = await asyncio.start_server(faults.serve, "127.0.0.1", options.port, limit=1 << 24, ssl=tls)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
