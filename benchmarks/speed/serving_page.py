"""The page of serving.py: what its first load weighs, and how smoothly a long timeline is scrubbed, in a real Chromium.

The bytes are those that came over the wire, headers included, as the browser's network log counts them, with an empty
cache. For the frames a reading of many steps is opened, the pointer is pressed on the timeline and moved to and fro by
input events that the browser takes for a hand's, and requestAnimationFrame notes when each frame begins. At 60 frames a
second a frame takes 16.7 ms, give or take the clock's grain; one over 25 ms has missed a turn of the screen. `idle` is
the same without a hand: the best that this machine can do.
"""

from __future__ import annotations

import asyncio
import json
import math
import statistics
import tempfile
import threading
import time
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from bookwheel import TextDocument
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan
from bookwheel.serve.app import build_app
from bookwheel.serve.server import Server, bind_socket
from bookwheel.text.chunks import split

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser, Page

    from bookwheel.types import Message

CHROMIUM = "/usr/bin/chromium"
CHUNK, MEMORY, LINES = 60, 400, 12
RECORDER = """() => {
  window.frames_ = []; window.shown_ = new Set(); window.recording_ = true;
  const ribbon = document.querySelector('.ribbon');
  const note = (now) => {
    window.frames_.push(now); window.shown_.add(ribbon.getAttribute('aria-valuenow'));
    if (window.recording_) requestAnimationFrame(note);
  };
  requestAnimationFrame(note);
}"""
HARVEST = "() => { window.recording_ = false; return {frames: window.frames_, shown: window.shown_.size}; }"


def _notes() -> Any:
    """Return a memory of a dozen lines; every step changes one."""
    lines = [f"{n}. nothing is known of this yet, and it may stay so" for n in range(LINES)]
    count = 0

    def note(_messages: Sequence[Message]) -> str:
        nonlocal count
        lines[count % LINES] = f"{count % LINES}. in section {count} Ada Quill counted {count * 7 % 97} crates of ink"
        count += 1
        return "\n".join(lines)

    return note


@contextmanager
def _served(steps: int) -> Iterator[tuple[str, str]]:
    """Start a server with one reading of so many steps: its address, and the reading."""
    plan = Plan(question_tokens=40, chunk_tokens=CHUNK, memory_tokens=MEMORY, answer_tokens=MEMORY)
    model = ScriptedModel(_notes(), plan=plan)
    text = "\n".join(f"Section {n}: " + "rain fell on the mill " * 10 for n in range(steps * 2))
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "journal.sqlite") as journal:
        server = Server(build_app(journal=journal, models={"scripted": model}), bind_socket("127.0.0.1", 0), grace=2)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
        thread.start()
        try:
            with httpx2.Client(base_url=server.address, timeout=300, trust_env=False) as client:
                *_, last = islice(split(TextDocument(text), model.tokenizer, CHUNK), steps)
                body = {"question": "How many crates?", "text": text[: last.end]}
                id_ = client.post("/readings", json=body).raise_for_status().json()["reading"]
                client.get(f"/readings/{id_}/events").raise_for_status()
            yield server.address, id_
        finally:
            server.should_exit = True
            thread.join()


def _first_load(browser: Browser, address: str) -> dict[str, int]:
    """Count requests and bytes of `/` with an empty cache."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    session, sizes = context.new_cdp_session(page), []
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(f"{address}/", wait_until="networkidle")
    context.close()
    return {"requests": len(sizes), "bytes": int(sum(sizes))}


def _scrubbed(page: Page, seconds: float) -> dict[str, Any]:
    ribbon = page.locator(".ribbon")
    ribbon.scroll_into_view_if_needed()
    box = ribbon.bounding_box()
    steps = int(ribbon.get_attribute("aria-valuemax")) + 1
    y, left, span = box["y"] + box["height"] / 2, box["x"] + 2, box["width"] - 4
    page.mouse.move(left, y)
    page.mouse.down()
    page.evaluate(RECORDER)
    began, moves = time.perf_counter(), 0
    while (at := time.perf_counter() - began) < seconds:
        page.mouse.move(left + span * (0.5 - 0.5 * math.cos(at * 1.3)), y)
        moves += 1
    found = page.evaluate(HARVEST)
    page.mouse.up()
    return {"steps": steps, "moves": moves, "steps_shown": found["shown"], **frames(found["frames"])}


def frames(began: Sequence[float]) -> dict[str, float]:
    """Milliseconds from frame to frame, summed up."""
    ordered = sorted(later - earlier for earlier, later in pairwise(began))
    return {
        "frames": len(ordered),
        "per_second": round(1000 * len(ordered) / sum(ordered), 1),
        "median_ms": round(statistics.median(ordered), 2),
        "p95_ms": round(ordered[int(len(ordered) * 0.95)], 2),
        "most_ms": round(ordered[-1], 2),
        "share_over_16.7_ms": round(sum(one > 16.7 for one in ordered) / len(ordered), 4),
        "share_over_25_ms": round(sum(one > 25 for one in ordered) / len(ordered), 4),
    }


def measure(steps: int, seconds: float) -> dict[str, Any]:
    """Both."""
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with _served(steps) as (address, id_), sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=flags)
        load = _first_load(browser, address)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{address}/#/reading/{id_}")
        page.wait_for_selector(".status.answered")
        page.wait_for_timeout(1000)
        page.evaluate(RECORDER)
        page.wait_for_timeout(1000 * min(seconds, 3))
        still = page.evaluate(HARVEST)["frames"]
        idle = frames(still)
        scrubbed = _scrubbed(page, seconds)
        version = browser.version
        browser.close()
    return {"chromium": version, "first_load": load, "idle": idle, "scrubbed": scrubbed}


if __name__ == "__main__":
    print(json.dumps(measure(700, 8), indent=1))
