"""Words in pictures are read wherever the picture is, and what cannot be read is told."""

import base64
import io
import json
import struct
import zipfile
import zlib
from difflib import SequenceMatcher
from pathlib import Path

import docx
import pptx
import pytest
from conversion import convert
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from bookwheel.documents.opening import open_document
from bookwheel.documents.readers import recognition
from bookwheel.documents.readers.pictures import find_quote, mark_passage, open_picture, read_words, to_bytes, to_rgb
from bookwheel.errors import InputError, SourceError
from bookwheel.picture import Picture, PictureLine

ROWS = [["Year", "Ships", "Dues"], ["1901", "312", "4,120"], ["1902", "298", "3,977"]]
TABLE = "| Year | Ships | Dues |\n| --- | --- | --- |\n| 1901 | 312 | 4,120 |\n| 1902 | 298 | 3,977 |"
TITLE = "Dues of the harbour"
FIXTURES = Path(__file__).parents[1] / "fixtures" / "pictures"


def draw_table(title=TITLE):
    picture = Image.new("RGB", (700, 330), "white")
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(24)
    pen.text((40, 20), title, font=font, fill="black")
    for at in range(4):
        pen.line((40, 80 + 60 * at, 640, 80 + 60 * at), fill="black", width=2)
        pen.line((40 + 200 * at, 80, 40 + 200 * at, 260), fill="black", width=2)
    for row, cells in enumerate(ROWS):
        for column, cell in enumerate(cells):
            pen.text((60 + 200 * column, 95 + 60 * row), cell, font=font, fill="black")
    return picture


@pytest.fixture(scope="module")
def table():
    return draw_table()


def as_bytes(picture, kind="PNG", **options):
    content = io.BytesIO()
    picture.save(content, kind, **options)
    return content.getvalue()


def write_pdf(path, table):
    canvas = Canvas(str(path), pagesize=(595, 842))
    canvas.drawString(50, 800, "A page with words about the harbour.")
    canvas.drawImage(ImageReader(table), 50, 400, 400, 189)
    canvas.showPage()
    canvas.drawImage(ImageReader(table), 0, 300, 595, 280)
    canvas.save()


def write_docx(path, table):
    document = docx.Document()
    document.add_paragraph("Before the figure.")
    document.add_picture(io.BytesIO(as_bytes(table)))
    document.add_paragraph("After it.")
    document.save(str(path))


def write_pptx(path, table):
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[5])
    slide.shapes.title.text = "Harbour"
    slide.shapes.add_picture(io.BytesIO(as_bytes(table)), 0, 0)
    slides.save(str(path))


def write_html(path, table):
    address = "data:image/png;base64," + base64.b64encode(as_bytes(table)).decode()
    path.write_text(f'<html><body><p>Before.</p><p><img alt="dues" src="{address}"></p><p>After.</p></body></html>')


def write_epub(path, table):
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="book.opf"/></rootfiles></container>'
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="t/a.xhtml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr("META-INF/container.xml", container)
        book.writestr("book.opf", package)
        book.writestr("t/a.xhtml", '<html><body><h1>One</h1><img src="../i/t.png" alt="dues"/></body></html>')
        book.writestr("i/t.png", as_bytes(table))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "write", "mark"),
    [
        ("a.docx", write_docx, "[figure 1]"),
        ("a.pptx", write_pptx, "[page 1, figure 1]"),
        ("a.html", write_html, "[figure 1] ![dues]"),
        ("a.epub", write_epub, "[figure 1] ![dues]"),
    ],
)
def test_a_picture_in_a_document_is_read_where_it_stands(tmp_path, table, name, write, mark):
    write(tmp_path / name, table)
    parts, notes = convert(tmp_path / name)
    assert f"{mark}\n{TITLE}\n{TABLE}" in "".join(part.text for part in parts)
    assert "read by OCR, which makes mistakes" in notes[0]
    (picture,) = [picture for part in parts for picture in part.pictures]
    assert picture.mark == mark.partition(" ![")[0]
    assert len(picture.lines) == 10


@pytest.mark.slow
def test_pictures_of_a_pdf_are_read_with_their_places_on_the_page_and_those_of_two_files_have_marks_of_their_own(
    tmp_path, table
):
    write_pdf(tmp_path / "a.pdf", table)
    write_docx(tmp_path / "b.docx", table)
    document = open_document([tmp_path / "a.pdf", tmp_path / "b.docx"])
    text = "".join(part.text for part in document.parts())
    marks = [picture.mark for picture in document.list_pictures()]
    assert marks == ["[a.pdf, page 1, figure 1]", "[a.pdf, page 2, figure 2]", "[b.docx, figure 1]"]
    assert all(f"{mark}\n{TITLE}" in text for mark in marks)
    first, second, _ = document.list_pictures()
    left, top, right, bottom = first.box
    assert (round(left * 595), round(right * 595)) == (50, 450)
    assert (round(842 - bottom * 842), round(842 - top * 842)) == (400, 589)
    assert second.box == (0, 0, 1, 1)
    (box,) = mark_passage(first, "| 3,977 |")
    assert left < box[0] < box[2] < right
    assert top < box[1] < box[3] < bottom
    assert document.load_picture(first.sha256).startswith((b"\x89PNG", b"\xff\xd8\xff"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda table: as_bytes(table.convert("CMYK"), "JPEG"),
        lambda table: as_bytes(table.convert("I;16").point(lambda value: value * 200), "PNG"),
        lambda table: as_bytes(table.convert("1"), "TIFF"),
        lambda table: as_bytes(table, "WEBP"),
        lambda table: (FIXTURES / "dues.heic").read_bytes(),
        lambda table: as_bytes(table.rotate(90, expand=True)),
        lambda table: as_bytes(table.rotate(180)),
    ],
    ids=["cmyk", "16-bit", "black-and-white", "webp", "heic", "on its side", "upside down"],
)
def test_a_picture_of_any_make_is_read(tmp_path, table, make):
    (tmp_path / "picture").write_bytes(make(table))
    parts, _ = convert(tmp_path / "picture")
    words = set("".join(part.text for part in parts).replace("|", " ").split())
    assert {cell for row in ROWS for cell in row} <= words


@pytest.mark.slow
def test_the_pages_of_a_tiff_are_pages_and_of_a_moving_picture_the_first_is_read(tmp_path, table):
    blank = Image.new("RGB", table.size, "white")
    (tmp_path / "a.tiff").write_bytes(as_bytes(table, "TIFF", save_all=True, append_images=[blank, table]))
    parts, _ = convert(tmp_path / "a.tiff")
    assert [part.page for part in parts] == [1, 3]
    (tmp_path / "a.gif").write_bytes(as_bytes(table, "GIF", save_all=True, append_images=[draw_table("Another")]))
    parts, notes = convert(tmp_path / "a.gif")
    assert len(parts) == 1
    assert "moving pictures, of which the first one is read: a.gif" in notes


def make_png(width, height):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(99))) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (make_png(50_000, 50_000), "50,000 x 50,000 pixels"),
        (make_png(1, 70_000), "70,000 pixels"),
        (make_png(300, 300), "it is broken"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "it is broken"),
        (b"\0\0\0\x18ftypheic" + bytes(90), "it is broken"),
        ((FIXTURES / "dues.heic").read_bytes()[:3000], "it is broken"),
    ],
)
def test_a_picture_that_cannot_be_read_is_told(tmp_path, content, told):
    (tmp_path / "bad.png").write_bytes(content)
    with pytest.raises(SourceError, match=rf"bad\.png (.|\n)*{told}"):
        convert(tmp_path / "bad.png")


@pytest.mark.slow
def test_a_bad_picture_in_a_document_is_told_and_the_document_is_read(tmp_path):
    addresses = ["data:image/png;base64," + base64.b64encode(make_png(50_000, 50_000)).decode()]
    addresses += ["data:image/png;base64,@@@@", "data:image/svg+xml;base64,PHN2Zz4=", "http://127.0.0.1:9/a.png"]
    pictures = "".join(f'<img src="{address}">' for address in addresses)
    drawing = "<svg><script>alert(1)</script><text>Label of the drawing</text></svg>"
    (tmp_path / "a.html").write_text(f"<html><body><p>Words.</p>{pictures}{drawing}</body></html>")
    parts, notes = convert(tmp_path / "a.html")
    text = "".join(part.text for part in parts)
    assert "Words." in text
    assert "Label of the drawing" in text
    assert "alert" not in text
    assert "50,000 x 50,000" in notes[0]


def write_lines(path, count, words=""):
    """Write a PDF whose last page shows lines and nothing else."""
    canvas = Canvas(str(path), pagesize=(200, 200))
    if words:
        canvas.drawString(20, 100, words)
        canvas.showPage()
    for at in range(count):
        canvas.line(10, 10 + 4 * at, 190, 190 - 4 * at)
    canvas.save()


def test_a_page_of_vector_lines_is_a_picture_where_it_may_show_something(tmp_path):
    from bookwheel.documents.cancellation import CancelScope, ChildLimits

    write_lines(tmp_path / "few.pdf", 5, "Words of the pier.")
    (part,), notes = convert(tmp_path / "few.pdf")
    assert (part.text, part.page, part.pictures, notes) == ("Words of the pier.\n", 1, (), ())
    write_lines(tmp_path / "many.pdf", 40, "Words of the pier.")
    with CancelScope(ChildLimits(picture_seconds=0)):
        parts, _ = convert(tmp_path / "many.pdf")
    assert [(part.page, len(part.pictures)) for part in parts] == [(1, 0), (2, 1)]
    write_lines(tmp_path / "only.pdf", 5)
    with pytest.raises(SourceError, match=r"only\.pdf has no words") as told:
        convert(tmp_path / "only.pdf")
    assert "install" not in str(told.value)


def test_a_drawing_in_svg_is_its_labels_and_its_scripts_are_not_read(tmp_path):
    inside = (
        "<script>alert(1)</script><style>.a{fill:red}</style><title>Plan</title><text>Gate <tspan>12</tspan></text>"
    )
    address = "http://www.w3.org/2000/svg"
    drawing = f'<?xml version="1.0"?><svg xmlns="{address}" onload="alert(2)">{inside}</svg>'
    (tmp_path / "plan.svg").write_text(drawing)
    (part,), _ = convert(tmp_path / "plan.svg")
    assert "Gate 12" in part.text
    assert not any(word in part.text for word in ("alert", "fill", "<"))


def test_a_photo_that_ends_in_the_middle_is_told(tmp_path):
    (tmp_path / "cut.jpg").write_bytes(as_bytes(draw_table(), "JPEG")[:9000])
    with pytest.raises(SourceError, match=r"cut\.jpg .*it is broken"):
        convert(tmp_path / "cut.jpg")


@pytest.mark.slow
def test_decoration_and_repeated_pictures_have_no_mark(tmp_path, table):
    document = docx.Document()
    for picture in (table, table, Image.new("RGB", (40, 40), "red"), Image.new("RGB", (900, 8), "black")):
        document.add_picture(io.BytesIO(as_bytes(picture)))
    document.save(str(tmp_path / "a.docx"))
    (part,), _ = convert(tmp_path / "a.docx")
    assert [picture.label for picture in part.pictures] == ["figure 1"]


def test_off_reads_no_picture_and_an_unknown_recogniser_is_refused(tmp_path, table):
    write_docx(tmp_path / "a.docx", table)
    (part,), notes = convert(tmp_path / "a.docx", ocr="off")
    assert (part.text, part.pictures) == ("Before the figure.\n\nAfter it.\n", ())
    assert notes == ("pictures that are not read: a.docx#image1.png",)
    with pytest.raises(InputError, match="unknown recogniser 'eyes'"):
        open_document([tmp_path / "a.docx"], ocr="eyes")


def test_what_takes_too_long_is_told(tmp_path, table, monkeypatch):
    from bookwheel.documents.cancellation import CancelScope, ChildLimits

    write_docx(tmp_path / "a.docx", table)
    with CancelScope(ChildLimits(picture_seconds=0)):
        (part,), notes = convert(tmp_path / "a.docx")
    assert "[figure 1]" in part.text
    assert TITLE not in part.text
    assert "whose words are not read, because it takes too long: a.docx" in notes[0]


def test_a_transparent_picture_is_seen_on_white_and_a_photo_is_kept_with_loss():
    clear = Image.new("RGBA", (30, 30), (0, 0, 0, 0))
    assert to_rgb(clear).getpixel((3, 3)) == (255, 255, 255)
    assert to_bytes(Image.effect_noise((900, 900), 90).convert("RGB")).startswith(b"\xff\xd8\xff")
    with open_picture(to_bytes(Image.new("RGB", (30, 30), "red")), "red") as opened:
        assert opened.format == "PNG"


def test_a_passage_is_marked_where_its_words_stand():
    lines = (
        PictureLine(text="Signed at noon", box=(0.1, 0.2, 0.8, 0.3), confidence=1.0),
        PictureLine(text="by Ada Quill", box=(0.1, 0.4, 0.7, 0.5), confidence=1.0),
    )
    facts = {"label": "figure 1", "source": "a", "page": 1, "sha256": "", "width": 10, "height": 10}
    picture = Picture(box=(0.5, 0.0, 1.0, 0.5), lines=lines, **facts)
    assert mark_passage(picture, "noon by Ada") == [(0.8, 0.1, 0.9, 0.15), (0.55, 0.2, 0.7, 0.25)]
    assert mark_passage(picture, "elsewhere") == []


def test_a_row_with_a_measured_number_is_marked_where_its_name_stands():
    lines = (PictureLine(text="East", box=(0.1, 0.8, 0.3, 0.9), confidence=0.9),)
    picture = Picture(label="x", source="a", page=1, sha256="", width=10, height=10, box=(0, 0, 1, 1), lines=lines)
    assert find_quote(picture, "| East | ≈143 |") == ((0.1, 0.8, 0.3, 0.9), 0.9)
    assert find_quote(picture, "| East | 143 |") is None


def test_the_cells_of_a_row_are_marked_where_they_stand_apart():
    """A number stands above its bar, and its name below."""
    places = (("143", 0.5, 0.2), ("95", 0.2, 0.4), ("Feb", 0.2, 0.9), ("March", 0.5, 0.9))
    lines = tuple(PictureLine(text=text, box=(x, y, x + 0.1, y + 0.02), confidence=0.9) for text, x, y in places)
    picture = Picture(label="x", source="a", page=1, sha256="", width=10, height=10, box=(0, 0, 1, 1), lines=lines)
    assert mark_passage(picture, "| March | 143 |") == [(0.5, 0.2, 0.6, 0.22), (0.5, 0.9, 0.6, 0.92)]


def test_the_longer_a_line_is_the_more_it_says_of_a_slant():
    """A chart has a level title, and short names that the recogniser finds a pixel or two aslant."""

    def find(width, drop, top):
        corners = ((0, top), (width, top + drop), (width, top + drop + 30), (0, top + 30))
        return recognition._Found("x", corners, 1.0, is_flipped=False)

    names = [find(140, 2, top) for top in (100, 200, 300)]
    lines = [find(550, 0, 0), *names]
    assert recognition._find_slant(lines, [line.corners for line in lines], 0) == 0
    slanted = [find(550, 8, 0), *names]
    assert recognition._find_slant(slanted, [line.corners for line in slanted], 0) == pytest.approx(0.0144, abs=0.0005)


RECOGNISED = json.loads((FIXTURES / "recognised.json").read_text(encoding="utf-8"))
QUICK = "diagram-en.png"


def count_changes(one, other):
    """Return about how many characters differ, spaces and bars aside."""
    one, other = ("".join(text.replace("|", "").split()) for text in (one, other))
    same = sum(block.size for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks())
    return max(len(one), len(other)) - same


@pytest.mark.parametrize(
    "name", [name if name == QUICK else pytest.param(name, marks=pytest.mark.slow) for name in sorted(RECOGNISED)]
)
def test_pages_are_recognised_as_they_were(name):
    """Other processors round otherwise, so that a letter in thirty may differ; what is lost shows in more."""
    with open_picture((FIXTURES / name).read_bytes(), name) as picture:
        read = read_words(to_rgb(picture)).text
    wanted = RECOGNISED[name]
    assert count_changes(read, wanted) <= max(2, len(wanted) // 30), read


def test_twenty_pages_are_in_the_table():
    assert len(RECOGNISED) == 20
