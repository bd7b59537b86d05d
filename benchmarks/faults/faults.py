"""The faults that fault_server.py plays: broken bodies, statuses and connections, streamed or not."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Play = Callable[["Exchange"], Awaitable[None]]

PAGE = "<!DOCTYPE html><html><body><h1>Please sign in</h1></body></html>"


@dataclass
class Exchange:
    """One request and the connection that it is answered on."""

    writer: asyncio.StreamWriter
    server_ends: asyncio.Event
    """Set when the server ends."""
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

    async def wait(self, seconds: float) -> bool:
        """Wait, and return True when the server ends before."""
        try:
            await asyncio.wait_for(self.server_ends.wait(), seconds)
        except TimeoutError:
            return False
        return True

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
    await exchange.wait(600)
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
    while not await exchange.wait(0.1):
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
