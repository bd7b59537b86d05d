"""The server over a scripted model, and a real Chromium to look at its page with."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import threading
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("sse_starlette")
pytest.importorskip("prometheus_client")

from page_readings import Held

from bookwheel.errors import Unreachable
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_likelihood, keyword_reader
from bookwheel.plan import Plan
from bookwheel.serve.app import build_app
from bookwheel.serve.engine.access import Key, KeyRing
from bookwheel.serve.server import Server, bind_socket

CHROMIUMS = tuple(map(Path, ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")))
"""Looked for in this order; then Playwright's own."""
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
PLAN = Plan(chunk_tokens=110, memory_tokens=400)
PATIENCE = 60_000
"""Milliseconds that a wait may take on a busy machine; what comes is seen at once."""


class GatedModel(ScriptedModel):
    """A model whose gate can be closed: then it gives so many replies to each question and holds the next.

    While `is_down`, every call fails as one to a server that is away.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(keyword_reader, likelihood=keyword_likelihood, seconds_per_call=seconds, plan=PLAN)
        self.is_down = False
        self.open()

    def open(self) -> None:
        self.close_after(10**9)

    def close_after(self, replies: int) -> None:
        self.given, self.most = Counter(), replies

    async def reply(self, messages, *, limit, sampling):
        question = re.search(r"<question>.*?</question>", messages[-1].content, re.DOTALL | re.IGNORECASE)[0]
        while self.given[question] >= self.most:  # noqa: ASYNC110 - the test opens the gate from another thread
            await asyncio.sleep(0.002)
        if self.is_down:
            raise Unreachable("no server answers at http://tower:8000/v1")
        self.given[question] += 1
        return await super().reply(messages, limit=limit, sampling=sampling)


@contextmanager
def serving(folder: Path, seconds: float, *, model: ScriptedModel | None = None, **settings: object):
    model = model or GatedModel(seconds)
    with Journal(folder / "journal.sqlite") as journal:
        app = build_app(journal=journal, models={"scripted": model}, **settings)
        server = Server(app, bind_socket("127.0.0.1", 0), grace=2)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
        thread.start()
        try:
            yield server.address
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        found = [path for path in (*CHROMIUMS, Path(driver.chromium.executable_path)) if path.exists()]
        if not found:
            pytest.skip("no Chromium here: install the system's, or run `playwright install chromium`")
        browser = driver.chromium.launch(executable_path=str(found[0]), args=FLAGS.split(), timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def serving_with():
    """Starts a server with settings of a test's own."""
    return serving


@pytest.fixture(scope="module")
def gated_model():
    return GatedModel(0.005)


@pytest.fixture(scope="module")
def base(gated_model, tmp_path_factory):
    with serving(tmp_path_factory.mktemp("page"), 0.0, model=gated_model) as address:
        yield address


@pytest.fixture
def gate(gated_model):
    """Hold readings of the page's server where a test wants to look at them: `gate.close_after(calls)`, `gate.open()`."""
    yield gated_model
    gated_model.is_down = False
    gated_model.open()


@pytest.fixture
def hold():
    """Requests of a page that a test holds back: `held = hold(page, pattern, method)`, `held.wait()`, `held.release()`."""
    return Held


@pytest.fixture(scope="session")
def expect():
    """Playwright's assertions, which wait until they hold."""
    assertions = pytest.importorskip("playwright.sync_api").expect
    assertions.set_options(timeout=PATIENCE)
    return assertions


@pytest.fixture
def page(chromium, base):
    with opened_page(chromium, base) as page:
        yield page


@contextmanager
def opened_page(
    chromium, base: str, *, width: int = 1280, scheme: str = "light", locale: str = "en-GB", mode: str = "inspect"
):
    """A page whose readings open to be inspected, or to be read, as for a newcomer."""
    context = chromium.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        locale=locale,
        base_url=base,
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE)
    if mode != "read":
        context.add_init_script(f"if (location.protocol === 'http:') localStorage['bookwheel.mode'] ??= '{mode}'")
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
def reader_page(chromium, base):
    """The page as a newcomer has it."""
    with opened_page(chromium, base, mode="read") as page:
        yield page


@pytest.fixture
def locked(chromium, tmp_path):
    """The page of a server that asks for a key, and the key."""
    secret = "a-key-for-the-reading-room"
    keys = KeyRing([Key(name="reader", sha256=hashlib.sha256(secret.encode()).hexdigest())])
    with serving(tmp_path, 0.01, keys=keys) as address, opened_page(chromium, address) as page:
        yield page, secret


@pytest.fixture
def assert_clean():
    """No serious violation that axe-core finds, nothing wider than the window; and a picture where some are wanted."""
    package = pytest.importorskip("axe_playwright_python")
    axe = (Path(package.__file__).parent / "axe.min.js").read_text("utf-8")

    def check(page, name: str, *, with_axe: bool = True) -> None:
        if with_axe:
            page.evaluate(axe)
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
            serious = [one for one in found if one["impact"] in {"serious", "critical"}]
            assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if folder := os.environ.get("BOOKWHEEL_SCREENSHOTS"):
            scheme = "dark" if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "light"
            look = f"{page.viewport_size['width']}-{scheme}-{page.evaluate('document.documentElement.lang')}"
            page.screenshot(path=Path(folder) / f"{name}-{look}.png", full_page=True)

    return check


@pytest.fixture
def fresh_at(chromium, tmp_path):
    """The page of a server that nobody has used, at a width and in a scheme and a language."""

    @contextmanager
    def open_fresh(width: int = 1280, scheme: str = "light", locale: str = "en-GB", mode: str = "inspect", model=None):
        with (
            serving(tmp_path, 0.0, model=model) as address,
            opened_page(chromium, address, width=width, scheme=scheme, locale=locale, mode=mode) as page,
        ):
            yield page

    return open_fresh


@pytest.fixture
def opened_at(chromium, base):
    return lambda **look: opened_page(chromium, base, **look)
