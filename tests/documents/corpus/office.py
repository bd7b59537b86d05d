"""Office files, tables of values, notebooks, and files packed by gzip."""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
from io import StringIO
from typing import TYPE_CHECKING

import docx
import xlsxwriter
from docx.oxml import parse_xml
from pptx import Presentation
from pptx.util import Inches

from corpus import pages, prints
from corpus.story import Sample, Story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from docx.document import Document

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{path}:1.0"'
    for name, path in (
        *(("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("style", "style")),
        *(("presentation", "presentation"), ("svg", "svg-compatible")),
    )
)


def word(name: str, fill: Callable[[Document], None], text: str, headings: tuple[str, ...] = ()) -> Sample:
    def write(path: Path) -> None:
        document = docx.Document()
        fill(document)
        document.save(str(path))

    return Sample(name=name, write=write, text=text, headings=headings)


def fill_table(table, rows: list[list[str]]) -> None:
    for cells, row in zip(table.rows, rows, strict=True):
        for cell, value in zip(cells.cells, row, strict=True):
            cell.text = value


def words() -> Iterator[Sample]:
    story = Story(60)
    chapters = [(story.title(), story.paragraph(6)) for _ in range(3)]

    def report(document: Document) -> None:
        for title, text in chapters:
            document.add_heading(title, 1)
            document.add_paragraph(text)

    text = " ".join(f"{title} {body}" for title, body in chapters)
    yield word("docx-report.docx", report, text, tuple(title for title, _ in chapters))
    rows, inner, items = story.table(6), story.table(2), [story.sentence() for _ in range(4)]

    def tables(document: Document) -> None:
        fill_table(document.add_table(len(rows), 3), rows)
        for item in items:
            document.add_paragraph(item, style="List Number")
        outer = document.add_table(1, 1)
        fill_table(outer.cell(0, 0).add_table(len(inner), 3), inner)

    numbers = " ".join(f"{n} {item}" for n, item in enumerate(items, 1))
    yield word("docx-tables.docx", tables, f"{pages.flat(rows)} {numbers} {pages.flat(inner)}")
    body, head, foot = story.paragraph(), story.sentence(), story.sentence()

    def margins(document: Document) -> None:
        document.add_paragraph(body)
        document.sections[0].header.paragraphs[0].text = head
        document.sections[0].footer.paragraphs[0].text = foot

    yield word("docx-margins.docx", margins, f"{head} {body} {foot}")
    remark = story.sentence()

    def comments(document: Document) -> None:
        run = document.add_paragraph().add_run(body)
        document.add_comment(run, text=remark, author="Ada Quill", initials="AQ")

    yield word("docx-comments.docx", comments, f"{body} AQ1 Comment AQ1 {remark}")
    gone, new = "deleted syllables", story.sentence()

    def changes(document: Document) -> None:
        paragraph = document.add_paragraph(body)
        paragraph._p.append(parse_xml(f'<w:ins {W}><w:r><w:t xml:space="preserve"> {new}</w:t></w:r></w:ins>'))
        paragraph._p.append(parse_xml(f"<w:del {W}><w:r><w:delText>{gone}</w:delText></w:r></w:del>"))
        paragraph._p.append(
            parse_xml(
                f'<w:customXml {W}><w:r><w:t xml:space="preserve"> Kept in custom markup.</w:t></w:r></w:customXml>'
            )
        )

    sample = word("docx-changes.docx", changes, f"{body} {new} Kept in custom markup")
    yield Sample(name=sample.name, write=sample.write, text=sample.text, dropped=gone)
    boxed, math = story.sentence(), "http://schemas.openxmlformats.org/officeDocument/2006/math"

    def boxes(document: Document) -> None:
        paragraph = document.add_paragraph(body)
        paragraph._p.append(parse_xml(f'<m:oMath xmlns:m="{math}"><m:r><m:t> volume = depth</m:t></m:r></m:oMath>'))
        paragraph._p.append(
            parse_xml(
                f'<w:r {W}><w:pict><v:shape xmlns:v="urn:schemas-microsoft-com:vml"><v:textbox><w:txbxContent><w:p><w:r>'
                f"<w:t>{boxed}</w:t></w:r></w:p></w:txbxContent></v:textbox></v:shape></w:pict></w:r>"
            )
        )

    yield word("docx-boxes.docx", boxes, f"{body} volume depth {boxed}")


def slides() -> Iterator[Sample]:
    story = Story(70)
    talk = [(story.title(), [story.sentence() for _ in range(3)], story.sentence()) for _ in range(3)]
    rows = story.table(4)

    def write(path: Path) -> None:
        show = Presentation()
        for title, points, note in talk:
            slide = show.slides.add_slide(show.slide_layouts[1])
            slide.shapes.title.text = title
            slide.placeholders[1].text = "\n".join(points)
            slide.notes_slide.notes_text_frame.text = note
        show.save(str(path))

    yield Sample(
        name="pptx-talk.pptx",
        write=write,
        text=" ".join(f"{title} {' '.join(points)} Notes {note}" for title, points, note in talk),
        headings=tuple(title for title, _, _ in talk),
        pages={number: note for number, (_, _, note) in enumerate(talk, 1)},
    )

    def write_table(path: Path) -> None:
        show = Presentation()
        slide = show.slides.add_slide(show.slide_layouts[6])
        fill_table(slide.shapes.add_table(len(rows), 3, Inches(1), Inches(1), Inches(6), Inches(3)).table, rows)
        group = slide.shapes.add_group_shape()
        group.shapes.add_textbox(Inches(1), Inches(5), Inches(3), Inches(1)).text_frame.text = "Grouped words"
        show.save(str(path))

    yield Sample(
        name="pptx-table.pptx", write=write_table, text=f"{pages.flat(rows)} Grouped words", pages={1: "Grouped"}
    )


def sheets() -> Iterator[Sample]:
    story = Story(80)
    one, two = story.table(9), story.table(5)

    def write(path: Path) -> None:
        with xlsxwriter.Workbook(str(path)) as book:
            for name, rows in (("Autumn", one), ("Winter", two)):
                sheet = book.add_worksheet(name)
                for at, row in enumerate(rows):
                    sheet.write_row(at, 0, [int(cell) if cell.isdecimal() else cell for cell in row])
            sheet.write_formula(len(two), 1, "=SUM(B2:B6)", None, 4711)

    text = f"Autumn {pages.flat(one)} Winter {pages.flat(two)} 4711"
    yield Sample(name="xlsx-stores.xlsx", write=write, text=text, headings=("Autumn", "Winter"))
    cells = odf_rows(one, ' office:value-type="string"')
    body = f'<office:spreadsheet><table:table table:name="Autumn">{cells}</table:table></office:spreadsheet>'
    yield Sample(
        name="ods-stores.ods",
        write=open_document_file("spreadsheet", body),
        text=f"Autumn {pages.flat(one)}",
        headings=("Autumn",),
    )
    for name, delimiter, encoding in (("comma", ",", "utf-8"), ("semicolon", ";", "cp1252"), ("tab", "\t", "utf-16")):
        rows = [["Güter", "Fässer", "Bemerkung"], *([*row[:2], f"{row[2]}, früh"] for row in story.table(8)[1:])]
        out = StringIO()
        csv.writer(out, delimiter=delimiter).writerows(rows)
        yield Sample(name=f"csv-{name}.csv", write=pages.saved(out.getvalue(), encoding), text=pages.flat(rows))
    lines = [["Name", "Remark"], *([story.title(), f"{story.sentence()}\n{story.sentence()}"] for _ in range(5))]
    out = StringIO()
    csv.writer(out).writerows(lines)
    yield Sample(name="csv-lines.csv", write=pages.saved(out.getvalue()), text=pages.flat(lines))


def odf_rows(rows: list[list[str]], kind: str = "") -> str:
    cells = [[f"<table:table-cell{kind}><text:p>{cell}</text:p></table:table-cell>" for cell in row] for row in rows]
    return "".join(f"<table:table-row>{''.join(row)}</table:table-row>" for row in cells)


def open_document_file(kind: str, body: str, styles: str = "") -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
            archive.writestr(
                "content.xml",
                f"<office:document-content {ODF}><office:body>{body}</office:body></office:document-content>",
            )
            archive.writestr("styles.xml", f"<office:document-styles {ODF}>{styles}</office:document-styles>")
            archive.writestr(
                "META-INF/manifest.xml",
                '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry '
                f'manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.{kind}"/></manifest:manifest>',
            )

    return write


def open_documents() -> Iterator[Sample]:
    story = Story(90)
    title, text, note, item, rows = story.title(), story.paragraph(), story.sentence(), story.sentence(), story.table(4)
    cells = odf_rows(rows)
    first, rest = text.split(" ", 1)
    body = (
        "<office:text><text:tracked-changes><text:changed-region><text:deletion><text:p>deleted syllables</text:p>"
        f'</text:deletion></text:changed-region></text:tracked-changes><text:h text:outline-level="2">{title}</text:h>'
        f"<text:p>{first}<text:s/><text:span>{rest}</text:span><text:note><text:note-citation>1</text:note-citation>"
        f"<text:note-body><text:p>{note}</text:p></text:note-body></text:note></text:p>"
        f"<text:list><text:list-item><text:p>{item}</text:p></text:list-item></text:list><table:table>{cells}</table:table>"
        "</office:text>"
    )
    styles = "<office:master-styles><style:master-page><style:header><text:p>Letterhead of Skarholm</text:p></style:header></style:master-page></office:master-styles>"
    yield Sample(
        name="odt-letter.odt",
        write=open_document_file("text", body, styles),
        text=f"Letterhead of Skarholm {title} {text} {note} {item} {pages.flat(rows)}",
        headings=(title,),
        dropped="deleted syllables",
    )
    frames = [(story.sentence(), story.sentence()) for _ in range(3)]
    show = "".join(
        f"<draw:page><draw:frame><draw:text-box><text:p>{one}</text:p></draw:text-box></draw:frame><presentation:notes>"
        f"<draw:frame><draw:text-box><text:p>{two}</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>"
        for one, two in frames
    )
    yield Sample(
        name="odp-talk.odp",
        write=open_document_file("presentation", f"<office:presentation>{show}</office:presentation>"),
        text=" ".join(f"{one} {two}" for one, two in frames),
        pages={number: one for number, (one, _) in enumerate(frames, 1)},
    )


def rich_texts() -> Iterator[Sample]:
    story = Story(100)
    texts, note, rows = story.paragraphs(3), story.sentence(), story.table(4)
    cells = "".join(r"\trowd " + "".join(rf"{cell}\cell " for cell in row) + "\\row\n" for row in rows)
    paragraphs = "".join(rf"{text}\par " for text in texts)
    markup = rf"{{\rtf1\ansi\ansicpg1252 {{\fonttbl{{\f0 Times;}}}}{{\header Skarholm letter\par}}{paragraphs}{cells}}}"
    yield Sample(
        name="rtf-letter.rtf", write=pages.saved(markup), text=" ".join(["Skarholm letter", *texts, pages.flat(rows)])
    )
    umlauts = rf"{{\rtf1\ansi\ansicpg1252 {texts[0]} K\'fcste \u8364? {{\footnote {note}}}\par}}"
    yield Sample(name="rtf-notes.rtf", write=pages.saved(umlauts), text=f"{texts[0]} Küste € {note}")


def notebooks() -> Iterator[Sample]:
    story = Story(110)
    text, code, rows = story.paragraph(), "total = sum(barrels)\nprint(total)", story.table(3)
    cells = [
        {"cell_type": "markdown", "source": [f"# Stores\n\n{text}"]},
        {"cell_type": "code", "source": code, "outputs": [{"output_type": "stream", "text": ["4711\n"]}]},
        {
            "cell_type": "code",
            "source": [],
            "outputs": [
                {
                    "output_type": "execute_result",
                    "data": {"text/html": [pages.html_table(rows)], "text/plain": " ".join(rows[0])},
                }
            ],
        },
    ]
    new = json.dumps({"nbformat": 4, "metadata": {}, "cells": cells})
    gold = f"Stores {text} python {code} 4711 {pages.flat(rows)}"
    yield Sample(name="ipynb-stores.ipynb", write=pages.saved(new), text=gold, headings=("Stores",))
    old = json.dumps(
        {
            "nbformat": 3,
            "worksheets": [
                {
                    "cells": [
                        {"cell_type": "heading", "level": 2, "source": "Old stores"},
                        {"cell_type": "code", "input": code, "outputs": [{"output_type": "pyout", "text": "4712"}]},
                    ]
                }
            ],
        }
    )
    yield Sample(
        name="ipynb-old.ipynb", write=pages.saved(old), text=f"Old stores python {code} 4712", headings=("Old stores",)
    )


def packed(sample: Sample) -> Sample:
    def write(path: Path) -> None:
        inside = path.with_name(sample.name)
        sample.write(inside)
        path.write_bytes(gzip.compress(inside.read_bytes()))
        inside.unlink()

    _, _, rest = sample.name.partition("-")
    return Sample(
        name=f"gz-{rest}.gz",
        write=write,
        text=sample.text,
        headings=sample.headings,
        pages=sample.pages,
        dropped=sample.dropped,
    )


def samples() -> Iterator[Sample]:
    for make in (words, slides, sheets, open_documents, rich_texts, notebooks):
        yield from make()
    yield packed(prints.plain())
    yield packed(pages.manual())
    yield packed(next(words()))
    yield packed(next(rich_texts()))
