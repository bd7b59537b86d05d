"""A real server on loopback, in a thread of its own, over the scripted model."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("sse_starlette")
pytest.importorskip("prometheus_client")

from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.serve.app import build_app
from bookwheel.serve.server import Server, bind_socket

FACT = "The harbour master of Skarholm is Ada Quill. "
QUESTION = "Who is the harbour master of Skarholm?"
TEXT = "Gulls circle over the pier all day. " * 40 + FACT + "Rain fell on the roofs. " * 80
PLAN = Plan(question_tokens=60, chunk_tokens=60, memory_tokens=40, answer_tokens=30)


@pytest.fixture(autouse=True, scope="session")
def _uvicorn_looks_often() -> Iterator[None]:
    """Let uvicorn look every 5 ms whether it is to end. Its own 100 ms, three times a server, are most of a test."""
    fast = SimpleNamespace(**vars(asyncio))
    fast.sleep = lambda seconds: asyncio.sleep(seconds / 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uvicorn.server.asyncio", fast)
        yield


class Gated(ScriptedModel):
    """Replies as long as it has leave to; `after(n)` lets so many calls through and holds the next."""

    def __init__(self, **settings: object) -> None:
        super().__init__(keyword_reader, **{"plan": PLAN, "window": 400, **settings})
        self.leave = 10**9
        self.asked = 0
        """Calls that came, with those that were cancelled while they were held."""
        self.seen = 0

    def after(self, calls: int) -> None:
        self.leave = calls

    async def reply(self, messages, *, limit, sampling):
        self.asked += 1
        while self.seen >= self.leave:  # noqa: ASYNC110 - it is another thread that gives leave
            await asyncio.sleep(0.002)
        self.seen += 1
        return await super().reply(messages, limit=limit, sampling=sampling)


class Running:
    """One server that is up."""

    def __init__(
        self,
        server: Server,
        service: object,
        model: ScriptedModel,
        journal: Journal,
        thread: threading.Thread,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.url, self.service, self.model, self.journal = server.address, service, model, journal
        self.server, self.thread, self.loop = server, thread, loop

    def client(self, **settings: object) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, timeout=60, trust_env=False, **settings)

    def begin(self, **body: object) -> dict:
        with self.client() as client:
            answer = client.post("/readings", json={"question": QUESTION, "text": TEXT, **body})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def events(self, id_: str, last: str = "", until: int = 10**9, query: str = "") -> list[tuple[str, str, dict]]:
        """Kind, id and data of the reading's events, up to so many."""
        found, kind, number = [], "", ""
        headers = {"Last-Event-ID": last} if last else {}
        with self.client() as client, client.stream("GET", f"/readings/{id_}/events{query}", headers=headers) as answer:
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif name == "id":
                    number = value
                elif name == "data":
                    found.append((kind, number, json.loads(value)))
                    if len(found) >= until:
                        break
        return found


@contextmanager
def running(
    folder: Path, model: ScriptedModel | None = None, grace: float = 2, **settings: object
) -> Iterator[Running]:
    model = model or Gated()
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(folder / "journal.sqlite"))
        app = build_app(journal=journal, models={model.name: model}, **settings)
        server = Server(app, bind_socket("127.0.0.1", 0), grace=grace)

        loops = []

        async def live() -> None:
            loops.append(asyncio.get_running_loop())
            try:
                await server.serve()
            finally:
                await model.aclose()

        thread = threading.Thread(target=lambda: asyncio.run(live()))
        thread.start()
        try:
            while not server.started and thread.is_alive():
                threading.Event().wait(0.005)
            yield Running(server, app.state.service, model, journal, thread, loops[0])
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def serving(tmp_path: Path):
    """Starts servers over one journal; `serving(model, keys=...)`."""
    return lambda model=None, folder="", **settings: running(tmp_path / folder, model, **settings)


@pytest.fixture
def up(serving) -> Iterator[Running]:
    with serving() as server:
        yield server


@pytest.fixture
def gated() -> type[Gated]:
    return Gated


@pytest.fixture
def words() -> tuple[str, str]:
    """A document and a question that it answers."""
    return TEXT, QUESTION
