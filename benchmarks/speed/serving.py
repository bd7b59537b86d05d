"""Many streams at once, what a request pays that needs no reading, a soak, and the page in a browser.

    python benchmarks/speed/serving.py streams [N] [STEPS] [SECONDS_PER_CALL]
    python benchmarks/speed/serving.py straight [REQUESTS]
    python benchmarks/speed/serving.py soak [SECONDS] [CLIENTS] [SEED]
    python benchmarks/speed/serving.py page [STEPS] [SECONDS]

`streams`: N chat completions are read and streamed at once by one server, whose model writes the time of its reply into
the memory; an event's delay is from there to its arrival at the client, with the journal's write in between. Server and
clients are two processes of one machine. `straight`: the same request to a bare endpoint and through the server, turn
by turn in one run. `soak` (serving_soak.py): readings followed by clients that hang up and come back, on a server that
is killed and started again; it ends with 1 if a step or an answer was lost or came twice. `page` (serving_page.py): the
bytes of the first load, and the frames while a long timeline is scrubbed.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
from serving_page import measure
from serving_soak import soak

from bookwheel.journal import Journal
from bookwheel.models.openai import OpenAIModel
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.serve.app import build_app
from bookwheel.serve.engine.settings import Limits, ServerSettings
from bookwheel.serve.server import Server, bind_socket

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from loopback import SERVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.models.base import Model

CHUNK = 50
PLAN = Plan(question_tokens=40, chunk_tokens=CHUNK, memory_tokens=40, answer_tokens=20)


def serve(kind: str, setting: str) -> None:
    """Run the server's process; it prints its address and, at its end, its largest size."""

    async def live() -> None:
        if kind == "streams":
            script = lambda _messages: f"The time was {time.time():.6f} then"  # noqa: E731
            model: Model = ScriptedModel(script, plan=PLAN, seconds_per_call=float(setting))
        else:
            model = OpenAIModel(name="bare", base_url=setting, window=8192)
        limits = Limits(readings=4096, calls=4096, waiting_calls=4096)
        with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:
            app = build_app(journal=journal, models={model.name: model}, settings=ServerSettings(limits=limits))
            server = Server(app, bind_socket("127.0.0.1", 0))
            print(server.address, flush=True)
            await server.serve()
            await model.aclose()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, flush=True)

    asyncio.run(live())


@contextmanager
def serving(kind: str, setting: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, __file__, "serve", kind, setting]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.wait()


async def one_stream(client: httpx2.AsyncClient, number: int, steps: int, delays: list[float]) -> bool:
    text = f"Book {number}. " + "word " * (CHUNK * steps - 10)
    messages = [{"role": "user", "content": text}, {"role": "user", "content": "What time was it?"}]
    body = {"model": "bookwheel/scripted", "messages": messages, "stream": True}
    seen = 0
    async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
        async for line in answer.aiter_lines():
            now = time.time()
            if "reasoning_content" in line:
                seen += 1
                if found := re.search(r"time was ([\d.]+)", line):
                    delays.append(now - float(found[1]))
            elif line.startswith("data: {") and '"content": "The time' in line:
                return seen >= steps - 1
    return False


async def streams(address: str, count: int, steps: int) -> None:
    delays: list[float] = []
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=address, timeout=600, limits=limits, trust_env=False) as client:
        began = time.perf_counter()
        whole = await asyncio.gather(*(one_stream(client, n, steps, delays) for n in range(count)))
    delays.sort()
    told = {
        "streams": count,
        "whole": sum(whole),
        "events": len(delays),
        "seconds": round(time.perf_counter() - began, 2),
        "median_ms": round(statistics.median(delays) * 1000, 1),
        "p99_ms": round(delays[int(len(delays) * 0.99)] * 1000, 1),
        "most_ms": round(delays[-1] * 1000, 1),
    }
    print(json.dumps(told))


def straight(address: str, bare: str, count: int) -> None:
    took: dict[str, list[float]] = {"bare": [], "served": []}
    body = {"model": "bare", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 16}
    with httpx2.Client(timeout=30, trust_env=False) as client:
        for turn in range(count + 20):
            for name, url in (("bare", bare), ("served", f"{address}/v1")):
                began = time.perf_counter()
                client.post(f"{url}/chat/completions", json=body).raise_for_status()
                if turn >= 20:
                    took[name].append((time.perf_counter() - began) * 1000)
    medians = {name: round(statistics.median(values), 2) for name, values in took.items()}
    print(json.dumps({"requests": count, **medians, "added_ms": round(medians["served"] - medians["bare"], 2)}))


def main() -> None:
    kind, *given = sys.argv[1:]
    if kind == "serve":
        serve(*given)
    elif kind == "streams":
        count, steps, delay = (*given, *("500", "20", "0.5")[len(given) :])
        with serving("streams", delay) as (address, process):
            asyncio.run(streams(address, int(count), int(steps)))
            process.terminate()
            print(json.dumps({"server_mib": int(process.stdout.read())}))
    elif kind == "soak":
        seconds, clients, seed = (*given, *("600", "50", "1")[len(given) :])
        told = asyncio.run(soak(float(seconds), int(clients), int(seed)))
        print(json.dumps(told))
        sys.exit(0 if told["whole"] else 1)
    elif kind == "page":
        steps, seconds = (*given, *("700", "8")[len(given) :])
        print(json.dumps(measure(int(steps), float(seconds))))
    else:
        port = "8799"
        bare = f"http://127.0.0.1:{port}/v1"
        with subprocess.Popen([*SERVER, port]) as endpoint:
            time.sleep(0.5)
            try:
                with serving("straight", bare) as (address, _):
                    straight(address, bare, int(given[0]) if given else 500)
            finally:
                endpoint.kill()


if __name__ == "__main__":
    os.environ.pop("OPENAI_API_KEY", None)
    main()
