"""A document as it looks: its pages with passages marked, its text laid out, its contents; and to read or to inspect."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from page_readings import begin, read_to_the_end, wait_for_the_end

MARKED = """# The pier

## Timber

The **first** crates came *late* with `rope`, and
the [ledger](https://example.org/x) says: 1\\. of May.

| Month | Crates |
|---|---|
| May | 64 \\| 65 |

- one
  goes on
- two

> They said so.

```
let x = 1;
  y
```

1.1 The tenant pays.
"""


@pytest.fixture
def log(tmp_path) -> bytes:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas").Canvas(str(tmp_path / "log.pdf"), pagesize=(400, 500))
    for number in range(1, 9):
        canvas.drawString(40, 440, f"Page {number} of the log.")
        if number == 6:
            canvas.drawString(40, 400, "Ada Quill counted sixty-four barrels of lamp oil.")
        canvas.showPage()
    canvas.save()
    return (tmp_path / "log.pdf").read_bytes()


def upload(page, content: bytes, name: str) -> str:
    answer = page.request.post("/documents", data=content, headers={"X-Filename": name})
    return answer.json()["document"]


def place_of(page, sha: str, words: str) -> str:
    (found,) = page.request.get(f"/documents/{sha}/find?text={words}").json()
    return f"{found['start']}-{found['end']}"


def test_a_passage_of_a_pdf_is_marked_on_the_picture_of_its_page(page, log, expect):
    sha = upload(page, log, "log.pdf")
    page.goto(f"/#/document/{sha}?quote={place_of(page, sha, 'sixty-four barrels')}")
    box = page.locator(".page[data-page='6'] .box")
    expect(box).to_be_visible()
    assert box.evaluate("node => node.offsetWidth > 40 && node.offsetWidth < node.parentElement.offsetWidth / 2")
    expect(page.locator(".page[data-page='6'] img")).to_be_visible()
    page.wait_for_function("() => document.querySelector('.page[data-page=\"6\"] img').naturalWidth > 300")
    expect(page.locator(".where")).to_contain_text("page 6")
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator(".source mark")).to_have_text("sixty-four barrels")
    page.get_by_role("button", name="Pages", exact=True).click()
    expect(box).to_be_visible()


def test_only_pages_near_the_window_are_drawn(page, log, expect):
    sha = upload(page, log, "log.pdf")
    page.goto(f"/#/document/{sha}?text")
    expect(page.locator(".page[data-page='1'] img")).to_be_visible()
    assert page.locator(".page").count() == 8
    assert page.locator(".page img").count() < 6


def test_a_page_says_that_it_is_being_drawn_and_is_asked_for_again_where_that_failed(page, log, expect):
    sha = upload(page, log, "log.pdf")
    held, refused = [], []

    def answer(route) -> None:
        if "/pages/1?" in route.request.url:
            held.append(route)
        elif "/pages/2?" in route.request.url and not refused:
            refused.append(route)
            route.abort()
        else:
            route.continue_()

    page.route("**/pages/*", answer)
    page.goto(f"/#/document/{sha}?text")
    first = page.locator(".page[data-page='1']")
    told = "node => getComputedStyle(node, '::before').content"
    expect(first).to_be_visible()
    assert "Page 1 is being drawn" in first.evaluate(told)
    assert "Page 1 is being drawn" in (first.get_attribute("aria-label") or "")
    expect(page.locator(".page[data-page='2'] img")).to_be_visible()
    assert refused
    assert page.locator(".page[data-page='2']").get_attribute("data-tries") == "0"
    held[0].continue_()
    expect(first.locator("img")).to_be_visible()
    assert first.evaluate(told) == "none"
    assert first.get_attribute("aria-label") is None


def test_a_marked_up_text_is_shown_as_a_page(page, expect):
    sha = upload(page, MARKED.encode(), "pier.md")
    page.goto(f"/#/document/{sha}?text")
    text = page.locator(".source .text")
    expect(text.locator("h4")).to_have_text("Timber")
    expect(text.locator("strong")).to_have_text("first")
    expect(text.locator("td").last).to_have_text("64 | 65")
    expect(text.locator(".item").first).to_have_text("- one goes on")
    expect(text.locator("pre")).to_have_text("let x = 1;\n  y")
    expect(text.locator(".item").last).to_contain_text("The tenant pays.")
    assert text.locator("a").count() == 0
    shown = text.inner_text()
    assert not any(mark in shown for mark in ("**", "##", "---", "```", "]("))


@pytest.fixture(scope="module")
def laid(chromium, base):
    """Lays a text out in a browser: the spans of its leaves and the words that they show."""
    page = chromium.new_page(base_url=base)
    page.goto("/")
    script = """([text, start, style]) => import("/page/paper.js").then(({ layOut }) =>
        layOut(text, start, style).leaves.map(({ node, start, end }) => [start, end, node.data]))"""
    yield lambda text, start, style: page.evaluate(script, [text, start, style])
    page.close()


PIECES = st.sampled_from(
    [
        "**",
        "*",
        "`",
        "# ",
        "| ",
        "|",
        "\n",
        "\n\n",
        "- ",
        "> ",
        "```\n",
        "[",
        "](x)",
        "\\",
        "word ",
        "灯塔",
        "🚢",
        "a_b ",
    ]
)


@settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from(["marked", "plain", "code"]))
def test_every_leaf_shows_the_characters_of_its_span(laid, text, style):
    last = 0
    for start, end, shown in laid(text, 100, style):
        assert start - 100 >= last
        assert shown == text[start - 100 : end - 100].replace("\n", " ") or shown == text[start - 100 : end - 100]
        last = end - 100


def test_a_long_text_is_scrolled_through_in_leaves_and_marks_are_where_they_belong(page, expect):
    lines = "".join(f"Paragraph {n} tells of the harbour, its crates and its clerks.\n\n" for n in range(12_000))
    sha = upload(page, lines.encode(), "long.txt")
    page.goto(f"/#/document/{sha}?quote={place_of(page, sha, 'Paragraph 9001 tells')}")
    expect(page.locator(".source mark")).to_have_text("Paragraph 9001 tells")
    assert page.evaluate("document.querySelectorAll('.leaf p').length") < 3000
    inside = """() => { const [mark, text] = ['mark', '.text'].map((name) => document.querySelector(`.source ${name}`).getBoundingClientRect());
        return mark.top > text.top && mark.bottom < text.bottom; }"""
    page.wait_for_function(inside)
    page.locator(".source .text").evaluate("node => node.scrollTo(0, 0)")
    expect(page.get_by_text("Paragraph 3 tells")).to_be_visible()
    page.locator(".source .text").evaluate("node => node.scrollTo(0, node.scrollHeight)")
    expect(page.get_by_text("Paragraph 11999 tells")).to_be_visible()


def test_the_contents_lead_to_their_headings(page, expect):
    text = "".join(f"## Part {n}\n\n{'The clerk wrote on. ' * 150}\n\n" for n in range(1, 30))
    sha = upload(page, text.encode(), "parts.md")
    page.goto(f"/#/document/{sha}?text")
    page.locator(".contents summary").click()
    page.get_by_role("button", name="Part 23").click()
    heading = page.locator("h4", has_text="Part 23")
    expect(heading).to_be_in_viewport()


def test_a_newcomer_reads_a_conversation_with_the_document_beside_it(reader_page, expect, assert_clean):
    page = reader_page
    read_to_the_end(page)
    expect(page.locator(".turn .answer")).to_contain_text("crates of ink")
    expect(page.locator(".timeline")).to_be_hidden()
    expect(page.locator(".memory")).to_be_hidden()
    card = page.locator(".cards .card").first
    expect(card).to_be_visible()
    card.click()
    expect(page.locator(".source mark").first).to_be_visible()
    assert_clean(page, "read")
    page.keyboard.press("i")
    expect(page.locator(".timeline")).to_be_visible()
    expect(page.locator(".sheet .answer")).to_contain_text("crates of ink")
    page.keyboard.press("i")
    expect(page.locator(".turn .answer")).to_contain_text("crates of ink")


def test_while_it_reads_what_was_found_so_far_is_shown(reader_page, gate, expect):
    gate.close_after(9)
    begin(reader_page)
    expect(reader_page.locator(".sofar li").nth(1)).to_be_visible()
    gate.open()
    wait_for_the_end(reader_page)
    expect(reader_page.locator(".sofar")).to_be_hidden()


def test_an_address_with_a_step_opens_to_be_inspected(reader_page, expect):
    page = reader_page
    read_to_the_end(page)
    address = page.evaluate("location.hash.split('?')[0]")
    page.goto(f"/{address}?step=2")
    expect(page.locator(".timeline")).to_be_visible()
    assert json.loads(page.evaluate("JSON.stringify(localStorage.getItem('bookwheel.mode'))")) is None


def test_what_the_answer_rests_on_is_marked_where_one_section_is_all(reader_page, expect):
    page = reader_page
    read_to_the_end(page, "Rain fell on the mill. Ada Quill delivered 7 crates of ink to the north gate in 1719.")
    expect(page.locator(".source mark").first).to_contain_text("7 crates")
