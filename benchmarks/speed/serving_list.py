"""How long a list of readings takes while a server reads.

    python benchmarks/speed/serving_list.py [READINGS] [SECONDS] [SECONDS_PER_CALL] [OTHER/src]

A server of the command line reads so many documents of 320,000 characters at once, from an endpoint that replies after
a set time. One client asks for `GET /readings` twenty times a second, before and while they are read. With a second
source tree, both are measured in turn. Milliseconds of the clock, and the server's seconds of CPU.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from loopback import SERVER, free_port, wait_for

HERE = Path(__file__).resolve().parents[2] / "src"
WORDS = "the keeper of the lamp at the harbour wrote a note about the red wheel and the tide "
SECONDS_BETWEEN_REQUESTS = 0.05
UPLOADS = 16  # a server takes so many bodies at once


async def poll(client: httpx2.AsyncClient, seconds: float) -> dict[str, float]:
    """Ask for the list again and again; return how long that took."""
    took, ends = [], time.monotonic() + seconds
    while time.monotonic() < ends:
        began = time.perf_counter()
        (await client.get("/readings")).raise_for_status()
        took.append(1000 * (time.perf_counter() - began))
        await asyncio.sleep(SECONDS_BETWEEN_REQUESTS)
    took.sort()
    figures = {"median": statistics.median(took), "p99": took[int(0.99 * len(took))], "most": took[-1]}
    return {"n": len(took), **{name: round(value, 1) for name, value in figures.items()}}


async def start(client: httpx2.AsyncClient, number: int, turns: asyncio.Semaphore) -> None:
    """Upload a document of its own, in its turn, and begin to read it."""
    text = f"Book {number}. {WORDS * 4000}"
    async with turns:
        upload = await client.post("/documents", content=text.encode(), headers={"content-type": "text/plain"})
    body = {"document": upload.raise_for_status().json()["document"], "question": "What did the keeper write?"}
    (await client.post("/readings", json={**body, "way": "sequential"})).raise_for_status()


async def measure(address: str, readings: int, seconds: float) -> dict[str, Any]:
    """Return the times before and while the documents are read, and how many were read in the end."""
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=address, timeout=120, trust_env=False, limits=limits) as client:
        idle = await poll(client, seconds)
        turns = asyncio.Semaphore(UPLOADS)
        await asyncio.gather(*(start(client, number, turns) for number in range(readings)))
        busy = await poll(client, seconds)
        listed = (await client.get("/readings", params={"limit": readings})).json()
    return {"idle": idle, "busy": busy, "under_way": sum(one["status"] == "reading" for one in listed)}


def wait_until_open(port: int) -> None:
    """Return when something listens."""
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("the server did not start")


def serve(tree: Path, readings: int, seconds: float, delay: str) -> dict[str, Any]:
    """Measure a server of this tree, with an endpoint of its own."""
    endpoint, port = free_port(), free_port()
    base = f"http://127.0.0.1:{endpoint}/v1"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bookwheel", "serve", "--quiet", "--port", str(port), "--base-url", base]
        command += ["--model", "bare", "--readings", str(2 * readings), "--journal", f"{folder}/journal.sqlite"]
        environment = {**os.environ, "PYTHONPATH": str(tree), "OPENAI_API_KEY": ""}
        model = subprocess.Popen([*SERVER, str(endpoint), delay])
        wait_for(endpoint)
        server = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        try:
            wait_until_open(port)
            found = asyncio.run(measure(f"http://127.0.0.1:{port}", readings, seconds))
            ticks = Path(f"/proc/{server.pid}/stat").read_text("ascii").rpartition(")")[2].split()[11:13]
            found["server_cpu"] = round(sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), 1)
        finally:
            for process in (server, model):
                process.kill()
                process.wait()
    return found


def main() -> None:
    """Measure, and print a line of JSON for each tree."""
    readings, seconds, delay, *others = (*sys.argv[1:], *("200", "10", "1.0")[len(sys.argv) - 1 :])
    for tree in (HERE, *map(Path, others)):
        found = serve(tree.resolve(), int(readings), float(seconds), delay)
        print(json.dumps({"tree": str(tree), "readings": int(readings), **found}), flush=True)


if __name__ == "__main__":
    main()
