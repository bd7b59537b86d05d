"""The soak of serving.py: many readings followed over HTTP while lines break and the server is killed.

Clients begin readings (each with an Idempotency-Key) and follow them to the end, one after the other, until the time is
up. A line is hung up after a few events now and then and taken up again with Last-Event-ID; the server is killed with
SIGKILL now and then and started again over the same journal. At the end every reading is fetched and looked at: its
steps are numbered from 0 without a gap, tile the document, are what its client was told, each once, and there is one
answer. The model replies after 0.2 to 0.6 seconds, drawn anew for each call.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.serve.app import build_app
from bookwheel.serve.engine.settings import Limits, ServerSettings
from bookwheel.serve.server import Server, bind_socket

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.types import Message, Reply

CHUNK = 50
PLAN = Plan(question_tokens=40, chunk_tokens=CHUNK, memory_tokens=40, answer_tokens=20)
PATIENCE = 300
"""Seconds after the last beginning in which everything has to end."""


class Unhurried(ScriptedModel):
    """Notes the newest page number that it saw, after a while."""

    def __init__(self) -> None:
        super().__init__(self._note, plan=PLAN)

    @staticmethod
    def _note(messages: Sequence[Message]) -> str:
        pages = re.findall(r"page(\d+)", messages[-1].content)
        return f"The newest page is {max(map(int, pages), default=0)}"

    async def reply(self, *given: Any, **more: Any) -> Reply:
        """In its own time."""
        await asyncio.sleep(random.uniform(0.2, 0.6))
        return await super().reply(*given, **more)


def serve(folder: str, port: str) -> None:
    """Run the server's process."""

    async def live() -> None:
        model = Unhurried()
        settings = ServerSettings(limits=Limits(readings=4096, calls=4096, waiting_calls=4096))
        with Journal(Path(folder) / "journal.sqlite") as journal:
            server = Server(
                build_app(journal=journal, models={model.name: model}, settings=settings),
                bind_socket("127.0.0.1", int(port)),
            )
            print(server.address, flush=True)
            await server.serve()

    asyncio.run(live())


@dataclass(slots=True)
class Told:
    """What one client was told of its reading."""

    key: str
    length: int
    id: str = ""
    steps: list[dict[str, Any]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    status: str = ""


@dataclass(slots=True)
class Soak:
    """One run."""

    folder: str
    chance: random.Random
    until: float
    address: str = ""
    process: subprocess.Popen[str] | None = None
    kills: int = 0
    hang_ups: int = 0
    broken: int = 0
    slowest_start: float = 0.0
    told: list[Told] = field(default_factory=list)

    async def start(self) -> None:
        """Start the server."""
        began, port = time.perf_counter(), self.address.rpartition(":")[2] or "0"
        command = [sys.executable, __file__, self.folder, port]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = (await asyncio.to_thread(self.process.stdout.readline)).strip()
        async with httpx2.AsyncClient(base_url=self.address, trust_env=False, timeout=60) as client:
            (await client.get("/healthz")).raise_for_status()
        self.slowest_start = max(self.slowest_start, time.perf_counter() - began)

    async def kill_now_and_then(self) -> None:
        """Kill and start again until the time is up."""
        while (pause := self.chance.uniform(6, 14)) and time.monotonic() + pause < self.until:
            await asyncio.sleep(pause)
            self.process.kill()
            await asyncio.to_thread(self.process.wait)
            self.kills += 1
            await asyncio.sleep(self.chance.uniform(0, 1))
            await self.start()

    async def read(self, client: httpx2.AsyncClient, name: int) -> None:
        """Start reading after reading until the time is up; the last is followed to its end."""
        count = 0
        while time.monotonic() < self.until:
            words = [f"page{number}" for number in range(CHUNK * self.chance.randint(5, 25))]
            text = f"Book {name} {count}. " + " ".join(words)
            told = Told(key=f"{name}-{count}", length=len(text))
            self.told.append(told)
            count += 1
            await self._begin(client, told, text)
            while not told.status:
                await self._follow(client, told)

    async def _begin(self, client: httpx2.AsyncClient, told: Told, text: str) -> None:
        body, headers = {"question": "Which page is the newest?", "text": text}, {"Idempotency-Key": told.key}
        while not told.id:
            try:
                said = await client.post("/readings", json=body, headers=headers)
                told.id = said.raise_for_status().json()["reading"]
            except (httpx2.TransportError, httpx2.HTTPStatusError):
                await self._breathe()

    async def _follow(self, client: httpx2.AsyncClient, told: Told) -> None:
        """Until it ends, the line breaks, or this client hangs up."""
        patience = self.chance.randint(1, 40) if self.chance.random() < 0.5 else None
        headers = {"Last-Event-ID": str(len(told.steps))}
        try:
            async with client.stream("GET", f"/readings/{told.id}/events", headers=headers) as events:
                kind = ""
                async for line in events.raise_for_status().aiter_lines():
                    name, _, value = line.partition(": ")
                    kind = value if name == "event" else kind
                    if name == "data":
                        self._hear(told, kind, json.loads(value))
                        patience = patience and patience - 1
                    if patience == 0:
                        self.hang_ups += 1
                        break
        except httpx2.ConnectError:
            pass
        except (httpx2.TransportError, httpx2.HTTPStatusError):
            self.broken += 1
        if not told.status:
            await self._breathe()

    @staticmethod
    def _hear(told: Told, kind: str, data: dict[str, Any]) -> None:
        if kind == "step":
            told.steps.append(data)
        elif kind == "answer":
            told.answers.append(data["answer"])
        elif data["status"] != "reading":
            told.status = data["status"]

    async def _breathe(self) -> None:
        await asyncio.sleep(self.chance.uniform(0.05, 0.5))

    async def verdict(self, client: httpx2.AsyncClient) -> dict[str, int]:
        """Count what is wrong with the readings."""
        wrong = dict.fromkeys(
            ("unanswered", "gaps_or_repeats", "not_tiled", "told_otherwise", "told_twice", "answers_lost"), 0
        )
        with Journal(Path(self.folder) / "journal.sqlite") as journal:
            wrong["begun_twice"] = len(journal.readings()) - len(self.told)
        for told in self.told:
            whole = (await client.get(f"/readings/{told.id}")).json()
            steps = whole["steps"]
            numbers = [step["index"] for step in steps]
            ends = [0, *(step["end"] for step in steps)]
            heard = [step["index"] for step in told.steps]
            wrong["unanswered"] += whole["status"] != "answered" or told.status != "answered" or not whole["answer"]
            wrong["gaps_or_repeats"] += numbers != list(range(len(numbers)))
            wrong["not_tiled"] += [step["start"] for step in steps] != ends[:-1] or ends[-1] != told.length
            wrong["told_twice"] += len(heard) != len(set(heard))
            wrong["told_otherwise"] += [(step["index"], step["memory"]) for step in told.steps] != [
                (step["index"], step["memory"]) for step in steps
            ]
            wrong["answers_lost"] += whole["answer"] not in told.answers
        return wrong


async def soak(seconds: float, clients: int, seed: int) -> dict[str, Any]:
    """Run it, and tell what came of it."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
    with tempfile.TemporaryDirectory() as folder:
        run = Soak(folder=folder, chance=random.Random(seed), until=time.monotonic() + seconds)
        await run.start()
        try:
            async with httpx2.AsyncClient(base_url=run.address, timeout=60, limits=limits, trust_env=False) as client:
                killing = asyncio.create_task(run.kill_now_and_then())
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds + PATIENCE):
                        await asyncio.gather(*(run.read(client, name) for name in range(clients)))
                await killing
                wrong = await run.verdict(client)
        finally:
            run.process.kill()
            run.process.wait()
    return {
        "seconds": seconds,
        "clients": clients,
        "seed": seed,
        "readings": len(run.told),
        "steps": sum(len(told.steps) for told in run.told),
        "kills": run.kills,
        "hang_ups": run.hang_ups,
        "lines_broken": run.broken,
        "slowest_start_s": round(run.slowest_start, 2),
        "server_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        "wrong": wrong,
        "whole": not any(wrong.values()),
    }


if __name__ == "__main__":
    serve(*sys.argv[1:])
