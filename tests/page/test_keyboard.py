"""The whole way from a text to the passage behind its answer by keys alone, in a real Chromium."""

from __future__ import annotations

from page_readings import QUESTION, TEXT, wait_for_step, wait_for_the_end


def tab_to(page, selector: str) -> None:
    """Press Tab until the focus is there; more stops than these nobody would press."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab does not lead to {selector}")


def test_a_text_is_asked_browsed_and_searched_without_a_pointer(page, expect):
    page.wait_for_selector("#text")
    tab_to(page, "#text")
    page.keyboard.insert_text(TEXT)
    tab_to(page, "#question-0")
    page.keyboard.insert_text(QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_url("**/#/reading/**")
    wait_for_the_end(page)
    tab_to(page, ".ribbon")
    page.keyboard.press("Home")
    wait_for_step(page, 0)
    page.keyboard.press("PageDown")
    wait_for_step(page, 10)
    tab_to(page, "button.since")
    page.keyboard.press("Enter")
    expect(page.locator("mark")).to_have_count(1)
    page.keyboard.press("f")
    page.keyboard.type("north gate")
    expect(page.locator(".find .small")).to_have_text("1 of 16")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page.locator("#follow-up-0")).to_be_focused()
