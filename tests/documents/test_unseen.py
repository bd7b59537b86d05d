"""Words that a page does not show are left out with a note, or named where they are read; what it shows is read."""

from __future__ import annotations

import zipfile
from email.message import EmailMessage
from itertools import product
from time import process_time

import docx
import pytest
from conversion import convert
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx.shared import Pt, RGBColor
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

PRICE = "<p>The fee is 30 crowns.</p>"
LEFT_OUT = "words that are not shown left out (--everything keeps them): "
NAMED = "words that are hidden or can hardly be seen, which are read: "


def read(path, **facts) -> tuple[str, tuple[str, ...]]:
    parts, notes = convert(path, **facts)
    return "".join(part.text for part in parts), notes


def read_page(tmp_path, body: str, *, everything: bool = False) -> tuple[str, tuple[str, ...]]:
    path = tmp_path / "a.html"
    path.write_text(f"<html><body>{PRICE}{body}</body></html>")
    return read(path, everything=everything)


@pytest.mark.parametrize(
    "body",
    [
        "<p style='display:none'>{}</p>",
        "<p style='display:none !important; display:block'>{}</p>",
        "<div style='color:#fff;font-family:\"A;B\";DISPLAY: none'><b>{}</b></div>",
        "<p hidden>{}</p>",
        "<p style='visibility:hidden'>{}</p>",
        "<div style='display:block;visibility:hidden'>{}</div>",
        "<template>{}</template>",
    ],
)
def test_words_that_an_element_hides_by_itself_are_left_out_and_counted(tmp_path, body):
    text, notes = read_page(tmp_path, f"{body.format('The fee is 99.')} after")
    assert "99" not in text
    assert "30 crowns" in text
    assert "after" in text
    assert notes == (f"{LEFT_OUT}a.html (4)",)
    whole, notes = read_page(tmp_path, f"{body.format('The fee is 99.')} after", everything=True)
    assert "The fee is 99." in whole
    assert notes == ()


@pytest.mark.parametrize("press", ["<button aria-expanded='false'>More</button>", "<b onclick='unfold(this)'>More</b>"])
def test_what_a_press_may_unfold_is_read_and_named(tmp_path, press):
    text, notes = read_page(tmp_path, f"{press}<div style='display:none'><p>The fee is 99.</p></div>")
    assert "The fee is 99." in text
    assert notes == (f"{NAMED}a.html (4)",)


@pytest.mark.parametrize(
    "body",
    [
        "<p style='color:white'>{}</p>",
        "<p style='color:#FEFEFE'>{}</p>",
        "<font color=white><b>{}</b></font>",
        "<p style='color:rgb(255, 255, 255)'>{}</p>",
        "<div style='background:#000'><p style='color:black'>{}</p></div>",
        "<table><td bgcolor=ivory><span style='color: ivory'>{}</span></table>",
        "<script>let a;</script><p style='color:#fff;background:#ffffff'>{}</p>",
        "<p style='font-size:0'><b>{}</b></p>",
        "<p style='font-size:1px'>{}</p>",
        "<p style='position:absolute; left:-9999px'><b>{}</b></p>",
        "<p style='text-indent:-9999px'>{}</p>",
        "<p style='height:0;overflow:hidden'><b>{}</b></p>",
    ],
)
def test_words_that_can_hardly_be_seen_are_read_and_named(tmp_path, body):
    text, notes = read_page(tmp_path, body.format("The fee is 99."))
    assert "The fee is 99." in text
    assert notes == (f"{NAMED}a.html (4)",)


@pytest.mark.parametrize(
    "body",
    [
        "<div style='background:#036'><p style='color:#fff'>{}</p></div>",
        "<ul style='font-size:0'><li style='font-size:16px'>{}</li></ul>",
        "<div style='font-size:0'><font size=3>{}</font></div>",
        "<p aria-hidden=true>{}</p>",
        "<p style='color:red'>{}</p>",
        "<p style='overflow:hidden;width:100%'>{}</p>",
        "<p style='font-size:0.8em'>{}</p>",
        "<p style='font-size:1.5vw'>{}</p>",
        "<p style='height:1in;width:1in;overflow:hidden'>{}</p>",
        "<details><summary>More</summary>{}</details>",
        "<button aria-controls=a>More</button><div id=a style='display:none'>{}</div>",
        "<button onclick=\"openCity(event, 'London')\">More</button><div id=London hidden>{}</div>",
        "<div id=a hidden>{}</div><script>document.getElementById('a').hidden = false</script>",
        "<div hidden=until-found>{}</div>",
        "<div hidden style='display:flex'>{}</div>",
        "<div style='visibility:hidden'><p style='visibility: visible'>{}</p></div>",
        "<div style='visibility:hidden'><p class=a>{}</p></div><style>.a{{visibility:visible}}</style>",
        "<div><template shadowrootmode=open>{}</template></div>",
        "<style>@media print{{p{{display:none}}}}</style><p>{}</p>",
        "<style>.tab{{display:none}}</style><div class=tab>{}</div>",
        "<style>.reveal{{opacity:0}}.reveal.active{{opacity:1}}</style><section class=reveal>{}</section>",
        "<style>.panel{{max-height:0;overflow:hidden}}</style><button class=accordion>A</button><div class=panel>{}</div>",
        "<style>.hid{{display:none}}@media(width>9px){{.md{{display:block}}}}</style><div class='hid md'>{}</div>",
        "<style>:root{{background:#111}} body{{color:#fff}}</style><p style='color:#fff'>{}</p>",
        "<style>@media screen{{body{{background:#222}}}} body{{color:#fff}}</style><font color=white>{}</font>",
        "<link rel=stylesheet href=a.css><p style='color:#fff'>{}</p>",
        "<div style='background:url(a.png;b)'><p style='color:#fff'>{}</p></div>",
        "<div style='background:#fff linear-gradient(red, blue)'><p style='color:#fff'>{}</p></div>",
        "<table><td background=hero.png><font color=white>{}</font></table>",
        "<div style='position:relative'><img src=a.jpg><h1 style='position:absolute;color:#fff'>{}</h1></div>",
        "<img style='position:absolute' src=a.jpg><h1 style='color:#fff'>{}</h1>",
        "<p style='color:#fff'><a href=x>{}</a></p>",
        "<p style='color:#fff;text-shadow:0 0 3px #000'>{}</p>",
        "<p style='color:#fff;background:#fff;color:\\72 ed'>{}</p>",
    ],
)
def test_words_that_a_page_shows_or_may_show_are_read_without_a_note(tmp_path, body):
    text, notes = read_page(tmp_path, body.format("The deposit is 70."))
    assert "The deposit is 70." in text
    assert notes == ()


def test_what_stands_off_the_page_is_no_ground_of_other_words(tmp_path):
    away = "<p style='position:absolute;left:-5000px'>Two words</p>"
    assert read_page(tmp_path, f"{away}<p style='color:white'>The fee is 99.</p>")[1] == (f"{NAMED}a.html (6)",)


def test_a_page_whose_body_tells_its_colours_is_read_and_named_only_where_both_are_the_same(tmp_path):
    for ink, expected in (("#ffffff", ()), ("000000", (f"{NAMED}a.html (4)",))):
        (tmp_path / "a.html").write_text(f"<body bgcolor='#000000' text='{ink}'><p>The fee is 30.")
        assert read(tmp_path / "a.html") == ("The fee is 30.\n", expected)


def test_a_page_that_hides_all_its_words_is_read_and_named(tmp_path):
    (tmp_path / "a.html").write_text("<body style='display:none'><div hidden><p>The fee is 30.</p></div>")
    assert read(tmp_path / "a.html") == ("The fee is 30.\n", (f"{NAMED}a.html (4)",))


def test_pages_made_to_take_long_are_read_in_time(tmp_path):
    many = 20_000
    bodies = (
        "<p>" + "<b hidden>x</b>y " * many,
        f"<style>{'x' * 10 * many} {'/*' * many}{'@' * many}</style><p style='{'x' * 10 * many}'>y</p>",
        f"<p style='{'rgb(1' * many}{chr(34)}{'(a' * many}'>y</p>",
        "<div style='visibility:hidden' id=a>" * 200 + "y" + "<p style='color:#fff'>z</p>" * many,
    )
    for body in bodies:
        started = process_time()
        text, _ = read_page(tmp_path, body)
        assert "30 crowns" in text
        assert process_time() - started < 10


def test_hidden_words_of_a_book_are_counted_once_also_where_they_are_all_of_a_chapter(tmp_path):
    spine = "".join(f'<itemref idref="c{at}"/>' for at in range(9))
    items = "".join(f'<item id="c{at}" href="c{at}.xhtml"/>' for at in range(9))
    page = "<html xmlns='http://www.w3.org/1999/xhtml'><body><p>Seen.</p><p hidden='hidden'>Not seen at all.</p></body></html>"
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr("META-INF/container.xml", '<container><rootfile full-path="a.opf"/></container>')
        book.writestr("a.opf", f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>")
        book.writestr(
            "c0.xhtml", "<section xmlns='http://www.w3.org/1999/xhtml' hidden='hidden'>The fee is 30.</section>"
        )
        for at in range(1, 9):
            book.writestr(f"c{at}.xhtml", page)
    text, notes = read(tmp_path / "a.epub")
    assert "The fee is 30." in text
    assert text.count("Seen.") == 8
    assert "Not seen" not in text
    assert notes == (f"{LEFT_OUT}a.epub (32)",)


def test_hidden_words_of_a_mailbox_are_counted_once(tmp_path):
    mail = EmailMessage()
    mail["Subject"] = "fees"
    mail.set_content(f"{PRICE}<p hidden>The fee is 99.</p>", subtype="html")
    (tmp_path / "a.mbox").write_bytes((b"From a@b.c Sat Jan  3 01:05:34 2026\n" + mail.as_bytes() + b"\n") * 12)
    text, notes = read(tmp_path / "a.mbox")
    assert (text.count("30 crowns"), text.count("99")) == (12, 0)
    assert notes == (f"{LEFT_OUT}a.mbox (48)",)


def test_a_mail_and_its_attached_page_leave_out_what_they_do_not_show(tmp_path):
    mail = EmailMessage()
    mail["Subject"] = "fees"
    page = f"{PRICE}<p style='display:none'>The fee is 99.</p>"
    mail.set_content(page, subtype="html")
    mail.add_attachment(page, subtype="html", filename="b.html")
    path = tmp_path / "a.eml"
    path.write_bytes(mail.as_bytes())
    text, notes = read(path)
    assert (text.count("30 crowns"), text.count("99")) == (2, 0)
    assert notes == (f"{LEFT_OUT}a.eml (4), a.eml#b.html (4)",)
    text, notes = read(path, everything=True)
    assert (text.count("99"), notes) == (2, ())


def make_picture(folder) -> str:
    Image.new("RGB", (20, 20), "navy").save(folder / "a.png")
    return str(folder / "a.png")


def make_word_file(path, *, is_dark: bool = False) -> None:
    document = docx.Document()
    line = document.add_paragraph("Seen, ")
    run = line.add_run("not this, ")
    run.font.hidden = True
    run.add_break()
    run.add_picture(make_picture(path.parent))
    line.add_run("and this.")
    style = document.styles.add_style("Unseen", WD_STYLE_TYPE.CHARACTER)
    style.font.hidden = True
    line.add_run(" Nor that.", style="Unseen")
    line.add_run(" But this.", style="Unseen").font.hidden = False
    document.add_paragraph().add_run("White words.").font.color.rgb = RGBColor(255, 255, 255)
    document.add_paragraph().add_run("Tiny words.").font.size = Pt(1)
    cell = document.add_table(1, 2).cell(0, 0)
    cell.paragraphs[0].add_run("On blue").font.color.rgb = RGBColor(255, 255, 255)
    shade = f'<w:shd {nsdecls("w")} w:val="clear" w:fill="003366"/>'
    cell._tc.get_or_add_tcPr().append(parse_xml(shade))
    shaded = document.add_paragraph()
    shaded.add_run("On blue too").font.color.rgb = RGBColor(255, 255, 255)
    shaded._p.get_or_add_pPr().append(parse_xml(shade))
    if is_dark:
        dark = document.styles.add_style("Dark", WD_STYLE_TYPE.PARAGRAPH)
        dark.element.get_or_add_pPr().append(parse_xml(shade))
    document.save(path)


@pytest.mark.parametrize("is_dark", [False, True])
def test_hidden_text_of_a_word_file_is_left_out_and_white_and_tiny_words_are_named(tmp_path, is_dark):
    make_word_file(tmp_path / "a.docx", is_dark=is_dark)
    text, notes = read(tmp_path / "a.docx")
    assert all(
        words in text
        for words in ("Seen,", "and this. But this.", "On blue", "On blue too", "White words.", "Tiny words.")
    )
    assert not any(words in text for words in ("not this", "Nor that"))
    # What a style may paint is not told to be unseen; the picture in hidden text stays.
    assert notes[:2] == (f"{LEFT_OUT}a.docx (4)", f"{NAMED}a.docx ({2 if is_dark else 4})")
    assert "a.docx#image1.png" in notes[2]
    whole, notes = read(tmp_path / "a.docx", everything=True)
    assert (all(words in whole for words in ("not this", "Nor that", "White")), len(notes)) == (True, 1)


@pytest.mark.parametrize(
    ("kind", "ground"),
    [
        *product(("mode", "clear", "white", "blank"), ("", "blue", "frame", "picture", "line")),
        ("white", "many"),
        *(pytest.param(kind, "many", marks=pytest.mark.long) for kind in ("mode", "clear", "blank")),
    ],
)
def test_pages_of_a_pdf_with_unseen_words_are_named_where_nothing_is_painted_below(tmp_path, kind, ground):
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.drawString(72, 720, "The fee is 30 crowns.")
    canvas.setFillColorRGB(0, 0, 1)
    if ground == "blue":
        canvas.rect(60, 640, 200, 30, fill=1, stroke=0)
    if ground == "frame":
        canvas.rect(20, 20, 550, 800, fill=0, stroke=1)
    if ground == "line":
        canvas.setLineWidth(30)
        canvas.line(60, 655, 260, 655)
    if ground == "picture":
        canvas.drawImage(make_picture(tmp_path), 0, 0, 600, 850)
    for at in range(20_001 if ground == "many" else 0):
        canvas.line(0, at / 100, 10, at / 100)
    if kind in {"white", "blank"}:
        canvas.setFillColorRGB(1, 1, 1)
    if kind == "clear":
        canvas.setFillAlpha(0)
    words = canvas.beginText(72, 650)
    words.setTextRenderMode(3 if kind == "mode" else 0)
    words.textLine("   " if kind == "blank" else "The fee is 99.")
    canvas.drawText(words)
    canvas.save()
    text, notes = read(tmp_path / "a.pdf", ocr="off")
    assert ("The fee is 99." in text) == (kind != "blank")
    is_named = any(note == "pages of a.pdf with words that are not seen there, and are read too: 1" for note in notes)
    assert is_named == (kind != "blank" and ground in {"", "frame"})
