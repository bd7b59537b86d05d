"""The page in a real Chromium, over real readings."""

from __future__ import annotations

import pytest

QUESTION = "How many crates of ink came to the north gate?"
FILLER = "Rain fell on the mill 🌧️ and nobody said much about the weather, which was as it had been. " * 4
TEXT = "\n".join(
    f"{FILLER}Ada Quill delivered {n + 3} crates of ink to the north gate in 17{n + 10}." for n in range(16)
)


def begin(page, text: str = TEXT, question: str = QUESTION) -> None:
    page.goto("about:blank")
    page.goto("/#/")
    page.fill("#text", text)
    page.fill("#question-0", question)
    page.locator("button.big").click()
    page.wait_for_url("**/#/reading/**")
    page.wait_for_selector(".workspace .lines li p")


def read_to_the_end(page, text: str = TEXT, question: str = QUESTION) -> None:
    begin(page, text, question)
    page.wait_for_selector(".status.answered")
    page.wait_for_selector(".cite")


def step_shown(page) -> int:
    return int(page.locator(".ribbon").get_attribute("aria-valuenow"))


def wait_for_step(page, step: int) -> None:
    page.wait_for_function("n => document.querySelector('.ribbon').getAttribute('aria-valuenow') == n", arg=step)


def to_the_last_step(page) -> int:
    page.get_by_role("button", name="Newest step").click()
    last = int(page.locator(".ribbon").get_attribute("aria-valuemax"))
    wait_for_step(page, last)
    return last


def test_a_reading_is_watched_until_it_is_answered(page, gate, expect):
    gate.close_after(5)
    begin(page)
    expect(page.locator("progress")).to_be_visible()
    expect(page.locator(".took")).to_contain_text("left:")
    gate.open()
    page.wait_for_selector(".status.answered")
    assert "crates of ink" in page.locator(".answer").inner_text()
    assert page.locator("progress").is_hidden()


def test_every_version_can_be_scrubbed_to_by_key_and_by_pointer(page):
    read_to_the_end(page)
    last = to_the_last_step(page)
    assert last > 12
    page.keyboard.press("ArrowLeft")
    wait_for_step(page, last - 1)
    page.locator(".ribbon").click(position={"x": 2, "y": 20})
    wait_for_step(page, 0)
    assert "step 0" in page.locator(".memory h2").inner_text().lower()
    page.wait_for_function("() => location.hash.endsWith('?step=0')")


def test_a_lines_number_leads_to_its_words_in_the_document(page):
    read_to_the_end(page)
    to_the_last_step(page)
    item = page.locator(".lines li:not(.gone)").nth(2)
    line = item.locator("p").inner_text().split("Ada Quill")[1]
    item.locator("button.since").click()
    page.wait_for_function("line => document.querySelector('mark')?.textContent.includes(line)", arg=line.strip(" .\n"))


def test_a_line_of_an_earlier_memory_is_followed_too(page):
    read_to_the_end(page)
    last = to_the_last_step(page)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    wait_for_step(page, last - 2)
    page.wait_for_function("n => location.hash.endsWith(`?step=${n}`)", arg=last - 2)
    item = page.locator(".lines li:not(.gone)").first
    line = item.locator("p").inner_text()
    item.locator("button.since").click()
    page.locator("mark").wait_for()
    assert page.locator("mark").inner_text().strip(" .") in line


def test_the_evidence_of_the_answer_leads_to_the_document(page):
    read_to_the_end(page)
    to_the_last_step(page)
    quote = page.locator(".cited .quote").first
    assert not quote.is_visible()
    page.locator(".cite").first.hover()
    assert quote.is_visible()
    page.locator(".cite").first.click()
    page.locator("mark").wait_for()
    assert page.locator("mark").inner_text().strip() == quote.text_content().strip()
    page.wait_for_function("() => /quote=\\d+-\\d+/.test(location.hash)")
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.locator("mark").wait_for()
    assert page.locator("mark").inner_text().strip() == page.locator(".cited .quote").first.text_content().strip()


def test_a_finished_reading_opens_where_its_evidence_was_read(page):
    read_to_the_end(page)
    page.reload()
    page.wait_for_selector(".cite")
    found = page.evaluate("async () => (await fetch(`/readings/${location.hash.split(/[/?]/)[2]}`)).json()")["evidence"]
    wait_for_step(page, found[0]["step"])
    page.locator("mark").wait_for()
    tops = [page.locator(name).bounding_box()["y"] for name in (".answer", ".lines", ".source .text")]
    assert max(tops) < 400
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_a_passage_that_is_held_stays_while_the_reading_goes_on(page, gate, expect):
    gate.close_after(5)
    begin(page)
    expect(page.locator(".lines button.since").first).to_be_visible()
    page.locator(".lines button.since").first.click()
    page.locator("mark").wait_for()
    held = page.locator(".source .text").text_content()
    gate.open()
    page.wait_for_selector(".status.answered")
    expect(page.get_by_role("button", name="Follow the steps again")).to_be_visible()
    assert page.locator(".source .text").text_content() == held


def test_each_sentence_of_the_answer_has_its_verdict(page):
    read_to_the_end(page)
    told = page.evaluate("async () => (await fetch(`/readings/${location.hash.split(/[/?]/)[2]}`)).json()")
    assert told["verdict"] == "found"
    page.locator(".why summary").click()
    assert page.locator(".eyebrow .support").inner_text() == "found in the document"
    assert page.locator(".claims > li").count() == len(told["claims"])
    quotes = [len(claim["evidence"]) for claim in told["claims"]]
    assert [item.locator(".proof").count() for item in page.locator(".claims > li").all()] == quotes


def test_an_answer_that_the_document_does_not_bear_out_is_not_green(page):
    read_to_the_end(page)
    page.locator(".ribbon").click(position={"x": 500, "y": 20})
    page.keyboard.press("e")
    page.fill("#memory-text", "Zora Pell delivered 900 crates of ink to the north gate")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".thread ol a[aria-current]")
    page.wait_for_selector(".status.answered.unproved")
    page.locator(".why summary").click()
    by_hand = page.locator(".claims li", has=page.locator(".support.by-hand"))
    assert "written by hand at step" in by_hand.first.inner_text()
    assert by_hand.first.locator(".proof").count() == 0
    assert "Zora Pell" in page.locator(".answer").inner_text()


def test_an_edited_memory_is_read_on_from_as_a_new_reading(page):
    read_to_the_end(page)
    old = page.url
    page.locator(".ribbon").click(position={"x": 500, "y": 20})
    page.keyboard.press("e")
    page.fill("#memory-text", "Zora Pell sailed from Lisbon with forty barrels of ink")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".thread ol a[aria-current]")
    page.wait_for_selector(".status.answered")
    assert page.url.split("?")[0] != old.split("?")[0]
    to_the_last_step(page)
    page.wait_for_selector(".lines .chip.hand")
    assert "Zora Pell" in page.locator(".lines").inner_text()


def test_a_reload_in_mid_reading_loses_nothing(page, gate):
    gate.close_after(5)
    begin(page)
    page.reload()
    page.wait_for_selector(".workspace .lines li p")
    gate.open()
    page.wait_for_selector(".status.answered")
    held = page.evaluate(
        "async () => (await (await fetch(`/readings/${location.hash.split(/[/?]/)[2]}`)).json()).steps.map((step) => step.index)"
    )
    assert held == list(range(to_the_last_step(page) + 1))


def test_a_stopped_reading_is_read_on(page, gate):
    gate.close_after(5)
    begin(page)
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector(".status.cancelled")
    gate.open()
    page.get_by_role("button", name="Read on", exact=True).click()
    page.wait_for_selector(".status.answered")


def test_a_reading_that_its_budget_stopped_goes_on_with_twice_as_much(page):
    page.fill("#text", TEXT)
    page.fill("#question-0", QUESTION)
    page.get_by_text("How to read").click()
    page.fill("#tokens", "4500")
    page.locator("button.big").click()
    page.wait_for_selector(".status.stopped")
    read = step_shown(page)
    page.get_by_role("button", name="Read on with twice the budget").click()
    page.wait_for_function("n => document.querySelector('.ribbon').getAttribute('aria-valuenow') > n", arg=read)


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


def test_two_readings_are_followed_side_by_side_while_they_go_on(page, gate, assert_clean):
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
    assert page.locator(".compare .answer:not(.none)").count() == 2
    assert "in both" in page.locator(".compare > .chips").inner_text()
    assert_clean(page, "compare")


def test_another_language_keeps_what_was_typed_and_chosen(page):
    page.fill("#text", "a text of mine")
    page.set_input_files("#files", files=[{"name": "mine.txt", "mimeType": "text/plain", "buffer": b"mine"}])
    page.fill("#question-0", "one?")
    page.get_by_role("button", name="Another question").click()
    page.fill("#question-1", "two?")
    page.get_by_text("How to read").click()
    page.fill("#chunk_tokens", "64")
    page.get_by_role("button", name="中文").click()
    page.wait_for_selector("text=小模型，读任意长的文档")
    assert page.evaluate("document.activeElement.textContent") == "English"
    assert [page.input_value(f"#{name}") for name in ("text", "question-0", "question-1", "chunk_tokens")] == [
        "a text of mine",
        "one?",
        "two?",
        "64",
    ]
    assert "mine.txt" in page.locator(".chosen-files").inner_text()


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


def test_several_questions_are_put_to_an_uploaded_file_and_found_again(page):
    page.set_input_files(
        "#files",
        files=[{"name": "mill ledger é.txt", "mimeType": "text/plain", "buffer": f"A ledger. {TEXT}".encode()}],
    )
    page.fill("#question-0", QUESTION)
    page.get_by_role("button", name="Another question").click()
    page.fill("#question-1", "Who came in the rain of the mill?")
    page.locator("button.big").click()
    page.wait_for_function("() => document.querySelectorAll('.thread li').length === 2")
    assert "mill ledger é.txt" in page.locator(".book-name").inner_text()
    page.goto("/#/journal")
    page.fill("#search", "rain of the mill")
    page.wait_for_function("() => document.querySelectorAll('.readings li').length === 1")
    assert "mill ledger é.txt" in page.locator(".readings").inner_text()


def test_what_a_document_holds_is_text_and_never_markup(page):
    evil = '<img src=x onerror="document.title=1"><script>document.title=2</script> crates of ink \u202enorth gate <a href="javascript:document.title=3">ink crates gate</a>.\n'
    begin(page, evil + TEXT, "Which crates of ink came to the <b>north</b> gate?")
    page.wait_for_selector(".status.answered")
    page.keyboard.press("ArrowLeft")
    page.locator(".ribbon").click(position={"x": 2, "y": 20})
    page.wait_for_selector(".source .text:has-text('onerror')")
    assert (
        page.locator("main script, main b:text-is('north'), main a[href^=javascript], main img:not(.wheel)").count()
        == 0
    )
    assert "\u202e" not in page.locator("main").inner_text()


def test_a_refusal_is_a_sentence_beside_the_form(page):
    page.locator("button.big").click()
    assert "Paste a text" in page.locator(".ask .problem").inner_text()
    page.fill("#text", "http://10.0.0.1/book")
    page.fill("#question-0", QUESTION)
    page.locator("button.big").click()
    page.wait_for_selector(".ask .problem:has-text('10.0.0.1')")


def test_a_server_that_wants_a_key_is_given_one(locked):
    page, secret = locked
    page.fill("#key", "wrong")
    page.get_by_role("button", name="Enter").click()
    page.wait_for_selector("text=This key is not known here.")
    page.fill("#key", secret)
    page.get_by_role("button", name="Enter").click()
    page.wait_for_selector("#text")
    read_to_the_end(page)


@pytest.mark.parametrize(
    ("width", "scheme", "locale"),
    [(360, "dark", "zh-CN"), (1280, "light", "en-GB"), (360, "light", "en-GB"), (1280, "dark", "zh-CN")],
)
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


def test_a_document_has_one_thread_with_a_name_and_a_follow_up(page, expect):
    read_to_the_end(page, text=f"A text for the thread. {TEXT}")
    page.keyboard.press("a")
    page.keyboard.type("Which crates did Ada Quill deliver?")
    page.keyboard.press("Enter")
    expect(page.locator(".thread li")).to_have_count(2)
    page.wait_for_selector(".status.answered")
    assert "Which crates" in page.locator(".thread [aria-current]").inner_text()
    page.locator(".rail").get_by_role("button", name="Rename").click()
    page.locator(".rail .rename").fill("The ledger of the mill")
    page.keyboard.press("Enter")
    expect(page.locator(".book-name")).to_have_text("The ledger of the mill")
    page.locator(".book .star").click()
    page.goto("/#/")
    first = page.locator(".shelf .readings li").first
    expect(first).to_contain_text("The ledger of the mill")
    expect(first.locator(".star")).to_have_attribute("aria-pressed", "true")


def test_a_word_is_found_in_the_document_and_in_everything(page, expect):
    read_to_the_end(page)
    page.keyboard.press("f")
    page.locator(".find input").fill("north gate")
    expect(page.locator(".find .small")).to_have_text("1 of 16")
    page.keyboard.press("Enter")
    expect(page.locator(".find .small")).to_have_text("2 of 16")
    assert page.locator("mark").inner_text() == "north gate"
    page.goto("/#/search?q=crates")
    page.locator(".hits li", has_text="characters").first.get_by_role("link").click()
    page.wait_for_selector(".plain-text mark")


def test_the_prompt_of_a_step_can_be_opened(page, expect):
    read_to_the_end(page)
    page.keyboard.press("p")
    expect(page.locator(".call pre")).to_have_count(2)
    assert QUESTION in page.locator(".call pre").first.inner_text()
    expect(page.locator(".call")).to_contain_text("exactly the step")
    page.keyboard.press("Escape")


def test_what_was_typed_is_there_again_after_going_back(page):
    page.fill("#text", "half a text")
    page.fill("#question-0", "half a question")
    page.goto("/#/journal")
    page.wait_for_selector(".journal")
    page.go_back()
    page.wait_for_selector("#text")
    assert [page.input_value("#text"), page.input_value("#question-0")] == ["half a text", "half a question"]
    page.fill("#text", "")


def test_a_recorded_reading_plays_without_a_model(page, expect):
    page.get_by_role("link", name="Watch a recorded reading").click()
    page.wait_for_selector(".recorded")
    expect(page.locator(".answer")).not_to_be_empty()
    page.wait_for_function("() => Number(document.querySelector('.ribbon').getAttribute('aria-valuenow')) > 1")


def test_the_list_of_questions_is_complete(page, base, expect):
    for number in range(45):
        page.request.post(
            f"{base}/readings", data={"question": f"Question {number}?", "text": "A short text for the list."}
        )
    page.goto("/#/journal")
    page.fill("#search", "short text")
    page.fill("#search", "Question")
    expect(page.locator(".readings li")).to_have_count(40)
    page.get_by_role("button", name="More", exact=True).click()
    page.wait_for_function("() => document.querySelectorAll('.readings li').length >= 45")


def test_two_documents_are_not_said_to_be_at_the_same_place(page):
    read_to_the_end(page, text=f"One. {TEXT}")
    first = page.url.split("/")[-1].split("?")[0]
    read_to_the_end(page, text=f"Other. {TEXT}")
    second = page.url.split("/")[-1].split("?")[0]
    page.goto(f"/#/compare/{first}/{second}")
    page.wait_for_selector(".compare .lines li")
    assert "two documents" in page.locator(".compare .problem").first.inner_text()
    page.locator(".ribbon").first.click(position={"x": 2, "y": 20})
    page.wait_for_function(
        "() => { const [a, b] = [...document.querySelectorAll('.ribbon')].map((one) => Number(one.getAttribute('aria-valuenow'))); return a === 0 && b > 12; }"
    )
