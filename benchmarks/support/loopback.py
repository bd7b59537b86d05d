"""A bare OpenAI-compatible server on loopback for measurements: it replies at once, or after a set delay, and counts.

    python benchmarks/support/loopback.py PORT [DELAY_SECONDS]

GET /counts tells how often each prompt (by hash) was answered. Standard library only, one connection at a time each.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import sys
import time
from collections import Counter
from urllib.request import urlopen

SERVER = (sys.executable, __file__)
"""The command that starts it; a port follows."""
_NOTES = "a note of some length that stays about the same\n" * 4


class Loopback:
    """Answers every chat completion with the same notes, numbered by the prompt."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.counts: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keep a connection until the client closes it."""
        try:
            while head := await self._head(reader):
                length = int(head.get("content-length", 0))
                body = await reader.readexactly(length) if length else b""
                payload = json.dumps(await self._answer(head["path"], body)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(payload)
                    + payload
                )
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _head(self, reader: asyncio.StreamReader) -> dict[str, str]:
        line = await reader.readline()
        if not line:
            return {}
        head = {"path": line.split()[1].decode()}
        while (line := await reader.readline()).strip():
            name, _, value = line.decode().partition(":")
            head[name.lower()] = value.strip()
        return head

    async def _answer(self, path: str, body: bytes) -> dict[str, object]:
        if path == "/counts":
            return dict(self.counts)
        if path.endswith("/models"):
            return {"object": "list", "data": [{"id": "bare", "object": "model", "max_model_len": 8192}]}
        if not path.endswith("/chat/completions"):
            return {}
        key = hashlib.sha256(json.dumps(json.loads(body)["messages"]).encode()).hexdigest()[:16]
        if self.delay:
            await asyncio.sleep(self.delay)
        self.counts[key] += 1
        message = {"role": "assistant", "content": f"note {key}\n{_NOTES}"}
        tokens = len(body) // 4
        usage = {"prompt_tokens": tokens, "completion_tokens": 50, "total_tokens": tokens + 50}
        choice = {"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}
        return {
            "id": key,
            "object": "chat.completion",
            "created": 0,
            "model": "bare",
            "choices": [choice],
            "usage": usage,
        }


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    """Return when the server listens."""
    for _ in range(400):
        try:
            urlopen(f"http://127.0.0.1:{port}/counts").close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("the server did not start")


async def main() -> None:
    """Serve until killed."""
    bare = Loopback(float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
    server = await asyncio.start_server(bare.serve, "127.0.0.1", int(sys.argv[1]), backlog=1024, limit=1 << 24)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
