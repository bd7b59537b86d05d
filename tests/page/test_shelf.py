"""The shelves of the library, and what they lead to: documents in collections, lasting memories, tables and graphs."""

from __future__ import annotations

import json
import re

import pytest
from page_readings import begin, read_to_the_end
from report_model import make_report_model
from table_model import PLAN, extract, write_document

from bookwheel.models.scripted import ScriptedModel
from bookwheel.plan import Plan

FACT = re.compile(r"([A-Z]\w+) (owns|leases) ([A-Z]\w+)(?: from (\d{4}))?(?: until (\d{4}))?\.")
DEEDS = "Ada owns Mill from 1890 until 1895. Bo leases Wharf. Rain fell on the weir. Cora owns Mill from 1895.\n"
NAMES = ("subject", "relation", "object", "since", "until")


def write_rows(messages) -> str:
    """Write a row for each fact of a section, in the columns of a graph or in those of a table."""
    prompt = messages[-1].content
    section = prompt.rpartition("<section>")[2]
    rows = []
    for found in FACT.finditer(section):
        values = [value or "" for value in found.groups()]
        names = NAMES if "relation" in prompt else ("who", "does", "what")
        rows.append({**dict(zip(names, values, strict=False)), "quote": found[0]})
    return json.dumps({"rows": rows, "memory": ""})


@pytest.fixture
def deeds(fresh_at):
    """The page of a server whose model writes rows."""
    model = ScriptedModel(write_rows, seconds_per_call=0.05, plan=Plan(chunk_tokens=110, memory_tokens=200))
    with fresh_at(mode="read", model=model) as page:
        yield page


def upload(page, *names: str) -> None:
    """Store documents that nobody has asked about."""
    for name in names:
        page.evaluate(
            "(name) => fetch('/documents', {method: 'POST', headers: {'X-Filename': name}, body: `the text of ${name}`})",
            name,
        )


def test_documents_are_sorted_collected_starred_and_deleted_several_at_once(fresh_at, expect):
    with fresh_at() as page:
        upload(page, "zebra.txt", "Apple.pdf.txt", "mole.html")
        page.reload()
        rows = page.locator(".book-row")
        expect(rows).to_have_count(3)
        page.select_option("#shelf-sort", "name")
        expect(rows.first).to_contain_text("Apple")
        page.get_by_label("Choose Apple").check()
        page.get_by_label("Choose zebra").check()
        page.fill("#bulk-collection", "Leases")
        page.get_by_role("button", name="Put in").click()
        expect(page.locator(".book-row .chip.nought")).to_have_count(2)
        page.select_option("#shelf-collection", "Leases")
        expect(rows).to_have_count(2)
        assert "collection=Leases" in page.url
        page.get_by_label("Choose zebra").check()
        page.get_by_role("button", name="Choose all").click()
        expect(page.locator(".bulk")).to_contain_text("2 chosen")
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("button", name="Really delete?").click()
        expect(rows).to_have_count(0)
        page.goto("/#/")
        expect(rows).to_have_count(1)


def test_chosen_documents_are_asked_the_same_question(page, expect):
    upload(page, "one ledger.txt", "another ledger.txt")
    page.goto("about:blank")
    page.goto("/#/?sort=added")
    page.get_by_label("Choose one ledger.txt").check()
    page.get_by_label("Choose another ledger.txt").check()
    page.get_by_role("button", name="Ask these").click()
    expect(page.locator(".chosen-files li")).to_have_count(2)
    page.fill("#question-0", "What is the text?")
    page.locator("button.big").click()
    expect(page.locator(".started")).to_contain_text("2 readings")


def test_the_ways_in_plain_words_are_what_is_asked_for(page, expect):
    asked = []
    page.on("request", lambda request: asked.append(request.post_data_json) if request.method == "POST" else None)
    page.fill("#text", "Ada owns the mill. " * 40)
    page.fill("#question-0", "Who owns the mill?")
    expect(page.locator(".presets [role=status]")).to_contain_text("sections")
    page.get_by_text("Fast", exact=True).click()
    expect(page.locator(".presets [role=status]")).to_contain_text("A few calls")
    page.locator("button.big").click()
    page.wait_for_url("**/#/reading/**")
    assert asked[-1]["way"] == "bm25"


def test_the_badge_is_green_only_where_the_sign_is_and_the_shelf_shows_the_same(page, expect):
    read_to_the_end(page)
    badge = page.locator(".eyebrow .trust")
    words, sign = (
        badge.inner_text(),
        page.evaluate("async () => (await (await fetch(`/readings/${location.hash.split(/[/?]/)[2]}`)).json()).sign"),
    )
    expect(badge).to_have_class(re.compile(rf"\b{sign}\b"))
    page.goto("/#/?sort=used")
    expect(page.locator(".book-row .trust").first).to_have_text(words)


def test_a_memory_is_begun_told_asked_corrected_and_made_to_forget(fresh_at, assert_clean, expect):
    with fresh_at() as page:
        page.get_by_role("button", name="Memories").click()
        page.get_by_text("Begin a memory").click()
        page.fill("#memory-name", "harbour")
        page.fill("#memory-about", "how many crates of ink came to the north gate")
        page.get_by_role("button", name="Begin", exact=True).click()
        page.wait_for_selector(".memory h1")
        crates = [
            (f"letter {at}", f"{number} crates of ink came to the north gate.") for at, number in ((1, 3), (2, 5))
        ]
        for source, told in (*crates, ("log", "Bo Fell lights a lamp.")):
            if not page.locator("#memory-text-add").is_visible():
                page.get_by_text("Tell it something").click()
            page.fill("#memory-text-add", told)
            page.fill("#memory-source", source)
            page.fill("#memory-day", "2001-03-05" if source == "letter 1" else "")
            page.get_by_role("button", name="Read it in").click()
            expect(page.locator(".memory")).to_contain_text(source)
        expect(page.locator(".memory")).to_contain_text("2001")
        page.fill("#memory-question", "How many crates of ink came to the north gate?")
        page.get_by_role("button", name="Ask it").click()
        expect(page.locator(".memory [role=status] .said")).to_contain_text("crates of ink")
        assert_clean(page, "memory")
        page.get_by_label("As it was known").fill("2001-02-03")
        page.get_by_role("button", name="Ask it").click()
        expect(page.locator(".memory [role=status] .said")).to_contain_text("Nothing was known then.")
        now = page.locator(".memory h2:has-text('What it says now') + .noted")
        now.get_by_role("button").first.click()
        page.locator(".correct input").fill("Nine crates of ink came to the north gate.")
        page.get_by_role("button", name="Save").click()
        expect(now).to_contain_text("Nine crates")
        page.get_by_label("As it was known").fill("")
        page.fill("#memory-question", "Who lights a lamp?")
        page.get_by_role("button", name="Ask it").click()
        page.get_by_role("button", name="Put right: Bo Fell lights a lamp.").click()
        page.locator(".correct input").fill("Cy Moor lights a lamp.")
        page.get_by_role("button", name="Save").click()
        expect(now).to_contain_text("Cy Moor lights a lamp.")
        page.get_by_role("button", name="Forget this source").last.click()
        expect(page.locator(".memory")).to_contain_text("“letter 1”")
        page.get_by_role("button", name="Forget for good").click()
        expect(page.locator(".memory")).to_contain_text(re.compile("letter 1 was forgotten; lines changed: \\d"))


def test_a_table_fills_while_it_reads_and_a_row_leads_to_its_place(deeds, assert_clean, expect):
    deeds.fill("#text", DEEDS)
    deeds.fill("#question-0", "every deed: who, does, what")
    deeds.get_by_text("Table of all").click()
    deeds.locator("button.big").click()
    rows = deeds.locator(".table.rows tbody tr")
    expect(rows).to_have_count(3)
    expect(deeds.locator(".eyebrow .trust")).to_contain_text("A table")
    rows.nth(1).click()
    expect(deeds.locator(".source mark").first).to_have_text("Bo leases Wharf.")
    assert_clean(deeds, "table")
    rows.nth(1).get_by_role("button", name="Change this row").click()
    deeds.locator(".table.rows form input").first.fill("Beth")
    deeds.get_by_role("button", name="Save").click()
    expect(rows.nth(1)).to_contain_text("Beth")
    rows.nth(0).get_by_role("button", name="Remove this row").click()
    expect(rows).to_have_count(2)
    expect(deeds.locator(".table.rows li")).to_contain_text("1 rows were removed by hand")
    deeds.get_by_text("Count by SQL").click()
    deeds.locator(".sql input").fill("select count(*) from rows")
    deeds.get_by_role("button", name="Count", exact=True).click()
    expect(deeds.locator(".table:not(.rows) td")).to_have_text("2")
    deeds.goto("/#/?shelf=tables")
    expect(deeds.locator(".shelf .readings li")).to_contain_text("every deed")


def test_a_graph_is_drawn_with_quotes_and_at_a_time(deeds, assert_clean, expect):
    deeds.fill("#text", DEEDS)
    deeds.get_by_text("Graph", exact=True).click()
    deeds.locator("button.big").click()
    expect(deeds.locator(".node")).to_have_count(5)
    assert_clean(deeds, "graph")
    boxes = deeds.locator(".node text").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().toJSON())")
    for at, one in enumerate(boxes):
        for other in boxes[:at]:
            is_beside = one["right"] <= other["left"] or other["right"] <= one["left"]
            assert is_beside or one["bottom"] <= other["top"] or other["bottom"] <= one["top"]
    deeds.locator(".node[data-name=Mill]").click()
    expect(deeds.locator(".facts-found li")).to_have_count(2)
    deeds.locator(".facts-found button").first.click()
    expect(deeds.locator(".source mark").first).to_contain_text("owns Mill")
    deeds.locator(".times input").evaluate("(one) => { one.value = 0; one.dispatchEvent(new Event('input')) }")
    expect(deeds.locator(".times output")).to_have_text("1890")
    expect(deeds.locator(".node[data-name=Cora]")).to_have_count(0)
    expect(deeds.locator(".node[data-name=Bo]")).to_have_count(1)


def test_the_axis_has_chapters_and_what_is_read_is_told_by_section(page, gate, expect):
    gate.close_after(2)
    chapters = "\n\n".join(f"# {name}\n\n" + "Crates of ink came by. " * 40 for name in ("Mill", "Weir", "Gate"))
    begin(page, chapters, "How many crates of ink?")
    page.get_by_role("button", name="Read", exact=True).click()
    expect(page.locator(".sofar")).to_contain_text("Section 3 of about")
    page.get_by_role("button", name="Inspect").click()
    expect(page.locator(".axis span")).to_have_text(["Mill", "Weir", "Gate"])


def test_a_report_is_ordered_read_by_its_sources_and_updated(fresh_at, assert_clean, expect):
    model = make_report_model(invents=4, sql="select count(*) as n from rows")
    with fresh_at(mode="read", model=model) as page:
        for count, name in ((6, "a.txt"), (3, "b.txt")):
            page.evaluate(
                "([text, name]) => fetch('/documents', {method: 'POST', headers: {'X-Filename': name}, body: text})",
                [write_document(count), name],
            )
        page.goto("/#/?shelf=reports")
        page.get_by_text("Begin a report").click()
        page.fill("#report-brief", "what is paid")
        page.get_by_label("a.txt").check()
        page.get_by_role("button", name="Propose an outline").click()
        expect(page.locator("#report-outline")).to_have_value(re.compile("every payment: who, amount, due date"))
        page.get_by_role("button", name="Read and write it").click()
        # Five sentences, and the words of the row whose sentence was left out.
        expect(page.locator(".report-sources li")).to_have_count(6)
        expect(page.locator(".report-coverage tbody tr")).to_have_count(1)
        assert_clean(page, "report")
        page.get_by_text("Left out: 1 sentence").click()
        expect(page.locator(".report-sources .chip")).to_have_count(0)
        page.evaluate(
            "async () => { const all = await (await fetch('/readings')).json(); "
            "const id = all.find(({way}) => way === 'collect').reading; "
            "const {rows} = await (await fetch(`/readings/${id}/rows`)).json(); "
            "await fetch(`/readings/${id}/rows`, {method: 'PATCH', headers: {'Content-Type': 'application/json'}, "
            "body: JSON.stringify({row: rows[0].row, cells: {amount: '700 crowns'}})}); }"
        )
        page.get_by_text("Update: more or fewer documents").click()
        page.get_by_label("b.txt").check()
        page.get_by_role("button", name="Update", exact=True).click()
        expect(page.locator(".report-coverage tbody tr")).to_have_count(2)
        expect(page.locator(".report-sources .chip")).to_have_text(["by hand"])
        expect(page.locator(".report-sources li").first).to_contain_text("700 crowns")
        page.locator(".report-mark").first.click()
        expect(page.locator("mark").first).to_contain_text("Tenant 0 pays 100 crowns")
        page.goto("/#/?shelf=tables")
        page.locator(".readings li a").first.click()
        page.fill(".ask-rows input", "how many?")
        page.locator(".ask-rows button").click()
        expect(page.locator("pre.sql")).to_have_text("select count(*) as n from rows")


def test_documents_are_asked_questions_in_a_table_whose_cells_lead_to_their_readings(fresh_at, assert_clean, expect):
    def reply(messages):
        text = messages[-1].content
        if "Write one section" in messages[0].content:
            # The newest document comes first.
            return "Ada Quill pays 5 crowns [2]. Everybody pays 9 crowns [1]."
        who = "Ada Quill pays 5 crowns" if "Ada" in text else "Bo Fell pays 7 crowns"
        return f"\\boxed{{{who}}}"

    with fresh_at(mode="read", model=ScriptedModel(reply, window=8192)) as page:
        for text, name in (("Ada Quill pays 5 crowns.", "a.txt"), ("Bo Fell pays 7 crowns.", "b.txt")):
            page.evaluate(
                "([text, name]) => fetch('/documents', {method: 'POST', headers: {'X-Filename': name}, body: text})",
                [text, name],
            )
        page.goto("/#/?shelf=reports")
        page.get_by_text("Begin a table of answers").click()
        form = page.locator("details[open] form.report-form")
        form.locator("#answers-title").fill("payments")
        form.locator("#answers-questions").fill("Who pays what?\n\nWho pays what?")
        form.get_by_label("a.txt").check()
        form.get_by_label("b.txt").check()
        form.get_by_role("button", name="Ask every document").click()
        expect(page.locator(".report-table tbody tr")).to_have_count(2)
        row = {name: page.locator(".report-table tbody tr").filter(has_text=name) for name in ("a.txt", "b.txt")}
        expect(row["b.txt"]).to_contain_text("Bo Fell pays 7 crowns")
        expect(row["a.txt"]).to_contain_text("Ada Quill pays 5 crowns")
        expect(page.locator(".report-text")).to_have_text(re.compile(r"^Ada Quill pays 5 crowns"))
        page.get_by_text("Left out: 1 sentence").click()
        assert_clean(page, "answers")
        row["a.txt"].locator("a").click()
        expect(page.locator(".answer")).to_contain_text("Ada Quill pays 5 crowns")


def test_an_answer_that_wants_a_list_offers_the_table(fresh_at, expect):
    def reply(messages):
        text = messages[-1].content
        if "Which columns" in messages[0].content:
            return '{"columns": ["who", "amount", "due date"]}'
        if '{"rows"' in text or "verbatim" in messages[0].content:
            return extract(messages)
        return "Tenant 0 and others. " * 9 if "<section>" in text else "\\boxed{Tenant 0}"

    model = ScriptedModel(reply, plan=PLAN, window=900)
    with fresh_at(mode="read", model=model) as page:
        body = {"text": write_document(12), "question": "List all payments", "way": "sequential"}
        page.evaluate(
            "(body) => fetch('/readings', {method: 'POST', headers: {'Content-Type': 'application/json'}, "
            "body: JSON.stringify(body)})",
            body,
        )
        page.goto("/#/")
        page.locator(".readings a, .books a, .book-row a").first.click()
        page.locator("ol.thread a").first.click()
        expect(page.locator(".missed")).to_contain_text("asks for a list")
        page.get_by_role("button", name="Collect every item in a table").click()
        expect(page.locator("table tbody tr")).to_have_count(12)
