"""Read texts that come packed or marked up: the chapters of an EPUB, OpenDocument (ODT, ODP, ODG), and RTF.

A book is read in the order of its spine and under the names of its table of contents. The elements of OpenDocument are
renamed to those of HTML, so that headings, lists, tables and notes come out like those of a page.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import unquote

from bookwheel.documents.damage import explain_damage, import_extra, name_unread, open_package, place_slide, skip_damage
from bookwheel.documents.decoding import decode_bytes
from bookwheel.documents.readers.html import (
    embed_pictures,
    find_charset,
    parse_xhtml,
    parse_xml,
    read_data_address,
    render_tree,
)
from bookwheel.documents.readers.pictures import DRAWINGS, Figures
from bookwheel.documents.readers.unseen import drop_unseen
from bookwheel.documents.sources import SourceFile, SourceWarnings, to_printable
from bookwheel.errors import SourceError
from bookwheel.types import Part

_ENCRYPTION: Final = "META-INF/encryption.xml"
# These encrypt fonts only; any other method encrypts the text.
_FONT_ENCRYPTION: Final = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
# Where a book has no text: looks, fonts, programs, what the packaging needs.
_KNOWN_IN_BOOKS: Final = re.compile(
    r"mimetype$|META-INF/|.*\.(?:css|[ot]tf|woff2?|js|opf|ncx|smil|pls|xpgt)$", re.IGNORECASE
)


def read_epub(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a part for every chapter with text. Its source is the book and the chapter: `book.epub#The Mill`."""
    import_extra("lxml.etree", "reading EPUB")
    with open_package(source, "EPUB", "Download or save it again.") as archive:
        locked = _list_locked(archive)
        container = parse_xml(archive.read("META-INF/container.xml"), recover=True)
        package = str(container.find(".//{*}rootfile").attrib["full-path"])
        root = parse_xml(archive.read(package), recover=True)
        items = root.findall(".//{*}manifest/{*}item")
        listings = [
            path
            for item in items
            if "nav" in item.get("properties", "").split() or item.get("media-type") == "application/x-dtbncx+xml"
            if (path := _resolve_link(item.get("href", ""), package)) in archive.NameToInfo
        ]
        titles = _read_titles(archive, listings)
        hrefs = {item.get("id"): item.get("href", "") for item in items}
        order = [entry.get("idref") or "" for entry in root.iterfind(".//{*}spine/{*}itemref")]
        # One that the manifest does not know is missing under its own name.
        chapters = dict.fromkeys(_resolve_link(hrefs.get(place) or place, package) for place in order)
        if locked and locked.issuperset(chapters):
            raise SourceError(
                f"{source.name} is encrypted by its seller (DRM) and cannot be read: use a copy without DRM"
            )
        figures = Figures(source, warnings)
        pictures: set[str] = set()
        for number, path in enumerate(chapters, 1):
            if path not in archive.NameToInfo:
                warnings.add(f"chapters that {source.name} lists but does not contain", path)
                continue
            if path in locked:
                warnings.add("chapters left out, encrypted by the seller (DRM)", f"{source.name}#{to_printable(path)}")
                continue
            with skip_damage(warnings, "chapters", f"{source.name}#{to_printable(path)}"):
                data = archive.read(path)
                page = decode_bytes(data, source.name, warnings, find_charset(data))
                chapter = parse_xhtml(page, source.name)
                if chapter is not None and not source.everything:
                    drop_unseen(chapter, source.name, warnings)
                if chapter is not None:
                    embed_pictures(chapter, figures, partial(_load_picture, archive, path, pictures))
                if chapter is not None and (text := render_tree(chapter, source.name, warnings)):
                    first = text.partition("\n")[0]
                    heading = to_printable(first.lstrip("#").strip()) if first.startswith("#") else ""
                    title = titles.get(path) or heading or f"Chapter {number}"
                    yield Part(text=f"{text}\n\n", source=f"{source.name}#{title}", pictures=figures.take())
        name_unread(archive, source.name, warnings, _KNOWN_IN_BOOKS, {*chapters, *listings, package, *pictures})


def _list_locked(archive: zipfile.ZipFile) -> set[str]:
    """Return the paths of a book's encrypted texts."""
    if _ENCRYPTION not in archive.NameToInfo:
        return set()
    locked: set[str] = set()
    for entry in parse_xml(archive.read(_ENCRYPTION), recover=True).iter("{*}EncryptedData"):
        if any(one.get("Algorithm") not in _FONT_ENCRYPTION for one in entry.iter("{*}EncryptionMethod")):
            named = {_resolve_link(one.get("URI", ""), "") for one in entry.iter("{*}CipherReference")}
            locked |= named or archive.NameToInfo.keys()
    return locked


def _load_picture(archive: zipfile.ZipFile, chapter: str, loaded: set[str], address: str) -> bytes | None:
    """Return a picture of the book, and note that it was looked at; None for another address, and for drawings."""
    path = _resolve_link(address, chapter)
    if path not in archive.NameToInfo or PurePath(path).suffix.lower() in DRAWINGS:
        return read_data_address(address)
    loaded.add(path)
    return archive.read(path)


def _resolve_link(href: str, base: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(href.partition("#")[0])))


def _read_titles(archive: zipfile.ZipFile, listings: list[str]) -> dict[str, str]:
    """Return the titles of chapter files from the navigation document or the older NCX."""
    titles: dict[str, str] = {}
    for path in listings:
        listing = parse_xml(archive.read(path), recover=True)
        links = [(a.get("href", ""), a) for a in listing.iter("{*}a")]
        for point in listing.iter("{*}navPoint"):
            content, label = point.find(".//{*}content"), point.find(".//{*}navLabel")
            if content is not None and label is not None:
                links.append((content.get("src", ""), label))
        for href, label in links:
            title = to_printable(" ".join("".join(label.itertext()).split()))
            if href and title:
                titles.setdefault(_resolve_link(href, path), title)
    return titles


OFFICE: Final = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW: Final = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_PRESENTATION: Final = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_DRAWINGS: Final = ("{http://www.w3.org/2000/svg}", "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}")
# What HTML calls the elements.
_NAMES: Final = {
    f"{TEXT}p": "p",
    f"{TEXT}list": "ul",
    f"{TEXT}list-header": "li",
    f"{TEXT}list-item": "li",
    f"{TEXT}line-break": "br",
    f"{TEXT}note-body": "div",
    f"{_TABLE}table": "table",
    f"{_TABLE}table-header-rows": "thead",
    f"{_TABLE}table-rows": "tbody",
    f"{_TABLE}table-row-group": "tbody",
    f"{_TABLE}table-row": "tr",
    f"{_TABLE}table-cell": "td",
    f"{_TABLE}covered-table-cell": "td",
    f"{_DRAW}text-box": "div",
    f"{_PRESENTATION}notes": "div",
    **dict.fromkeys((f"{space}{name}" for space in _DRAWINGS for name in ("title", "desc")), "p"),
}
# Text that the document does not show: what was deleted, and what its styles are called.
_UNSEEN: Final = (
    *(f"{TEXT}{name}" for name in ("tracked-changes", "sequence-decls", "variable-decls", "user-field-decls")),
    f"{TEXT}note-citation",
    f"{_PRESENTATION}date-time-decl",
    "{http://www.w3.org/1998/Math/MathML}annotation",
)
_FORM: Final = "{urn:oasis:names:tc:opendocument:xmlns:form:1.0}"
# What a control of a form shows: its label, then what was filled in.
_FILLED: Final = tuple(f"{_FORM}{name}" for name in ("label", "current-value", "value"))
_OBJECT: Final = re.compile(r"Object [^/]*/content\.xml")
_MARGINS: Final = tuple(
    f"{_STYLE}{name}" for name in ("header", "header-first", "header-left", "footer", "footer-left")
)
_REPEATED: Final = f"{_TABLE}number-columns-repeated"
_MOST_REPEATS: Final = 64
KNOWN_IN_OPENDOCUMENT: Final = re.compile(
    r"(?:mimetype|content\.xml|styles\.xml|settings\.xml|meta\.xml|manifest\.rdf|layout-cache)$|"
    r"META-INF/|Thumbnails/|Configurations2/|ObjectReplacements/|Object [^/]*/(?:styles|settings|meta)\.xml"
)
"""Where a package of OpenDocument has no text of its own."""


def read_opendocument(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a text as one part, a presentation as a part for every slide, whose number is its page."""
    import_extra("lxml.etree", "reading ODT and ODP")
    name = source.name
    with open_package(source, "OpenDocument file") as archive:
        content = parse_xml(archive.read("content.xml"))
        body = content.find(f"{OFFICE}body")
        if body is None:
            raise SourceError(f"{name} is a damaged OpenDocument file: it has no text part. Save it again.")
        objects = list(filter(_OBJECT.fullmatch, archive.namelist()))
        name_unread(archive, name, warnings, KNOWN_IN_OPENDOCUMENT, objects)
        styles = content.iterfind(f".//{_STYLE}drawing-page-properties[@{_PRESENTATION}visibility='hidden']..")
        hidden = {style.get(f"{_STYLE}name") for style in styles}
        pages = list(body.iterfind(f"*/{_DRAW}page"))
        for number, page in enumerate(pages, 1):
            if text := _render(page, name, warnings):
                is_hidden = page.get(f"{_DRAW}style-name") in hidden
                place = place_slide(name, number, warnings, is_hidden=is_hidden)
                yield Part(text=f"{text}\n\n", source=place, page=number)
            page.getparent().remove(page)
        margins, inner = list[str](), list[str]()
        with skip_damage(warnings, "headers and footers", name):
            margins = read_margins(archive, name, warnings)
        for path in objects:
            with skip_damage(warnings, "objects", f"{name}#{path}"):
                inner.append(_render(parse_xml(archive.read(path)), name, warnings))
        if text := "\n\n".join(filter(None, (*margins, _render(body, name, warnings), *inner))):
            yield Part(text=f"{text}\n", source=name)


def read_margins(archive: zipfile.ZipFile, name: str, warnings: SourceWarnings) -> list[str]:
    """Return the words of a package's headers, footers and master pages, each wording once."""
    if "styles.xml" not in archive.NameToInfo:
        return []
    styles = parse_xml(archive.read("styles.xml"))
    for field in list(styles.iter(*(f"{TEXT}{kind}" for kind in ("page-number", "page-count", "sheet-name")))):
        _remove(field)
    parts = (*styles.iter(*_MARGINS), *styles.iterfind(f".//{_STYLE}master-page/{_DRAW}frame"))
    return list(dict.fromkeys(_render(part, name, warnings) for part in parts))


def _render(root: Any, name: str, warnings: SourceWarnings) -> str:
    for hidden in list(root.iter(*_UNSEEN)):
        _remove(hidden)
    for control in list(root.iter(f"{_FORM}*")):
        if words := list(dict.fromkeys(filter(None, map(control.get, _FILLED)))):
            control.tag, control.text = "p", ": ".join(words)
    for element in list(root.iter()):
        _rename(element)
    return render_tree(root, name, warnings)


def _rename(element: Any) -> None:
    """Give an element the name that HTML has for it, and write out what stands for characters."""
    tag = element.tag
    if tag in _NAMES:
        element.tag = _NAMES[tag]
        repeats = element.attrib.pop(_REPEATED, "1") if element.tag == "td" else "1"
        # Blank cells fill a sheet to its edge and are left alone.
        for _ in range(min(int(repeats), _MOST_REPEATS) - 1 if len(element) and repeats.isdecimal() else 0):
            element.addnext(deepcopy(element))
    elif tag == f"{TEXT}h":
        level = element.get(f"{TEXT}outline-level") or "1"
        element.tag = f"h{max(1, min(int(level), 6)) if level.isdecimal() else 1}"
    elif tag in {f"{TEXT}s", f"{TEXT}tab"}:
        element.tag, element.text = "span", " "
    elif tag == f"{TEXT}note":
        _wrap(element, " [", "]")
    elif tag == f"{OFFICE}annotation":
        _wrap(element, " [Comment: ", "] ")


def _wrap(element: Any, before: str, after: str) -> None:
    """Turn a note inside a paragraph into a run of that paragraph's text."""
    text = " ".join(" ".join(p.itertext()) for p in element.iter(f"{TEXT}p"))
    element.tail = f"{before}{' '.join(text.split())}{after}{element.tail or ''}"
    del element[:]
    element.tag, element.text = "span", ""


def _remove(element: Any) -> None:
    """Take an element out, but not the text behind it."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return
    if element.tail and before is not None:
        before.tail = (before.tail or "") + element.tail
    elif element.tail:
        parent.text = (parent.text or "") + element.tail
    parent.remove(element)


_MOST_RTF: Final = 64 << 20
# The converter drops these groups with their words. Without their names they are text of the place where they stand.
_NAMED_GROUPS: Final = re.compile(r"\{(?:\\\*)?\\(?:footnote|header[lrf]?|footer[lrf]?|annotation|shptxt)\b ?")
_NUMBERS: Final = re.compile(r"\{\\(?:listtext|pntext)\b ?")
_BOX: Final = re.compile(r"\{\\shptxt\b")
_BRACE: Final = re.compile(r"\\.|[{}]", re.DOTALL)
_ROW: Final = re.compile(r"^([^|\n]+\|.*)\|\s*$", re.MULTILINE)
_BLANK_LINES: Final = re.compile(r"\n\s*\n+")


def read_rtf(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    converter = import_extra("striprtf.striprtf", "reading RTF")
    # RTF is ASCII; what is beyond it is escaped, or in the code page that the converter finds.
    markup = source.read(_MOST_RTF, "save it as text first").decode("cp1252", "replace")
    for kind, mark in (("pictures", "\\pict"), ("embedded files", "\\objdata")):
        if mark in markup:
            warnings.add(f"{kind} that are not read", source.name)
    with explain_damage(source.name, "RTF file", "Save it again, or save it as text."):
        markup = _NUMBERS.sub("{", _move_boxes(markup))
        text = str(converter.rtf_to_text(_NAMED_GROUPS.sub(r"{\\par ", markup), errors="replace"))
    text = _ROW.sub(lambda row: " | ".join(cell.strip() for cell in row[1].split("|")), text.replace("\xa0", " "))
    if text := _BLANK_LINES.sub("\n\n", text).strip():
        yield Part(text=f"{text}\n", source=source.name)


def _move_boxes(markup: str) -> str:
    """Put the texts of drawn boxes at the end: they stand in groups that the converter drops."""
    outside, boxes, at = [], [], 0
    for found in _BOX.finditer(markup):
        if found.start() < at:  # a box in a box
            continue
        depth, end = 0, len(markup)
        for brace in _BRACE.finditer(markup, found.start()):
            depth += {"{": 1, "}": -1}.get(brace[0], 0)
            if not depth:
                end = brace.end()
                break
        outside.append(markup[at : found.start()])
        boxes.append(markup[found.start() : end])
        at = end
    body = "".join((*outside, markup[at:])).rstrip("\0\r\n\t ")
    return f"{body.removesuffix('}')}{''.join(boxes)}}}" if boxes else markup
