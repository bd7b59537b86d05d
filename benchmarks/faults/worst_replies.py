"""What the worst replies of a model's server cost: peak memory, seconds and the error, each in a process of its own.

    python benchmarks/faults/worst_replies.py [NAME...] [--json FILE]

A server on loopback plays each reply to one call with a deadline of 12 seconds. The process that calls may have 6 GiB.
A reply is survived if the call ends with a reply or an error of ours, within the deadline and a second, below 300 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import resource
import socket
import subprocess
import sys
import threading
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEADLINE = 12.0
MOST_MEGABYTES = 300
_BLOCK = 1 << 16
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
EVENTS = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
LETTER = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
CLOSE = b"connection: close\r\n\r\n"
GOOD = {
    "choices": [{"index": 0, "message": {"content": "Noted."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2},
}


def _event(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


def _repeat(piece: bytes, most: int = 1 << 42) -> Iterator[bytes]:
    block = piece * max(1, _BLOCK // len(piece))
    for _ in range(most // len(block)):
        yield block


def _packed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=31)
    yield HEAD + b"content-encoding: gzip\r\n" + CLOSE
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def _twice_packed() -> Iterator[bytes]:
    # A packed row of empty blocks: whoever unpacks twice works on a thousand times what is sent and gets nothing.
    empty = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + b"\x00\x00\x00\xff\xff" * 4_000_000
    yield HEAD + b"content-encoding: gzip, gzip\r\n" + CLOSE
    yield gzip.compress(empty, 1)


def _whole(*pieces: bytes) -> Callable[[], Iterator[bytes]]:
    return lambda: iter((HEAD + CLOSE, *pieces))


def _then(first: bytes, rest: Callable[[], Iterator[bytes]]) -> Callable[[], Iterator[bytes]]:
    def play() -> Iterator[bytes]:
        yield first
        yield from rest()

    return play


def _good(**changes: object) -> bytes:
    return json.dumps(GOOD | changes).encode()


def _content(text: str) -> bytes:
    return _good(choices=[{"message": {"content": text}, "finish_reason": "stop"}])


def _whole_chunks(body: bytes, more: bytes = b"") -> Callable[[], Iterator[bytes]]:
    return lambda: iter((HEAD + more + b"transfer-encoding: chunked\r\n" + CLOSE, body))


def _whole_events(body: bytes) -> Callable[[], Iterator[bytes]]:
    return lambda: iter((EVENTS, body))


_TOOL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_CALLS = {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **_TOOL}]}}]}


REPLIES: dict[str, Callable[[], Iterator[bytes]]] = {
    "300 MB of gzip": lambda: _packed(_repeat(b" ", 300 << 20)),
    "300 MB of gzip, JSON": lambda: _packed(_repeat(b"[],", 300 << 20)),
    "gzip in gzip": _twice_packed,
    "endless blanks": _then(HEAD + CLOSE, lambda: _repeat(b" ")),
    "endless JSON": _then(HEAD + CLOSE + b"[", lambda: _repeat(b"[],")),
    "endless text in JSON": _then(HEAD + CLOSE + b'{"choices": "', lambda: _repeat(b"a")),
    "15 MB of empty lists": _then(HEAD + CLOSE + b"[", lambda: _repeat(b"[],", 15 << 20)),
    "15 MB of numbers": _then(HEAD + CLOSE + b"[", lambda: _repeat(b"1,", 15 << 20)),
    "15 MB of text, wide": _whole(_content("a" * (15 << 20) + "x").replace(b"x", b"\xf0\x9f\x99\x82")),
    "15 MB of text": _whole(_content("word " * (3 << 20))),
    "1,000,000 levels": _whole(b"[" * 1_000_000),
    "1,000,000 levels, closed": _whole(b"[" * 1_000_000 + b"]" * 1_000_000),
    "900 levels in an error": _whole(b'{"error": ' + b'{"message":' * 900 + b"1" + b"}" * 900 + b"}"),
    "a number of 10^30": _whole(_good(usage={"prompt_tokens": 10**30, "completion_tokens": 10**30})),
    "a number of 4,000 digits": _whole(_good(choices=[{"logprobs": {"content": [{"logprob": 10**4000}]}}])),
    "a number of 100,000 digits": _whole(b'{"usage": ' + b"9" * 100_000 + b"}"),
    "interim replies for ever": lambda: _repeat(b"HTTP/1.1 102 Processing\r\n\r\n"),
    "headers for ever": _then(HEAD, lambda: _repeat(b"x-a: b\r\n")),
    "a header for ever": _then(HEAD + b"x-a: ", lambda: _repeat(b"b")),
    "a status line for ever": _then(b"HTTP/1.1 200 ", lambda: _repeat(b"b")),
    "chunks of one byte": _then(HEAD + b"transfer-encoding: chunked\r\n\r\n", lambda: _repeat(b"1\r\n \r\n")),
    "a chunk's size for ever": _then(HEAD + b"transfer-encoding: chunked\r\n\r\n", lambda: _repeat(b"0")),
    "trailers for ever": _then(HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\n", lambda: _repeat(b"x-a: b\r\n")),
    "stream: a line for ever": _then(EVENTS + b"data: ", lambda: _repeat(b"a")),
    "stream: an event for ever": _then(EVENTS, lambda: _repeat(b"data: a\n")),
    "stream: comments for ever": _then(EVENTS, lambda: _repeat(b": wait\n\n")),
    "stream: text for ever": _then(EVENTS, lambda: _repeat(_event("word "))),
    "stream: single letters for ever": _then(EVENTS, lambda: _repeat(LETTER)),
    "stream: reasoning for ever": _then(
        EVENTS, lambda: _repeat(b'data: {"choices":[{"delta":{"reasoning":"abcdefgh"}}]}\n\n')
    ),
    "stream: no choices for ever": _then(EVENTS, lambda: _repeat(b"data: {}\n\n")),
    "stream: after its end": _then(EVENTS + _event("ok", "stop") + b"data: [DONE]\n\n", lambda: _repeat(b"a")),
    "stream: 100,000 levels": _then(EVENTS + b"data: " + b"[" * 100_000 + b"\n\n", lambda: iter(())),
    "100,000 calls of tools": _whole(_good(choices=[{"message": {"content": None, "tool_calls": [_TOOL] * 100_000}}])),
    "another protocol": _then(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n", lambda: _repeat(b"\0")),
    "no status line": _then(b'{"choices": []}', lambda: _repeat(b" ")),
    "a chunk of 2^63": _whole_chunks(b"7fffffffffffffff\r\n{"),
    "chunks and a length": _whole_chunks(b"2\r\n{}\r\n0\r\n\r\n", b"content-length: 9000000000\r\n"),
    "packed by Brotli": _then(HEAD + b"content-encoding: br\r\n" + CLOSE, lambda: _repeat(b"\x0b", 1 << 20)),
    "packed by Zstandard": _then(
        HEAD + b"content-encoding: zstd\r\n" + CLOSE, lambda: _repeat(b"\x28\xb5\x2f\xfd", 1 << 20)
    ),
    "1,000,000 times one name": _whole(b'{"choices": [{' + b'"a":1,' * 1_000_000 + b'"b":1}]}'),
    "stream: calls of tools for ever": _then(
        EVENTS, lambda: _repeat(b"data: " + json.dumps(_CALLS).encode() + b"\n\n")
    ),
    "stream: ends of lines by CR": _whole_events(_event("ok", "stop").replace(b"\n", b"\r") + b"data: [DONE]\r\r"),
    "stream: names and waits": _whole_events(
        b"retry: 9" + b"9" * 4000 + b"\nid: " + b"x" * 100_000 + b"\n" + _event("ok", "stop")
    ),
    "stream: UTF-16": _whole_events(_event("ok", "stop").decode().encode("utf-16")),
    "stream: 900 levels in an error": _then(
        EVENTS + b'data: {"error": ' + b'{"message":' * 900 + b"1" + b"}" * 900 + b"}\n\n", lambda: iter(())
    ),
}


class Server:
    """Plays one reply to every connection."""

    def __init__(self, play: Callable[[], Iterator[bytes]]) -> None:
        self._play = play
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(1 << 16)
                for piece in self._play():
                    connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1)
            except OSError:
                return

    def close(self) -> None:
        self._socket.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Survival:
    """What one reply came to."""

    name: str
    outcome: str
    seconds: float
    megabytes: float

    @property
    def is_survived(self) -> bool:
        """True where it ended in time, in bounds, as a reply or an error of ours."""
        is_ours = not self.outcome.startswith("!")
        return is_ours and self.seconds <= DEADLINE + 1 and self.megabytes < MOST_MEGABYTES


def play_reply(name: str) -> Survival:
    """Let a process of its own make one call that gets this reply."""
    server = Server(REPLIES[name])
    command = [sys.executable, __file__, "--call", str(server.port), *(["--stream"] if "stream" in name else [])]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
        found = json.loads(ran.stdout) if ran.stdout else {"outcome": "!" + ran.stderr[-200:], "seconds": 0, "kib": 0}
    except subprocess.TimeoutExpired:
        found = {"outcome": "!never ended", "seconds": 90.0, "kib": 0}
    finally:
        server.close()
    return Survival(name=name, outcome=found["outcome"], seconds=found["seconds"], megabytes=found["kib"] * 1024 / 1e6)


async def call(port: int, *, stream: bool, deadline: float = DEADLINE) -> tuple[str, float]:
    """Ask once; return the reply, or the error, "!" before it if it is not ours, and the seconds that it took."""
    from bookwheel.errors import ModelError
    from bookwheel.models.openai import OpenAIModel
    from bookwheel.plan import Sampling
    from bookwheel.types import Message

    model = OpenAIModel(name="m", base_url=f"http://127.0.0.1:{port}/v1", timeout=5, deadline=deadline, stream=stream)
    began = time.perf_counter()
    try:
        reply = await model.reply([Message(role="user", content="Hello")], limit=64, sampling=Sampling())
    except ModelError as error:
        outcome = f"{type(error).__name__}: {error}"[:300]
    except Exception as error:  # noqa: BLE001 - what is looked for
        outcome = f"!{type(error).__name__}: {error}"[:300]
    else:
        outcome = f"a reply of {len(reply.text)} characters"
    seconds = time.perf_counter() - began
    await model.aclose()
    return outcome, seconds


def main() -> int:
    """Play all replies, or those named, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--call", type=int)
    parser.add_argument("--stream", action="store_true")
    options = parser.parse_args()
    if options.call:
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        outcome, seconds = asyncio.run(call(options.call, stream=options.stream))
        # Not getrusage: its peak is that of the process that started this one, if that was larger.
        status = Path("/proc/self/status").read_text()
        kib = int(status.partition("VmHWM:")[2].split()[0])
        print(json.dumps({"outcome": outcome, "seconds": seconds, "kib": kib}))
        return 0
    results = []
    for name in options.names or REPLIES:
        result = play_reply(name)
        results.append(result)
        sign = "  " if result.is_survived else "! "
        print(f"{sign}{name:32} {result.megabytes:7.0f} MB {result.seconds:6.1f} s  {result.outcome[:110]}", flush=True)
    broken = [result for result in results if not result.is_survived]
    print(f"{len(results)} replies, {len(broken)} not survived; most {max(r.megabytes for r in results):.0f} MB")
    if options.json:
        rows = [{"name": r.name, "outcome": r.outcome, "seconds": r.seconds, "megabytes": r.megabytes} for r in results]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
