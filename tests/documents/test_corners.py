"""What stands in a corner of a container is read or named, and one bad leaf costs none of the others."""

import json
import time
import zipfile

import pytest
from conversion import convert
from pptx import Presentation
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches
from test_leaves import lose
from test_workbooks import change, workbook

DEEP = "<div>" * 3000 + "leafdeep" + "</div>" * 3000
BRACKETS = "(" * 3000
SPACES = {
    "office": "office",
    "text": "text",
    "table": "table",
    "draw": "drawing",
    "style": "style",
    "form": "form",
    "presentation": "presentation",
}
ODF = " ".join(f"xmlns:{short}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'" for short, name in SPACES.items())
BOX = "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"


def open_document(path, kind, body, styles="", **more):
    content = f"<office:document-content {ODF}><office:body>{body}</office:body></office:document-content>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("styles.xml", f"<office:document-styles {ODF}>{styles}</office:document-styles>")
        for name, inner in more.items():
            archive.writestr(name, inner)
    return path


def test_a_sheet_of_opendocument_loses_nothing_beside_its_cells(tmp_path):
    shapes = f"<table:shapes>{BOX.format('boxleaf')}</table:shapes>"
    cell = "<office:annotation><text:p>noteleaf</text:p></office:annotation><text:p>cellleaf</text:p>"
    cell = f"<table:table-cell office:value-type='string'>{cell}</table:table-cell>"
    table = f"<table:table table:name='S'>{shapes}<table:table-row>{cell}</table:table-row></table:table>"
    header = "<style:master-page><style:header><text:p>headleaf</text:p></style:header></style:master-page>"
    body = f"<office:spreadsheet>{table}</office:spreadsheet>"
    path = open_document(tmp_path / "a.ods", "spreadsheet", body, header)
    assert lose(path, ["cellleaf", "noteleaf", "boxleaf", "headleaf"]) == []


def test_forms_and_objects_of_a_text_are_read(tmp_path):
    form = "<form:form><form:text form:label='labelleaf' form:current-value='filledleaf'/></form:form>"
    body = f"<office:text><office:forms>{form}</office:forms><text:p>bodyleaf</text:p></office:text>"
    path = open_document(tmp_path / "a.odt", "text", body, **{"Object 1/content.xml": "<m><i>objectleaf</i></m>"})
    assert lose(path, ["labelleaf: filledleaf", "bodyleaf", "objectleaf"]) == []


@pytest.mark.parametrize("broken", ["Object 1/content.xml", "styles.xml"])
def test_a_broken_object_or_margin_of_a_text_costs_nothing_else(tmp_path, broken):
    body = "<office:text><text:p>bodyleaf</text:p></office:text>"
    path = open_document(tmp_path / "a.odt", "text", body, **{"Object 2/content.xml": "<m><i>objectleaf</i></m>"})
    change(path, "content.xml", **{broken: "<a><b></a>"})
    assert lose(path, ["bodyleaf", "objectleaf"]) == []
    assert any("damaged" in note for note in convert(path)[1])


def test_what_stands_on_every_page_of_a_presentation_is_read_once(tmp_path):
    footer = "<presentation:footer-decl>footleaf</presentation:footer-decl>"
    pages = f"<draw:page>{BOX.format('oneleaf')}</draw:page><draw:page>{BOX.format('twoleaf')}</draw:page>"
    body = f"<office:presentation>{footer}{pages}</office:presentation>"
    master = f"<style:master-page>{BOX.format('masterleaf')}</style:master-page>"
    path = open_document(tmp_path / "a.odp", "presentation", body, master)
    assert lose(path, ["oneleaf", "twoleaf", "footleaf", "masterleaf"]) == []


def test_what_stands_on_a_hidden_slide_of_opendocument_says_so_where_it_is_quoted(tmp_path):
    shown = "<style:style style:name='{}'><style:drawing-page-properties presentation:visibility='{}'/></style:style>"
    styles = shown.format("dp1", "visible") + shown.format("dp2", "hidden")
    pages = "".join(
        f"<draw:page draw:style-name='dp{number}'>{BOX.format(leaf)}</draw:page>"
        for number, leaf in ((1, "oneleaf"), (2, "twoleaf"))
    )
    path = open_document(tmp_path / "a.odp", "presentation", f"<office:presentation>{pages}</office:presentation>")
    change(
        path,
        "content.xml",
        (b"<office:body>", f"<office:automatic-styles>{styles}</office:automatic-styles><office:body>".encode()),
    )
    parts, notes = convert(path)
    assert [(part.source, part.page) for part in parts] == [("a.odp", 1), ("a.odp#hidden slide", 2)]
    assert notes == ("slides of a.odp that are hidden, and are read too: 2",)


def slides(path, fill):
    show = Presentation()
    fill(show, show.slides.add_slide(show.slide_layouts[6]))
    show.save(path)
    return path


PLACE = (Inches(1), Inches(1), Inches(4), Inches(2))


def chart(kind, data):
    return lambda _, slide: slide.shapes.add_chart(kind, *PLACE, data)


def test_every_kind_of_chart_is_read_with_all_its_numbers(tmp_path):
    points = XyChartData()
    points.add_series("serieleaf").add_data_point(1234.5, 7654321)
    path = slides(tmp_path / "xy.pptx", chart(XL_CHART_TYPE.XY_SCATTER, points))
    assert lose(path, ["serieleaf", "1234.5", "7654321"]) == []
    bars = CategoryChartData()
    bars.categories = ["catleaf"]
    bars.add_series("serieleaf", (2.5,))
    path = slides(tmp_path / "a.pptx", chart(XL_CHART_TYPE.BAR_CLUSTERED, bars))
    with zipfile.ZipFile(path) as archive:
        part = next(name for name in archive.namelist() if name.startswith("ppt/charts/chart"))
    change(path, part, (b"c:barChart", b"c:surface3DChart"), **{"ppt/charts/chartEx1.xml": b"<a/>"})
    assert lose(path, ["catleaf", "serieleaf", "2.5", "chartEx1.xml"]) == []


def test_the_names_of_a_charts_categories_stay_as_they_are_written(tmp_path):
    bars = CategoryChartData()
    bars.categories = ["007", "1E5", "Nan"]
    bars.add_series("serieleaf", (2.50, 3, 4))
    path = slides(tmp_path / "a.pptx", chart(XL_CHART_TYPE.BAR_CLUSTERED, bars))
    assert lose(path, ["007", "1E5", "Nan", "2.5"]) == []


def test_a_slide_marks_the_header_of_its_table(tmp_path):
    def fill(slide, is_marked):
        table = slide.shapes.add_table(2, 2, *PLACE).table
        for at, word in enumerate(("1.50", "2.50", "3.50", "4.50")):
            table.cell(at // 2, at % 2).text = word
        table.first_row = is_marked

    for is_marked, begins in ((True, "| 1.50 | 2.50 |"), (False, "|  |  |")):
        path = slides(tmp_path / "a.pptx", lambda _, slide, is_marked=is_marked: fill(slide, is_marked))
        assert begins in "".join(part.text for part in convert(path)[0])


def test_formulas_and_what_only_new_programs_show_are_read(tmp_path):
    def fill(_show, slide):
        for word in ("altleaf", "QQ"):
            slide.shapes.add_textbox(*PLACE).text_frame.text = word

    path = slides(tmp_path / "a.pptx", fill)
    office = b"http://schemas.openxmlformats.org/"
    a14 = b"xmlns:a14='http://schemas.microsoft.com/office/drawing/2010/main'"
    math = (
        b"<a14:m " + a14 + b"><m:r xmlns:m='" + office + b"officeDocument/2006/math'><m:t>mathleaf</m:t></m:r></a14:m>"
    )
    choice = b"<mc:AlternateContent xmlns:mc='" + office + b"markup-compatibility/2006'><mc:Choice Requires='a14'>"
    back = b"</mc:Choice><mc:Fallback><p:pic/></mc:Fallback></mc:AlternateContent>"
    pairs = (b"<p:sp>", choice + b"<p:sp>"), (b"</p:sp>", b"</p:sp>" + back), (b"<a:r>", math + b"<a:r>")
    change(path, "ppt/slides/slide1.xml", *pairs)
    assert lose(path, ["altleaf", "mathleaf"]) == []


def test_footers_layouts_and_every_note_of_a_slide_are_read(tmp_path):
    from copy import deepcopy

    def fill(show, slide):
        footer = next(one for one in slide.slide_layout.placeholders if int(one.placeholder_format.type) == 15)
        slide.shapes._spTree.append(deepcopy(footer._element))
        slide.shapes[-1].text_frame.text = "footleaf"
        slide.shapes.add_textbox(*PLACE).text_frame.text = "boxleaf"
        layout_box = deepcopy(slide.shapes[-1]._element)
        slide.slide_layout.shapes._spTree.append(layout_box)
        list(slide.slide_layout.shapes)[-1].text_frame.text = "layoutleaf"
        notes = slide.notes_slide
        notes.notes_text_frame.text = "noteleaf"
        notes.shapes._spTree.append(deepcopy(slide.shapes[-1]._element))
        list(notes.shapes)[-1].text_frame.text = "secondleaf"
        show.slides.add_slide(slide.slide_layout)

    path = slides(tmp_path / "a.pptx", fill)
    assert lose(path, ["footleaf", "boxleaf", "layoutleaf", "noteleaf", "secondleaf"]) == []
    assert "".join(part.text for part in convert(path)[0]).count("layoutleaf") == 1


def test_fields_and_directions_of_a_word_document_are_read(tmp_path):
    from docx import Document

    document = Document()
    document.add_paragraph("QQ")
    document.save(tmp_path / "a.docx")
    inner = b"<w:fldSimple w:instr='x'><w:r><w:t>fieldleaf</w:t></w:r></w:fldSimple>"
    inner += b"<w:bdo w:val='rtl'><w:dir w:val='rtl'><w:r><w:t>turnedleaf</w:t></w:r></w:dir></w:bdo>"
    change(tmp_path / "a.docx", "word/document.xml", (b"<w:r><w:t>QQ</w:t></w:r>", inner))
    assert lose(tmp_path / "a.docx", ["fieldleaf", "turnedleaf"]) == []


def test_boxes_and_numbers_of_a_rich_text_are_read(tmp_path):
    body = (
        r"{\listtext (a)\tab}oneleaf{\shp{\*\shpinst\shpleft1{\sp{\sn x}{\sv y}}{\shptxt boxleaf {\b two\}leaf}}}}\par"
    )
    (tmp_path / "a.rtf").write_text(rf"{{\rtf1\ansi {body} }}")
    assert lose(tmp_path / "a.rtf", ["(a)", "oneleaf", "boxleaf", "two}leaf"]) == []


def mail(*parts, kind="mixed"):
    inner = "".join(f"--q\n{part}\n" for part in parts)
    return f"Subject: s\nContent-Type: multipart/{kind}; boundary=q\n\n{inner}--q--\n"


def test_a_sentence_that_one_wording_of_many_words_adds_is_read(tmp_path):
    plain = "\n".join(f"word{'x' * number} stands here." for number in range(200))
    page = f"<p>{plain}</p><p>The password is hiddenleaf.</p>"
    parts = (f"Content-Type: text/plain\n\n{plain}", f"Content-Type: text/html\n\n{page}")
    (tmp_path / "a.eml").write_text(mail(*parts, kind="alternative"))
    text = "".join(part.text for part in convert(tmp_path / "a.eml")[0])
    assert "The password is hiddenleaf." in text
    assert text.count("wordxxx stands") == 1


def test_lines_before_parts_and_before_messages_are_read_or_named(tmp_path):
    (tmp_path / "a.eml").write_text(mail("\nx").replace("--q\n", "The money is below the stair.\n--q\n", 1))
    assert lose(tmp_path / "a.eml", ["below the stair"]) == []
    (tmp_path / "a.mbox").write_text("Subject: first\n\nBefore.\n\nFrom b Tue\nSubject: two\n\nIts text.\n")
    assert lose(tmp_path / "a.mbox", ["Its text.", "lines before the first message"]) == []


def test_a_part_that_is_elsewhere_is_named(tmp_path):
    part = "Content-Type: message/external-body; access-type=URL; URL=x\n\nContent-Type: text/plain\n"
    (tmp_path / "a.eml").write_text(mail(part))
    assert "parts that are in other messages or elsewhere: a.eml" in convert(tmp_path / "a.eml")[1]


@pytest.mark.parametrize("boundary", ["*=us-ascii''qq", '*0="q";\n boundary*1="q"'])
def test_parts_are_counted_however_their_boundary_is_written(tmp_path, boundary):
    parts = "--qq\n\nx\n" * 12_000
    (tmp_path / "a.eml").write_text(f"Subject: s\nContent-Type: multipart/mixed; boundary{boundary}\n\n{parts}--qq--\n")
    assert convert(tmp_path / "a.eml")[1] == ("parts of messages left out, after the first 10,000: a.eml",)


@pytest.mark.parametrize("header", [f"From: {BRACKETS}", f"Date: {BRACKETS}", f"Subject: {'=?utf-8?q?a?= ' * 200_000}"])
def test_a_header_of_any_length_costs_no_text_and_little_time(tmp_path, header):
    (tmp_path / "a.eml").write_text(f"{header}\n\nThe text.\n")
    began = time.process_time()
    assert lose(tmp_path / "a.eml", ["The text."]) == []
    assert time.process_time() - began < 5


def output(**data):
    return {"cell_type": "code", "source": "x", "outputs": [{"output_type": "display_data", "data": data}]}


def test_every_format_of_an_output_is_read_or_named(tmp_path):
    trace = {"output_type": "error", "ename": "E", "evalue": "", "traceback": ["\x1b[31mtraceleaf\x1b[0m line 3"]}
    cells = [
        output(**{"text/html": "<p>loading</p>", "text/plain": "plainleaf"}),
        output(**{"application/vnd.leaf+json": {}, "text/plain": "Figure()"}),
        {"cell_type": "code", "source": "x", "outputs": [trace]},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    assert lose(tmp_path / "a.ipynb", ["plainleaf", "vnd.leaf+json", "traceleaf line 3"]) == []


def test_forms_and_frames_of_a_page_are_named(tmp_path):
    (tmp_path / "a.html").write_text("<p>Words.</p><input type='hidden' value='x'>")
    assert convert(tmp_path / "a.html")[1] == ()
    (tmp_path / "a.html").write_text("<p>Words.</p><input value='Ada'><iframe src='b.html'></iframe>")
    assert lose(tmp_path / "a.html", ["fields of forms that are not read", "pages in frames that are not read"]) == []


def chats(*middle):
    def chat(word):
        message = {"author": {"role": "user"}, "content": {"parts": [word]}}
        return {"title": word, "mapping": {"a": {"message": message, "parent": None}}, "current_node": "a"}

    return json.dumps([chat("oneleaf"), *middle, chat("threeleaf")])


def slack(path):
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("users.json", "channels.json"):
            archive.writestr(name, "[]")
        archive.writestr("a/2024-01-01.json", json.dumps([{"ts": "1", "text": "oneleaf"}]))
        archive.writestr("a/2024-01-02.json", "[{")
        bad = {"ts": "1", "text": "x", "files": 3}
        archive.writestr("a/2024-01-03.json", json.dumps([bad, {"ts": "2", "text": "threeleaf"}]))


def message(word, body="x", sender="ada"):
    return f"From a Mon\nFrom: {sender}\nSubject: {word}\n{body}\n\n"


def sheets(path):
    def fill(book):
        for word in ("oneleaf", "twoleaf", "threeleaf"):
            book.add_worksheet(word).write(0, 0, word)

    workbook(path, fill, ("xl/comments9.xml", "<a"))
    change(path, "xl/worksheets/sheet2.xml", (b"</row>", b"</row"))


def book(path):
    from test_texts import epub

    epub(path)
    with zipfile.ZipFile(path) as archive:
        pages = [name for name in archive.namelist() if name.endswith(".xhtml") and "nav" not in name]
        words = dict(zip(pages, ["<p>oneleaf</p>", DEEP, "<p>threeleaf</p>"], strict=False))
        files = {name: words.get(name, archive.read(name)) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


HTML = f"Content-Type: text/html\n\n{DEEP}"
TEXT = "Content-Type: text/plain\n\n{}"
BAD_LEAVES = {
    "message.mbox": lambda p: p.write_text(message("oneleaf") + message("two", HTML) + message("threeleaf")),
    "sender.mbox": lambda p: p.write_text(message("oneleaf") + message("two", sender=BRACKETS) + message("threeleaf")),
    "wording.eml": lambda p: p.write_text(mail(TEXT.format("oneleaf"), HTML, TEXT.format("threeleaf"))),
    "output.ipynb": lambda p: p.write_text(
        json.dumps(
            {
                "cells": [
                    {"cell_type": "raw", "source": "oneleaf"},
                    output(**{"text/html": DEEP}),
                    {"cell_type": "heading", "level": "x", "source": "y"},
                    7,
                    {"cell_type": "raw", "source": "threeleaf"},
                ]
            }
        )
    ),
    "conversations.json": lambda p: p.write_text(chats({"mapping": {"a": {"message": {"create_time": "soon"}}}})),
    "slack.zip": slack,
    "book.epub": book,
    "book.xlsx": sheets,
}


@pytest.mark.parametrize("name", BAD_LEAVES)
def test_one_bad_leaf_is_named_and_costs_none_of_the_others(tmp_path, name):
    BAD_LEAVES[name](tmp_path / name)
    assert lose(tmp_path / name, ["oneleaf", "threeleaf"]) == []
    notes = convert(tmp_path / name)[1]
    assert name == "sender.mbox" or any("left out, damaged or too deep" in note for note in notes)
