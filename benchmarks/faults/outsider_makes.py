"""Files that an outsider writes: whole ones with something in every corner, and broken, huge and lying ones."""

from __future__ import annotations

import io
import json
import os
import struct
import threading
import zipfile
import zlib
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def pack(files: dict[str, bytes | str]) -> bytes:
    """Return a ZIP archive of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def write_docx(path: Path, body: str, **parts: str) -> None:
    """Write a DOCX by hand, with parts beside its body."""
    names = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'"
    more = "xmlns:wps='http://schemas.microsoft.com/office/word/2010/wordprocessingShape'"
    place = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    beside = "".join(f"<Relationship Id='r{name}' Type='{place}/{name}' Target='{name}.xml'/>" for name in parts)
    types = "".join(f"<Override PartName='/word/{name}.xml' ContentType='{kind}.{name}+xml'/>" for name in parts)
    main = f"<Override PartName='/word/document.xml' ContentType='{kind}.document.main+xml'/>"
    rels = "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>"
    files: dict[str, bytes | str] = {
        "[Content_Types].xml": "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'>"
        "<Default Extension='rels' ContentType='application/vnd.openxmlformats-package.relationships+xml'/>"
        f"{main}{types}</Types>",
        "_rels/.rels": f"{rels}<Relationship Id='r1' Type='{place}/officeDocument' Target='word/document.xml'/>"
        "</Relationships>",
        "word/_rels/document.xml.rels": f"{rels}{beside}</Relationships>",
        "word/document.xml": f"<w:document {names} {more}><w:body>{body}</w:body></w:document>",
    }
    for name, text in parts.items():
        files[f"word/{name}.xml"] = f"<w:{name} {names}>{text}</w:{name}>"
    path.write_bytes(pack(files))


def paragraph(text: str) -> str:
    """Return a paragraph of WordprocessingML."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def write_mail(*parts: tuple[bytes, str, str], body: str = "body leafbody") -> bytes:
    mail = EmailMessage()
    mail["Subject"], mail["From"] = "leafsubject", "ada@example.org"
    mail.set_content(body)
    for content, kind, name in parts:
        main, _, sub = kind.partition("/")
        mail.add_attachment(content, maintype=main, subtype=sub, filename=name)
    return mail.as_bytes()


def make_png(width: int, height: int, rows: bytes | None = None, *extra: tuple[bytes, bytes]) -> bytes:
    """Return a PNG of one grey, or with these packed rows, whatever its head says."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    packed = zlib.compress((b"\x00" + b"\x80" * width) * height, 1) if rows is None else rows
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + head
        + b"".join(chunk(*one) for one in extra)
        + chunk(b"IDAT", packed)
        + chunk(b"IEND", b"")
    )


def write_frames(path: Path, count: int, size: tuple[int, int], **options: Any) -> None:
    from PIL import Image

    frames = [Image.new("L", size, color=number % 256) for number in range(count)]
    frames[0].save(path, save_all=True, append_images=frames[1:], **options)


def write_words(path: Path, *pages: str) -> None:
    from PIL import Image, ImageDraw, ImageFont

    images = []
    for words in pages:
        image = Image.new("L", (900, 160), 255)
        ImageDraw.Draw(image).text((20, 40), words, fill=0, font=ImageFont.load_default(60))
        images.append(image)
    images[0].save(path, save_all=True, append_images=images[1:])


def write_pptx(path: Path) -> None:
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    where = (Inches(1), Inches(1), Inches(4), Inches(2))
    group = slide.shapes.add_group_shape()
    inner = group.shapes.add_group_shape()
    inner.shapes.add_textbox(*where).text_frame.text = "leafgroup"
    slide.shapes.add_table(1, 1, *where).table.cell(0, 0).text = "leaftable"
    data = CategoryChartData()
    data.categories = ["leafcategory"]
    data.add_series("leafseries", (1.5,))
    slide.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, *where, data)
    slide.notes_slide.notes_text_frame.text = "leafnote"
    slide._element.set("show", "0")
    show.save(path)


def write_xlsx(path: Path) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("leafsheet").write(0, 0, "leafcell")
        hidden = book.add_worksheet("secret")
        hidden.hide()
        hidden.write(9, 9, "leafhidden")
        noted = book.add_worksheet("noted")
        noted.write(0, 0, "x")
        noted.write_comment(0, 0, "leafcomment")
        noted.insert_textbox(5, 5, "leafbox")
        noted.write_formula(1, 0, "=1+1", value="leafvalue")


def write_epub(path: Path) -> None:
    pages = {f"p{n}.xhtml": f"<html><body><p>leafpage{n}</p></body></html>" for n in range(3)}
    items = "".join(f"<item id='{page}' href='{page}' media-type='application/xhtml+xml'/>" for page in pages)
    items += "<item id='gone' href='leafgone.xhtml' media-type='application/xhtml+xml'/>"
    spine = "<itemref idref='p0.xhtml'/><itemref idref='gone'/><itemref idref='p1.xhtml' linear='no'/>"
    opf = f"<package xmlns='http://www.idpf.org/2007/opf'><manifest>{items}</manifest><spine>{spine}</spine></package>"
    box = "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles><rootfile full-path='c.opf'/>"
    files = {"mimetype": "application/epub+zip", "META-INF/container.xml": f"{box}</rootfiles></container>"}
    path.write_bytes(pack({**files, "c.opf": opf, **pages}))


def make_pdf(*bodies: str | bytes, root: int = 1) -> bytes:
    """Return a PDF of these objects, numbered from one."""
    out, places = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(out))
        out += b"%d 0 obj" % number + (body.encode() if isinstance(body, str) else body) + b"endobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    return (
        out
        + head
        + table
        + b"trailer<</Root %d 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF" % (root, len(bodies) + 1, len(out))
    )


def make_stream(content: bytes, entries: str = "") -> bytes:
    """Return a stream object of a PDF."""
    return f"<</Length {len(content)}{entries}>>stream\n".encode() + content + b"\nendstream"


FONT = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def write_page(more: str = "") -> str:
    fonts = "/Resources<</Font<</F 5 0 R>>>>"
    return f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R{fonts}{more}>>"


def write_pdf(path: Path, catalog: str, page: str, *more: str | bytes, text: bytes = b"(leafbody) Tj") -> None:
    show = make_stream(b"BT /F 12 Tf 40 700 Td " + text + b" ET")
    pages = "<</Type/Pages/Kids[3 0 R]/Count 1>>"
    path.write_bytes(make_pdf(f"<</Type/Catalog/Pages 2 0 R{catalog}>>", pages, write_page(page), show, FONT, *more))


def write_bomb_pdf(path: Path) -> None:
    packed = zlib.compress(zlib.compress(zlib.compress(b" " * (900 << 20), 9), 9), 9)
    filters = "/Filter[/FlateDecode/FlateDecode/FlateDecode]"
    bodies = ("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>", write_page())
    path.write_bytes(make_pdf(*bodies, make_stream(packed, filters), FONT))


def write_folder(path: Path) -> None:
    path.mkdir()
    (path / "a.txt").write_text("leafgood words")
    os.mkfifo(path / "leaffifo.txt")
    (path / "loop").symlink_to(path)
    (path / "leafgone.txt").symlink_to("/nowhere/x")
    (path / "leafbad.docx").write_bytes(b"PK\x03\x04 broken")
    (path / "leafzip.zip").write_bytes(pack({"inner.txt": "x"}))


def fill_pipe(path: Path) -> None:
    os.mkfifo(path)
    threading.Thread(target=path.write_text, args=("leafpiped words",), daemon=True).start()


def write_notebook(path: Path) -> None:
    outputs = [
        {"output_type": "execute_result", "data": {"text/plain": ["leafresult"]}, "metadata": {}, "execution_count": 1},
        {"output_type": "error", "ename": "E", "evalue": "leaferror", "traceback": []},
        {"output_type": "display_data", "data": {"text/html": ["<b>leafhtml</b>"]}, "metadata": {}},
        {"output_type": "display_data", "data": {"application/leafodd": {"a": 1}}, "metadata": {}},
    ]
    cells = [
        {"cell_type": "code", "source": "leafcode", "outputs": outputs, "metadata": {}, "execution_count": 1},
        {"cell_type": "leafkind", "source": ["leafunknown"], "metadata": {}},
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


def write_svg(path: Path) -> None:
    entities = "".join(f"<!ENTITY x{n} '{(f'&x{n - 1};' if n else 'lol') * 12}'>" for n in range(10))
    path.write_text(f"<!DOCTYPE svg [{entities}]><svg xmlns='http://www.w3.org/2000/svg'><text>&x9;</text></svg>")
