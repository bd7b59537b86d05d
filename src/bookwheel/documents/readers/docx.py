"""Read a Word document: headers, the text with its tables, lists, notes, comments and formulas, then footers.

`mammoth` converts the text to HTML. It does not know headers, footers, formulas, diagrams and charts, so their words
are put into the text that it is given.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.formats import open_zip
from bookwheel.documents.readers.html import parse_html, render_tree
from bookwheel.errors import MissingExtra, SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.documents.sources import SourceFile, SourceWarnings

_MAIN: Final = "word/document.xml"
_STYLE_SHEET: Final = "word/styles.xml"
_RELATIONSHIPS: Final = "word/_rels/document.xml.rels"
_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_R: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_C: Final = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_IMAGE_DATA: Final = "{urn:schemas-microsoft-com:vml}imagedata"
_STYLE_FACTS: Final = frozenset(f"{_W}{name}" for name in ("name", "basedOn", "pPr"))
_SPACE: Final = "{http://www.w3.org/XML/1998/namespace}space"
_DRAWINGS: Final = re.compile(r"word/(?:diagrams/data|charts/chart)\d*\.xml")
_UNKNOWN_ELEMENT: Final = re.compile(r"unrecognised element was ignored: (?:\{[^}]*\}|[\w-]+:)?(\w+)")
# Word's own comments are left out by mammoth unless a style is named for them.
_STYLES: Final = "comment-reference => sup"


def read_docx(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the document as one part. Add what mammoth cannot convert to the warnings."""
    try:
        import mammoth
        from lxml.etree import LxmlError
    except ImportError as error:
        raise MissingExtra("reading DOCX", "documents") from error
    from xml.parsers.expat import ExpatError

    damage_errors = (ExpatError, LxmlError, zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError)
    with source.open() as file, open_zip(file, source.name) as archive:
        try:
            result = mammoth.convert_to_html(
                BytesIO(_complete(archive)),
                convert_image=mammoth.images.img_element(lambda _: {"src": ""}),
                style_map=_STYLES,
            )
        except (*damage_errors, AttributeError, RecursionError, IndexError, TypeError, NotImplementedError) as error:
            raise SourceError(
                f"{source.name} is damaged: {error or type(error).__name__}. Save it again as .docx."
            ) from error
    for message in result.messages:
        if found := _UNKNOWN_ELEMENT.search(message.message):
            warnings.add(f"Word elements of the kind {found[1]} are not shown", source.name)
    root = parse_html(result.value, source.name)
    if root is not None and (text := render_tree(root, source.name)):
        yield Part(text=f"{text}\n", source=source.name)


def _complete(archive: zipfile.ZipFile) -> bytes:
    """Return the package with the words of its other parts in its main text, and without its pictures."""
    document = _parse(archive, _MAIN)
    body = document.find(f"{_W}body")
    if body is None:
        raise ValueError("it has no text part")
    _unwrap_custom_elements(body)
    headers, footers = _read_margins(archive)
    body[:0] = headers
    at = len(body) - 1 if len(body) and body[-1].tag == f"{_W}sectPr" else len(body)
    body[at:at] = [*_read_drawings(archive), *footers]
    _write_out_formulas(body)
    from lxml import etree

    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as copy:
        for entry in archive.infolist():
            if entry.filename == _MAIN:
                copy.writestr(_MAIN, etree.tostring(document))
            elif entry.filename == _STYLE_SHEET:
                copy.writestr(_STYLE_SHEET, _slim_styles(_parse(archive, _STYLE_SHEET)))
            elif entry.filename.endswith((".xml", ".rels")):
                copy.writestr(entry.filename, archive.read(entry))
    return packed.getvalue()


def _slim_styles(styles: Any) -> bytes:
    """Return the style sheet without the looks: mammoth's parser takes longer for them than for the document."""
    from lxml import etree

    for part in list(styles):
        if part.tag != f"{_W}style":
            styles.remove(part)
            continue
        for fact in list(part):
            if fact.tag not in _STYLE_FACTS:
                part.remove(fact)
    return bytes(etree.tostring(styles))


def _parse(archive: zipfile.ZipFile, path: str) -> Any:
    from lxml import etree

    return etree.fromstring(
        archive.read(path), etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    )


def _unwrap_custom_elements(body: Any) -> None:
    for wrapper in list(body.iter(f"{_W}customXml")):
        parent = wrapper.getparent()
        at = parent.index(wrapper)
        parent[at : at + 1] = [child for child in wrapper if child.tag != f"{_W}customXmlPr"]


def _read_margins(archive: zipfile.ZipFile) -> tuple[list[Any], list[Any]]:
    """Return the paragraphs and tables of all headers and of all footers, each wording once."""
    headers: list[Any] = []
    footers: list[Any] = []
    seen: set[str] = set()
    relationships = list(_parse(archive, _RELATIONSHIPS)) if _RELATIONSHIPS in archive.NameToInfo else []
    for relationship in relationships:
        kind = (relationship.get("Type") or "").rpartition("/")[2]
        path = posixpath.normpath(posixpath.join("word", relationship.get("Target") or ""))
        if kind not in {"header", "footer"} or path not in archive.NameToInfo:
            continue
        part = _parse(archive, path)
        text = "".join(part.itertext()).strip()
        if text and text not in seen:
            seen.add(text)
            (headers if kind == "header" else footers).extend(_detach(part))
    return headers, footers


def _detach(part: Any) -> list[Any]:
    """Return the children of a header without references into its own list of relationships."""
    for link in part.iter(f"{_W}hyperlink"):
        link.attrib.pop(f"{_R}id", None)
    for picture in list(part.iter(f"{_A}blip", _IMAGE_DATA)):
        picture.getparent().remove(picture)
    return list(part)


def _read_drawings(archive: zipfile.ZipFile) -> list[Any]:
    """Return a paragraph for each text in a diagram or chart."""
    paragraphs: list[Any] = []
    for path in sorted(name for name in archive.namelist() if _DRAWINGS.fullmatch(name)):
        part = _parse(archive, path)
        if path.startswith("word/diagrams"):
            texts = ["".join(t.text or "" for t in p.iter(f"{_A}t")) for p in part.iter(f"{_A}p")]
        else:
            texts = [" ".join(t.text or "" for t in part.iter(f"{_A}t", f"{_C}v"))]
        paragraphs += [_make_paragraph(text) for text in texts if text.strip()]
    return paragraphs


def _make_paragraph(text: str) -> Any:
    from lxml import etree

    paragraph = etree.Element(f"{_W}p")
    paragraph.append(_make_run(text))
    return paragraph


def _make_run(text: str) -> Any:
    from lxml import etree

    run = etree.Element(f"{_W}r")
    content = etree.SubElement(run, f"{_W}t")
    content.text = text
    content.set(_SPACE, "preserve")
    return run


def _write_out_formulas(body: Any) -> None:
    """Put a run of plain text in the place of each formula."""
    for formula in [*body.iter(f"{_M}oMathPara"), *body.iter(f"{_M}oMath")]:
        text = "".join(t.text or "" for t in formula.iter(f"{_M}t"))
        parent = formula.getparent()
        # A formula inside a replaced paragraph of formulas is still in the list.
        if parent is not None and parent.tag != f"{_M}oMathPara":
            parent.replace(formula, _make_run(text))
