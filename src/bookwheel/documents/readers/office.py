"""Read OpenDocument (ODT, ODP, ODG), presentations (PPTX) and RTF.

The elements of OpenDocument are renamed to those of HTML, so that headings, lists, tables and notes come out like those
of a page. A presentation is read slide by slide: titles, texts, tables, charts, alternative texts, then the notes.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.formats import open_zip
from bookwheel.documents.readers.html import render_tree
from bookwheel.documents.readers.tables import format_rows
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


_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DIAGRAM: Final = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
# Placeholders that repeat the layout: date, footer, slide number.
_FURNITURE: Final = frozenset((13, 15, 16))


def read_pptx(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a part for every slide with text. The slide's number is its page."""
    try:
        from lxml.etree import LxmlError
        from pptx import Presentation
        from pptx.exc import PythonPptxError
    except ImportError as error:
        raise MissingExtra("reading PPTX", "documents") from error
    damage_errors = (LxmlError, PythonPptxError, KeyError, ValueError, AttributeError, OSError, zipfile.BadZipFile)
    with source.open() as file:
        try:
            for number, slide in enumerate(Presentation(file).slides, 1):
                if slide._element.get("show") == "0":  # noqa: SLF001 - python-pptx has no name for it
                    warnings.add(f"slides of {source.name} that are hidden, and are read too", str(number))
                if text := "\n\n".join(_read_slide(slide, everything=source.everything)):
                    yield Part(text=f"{text}\n\n", source=source.name, page=number)
        except damage_errors as error:
            raise SourceError(f"{source.name} is a damaged presentation: {error}. Save it again as .pptx.") from error


def _read_slide(slide: Any, *, everything: bool) -> Iterator[str]:
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None else ""
    if heading:
        yield f"# {heading}"
    for shape in slide.shapes:
        if title is None or shape.shape_id != title.shape_id:
            yield from _read_shape(shape, everything=everything)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.replace("\v", "\n").strip()
        if notes:
            yield f"Notes: {notes}"


def _read_shape(shape: Any, *, everything: bool) -> Iterator[str]:
    if shape.is_placeholder and int(shape.placeholder_format.type or 0) in _FURNITURE and not everything:
        return
    if hasattr(shape, "shapes"):  # a group
        for inner in shape.shapes:
            yield from _read_shape(inner, everything=everything)
    elif getattr(shape, "has_table", False):
        yield "\n".join(format_rows([cell.text for cell in row.cells] for row in shape.table.rows))
    elif getattr(shape, "has_chart", False):
        yield from _read_chart(shape.chart)
    elif shape.has_text_frame:
        if text := "\n".join(_read_paragraphs(shape.text_frame)):
            yield text
    else:
        yield from _read_graphic(shape)


def _read_paragraphs(frame: Any) -> Iterator[str]:
    for paragraph in frame.paragraphs:
        text = " ".join(paragraph.text.replace("\v", " ").split())
        if text:
            yield f"{'  ' * (paragraph.level - 1)}- {text}" if paragraph.level else text


def _read_chart(chart: Any) -> Iterator[str]:
    if chart.has_title and chart.chart_title.has_text_frame:
        yield chart.chart_title.text_frame.text
    for plot in chart.plots:
        categories = [str(category) for category in plot.categories]
        series = [[one.name or "", *("" if v is None else f"{v:g}" for v in one.values)] for one in plot.series]
        yield "\n".join(format_rows(iter([["", *categories], *series])))


def _read_graphic(shape: Any) -> Iterator[str]:
    """Yield a diagram's texts, or a picture's description."""
    texts: list[str] = []
    for relationship in shape.part.rels.values() if f"{_DIAGRAM}" in _xml_of(shape) else ():
        if relationship.reltype.endswith("/diagramData") and relationship.rId in _xml_of(shape):
            from lxml import etree

            root = etree.fromstring(relationship.target_part.blob, etree.XMLParser(resolve_entities=False))
            texts += ["".join(t.text or "" for t in p.iter(f"{_DRAWING}t")) for p in root.iter(f"{_DRAWING}p")]
    if listing := "\n".join(f"- {text}" for text in texts if text.strip()):
        yield listing
    description = shape._element.xpath(".//p:cNvPr/@descr")  # noqa: SLF001 - python-pptx has no name for it
    if description and description[0].strip():
        yield f"![{' '.join(description[0].split())}]"


def _xml_of(shape: Any) -> str:
    from lxml import etree

    return str(etree.tostring(shape._element, encoding="unicode"))  # noqa: SLF001 - python-pptx has no name for it


_MOST_RTF: Final = 64 << 20
# The converter drops these groups with their words. Without their names they are text of the place where they stand.
_NAMED_GROUPS: Final = re.compile(r"\{(?:\\\*)?\\(?:footnote|header[lrf]?|footer[lrf]?|annotation|shptxt)\b ?")
_ROW: Final = re.compile(r"^([^|\n]+\|.*)\|\s*$", re.MULTILINE)
_BLANK_LINES: Final = re.compile(r"\n\s*\n+")


def read_rtf(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the document as one part."""
    del warnings
    try:
        from striprtf.striprtf import rtf_to_text
    except ImportError as error:
        raise MissingExtra("reading RTF", "documents") from error
    with source.open() as file:
        data = file.read(_MOST_RTF + 1)
    if len(data) > _MOST_RTF:
        raise SourceError(f"{source.name} is over {_MOST_RTF >> 20} MiB of RTF: save it as text first")
    # RTF is ASCII; what is beyond it is escaped, or in the code page that the converter finds.
    markup = _NAMED_GROUPS.sub(r"{\\par ", data.decode("cp1252", "replace"))
    try:
        text = str(rtf_to_text(markup, errors="replace"))  # type: ignore[no-untyped-call]
    except (ValueError, LookupError, IndexError, TypeError, RecursionError) as error:
        raise SourceError(f"{source.name} is damaged RTF: {error}. Save it again, or save it as text.") from error
    text = _ROW.sub(lambda row: " | ".join(cell.strip() for cell in row[1].split("|")), text.replace("\xa0", " "))
    if text := _BLANK_LINES.sub("\n\n", text).strip():
        yield Part(text=f"{text}\n", source=source.name)
