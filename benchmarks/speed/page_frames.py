"""What the page costs its browser while a long reading streams, and how long a large evaluation takes to open.

    python benchmarks/speed/page_frames.py [STEPS] [SECONDS_A_STEP]
    python benchmarks/speed/page_frames.py evaluation [QUESTIONS]

Chromium is driven by Playwright. Two things are measured of a stream: the time between two frames, by
`requestAnimationFrame`, which says nothing on a machine where others work; and the CPU time of the page's main thread,
task by task, which does not depend on who else works. A frame is missed for certain only where a task needs more than
16.7 ms of CPU.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright
from report_speed import records

from bookwheel.journal import Journal
from bookwheel.lab.evaluation.results import EvaluationRun
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.serve.app import build_app
from bookwheel.serve.engine.settings import ServerSettings
from bookwheel.serve.server import Server, bind_socket

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAME = 1000 / 60
CHROMIUMS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
LINE = "Rain fell on the mill and nobody said much about the weather, which was as it had been all week. "
WATCH = """() => {
  window.frames_ = [];
  const look = (at) => { window.frames_.push(at); requestAnimationFrame(look); };
  requestAnimationFrame(look);
}"""


@contextmanager
def serving(folder: Path, model: ScriptedModel, **settings: Any) -> Iterator[str]:
    """Serve the page in a thread of its own."""
    with Journal(folder / "journal.sqlite") as journal:
        app = build_app(journal=journal, models={"scripted": model}, settings=ServerSettings(**settings))
        server = Server(app, bind_socket("127.0.0.1", 0), grace=2)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
        thread.start()
        try:
            yield server.address
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def opened(address: str) -> Iterator[tuple[Any, Any]]:
    """Open the page; yields browser and page."""
    with sync_playwright() as driver:
        path = next((one for one in CHROMIUMS if Path(one).exists()), None)
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=600_000)
        page = browser.new_page(viewport={"width": 1280, "height": 800}, base_url=address)
        page.set_default_timeout(1_800_000)
        yield browser, page
        browser.close()


def quantile(values: list[float], share: float) -> float:
    """Return the value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def main_thread_tasks(trace: bytes) -> list[float]:
    """Return the milliseconds of CPU of each task of the page's main thread."""
    events = json.loads(trace)["traceEvents"]
    names = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one.get("name") == "thread_name"}
    mains = {place for place, name in names.items() if name == "CrRendererMain"}
    tasks = [one for one in events if one.get("ph") == "X" and (one["pid"], one["tid"]) in mains]
    return [one["tdur"] / 1000 for one in tasks if one["name"] == "ThreadControllerImpl::RunTask" and "tdur" in one]


def steps_shown(page: Any) -> int:
    """Return how many steps the page has."""
    return int(page.locator(".ribbon").get_attribute("aria-valuemax")) + 1


def stream(steps: int, seconds: float) -> None:
    """Watch a reading of so many steps from its first to its last."""
    text = "\n".join(f"{LINE * 4}Ada Quill delivered {n} crates of ink to the north gate." for n in range(steps))
    model = ScriptedModel(keyword_reader, seconds_per_call=seconds, plan=Plan(chunk_tokens=110, memory_tokens=400))
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), model) as address,
        opened(address) as (browser, page),
    ):
        # To be inspected, which draws the most.
        page.add_init_script("localStorage['bookwheel.mode'] = 'inspect'")
        page.goto("/#/")
        page.fill("#text", text)
        page.fill("#question-0", "How many crates of ink came to the north gate?")
        page.locator("button.big").click()
        page.wait_for_selector(".workspace .lines li p")
        browser.start_tracing(page=page, categories=["toplevel"])
        page.evaluate(WATCH)
        began, first = time.monotonic(), steps_shown(page)
        page.wait_for_selector(".status.answered")
        wall, at = time.monotonic() - began, page.evaluate("window.frames_")
        tasks = main_thread_tasks(browser.stop_tracing())
        seen = steps_shown(page) - first
    gaps = [later - earlier for earlier, later in pairwise(at)]
    print(
        f"{seen} steps in {wall:.1f} s, {seen / wall:.1f} a second; load {Path('/proc/loadavg').read_text().split()[0]}"
    )
    print(
        f"frames: {len(at)}, {len(at) / wall:.1f} a second; between two: median {quantile(gaps, 0.5):.1f} ms, "
        f"95 % {quantile(gaps, 0.95):.1f}, most {max(gaps):.1f}"
    )
    long = [one for one in tasks if one > FRAME]
    print(
        f"main thread: {sum(tasks) / 1000:.2f} s of CPU, {sum(tasks) / len(at):.2f} ms a frame; {len(tasks)} tasks, "
        f"99.9 % {quantile(tasks, 0.999):.2f} ms, most {max(tasks, default=0):.2f}; {len(long)} over {FRAME:.1f} ms"
    )


def evaluation(questions: int) -> None:
    """Open an evaluation for the first time, from the request to the plots."""
    made = records(questions)
    run = EvaluationRun(command="", created="", version="", fixed={}, models={}, settings={})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "runs"
        folder.mkdir()
        with (folder / "results.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(one.to_line()) + "\n" for one in (run, *made))
        model = ScriptedModel(keyword_reader)
        with serving(Path(name), model, runs_folder=folder) as address, opened(address) as (_, page):
            page.goto("/#/runs")
            page.wait_for_selector(".runs li a")
            began, cpu = time.monotonic(), time.process_time()
            page.locator(".runs li a").first.click()
            page.wait_for_selector(".chart svg .mark")
            page.wait_for_selector(".samples li")
            wall, cpu = time.monotonic() - began, time.process_time() - cpu
    print(f"{len(made):,} samples: open in {wall:.2f} s, of which the server and this script computed {cpu:.2f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["evaluation"]:
        evaluation(int(sys.argv[2]) if len(sys.argv) > 2 else 100)
    else:
        stream(int(sys.argv[1]) if len(sys.argv) > 1 else 700, float(sys.argv[2]) if len(sys.argv) > 2 else 0.04)
