"""Full-text search over documents and readings, and what is deleted is gone from it."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from bookwheel import TextDocument
from bookwheel.documents.opening import open_document
from bookwheel.errors import JournalError
from bookwheel.journal import Journal, search
from bookwheel.journal.search import search_path
from bookwheel.plan import Plan
from bookwheel.types import Answer, Chunk, Conversation, Memory, Reading, Reply, Status, Step

BOOK = "Gulls circle over the pier. " * 400 + "The harbour master of Skarholm is Ada Quill. " + "Rain fell. " * 400


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "journal.sqlite") as opened:
        yield opened


def add_reading(journal, document, id_="ab12", memory="The lamp is lit by Bo Fell.", status=Status.ANSWERED):
    conversation = Conversation(messages=(), reply=Reply(text="x"))
    after = Memory(text=memory, tokens=9, limit=1024)
    chunk = Chunk(index=0, start=0, end=10, text="", tokens=5)
    step = Step(chunk=chunk, before=Memory.blank(1024), after=after, conversation=conversation)
    reading = Reading(id=id_, document=document.info, question="Who lights it?", plan=Plan(), model="m", steps=(step,))
    answer = Answer(text="Bo Fell", conversation=conversation)
    journal.begin(replace(reading, status=status, answer=answer))


def test_a_passage_is_found_with_its_place(journal):
    kept = journal.keep(TextDocument(BOOK, "book.txt"))
    (hit,) = journal.search("skarholm MASTER")
    assert (hit.document, hit.name, hit.reading) == (kept.id, "book.txt", "")
    assert "Ada Quill" in hit.snippet
    assert BOOK[hit.start : hit.end] == hit.snippet
    assert journal.search("skarholm absent") == []


def test_a_passage_of_several_files_names_its_own(journal, tmp_path):
    files = [tmp_path / "pier.txt", tmp_path / "harbour.txt"]
    for file, text in zip(
        files,
        ("Gulls circle over the pier. " * 40, "Rain fell. " * 40 + "The harbour master is Ada Quill."),
        strict=True,
    ):
        file.write_text(text, "utf-8")
    journal.keep(open_document(files))
    (hit,) = journal.search("Ada Quill")
    assert hit.sources == ("harbour.txt",)
    assert "pier.txt" in hit.name


def test_memories_answers_and_questions_are_found_before_passages(journal):
    kept = journal.keep(TextDocument("Bo Fell has a dog. " + BOOK, "book.txt"))
    add_reading(journal, kept)
    first, second = journal.search("fell bo")
    assert (first.reading, first.question, first.name) == ("ab12", "Who lights it?", "book.txt")
    assert second.reading == ""
    for query in ("lights", "lamp", "Bo"):
        assert journal.search(query)[0].reading == "ab12"


def test_a_reading_that_went_on_is_found_by_what_is_new_and_not_by_what_is_gone(journal):
    kept = journal.keep(TextDocument("Nothing.", "book.txt"))
    add_reading(journal, kept)
    assert journal.search("lamp")
    journal.delete("ab12")
    kept = journal.keep(TextDocument("Nothing.", "book.txt"))
    add_reading(journal, kept, memory="A dog barks.")
    assert journal.search("lamp") == []
    assert [hit.reading for hit in journal.search("dog")] == ["ab12"]


def test_words_in_scripts_without_blanks_and_with_accents_are_found(journal):
    journal.keep(TextDocument("港口的主人是阿达。她住在灯塔里。", "zh"))
    journal.keep(TextDocument("Le phare est allumé chaque soir.", "fr"))
    assert [hit.name for hit in journal.search("灯塔")] == ["zh"]
    assert journal.search("塔灯") == []
    assert [hit.name for hit in journal.search("allume")] == ["fr"]


@pytest.mark.parametrize("query", ["", "  ", '"', "-", 'AND "', "a* OR (", "NEAR(x y)", "col:umn", "\ud800", "it's"])
def test_a_query_is_only_words(journal, query):
    journal.keep(TextDocument(BOOK, "book.txt"))
    journal.search(query)


def test_a_snippet_is_whole_words(journal):
    text = f"{'weather of the harbour, ' * 30}Ada Quill keeps it. {'rainfall on the roofs, ' * 30}"
    journal.keep(TextDocument(text, "book.txt"))
    (hit,) = journal.search("Quill")
    assert text[hit.start - 1].isspace()
    assert text[hit.end].isspace()
    assert "Ada Quill keeps it." in hit.snippet
    assert hit.snippet == text[hit.start : hit.end]


def test_a_word_is_found_by_its_beginning(journal):
    journal.keep(TextDocument(BOOK, "book.txt"))
    assert journal.search("harb mast")


def test_a_text_longer_than_a_piece_is_found_to_its_end_and_its_passages_are_whole_words(journal):
    text = "pier rain gull " * 80_000 + "Skarholm lies in the north."
    journal.keep(TextDocument(text, "long.txt"))
    (hit,) = journal.search("skarholm north")
    assert text[hit.start : hit.end] == hit.snippet
    assert len(journal.search("gull", limit=5)) == 5
    # No passage begins within a word.
    rows = sqlite3.connect(search_path(journal.path)).execute("SELECT rowid & 4294967295 FROM passages").fetchall()
    starts = [row[0] for row in rows if row[0] % (1 << 20)]
    assert starts
    assert all(text[start - 1].isspace() for start in starts)


def test_what_is_deleted_is_not_in_the_index_any_more(journal):
    kept = journal.keep(TextDocument(BOOK, "book.txt"))
    add_reading(journal, kept, memory="The secret word is xylophone.")
    assert journal.search("xylophone")
    assert journal.search("quill")
    journal.delete("ab12")
    content = b"".join(path.read_bytes() for path in journal.path.parent.glob("*.search*"))
    assert b"xylophone" not in content
    assert b"quill" not in content
    assert journal.search("quill") == []


def test_only_what_one_may_see_is_found(journal):
    mine, other = journal.keep(TextDocument(BOOK, "mine")), journal.keep(TextDocument(BOOK + "More.", "other"))
    add_reading(journal, mine, "aaaa")
    add_reading(journal, other, "bbbb")
    hits = journal.search("bo fell", ids=["aaaa"], documents=[mine.id])
    assert [hit.reading for hit in hits] == ["aaaa"]
    assert [hit.name for hit in journal.search("quill", ids=[], documents=[other.id])] == ["other"]
    assert journal.search("quill", ids=[], documents=[]) == []


def test_the_index_is_its_owners_alone(journal):
    journal.keep(TextDocument(BOOK, "book.txt"))
    journal.search("quill")
    assert search_path(journal.path).stat().st_mode & 0o077 == 0


def test_a_python_without_full_text_search_is_told(journal, monkeypatch):
    journal.keep(TextDocument(BOOK, "book"))
    monkeypatch.setattr(search, "_TABLES", "CREATE VIRTUAL TABLE IF NOT EXISTS passages USING fts99(content);")
    with pytest.raises(JournalError, match="has no full-text search"):
        journal.search("mill")
