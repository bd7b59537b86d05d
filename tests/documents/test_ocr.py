"""Pictures and scanned pages: read by tesseract where it is, refused with advice where it is not."""

import pytest
from conversion import convert
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from bookwheel.documents.opening import open_document
from bookwheel.documents.readers import ocr, pdf
from bookwheel.errors import SourceError

SENTENCE = "The keeper counted eleven barrels of lamp oil in the winter store"
needs_tesseract = pytest.mark.skipif(not ocr.has_tesseract(), reason="tesseract is not installed")


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
    parts, notes = convert(scan)
    assert SENTENCE in " ".join(parts[0].text.split())
    assert notes == ("pictures read by OCR, which makes mistakes: scan.png",)


@needs_tesseract
@pytest.mark.slow
def test_a_scanned_page_among_others_is_read_as_its_page(scan):
    document = open_document([scanned_pdf(scan)])
    parts = list(document.parts())
    assert [part.page for part in parts] == [1, 2]
    assert SENTENCE in " ".join(parts[1].text.split())
    assert document.notes == ("pages of scanned.pdf read by OCR, which makes mistakes: 2",)


def test_without_tesseract_a_picture_is_refused_with_advice(scan, monkeypatch):
    monkeypatch.setattr(ocr, "has_tesseract", lambda: False)
    with pytest.raises(SourceError, match=r"scan\.png is a picture.*apt-get install tesseract-ocr"):
        convert(scan)


def test_without_tesseract_a_scanned_page_is_told_with_advice(scan, monkeypatch):
    monkeypatch.setattr(pdf, "has_tesseract", lambda: False)
    parts, notes = convert(scanned_pdf(scan))
    assert [part.page for part in parts] == [1]
    assert len(notes) == 1
    assert "without a text layer (install tesseract" in notes[0]
    assert notes[0].endswith(": 2")


@needs_tesseract
def test_a_page_that_tesseract_cannot_read_is_told_and_the_others_are_read(scan, monkeypatch):
    path = scanned_pdf(scan)
    monkeypatch.setattr(pdf, "_OCR_RESOLUTION", 72)
    monkeypatch.setattr(ocr, "find_languages", lambda: "xx-none")
    parts, notes = convert(path)
    assert [part.page for part in parts] == [1]
    assert "page 2 is a picture that tesseract cannot read" in notes[0]


@needs_tesseract
def test_a_damaged_picture_is_an_error_of_its_source(tmp_path):
    (tmp_path / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    with pytest.raises(SourceError, match=r"bad\.png is a picture that tesseract cannot read"):
        convert(tmp_path / "bad.png")
