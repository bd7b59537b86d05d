"""Memories written by hand and what is read on from them, in a real Chromium."""

from __future__ import annotations

from page_readings import TEXT, read_to_the_end, step_shown, to_the_last_step, wait_for_step, wait_for_the_end


def test_an_answer_that_the_document_does_not_bear_out_is_not_green(page, expect):
    read_to_the_end(page)
    page.locator(".ribbon").click(position={"x": 500, "y": 20})
    page.keyboard.press("e")
    page.fill("#memory-text", "Zora Pell delivered 900 crates of ink to the north gate")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".thread ol a[aria-current]")
    page.wait_for_selector(".status.answered.grey, .status.answered.amber, .status.answered.red")
    page.locator(".why summary").click()
    by_hand = page.locator(".claims li", has_text="written by hand at step")
    expect(by_hand.first).to_be_visible()
    expect(by_hand.first.locator(".proof")).to_have_count(0)
    expect(page.locator(".answer")).to_contain_text("Zora Pell")


def test_an_edited_memory_is_read_on_from_as_a_new_reading(page, expect):
    read_to_the_end(page)
    old = page.url
    page.locator(".ribbon").click(position={"x": 500, "y": 20})
    page.keyboard.press("e")
    page.fill("#memory-text", "Zora Pell sailed from Lisbon with forty barrels of ink")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".thread ol a[aria-current]")
    wait_for_the_end(page)
    assert page.url.split("?")[0] != old.split("?")[0]
    to_the_last_step(page)
    page.wait_for_selector(".lines .chip.hand")
    expect(page.locator(".lines")).to_contain_text("Zora Pell")


def test_another_language_keeps_a_memory_that_is_being_edited(page):
    read_to_the_end(page)
    at = to_the_last_step(page) - 1
    page.keyboard.press("ArrowLeft")
    wait_for_step(page, at)
    page.keyboard.press("e")
    page.fill("#memory-text", "half a thought")
    page.get_by_role("button", name="中文").click()
    page.wait_for_selector("label:has-text('之后的记忆')")
    assert page.input_value("#memory-text") == "half a thought"
    assert step_shown(page) == at


def test_a_fork_has_a_name_and_stands_below_its_reading(page, expect):
    read_to_the_end(page, text=f"A text with forks. {TEXT}")
    page.locator(".ribbon").click(position={"x": 500, "y": 20})
    page.keyboard.press("e")
    page.fill("#memory-text", "Zora Pell delivered 900 crates of ink to the north gate")
    page.keyboard.press("Control+Enter")
    fork = page.locator(".thread > li > ol > li > a")
    expect(fork).to_have_attribute("aria-current", "page")
    expect(fork).to_contain_text("(memory changed by hand)")
    wait_for_the_end(page)
    page.locator(".actions summary").filter(has_text="More").click()
    page.get_by_role("button", name="Rename").last.click()
    page.locator(".sheet .rename").fill("What if Zora came?")
    page.keyboard.press("Enter")
    expect(fork).to_contain_text("What if Zora came?")
    page.locator(".thread > li > a").click()
    expect(page.locator(".thread > li > a")).to_have_attribute("aria-current", "page")
    expect(fork).to_contain_text("What if Zora came?")
    expect(fork).not_to_have_attribute("aria-current", "page")
