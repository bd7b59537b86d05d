"""The files that documents were read from stay with them, and go with them."""

import os

import pytest
from reportlab.pdfgen.canvas import Canvas

from bookwheel.documents.opening import TextDocument, open_document
from bookwheel.errors import JournalError
from bookwheel.journal import Journal, originals
from bookwheel.journal.damage import repair


@pytest.fixture
def log(tmp_path):
    canvas = Canvas(str(tmp_path / "log.pdf"))
    canvas.drawString(72, 720, "Eleven barrels of lamp oil came with the ferry.")
    canvas.save()
    return tmp_path / "log.pdf"


def kept(journal, *paths):
    stored = journal.keep(open_document(paths))
    return {one.source: stored.load_original(one) for one in stored.originals()}


def test_a_pdf_is_kept_byte_by_byte_and_plain_text_is_not(journal, log, tmp_path):
    (tmp_path / "notes.txt").write_text("The ferry left at dawn.")
    assert kept(journal, log, tmp_path / "notes.txt") == {"log.pdf": log.read_bytes()}
    assert kept(journal, tmp_path / "notes.txt") == {}
    assert journal.keep(TextDocument("%PDF- is how they begin")).originals() == ()


def test_the_same_document_kept_again_has_one_file(journal, log):
    assert kept(journal, log) == kept(journal, log) == {"log.pdf": log.read_bytes()}


def test_a_large_file_is_whole_and_one_above_the_bound_is_left_out(journal, log, monkeypatch):
    log.write_bytes(log.read_bytes() + os.urandom(3 << 20))
    assert kept(journal, log) == {"log.pdf": log.read_bytes()}
    monkeypatch.setattr(originals, "MOST_BYTES", 1000)
    log.write_bytes(log.read_bytes() + b" ")
    stored = journal.keep(TextDocument("another text"))
    assert stored.originals() == ()


def test_a_journal_can_keep_text_only(tmp_path, log):
    with Journal(tmp_path / "j.sqlite", keeps_files=False) as journal:
        assert kept(journal, log) == {}


def test_a_forgotten_document_takes_its_file_along(journal, log):
    kept(journal, log)
    journal.delete_unread(all_=True)
    journal.close()
    for file in journal.path.parent.glob(journal.path.name + "*"):
        if file.is_file():
            assert log.read_bytes()[200:400] not in file.read_bytes()


def test_a_damaged_file_is_an_error_that_says_what_to_do(journal, log):
    kept(journal, log)
    journal._writer.execute_now("UPDATE original_pieces SET content = x'78'", ())
    with pytest.raises(JournalError, match="its text is kept apart from it"):
        kept(journal, log)


def test_a_repaired_journal_has_the_file(journal, log):
    kept(journal, log)
    journal.close()
    _, lost = repair(journal.path)
    assert lost == []
    with Journal(journal.path) as again:
        assert kept(again, log) == {"log.pdf": log.read_bytes()}
