import sys
import zipfile

import pytest
from conversion import convert

from bookwheel.documents.opening import open_document
from bookwheel.errors import MissingExtra, SourceError

CONTAINER = """<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">
<rootfiles><rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
CHAPTERS = {
    "one.xhtml": "<h1>The Mill</h1><p>The miller counted <i>nine</i> sacks.</p>",
    "two words.xhtml": "<p>The river rose &amp; took the bridge.</p>",
    "three.xhtml": "<h2>Last Light</h2><aside>Note: measured in spring.</aside><table><tr><td>oil</td><td>11 barrels</td></tr></table>",
    "blank.xhtml": "<p> </p>",
}
NAV = """<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol>
<li><a href="one.xhtml">I. The <b>Mill</b></a></li><li><a href="two%20words.xhtml#top">II. The Flood</a></li>
</ol></nav></body></html>"""
NCX = """<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>
<navPoint><navLabel><text>I. The Mill</text></navLabel><content src="one.xhtml"/>
<navPoint><navLabel><text>II. The Flood</text></navLabel><content src="two%20words.xhtml#top"/></navPoint></navPoint>
</navMap></ncx>"""


def package(toc):
    names = ["one.xhtml", "blank.xhtml", "two%20words.xhtml", "three.xhtml", "gone.xhtml"]
    items = "".join(f'<item id="c{i}" href="{n}" media-type="application/xhtml+xml"/>' for i, n in enumerate(names))
    refs = "".join(f'<itemref idref="c{i}"/>' for i in range(len(names)))
    return f"""<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">
    <manifest>{items}{toc}</manifest><spine>{refs}</spine></package>"""


def epub(path, extra=None, toc='<item id="n" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr("META-INF/container.xml", CONTAINER)
        book.writestr("OPS/book.opf", package(toc))
        book.writestr("OPS/nav.xhtml", NAV)
        book.writestr("OPS/toc.ncx", NCX)
        for name, body in CHAPTERS.items():
            page = (
                f'<?xml version="1.0" encoding="utf-8"?><html><head><title>x</title></head><body>{body}</body></html>'
            )
            book.writestr(f"OPS/{name}", page)
        for name, content in (extra or {}).items():
            book.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "toc",
    [
        '<item id="n" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>',
        '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>',
    ],
)
def test_chapters_come_in_the_order_of_the_spine_under_their_names(tmp_path, toc):
    document = open_document([epub(tmp_path / "book.epub", toc=toc)])
    parts = list(document.parts())
    assert [p.source for p in parts] == [
        "book.epub#I. The Mill",
        "book.epub#II. The Flood",
        "book.epub#Last Light",
    ]
    assert parts[0].text == "# The Mill\n\nThe miller counted nine sacks.\n\n"
    assert parts[1].text == "The river rose & took the bridge.\n\n"
    assert "| oil | 11 barrels |" in parts[2].text
    assert "Note: measured in spring." in parts[2].text
    assert "chapters that book.epub lists but does not contain: OPS/gone.xhtml" in document.notes


def test_a_book_without_a_table_of_contents_names_chapters_by_heading_or_number(tmp_path):
    document = open_document([epub(tmp_path / "book.epub", toc="")])
    assert [p.source for p in document.parts()] == [
        "book.epub#The Mill",
        "book.epub#Chapter 3",
        "book.epub#Last Light",
    ]


def test_a_book_locked_by_its_seller_is_refused(tmp_path):
    lock = '<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></EncryptedData></encryption>'
    with pytest.raises(SourceError, match="DRM"):
        open_document([epub(tmp_path / "a.epub", {"META-INF/encryption.xml": lock})])


def test_of_a_book_with_a_locked_chapter_the_others_are_read(tmp_path):
    lock = (
        '<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/>'
        '<CipherData><CipherReference URI="OPS/one.xhtml"/></CipherData></EncryptedData></encryption>'
    )
    document = open_document([epub(tmp_path / "a.epub", {"META-INF/encryption.xml": lock})])
    assert [part.source for part in document.parts()][-1] == "a.epub#Last Light"
    assert "The Mill" not in "".join(part.source for part in document.parts())
    assert "chapters left out, encrypted by the seller (DRM): a.epub#OPS/one.xhtml" in document.notes


def test_locked_fonts_do_not_matter(tmp_path):
    lock = '<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/></EncryptedData></encryption>'
    assert list(open_document([epub(tmp_path / "a.epub", {"META-INF/encryption.xml": lock})]).parts())


@pytest.mark.parametrize("broken", ["", "<container/>", "no markup", "<a><rootfile/></a>"])
def test_a_damaged_book_is_told_so(tmp_path, broken):
    path = tmp_path / "a.epub"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("META-INF/container.xml", broken)
    with pytest.raises(SourceError, match=r"a\.epub"):
        open_document([path])


def test_entities_in_a_book_reach_no_other_file(tmp_path):
    (tmp_path / "secret").write_text("the secret")
    container = f"""<!DOCTYPE c [<!ENTITY leak SYSTEM "file://{tmp_path}/secret">]>
    <container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles>&leak;</container>"""
    nav = f"""<!DOCTYPE h [<!ENTITY leak SYSTEM "file://{tmp_path}/secret">]>
    <html><body><nav><a href="one.xhtml">T &leak;</a></nav></body></html>"""
    path = epub(tmp_path / "a.epub")
    with zipfile.ZipFile(path) as book:
        files = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w") as book:
        for name, data in {**files, "META-INF/container.xml": container, "OPS/nav.xhtml": nav}.items():
            book.writestr(name, data)
    assert "secret" not in "".join(p.text + p.source for p in open_document([path]).parts())


def test_without_the_optional_part_the_error_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "lxml.etree", None)
    with pytest.raises(MissingExtra, match=r"reading EPUB .*\[documents\]"):
        convert(epub(tmp_path / "a.epub"))
