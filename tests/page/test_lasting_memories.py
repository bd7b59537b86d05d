"""The page of a lasting memory: what it says while the model is asked."""

from __future__ import annotations

import pytest


@pytest.fixture
def log_book(page):
    """The page of a memory that has read one text."""
    page.request.post("/memories", data={"name": "log-book", "about": "the north gate"})
    page.request.post("/memories/log-book/texts", data={"text": "Bo Fell keeps the north gate.", "source": "letter"})
    page.goto("/#/memory/log-book")
    page.wait_for_selector(".memory h1")
    yield page
    page.request.delete("/memories/log-book")


def test_a_question_says_why_it_waits_while_the_model_is_away(log_book, gate, expect):
    gate.close_after(0)
    log_book.fill("#memory-question", "Who keeps the north gate?")
    log_book.get_by_role("button", name="Ask it").click()
    said = log_book.locator(".memory-ask + [role=status]")
    expect(said).to_contain_text("being asked")
    gate.is_down = True
    gate.open()
    expect(said).to_contain_text("no server answers at http://tower:8000/v1")
    gate.is_down = False
    expect(said.locator(".said")).to_contain_text("Bo Fell")


def test_an_answer_comes_into_view_and_is_there_after_a_reload(log_book, expect):
    log_book.set_viewport_size({"width": 1280, "height": 400})
    log_book.fill("#memory-question", "Who keeps the north gate?")
    log_book.get_by_role("button", name="Ask it").click()
    expect(log_book.locator(".memory-ask + [role=status] .said")).to_be_in_viewport()
    asked = log_book.locator(".answered details")
    expect(asked).to_have_count(1)
    log_book.reload()
    asked.get_by_text("Who keeps the north gate?").click()
    expect(asked.locator(".said")).to_contain_text("Bo Fell")
