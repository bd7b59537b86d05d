"""Words that a page does not show are left out with a note, or named where they are read; what it shows is read."""

from __future__ import annotations

from email.message import EmailMessage

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx.shared import Pt, RGBColor
from reportlab.pdfgen.canvas import Canvas

from bookwheel.documents.opening import open_document

PRICE = "<p>The fee is 30 crowns.</p>"
LEFT_OUT = "words that are not shown left out (--everything keeps them): "


def read(path, *, everything: bool = False) -> tuple[str, tuple[str, ...]]:
    document = open_document([path], everything=everything)
    return "".join(part.text for part in document.parts()), document.notes


def read_page(tmp_path, body: str, *, everything: bool = False) -> tuple[str, tuple[str, ...]]:
    path = tmp_path / "a.html"
    path.write_text(f"<html><body>{PRICE}{body}</body></html>")
    return read(path, everything=everything)


@pytest.mark.parametrize(
    "body",
    [
        "<p style='color:white'>{}</p>",
        "<p style='color:#FEFEFE'>{}</p>",
        "<font color=white>{}</font>",
        "<p style='color:rgb(255, 255, 255)'>{}</p>",
        "<div style='background:#000'><p style='color:black'>{}</p></div>",
        "<td bgcolor=ivory><span style='color: ivory'>{}</span></td>",
        "<p style='color:transparent'>{}</p>",
        "<p style='font-size:0'>{}</p>",
        "<p style='font-size:1px'>{}</p>",
        "<p style='display:none'>{}</p>",
        "<p style='display:none !important; display:block'>{}</p>",
        "<p hidden>{}</p>",
        "<p style='visibility:hidden'>{}</p>",
        "<p style='opacity:0.0'>{}</p>",
        "<p style='position:absolute; left:-9999px'>{}</p>",
        "<p style='text-indent:-100em'>{}</p>",
        "<p style='height:0;overflow:hidden'>{}</p>",
        "<p style='transform:scale(0)'>{}</p>",
        "<p style='position:absolute;clip:rect(0,0,0,0)'>{}</p>",
        "<style>.x{{color:#fff}}</style><p class='y x'>{}</p>",
        "<style>/* {{ */ p#x, b{{display:none}}</style><p id=x>{}</p>",
    ],
)
def test_words_that_nobody_sees_are_left_out_and_counted(tmp_path, body):
    text, notes = read_page(tmp_path, f"{body.format('The fee is 99.')} after")
    assert "99" not in text
    assert "30 crowns" in text
    assert "after" in text
    assert notes == (f"{LEFT_OUT}a.html (4)",)
    whole, notes = read_page(tmp_path, f"{body.format('The fee is 99.')} after", everything=True)
    assert "The fee is 99." in whole
    assert notes == ()


@pytest.mark.parametrize(
    "body",
    [
        "<div style='background:#036'><p style='color:#fff'>{}</p></div>",
        "<ul style='font-size:0'><li style='font-size:16px'>{}</li></ul>",
        "<style>@media print{{p{{display:none}}}}</style><p>{}</p>",
        "<style>.tab{{display:none}} .tab.on{{display:block}}</style><div class=tab>{}</div>",
        "<button aria-controls=a>More</button><div id=a style='display:none'>{}</div>",
        "<details><summary>More</summary>{}</details>",
        "<p aria-hidden=true>{}</p>",
        "<p style='color:red'>{}</p>",
        "<p style='overflow:hidden;width:100%'>{}</p>",
        "<p style='font-size:0.8em'>{}</p>",
    ],
)
def test_words_that_a_page_shows_or_shows_after_a_press_are_read(tmp_path, body):
    text, notes = read_page(tmp_path, body.format("The deposit is 70."))
    assert "The deposit is 70." in text
    assert notes == ()


@pytest.mark.parametrize(
    "body",
    [
        "<link rel=stylesheet href=a.css><p style='color:#fff'>{}</p>",
        "<div style='background:url(a.png)'><p style='color:#fff'>{}</p></div>",
        "<div style='background:linear-gradient(red, blue)'><p style='color:#fff'>{}</p></div>",
        "<style>.menu th{{background:#036}} th{{color:#fff}}</style><table class=menu><tr><th>{}</th></tr></table>",
    ],
)
def test_white_words_on_a_ground_that_is_not_told_are_read_and_named(tmp_path, body):
    text, notes = read_page(tmp_path, body.format("The deposit is 70."))
    assert "The deposit is 70." in text
    assert notes == ("words in white on a ground that the page does not tell, which are read: a.html (4)",)


def test_a_mail_and_its_attached_page_leave_out_what_they_do_not_show(tmp_path):
    mail = EmailMessage()
    mail["Subject"] = "fees"
    page = f"{PRICE}<p style='color:white'>The fee is 99.</p>"
    mail.set_content(page, subtype="html")
    mail.add_attachment(page, subtype="html", filename="b.html")
    path = tmp_path / "a.eml"
    path.write_bytes(mail.as_bytes())
    text, notes = read(path)
    assert (text.count("30 crowns"), text.count("99")) == (2, 0)
    assert notes == (f"{LEFT_OUT}a.eml (4), a.eml#b.html (4)",)
    text, notes = read(path, everything=True)
    assert (text.count("99"), notes) == (2, ())


def test_hidden_white_and_tiny_runs_of_a_word_file_are_left_out(tmp_path):
    document = docx.Document()
    line = document.add_paragraph("Seen, ")
    line.add_run("not this, ").font.hidden = True
    line.add_run("and this.")
    document.add_paragraph().add_run("White words.").font.color.rgb = RGBColor(255, 255, 255)
    document.add_paragraph().add_run("Tiny words.").font.size = Pt(1)
    cell = document.add_table(1, 2).cell(0, 0)
    cell._tc.get_or_add_tcPr().append(parse_xml(f'<w:shd {nsdecls("w")} w:val="clear" w:fill="003366"/>'))
    cell.paragraphs[0].add_run("On blue").font.color.rgb = RGBColor(255, 255, 255)
    document.save(tmp_path / "a.docx")
    text, notes = read(tmp_path / "a.docx")
    assert "Seen, and this." in text
    assert "On blue" in text
    assert not any(word in text for word in ("not", "White", "Tiny"))
    assert notes == (f"{LEFT_OUT}a.docx (6)",)
    whole, notes = read(tmp_path / "a.docx", everything=True)
    assert (all(word in whole for word in ("not this", "White", "Tiny")), notes) == (True, ())


@pytest.mark.parametrize("kind", ["mode", "white", "white on blue", "scan"])
def test_unseen_words_of_a_pdf_are_named(tmp_path, kind):
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.drawString(72, 720, "The fee is 30 crowns.")
    if kind == "scan":
        canvas.rect(0, 0, 600, 850, fill=1)
    if kind == "white on blue":
        canvas.setFillColorRGB(0, 0, 1)
        canvas.rect(60, 640, 200, 80, fill=1)
    if kind.startswith("white"):
        canvas.setFillColorRGB(1, 1, 1)
    words = canvas.beginText(72, 650)
    words.setTextRenderMode(3 if kind in {"mode", "scan"} else 0)
    words.textLine("The fee is 99.")
    canvas.drawText(words)
    canvas.save()
    text, notes = read(tmp_path / "a.pdf")
    assert "The fee is 99." in text
    named = ("pages of a.pdf with words that are not seen there, and are read too: 1",)
    assert notes == (named if kind in {"mode", "white"} else ())
