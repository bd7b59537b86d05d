"""Fuzz documents: files of every format by a grammar, whole or bent, archives and PDF within their structure too."""

from __future__ import annotations

import gzip
import io
import json
import re
import warnings
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

from fuzz_cases import Broken, Case, bend, check_message

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path


class Documents:
    """Files of every format, by a grammar, whole or bent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self, draw: random.Random) -> Case:
        """Return one file, and the leaves that it must not lose: none where it is bent."""
        leaves = [f"leaf{draw.randrange(10**6)}x" for _ in range(draw.randrange(1, 6))]
        name = draw.choice(list(FORMATS))
        content = FORMATS[name](leaves, draw)
        bent = bend(content, draw) if draw.random() < 0.7 else content
        if bent is not content and name in _ARCHIVES and draw.random() < 0.5:
            bent = _zip_bends(content, draw)
        return {"format": name, "content": bent, "leaves": leaves if bent == content else []}

    def run(self, case: Case) -> None:
        """Open it."""
        from bookwheel.documents.opening import open_document
        from bookwheel.errors import BookwheelError

        name, leaves = case["format"], case["leaves"]
        path = self._folder / f"a.{name}"
        path.write_bytes(case["content"])
        try:
            document = open_document([path])
            text = "".join(part.text for part in document.parts())
            told = " ".join([document.name, *document.notes])
        except BookwheelError as error:
            check_message(str(error))
            if leaves:
                raise Broken(f"a whole .{name} is not read: {error}") from error
            return
        finally:
            path.unlink(missing_ok=True)
        check_message(told)
        if lost := [leaf for leaf in leaves if leaf not in text + told]:
            raise Broken(f"a .{name} lost {lost} of {leaves} without a word: {told!r}")

    def close(self) -> None:
        """Nothing stays open."""


def _lines(leaves: list[str], draw: random.Random) -> bytes:
    marks = ("# ", "- ", "", "1. ", "> ", "    ", "| ")
    return "\n".join(f"{draw.choice(marks)}{leaf} is said." for leaf in leaves).encode()


def _html(leaves: list[str], draw: random.Random) -> bytes:
    body = ""
    for leaf in leaves:
        tag = draw.choice(("p", "div", "h1", "li", "td", "pre", "blockquote", "figcaption", "article", "summary"))
        inner = f"<{tag}>{leaf} is told here in so many words.</{tag}>"
        wrap = {"li": "ul", "td": "table><tr", "summary": "details", "figcaption": "figure"}.get(tag)
        close = "tr></table" if tag == "td" else wrap
        body += f"<{wrap}>{inner}</{close}>" if wrap else inner
    return f"<!doctype html><html><head><title>T</title></head><body><main>{body}</main></body></html>".encode()


def _csv(leaves: list[str], draw: random.Random) -> bytes:
    sign = draw.choice(",;\t")
    rows = [f'{leaf}{sign}"a {sign} b"{sign}{draw.randrange(99)}' for leaf in leaves]
    return f"name{sign}text{sign}number\n".encode() + "\n".join(rows).encode()


def _notebook(leaves: list[str], draw: random.Random) -> bytes:
    cells: list[dict[str, Any]] = []
    for leaf in leaves:
        kind = draw.choice(("markdown", "code", "raw"))
        cell: dict[str, Any] = {"cell_type": kind, "source": [leaf], "metadata": {}}
        if kind == "code":
            output = {"output_type": "stream", "name": "stdout", "text": ["out"]}
            cell |= {"outputs": [output], "execution_count": 1}
        cells.append(cell)
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def _mail(leaves: list[str], draw: random.Random) -> bytes:
    from email.message import EmailMessage

    mail = EmailMessage()
    mail["Subject"], mail["From"] = leaves[0], "ada@example.org"
    mail.set_content(f"{leaves[0]} is the text.")
    for leaf in leaves[1:]:
        kind = draw.randrange(4)
        if kind == 0 and not mail.is_multipart():
            mail.add_alternative(f"<p>{leaf}</p>", subtype="html")
        elif kind == 0:
            mail.add_attachment(leaf)
        elif kind == 1:
            mail.add_attachment(f"a,b\n{leaf},2\n", subtype="csv", filename=f"{leaf}.csv")
        elif kind == 2:
            mail.add_attachment(b"\x00\x01", maintype="application", subtype="x-odd", filename=f"{leaf}.bin")
        else:
            inner = EmailMessage()
            inner["Subject"] = leaf
            inner.set_content("within")
            mail.add_attachment(inner)
    return mail.as_bytes()


def _zip(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def _docx(leaves: list[str], draw: random.Random) -> bytes:
    from docx import Document

    document, out = Document(), io.BytesIO()
    for leaf in leaves:
        kind = draw.randrange(4)
        if kind == 0:
            document.add_heading(leaf, 1)
        elif kind == 1:
            document.add_table(1, 2).cell(0, 1).text = leaf
        elif kind == 2:
            document.sections[0].header.paragraphs[0].add_run(f" {leaf}")
        else:
            document.add_paragraph(leaf)
    document.save(out)
    return out.getvalue()


def _xlsx(leaves: list[str], draw: random.Random) -> bytes:
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        for number, leaf in enumerate(leaves):
            book.add_worksheet(f"s{number}").write(draw.randrange(30), draw.randrange(30), leaf)
    return out.getvalue()


def _pptx(leaves: list[str], draw: random.Random) -> bytes:
    from pptx import Presentation

    show, out = Presentation(), io.BytesIO()
    for leaf in leaves:
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = leaf if draw.random() < 0.5 else "Title"
        slide.notes_slide.notes_text_frame.text = leaf
    show.save(out)
    return out.getvalue()


def _epub(leaves: list[str], _draw: random.Random) -> bytes:
    pages = {
        f"p{number}.xhtml": f"<html><body><p>{leaf} is here.</p></body></html>" for number, leaf in enumerate(leaves)
    }
    items = "".join(f"<item id='{page}' href='{page}' media-type='application/xhtml+xml'/>" for page in pages)
    spine = "".join(f"<itemref idref='{page}'/>" for page in pages)
    package = (
        f"<package xmlns='http://www.idpf.org/2007/opf'><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles>"
        "<rootfile full-path='c.opf'/></rootfiles></container>"
    )
    files = {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "c.opf": package, **pages}
    return _zip(files)


def _rtf(leaves: list[str], draw: random.Random) -> bytes:
    words = ("\\b ", "\\par ", "\\i0 ", "", "\\'e9")
    return ("{\\rtf1\\ansi " + "".join(f"{draw.choice(words)}{leaf}\\par\n" for leaf in leaves) + "}").encode()


def _pdf(leaves: list[str], draw: random.Random) -> bytes:
    """Return pages whose streams are packed, split or neither, with notes, fields and files beside the text."""
    objects: dict[int, bytes] = {}
    pages, beside = [], [leaf for leaf in leaves[1:] if draw.random() < 0.3]
    shown = [leaf for leaf in leaves if leaf not in beside]
    for at, leaf in enumerate(shown):
        page = 10 + 10 * at
        pages.append(page)
        size, turn = draw.choice((8, 12, 30)), draw.choice(("", "/Rotate 0", "/Rotate 360"))
        words = f"{leaf} is on the page."
        text = f"<{words.encode().hex()}>" if draw.random() < 0.3 else f"({words})"
        show = f"BT /F {size} Tf 1 0 0 1 40 700 Tm {text} {draw.choice(('Tj', chr(39)))} ET".encode()
        cuts = [show] if draw.random() < 0.7 else [show[: show.find(b" Tm") + 3], show[show.find(b" Tm") + 3 :]]
        for number, piece in enumerate(cuts):
            objects[page + 2 + number] = _stream(piece, draw)
        places = " ".join(f"{page + 2 + number} 0 R" for number in range(len(cuts)))
        notes = ""
        if beside:
            objects[page + 1] = (
                b"<</Type/Annot/Subtype/FreeText/Rect[9 9 300 40]/Contents(%s)>>" % beside.pop().encode()
            )
            notes = f"/Annots[{page + 1} 0 R]"
        objects[page] = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 900 792]{turn}/Contents[{places}]{notes}"
            f"/Resources<</Font<</F 3 0 R>>>>>>"
        ).encode()
    files = ""
    for at, leaf in enumerate(sorted(beside)):
        spec = 10 + 10 * len(shown) + 2 * at
        files += f"({leaf}.bin) {spec} 0 R"
        objects[spec] = f"<</Type/Filespec/F({leaf}.bin)/EF<</F {spec + 1} 0 R>>>>".encode()
        objects[spec + 1] = _stream(b"x", draw)
    attached = f"/Names<</EmbeddedFiles<</Names[{files}]>>>>" if beside else ""
    objects[1] = f"<</Type/Catalog/Pages 2 0 R{attached}>>".encode()
    kids = " ".join(f"{page} 0 R" for page in pages)
    objects[2] = f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode()
    objects[3] = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    return _write_pdf(objects)


def _stream(content: bytes, draw: random.Random) -> bytes:
    names = ""
    for _ in range(draw.choice((0, 1, 1, 2))):
        if draw.random() < 0.7:
            content, names = zlib.compress(content), f"/FlateDecode{names}"
        else:
            content, names = content.hex().encode() + b">", f"/ASCIIHexDecode{names}"
    filters = f"/Filter[{names}]" if names else ""
    return f"<</Length {len(content)}{filters}>>stream\n".encode() + content + b"\nendstream"


def _write_pdf(objects: dict[int, bytes]) -> bytes:
    out, places = b"%PDF-1.7\n", {}
    for number, body in objects.items():
        places[number] = len(out)
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = b"".join(b"%d 1\n%010d 00000 n \n" % (number, place) for number, place in sorted(places.items()))
    head = b"xref\n0 1\n0000000000 65535 f \n"
    return out + head + table + b"trailer<</Root 1 0 R/Size 999>>\nstartxref\n%d\n%%%%EOF" % len(out)


def _gz(leaves: list[str], draw: random.Random) -> bytes:
    """Return a text, or another file, packed once or in members."""
    cut = draw.randrange(len(leaves) + 1)
    parts = (
        [_lines(leaves[:cut], draw) + b"\n", _lines(leaves[cut:], draw)]
        if draw.random() < 0.5
        else [_lines(leaves, draw)]
    )
    return b"".join(gzip.compress(part, draw.randrange(10)) for part in parts)


def _chats(leaves: list[str], draw: random.Random) -> bytes:
    """Return the archive of a chat, with files beside it that nothing reads, in folders, stored or packed."""
    out = io.BytesIO()
    days = "".join(f"[{at + 1:02}/02/2026, 10:00:0{at}] Ada: {leaf} is said\n" for at, leaf in enumerate(leaves))
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("_chat.txt", days, draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)))
        for number in range(draw.randrange(3)):
            name = draw.choice(
                (f"IMG-{number}.jpg", f"../{number}.txt", f"a/b/{number}.opus", "_chat.txt/", "\u0130.bin")
            )
            archive.writestr(name, draw.randbytes(draw.choice((0, 9, 4000))))
    return out.getvalue()


def _files(leaves: list[str], draw: random.Random) -> bytes:
    """Return an archive of a file for each leaf, in any format, archives too, under odd names and some twice."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for leaf in leaves:
            kind = draw.choice(list(FORMATS))
            path = draw.choice(("a", "../b", "/c", "C:\\d", "e/\u0130#", "a")) + f".{kind}"
            archive.writestr(path, FORMATS[kind]([leaf], draw))
        if draw.random() < 0.3:
            archive.writestr("__MACOSX/._a", draw.randbytes(9))
    return out.getvalue()


def _zip_bends(content: bytes, draw: random.Random) -> bytes:
    """Return an archive whose directory lies: sizes, offsets, methods, counts, flags."""
    for _ in range(draw.randrange(1, 4)):
        mark = draw.choice((b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"))
        places = [found.start() for found in re.finditer(re.escape(mark), content)]
        if places:
            at = draw.choice(places) + draw.choice((4, 6, 8, 10, 14, 16, 18, 20, 22, 24, 26, 28, 42))
            lie = draw.choice((b"\0\0", b"\xff\xff", b"\x01\0", b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\x63\0"))
            content = content[:at] + lie + content[at + len(lie) :]
    return content


FORMATS: dict[str, Callable[[list[str], random.Random], bytes]] = {
    **dict.fromkeys(("txt", "md", "rst", "py", "log"), _lines),
    **dict.fromkeys(("html", "xhtml"), _html),
    **dict.fromkeys(("csv", "tsv"), _csv),
    "json": lambda leaves, draw: json.dumps([{"a": leaf, "n": draw.random()} for leaf in leaves]).encode(),
    "jsonl": lambda leaves, draw: "\n".join(json.dumps({"a": leaf, "n": draw.random()}) for leaf in leaves).encode(),
    "xml": lambda leaves, draw: (
        f"<a>{''.join(f'<b n={chr(39)}{draw.randrange(9)}{chr(39)}>{x}</b>' for x in leaves)}</a>".encode()
    ),
    "ipynb": _notebook,
    "eml": _mail,
    "docx": _docx,
    "xlsx": _xlsx,
    "pptx": _pptx,
    "epub": _epub,
    "rtf": _rtf,
    "pdf": _pdf,
    "txt.gz": _gz,
    "zip": _chats,
    "files.zip": _files,
}
_ARCHIVES = frozenset({"docx", "xlsx", "pptx", "epub", "zip", "files.zip"})
