"""Files and pictures of a second outsider, written before the readers were looked at.

    python benchmarks/faults/outsider_files.py [NAME...]

Each file has words that must be in the text, or be named in a note by their part's name; or it is broken, huge or never
ends, and must be read or refused in our words within 30 seconds and without 600 MB more. Prints those that broke.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import struct
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from outsider import MOST_SECONDS, OBEYED, RAW
from outsider_makes import (
    FONT,
    fill_pipe,
    make_pdf,
    make_png,
    make_stream,
    pack,
    paragraph,
    write_bomb_pdf,
    write_docx,
    write_epub,
    write_folder,
    write_frames,
    write_mail,
    write_notebook,
    write_page,
    write_pdf,
    write_pptx,
    write_svg,
    write_words,
    write_xlsx,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_MEGABYTES = 600
Case = tuple[str, "Callable[[Path], object]", tuple[str, ...]]


_ANNOTATION = "<</Type/Annot/Subtype/FreeText/Rect[10 10 200 40]/Contents(leafannotation)/DA(/F 9 Tf)>>"
_FIELD = "<</FT/Tx/T(name)/V(leaffield)/Type/Annot/Subtype/Widget/Rect[10 60 200 90]/F 4>>"
_NAMES = "/Names<</EmbeddedFiles<</Names[(leafattached.csv) 6 0 R]>>>>"
_SPEC = "<</Type/Filespec/F(leafattached.csv)/EF<</F 7 0 R>>>>"
_BOX = "<w:r><w:pict><w:textbox><w:txbxContent>" + paragraph("leafbox") + "</w:txbxContent></w:textbox></w:pict></w:r>"
_GONE = (
    "<w:p><w:del><w:r><w:delText>leafdeleted</w:delText></w:r></w:del>"
    "<w:ins><w:r><w:t>leafinserted</w:t></w:r></w:ins></w:p>"
)
_MARKS = "<w:p><w:r><w:t>x</w:t><w:footnoteReference w:id='2'/><w:commentReference w:id='0'/></w:r></w:p>"
_NOTE = f"<w:footnote w:id='2'>{paragraph('leaffootnote')}</w:footnote>"
_SAID = f"<w:comment w:id='0' w:author='leafauthor'>{paragraph('leafcomment')}</w:comment>"
_HTML = (
    "<html><body><main><p>leafone stands here with many words.</p>"
    "<details><summary>leaftwo</summary>leafthree</details>"
    "<textarea>leaffour</textarea><iframe srcdoc='&lt;p&gt;leaffive&lt;/p&gt;'></iframe><ruby>漢<rt>leafsix</rt></ruby>"
    "<dl><dt>leafseven</dt><dd>leafeight</dd></dl></main><aside>leafnine is said aside</aside></body></html>"
)

CASES: dict[str, Case] = {
    "docx: box, footnote, comment": (
        "a.docx",
        lambda p: write_docx(p, f"<w:p>{_BOX}</w:p>{_MARKS}", footnotes=_NOTE, comments=_SAID),
        ("textbox", "leaffootnote", "leafcomment"),
    ),
    "docx: tracked changes": (
        "a.docx",
        lambda p: write_docx(p, _GONE + paragraph("leafend")),
        ("leafinserted", "leafend"),
    ),
    "docx: an entity from a file": (
        "a.docx",
        lambda p: p.write_bytes(
            pack({"word/document.xml": "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>"})
        ),
        (),
    ),
    "pptx: groups, table, chart, hidden": (
        "a.pptx",
        write_pptx,
        ("leafgroup", "leaftable", "leafcategory", "leafseries", "leafnote"),
    ),
    "xlsx: hidden, comment, box": (
        "a.xlsx",
        write_xlsx,
        ("leafcell", "leafhidden", "leafvalue", "leafcomment", "leafbox"),
    ),
    "epub: not in the spine, not there": ("a.epub", write_epub, ("leafpage0", "leafpage1", "leafgone", "p2.xhtml")),
    "notebook: outputs of all kinds": (
        "a.ipynb",
        write_notebook,
        ("leafresult", "leaferror", "leafhtml", "#cell 1", "leafcode", "leafunknown"),
    ),
    "html: what a page folds away": (
        "a.html",
        lambda p: p.write_text(_HTML),
        ("leafone", "leaftwo", "leafthree", "leafeight"),
    ),
    "mail: a mail in a zip in a mail": (
        "a.eml",
        lambda p: p.write_bytes(
            write_mail(
                (pack({"leafinner.eml": write_mail()}), "application/zip", "leaf.zip"),
                (b"BEGIN:VCALENDAR\r\nSUMMARY:leafdate", "text/calendar", "leaf.ics"),
            )
        ),
        ("leafbody", "leafsubject", "leaf.zip", "leaf.ics"),
    ),
    "mail: charset nobody knows": (
        "a.eml",
        lambda p: p.write_bytes(b"Subject: leafsubject\nContent-Type: text/plain; charset=klingon\n\nleafbody \xe9\n"),
        ("leafsubject", "leafbody"),
    ),
    "mail: text after the last boundary": (
        "a.eml",
        lambda p: p.write_bytes(
            b"Subject: s\nContent-Type: multipart/mixed; boundary=b\n\nleafbefore\n--b\n\nleafpart\n--b--\nleafafter\n"
        ),
        ("leafpart",),
    ),
    "pdf: annotation, field, attachment": (
        "a.pdf",
        lambda p: write_pdf(
            p,
            f"{_NAMES}/AcroForm<</Fields[9 0 R]>>",
            "/Annots[8 0 R 9 0 R]",
            _SPEC,
            make_stream(b"a,b"),
            _ANNOTATION,
            _FIELD,
        ),
        ("leafbody", "leafannotation", "leaffield", "leafattached.csv"),
    ),
    "pdf: packed three times": ("a.pdf", write_bomb_pdf, ()),
    "pdf: 10 million pages said": (
        "a.pdf",
        lambda p: p.write_bytes(
            make_pdf(
                "<</Type/Catalog/Pages 2 0 R>>",
                "<</Type/Pages/Kids[3 0 R]/Count 10000000>>",
                write_page(),
                make_stream(b"BT /F 9 Tf (leafbody) Tj ET"),
                FONT,
            )
        ),
        (),
    ),
    "pdf: a page inside itself": (
        "a.pdf",
        lambda p: p.write_bytes(make_pdf("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2>>")),
        (),
    ),
    "pdf: brackets of 200,000 levels": (
        "a.pdf",
        lambda p: write_pdf(p, "", "", text=b"[" * 200_000 + b"(leafbody)" + b"]" * 200_000 + b" TJ"),
        (),
    ),
    "gz: of zeros": ("a.txt.gz", lambda p: p.write_bytes(gzip.compress(bytes(900 << 20), 9)), ()),
    "gz: within gz within gz": (
        "a.txt.gz",
        lambda p: p.write_bytes(gzip.compress(gzip.compress(gzip.compress(b"leafdeep words here")))),
        (),
    ),
    "gz: cut in its middle": (
        "a.txt.gz",
        lambda p: p.write_bytes(gzip.compress(os.urandom(9000).hex().encode())[:5000]),
        (),
    ),
    "gz: two members": (
        "a.txt.gz",
        lambda p: p.write_bytes(gzip.compress(b"leafone ") + gzip.compress(b"leaftwo ")),
        ("leafone", "leaftwo"),
    ),
    "folder: pipe, loop, gone, broken, zip": (
        "folder",
        write_folder,
        ("leafgood", "leaffifo", "leafgone", "leafbad", "leafzip"),
    ),
    "a pipe that somebody fills": ("a.txt", fill_pipe, ("leafpiped",)),
    "a device that never ends": ("a.txt", lambda p: p.symlink_to("/dev/zero"), ()),
    "UTF-16 without a mark": ("a.txt", lambda p: p.write_bytes("leafsixteen words\n".encode("utf-16-le") * 9), ()),
    "one line of 60 MB": ("a.txt", lambda p: p.write_bytes(b"word " * (12 << 20)), ()),
    "csv: one field of 60 MB": ("a.csv", lambda p: p.write_bytes(b'a,b\n1,"' + b"x" * (60 << 20)), ()),
    "rtf: a piece of 10^9 bytes said": (
        "a.rtf",
        lambda p: p.write_bytes(b"{\\rtf1 leafone {\\bin999999999 x} leaftwo}"),
        (),
    ),
    "srt: times that run back": (
        "a.srt",
        lambda p: p.write_text("1\n99:99:99,999 --> 00:00:00,000\nleafone\n\n2\n00:00:01,000 --> \nleaftwo\n"),
        ("leafone", "leaftwo"),
    ),
    "json: 300,000 levels": ("a.json", lambda p: p.write_bytes(b'{"a":' * 300_000 + b"1" + b"}" * 300_000), ()),
    "xml: 300,000 levels": ("a.xml", lambda p: p.write_bytes(b"<a>" * 300_000 + b"leaf" + b"</a>" * 300_000), ()),
    "zip that is larger than it says": (
        "a.docx",
        lambda p: p.write_bytes(
            pack({"word/document.xml": b"x" * (200 << 20)}).replace(struct.pack("<I", 200 << 20), struct.pack("<I", 10))
        ),
        (),
    ),
    "png: 60,000 by 60,000 said": (
        "a.png",
        lambda p: p.write_bytes(make_png(60_000, 60_000, zlib.compress(b"\x00"))),
        (),
    ),
    "png: 10,900 by 10,900 in truth": ("a.png", lambda p: p.write_bytes(make_png(10_900, 10_900)), ()),
    "png: a comment of 500 MB": (
        "a.png",
        lambda p: p.write_bytes(make_png(40, 40, None, (b"zTXt", b"a\x00\x00" + zlib.compress(bytes(500 << 20), 9)))),
        (),
    ),
    "png: one pixel wide": ("a.png", lambda p: p.write_bytes(make_png(1, 65_000)), ()),
    "png: cut in its middle": ("a.png", lambda p: p.write_bytes(make_png(900, 900)[:400]), ()),
    "gif of 3,000 pictures": ("leafmany.gif", lambda p: write_frames(p, 3000, (60, 60)), ()),
    "tiff of three pages": (
        "a.tiff",
        lambda p: write_words(p, "FIRST PAGE", "SECOND PAGE", "THIRD PAGE"),
        ("FIRST", "SECOND", "THIRD"),
    ),
    "webp that moves": ("leafmoves.webp", lambda p: write_frames(p, 60, (60, 60)), ()),
    "svg of entities": ("a.svg", write_svg, ()),
    "jpeg that is a zip": ("a.jpg", lambda p: p.write_bytes(b"\xff\xd8\xff\xe0" + pack({"a": "x" * 10_000})), ()),
    "bmp below zero": (
        "a.bmp",
        lambda p: p.write_bytes(
            b"BM" + struct.pack("<IIIIiiHHIIiiII", 99, 0, 54, 40, -9, -(2**31), 1, 24, 0, 0, 1, 1, 0, 0)
        ),
        (),
    ),
}


def attack(name: str, folder: Path) -> str:
    """Return what broke, or nothing."""
    from bookwheel.documents.opening import open_document
    from bookwheel.errors import BookwheelError

    file_name, make, leaves = CASES[name]
    path = folder / file_name
    make(path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    began, text = time.perf_counter(), ""
    try:
        document = open_document([path])
        text = "".join(part.text for part in document.parts())
        told = " ".join([document.name, *document.notes, *(part.source for part in document.parts())])
    except BookwheelError as error:
        told = str(error)
        if leaves:
            return f"is not read: {told}"
    except Exception as error:  # noqa: BLE001 - what is looked for
        return f"!{type(error).__name__}: {error}"
    seconds = time.perf_counter() - began
    grown = (resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - before) / 1000
    if found := RAW.search(told) or OBEYED.search(told):
        return f"says {found[0]!r}: {told[:150]}"
    if "root:x:0" in text or (lost := [leaf for leaf in leaves if leaf not in text + told]):
        return f"lost {lost}; it tells {told[:300]!r}"
    if seconds > MOST_SECONDS:
        return f"took {seconds:.0f} s"
    return f"took {grown:.0f} MB" if grown > MOST_MEGABYTES else ""


def main() -> int:
    """Run all cases, or those named, and print what broke."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    names = parser.parse_args().names or list(CASES)
    broken = 0
    for name in names:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            what = attack(name, Path(folder))
        broken += bool(what)
        print(f"{'! ' if what else '  '}{name:38} {time.perf_counter() - began:5.1f} s  {what[:400]}", flush=True)
    print(f"{len(names)} files, {broken} broke something")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
