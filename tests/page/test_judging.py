"""An answer is judged by a model from the page, in a real Chromium."""

from __future__ import annotations

from threading import Event

import pytest

from bookwheel.models.scripted import ScriptedModel


def answer_and_judge(messages):
    """Answer in words that the document does not have, and bear them out as a judge, once the test lets it."""
    prompt = messages[-1].content
    if not any(turn in prompt for turn in ("everything that", "cannot be true", "or a part of it?")):
        return "The one who tends it is Miss Quill."
    JUDGE.wait(60)
    return "Yes"


JUDGE = Event()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_model_judges_an_answer_that_words_did_not_prove(fresh_at, assert_clean, expect, width):
    JUDGE.clear()
    with fresh_at(width, mode="read", model=ScriptedModel(answer_and_judge)) as page:
        page.fill("#text", "The keeper of the lamp is Ada Quill. Rain fell for weeks.")
        page.fill("#question-0", "Who keeps the lamp?")
        page.locator("button.big").click()
        expect(page.locator(".trust")).to_contain_text("Not found in the document")
        button = page.get_by_role("button", name="Let scripted judge this")
        assert_clean(page, "judged-by-words")
        button.click()
        expect(page.locator(".judging button:disabled")).to_have_text("scripted judges…")
        JUDGE.set()
        expect(page.locator(".trust")).to_contain_text("The document says so")
        expect(page.locator(".claims > li")).to_contain_text("judged by scripted")
        expect(page.locator(".judging")).to_be_hidden()
        assert_clean(page, "judged-by-a-model")


def test_what_the_server_says_of_a_judge_that_fails_stands_beside_the_button(fresh_at, expect):
    model = ScriptedModel(lambda _messages: "The one who tends it is Miss Quill.")
    with fresh_at(mode="read", model=model) as page:
        page.fill("#text", "The keeper of the lamp is Ada Quill. Rain fell for weeks.")
        page.fill("#question-0", "Who keeps the lamp?")
        page.locator("button.big").click()
        page.get_by_role("button", name="Let scripted judge this").click()
        expect(page.locator(".judging [role=alert]")).to_contain_text("the verdicts stay as they were")
        expect(page.locator(".judging button")).to_be_enabled()
