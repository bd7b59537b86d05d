"""One reading, watched and browsed, in a real Chromium."""

from __future__ import annotations

import re

from page_readings import (
    QUESTION,
    TEXT,
    begin,
    read_to_the_end,
    step_shown,
    to_the_last_step,
    wait_for_step,
    wait_for_the_end,
)

from bookwheel.models.scripted import ScriptedModel


def test_a_reading_is_watched_until_it_is_answered(page, gate, expect):
    gate.close_after(5)
    begin(page)
    expect(page.locator("progress")).to_be_visible()
    expect(page.locator(".took")).to_contain_text("left:")
    gate.open()
    page.wait_for_selector(".status.answered")
    expect(page.locator(".answer")).to_contain_text("crates of ink")
    expect(page.locator("progress")).to_be_hidden()


def test_an_outage_is_said_while_it_is_waited_out(page, gate, expect):
    gate.close_after(5)
    begin(page)
    gate.is_down = True
    gate.open()
    line = page.locator(".headline > p[role=status]")
    expect(line).to_have_text(re.compile(r"Waiting for the model \(.+ so far\): no server answers at http://tower"))
    gate.is_down = False
    page.wait_for_selector(".status.answered")
    expect(line).to_be_empty()
    expect(page.locator(".answer")).to_contain_text("crates of ink")


def test_every_version_can_be_scrubbed_to_by_key_and_by_pointer(page, expect):
    read_to_the_end(page)
    last = to_the_last_step(page)
    assert last > 12
    page.keyboard.press("ArrowLeft")
    wait_for_step(page, last - 1)
    page.locator(".ribbon").click(position={"x": 2, "y": 20})
    wait_for_step(page, 0)
    expect(page.locator(".memory h2")).to_contain_text(re.compile("step 0", re.IGNORECASE))
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


def test_the_evidence_of_the_answer_leads_to_the_document(page, expect):
    read_to_the_end(page)
    to_the_last_step(page)
    quote = page.locator(".cited .quote").first
    expect(quote).to_be_hidden()
    page.locator(".cite").first.hover()
    expect(quote).to_be_visible()
    page.locator(".cite").first.click()
    expect(page.locator("mark")).to_have_text(quote.text_content().strip())
    page.wait_for_function("() => /quote=\\d+-\\d+/.test(location.hash)")
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("mark")).to_have_text(page.locator(".cited .quote").first.text_content().strip())


def test_a_quote_opens_within_the_window(opened_at):
    with opened_at(width=1280) as page:
        read_to_the_end(page)
        # As if the number stood at the end of a full line.
        page.locator(".cited").first.evaluate("cited => { cited.style.insetInlineStart = '470px'; }")
        page.locator(".cite").first.hover()
        box = page.locator(".cited .quote").first.bounding_box()
        assert box["x"] + box["width"] <= 1280
    with opened_at(width=360) as page:
        read_to_the_end(page)
        page.locator(".cite").first.hover()
        box = page.locator(".cited .quote").first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360


def test_the_menus_of_a_reading_open_within_a_narrow_window(opened_at):
    with opened_at(width=360) as page:
        read_to_the_end(page)
        for name in ("More", "About"):
            page.locator(".menu summary", has_text=name).click()
            box = page.locator(".menu[open] .choices").bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360
            page.keyboard.press("Escape")
            page.locator(".menu summary", has_text=name).evaluate("summary => { summary.parentElement.open = false; }")


def test_a_long_answer_opens_at_its_beginning_and_its_menus_within_its_pane(fresh_at, expect):
    clauses = [f"The tenant shall pay {n}50 crowns for yard {n} on the {n} May of every year." for n in range(1, 25)]
    with fresh_at(mode="read", model=ScriptedModel(lambda _messages: " ".join(clauses[2:20:3]))) as page:
        page.fill("#text", "\n\n".join(clauses))
        page.fill("#question-0", "What shall the tenant pay?")
        page.locator("button.big").click()
        page.wait_for_selector(".cite")
        page.reload()
        expect(page.locator(".headline h1")).to_be_in_viewport()
        rail = page.locator(".rail-scroll").bounding_box()
        assert page.locator(".headline h1").bounding_box()["y"] >= rail["y"]
        for name in ("More", "About"):
            page.locator(".menu summary", has_text=name).click()
            choices = page.locator(".menu[open] .choices")
            expect(choices).to_be_in_viewport(ratio=0.99)
            box = choices.bounding_box()
            assert box["y"] + box["height"] <= rail["y"] + rail["height"] + 1
            page.keyboard.press("Escape")


def test_a_finished_reading_opens_where_its_evidence_was_read(page):
    read_to_the_end(page)
    # Without the step, which the address takes up a moment after the end.
    address = page.url.split("?")[0]
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector(".cite")
    found = page.evaluate("async () => (await fetch(`/readings/${location.hash.split(/[/?]/)[2]}`)).json()")["evidence"]
    wait_for_step(page, found[0]["step"])
    page.locator("mark").wait_for()
    tops = [page.locator(name).bounding_box()["y"] for name in (".answer", ".lines", ".source .text")]
    assert max(tops) < 400, tops
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_on_a_narrow_screen_a_reading_opens_at_its_answer(opened_at):
    with opened_at(width=360) as page:
        read_to_the_end(page)
        page.reload()
        page.wait_for_selector(".thread [aria-current]")
        page.locator("mark").wait_for()
        assert page.evaluate("scrollY") == 0


def test_a_marked_passage_is_there_again_after_a_reload_and_in_another_language(page, expect):
    read_to_the_end(page)
    last = to_the_last_step(page)
    follow, mark = page.locator(".source .small-button"), page.locator("mark")
    # The words of a line have their place only where they are found; that of an answer comes with it.
    for press in (page.locator("button.since").last, page.locator("button.since").first, page.locator(".cite").last):
        press.click()
        page.wait_for_url(re.compile(r"quote=\d"))
        marked = mark.inner_text()
        page.reload()
        expect(mark).to_have_text(marked)
        expect(follow).to_be_visible()
        page.locator("header [lang]").click()
        expect(mark).to_have_text(marked)
        page.locator("header [lang]").click()
        expect(mark).to_have_text(marked)
        wait_for_step(page, last)
        follow.click()
        page.wait_for_function("() => !location.hash.includes('quote')")


def test_a_language_turned_twice_before_the_page_could_follow_keeps_passage_and_draft(page, expect):
    read_to_the_end(page)
    to_the_last_step(page)
    page.locator(".memory .tools button", has_text="Edit").click()
    page.locator("textarea").last.fill("a draft of mine")
    page.locator(".cite").last.click()
    slow = page.context.new_cdp_session(page)
    lines = {"offline": False, "latency": 400, "downloadThroughput": -1, "uploadThroughput": -1}
    slow.send("Network.emulateNetworkConditions", lines)
    # Pressed at once, before the address has taken the passage up and before the first turn has brought a view.
    page.evaluate("document.querySelector('header [lang]').click(), document.querySelector('header [lang]').click()")
    follow = page.get_by_role("button", name="Follow the steps again")
    page.wait_for_function("() => document.querySelector('main').ariaBusy === 'false'")
    expect(page.locator("mark").first).to_be_visible()
    expect(follow).to_be_visible()
    assert page.locator("textarea").last.input_value() == "a draft of mine"


def test_a_passage_that_is_held_stays_while_the_reading_goes_on(page, gate, expect):
    gate.close_after(5)
    begin(page)
    # The lines are drawn anew with each step, also under a pointer that presses one: wait for the gate.
    expect(page.locator(".ribbon")).to_have_attribute("aria-valuemax", "4")
    page.locator(".lines button.since").first.click()
    page.locator("mark").wait_for()
    held = page.locator(".source .text").text_content()
    gate.open()
    wait_for_the_end(page)
    expect(page.get_by_role("button", name="Follow the steps again")).to_be_visible()
    assert page.locator(".source .text").text_content() == held


def test_a_follow_up_is_answered_from_the_notes_and_read_again_on_request(reader_page, expect):
    page = reader_page
    read_to_the_end(page, text=f"A ledger to ask twice. {TEXT}")
    page.fill("#follow-up-0", "How many crates of ink did Ada Quill deliver?")
    page.keyboard.press("Enter")
    expect(page.locator(".missed")).to_contain_text("from the notes of an earlier question")
    told = page.evaluate("async () => (await fetch(`/readings/${location.hash.split(/[/?]/)[2]}`)).json()")
    assert told["usage"]["calls"] == 1
    page.get_by_role("button", name="Read the document again").click()
    page.wait_for_url(lambda url: told["reading"] not in url)
    page.wait_for_selector(".status.answered")
    expect(page.get_by_role("button", name="Read the document again")).to_have_count(0)
    box = page.locator(".cite").first.bounding_box()
    assert min(box["width"], box["height"]) >= 24


def test_a_question_is_asked_though_the_open_reading_was_deleted_in_another_window(reader_page, expect):
    page = reader_page
    text = f"A ledger in two windows. {TEXT}"
    read_to_the_end(page, text=text)
    read_to_the_end(page, text=text, question="Who delivered ink?")
    old = page.url.split("?")[0]
    page.evaluate("async () => { await fetch(`/readings/${location.hash.split(/[/?]/)[2]}`, {method: 'DELETE'}); }")
    page.fill("#follow-up-0", "In which year came 5 crates?")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: not url.startswith(old))
    expect(page.locator(".headline h1")).to_have_text("In which year came 5 crates?")


def test_a_file_that_is_pasted_is_taken_like_one_that_is_dropped(page, expect):
    page.locator("#text").evaluate("""area => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(["The cook is Ada."], "note.txt", { type: "text/plain" }));
      area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }""")
    expect(page.locator(".chosen-files li")).to_contain_text("note.txt")


def test_a_quote_has_no_marks_of_markdown(page):
    told = page.evaluate("""async () => {
      const { placeIn, readable } = await import("/page/marks.js");
      return [
        readable("## Costs\\n| Item | Cost |\\n| --- | ---: |\\n| **Tuner** | 215 |"),
        readable("a | b, 2 ** 3 and - one"),
        placeIn("a.epub#Chapter 2", "a.epub"),
        placeIn("b.txt", "a.zip"),
        placeIn("a.txt", "a.txt"),
      ];
    }""")
    assert told == ["Costs\nItem · Cost\nTuner · 215", "a | b, 2 ** 3 and - one", "Chapter 2", "b.txt", False]


def test_each_sentence_of_the_answer_has_its_verdict(page, expect):
    read_to_the_end(page)
    told = page.evaluate("async () => (await fetch(`/readings/${location.hash.split(/[/?]/)[2]}`)).json()")
    assert (told["verdict"], told["sign"]) == ("quoted", "amber")
    page.locator(".why summary").click()
    expect(page.locator(".eyebrow .trust")).to_contain_text("In the document; see if it answers")
    expect(page.locator(".claims > li")).to_have_count(len(told["claims"]))
    quotes = [len(claim["evidence"]) for claim in told["claims"]]
    assert [item.locator(".proof").count() for item in page.locator(".claims > li").all()] == quotes
    expect(page.locator(".claims > li").first).to_contain_text("judged by words alone")


def test_a_reload_in_mid_reading_loses_nothing(page, gate):
    gate.close_after(5)
    begin(page)
    page.reload()
    page.wait_for_selector(".workspace .lines li p")
    gate.open()
    wait_for_the_end(page)
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
    page.get_by_text("Expert: way").click()
    page.fill("#tokens", "4500")
    page.locator("button.big").click()
    page.wait_for_selector(".status.stopped")
    read = step_shown(page)
    page.get_by_role("button", name="Read on with twice the budget").click()
    page.wait_for_function("n => document.querySelector('.ribbon').getAttribute('aria-valuenow') > n", arg=read)


def test_what_a_document_holds_is_text_and_never_markup(page):
    evil = '<img src=x onerror="document.title=1"><script>document.title=2</script> crates of ink \u202enorth gate <a href="javascript:document.title=3">ink crates gate</a>.\n'
    begin(page, evil + TEXT, "Which crates of ink came to the <b>north</b> gate?")
    wait_for_the_end(page)
    page.keyboard.press("ArrowLeft")
    page.locator(".ribbon").click(position={"x": 2, "y": 20})
    page.wait_for_selector(".source .text:has-text('onerror')")
    assert (
        page.locator("main script, main b:text-is('north'), main a[href^=javascript], main img:not(.wheel)").count()
        == 0
    )
    assert "\u202e" not in page.locator("main").inner_text()


def test_the_prompt_of_a_step_can_be_opened(page, expect):
    read_to_the_end(page)
    page.keyboard.press("p")
    expect(page.locator(".call pre")).to_have_count(2)
    assert QUESTION in page.locator(".call pre").first.inner_text()
    expect(page.locator(".call")).to_contain_text("exactly the step")
    page.keyboard.press("Escape")


def test_what_the_memories_are_worth_is_measured_and_drawn(page, expect):
    read_to_the_end(page)
    page.get_by_role("button", name="Worth").click()
    expect(page.locator("dialog[open] .chart .mark").first).to_be_visible()
    expect(page.locator("dialog[open] .lines li").first).to_contain_text("bits")
    expect(page.locator("dialog[open] [role=status]")).to_contain_text("scripted")
    page.keyboard.press("Escape")


def test_a_step_that_is_shown_late_does_not_lead_back_from_another_address(page):
    read_to_the_end(page)
    last = to_the_last_step(page)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("(at) => location.hash.endsWith(`step=${at}`)", arg=last - 1)
    # The address of a link that was clicked, before the page hears of it.
    page.evaluate("history.pushState(null, '', '#/journal')")
    page.keyboard.press("ArrowLeft")
    wait_for_step(page, last - 2)
    page.wait_for_timeout(500)
    assert page.url.endswith("#/journal")
