"""Put into a Word document's main text what its converter passes over: answers to comments, descriptions, late rows."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any, Final

from bookwheel.documents.damage import LateModule
from bookwheel.documents.readers.html import parse_xml
from bookwheel.documents.sources import SourceWarnings

etree: Final[Any] = LateModule("lxml.etree")

_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_R: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_COMMENTS: Final = "word/comments.xml"
_NOTES: Final = ("word/footnotes.xml", "word/endnotes.xml")
# What parts words: it has no text of its own.
_GAPS: Final = tuple(f"{_W}{kind}" for kind in ("p", "br", "cr", "tab"))
_MOST_COLUMNS: Final = 100


def add_leaves(body: Any, archive: zipfile.ZipFile, name: str, warnings: SourceWarnings) -> None:
    """Change the body in place; count in a note what tracked changes delete."""
    deleted = sum(len((text.text or "").split()) for text in body.iter(f"{_W}delText"))
    if deleted:
        warnings.add("words that tracked changes delete left out", name, deleted)
    for row in body.iter(f"{_W}tr"):
        _shift_row(row)
    for drawing in list(body.iter(f"{_W}drawing")):
        described = next(drawing.iter("{*}docPr"), None)
        words = described.get("descr", "") if described is not None else ""
        # One that has its picture comes with its description; a box has words of its own.
        if words and not any(one.get(f"{_R}{kind}") for one in drawing.iter("{*}blip") for kind in ("embed", "link")):
            text = etree.Element(f"{_W}t")
            text.text = f" [{words}] "
            drawing.addprevious(text)
    if _COMMENTS in archive.NameToInfo:
        notes = [parse_xml(archive.read(path)) for path in _NOTES if path in archive.NameToInfo]
        body.extend(_list_loose_comments([body, *notes], parse_xml(archive.read(_COMMENTS))))


def _shift_row(row: Any) -> None:
    """Fill the columns before a row that begins behind the first one."""
    before = row.find(f"{_W}trPr/{_W}gridBefore")
    count = before.get(f"{_W}val", "") if before is not None else ""
    first = row.find(f"{_W}tc")
    if first is not None and count.isdecimal():
        for _ in range(min(int(count), _MOST_COLUMNS)):
            cell = etree.Element(f"{_W}tc")
            etree.SubElement(cell, f"{_W}p")
            first.addprevious(cell)


def _list_loose_comments(texts: list[Any], comments: Any) -> Iterator[Any]:
    """Yield a paragraph for each comment that no text refers to: an answer to another one."""
    referred = {one.get(f"{_W}id") for text in texts for one in text.iter(f"{_W}commentReference")}
    for comment in comments.iter(f"{_W}comment"):
        pieces = (" " if one.tag in _GAPS else one.text or "" for one in comment.iter(f"{_W}t", *_GAPS))
        words = " ".join("".join(pieces).split())
        if words and comment.get(f"{_W}id") not in referred:
            paragraph = etree.Element(f"{_W}p")
            text = etree.SubElement(etree.SubElement(paragraph, f"{_W}r"), f"{_W}t")
            text.text = f"Comment of {comment.get(f'{_W}author') or 'somebody'}: {words}"
            yield paragraph
