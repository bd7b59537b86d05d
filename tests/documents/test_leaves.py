"""Every leaf of what holds several texts is read, or a note names it."""

import base64
import io
import json
import zipfile

import pytest
import xlsxwriter
from conversion import convert
from docx import Document
from hypothesis import given, settings
from hypothesis import strategies as st
from pptx import Presentation
from pptx.util import Inches
from test_texts import CONTAINER, epub

from bookwheel.documents.readers import containers

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def lose(path, leaves):
    """Return the leaves whose word is neither in the text nor in a note."""
    parts, notes = convert(path)
    found = "".join(part.text + part.source for part in parts) + " ".join(notes)
    return [leaf for leaf in leaves if leaf not in found]


class Mail:
    """Lines of a message, and the word of each of its leaves."""

    def __init__(self):
        self.leaves = []

    def word(self, kind):
        self.leaves.append(f"{kind}leaf{len(self.leaves)}x")
        return self.leaves[-1]

    def leaf(self, kind):
        word = self.word(kind)
        csv = f"Content-Type: text/csv\nContent-Disposition: attachment; filename={word}.csv\n\nname,oil\n{word},3\n"
        picture = base64.b64encode(PIXEL).decode()
        pairs = {
            "plain": f"Content-Type: text/plain\n\n{word} is said.\n",
            "html": f"Content-Type: text/html\n\n<p>{word} is <b>shown</b>.</p>\n",
            "csv": csv,
            "picture": f"Content-Type: image/png; name={word}.png\nContent-Transfer-Encoding: base64\n\n{picture}\n",
            "binary": f"Content-Type: application/x-odd; name={word}.bin\nContent-Transfer-Encoding: base64\n\nAAECAwQF\n",
            "message": f"Content-Type: message/rfc822\n\nSubject: {word}\n\nIts text.\n",
            "signature": f"Content-Type: application/pgp-signature; name={word}\n\n-----BEGIN PGP\n",
        }
        if kind == "signature":
            self.leaves[-1] = "signatures of messages"
        return pairs[kind]

    def tree(self, shape):
        if isinstance(shape, str):
            return self.leaf(shape)
        kind, children = shape
        if kind == "rfc822":
            return f"Content-Type: message/rfc822\n\nSubject: {self.word('subject')}\n{self.tree(children[0])}"
        edge = f"edge{len(self.leaves)}{id(children)}"
        inner = "".join(f"--{edge}\n{self.tree(child)}\n" for child in children)
        return f"Content-Type: multipart/{kind}; boundary={edge}\n\n{inner}--{edge}--\n"


LEAVES = st.sampled_from(["plain", "html", "csv", "picture", "binary", "message", "signature"])
TREES = st.recursive(
    LEAVES,
    lambda inner: st.tuples(
        st.sampled_from(["mixed", "alternative", "related", "signed", "digest", "report", "rfc822"]),
        st.lists(inner, min_size=1, max_size=4),
    ),
    max_leaves=12,
)
APPLE = ("alternative", ["plain", ("mixed", ["html", "csv", "html"])])
DEEP = ("mixed", [("rfc822", [("mixed", [("rfc822", [("mixed", [("rfc822", [("rfc822", [APPLE])])])])])])])


def save_mail(folder, shape):
    mail = Mail()
    text = f"From: Ada <ada@example.org>\nSubject: Stores\nMIME-Version: 1.0\n{mail.tree(shape)}"
    (folder / "a.eml").write_text(text)
    return folder / "a.eml", mail.leaves


@pytest.mark.parametrize("shape", [APPLE, DEEP, ("signed", ["html", "signature"]), ("related", ["html", "picture"])])
def test_a_message_of_a_known_program_loses_nothing(tmp_path, shape):
    path, leaves = save_mail(tmp_path, shape)
    assert lose(path, leaves) == []


@settings(max_examples=40, deadline=None)
@given(TREES)
def test_a_message_of_any_shape_loses_nothing(tmp_path_factory, shape):
    path, leaves = save_mail(tmp_path_factory.mktemp("mail"), shape)
    assert lose(path, leaves) == []


def test_two_wordings_of_one_text_are_read_once_and_two_texts_twice(tmp_path):
    def text_of(plain, html):
        body = f"--q\nContent-Type: text/plain\n\n{plain}\n--q\nContent-Type: text/html\n\n{html}\n--q--\n"
        (tmp_path / "a.eml").write_text(f"Subject: s\nContent-Type: multipart/alternative; boundary=q\n\n{body}")
        return "".join(part.text for part in convert(tmp_path / "a.eml")[0])

    assert text_of("The oil is low.", "<p>The <b>oil</b> is low.</p>").count("low") == 1
    assert "11" in text_of("See the page for all that is left of it.", "<p>There are 11 barrels.</p>")
    same = " ".join(f"word{'x' * n}" for n in range(60))
    assert "eleven" in text_of(f"{same} nine barrels", f"<p>{same} eleven of 12 barrels</p>")


def test_text_outside_the_parts_is_read(tmp_path):
    message = "Subject: s\nContent-Type: multipart/mixed; boundary=q\n\n{}\n--q\n\nInside.\n--q--\nBelow it all.\n"
    (tmp_path / "a.eml").write_text(message.format("This is a message in several parts."))
    text = "".join(part.text for part in convert(tmp_path / "a.eml")[0])
    assert "Below it all." in text
    assert "several parts" not in text
    (tmp_path / "a.eml").write_text(message.format("A whole letter. " * 20))
    assert "A whole letter." in "".join(part.text for part in convert(tmp_path / "a.eml")[0])


def test_parts_beyond_the_most_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(containers, "_MOST_PARTS", 100)
    parts = "".join(f"--q\n\npart{number}\n" for number in range(300))
    (tmp_path / "a.eml").write_text(f'Subject: s\nContent-Type: multipart/mixed; boundary="q"\n\n{parts}--q--\n')
    found, notes = convert(tmp_path / "a.eml")
    text = "".join(part.text for part in found)
    assert "part99" in text
    assert "part100" not in text
    assert notes == ("parts of messages left out, after the first 100: a.eml",)


def test_parts_deeper_than_the_most_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(containers, "_MOST_LEVELS", 3)
    shape = "plain"
    for _ in range(6):
        shape = ("mixed", [shape])
    path, _ = save_mail(tmp_path, shape)
    assert convert(path)[1] == ("parts of messages left out, nested too deeply: a.eml",)


def test_an_attached_message_in_base64_is_read(tmp_path):
    inner = base64.b64encode(b"Subject: Inner\n\nThe ferry left.\n").decode()
    (tmp_path / "a.eml").write_text(
        "Subject: s\nContent-Type: multipart/mixed; boundary=q\n\n--q\nContent-Type: message/rfc822\n"
        f"Content-Transfer-Encoding: base64\n\n{inner}\n--q--\n"
    )
    text = "".join(part.text for part in convert(tmp_path / "a.eml")[0])
    assert "Subject: Inner" in text
    assert "The ferry left." in text


@pytest.mark.parametrize("header", ["=?utf-8?B?!!!?=", "=?none?Q?a?=", "\udcff\udce4", '"a" <@>, <', "=?utf-8?q?=C3?="])
def test_a_malformed_header_costs_no_text(tmp_path, header):
    (tmp_path / "a.eml").write_text(
        f"From: {header}\nDate: {header}\nContent-Type: {header}\n\nThe text.\n", errors="surrogateescape"
    )
    assert "The text." in "".join(part.text for part in convert(tmp_path / "a.eml")[0])


def test_a_mailbox_is_read_message_by_message(tmp_path):
    message = "From ada@example.org Thu Jan  1 00:00:00 2026\nFrom: ada\nTo: ben\nSubject: Day {0}\n\nBarrels: {0}\n\n"
    for name in ("team.mbox", "team"):
        (tmp_path / name).write_text("".join(message.format(day) for day in (1, 2, 3)))
        parts, notes = convert(tmp_path / name)
        assert [part.source for part in parts if "Barrels" in part.text] == [
            f"{name}#ada, message {day}" for day in (1, 2, 3)
        ]
        assert notes == ()


def test_a_word_document_loses_nothing(tmp_path):
    document = Document()
    document.add_paragraph("bodyleaf")
    document.add_table(1, 1).cell(0, 0).text = "cellleaf"
    document.sections[0].header.paragraphs[0].text = "headerleaf"
    document.sections[0].footer.paragraphs[0].text = "footerleaf"
    document.add_picture(io.BytesIO(PIXEL))
    document.save(tmp_path / "a.docx")
    with zipfile.ZipFile(tmp_path / "a.docx", "a") as archive:
        archive.writestr("word/embeddings/sheetleaf.xlsx", b"PK")
        archive.writestr("word/afchunkleaf.html", "<p>x</p>")
    leaves = ["bodyleaf", "cellleaf", "headerleaf", "footerleaf", "image1.png", "sheetleaf.xlsx", "afchunkleaf.html"]
    assert lose(tmp_path / "a.docx", leaves) == []


COMMENTS = '<p:cmLst xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"><p:cm><p:text>commentleaf</p:text></p:cm></p:cmLst>'


def test_a_presentation_loses_nothing(tmp_path):
    from pptx.opc.package import Part as PackagePart
    from pptx.opc.packuri import PackURI

    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[5])
    slide.shapes.title.text = "titleleaf"
    slide.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "boxleaf"
    slide.shapes.add_table(1, 1, 0, 0, Inches(1), Inches(1)).table.cell(0, 0).text = "cellleaf"
    slide.shapes.add_group_shape().shapes.add_textbox(0, 0, 9, 9).text_frame.text = "groupleaf"
    slide.shapes.add_picture(io.BytesIO(PIXEL), 0, 0)
    slide.notes_slide.notes_text_frame.text = "noteleaf"
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments"
    uri = PackURI("/ppt/comments/comment1.xml")
    media = "application/vnd.openxmlformats-officedocument.presentationml.comments+xml"
    slide.part.relate_to(PackagePart(uri, media, slide.part.package, COMMENTS.encode()), kind)
    show.save(tmp_path / "a.pptx")
    with zipfile.ZipFile(tmp_path / "a.pptx", "a") as archive:
        archive.writestr("ppt/embeddings/oleleaf.bin", b"x")
    leaves = ["titleleaf", "boxleaf", "cellleaf", "groupleaf", "noteleaf", "commentleaf", "image1.png", "oleleaf.bin"]
    assert lose(tmp_path / "a.pptx", leaves) == []


def test_a_workbook_loses_nothing(tmp_path):
    (tmp_path / "pixel.png").write_bytes(PIXEL)
    book = xlsxwriter.Workbook(str(tmp_path / "a.xlsx"))
    for number in range(3):
        sheet = book.add_worksheet(f"sheetleaf{number}")
        sheet.write(number, number, f"cellleaf{number}")
        sheet.write_comment(0, 0, f"commentleaf{number}")
        sheet.insert_textbox(5, 5, f"boxleaf{number}")
    sheet.hide()
    sheet.insert_image(3, 3, str(tmp_path / "pixel.png"))
    chart = book.add_chart({"type": "line"})
    chart.add_series({"values": "=sheetleaf0!$A$1:$A$2"})
    chart.set_title({"name": "chartleaf"})
    book.add_chartsheet("chartsheetleaf").set_chart(chart)
    book.close()
    leaves = [f"{kind}leaf{n}" for kind in ("sheet", "cell", "comment", "box") for n in range(3)]
    assert lose(tmp_path / "a.xlsx", [*leaves, "image1.png", "chartsheetleaf", "chartleaf"]) == []


def test_a_book_loses_nothing(tmp_path):
    extra = {"OPS/aside.xhtml": "<p>x</p>", "OPS/map.png": PIXEL, "OPS/look.css": "p {}"}
    leaves = ["The Mill", "The river rose", "Last Light", "11 barrels", "gone.xhtml", "aside.xhtml", "map.png"]
    assert lose(epub(tmp_path / "a.epub", extra), leaves) == []
    assert "rootfile" in CONTAINER


def test_a_notebook_loses_nothing(tmp_path):
    picture = {"output_type": "display_data", "data": {"image/png": "iVBO"}}
    odd = {"output_type": "display_data", "data": {"application/x-odd": {}}}
    outputs = [
        {"output_type": "stream", "text": ["streamleaf"]},
        {"output_type": "execute_result", "data": {"text/html": "<p>tableleaf</p>"}},
        {"output_type": "error", "ename": "E", "evalue": "errorleaf"},
        {"output_type": "stream", "text": ""},
    ]
    cells = [
        {"cell_type": "markdown", "source": "textleaf"},
        {"cell_type": "code", "source": ["codeleaf"], "outputs": outputs},
        {"cell_type": "code", "source": "", "outputs": [picture]},
        {"cell_type": "code", "source": "", "outputs": [odd]},
        {"cell_type": "raw", "source": "rawleaf", "attachments": {"a.png": {}}},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    words = ["textleaf", "codeleaf", "streamleaf", "tableleaf", "errorleaf", "rawleaf", "#cell 3", "#cell 4", "#cell 5"]
    assert lose(tmp_path / "a.ipynb", words) == []


def test_files_in_a_pdf_are_named(tmp_path):
    import pypdfium2
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "plain.pdf"))
    canvas.drawString(72, 700, "A page with text.")
    canvas.save()
    with pypdfium2.PdfDocument(tmp_path / "plain.pdf") as document:
        document.new_attachment("tableleaf.csv").set_data(b"a,b")
        document.save(tmp_path / "a.pdf")
    assert lose(tmp_path / "a.pdf", ["A page with text.", "tableleaf.csv"]) == []
