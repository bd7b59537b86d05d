"""Two readings side by side, in a real Chromium."""

from __future__ import annotations

from page_readings import TEXT, begin, read_to_the_end


def test_two_readings_lie_side_by_side_at_the_same_place(page):
    read_to_the_end(page)
    read_to_the_end(page, question="Which crates did Ada Quill deliver?")
    page.goto("/#/journal")
    page.locator(".readings input").nth(0).check()
    page.locator(".readings input").nth(1).check()
    page.get_by_role("button", name="Compare the two").click()
    page.wait_for_selector(".compare .lines li")
    page.locator(".ribbon").first.click(position={"x": 150, "y": 20})
    page.wait_for_function(
        "() => { const [a, b] = [...document.querySelectorAll('.ribbon')].map((one) => one.getAttribute('aria-valuenow')); return a === b && a !== a.max && a < 12; }"
    )


def test_a_place_is_found_in_whatever_order_it_was_read(page):
    at = page.evaluate(
        """async () => {
            const { Trace } = await import("/page/trace.js");
            const places = [[500, 600], [0, 500], [600, 900], [0, 250]];
            const trace = new Trace(places.map(([start, end], index) => ({ index, start, end, flags: [] })));
            return [0, 250, 550, 700, 5000].map((character) => trace.stepAt(character));
        }"""
    )
    assert at == [3, 1, 0, 2, 3]


def test_two_readings_are_followed_side_by_side_while_they_go_on(page, gate, assert_clean, expect):
    gate.close_after(4)
    begin(page)
    first = page.url.split("/")[-1].split("?")[0]
    begin(page, question="Which crates did Ada Quill deliver to the gate?")
    second = page.url.split("/")[-1].split("?")[0]
    page.goto(f"/#/compare/{first}/{second}")
    page.wait_for_selector(".compare .ribbon")
    seen = "() => [...document.querySelectorAll('.ribbon')].map((one) => Number(one.getAttribute('aria-valuenow')))"
    assert max(page.evaluate(seen)) < 12
    gate.open()
    page.wait_for_function("() => document.querySelectorAll('.compare .status.answered').length === 2")
    page.wait_for_function(f"() => Math.min(...({seen})()) > 12")
    expect(page.locator(".compare .answer:not(.none)")).to_have_count(2)
    expect(page.locator(".compare > .chips")).to_contain_text("in both")
    assert_clean(page, "compare")


def test_two_documents_are_not_said_to_be_at_the_same_place(page, expect):
    read_to_the_end(page, text=f"One. {TEXT}")
    first = page.url.split("/")[-1].split("?")[0]
    read_to_the_end(page, text=f"Other. {TEXT}")
    second = page.url.split("/")[-1].split("?")[0]
    page.goto(f"/#/compare/{first}/{second}")
    page.wait_for_selector(".compare .lines li")
    expect(page.locator(".compare .problem").first).to_contain_text("two documents")
    expect(page.locator(".compare > .chips")).to_be_empty()
    page.locator(".ribbon").first.click(position={"x": 2, "y": 20})
    page.wait_for_function(
        "() => { const [a, b] = [...document.querySelectorAll('.ribbon')].map((one) => Number(one.getAttribute('aria-valuenow'))); return a === 0 && b > 12; }"
    )
