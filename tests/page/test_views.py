"""Every view in each of its states, in a real Chromium.

A view is opened once for each language and then looked at in every width and scheme. BOOKWHEEL_SCREENSHOTS=FOLDER keeps
what is seen.
"""

from __future__ import annotations

import re
import shutil

import pytest
from page_readings import QUESTION, TEXT, begin, read_to_the_end

from bookwheel.serve.engine.settings import ServerSettings

WIDTHS = (1280, 1920, 768, 360)
FOLLOW_UP = "Which crates did Ada Quill deliver to the gate?"
LONG_WORD = "Rindfleischetikettierungsüberwachung" * 3
in_each_language = pytest.mark.parametrize(
    ("locale", "scheme"),
    [
        pytest.param("en-GB", "dark", id="dark English", marks=pytest.mark.long),
        pytest.param("zh-CN", "light", id="light Chinese"),
    ],
)


@pytest.fixture(scope="module")
def base(serving_with, made_runs, gated_model, tmp_path_factory):
    runs = shutil.copytree(made_runs, tmp_path_factory.mktemp("shown") / "runs")
    settings = ServerSettings(runs_folder=runs)
    with serving_with(tmp_path_factory.mktemp("page"), 0.0, model=gated_model, settings=settings) as address:
        yield address


@pytest.fixture
def page(opened_at, locale, scheme):
    with opened_at(locale=locale, scheme=scheme) as page:
        yield page


@pytest.fixture
def look(page, assert_clean):
    """Look at what is open in every width."""

    def check(name: str) -> None:
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
            # axe takes seconds, and the other widths have the layout of one of these.
            assert_clean(page, name, with_axe=width in {1280, 360})
        page.set_viewport_size({"width": 1280, "height": 800})

    return check


def open_anew(page, address: str) -> None:
    page.goto("about:blank")
    page.goto(f"/#/{address}")


def read(page, **more: str) -> str:
    read_to_the_end(page, **more)
    return re.split("[/?]", page.url.split("#/")[1])[1]


@in_each_language
def test_the_library_and_its_lists(page, look):
    read(page)
    read(page, question=FOLLOW_UP)
    open_anew(page, "")
    page.wait_for_selector(".shelf .readings li")
    look("home")
    page.locator(".ask summary").click()
    page.fill("#question-0", QUESTION)
    page.locator(".ask button.plain").first.click()
    page.set_input_files("#files", files=[{"name": "ledger.txt", "mimeType": "text/plain", "buffer": b"ink"}])
    page.locator(".chosen-files button").wait_for()
    look("form")
    page.locator(".chosen-files button").click()
    page.locator("button.big").click()
    page.wait_for_selector(".ask .problem:not(:empty)")
    look("form-refused")
    open_anew(page, "journal")
    for box in page.locator(".readings input").all()[:2]:
        box.check()
    look("journal")
    open_anew(page, "search?q=crates")
    page.wait_for_selector(".hits li")
    look("search")
    open_anew(page, "search?q=zeppelin")
    page.wait_for_selector(".home [role=status]:not(:empty)")
    look("search-none")
    open_anew(page, "nowhere")
    page.wait_for_selector("h1.sentence")
    look("not-found")


@in_each_language
def test_a_reading_with_all_that_can_be_opened(page, look):
    reading = read(page)
    read(page, question=FOLLOW_UP)
    open_anew(page, f"reading/{reading}")
    page.wait_for_selector("mark")
    page.locator(".why summary").click()
    look("reading")
    page.locator(".actions .menu summary", has_text=re.compile("Compare|对比|比较")).click()
    page.wait_for_selector(".actions .menu[open] a.choice")
    look("reading-menu")
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.keyboard.type("north gate")
    page.wait_for_selector(".find .small:not(:empty)")
    look("reading-find")
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.wait_for_selector(".call pre")
    look("reading-prompt")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.wait_for_selector(".keys[open]")
    look("keys")
    page.keyboard.press("Escape")
    page.locator(".tools a").click()
    page.wait_for_selector(".plain-text .text:has-text('Ada Quill')")
    look("document")
    open_anew(page, "sample?step=4")
    page.wait_for_selector(".lines li p")
    look("recorded")


@in_each_language
def test_two_readings_beside_each_other(page, look):
    readings = read(page), read(page, question=FOLLOW_UP)
    open_anew(page, "compare/" + "/".join(readings))
    page.wait_for_selector(".compare .lines li")
    look("compare")
    open_anew(page, f"compare/{readings[0]}/{read(page, text=f'Another text. {TEXT}')}")
    page.wait_for_selector(".compare .lines li")
    look("compare-two-documents")


@in_each_language
def test_what_is_under_way_waits_or_has_failed(page, look, gate):
    page.route("**/documents?*", lambda _route: None)
    open_anew(page, "")
    page.wait_for_selector(".shelf [role=status]:not(:empty)")
    look("loading")
    page.unroute("**/documents?*")
    gate.close_after(5)
    begin(page)
    page.wait_for_function("() => document.querySelector('.ribbon').getAttribute('aria-valuemax') == 4")
    look("in-flight")
    gate.is_down = True
    gate.open()
    page.wait_for_selector(".headline > p[role=status]:not(:empty)")
    look("waiting")
    page.locator(".actions button").first.click()
    page.wait_for_selector(".status.cancelled")
    look("cancelled")
    page.route("**/readings?*", lambda route: route.abort())
    page.goto("/#/journal")
    page.wait_for_selector(".journal .problem:not(:empty)")
    look("journal-away")
    page.route("**/readings/*", lambda route: route.abort())
    open_anew(page, "reading/nothing")
    page.wait_for_selector("h1.sentence")
    look("reading-away")


@in_each_language
def test_long_words_and_an_answer_that_nothing_bears_out(page, look):
    read(page, text=f"{LONG_WORD}\n{TEXT}", question=f"{QUESTION[:-1]}, {LONG_WORD[::-1]}?")
    look("long")
    page.keyboard.press("e")
    page.fill("#memory-text", "Zora Pell delivered 900 crates of ink to the north gate")
    look("edit")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".thread ol a[aria-current]")
    page.wait_for_selector(".status.answered")
    page.wait_for_selector(".memory[aria-busy=false]")
    page.locator(".why summary").click()
    look("fork")


@in_each_language
def test_runs_and_what_is_in_them(page, look):
    open_anew(page, "runs")
    page.wait_for_selector(".runs li")
    look("runs")
    for name, view in (("first", "evaluation"), ("deep/tiny", "training")):
        open_anew(page, "runs")
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_selector(".chart svg")
        page.wait_for_selector(".samples a, .rollouts a")
        for details in page.locator(".folded > summary").all():
            details.click()
        look(view)
        page.locator(".samples a, .rollouts a").first.click()
        page.wait_for_selector(".workspace .source .text:has-text('harvests')")
        look(f"{view}-reading")
