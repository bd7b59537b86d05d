"""Pictures of documents are kept once, go with the last document that has them, and are checked when they are used."""

import hashlib
import sqlite3

import pytest

from bookwheel.errors import JournalError
from bookwheel.journal import Journal
from bookwheel.journal.damage import repair
from bookwheel.picture import Picture, PictureLine
from bookwheel.plan import Plan
from bookwheel.types import Part, Reading

CONTENT = b"\x89PNG as it were"
LINE = PictureLine(text="3,977", box=(0.1, 0.2, 0.3, 0.4), confidence=0.93)


def make_picture(label="page 2, figure 1"):
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    place = {"source": "log.pdf", "page": 2, "box": (0.0, 0.5, 1.0, 1.0)}
    return Picture(label=label, **place, sha256=sha256, width=30, height=20, lines=(LINE,), content=CONTENT)


class Drawn:
    length = None

    def __init__(self, name):
        self.name = name

    def parts(self, start=0):
        yield Part(text=f"{self.name} [page 2, figure 1]", source="log.pdf", page=2, pictures=(make_picture(),))


def count(journal, table):
    connection = sqlite3.connect(journal.path)
    with connection:
        number = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    connection.close()
    return number


def begin(journal, name, id_):
    kept = journal.keep(Drawn(name))
    journal.begin(Reading(id=id_, document=kept.info, question="What?", plan=Plan(), model="scripted"))
    return kept


def test_a_picture_is_kept_once_with_its_place_and_its_words(journal):
    kept = begin(journal, "first", "ab12")
    begin(journal, "second", "cd34")
    (found,) = kept.list_pictures()
    assert found == make_picture()
    assert found.content == b""
    assert kept.load_picture(found.sha256) == CONTENT
    assert (count(journal, "pictures"), count(journal, "document_pictures")) == (1, 2)


def test_a_picture_goes_with_the_last_document_that_has_it(journal):
    begin(journal, "first", "ab12")
    begin(journal, "second", "cd34")
    journal.delete("ab12")
    assert (count(journal, "pictures"), count(journal, "document_pictures")) == (1, 1)
    journal.delete("cd34")
    assert (count(journal, "pictures"), count(journal, "document_pictures")) == (0, 0)
    journal.close()
    assert CONTENT not in journal.path.read_bytes()


def test_a_journal_of_texts_only_keeps_no_picture(tmp_path):
    with Journal(tmp_path / "journal.sqlite", keeps_files=False) as journal:
        assert journal.keep(Drawn("first")).list_pictures() == ()


def test_a_damaged_picture_is_told_and_the_rest_is_repaired(journal):
    kept = begin(journal, "first", "ab12")
    connection = sqlite3.connect(journal.path)
    with connection:
        connection.execute("UPDATE pictures SET content = ?", (b"other",))
    connection.close()
    with pytest.raises(JournalError, match="a picture is damaged or gone"):
        kept.load_picture(make_picture().sha256)
    journal.close()
    repair(journal.path)
    with Journal(journal.path) as mended:
        assert mended.document_of("ab12").list_pictures() == (make_picture(),)
