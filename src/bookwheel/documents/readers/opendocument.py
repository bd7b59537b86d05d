"""Read an OpenDocument text, presentation or drawing (ODT, ODP, ODG).

Its elements are renamed to HTML's, so that headings, lists, tables and notes come out like those of a page.
"""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.formats import open_zip
from bookwheel.documents.readers.html import render_tree
from bookwheel.errors import MissingExtra, SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.documents.sources import SourceFile, SourceWarnings

_OFFICE: Final = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW: Final = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_MATH_ANNOTATION: Final = "{http://www.w3.org/1998/Math/MathML}annotation"
_PRESENTATION: Final = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_NAMES: Final = {
    f"{_TEXT}p": "p",
    f"{_TEXT}list": "ul",
    f"{_TEXT}list-header": "li",
    f"{_TEXT}list-item": "li",
    f"{_TEXT}line-break": "br",
    f"{_TEXT}note-body": "div",
    f"{_TABLE}table": "table",
    f"{_TABLE}table-header-rows": "thead",
    f"{_TABLE}table-rows": "tbody",
    f"{_TABLE}table-row-group": "tbody",
    f"{_TABLE}table-row": "tr",
    f"{_TABLE}table-cell": "td",
    f"{_TABLE}covered-table-cell": "td",
    f"{_DRAW}text-box": "div",
    f"{_PRESENTATION}notes": "div",
}
# Text that the document does not show: what was deleted, and what its styles are called.
_UNSEEN: Final = (
    f"{_TEXT}tracked-changes",
    f"{_TEXT}sequence-decls",
    f"{_TEXT}variable-decls",
    f"{_TEXT}user-field-decls",
    f"{_TEXT}note-citation",
    f"{_OFFICE}forms",
    _MATH_ANNOTATION,
)
_MARGINS: Final = tuple(
    f"{_STYLE}{name}" for name in ("header", "header-first", "header-left", "footer", "footer-left")
)
_MOST_REPEATS: Final = 64


def read_opendocument(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a text as one part, a presentation as a part for every slide, whose number is its page."""
    del warnings
    try:
        from lxml.etree import LxmlError
    except ImportError as error:
        raise MissingExtra("reading ODT and ODP", "documents") from error
    with source.open() as file, open_zip(file, source.name) as archive:
        try:
            body = _parse(archive, "content.xml").find(f"{_OFFICE}body")
            margins = _read_margins(archive, source.name)
        except (LxmlError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
            raise SourceError(f"{source.name} is damaged: {error}. Save it again.") from error
    if body is None:
        raise SourceError(f"{source.name} is damaged: it has no text part. Save it again.")
    pages = list(body.iter(f"{_DRAW}page"))
    for number, page in enumerate(pages, 1):
        if text := _render(page, source.name):
            yield Part(text=f"{text}\n\n", source=source.name, page=number)
    if not pages and (text := "\n\n".join(piece for piece in (margins, _render(body, source.name)) if piece)):
        yield Part(text=f"{text}\n", source=source.name)


def _parse(archive: zipfile.ZipFile, path: str) -> Any:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, huge_tree=True)
    return etree.fromstring(archive.read(path), parser)


def _read_margins(archive: zipfile.ZipFile, name: str) -> str:
    """Return the words of headers and footers, each wording once."""
    if "styles.xml" not in archive.NameToInfo:
        return ""
    root = _parse(archive, "styles.xml")
    return "\n\n".join(dict.fromkeys(text for part in root.iter(*_MARGINS) if (text := _render(part, name))))


def _render(root: Any, name: str) -> str:
    for hidden in list(root.iter(*_UNSEEN)):
        _remove(hidden)
    for element in list(root.iter()):
        _rename(element)
    return render_tree(root, name)


def _rename(element: Any) -> None:
    """Give an element the name that HTML has for it, and write out what stands for characters."""
    tag = element.tag
    if tag in _NAMES:
        element.tag = _NAMES[tag]
        _spread(element)
    elif tag == f"{_TEXT}h":
        level = element.get(f"{_TEXT}outline-level") or "1"
        element.tag = f"h{min(int(level), 6) if level.isdecimal() else 1}"
    elif tag in {f"{_TEXT}s", f"{_TEXT}tab"}:
        element.tag, element.text = "span", " "
    elif tag == f"{_TEXT}note":
        _wrap(element, " [", "]")
    elif tag == f"{_OFFICE}annotation":
        _wrap(element, " [Comment: ", "] ")
    elif tag in {"{http://www.w3.org/2000/svg}title", "{http://www.w3.org/2000/svg}desc"} or tag.endswith(
        ("svg-compatible:1.0}title", "svg-compatible:1.0}desc")
    ):
        element.tag = "p"


def _wrap(element: Any, before: str, after: str) -> None:
    """Turn a note inside a paragraph into a run of that paragraph's text."""
    text = " ".join(" ".join(p.itertext()) for p in element.iter(f"{_TEXT}p"))
    element.tail = f"{before}{' '.join(text.split())}{after}{element.tail or ''}"
    del element[:]
    element.tag, element.text = "span", ""


def _spread(element: Any) -> None:
    """Write out cells that a row repeats; blank ones fill a sheet to its edge and are left alone."""
    if element.tag == "td":
        repeats = element.get(f"{_TABLE}number-columns-repeated") or "1"
        if len(element) and repeats.isdecimal():
            from copy import deepcopy

            for _ in range(min(int(repeats), _MOST_REPEATS) - 1):
                element.attrib.pop(f"{_TABLE}number-columns-repeated", None)
                element.addnext(deepcopy(element))


def _remove(element: Any) -> None:
    parent = element.getparent()
    if parent is not None:
        before = element.getprevious()
        if element.tail and before is not None:
            before.tail = (before.tail or "") + element.tail
        elif element.tail:
            parent.text = (parent.text or "") + element.tail
        parent.remove(element)
