"""The shelf: each text once, named and starred by its owner alone; labels go with what they stand on."""

import sqlite3

from journal_readings import begin_reading

from bookwheel.documents.opening import TextDocument
from bookwheel.journal import Journal, schema
from bookwheel.journal.damage import repair
from bookwheel.journal.shelf import Label, LabelKind, Reach

ALL = Reach()
DOCUMENT, READING = LabelKind.DOCUMENT, LabelKind.READING


def names(journal, reach=ALL, **wanted) -> list[str]:
    return [book.name for book in journal.shelf.list_documents(reach, **wanted)]


def test_a_document_stands_on_the_shelf_once_with_its_newest_name_and_question(journal):
    journal.keep(TextDocument("one text", "old name"))
    journal.keep(TextDocument("one text", "new name"))
    reading = begin_reading(journal)
    assert names(journal) == [reading.document.name, "new name"]
    asked, unread = journal.shelf.list_documents(Reach())
    assert (asked.readings, asked.question, asked.reading) == (1, reading.question, reading.id)
    assert (unread.readings, unread.question, unread.reading) == (0, "", "")


def test_a_star_comes_first_and_a_name_can_be_given_and_given_back(journal):
    for name in "abc":
        journal.keep(TextDocument(f"text {name}", name))
    first = journal.shelf.list_documents(Reach())[-1]
    journal.shelf.set_label("", DOCUMENT, first.id, name="Ä treatise", is_starred=True)
    assert names(journal)[0] == "Ä treatise"
    assert names(journal, search="ä TREAT") == ["Ä treatise"]
    journal.shelf.set_label("", DOCUMENT, first.id, name="")
    book = journal.shelf.find_document(Reach(), first.id)
    assert (book.name, book.is_starred) == (first.name, True)
    assert names(journal, limit=1, offset=1) == [names(journal)[1]]


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
    assert (book.readings, book.question) == (0, "")
    (book,) = journal.shelf.list_documents(Reach(ids=[reading.id]))
    assert book.readings == 1


def test_labels_are_deleted_with_what_they_stand_on(journal):
    reading = begin_reading(journal)
    journal.shelf.set_label("", READING, reading.id, is_starred=True)
    journal.shelf.set_label("", DOCUMENT, reading.document.id, name="Secret project")
    assert journal.shelf.load_labels("", READING, [reading.id]) == {reading.id: Label(is_starred=True)}
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


def test_a_journal_without_labels_gets_them(tmp_path, monkeypatch):
    path = tmp_path / "journal.sqlite"
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:5])
    with Journal(path) as old:
        sha = old.keep(TextDocument("a text", "old name")).id
    monkeypatch.undo()
    with Journal(path) as journal:
        journal.shelf.set_label("", DOCUMENT, sha, name="new name")
        assert names(journal) == ["new name"]


def test_a_repaired_journal_keeps_its_labels(tmp_path):
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:
        sha = journal.keep(TextDocument("a text", "old name")).id
        journal.shelf.set_label("ada", DOCUMENT, sha, name="new name", is_starred=True)
        journal.shelf.set_label("ada", READING, "gone", name="nothing has this id")
    repair(path)
    with Journal(path) as journal:
        assert journal.shelf.load_labels("ada", DOCUMENT, [sha]) == {sha: Label(name="new name", is_starred=True)}
        assert journal.shelf.load_labels("ada", READING, ["gone"]) == {}
