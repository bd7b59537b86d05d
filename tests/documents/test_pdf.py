import shutil
import sys

import pytest
from conversion import convert
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from bookwheel.documents.opening import open_document
from bookwheel.documents.readers.pdf import find_running_lines
from bookwheel.documents.readers.pdf_headings import mark_headings
from bookwheel.documents.readers.pdf_hyphens import Hyphens
from bookwheel.documents.readers.pdf_layout import Fragment, TextLine
from bookwheel.errors import MissingExtra, SourceError

PAGES = ["The ferry left at dawn.", "The keeper wrote: eleven barrels of lamp oil.", "", "The lamp burned all winter."]


def pdf(path, pages, encrypt=None):
    canvas = Canvas(str(path), encrypt=encrypt)
    for text in pages:
        if text:
            canvas.drawString(72, 720, text)
        else:
            canvas.rect(100, 100, 200, 200, fill=1)
        canvas.showPage()
    canvas.save()
    return path


def test_every_page_keeps_its_number(tmp_path):
    document = open_document([pdf(tmp_path / "log.pdf", PAGES)])
    parts = list(document.parts())
    assert [(p.page, p.source) for p in parts] == [(1, "log.pdf"), (2, "log.pdf"), (4, "log.pdf")]
    assert "".join(p.text for p in parts) == "".join(f"{text}\n" for text in PAGES if text)
    assert document.notes == ()


def test_a_pdf_is_read_on_from_any_character(tmp_path):
    document = open_document([pdf(tmp_path / "log.pdf", PAGES)])
    text = "".join(part.text for part in document.parts())
    for start in (0, 1, 24, 25, 60, len(text) - 1, len(text), len(text) + 9):
        assert "".join(part.text for part in document.parts(start)) == text[start:]
    assert [p.page for p in document.parts(30)] == [2, 4]


def test_a_span_of_a_pdf_knows_its_own_pages(tmp_path):
    document = open_document([pdf(tmp_path / "log.pdf", PAGES)])
    text = document.slice(0, 200)
    for page, sentence in ((1, PAGES[0]), (2, PAGES[1]), (4, PAGES[3])):
        start = text.index(sentence)
        assert document.pages(start, start + len(sentence)) == (page,)
    assert document.pages(0, len(text)) == (1, 2, 4)
    assert document.pages(0, 0) == (1,)


def test_a_pdf_of_pictures_only_asks_for_ocr(tmp_path, monkeypatch):
    monkeypatch.setattr("bookwheel.documents.readers.pdf.choose_recogniser", lambda _: "")
    with pytest.raises(SourceError, match=r"no text layer.*install tesseract.*ocrmypdf scan\.pdf"):
        convert(pdf(tmp_path / "scan.pdf", ["", "", ""]))


def test_a_pdf_with_a_password_is_refused_with_advice(tmp_path):
    locked = pdf(tmp_path / "locked.pdf", PAGES, StandardEncryption("secret", ownerPassword="owner", strength=128))
    with pytest.raises(SourceError, match=r"needs a password.*qpdf"):
        open_document([locked])


def test_a_pdf_that_only_forbids_printing_is_read(tmp_path):
    path = pdf(tmp_path / "a.pdf", PAGES, StandardEncryption("", ownerPassword="owner", canPrint=0, strength=128))
    assert "eleven barrels" in "".join(part.text for part in open_document([path]).parts())


@pytest.mark.parametrize("keep", [20, 300, 900])
def test_a_torn_pdf_is_a_source_error_or_is_read(tmp_path, keep):
    whole = pdf(tmp_path / "a.pdf", PAGES).read_bytes()
    (tmp_path / "torn.pdf").write_bytes(whole[:keep])
    with pytest.raises(SourceError, match=r"torn\.pdf"):
        open_document([tmp_path / "torn.pdf"])


def test_without_the_optional_part_the_error_names_it(tmp_path, monkeypatch):
    path = pdf(tmp_path / "a.pdf", PAGES)
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(MissingExtra, match=r"reading PDF .*\[documents\]"):
        convert(path)


def test_a_word_that_a_page_cuts_goes_to_the_page_where_it_begins():
    hyphens = Hyphens(["the harbour", "a well-known bell"])
    assert hyphens.join_pages("of the har-", "bour, and the\nkeeper") == ("of the harbour,", "and the\nkeeper")
    assert hyphens.join_pages("it was well-", "known there") == ("it was well-known", "there")
    assert hyphens.join_pages("of the har-", "bour") == ("of the harbour", "")


@pytest.mark.parametrize(
    ("before", "after"),
    [("of the har-", "Bour, and"), ("of the har", "bour"), ("1970-", "today"), ("", "bour"), ("a-", "")],
)
def test_other_ends_of_pages_stay(before, after):
    assert Hyphens([]).join_pages(before, after) == (before, after)


def line(text, left, bottom, height=9):
    return Fragment(text, left, left + 100, bottom, bottom + height)


def test_a_title_beside_a_running_one_goes_only_if_the_text_has_it():
    def page(title, body):
        return [line("The book of lights", 72, 800), line(title, 330, 800), line(body, 72, 600)]

    titles = ["Lamps", "Wicks", "Oil", "Glass", "Brass"]
    kept = [page(title, title.upper()) for title in titles[:4]] + [page("Brass", "something else")]
    found = find_running_lines(kept, [842.0] * 5)
    assert found == [set(), {0, 1}, {0, 1}, {0, 1}, {0}]


def test_what_a_page_has_alone_is_no_running_title_nor_is_a_word_with_other_digits():
    slides = [[line(f"Question {number}", 72, 800)] for number in range(1, 6)]
    assert find_running_lines(slides, [842.0] * 5) == [set()] * 5
    bills = [[line(f"Bill a{number}b", 72, 800), line("paid", 72, 600 - number)] for number in range(1, 6)]
    assert find_running_lines(bills, [842.0] * 5) == [set()] * 5
    bills = [[line(f"Bills, page {number}", 72, 800), line("paid", 72, 600 - number)] for number in range(1, 6)]
    assert find_running_lines(bills, [842.0] * 5) == [set(), {0}, {0}, {0}, {0}]


def test_two_words_of_the_document_that_are_none_together_keep_their_hyphen():
    hyphens = Hyphens(["up to the date", "to that date", "without a word", "with it, with us", "out of it, out"])
    assert hyphens.join_pages("may not be up-to-", "date, as") == ("may not be up-to-date,", "as")
    assert hyphens.join_pages("it came with-", "out a word") == ("it came without", "a word")


def test_a_word_in_capitals_that_a_line_cuts_is_joined():
    hyphens = Hyphens(["install to DESTDIR", "an ISO list", "the ISO of the IEC"])

    def join(*lines):
        return hyphens.join([TextLine(text) for text in lines])

    assert join("$(MAKE) DEST-", "DIR=debian") == "$(MAKE) DESTDIR=debian"
    assert join("AS IS, IM-", "PLIED OR NOT") == "AS IS, IMPLIED\nOR NOT"
    assert join("as in ISO-", "IEC 8859") == "as in ISO-IEC\n8859"
    assert join("met Jean-", "Paul there") == "met Jean-\nPaul there"


def test_a_heading_is_joined_and_does_not_take_the_line_above():
    def mark(title, *lines):
        return [line.text for line in mark_headings([TextLine(text) for text in lines], [(1, title)], Hyphens([]))]

    assert mark("Adopting and reintroducing", "Adopting and reintro-", "ducing", "It was") == [
        "# Adopting and reintroducing",
        "It was",
    ]
    assert mark("Registering", "as devel-", "opers.", "2.3 Registering", "It was") == [
        "as devel-",
        "opers.",
        "# 2.3 Registering",
        "It was",
    ]
    assert mark("Lamps", "Chapter 2", "Lamps", "They burn.") == ["# Chapter 2 Lamps", "They burn."]


@pytest.mark.parametrize(
    ("gap", "spacing", "expected"),
    [(0.19, 0, "the rules files here"), (0.05, 0, "the rulesfiles here"), (0.15, 0.15, "the rulesfiles here")],
)
def test_two_words_with_a_narrow_gap_are_two(tmp_path, gap, spacing, expected):
    canvas = Canvas(str(tmp_path / "gap.pdf"))
    text = canvas.beginText(72, 720)
    x = 72.0
    for font, word, after in (("Courier", "the", 6), ("Times-Italic", "rules", 10 * gap), ("Courier", "files", 6)):
        text.setTextOrigin(x, 720)
        text.setFont(font, 10)
        text.setCharSpace(10 * spacing)
        text.textOut(word)
        x += canvas.stringWidth(word, font, 10) + 10 * spacing * (len(word) - (word == "rules")) + after
    text.setTextOrigin(x, 720)
    text.setCharSpace(0)
    text.textOut("here")
    canvas.drawText(text)
    canvas.save()
    assert "".join(part.text for part in open_document([tmp_path / "gap.pdf"]).parts()).strip() == expected


SENTENCE = "The keeper counted eleven barrels of lamp oil in the winter store"
needs_tesseract = pytest.mark.skipif(not shutil.which("tesseract"), reason="tesseract is not installed")


@pytest.fixture
def scan(tmp_path):
    """Return a picture of a sentence, made by drawing a PDF."""
    import pypdfium2

    canvas = Canvas(str(tmp_path / "drawn.pdf"), pagesize=(500, 80))
    canvas.setFont("Helvetica", 14)
    canvas.drawString(20, 40, SENTENCE)
    canvas.save()
    with pypdfium2.PdfDocument(tmp_path / "drawn.pdf") as document:
        document[0].render(scale=3).to_pil().save(tmp_path / "scan.png")
    return tmp_path / "scan.png"


@pytest.fixture
def without_recogniser(monkeypatch):
    for module in ("pictures", "pdf"):
        monkeypatch.setattr(f"bookwheel.documents.readers.{module}.choose_recogniser", lambda _: "")


def scanned_pdf(picture):
    path = picture.with_name("scanned.pdf")
    canvas = Canvas(str(path))
    canvas.drawString(72, 700, "A page with text.")
    canvas.showPage()
    canvas.drawImage(ImageReader(str(picture)), 50, 500, 500, 80)
    canvas.save()
    return path


@needs_tesseract
@pytest.mark.slow
def test_a_picture_is_read_and_a_note_says_how(scan):
    parts, notes = convert(scan, ocr="tesseract")
    assert SENTENCE in " ".join(parts[0].text.split())
    assert notes == ("pictures read by OCR, which makes mistakes: scan.png",)


@needs_tesseract
@pytest.mark.slow
def test_a_scanned_page_among_others_is_read_as_its_page(scan):
    document = open_document([scanned_pdf(scan)], ocr="tesseract")
    parts = list(document.parts())
    assert [part.page for part in parts] == [1, 2]
    assert SENTENCE in " ".join(parts[1].text.split())
    assert document.notes == ("pages of scanned.pdf read by OCR, which makes mistakes: 2",)


def test_without_a_recogniser_a_picture_is_refused_with_advice(scan, without_recogniser):
    with pytest.raises(SourceError, match=r"scan\.png is a picture.*\[pictures\].*apt-get install tesseract-ocr"):
        convert(scan)


def test_without_a_recogniser_a_scanned_page_is_told_with_advice(scan, without_recogniser):
    parts, notes = convert(scanned_pdf(scan))
    assert [part.page for part in parts] == [1]
    assert len(notes) == 1
    assert "without a text layer (" in notes[0]
    assert "[pictures]" in notes[0]
    assert notes[0].endswith(": 2")


@needs_tesseract
def test_a_page_that_tesseract_cannot_read_is_told_and_the_others_are_read(scan, monkeypatch):
    path = scanned_pdf(scan)
    monkeypatch.setattr("bookwheel.documents.readers.pdf._OCR_RESOLUTION", 72)
    monkeypatch.setattr("bookwheel.documents.readers.pictures.find_languages", lambda: "xx-none")
    parts, notes = convert(path, ocr="tesseract")
    assert [part.page for part in parts] == [1]
    assert "page 2 is a picture that tesseract cannot read" in notes[0]


@needs_tesseract
def test_a_damaged_picture_is_an_error_of_its_source(tmp_path):
    (tmp_path / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    with pytest.raises(SourceError, match=r"bad\.png is a picture that tesseract cannot read"):
        convert(tmp_path / "bad.png", ocr="tesseract")


def test_a_page_in_shapes_that_are_no_known_letters_is_named(tmp_path):
    shapes = b" ".join(b"/g%d" % one for one in range(1, 17))
    procedures = b" ".join(b"/g%d 6 0 R" % one for one in range(1, 17))
    drawn = b"BT /F1 12 Tf 60 700 Td <0102030405060708090A0B0C0D0E0F10> Tj ET"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
        b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 9 9] /FontMatrix [.1 0 0 .1 0 0] /FirstChar 1 /LastChar 16 "
        b"/Widths [" + b"9 " * 16 + b"] /Encoding << /Type /Encoding /Differences [1 " + shapes + b"] >> "
        b"/CharProcs << " + procedures + b" >> >>",
        b"<< /Length 28 >>\nstream\n9 0 0 0 9 9 d1 1 1 7 7 re f \nendstream",
    )
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % pair for pair in enumerate(objects, 1))
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4\n" + body + b"trailer << /Size 7 /Root 1 0 R >>\n%%EOF\n")
    assert convert(tmp_path / "a.pdf")[1] == ("pages of a.pdf whose text looks garbled: 1",)
