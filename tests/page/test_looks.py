"""Every view at several widths, light and dark, English and Chinese, in a real Chromium."""

from __future__ import annotations

import pytest
from page_looks import LOOKS
from page_readings import TEXT, read_to_the_end


@pytest.mark.parametrize(("width", "scheme", "locale"), LOOKS)
def test_nothing_hinders_assistive_technology_or_overflows(opened_at, assert_clean, width, scheme, locale):
    with opened_at(width=width, scheme=scheme, locale=locale) as page:
        read_to_the_end(page)
        reading = page.url
        page.goto("/#/")
        page.wait_for_selector(".shelf .readings li")
        assert_clean(page, "home")
        page.goto(reading)
        page.wait_for_selector(".status.answered")
        page.locator("button.since").first.click()
        page.locator("mark").wait_for()
        assert_clean(page, "reading")
        page.keyboard.press("e")
        page.wait_for_selector("#memory-text")
        assert_clean(page, "edit")
        assert page.evaluate("document.documentElement.lang") == ("zh-Hans" if locale == "zh-CN" else "en")


@pytest.mark.parametrize("look", [(360, "dark", "en-GB"), (768, "light", "zh-CN")])
def test_an_empty_library_and_a_server_that_is_away_are_views_too(fresh_at, assert_clean, expect, look):
    with fresh_at(*look) as page:
        expect(page.locator(".shelf [role=status]")).not_to_be_empty()
        assert_clean(page, "empty")
        page.route("**/readings?*", lambda route: route.abort())
        page.goto("/#/journal")
        expect(page.locator(".journal [role=status]").last).to_contain_text("bookwheel serve")
        assert_clean(page, "away")


@pytest.mark.parametrize(("width", "scheme", "locale"), [(360, "light", "en-GB"), (768, "dark", "zh-CN")])
def test_long_words_stay_within_the_window(opened_at, assert_clean, width, scheme, locale):
    with opened_at(width=width, scheme=scheme, locale=locale) as page:
        # Two words, or the reader would take the one of the text for the answer.
        long, other = "Donaudampfschifffahrtselektrizitäten" * 3, "Rindfleischetikettierungsüberwachung" * 3
        read_to_the_end(
            page, text=f"{long}\n{TEXT}", question=f"How many crates of ink came to the north gate, {other}?"
        )
        assert_clean(page, "long")
        page.goto("/#/")
        page.wait_for_selector(".shelf .readings li")
        assert_clean(page, "long-home")
