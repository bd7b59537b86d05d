"""The page's routes over real readings (desk, journal, provenance), and a real Chromium to look at them with."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bookwheel import record
from bookwheel.desk import carry_out, opened
from bookwheel.journal import Journal
from bookwheel.models.scripted import Scripted, keyword_reader
from bookwheel.plan import Plan
from bookwheel.provenance import origins
from bookwheel.text.documents import TextDocument
from bookwheel.types import Memory, Status

PAGE = Path(record.__file__).parent / "serve" / "page"
CHROMIUM = Path("/usr/bin/chromium")
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
PLAN = Plan(chunk_tokens=110, memory_tokens=400)


class Front:
    """The page's routes over one journal and one model that takes its time."""

    def __init__(self, journal: Journal, seconds: float) -> None:
        self.journal = journal
        self.model = Scripted(keyword_reader, seconds_per_call=seconds, plan=PLAN)
        self.tasks: dict[str, asyncio.Task] = {}

    def told(self, id_: str, *, steps: bool = True) -> dict:
        return record.reading_to_json(self.journal.reading(id_), steps=steps)

    async def launch(self, id_: str) -> None:
        reading = replace(self.journal.reading(id_), status=Status.READING)
        await self.journal.end(reading)
        work = carry_out(reading, self.journal.document_of(id_), self.model, journal=self.journal)
        self.tasks[id_] = asyncio.get_running_loop().create_task(work)

    async def start(self, request):
        from starlette.responses import JSONResponse

        wanted = await request.json()
        if "url" in wanted:
            return JSONResponse({"error": "the address is private; nothing was fetched"}, 400)
        kept = self.journal.document(wanted["document"]) if "document" in wanted else None
        kept = kept or self.journal.keep(TextDocument(wanted["text"], name="pasted text"))
        reading = opened(kept.info, wanted["question"], self.model, PLAN)
        self.journal.begin(reading)
        await self.launch(reading.id)
        return JSONResponse(self.told(reading.id), 201)

    async def upload(self, request):
        from urllib.parse import unquote

        from starlette.responses import JSONResponse

        name = unquote(request.headers["x-filename"])
        kept = self.journal.keep(TextDocument((await request.body()).decode(), name=name))
        return JSONResponse({"document": kept.info.id, "name": name, "length": kept.info.length}, 201)

    async def act(self, request):
        from starlette.responses import JSONResponse

        id_, verb = request.path_params["id"], request.path_params["verb"]
        if verb == "cancel":
            self.tasks[id_].cancel()
            await asyncio.wait([self.tasks[id_]])
        elif verb == "resume":
            await self.launch(id_)
            return JSONResponse(self.told(id_))
        elif verb == "fork":
            wanted = await request.json()
            tokens = self.model.tokenizer.count(wanted["memory"])
            memory = Memory(text=wanted["memory"], tokens=tokens, limit=PLAN.memory_tokens)
            id_ = self.journal.fork(id_, wanted["step"], memory).id
            await self.launch(id_)
        return JSONResponse(self.told(id_), 201 if verb == "fork" else 200)

    async def look(self, request):
        from starlette.responses import JSONResponse, Response

        id_, query = request.path_params.get("id"), request.query_params
        if request.method == "DELETE":
            self.journal.delete(id_)
            return Response(status_code=204)
        if id_ is None:
            listed = self.journal.readings(limit=int(query["limit"]), search=query.get("search"))
            return JSONResponse([record.reading_to_json(reading, steps=False) for reading in listed])
        return JSONResponse(self.told(id_))

    async def origins(self, request):
        from starlette.responses import JSONResponse

        id_ = request.path_params["id"]
        found = origins(self.journal.reading(id_).steps, self.journal.document_of(id_))
        return JSONResponse(
            [
                {name: getattr(one, name) for name in one.__slots__ if name != "quote"}
                | {"quote": one.quote and record.evidence_to_json(one.quote)}
                for one in found
            ]
        )

    async def events(self, request):
        from sse_starlette import EventSourceResponse

        id_, seen = request.path_params["id"], int(request.headers.get("last-event-id", -1)) + 1

        async def told():
            nonlocal seen
            while True:
                now = self.told(id_)
                for step in now["steps"][seen:]:
                    yield {"id": str(seen), "event": "step", "data": json.dumps(step)}
                    seen += 1
                if now["status"] != "reading" or self.tasks[id_].done():
                    yield {"id": str(seen), "event": "status", "data": json.dumps(self.told(id_, steps=False))}
                    return
                await asyncio.sleep(0.02)

        return EventSourceResponse(told())

    async def text(self, request):
        from starlette.responses import JSONResponse

        start, end = int(request.query_params["start"]), int(request.query_params["end"])
        return JSONResponse(
            {"start": start, "end": end, "text": self.journal.document(request.path_params["sha"]).slice(start, end)}
        )

    def app(self):
        from starlette.applications import Starlette
        from starlette.responses import FileResponse, JSONResponse
        from starlette.routing import Mount, Route
        from starlette.staticfiles import StaticFiles

        inner = Starlette(
            routes=[
                Route("/", lambda _: FileResponse(PAGE / "index.html")),
                Mount("/page", StaticFiles(directory=PAGE)),
                Route(
                    "/models", lambda _: JSONResponse([{"name": "scripted", "window": None, "plan": PLAN.to_json()}])
                ),
                Route("/documents", self.upload, methods=["POST"]),
                Route("/documents/{sha}/text", self.text),
                Route("/readings", self.start, methods=["POST"]),
                Route("/readings", self.look),
                Route("/readings/{id}", self.look, methods=["GET", "DELETE"]),
                Route("/readings/{id}/events", self.events),
                Route("/readings/{id}/origins", self.origins),
                Route("/readings/{id}/{verb}", self.act, methods=["POST"]),
            ]
        )

        async def guarded(scope, receive, send):
            async def out(message):
                if message["type"] == "http.response.start":
                    message["headers"] = [*message["headers"], (b"content-security-policy", POLICY.encode())]
                await send(message)

            await inner(scope, receive, out if scope["type"] == "http" else send)

        return guarded


@contextmanager
def serving(path: Path, seconds: float):
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("sse_starlette")
    import socket

    with Journal(path / "journal.sqlite") as journal, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(Front(journal, seconds).app(), log_level="error", timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM.exists():
        pytest.skip("no /usr/bin/chromium here")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("page"), 0.03) as address:
        yield address


@pytest.fixture
def page(chromium, base):
    with opened_page(chromium, base) as page:
        yield page


@contextmanager
def opened_page(chromium, base: str, *, width: int = 1280, scheme: str = "light", locale: str = "en-GB"):
    context = chromium.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        locale=locale,
        base_url=base,
        reduced_motion="reduce",
    )
    context.set_default_timeout(15_000)
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console",
        lambda said: wrong.append(said.text) if said.type == "error" and "Content Security" in said.text else None,
    )
    page.goto("/")
    yield page
    context.close()
    assert not wrong


@pytest.fixture
def opened_at(chromium, base):
    return lambda **look: opened_page(chromium, base, **look)
