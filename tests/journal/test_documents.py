"""A text is stored once, keeps its names and places for every reading, and stands on the shelf with its label."""

import asyncio
import hashlib
import sqlite3
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from journal_readings import (
    MILL,
    PLAN,
    STRANGE,
    Sheets,
    begin_reading,
    count_rows,
    read_to_end,
    step,
)

from bookwheel.documents.opening import TextDocument
from bookwheel.errors import JournalError
from bookwheel.journal import Journal, documents, new_id
from bookwheel.journal.damage import repair
from bookwheel.journal.shelf import CollectionCount, Label, LabelKind, Reach, ShelfOrder, ShelfQuery
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.reading.earlier import tell_before
from bookwheel.types import (
    Part,
)


def test_chunk_texts_are_filled_in_from_the_kept_document(journal):
    reading = asyncio.run(read_to_end(journal, begin_reading(journal), MILL, ScriptedModel(keyword_reader)))
    texts = [done.chunk.text for done in journal.reading("last", texts=True).steps]
    assert texts == [done.chunk.text for done in reading.steps]
    assert "".join(texts) == MILL.text


@given(
    st.lists(
        st.tuples(
            st.text(st.characters() | st.sampled_from("\ud83d\ude00\x00")),
            st.sampled_from("ab"),
            st.none() | st.integers(1, 3),
        )
    ),
    st.integers(0, 300),
)
@example([("abcd", "a", None), ("efgh", "b", 2)], 1)
@settings(max_examples=25)
@pytest.mark.slow
def test_a_kept_document_has_the_same_text_and_places_from_any_character_on(tmp_path_factory, written, start):
    document = Sheets(*(Part(text=text, source=source, page=page) for text, source, page in written))
    with pytest.MonkeyPatch.context() as patch, Journal(tmp_path_factory.mktemp("j") / "j.sqlite") as journal:
        patch.setattr(documents, "_PIECE", 7)
        patch.setattr(documents, "_PART", 3)
        kept = journal.keep(document)
        assert kept.id == hashlib.sha256(document.text.encode("utf-8", "surrogatepass")).hexdigest()
        start = min(start, document.length)
        of = [(part.source, part.page) for part in document.parts() for _ in part.text]
        assert [(part.source, part.page) for part in kept.parts(start) for _ in part.text] == of[start:]
        assert "".join(part.text for part in kept.parts(start)) == document.text[start:]
        assert kept.slice(start, start + 10) == document.text[start : start + 10]
        assert kept.length == document.length
        if start < document.length:
            pages = dict.fromkeys(page for _, page in of[start : start + 10] if page is not None)
            assert kept.pages(start, start + 10) == tuple(pages)


def test_the_same_text_is_stored_once_and_each_reading_knows_its_own_files(journal):
    first = begin_reading(journal, Sheets(Part(text="one text", source="old.txt"), name="old.txt"))
    second = begin_reading(journal, Sheets(Part(text="one text", source="new.txt"), name="new.txt"))
    assert (count_rows(journal, "texts"), count_rows(journal, "pieces")) == (1, 1)
    assert [next(journal.document_of(r.id).parts()).source for r in (first, second)] == ["old.txt", "new.txt"]
    assert journal.document(first.document.id).name == "new.txt"


def test_pages_found_anew_do_not_change_an_older_reading(journal):
    first = begin_reading(journal, Sheets(Part(text="one text", source="a", page=1), name="a"))
    begin_reading(journal, Sheets(Part(text="one text", source="a", page=9), name="a"))
    assert next(journal.document_of(first.id).parts()).page == 1
    assert next(journal.document(first.document.id).parts()).page == 9


def test_a_document_that_breaks_off_leaves_nothing(journal):
    class Breaking(Sheets):
        def parts(self, start=0):
            yield Part(text="x" * 3_000_000, source="a")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        journal.keep(Breaking("never"))
    assert (count_rows(journal, "texts"), count_rows(journal, "pieces")) == (0, 0)
    assert {path.name for path in journal.path.parent.iterdir()} <= {
        "journal.sqlite",
        "journal.sqlite-wal",
        "journal.sqlite-shm",
        "journal.sqlite.locks",
    }


def test_a_deleted_reading_takes_its_document_along_unless_another_needs_it(journal):
    first, second = begin_reading(journal), begin_reading(journal)
    asyncio.run(journal.add_step(first.id, step(0)))
    journal.delete(first.id)
    assert (count_rows(journal, "steps"), count_rows(journal, "texts")) == (0, 1)
    assert journal.document_of(second.id).slice(0, 8) == "The mill"
    unread = journal.keep(Sheets("about to be read", name="x"))
    journal.delete(second.id)
    assert count_rows(journal, "texts") == 1
    assert unread.slice(0, 5) == "about"
    with pytest.raises(JournalError, match="no document"):
        journal.document(first.document.id)


def test_what_was_asked_and_answered_in_a_deleted_reading_is_in_the_plan_of_no_other_one(journal):
    first = asyncio.run(read_to_end(journal, begin_reading(journal), MILL, ScriptedModel(keyword_reader)))
    told = tell_before(first, len, 10_000)
    plan = replace(PLAN, earlier=f"{told}\n\nuser: And who else?")
    later = replace(first, id=new_id(), plan=plan, steps=())
    journal.begin(later)
    assert first.question in journal.reading(later.id).plan.earlier
    journal.delete(first.id)
    assert journal.reading(later.id).plan == replace(PLAN, earlier="user: And who else?")
    assert not journal.find_damage()


def test_the_notes_on_a_document_are_kept_with_it_and_with_its_readings(journal):
    class Scan(Sheets):
        notes = ()

        def parts(self, start=0):
            yield from super().parts(start)
            self.notes = (f"no text in: page 3{STRANGE}",)  # known only when everything has been read

    reading = begin_reading(journal, Scan("words"))
    expected = (f"no text in: page 3{STRANGE}",)
    assert journal.document_of(reading.id).notes == journal.reading(reading.id).document.notes == expected
    assert journal.keep(journal.document_of(reading.id)).info.notes == expected
    begin_reading(journal, Sheets("words", name="sheets"))
    assert journal.reading("last").document.notes == (), "the newest look at a document counts"


ALL = Reach()
DOCUMENT, READING = LabelKind.DOCUMENT, LabelKind.READING


def names(journal, reach=ALL, *, limit=-1, offset=0, **wanted) -> list[str]:
    query = ShelfQuery(**wanted)
    return [book.name for book in journal.shelf.list_documents(reach, limit=limit, offset=offset, query=query)]


def test_a_document_stands_on_the_shelf_once_with_its_newest_name_and_question(journal):
    journal.keep(TextDocument("one text", "old name"))
    journal.keep(TextDocument("one text", "new name"))
    reading = begin_reading(journal)
    assert names(journal) == [reading.document.name, "new name"]
    asked, unread = journal.shelf.list_documents(Reach())
    assert (asked.readings, asked.newest.question, asked.newest.reading) == (1, reading.question, reading.id)
    # The page says of a table that it is one, where it has no verdict.
    assert asked.newest.way == reading.way
    assert (unread.readings, unread.newest) == (0, None)


def test_a_star_comes_first_and_a_name_can_be_given_and_given_back(journal):
    for name in "abc":
        journal.keep(TextDocument(f"text {name}", name))
    first = journal.shelf.list_documents(Reach())[-1]
    journal.shelf.set_label("", DOCUMENT, first.document, name="Ä treatise", is_starred=True)
    assert names(journal)[0] == "Ä treatise"
    assert names(journal, search="ä TREAT") == ["Ä treatise"]
    journal.shelf.set_label("", DOCUMENT, first.document, name="")
    book = journal.shelf.find_document(Reach(), first.document)
    assert (book.name, book.starred) == (first.name, True)
    assert names(journal, limit=1, offset=1) == [names(journal)[1]]


def test_all_are_starred_at_once_and_keep_their_names(journal):
    kept = [journal.keep(TextDocument(f"text {number}", f"name {number}")).id for number in range(3)]
    journal.shelf.set_label("", DOCUMENT, kept[0], name="Ledger")
    journal.shelf.set_label("", DOCUMENT, *kept[:2], is_starred=True)
    books = journal.shelf.list_documents(Reach(), query=ShelfQuery(order=ShelfOrder.NAME))
    assert [(book.name, book.starred) for book in books] == [("Ledger", True), ("name 1", True), ("name 2", False)]
    journal.shelf.set_label("", DOCUMENT, is_starred=True)


@pytest.mark.parametrize("order", ShelfOrder)
def test_pages_of_the_shelf_tile_it_in_every_order(journal, order):
    for number in range(23):
        journal.keep(TextDocument("x" * (1 + number % 4) + f" {number}", f"name {number % 5}"))
    begin_reading(journal)
    journal.shelf.set_label("", DOCUMENT, journal.shelf.list_documents(Reach())[7].document, is_starred=True)
    whole = journal.shelf.list_documents(Reach(), query=ShelfQuery(order=order))
    pages, after = [], ""
    while page := journal.shelf.list_documents(Reach(), limit=4, query=ShelfQuery(order=order, after=after)):
        pages += page
        after = page[-1].document
    assert pages == whole
    assert len({book.document for book in pages}) == 24


def test_chinese_names_stand_in_the_order_of_their_sounds(journal):
    ordered = [
        "Ada.txt",
        "bo.txt",
        "浮梁旧事.txt",
        "故障邮件.eml",
        "会议纪要.md",
        "临河记.epub",
        "判决书.docx",
        "租赁合同.txt",
    ]
    for name in sorted(ordered):
        journal.keep(TextDocument(name, name))
    assert names(journal, order=ShelfOrder.NAME) == ordered


def test_orders_are_what_their_names_say(journal):
    for name, text in (("Zoe.txt", "long" * 9), ("ada.pdf", "short"), ("Bo.docx", "middling text")):
        journal.keep(TextDocument(text, name))
    assert names(journal, order=ShelfOrder.NAME) == ["ada.pdf", "Bo.docx", "Zoe.txt"]
    assert names(journal, order=ShelfOrder.LENGTH) == ["Zoe.txt", "Bo.docx", "ada.pdf"]
    assert names(journal, order=ShelfOrder.ADDED) == ["Bo.docx", "ada.pdf", "Zoe.txt"]
    assert names(journal, type="word") == ["Bo.docx"]
    counts = journal.shelf.count_documents(Reach())
    assert (counts.documents, counts.types) == (3, {"text": 1, "pdf": 1, "word": 1})


def test_collections_belong_to_their_owner_and_go_with_their_documents(journal):
    rows = [journal.keep(TextDocument(f"text {name}", name)).row for name in "abc"]
    one, two, three = (journal.document_at(row).id for row in rows)
    journal.shelf.collect("", "Leases", [one, two, two])
    journal.shelf.collect("ada", "Leases", [three])
    assert {*names(journal, collection="Leases")} == {"a", "b"}
    assert names(journal, Reach(owner="ada", rows=rows), collection="Leases") == ["c"]
    assert journal.shelf.list_collections("", [one, three]) == {one: ["Leases"]}
    journal.shelf.take_out("", "Leases", [one])
    assert journal.shelf.count_documents(Reach()).collections == (CollectionCount(collection="Leases", documents=1),)
    journal.shelf.drop_document(rows[1])
    assert journal.shelf.count_documents(Reach()).collections == ()


def test_what_somebody_labelled_is_not_dropped_unread(journal):
    rows = {name: journal.keep(TextDocument(f"text {name}", name)).row for name in ("starred", "collected", "left")}
    journal.shelf.set_label("", DOCUMENT, journal.document_at(rows["starred"]).id, is_starred=True)
    journal.shelf.collect("", "Leases", [journal.document_at(rows["collected"]).id])
    with sqlite3.connect(journal.path) as other:
        other.execute("UPDATE texts SET kept = '2020-01-01T00:00:00.000Z'")
    journal.delete_unread()
    assert {*names(journal)} == {"starred", "collected"}


def test_the_labels_of_one_owner_are_not_anothers(journal):
    row = journal.keep(TextDocument("shared", "shared")).row
    sha = journal.document_at(row).id
    journal.shelf.set_label("ada", DOCUMENT, sha, name="Ada's own")
    assert names(journal, Reach(owner="eve", rows=[row])) == ["shared"]
    assert names(journal, Reach(owner="ada", rows=[row])) == ["Ada's own"]
    assert names(journal, Reach(owner="ada", rows=[])) == []
    assert journal.shelf.find_document(Reach(rows=[row + 1]), sha) is None


def test_a_reading_out_of_reach_is_not_counted(journal):
    reading = begin_reading(journal)
    (book,) = journal.shelf.list_documents(Reach(ids=[]))
    assert (book.readings, book.newest) == (0, None)
    (book,) = journal.shelf.list_documents(Reach(ids=[reading.id]))
    assert book.readings == 1


def test_labels_are_deleted_with_what_they_stand_on(journal):
    reading = begin_reading(journal)
    journal.shelf.set_label("", READING, reading.id, is_starred=True)
    journal.shelf.set_label("", DOCUMENT, reading.document.id, name="Secret project")
    assert journal.shelf.load_labels("", READING, [reading.id]) == {reading.id: Label(starred=True)}
    journal.delete(reading.id)
    with sqlite3.connect(journal.path) as other:
        assert other.execute("SELECT * FROM labels").fetchall() == []
    other.close()


def test_an_unread_document_can_be_dropped_and_one_with_readings_stays(journal):
    row = journal.keep(TextDocument("unread", "unread")).row
    kept = journal.document_of(begin_reading(journal).id)
    journal.shelf.drop_document(row)
    journal.shelf.drop_document(kept.row)
    assert names(journal) == [kept.name]


def test_a_repaired_journal_keeps_its_labels(tmp_path):
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:
        sha = journal.keep(TextDocument("a text", "old name")).id
        journal.shelf.set_label("ada", DOCUMENT, sha, name="new name", is_starred=True)
        journal.shelf.set_label("ada", READING, "gone", name="nothing has this id")
    repair(path)
    with Journal(path) as journal:
        assert journal.shelf.load_labels("ada", DOCUMENT, [sha]) == {sha: Label(name="new name", starred=True)}
        assert journal.shelf.load_labels("ada", READING, ["gone"]) == {}


def test_what_was_computed_of_a_text_goes_with_it(journal):
    reading = asyncio.run(read_to_end(journal, begin_reading(journal), MILL, ScriptedModel(keyword_reader)))
    kept = journal.document(reading.document.id)
    kept.keep_index("ends", b"1")
    kept.keep_index("ends", b"2")
    assert journal.document_of(reading.id).load_index("ends") == b"2"
    assert kept.load_index("words") is None
    journal.delete(reading.id)
    assert count_rows(journal, "indexes") == 0
    # Nothing is lost where the text is gone.
    kept.keep_index("ends", b"3")
    assert count_rows(journal, "indexes") == 0


def test_a_journal_that_is_only_read_keeps_no_index(journal):
    document = journal.keep(MILL)
    with Journal(journal.path, read_only=True) as reader:
        reader.document(document.id).keep_index("ends", b"1")
        assert reader.document(document.id).load_index("ends") is None
    assert count_rows(journal, "indexes") == 0
