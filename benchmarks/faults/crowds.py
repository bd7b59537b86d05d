"""What one careless or hostile client does to everybody else's server: sockets, sessions, bad headers, floods of logs.

    python benchmarks/faults/crowds.py
    python benchmarks/faults/crowds.py --sockets 1500 --descriptors 1024 --sessions 10001 --floods 20000

A server (`bookwheel serve`, the scripted model, two keys) runs in a process of its own that may open so many
descriptors. Eve has one key and Ada the other; what is counted is what Ada notices, and the lines of the log.
"""

from __future__ import annotations

import argparse
import json
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from bookwheel.serve.engine.access import add_key

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).resolve().parents[2] / "src"
BEGINNING = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "crowd", "version": "1"}},
}
_SECONDS_TO_START = 180
TEXT = "Ada wound the clock. " * 400
CROWDS = ("unread pages", "missing bodies", "streams")
MCP_HEADERS = {"Accept": "application/json, text/event-stream"}


class CrowdedServer:
    """A server of two keys, with its log in a file."""

    def __init__(self, folder: Path, descriptors: int) -> None:
        keys = folder / "keys.toml"
        self.eve, self.ada = add_key(keys, "eve"), add_key(keys, "ada")
        self._log = folder / "log.txt"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        words = ["-m", "bookwheel", "serve", "--model", "scripted", "--port", str(self.port)]
        words += ["--key-file", str(keys), "--journal", str(folder / "journal.sqlite")]

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *words],
                stdout=log,
                stderr=log,
                preexec_fn=limit,  # noqa: PLW1509 - this process has one thread
                env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin"},
            )
        if self.wait_until_healthy(_SECONDS_TO_START) == float("inf"):
            self.process.kill()
            raise SystemExit(f"the server did not start: {self._log.read_text()[-500:]}")

    def client(self, secret: str = "") -> httpx2.Client:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, trust_env=False, timeout=10)

    def wait_until_healthy(self, seconds: float) -> float:
        """Return the seconds until /healthz answers a new connection; infinity where it does not."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            with suppress(httpx2.HTTPError), self.client() as client:
                if client.get("/healthz", timeout=2).status_code == 200:
                    return round(time.monotonic() - began, 2)
            time.sleep(0.1)
        return float("inf")

    def count_log(self) -> dict[str, int]:
        text = self._log.read_text(errors="replace")
        return {"lines": text.count("\n"), "tracebacks": text.count("Traceback (most recent call last)")}


def open_half(server: CrowdedServer, count: int) -> dict[str, object]:
    """Open sockets that never finish their first request, and see whether others are still answered."""
    sockets = []
    try:
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", server.port), timeout=5)
            one.sendall(BEGINNING)
            sockets.append(one)
        time.sleep(1)
        seconds = server.wait_until_healthy(8)
    finally:
        for one in sockets:
            one.close()
    return {"sockets": count, "healthz_seconds": seconds, "after": server.wait_until_healthy(30), **server.count_log()}


def crowd_sessions(server: CrowdedServer, count: int) -> dict[str, object]:
    """Sign in so often with one key that another one's browser is signed out."""
    with server.client() as ada, server.client() as eve:
        ada.post("/session", json={"key": server.ada}).raise_for_status()
        statuses = [eve.post("/session", json={"key": server.eve}).status_code for _ in range(count)]
        signed_in = ada.get("/readings").status_code == 200
    return {"sessions": count, "made": statuses.count(204), "ada_is_signed_in": signed_in}


def crowd_tools(server: CrowdedServer, count: int) -> dict[str, object]:
    """Open so many MCP sessions with one key that another one's client gets none."""
    with server.client(server.eve) as eve, server.client(server.ada) as ada:
        before = memory_of(server)
        statuses = [eve.post("/mcp", json=INITIALIZE, headers=MCP_HEADERS).status_code for _ in range(count)]
        last = ada.post("/mcp", json=INITIALIZE, headers=MCP_HEADERS).status_code
        grown = memory_of(server) - before
    return {"sessions": count, "made": statuses.count(200), "ada_gets": last, "grown_kib": grown}


def memory_of(server: CrowdedServer) -> int:
    """Return the kibibytes that the server's process holds."""
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0])


def crowd(server: CrowdedServer, count: int, request: bytes) -> dict[str, object]:
    """Send the same from so many connections and read nothing; see whether Ada still gets an answer."""
    before = memory_of(server)
    with ExitStack() as stack:
        for _ in range(count):
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.settimeout(5)
            with suppress(OSError):
                one.connect(("127.0.0.1", server.port))
                one.sendall(request)
        time.sleep(5)
        seconds, grown = server.wait_until_healthy(60), memory_of(server) - before
        answered = ask_while_crowded(server)
    return {"sockets": count, "healthz_seconds": seconds, "grown_kib": grown, **answered, **server.count_log()}


def list_crowds(server: CrowdedServer) -> dict[str, bytes]:
    """Return what a crowd may send: pages that nobody reads, bodies that do not come, streams of one key for ever."""
    host = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    key = b"Authorization: Bearer " + server.eve.encode() + b"\r\nAccept: application/json, text/event-stream\r\n"
    return {
        "unread pages": (b"GET /page/reading.js" + host + b"\r\n") * 300,
        "missing bodies": b"POST /session" + host + b"Content-Length: 1000\r\n\r\n{",
        "streams": b"GET /mcp" + host + key + b"\r\n",
    }


def vanish(server: CrowdedServer, count: int) -> dict[str, object]:
    """Leave in the middle of uploads and of chats, by a reset; see whether readings end and the rest goes on."""
    head = b" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n"
    upload = b"POST /documents" + head + b"\r\nx"
    said = [{"role": "user", "content": "Who?"}]
    body = json.dumps({"model": "scripted", "messages": said, "document": TEXT}).encode()
    chat = b"POST /v1/chat/completions" + head + b"Content-Type: application/json\r\n\r\n" + body
    before, left = memory_of(server), 0
    for number in range(count):
        with suppress(OSError), socket.create_connection(("127.0.0.1", server.port), timeout=5) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            key = server.eve.encode()
            one.sendall(upload % (key, 900_000) if number % 2 else chat % (key, len(body)))
            left += 1
    began = time.monotonic()
    with server.client(server.ada) as ada:
        while time.monotonic() - began < 60 and "\nbookwheel_readings_under_way 0.0\n" not in ada.get("/metrics").text:
            time.sleep(0.2)
    found = {"left": left, "readings_end_seconds": round(time.monotonic() - began, 1)}
    found["grown_kib"] = memory_of(server) - before
    return {**found, **ask_while_crowded(server), **server.count_log()}


def ask_while_crowded(server: CrowdedServer) -> dict[str, object]:
    """Let Ada put a question; return how long it took, and whether it was answered."""
    began = time.monotonic()
    try:
        with server.client(server.ada) as ada:
            begun = ada.post("/readings", json={"text": TEXT, "question": "Who wound the clock?"})
            if begun.is_error:
                return {"ada": begun.text[:200]}
            events = ada.get(f"/readings/{begun.json()['reading']}/events").text
    except httpx2.HTTPError as error:
        return {"ada": repr(error)}
    return {"ada": '"answered"' in events, "ada_seconds": round(time.monotonic() - began, 2)}


def send_bad_headers(server: CrowdedServer) -> dict[str, object]:
    """Send hosts and origins that are none."""
    found = {}
    for name, headers in {
        "Host: [::1": {"Host": "[::1"},
        "Host: []": {"Host": "[]"},
        "Origin: http://[::1": {"Origin": "http://[::1"},
        "Origin: http://[x]:y": {"Origin": "http://[x]:y"},
    }.items():
        with server.client(server.ada) as client:
            found[name] = client.get("/readings", headers=headers).status_code
    return found


def flood_logs(server: CrowdedServer, count: int) -> dict[str, object]:
    """Send what is no HTTP so often that the log would fill the disk."""
    before = server.count_log()
    for _ in range(count):
        with suppress(OSError), socket.create_connection(("127.0.0.1", server.port), timeout=5) as one:
            one.sendall(b"\x00\r\n\r\n")
            one.recv(1000)
    after = server.count_log()
    return {"sent": count, "lines": after["lines"] - before["lines"], "healthz_seconds": server.wait_until_healthy(30)}


@contextmanager
def serve(descriptors: int) -> Iterator[CrowdedServer]:
    with tempfile.TemporaryDirectory() as folder:
        server = CrowdedServer(Path(folder), descriptors)
        try:
            yield server
        finally:
            server.process.terminate()
            try:
                server.process.wait(30)
            except subprocess.TimeoutExpired:
                server.process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--descriptors", type=int, default=1024)
    parser.add_argument("--sockets", type=int, default=1500)
    parser.add_argument("--readers", type=int, default=1000)
    parser.add_argument("--vanishing", type=int, default=600)
    parser.add_argument("--sessions", type=int, default=10_001)
    parser.add_argument("--tools", type=int, default=2000)
    parser.add_argument("--floods", type=int, default=5000)
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (min(hard, max(soft, max(options.sockets, options.readers) + 200)), hard)
    )
    with serve(options.descriptors) as server:
        print("half-open", json.dumps(open_half(server, options.sockets)), flush=True)
    for name in CROWDS:
        with serve(options.descriptors) as server:
            sent = list_crowds(server)[name]
            print(name, json.dumps(crowd(server, options.readers, sent)), flush=True)
    with serve(options.descriptors) as server:
        print("vanish", json.dumps(vanish(server, options.vanishing)), flush=True)
    with serve(options.descriptors) as server:
        print("headers", json.dumps(send_bad_headers(server)), flush=True)
        print("logs", json.dumps(flood_logs(server, options.floods)), flush=True)
        print("sessions", json.dumps(crowd_sessions(server, options.sessions)), flush=True)
        print("tools", json.dumps(crowd_tools(server, options.tools)), flush=True)


if __name__ == "__main__":
    main()
