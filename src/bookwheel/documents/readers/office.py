"""Read Word documents and presentations.

A DOCX comes as its headers, the text with its tables, lists, notes, comments and formulas, then its footers. `mammoth`
converts the text to HTML. It does not know headers, footers, formulas, diagrams and charts, so their words are put into
the text that it is given. A presentation is read slide by slide: titles, texts, tables, charts, alternative texts, then
the notes.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from io import BytesIO
from pathlib import PurePath
from typing import Any, Final

from bookwheel.documents.damage import (
    PICTURE_SUFFIXES,
    LateModule,
    import_extra,
    name_unread,
    open_package,
    place_slide,
    skip_damage,
)
from bookwheel.documents.readers.formulas import to_formula
from bookwheel.documents.readers.grid import Span, format_rows
from bookwheel.documents.readers.html import embed_pictures, parse_html, parse_xml, render_tree
from bookwheel.documents.readers.pictures import DRAWINGS, Figures
from bookwheel.documents.readers.unseen import drop_unseen_runs
from bookwheel.documents.readers.word_leaves import add_leaves
from bookwheel.documents.sources import SourceFile, SourceWarnings
from bookwheel.errors import SourceError
from bookwheel.types import Part

etree: Final[Any] = LateModule("lxml.etree")

_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT: Final = "purl.oclc.org/ooxml"
_MAIN: Final = "word/document.xml"
_STYLE_SHEET: Final = "word/styles.xml"
_RELATIONSHIPS: Final = "word/_rels/document.xml.rels"
_M: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_R: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_C: Final = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_IMAGE_DATA: Final = "{urn:schemas-microsoft-com:vml}imagedata"
# Fields, directions, the reading of a word: the converter leaves them out with what they hold.
_WRAPPERS: Final = tuple(f"{_W}{name}" for name in ("customXml", "fldSimple", "dir", "bdo"))
_ABOUT_WRAPPERS: Final = frozenset((f"{_W}customXmlPr", f"{_W}fldData"))
_STYLE_FACTS: Final = frozenset(f"{_W}{name}" for name in ("name", "basedOn", "pPr"))
_SPACE: Final = "{http://www.w3.org/XML/1998/namespace}space"
_DRAWINGS: Final = re.compile(r"word/(?:diagrams/data|charts/chart)\d*\.xml")
# Where a package has no text of its own: styles, settings, what is drawn a second time, data behind the scenes.
_KNOWN_IN_BOTH: Final = (
    r"\[Content_Types\]|(?:.+/)?_rels/|docProps/|docMetadata/|customXml/|_xmlsignatures/|[^/]+/theme/"
)
_KNOWN_IN_WORD: Final = re.compile(
    _KNOWN_IN_BOTH + r"|word/(?:document|styles|settings|webSettings|fontTable|numbering|stylesWithEffects|people|"
    r"comments\w*|footnotes|endnotes|vbaData|header\d*|footer\d*)\.xml|word/(?:glossary|fonts|printerSettings)/|"
    r"word/(?:diagrams|charts)/(?!chartEx)[^/]*\.xml|word/vbaProject"
)
_KNOWN_IN_SLIDES: Final = re.compile(
    _KNOWN_IN_BOTH + r"|ppt/(?:presentation|presProps|viewProps|tableStyles|commentAuthors|authors|revisionInfo)\.xml|"
    r"ppt/(?:slides|notesSlides|slideMasters|slideLayouts|notesMasters|handoutMasters|charts(?!/chartEx)|diagrams|comments|tags|"
    r"fonts|changesInfos|printerSettings)/|ppt/vbaProject"
)
_CHART_DATA: Final = re.compile(r"(?:word|ppt)/charts/_rels/")
_UNKNOWN_ELEMENT: Final = re.compile(r"unrecognised element was ignored: (?:\{[^}]*\}|[\w-]+:)?(\w+)")
# Word's own comments are left out by mammoth unless a style is named for them.
_STYLES: Final = "comment-reference => sup"


def read_docx(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield the document as one part. Add what mammoth cannot convert to the warnings."""
    mammoth = import_extra("mammoth", "reading DOCX")
    import_extra("lxml.etree", "reading DOCX")
    with open_package(source, "Word document", "Save it again as .docx.") as archive:
        figures = Figures(source, warnings)
        pictures: list[bytes] = []
        names = _name_pictures(archive) if figures.is_read else {}

        def number_picture(image: Any) -> dict[str, str]:
            with image.open() as file:
                pictures.append(file.read())
            return {"src": f"{len(pictures) - 1}/{names.get(hash(pictures[-1]), 'a picture')}"}

        result = mammoth.convert_to_html(
            BytesIO(_complete(archive, source, warnings, keeps_pictures=figures.is_read)),
            convert_image=mammoth.images.img_element(number_picture if figures.is_read else lambda _: {"src": ""}),
            style_map=_STYLES,
        )
        looked_at = {f"word/media/{name}" for name in names.values()}
        name_unread(archive, source.name, warnings, _KNOWN_IN_WORD, _find_chart_data(archive) | looked_at)
    for message in result.messages:
        if found := _UNKNOWN_ELEMENT.search(message.message):
            warnings.add(f"Word elements of the kind {found[1]} are not shown", source.name)
    root = parse_html(result.value, source.name)
    if root is None:
        return
    embed_pictures(root, figures, lambda address: pictures[int(address.partition("/")[0])])
    if text := render_tree(root, source.name, warnings):
        yield Part(text=f"{text}\n", source=source.name, pictures=figures.take())


def _name_pictures(archive: zipfile.ZipFile) -> dict[int, str]:
    """Return the names of the pictures of a package by their bytes: what reads it does not tell which one is where."""
    return {hash(archive.read(name)): PurePath(name).name for name in archive.namelist() if _is_picture(name)}


def _is_picture(name: str) -> bool:
    """Return True for a picture of the package that can be opened."""
    path = PurePath(name)
    return path.parent.name == "media" and path.suffix.lower() in PICTURE_SUFFIXES - DRAWINGS


def _find_chart_data(archive: zipfile.ZipFile) -> set[str]:
    """Return the workbooks whose values the charts show."""
    found: set[str] = set()
    for path in filter(_CHART_DATA.match, archive.namelist()):
        targets = (link.get("Target") or "" for link in parse_xml(archive.read(path)))
        found.update(posixpath.normpath(posixpath.join(posixpath.dirname(path), "..", target)) for target in targets)
    return found


def _complete(archive: zipfile.ZipFile, source: SourceFile, warnings: SourceWarnings, *, keeps_pictures: bool) -> bytes:
    """Return the package with the words of its other parts in its main text."""
    document = parse_xml(archive.read(_MAIN))
    if _STRICT in document.tag:
        raise SourceError(f"{source.name} is in Word's strict format: save it again as the usual .docx")
    body = document.find(f"{_W}body")
    for wrapper in list(body.iter(*_WRAPPERS)):
        _unwrap(wrapper)
    add_leaves(body, archive, source.name, warnings)
    headers, footers = _read_margins(archive)
    body[:0] = headers
    at = len(body) - 1 if len(body) and body[-1].tag == f"{_W}sectPr" else len(body)
    body[at:at] = [*_read_drawings(archive), *footers]
    for formula in [*body.iter(f"{_M}oMathPara"), *body.iter(f"{_M}oMath")]:
        parent = formula.getparent()
        # A formula inside a replaced paragraph of formulas is still in the list.
        if parent is not None and parent.tag != f"{_M}oMathPara":
            run = _make_run(to_formula(formula))
            run.tail = formula.tail
            parent.replace(formula, run)
    if not source.everything:
        styles = parse_xml(archive.read(_STYLE_SHEET)) if _STYLE_SHEET in archive.NameToInfo else document
        drop_unseen_runs(document, styles, source.name, warnings)
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as copy:
        for entry in archive.infolist():
            if entry.filename == _MAIN:
                copy.writestr(_MAIN, etree.tostring(document))
            elif entry.filename == _STYLE_SHEET:
                copy.writestr(_STYLE_SHEET, _slim_styles(parse_xml(archive.read(entry))))
            elif entry.filename.endswith((".xml", ".rels")) or (keeps_pictures and _is_picture(entry.filename)):
                copy.writestr(entry.filename, archive.read(entry))
    return packed.getvalue()


def _unwrap(wrapper: Any) -> None:
    """Put what an element holds in its place."""
    parent = wrapper.getparent()
    at = parent.index(wrapper)
    parent[at : at + 1] = [child for child in wrapper if child.tag not in _ABOUT_WRAPPERS]


def _slim_styles(styles: Any) -> bytes:
    """Return the style sheet without the looks: mammoth's parser takes longer for them than for the document."""
    for part in list(styles):
        if part.tag != f"{_W}style":
            styles.remove(part)
            continue
        for fact in list(part):
            if fact.tag not in _STYLE_FACTS:
                part.remove(fact)
    return bytes(etree.tostring(styles))


def _read_margins(archive: zipfile.ZipFile) -> tuple[list[Any], list[Any]]:
    """Return the paragraphs and tables of all headers and of all footers, each wording once."""
    margins: dict[str, list[Any]] = {"header": [], "footer": []}
    seen: set[str] = set()
    for relationship in parse_xml(archive.read(_RELATIONSHIPS)) if _RELATIONSHIPS in archive.NameToInfo else ():
        kind = (relationship.get("Type") or "").rpartition("/")[2]
        path = posixpath.normpath(posixpath.join("word", relationship.get("Target") or ""))
        if kind not in margins or path not in archive.NameToInfo:
            continue
        part = parse_xml(archive.read(path))
        text = "".join(part.itertext()).strip()
        if not text or text in seen:
            continue
        seen.add(text)
        # References into its own list of relationships mean something else in the document's.
        for link in part.iter(f"{_W}hyperlink"):
            link.attrib.pop(f"{_R}id", None)
        for picture in list(part.iter(f"{_A}blip", _IMAGE_DATA)):
            picture.getparent().remove(picture)
        margins[kind].extend(part)
    return margins["header"], margins["footer"]


def _read_drawings(archive: zipfile.ZipFile) -> Iterator[Any]:
    """Yield a paragraph for each text in a diagram or chart."""
    for path in sorted(name for name in archive.namelist() if _DRAWINGS.fullmatch(name)):
        part = parse_xml(archive.read(path))
        if path.startswith("word/diagrams"):
            texts = ["".join(t.text or "" for t in p.iter(f"{_A}t")) for p in part.iter(f"{_A}p")]
        else:
            texts = [" ".join(t.text or "" for t in part.iter(f"{_A}t", f"{_C}v"))]
        for text in filter(str.strip, texts):
            paragraph = etree.Element(f"{_W}p")
            paragraph.append(_make_run(text))
            yield paragraph


def _make_run(text: str) -> Any:
    run = etree.Element(f"{_W}r")
    content = etree.SubElement(run, f"{_W}t", {_SPACE: "preserve"})
    content.text = text
    return run


_MC: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_A14: Final = "{http://schemas.microsoft.com/office/drawing/2010/main}"
_SLIDE_NUMBER: Final = 13
# A sheet has no more columns; a place beyond would fill the memory.
_MOST_POINTS: Final = 16_384
# Placeholders that repeat on every slide: header, footer, date.
_FURNITURE: Final = frozenset((14, 15, 16))


def read_pptx(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a part for every slide with text. The slide's number is its page."""
    pptx = import_extra("pptx", "reading PPTX")
    with open_package(source, "presentation", "Save it again as .pptx.") as archive:
        figures = Figures(source, warnings)
        names = _name_pictures(archive) if figures.is_read else {}
        furniture: set[str] = set()
        for number, slide in enumerate(pptx.Presentation(archive.fp).slides, 1):
            texts: list[str] = []
            guess = partial(warnings.add, where=f"{source.name}#slide {number}")
            with skip_damage(warnings, "slides, or parts of them,", f"{source.name}#slide {number}"):
                for image in _read_slide(slide, texts, furniture, guess):
                    texts += [figures.add(image, names.get(hash(image), ""), number)] if names else []
            is_hidden = slide._element.get("show") == "0"  # noqa: SLF001 - python-pptx has no name for it
            if text := "\n\n".join(text for text in texts if text):
                place = place_slide(source.name, number, warnings, is_hidden=is_hidden)
                yield Part(text=f"{text}\n\n", source=place, page=number, pictures=figures.take())
        looked_at = {f"ppt/media/{name}" for name in names.values()}
        name_unread(archive, source.name, warnings, _KNOWN_IN_SLIDES, _find_chart_data(archive) | looked_at)


def _read_slide(slide: Any, texts: list[str], furniture: set[str], guess: Callable[[str], object]) -> Iterator[bytes]:
    """Add the texts of a slide, and yield each picture when its place has come."""
    for wrapper in list(slide._element.iter(f"{_MC}AlternateContent")):  # noqa: SLF001 - python-pptx has no name for it
        for other in wrapper[1:]:
            wrapper.remove(other)
        for choice in [*wrapper, wrapper]:
            _unwrap(choice)
    for formula in list(slide._element.iter(f"{_A14}m")):  # noqa: SLF001
        run = formula.makeelement(f"{_A}r")
        formula.getparent().replace(formula, run)
        run.append(run.makeelement(f"{_A}t"))
        run[0].text = to_formula(formula)
    title = slide.shapes.title
    heading = " ".join(title.text_frame.text.split()) if title is not None else ""
    texts += [f"# {heading}"] if heading else []
    for shape in slide.shapes:
        if title is None or shape.shape_id != title.shape_id:
            texts += _read_shape(shape, furniture, guess)
            yield from _find_images(shape)
    layout = slide.slide_layout
    for shape in (*layout.shapes, *layout.slide_master.shapes):
        if not shape.is_placeholder:
            texts += _read_once(_read_shape(shape, furniture, guess), furniture)
    if slide.has_notes_slide:
        aside = {*_FURNITURE, _SLIDE_NUMBER}
        shapes = [one for one in slide.notes_slide.shapes if one.has_text_frame and _find_kind(one) not in aside]
        notes = "\n".join(one.text_frame.text.replace("\v", "\n").strip() for one in shapes).strip()
        texts += [f"Notes: {notes}"] if notes else []
    texts += _read_comments(slide)


def _read_once(texts: Iterable[str], known: set[str]) -> Iterator[str]:
    """Yield what repeats on every slide where it stands first."""
    for text in texts:
        if text.strip() and text not in known:
            known.add(text)
            yield text


def _find_kind(shape: Any) -> int:
    return int(shape.placeholder_format.type or 0) if shape.is_placeholder else 0


def _read_comments(slide: Any) -> Iterator[str]:
    for relationship in slide.part.rels.values():
        if relationship.reltype.endswith("/comments") and not relationship.is_external:
            for comment in parse_xml(relationship.target_part.blob).iter("{*}cm"):
                words = " ".join(text.text or "" for text in comment.iter("{*}text", "{*}t"))
                yield f"[Comment: {' '.join(words.split())}]"


def _read_shape(shape: Any, furniture: set[str], guess: Callable[[str], object]) -> Iterator[str]:
    kind = _find_kind(shape)
    if kind == _SLIDE_NUMBER:
        return
    if kind in _FURNITURE:
        yield from _read_once([shape.text_frame.text], furniture)
    elif hasattr(shape, "shapes"):  # a group
        for inner in shape.shapes:
            yield from _read_shape(inner, furniture, guess)
    elif getattr(shape, "has_table", False):
        yield _format_cells(shape.table, guess)
    elif getattr(shape, "has_chart", False):
        yield from _read_chart(shape.chart)
    elif shape.has_text_frame:
        texts = [(p.level, " ".join(p.text.replace("\v", " ").split())) for p in shape.text_frame.paragraphs]
        lines = [f"{'  ' * (level - 1)}- {text}" if level else text for level, text in texts if text]
        yield "\n".join(lines)
    else:
        yield from _read_graphic(shape)


def _format_cells(table: Any, guess: Callable[[str], object]) -> str:
    cells = [[*row.cells] for row in table.rows]
    spans = [
        Span(at, column, cell.span_height, cell.span_width)
        for at, row in enumerate(cells)
        for column, cell in enumerate(row)
        if cell.is_merge_origin
    ]
    texts = ([cell.text for cell in row] for row in cells)
    return "\n".join(format_rows(texts, guess, is_marked=table.first_row or None, spans=spans))


def _find_images(shape: Any) -> Iterator[bytes]:
    """Yield the pictures of a shape; none where it has none, or a drawing."""
    for inner in getattr(shape, "shapes", ()):
        yield from _find_images(inner)
    with suppress(ValueError, KeyError, AttributeError):  # it is linked, or of a kind that python-pptx does not know
        image = getattr(shape, "image", None)
        if image is not None and f".{image.ext}" not in DRAWINGS:
            yield image.blob


def _read_chart(chart: Any) -> Iterator[str]:
    """Yield a chart's titles, then its values as tables: python-pptx knows not all kinds of charts."""
    space = chart._chartSpace  # noqa: SLF001 - python-pptx has no name for it
    yield from filter(None, ("".join(t.text or "" for t in title.iter(f"{_A}t")) for title in space.iter(f"{_C}title")))
    rows: dict[tuple[str, ...], None] = {}
    for series in space.iter(f"{_C}ser"):
        name = " ".join(v.text or "" for tx in series.iterfind(f"{_C}tx") for v in tx.iter(f"{_C}v"))
        found = {
            kind: _read_points(series.find(f"{_C}{kind}")) for kind in ("cat", "xVal", "val", "yVal", "bubbleSize")
        }
        width = max((place + 1 for points in found.values() for place in points), default=0)
        for kind, points in found.items():
            row = ("" if kind in {"cat", "xVal"} else name, *(points.get(place, "") for place in range(width)))
            # The categories of the first series are mostly those of all.
            if points:
                rows[row] = None
    if rows:
        yield "\n".join(format_rows(map(list, rows), is_marked=True, keeps_empty=True))


_NUMBERS: Final = frozenset({f"{_C}numCache", f"{_C}numLit"})


def _read_points(values: Any) -> dict[int, str]:
    """Return the values that a chart keeps, by their places; the levels of a category are joined."""
    points: dict[int, list[str]] = {}
    for point in values.iter(f"{_C}pt") if values is not None else ():
        place, text = int(point.get("idx", 0)), point.findtext(f"{_C}v", "")
        # Words such as 007 are kept in caches of words.
        if point.getparent().tag in _NUMBERS:
            with suppress(ValueError):
                text = f"{float(text):.15g}"
        if place < _MOST_POINTS:
            points.setdefault(place, []).append(text)
    return {place: ", ".join(texts) for place, texts in points.items()}


def _read_graphic(shape: Any) -> Iterator[str]:
    """Yield a diagram's texts, or a picture's description."""
    element = shape._element  # noqa: SLF001 - python-pptx has no name for it
    references = set(element.xpath(".//@r:dm"))
    for relationship in shape.part.rels.values() if references else ():
        if relationship.reltype.endswith("/diagramData") and relationship.rId in references:
            root = parse_xml(relationship.target_part.blob)
            texts = ["".join(t.text or "" for t in p.iter(f"{_A}t")) for p in root.iter(f"{_A}p")]
            yield "\n".join(f"- {text}" for text in texts if text.strip())
    description = " ".join("".join(element.xpath(".//p:cNvPr/@descr")[:1]).split())
    if description:
        yield f"![{description}]"
