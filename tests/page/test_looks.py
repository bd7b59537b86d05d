"""Every view at several widths, light and dark, English and Chinese, in a real Chromium."""

from __future__ import annotations

import pytest
from page_looks import LOOKS
from page_readings import read_to_the_end


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
