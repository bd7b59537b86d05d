"""A picture that a person gives to the page: its words are read, answered from and marked on it."""

from __future__ import annotations

import re

import pytest
from page_readings import wait_for_the_end

pytest.importorskip("rapidocr")

from drawn import draw_dues, write_png

from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan

ROWS = (("Ada Quill", "101 crowns"), ("Bo Fell", "102 crowns"))


def test_a_picture_in_the_file_field_is_read_and_its_words_are_marked_on_it(page, expect):
    content = write_png(draw_dues(ROWS))
    page.set_input_files("#files", files=[{"name": "dues.png", "mimeType": "image/png", "buffer": content}])
    page.fill("#question-0", "How many crowns does Bo Fell pay?")
    page.locator("button.big").click()
    page.wait_for_url("**/#/reading/**")
    wait_for_the_end(page)
    expect(page.locator(".sheet .answer")).to_contain_text("102 crowns")
    sha = page.evaluate("fetch('/readings').then((answer) => answer.json()).then((all) => all[0].document.id)")
    text = page.request.get(f"/documents/{sha}/text?start=0&end=200").json()["text"]
    start = text.index("102 crowns")
    page.goto(f"/#/document/{sha}?quote={start}-{start + 10}")
    expect(page.locator(".page[data-page='1'] .box").first).to_be_visible()
    page.wait_for_function("() => document.querySelector('.page[data-page=\"1\"] img')?.naturalWidth > 300")


def keep_pictures(messages) -> str:
    """Keep the mark of each picture that is shown, that of a part, and some words in brackets that are none."""
    if "<section>" not in messages[-1].content:
        return "\\boxed{Bo Fell}"
    part = "box 0.125512 0.250512 0.875512 0.995512"
    lines = [f"{one.mark} has [{one.label}, {part}] the dues [as figure 9 has]" for one in messages[-1].pictures]
    return "\n".join(lines) or "UNCHANGED"


def test_the_memory_of_a_reading_shows_the_pictures_that_it_points_at(fresh_at, expect):
    model = ScriptedModel(keep_pictures, plan=Plan(chunk_tokens=400, memory_tokens=400), vision="qwen")
    with fresh_at(model=model, width=360, scheme="dark") as page:
        content = write_png(draw_dues(ROWS))
        page.set_input_files("#files", files=[{"name": "dues.png", "mimeType": "image/png", "buffer": content}])
        page.fill("#question-0", "Who pays?")
        page.locator("button.big").click()
        page.wait_for_url("**/#/reading/**")
        wait_for_the_end(page)
        shown = page.locator(".memory .lines img.pointed-at")
        expect(shown).to_have_count(2)
        expect(shown.first).to_have_attribute("alt", "page 1, figure 1")
        expect(shown.last).to_have_attribute("alt", re.compile("box 0.125512"))
        shown.first.scroll_into_view_if_needed()
        page.wait_for_function("() => document.querySelector('.lines img.pointed-at').naturalWidth > 300")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_picture_of_a_lasting_memory_stands_below_its_line(fresh_at):
    model = ScriptedModel(keep_pictures, plan=Plan(chunk_tokens=400, memory_tokens=400), vision="qwen")
    with fresh_at(model=model, width=360) as page:
        send = page.request.post
        send("/memories", data={"name": "dues", "about": "Who pays"})
        kept = send("/documents", headers={"X-Filename": "dues.png"}, data=write_png(draw_dues(ROWS))).json()
        send("/memories/dues/texts", data={"document": kept["document"], "source": "dues.png"})
        page.goto("/#/memory/dues")
        line = page.locator(".noted > li", has=page.locator("img.pointed-at"))
        line.wait_for()
        shown, words = line.locator("img").bounding_box(), line.locator("p").bounding_box()
        assert shown["x"] == words["x"]
        assert words["width"] > 200
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
