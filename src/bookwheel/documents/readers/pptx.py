"""Read a presentation slide by slide: titles, texts, tables, charts, alternative texts, then the speaker's notes."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.readers.tables import format_rows
from bookwheel.errors import MissingExtra, SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.documents.sources import SourceFile, SourceWarnings

_A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
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
            texts += ["".join(t.text or "" for t in p.iter(f"{_A}t")) for p in root.iter(f"{_A}p")]
    if listing := "\n".join(f"- {text}" for text in texts if text.strip()):
        yield listing
    description = shape._element.xpath(".//p:cNvPr/@descr")  # noqa: SLF001 - python-pptx has no name for it
    if description and description[0].strip():
        yield f"![{' '.join(description[0].split())}]"


def _xml_of(shape: Any) -> str:
    from lxml import etree

    return str(etree.tostring(shape._element, encoding="unicode"))  # noqa: SLF001 - python-pptx has no name for it
