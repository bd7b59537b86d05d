"""Presses and typing while the next view is still being fetched, played with answers that are held back."""

from __future__ import annotations

import re

from page_readings import TEXT, read_to_the_end, step_shown, to_the_last_step

STANDS = "() => document.querySelector('main').ariaBusy === 'false'"


def reading_of(page) -> str:
    return re.search(r"/reading/([\w-]+)", page.url)[1]


def settle(page) -> None:
    """An answer to a later request: by then the page has dealt with all before it."""
    page.evaluate("() => fetch('/healthz').then((answer) => answer.text())")
    page.wait_for_function(STANDS)


def test_what_is_pressed_while_another_language_is_fetched_is_there_in_it(page, hold, expect):
    read_to_the_end(page)
    last = to_the_last_step(page)
    held = hold(page, f"**/readings/{reading_of(page)}?*")
    page.locator("header [lang]").click()
    held.wait()
    page.keyboard.press("ArrowLeft")
    page.locator(".cite").last.click()
    expect(page.locator("mark").first).to_be_visible()
    held.release()
    page.wait_for_selector("html[lang=zh-Hans]")
    settle(page)
    expect(page.get_by_role("button", name="重新跟着步骤走")).to_be_visible()
    expect(page.locator("mark").first).to_be_visible()
    assert step_shown(page) == last - 1
    assert "quote=" in page.url


def test_nobody_who_types_is_interrupted_by_another_language(reader_page, hold, expect):
    page = reader_page
    read_to_the_end(page, text=f"A ledger to type on. {TEXT}")
    held = hold(page, f"**/readings/{reading_of(page)}?*")
    page.locator("header [lang]").click()
    held.wait()
    page.locator("#follow-up-0").click()
    page.keyboard.type("How many crates in?")
    page.keyboard.press("ArrowLeft")
    held.release()
    page.wait_for_selector("html[lang=zh-Hans]")
    settle(page)
    page.keyboard.type(" 1712")
    expect(page.locator("#follow-up-0")).to_have_value("How many crates in 1712?")


def test_a_memory_that_is_being_told_keeps_the_words_in_another_language(page, hold, expect):
    page.request.post("/memories", data={"name": "ship-log", "about": "the ship"})
    page.goto("/#/memory/ship-log")
    page.get_by_text("Tell it something").click()
    held = hold(page, "**/memories/ship-log/log")
    page.locator("header [lang]").click()
    held.wait()
    page.fill("#memory-text-add", "The ship is at Lisbon.")
    page.fill("#memory-question", "Where is it?")
    held.release()
    settle(page)
    expect(page.locator(".memory-ask label")).to_have_text("您的问题")
    expect(page.locator("#memory-text-add")).to_be_visible()
    expect(page.locator("#memory-text-add")).to_have_value("The ship is at Lisbon.")
    expect(page.locator("#memory-question")).to_have_value("Where is it?")


def test_a_view_that_was_left_leads_nowhere(page, hold, expect):
    read_to_the_end(page, text=f"A ledger to leave. {TEXT}")
    asked = page.url
    held = hold(page, "**/readings", "POST")
    page.fill("#follow-up-0", "Who delivered ink?")
    page.keyboard.press("Enter")
    held.wait()
    page.get_by_role("link", name="All questions", exact=True).click()
    page.wait_for_selector(".journal")
    held.release()
    settle(page)
    assert page.url.endswith("#/journal")
    # It was asked all the same, and is no draft any more.
    page.goto(asked)
    expect(page.locator(".thread li")).to_have_count(2)
    assert page.input_value("#follow-up-0") == ""


def test_what_is_typed_while_a_question_is_sent_is_the_next_one(page, hold, expect):
    read_to_the_end(page, text=f"A ledger for two questions. {TEXT}")
    before = page.url
    held = hold(page, "**/readings", "POST")
    page.fill("#follow-up-0", "Who delivered ink?")
    page.keyboard.press("Enter")
    held.wait()
    page.fill("#follow-up-0", "In which year?")
    held.release()
    page.wait_for_url(lambda url: url.split("?")[0] != before.split("?")[0])
    settle(page)
    expect(page.locator("#follow-up-0")).to_have_value("In which year?")


def test_a_slow_document_does_not_lead_back_from_where_somebody_went_on(page, hold):
    read_to_the_end(page, text=f"A slow ledger. {TEXT}")
    sha = page.evaluate("async () => (await (await fetch('/documents?limit=1')).json())[0].document")
    page.goto("/#/search")
    page.wait_for_selector("#search")
    held = hold(page, f"**/documents/{sha}")
    page.evaluate("(sha) => { location.hash = `#/document/${sha}`; }", sha)
    held.wait()
    page.get_by_role("link", name="All questions", exact=True).click()
    page.wait_for_selector(".journal")
    held.release()
    settle(page)
    assert page.url.endswith("#/journal")
    assert page.locator(".journal").count() == 1


def test_the_last_press_of_all_decides_and_the_address_is_its_own(page, hold, expect):
    read_to_the_end(page)
    to_the_last_step(page)
    held = hold(page, "**/runs")
    page.get_by_role("link", name="Runs", exact=True).click()
    held.wait()
    # The view that is left still takes presses; its steps are no business of the next address.
    page.keyboard.press("ArrowLeft")
    page.locator(".cite").last.click()
    expect(page.locator("mark").first).to_be_visible()
    assert page.url.endswith("#/runs")
    page.get_by_role("link", name="Search", exact=True).click()
    page.wait_for_selector("#search")
    held.release()
    settle(page)
    assert page.url.endswith("#/search")
    expect(page.locator("#search")).to_be_visible()


def test_a_reading_that_goes_on_is_not_followed_by_a_view_that_was_left(page, gate, hold):
    gate.close_after(3)
    page.goto("/#/")
    page.fill("#text", f"A ledger that is stopped. {TEXT}")
    page.fill("#question-0", "How many crates?")
    page.locator("button.big").click()
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector(".status.cancelled")
    held = hold(page, "**/resume?*", "POST")
    page.get_by_role("button", name="Read on").click()
    held.wait()
    page.get_by_role("link", name="All questions", exact=True).click()
    page.wait_for_selector(".journal")
    followed = []
    page.on("request", lambda request: followed.append(request.url) if "/events" in request.url else None)
    held.release()
    settle(page)
    assert followed == []


def test_back_from_a_passage_leads_to_the_answer(reader_page, expect):
    page = reader_page
    read_to_the_end(page, text=f"A ledger to go back in. {TEXT}")
    answer = page.url
    page.evaluate("() => { document.querySelector('.workspace').dataset.same = 'yes'; }")
    for cite in (page.locator(".cite").first, page.locator(".cite").last):
        cite.click()
        expect(page.locator("mark").first).to_be_visible()
    page.wait_for_url(re.compile("quote="))
    page.go_back()
    page.wait_for_function("(url) => location.href === url", arg=answer)
    expect(page.locator(".workspace")).to_have_attribute("data-same", "yes")
    expect(page.get_by_role("button", name="Follow the steps again")).to_be_hidden()
    expect(page.locator(".headline .answer")).to_be_in_viewport()
    page.go_forward()
    page.wait_for_url(re.compile("quote="))
    expect(page.get_by_role("button", name="Follow the steps again")).to_be_visible()


def test_on_a_phone_back_from_a_passage_leads_to_where_the_answer_was_read(opened_at, expect):
    with opened_at(width=360, mode="read") as page:
        read_to_the_end(page, text=f"A ledger on a phone. {TEXT}")
        page.locator(".cite").first.scroll_into_view_if_needed()
        before = page.evaluate("scrollY")
        page.locator(".cite").first.click()
        expect(page.locator(".source")).to_be_in_viewport()
        page.wait_for_function("(y) => scrollY !== y", arg=before)
        page.go_back()
        page.wait_for_function("(y) => Math.abs(scrollY - y) < 3", arg=before)
        expect(page.locator(".headline .answer")).to_be_in_viewport()


def test_back_from_a_source_leads_to_where_the_list_was_scrolled(page, expect):
    read_to_the_end(page)
    page.goto("/#/search?q=crates")
    page.locator(".hits li").nth(12).scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    assert before > 0
    page.locator(".hits li").nth(12).get_by_role("link").click()
    page.wait_for_selector(".workspace")
    page.go_back()
    page.wait_for_function("(y) => Math.abs(scrollY - y) < 3", arg=before)


def test_chosen_files_are_there_again_after_going_back(page, expect):
    page.set_input_files("#files", files=[{"name": "mine.txt", "mimeType": "text/plain", "buffer": b"mine"}])
    page.goto("/#/journal")
    page.wait_for_selector(".journal")
    page.go_back()
    expect(page.locator(".chosen-files li")).to_have_count(1)
    page.get_by_role("button", name="中文").click()
    page.wait_for_selector("text=小模型，读任意长的文档")
    expect(page.locator(".chosen-files li")).to_have_count(1)
