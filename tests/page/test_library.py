"""The library: the form, the shelf, threads, the search and the list of questions, in a real Chromium."""

from __future__ import annotations

from page_readings import QUESTION, TEXT, read_to_the_end


def test_another_language_keeps_what_was_typed_and_chosen(page, expect):
    page.fill("#text", "a text of mine")
    page.set_input_files("#files", files=[{"name": "mine.txt", "mimeType": "text/plain", "buffer": b"mine"}])
    page.fill("#question-0", "one?")
    page.get_by_role("button", name="Another question").click()
    page.fill("#question-1", "two?")
    page.get_by_text("Expert: way").click()
    page.fill("#chunk_tokens", "64")
    page.get_by_role("button", name="中文").click()
    page.wait_for_selector("text=小模型，读任意长的文档")
    expect(page.locator(":focus")).to_have_text("English")
    assert [page.input_value(f"#{name}") for name in ("text", "question-0", "question-1", "chunk_tokens")] == [
        "a text of mine",
        "one?",
        "two?",
        "64",
    ]
    expect(page.locator(".questions textarea")).to_have_count(2)
    expect(page.locator(".chosen-files")).to_contain_text("mine.txt")


def test_before_files_are_asked_one_by_one_the_form_says_so(page, expect):
    files = [{"name": f"{name}.txt", "mimeType": "text/plain", "buffer": b"ink"} for name in ("one", "two")]
    page.set_input_files("#files", files=files[:1])
    expect(page.locator("form.ask")).not_to_contain_text("Each document is asked by itself.")
    page.set_input_files("#files", files=files[1:])
    expect(page.locator("form.ask")).to_contain_text("Each document is asked by itself.")


def test_files_are_read_as_one_document_where_somebody_wants_it(page, expect):
    expect(page.locator("#together")).to_be_hidden()
    files = [
        {"name": f"{name}.txt", "mimeType": "text/plain", "buffer": f"{name} fee: 9. {TEXT}".encode()}
        for name in ("ada", "bo")
    ]
    page.set_input_files("#files", files=files)
    page.get_by_label("Read these files as one document").check()
    expect(page.locator("form.ask")).not_to_contain_text("Each document is asked by itself.")
    page.fill("#question-0", QUESTION)
    page.locator("button.big").click()
    expect(page.locator(".book-name")).to_contain_text("ada.txt, bo.txt")


def test_of_a_folder_that_is_dropped_its_files_are_taken(page):
    names = page.evaluate(
        """async () => {
          const { filesOf } = await import("/page/drops.js");
          const file = (name) => ({ isFile: true, name, file: (take) => take(new File(["ink"], name)) });
          const folder = (name, ...all) => {
            const parts = [all.slice(0, 2), all.slice(2), []];
            return { isDirectory: true, name, createReader: () => ({ readEntries: (take) => take(parts.shift()) }) };
          };
          const dropped = [folder("letters", file("b.txt"), file(".hidden"), folder("a", file("c.txt"))), file("d.txt")];
          const items = dropped.map((entry) => ({ webkitGetAsEntry: () => entry }));
          const told = await filesOf({ files: [new File([], "letters")], items });
          const plain = await filesOf({ files: [new File(["x"], "x.txt")], items: [{ webkitGetAsEntry: () => null }] });
          return [...told, ...plain].map(({ name }) => name);
        }"""
    )
    assert names == ["c.txt", "b.txt", "d.txt", "x.txt"]


def test_several_questions_are_put_to_an_uploaded_file_and_found_again(page, expect):
    page.set_input_files(
        "#files",
        files=[{"name": "mill ledger é.txt", "mimeType": "text/plain", "buffer": f"A ledger. {TEXT}".encode()}],
    )
    page.fill("#question-0", QUESTION)
    page.get_by_role("button", name="Another question").click()
    page.fill("#question-1", "Who came in the rain of the mill?")
    page.locator("button.big").click()
    page.wait_for_function("() => document.querySelectorAll('.thread li').length === 2")
    expect(page.locator(".book-name")).to_contain_text("mill ledger é.txt")
    page.goto("/#/journal")
    page.fill("#search", "rain of the mill")
    page.wait_for_function("() => document.querySelectorAll('.readings li').length === 1")
    expect(page.locator(".readings")).to_contain_text("mill ledger é.txt")


def test_a_file_is_converted_while_the_question_is_typed_and_can_be_taken_out_and_chosen_again(page, expect):
    file = {"name": "pier.txt", "mimeType": "text/plain", "buffer": b"The pier has nine lamps. " * 9}
    with page.expect_response("**/documents") as sent:
        page.set_input_files("#files", files=[file])
    assert sent.value.json()["length"] == 225
    expect(page.locator(".presets [role=status]")).to_contain_text("section")
    page.set_input_files("#files", files=[file])
    page.locator(".chosen-files").get_by_role("button").first.click()
    expect(page.locator(".chosen-files li")).to_have_count(1)
    expect(page.locator(".chosen-files li")).to_have_attribute("aria-busy", "false")
    page.fill("#question-0", "How many lamps has the pier?")
    page.locator("button.big").click()
    expect(page.locator(".book-name")).to_contain_text("pier.txt")


def test_a_file_that_cannot_be_read_is_said_when_it_is_chosen(page, expect):
    page.fill("#question-0", "What is it?")
    page.set_input_files("#files", files=[{"name": "bad.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 no"}])
    expect(page.locator("form.ask .problem")).to_contain_text("bad.pdf")
    assert page.input_value("#question-0") == "What is it?"


def test_a_question_that_was_taken_out_leaves_no_name_to_another(page):
    for _ in range(2):
        page.get_by_role("button", name="Another question").click()
    page.get_by_role("button", name="Take out this question").first.click()
    page.get_by_role("button", name="Another question").click()
    names = page.locator(".questions textarea").evaluate_all("all => all.map(({ id }) => id)")
    assert len(names) == len(set(names)) == 3


def test_what_the_server_does_not_do_is_said(page, expect):
    read_to_the_end(page, text=f"Accounts that stay. {TEXT}")
    page.route("**/documents/*", lambda route: route.abort() if route.request.method == "DELETE" else route.continue_())
    remove = page.locator(".book").get_by_role("button", name="Delete")
    remove.click()
    expect(page.locator(".book").get_by_role("button", name="Delete it with")).to_be_visible()
    page.locator(".ribbon").focus()
    remove.click()
    page.locator(".book").get_by_role("button", name="Delete it with").click()
    expect(page.locator(".notice")).to_contain_text("bookwheel serve")
    page.keyboard.press("f")
    page.route("**/find?*", lambda route: route.abort())
    page.locator(".ribbon").click(position={"x": 2, "y": 20})
    expect(page.locator(".notice")).to_be_hidden()
    page.locator(".find input").fill("north gate")
    expect(page.locator(".notice")).to_contain_text("bookwheel serve")


def test_a_text_gets_its_first_words_for_a_name(page, expect):
    read_to_the_end(
        page, text=f"# Dr. Frayne rode out along the cliff in the rain, to the light at Sallow Point\n{TEXT}"
    )
    expect(page.locator(".book-name")).to_have_text("Dr. Frayne rode out along the cliff in the rain, to the…")


def test_a_document_that_is_paged_through_has_no_steps_to_follow(page, expect):
    read_to_the_end(page)
    page.get_by_role("link", name="Text", exact=True).click()
    page.locator(".plain-text .text:has-text('Ada Quill')").wait_for()
    page.get_by_role("button", name="Later in the text").click()
    expect(page.locator(".source .small-button")).to_be_hidden()


def test_a_refusal_is_a_sentence_beside_the_form(page, expect):
    page.locator("button.big").click()
    expect(page.locator(".ask .problem")).to_contain_text("Paste a text")
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


def test_a_document_has_one_thread_with_a_name_and_a_follow_up(page, expect):
    read_to_the_end(page, text=f"A text for the thread. {TEXT}")
    page.keyboard.press("a")
    page.keyboard.type("Which crates did Ada Quill deliver?")
    page.keyboard.press("Enter")
    expect(page.locator(".thread li")).to_have_count(2)
    page.wait_for_selector(".status.answered")
    expect(page.locator(".thread [aria-current]")).to_contain_text("Which crates")
    page.locator(".rail").get_by_role("button", name="Rename").click()
    page.locator(".rail .rename").fill("The ledger of the mill")
    page.keyboard.press("Enter")
    expect(page.locator(".book-name")).to_have_text("The ledger of the mill")
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        page.locator(".book .star").click()
    page.goto("/#/")
    first = page.locator(".shelf .readings li").first
    expect(first).to_contain_text("The ledger of the mill")
    expect(first.locator(".star")).to_have_attribute("aria-pressed", "true")


def test_the_search_brings_more_places(page, expect):
    hit = {"document": "0" * 64, "name": "ledger", "snippet": "saffron", "reading": "", "question": "", "pages": []}
    hit["sources"] = ["ledger"]
    hits = [{**hit, "start": n, "end": n + 7} for n in range(70)]

    def answer(route):
        limit = int(route.request.url.split("limit=")[1])
        route.fulfill(json=hits[:limit])

    page.route("**/search?query=*", answer)
    page.goto("/#/search?q=saffron")
    expect(page.locator(".hits li")).to_have_count(50)
    expect(page.locator("[role=status]")).to_have_text("The first 50 places")
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.locator(".hits li")).to_have_count(70)
    expect(page.locator("[role=status]")).to_have_text("70 places")


def test_a_word_is_found_in_the_document_and_in_everything(page, expect):
    read_to_the_end(page)
    page.keyboard.press("f")
    page.locator(".find input").fill("north gate")
    expect(page.locator(".find .small")).to_have_text("1 of 16")
    page.keyboard.press("Enter")
    expect(page.locator(".find .small")).to_have_text("2 of 16")
    expect(page.locator("mark")).to_have_text("north gate")
    page.goto("/#/search?q=crates")
    page.locator(".hits li", has_text="line ").first.get_by_role("link").click()
    page.wait_for_selector(".plain-text mark")


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
    # The button is for keys: what is near the end is fetched by itself, so a click on it may come too late.
    page.locator(".readings li").last.evaluate("row => row.scrollIntoView()")
    page.wait_for_function("() => document.querySelectorAll('.readings li').length >= 45")


def test_a_document_is_found_on_the_shelf_by_its_name_and_deleted(page, expect):
    read_to_the_end(page, text=f"Accounts of the salt tower. {TEXT}")
    page.goto("/#/")
    page.fill("#shelf-search", "salt tower")
    shelf = page.locator(".shelf .readings li")
    expect(shelf).to_have_count(1)
    expect(shelf).to_contain_text("1 question ")
    page.fill("#shelf-search", "no such tower")
    expect(shelf).to_have_count(0)
    expect(page.locator(".shelf [role=status]")).to_contain_text("no such tower")
    page.fill("#shelf-search", "salt tower")
    shelf.get_by_role("link").click()
    page.locator(".book").get_by_role("button", name="Delete").click()
    page.locator(".book").get_by_role("button", name="Delete it with").click()
    page.wait_for_selector("#shelf-search")
    page.fill("#shelf-search", "salt tower")
    expect(page.locator(".shelf [role=status]")).to_contain_text("salt tower")
    expect(shelf).to_have_count(0)


def test_a_reload_of_the_list_loses_nothing_that_more_brought(page, expect):
    """The list is looked at again while a reading goes on, perhaps just when somebody asks for more."""
    rows = [{"id": n, "text": f"row {n}"} for n in range(100)]
    shown = page.evaluate(
        """async (rows) => {
            const { paged } = await import("/page/lists.js");
            const { h } = await import("/page/dom.js");
            const held = [];
            const fetched = (last, limit) => new Promise((give) => held.push(() => give(rows.slice(last ? last.id + 1 : 0).slice(0, limit))));
            const list = paged(fetched, (row) => h("li", {}, row.text), (row) => row.id);
            const settle = async () => { held.splice(0).forEach((give) => give()); await new Promise((go) => setTimeout(go)); };
            list.load();
            await settle();
            list.node.querySelector("button").click();
            list.load(true);
            await settle();
            return list.node.querySelectorAll("li").length;
        }""",
        rows,
    )
    assert shown == 80
