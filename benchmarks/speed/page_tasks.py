"""Ten things that a newcomer does on the page: the seconds and the clicks of each, by a script that clicks for them.

    python benchmarks/speed/page_tasks.py [LABEL] [DOCUMENTS] [READINGS]

The server is that of the `bookwheel` which Python finds, over a scripted model that takes 20 ms a call, so an older
version is measured with its own `PYTHONPATH`. A click is a press of the mouse or of Enter; typing a field is counted
beside it. Seconds are those of this machine, with whatever else it does; clicks are exact. At the end: the bytes of the
first load as they come over the wire, how long a library of many documents (2,000, with 10,000 readings) takes to show,
to sort, to narrow and to change at once, how it scrolls, and what axe-core finds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from page_frames import FRAME, main_thread_tasks
from playwright.sync_api import Error, Page, sync_playwright

from bookwheel.api import read
from bookwheel.documents.opening import TextDocument
from bookwheel.journal import Journal
from bookwheel.journal.files import connect
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.serve.app import build_app
from bookwheel.serve.server import Server, bind_socket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHROMIUM = "/usr/bin/chromium"
PATIENCE = 180_000
MANY = 2000
READINGS = 10_000
HIDDEN = ("number", "checksum")
ENDINGS = ("txt", "md", "pdf", "docx", "html")
LEDGER = "\n".join(
    f"Rain fell on the mill all week. Ada Quill delivered {n + 3} crates of ink to the north gate in 17{n + 10}."
    for n in range(16)
)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    plan = Plan(chunk_tokens=110, memory_tokens=400)
    with Journal(folder / "journal.sqlite") as journal:
        model = ScriptedModel(keyword_reader, seconds_per_call=0.02, plan=plan)
        server = Server(build_app(journal=journal, models={"scripted": model}), bind_socket("127.0.0.1", 0), grace=2)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
        thread.start()
        try:
            yield server.address
        finally:
            server.should_exit = True
            thread.join()


class Newcomer:
    """Does things on a page and counts them."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = self.fields = 0

    def click(self, name: str, *, role: str = "button", exact: bool = False) -> None:
        self.press(self.page.get_by_role(role, name=name, exact=exact).first)  # type: ignore[arg-type]

    def press(self, found: Any) -> None:
        self.clicks += 1
        found.click()

    def type(self, selector: str, text: str) -> None:
        self.fields += 1
        self.page.locator(selector).first.fill(text)

    def has(self, name: str) -> bool:
        return self.page.get_by_role("button", name=name, exact=True).count() > 0

    def wait(self, script: str) -> None:
        self.page.wait_for_function(f"() => {script}")


LISTED = """async () => {
  const times = [];
  for (let k = 0; k < 7; k += 1) {
    const at = performance.now();
    await (await fetch("/documents?limit=41")).json();
    times.push(performance.now() - at);
  }
  return times.sort((one, other) => one - other)[3];
}"""
SCROLLED = """async () => {
  const gaps = [];
  let [before, still] = [performance.now(), 0];
  while (still < 90) {
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    gaps.push(now - before);
    before = now;
    const at = scrollY;
    scrollBy(0, 220);
    still = scrollY === at ? still + 1 : 0;
  }
  const rows = document.querySelectorAll(".shelf .readings li").length;
  const late = gaps.filter((gap) => gap > 25).length;
  return { rows, frames: gaps.length, late, worst: Math.round(Math.max(...gaps)) };
}"""
ANSWERED = (
    "document.querySelector('main').ariaBusy === 'false' && document.querySelector('.status.answered') && "
    "document.querySelector('.answer:not(.none)')"
)


def upload(who: Newcomer) -> None:
    who.clicks += 1  # the dialog of the browser
    file = {"name": "ledger.txt", "mimeType": "text/plain", "buffer": LEDGER.encode()}
    who.page.set_input_files("#files", files=[file])
    who.wait("document.querySelectorAll('.chosen-files li').length === 1")


def ask(who: Newcomer) -> None:
    who.type("#question-0", "How many crates of ink came to the north gate?")
    who.press(who.page.locator("button.big"))
    who.wait(ANSWERED)


def check_source(who: Newcomer) -> None:
    who.press(who.page.locator(".cite").first)
    who.page.locator("mark, .page .box").first.wait_for()


def follow_up(who: Newcomer) -> None:
    before = who.page.url
    question = f"In which year did Ada Quill deliver {7 + who.page.viewport_size['width'] % 7} crates?"  # type: ignore[index]
    who.type("#follow-up-0", question)
    who.page.locator("#follow-up-0").press("Enter")
    who.clicks += 1
    who.wait(f"location.href !== {json.dumps(before)}")
    who.wait(f"document.querySelector('.headline h1')?.textContent === {json.dumps(question)} && {ANSWERED}")


def correct(who: Newcomer) -> None:
    before = who.page.url.split("?")[0]
    who.click("Correct" if who.has("Correct") else "Edit", exact=True)
    who.type("#memory-text", "Ada Quill delivered 90 crates of ink to the north gate.")
    who.click("Read on with this memory")
    who.wait(f"!location.href.startsWith({json.dumps(before)})")
    who.wait(ANSWERED)


def compare(who: Newcomer) -> None:
    if who.page.get_by_role("link", name="Compare with before").count():
        who.click("Compare with before", role="link")
    else:
        if not who.page.get_by_text("Compare with…").first.is_visible():
            who.press(who.page.locator(".menu summary", has_text="More").first)
        who.press(who.page.get_by_text("Compare with…").first)
        who.press(who.page.locator("a[href^='#/compare/']").first)
    who.page.locator(".compare h1").wait_for()


def find_again(who: Newcomer) -> None:
    who.click("Library", role="link", exact=True)
    who.type("#shelf-search", "ledger")
    who.press(who.page.locator(".shelf .readings a.question").first)
    who.wait(ANSWERED)


def share(who: Newcomer) -> None:
    found = who.page.get_by_role("link", name="Share", exact=True)
    if not found.count():
        who.press(who.page.locator(".menu summary", has_text="More").first)
        found = who.page.get_by_text("Export as HTML")
    with who.page.expect_download():
        who.press(found.first)


def phone(who: Newcomer) -> None:
    address = who.page.url
    who.page.set_viewport_size({"width": 390, "height": 800})
    who.page.goto("about:blank")
    who.page.goto(address)
    who.wait(ANSWERED)
    box = who.page.locator("#follow-up-0").bounding_box()
    if box is None or box["y"] + box["height"] > 800:
        who.page.locator("#follow-up-0").scroll_into_view_if_needed()
        who.clicks += 1  # a swipe
    follow_up(who)


def forget(who: Newcomer) -> None:
    who.press(who.page.locator(".tools").get_by_role("button", name="Delete").first)
    who.press(who.page.get_by_role("button", name="Really delete?").first)
    who.wait("location.hash === '#/'")


TASKS: list[Callable[[Newcomer], None]] = [
    upload,
    ask,
    check_source,
    follow_up,
    correct,
    compare,
    find_again,
    share,
    phone,
    forget,
]


def walk(page: Page) -> list[dict[str, Any]]:
    """Do the ten tasks one after the other; what cannot be done is told and passed over."""
    rows = []
    for task in TASKS:
        who, began = Newcomer(page), time.perf_counter()
        try:
            task(who)
        except Error as error:
            rows.append({"task": task.__name__, "failed": str(error).splitlines()[0][:90]})
            continue
        seconds = round(time.perf_counter() - began, 2)
        rows.append({"task": task.__name__, "seconds": seconds, "clicks": who.clicks, "fields": who.fields})
    return rows


def measure_load(browser: Any, base: str) -> dict[str, Any]:
    """Bytes over the wire of the first load, and the milliseconds until a library of many documents stands."""
    context = browser.new_context(base_url=base, locale="en-GB")
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    received: list[float] = []
    session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    began = time.perf_counter()
    page.goto("/")
    page.locator(".shelf .readings li").first.wait_for()
    shown = 1000 * (time.perf_counter() - began)
    page.wait_for_timeout(1500)
    first, requests = round(sum(received)), len(received)
    listed = page.evaluate(LISTED)
    browser.start_tracing(page=page, categories=["toplevel"])
    scroll = page.evaluate(SCROLLED)
    tasks = main_thread_tasks(browser.stop_tracing())
    scroll["cpu_ms_a_frame"] = round(sum(tasks) / max(1, scroll["frames"]), 2)
    scroll["tasks_over_a_frame"] = sum(one > FRAME for one in tasks)
    page.goto("about:blank")
    page.goto("/")
    page.locator(".shelf .readings li").first.wait_for()
    used = use_library(page)
    context.close()
    return {
        "bytes": first,
        "requests": requests,
        "library_ms": round(shown),
        "list_ms": round(listed, 1),
        "scroll": scroll,
        "used": used,
    }


def fill_library(path: Path, documents: int, readings: int) -> None:
    """Make a journal with many documents of five types, and copies of one reading spread over them."""
    with Journal(path) as journal:
        for number in range(documents):
            name = f"ledger {number}.{ENDINGS[number % len(ENDINGS)]}"
            journal.keep(TextDocument(f"Ledger {number}. The keeper wrote it down. " * 5, name))
    read(TextDocument(LEDGER, "ledger.txt"), "How many crates of ink came?", model="scripted", journal=path)
    connection = connect(path)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(readings)") if row[1] not in HIDDEN]
    changed = {"id": "printf('%012x', value)", "question": "question || ' ' || value", "document": "1 + value % ?2"}
    chosen = ", ".join(changed.get(name, name) for name in columns)
    counted = "(WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT ?1) SELECT * FROM n)"
    connection.execute("BEGIN")
    connection.execute(
        f"INSERT INTO readings ({', '.join(columns)}) SELECT {chosen} FROM readings, {counted}",
        (readings, documents),
    )
    connection.execute("COMMIT")
    connection.close()


def use_library(page: Page) -> dict[str, int]:
    """Return the milliseconds from a press in a large library to what it brings."""
    rows, found = page.locator(".shelf .readings li"), dict[str, int]()

    def time_press(name: str, press: Callable[[], object], script: str) -> None:
        began = time.perf_counter()
        press()
        page.wait_for_function(f"() => {script}")
        found[name] = round(1000 * (time.perf_counter() - began))

    first = "document.querySelector('.shelf .readings li a.question')?.textContent"
    all_are = "[...document.querySelectorAll('.shelf .readings li a.question')].every((one) => one.textContent"
    time_press("sort by name", lambda: page.select_option("#shelf-sort", "name"), f"{first} === 'ledger 0.txt'")
    time_press("one type", lambda: page.select_option("#shelf-type", "pdf"), f"{all_are}.endsWith('.pdf'))")
    time_press("search", lambda: page.fill("#shelf-search", "ledger 77"), f"{first}?.startsWith('ledger 77')")
    page.fill("#shelf-search", "")
    page.select_option("#shelf-type", "")
    page.wait_for_function(f"() => {first} === 'ledger 0.txt'")
    rows.first.locator("input").check()
    many = page.evaluate("fetch('/documents?limit=500').then((one) => one.json()).then((all) => all.length)")
    told = ".bulk b[role=status]"
    everything = page.get_by_role("button", name="Choose all").first
    time_press("choose all", everything.click, f"parseInt(document.querySelector('{told}').textContent, 10) * 1 !== 1")
    star = page.locator(".bulk").get_by_role("button", name="Star").first
    time_press("star all", star.click, "document.querySelector('.bulk').hidden")
    return {**found, "documents a request": many}


def find_faults(page: Page) -> list[str]:
    import axe_playwright_python

    page.evaluate((Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [f"{one['id']} ({one['impact']})" for one in found]


def main() -> None:
    label = sys.argv[1] if len(sys.argv) > 1 else "now"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else MANY
    readings = int(sys.argv[3]) if len(sys.argv) > 3 else READINGS
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=flags, timeout=PATIENCE)
        with serving(Path(folder)) as base:
            context = browser.new_context(
                base_url=base, locale="en-GB", viewport={"width": 1280, "height": 800}, accept_downloads=True
            )
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.goto("/")
            for row in walk(page):
                print(json.dumps({"label": label, **row}), flush=True)
            faults = find_faults(page)
            context.close()
            print(json.dumps({"label": label, "axe": faults}), flush=True)
        many = Path(folder) / "many"
        many.mkdir()
        fill_library(many / "journal.sqlite", count, readings)
        with serving(many) as base:
            print(json.dumps({"label": label, **measure_load(browser, base)}), flush=True)
        browser.close()


if __name__ == "__main__":
    main()
