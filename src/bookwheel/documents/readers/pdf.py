"""Read a PDF page by page, in reading order, so that every quote can name its page. PDFium allows one thread only.

PDFium finds the words and where they stand; `pdf_layout` puts them in order. Lines of the outline become headings.
Comments, form fields and notes follow their page's text. Running titles and page numbers are left out after their first
time, unless `SourceFile.everything` is set. Pages that are pictures, and pictures on pages, are read by OCR; their
words stand before the caption (`pdf_figures`).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, Final

from bookwheel.documents.damage import import_extra
from bookwheel.documents.readers.ocr import choose_recogniser, explain_missing
from bookwheel.documents.readers.pdf_calls import calls, find_address
from bookwheel.documents.readers.pdf_figures import place_figures, set_figures_aside, set_notes_aside
from bookwheel.documents.readers.pdf_headings import mark_headings
from bookwheel.documents.readers.pdf_hyphens import Hyphens
from bookwheel.documents.readers.pdf_layout import Fragment, LineGaps, TextLine, arrange
from bookwheel.documents.readers.pdf_rules import find_rules
from bookwheel.documents.readers.pdf_sheet import Sheet
from bookwheel.documents.readers.pdf_things import has_unseen_words
from bookwheel.documents.readers.pdf_words import read_fragments
from bookwheel.documents.readers.pictures import WHOLE, Figures, read_picture
from bookwheel.documents.readers.recognition import Recognition
from bookwheel.documents.sources import SourceFile, SourceWarnings, to_printable
from bookwheel.errors import SourceError
from bookwheel.picture import Picture
from bookwheel.types import Part

# Dots per inch at which tesseract reads best.
_OCR_RESOLUTION: Final = 300
# Words that a program stamps on a scanned page; more are its text layer.
_MOST_STAMPED: Final = 30
# Subtypes of annotations that a reader sees as text; links and pop-ups are not.
_WIDGET: Final = 20
_COMMENTS: Final = frozenset((1, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
_PASSWORD_ERROR: Final = 4
# A page with fewer drawn shapes has lines and boxes, not letters.
_CURVES: Final = 20
_BATCH: Final = 1 << 20


def read_pdf(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a part for every page with text. Pages count from 1."""
    pypdfium2 = import_extra("pypdfium2", "reading PDF")
    name = source.name
    with source.open() as file:
        try:
            document = pypdfium2.PdfDocument(file)
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", 0) == _PASSWORD_ERROR:
                advice = f"for example `qpdf --password=... --decrypt {name} readable.pdf`"
                raise SourceError(f"{name} needs a password: save it without one, {advice}") from error
            advice = f"Download it again, or repair it with `qpdf {name} repaired.pdf`."
            raise SourceError(f"{name} is a damaged PDF: it is not built as it should be. {advice}") from error
        with closing(document):
            yield from _read_pages(document, source, warnings)
            if document.get_formtype() in {pypdfium2.raw.FORMTYPE_XFA_FULL, pypdfium2.raw.FORMTYPE_XFA_FOREGROUND}:
                warnings.add("a form in XFA, whose fields may not be read", name)
            for at in range(document.count_attachments()):
                warnings.add(
                    "embedded files that are not read", f"{name}#{to_printable(document.get_attachment(at).get_name())}"
                )


def _read_pages(document: Any, source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield an empty part for every page that was looked at, then the texts: what repeats is known at the end only."""
    name = source.name
    pages: list[list[Fragment]] = []
    heights: list[float] = []
    # Beside its text: figures with their words; comments and the values of form fields.
    beside: list[tuple[list[Fragment], str]] = []
    pictures: dict[int, tuple[Picture, ...]] = {}
    reader = _PageReader(document, source, warnings)
    for number in range(1, len(document) + 1):
        fragments, height, figures, comments = reader.read(number)
        pages.append(fragments)
        heights.append(height)
        beside.append((figures, comments))
        pictures[number] = reader.figures.take()
        yield Part(text="", source=name, page=number)
    words = 0
    for at, repeated in enumerate(() if source.everything else find_running_lines(pages, heights)):
        words += sum(len(pages[at][place].text.split()) for place in repeated)
        pages[at] = [fragment for place, fragment in enumerate(pages[at]) if place not in repeated]
    if words:
        warnings.add("running titles and page numbers left out (--everything keeps them)", f"{name} ({words} words)")
    outline = _read_outline(document)
    gaps = LineGaps(pages)
    hyphens = Hyphens(f.text for page in pages for f in page)
    bodies = [
        hyphens.join(mark_headings(_lay_out(fragments, height, figures, gaps), outline.get(number, ()), hyphens))
        for number, (fragments, height, (figures, _)) in enumerate(zip(pages, heights, beside, strict=True), 1)
    ]
    for at in range(len(bodies) - 1):
        bodies[at], bodies[at + 1] = hyphens.join_pages(bodies[at], bodies[at + 1])
    texts = [
        (at, "\n\n".join(filter(None, pieces)))
        for at, pieces in enumerate(zip(bodies, (comments for _, comments in beside), strict=True), 1)
    ]
    texts = [(number, text) for number, text in texts if text.strip()]
    if not texts and choose_recogniser(source.ocr):
        raise SourceError(f"{name} has no words: no text layer, and none in what its pages show. Give another file.")
    if not texts:
        raise SourceError(f"{name} has no text layer, only pictures of pages: {_advise_ocr(name)}")
    for number, text in texts:
        yield Part(text=f"{text}\n", source=name, page=number, pictures=pictures[number])
    for doubt, places in _find_doubts(texts).items():
        for place in places:
            warnings.add(f"pages of {name} {doubt}", str(place))


def _lay_out(
    fragments: Sequence[Fragment], height: float, figures: Sequence[Fragment], gaps: LineGaps
) -> list[TextLine]:
    """Return the lines of a page: its text with the figures at their captions, then its footnotes."""
    body, notes = set_notes_aside(fragments, height)
    below = [replace(line, begins_paragraph=line.begins_paragraph or not at) for at, line in enumerate(arrange(notes))]
    return [*place_figures(arrange(body, gaps), figures, body), *below]


class _PageReader:
    """Reads the pages of one document, and the pictures on them."""

    def __init__(self, document: Any, source: SourceFile, warnings: SourceWarnings) -> None:
        self.figures = Figures(source, warnings)
        self._document = document
        self._name = source.name
        self._warnings = warnings
        self._recogniser = choose_recogniser(source.ocr)
        self._whole: set[str] = set()

    def read(self, number: int) -> tuple[list[Fragment], float, list[Fragment], str]:
        """Return the words of a page, its height as it is read, and what it has beside its text."""
        from pypdfium2 import PdfiumError

        name = self._name
        page = None
        try:
            page = self._document[number - 1]
            sheet = Sheet(page)
            fragments, height = read_fragments(page, self._whole, find_rules(page, sheet.things))
            if fragments and has_unseen_words(page, sheet.things):
                self._warnings.add(f"pages of {name} with words that are not seen there, and are read too", str(number))
            comments = "\n".join(_read_annotations(page))
            figures = list(self._read_pictures(sheet, number, fragments))
            drawings = [] if any(map(sheet.is_filled, figures)) else sheet.find_drawings(fragments, height)
            show = partial(self._show, sheet, number)
            fragments, drawn = set_figures_aside(fragments, drawings, sheet.draw_part, show)
        except (PdfiumError, ValueError, SourceError) as error:
            reason = f" ({error})" if isinstance(error, SourceError) else ""
            self._warnings.add(f"pages of {name} that are damaged and left out", f"{number}{reason}")
            return [], 0.0, [], ""
        finally:
            if page is not None:
                page.close()
        return fragments, height, [one for one in (*figures, *drawn) if one.text], comments

    def _show(self, sheet: Sheet, number: int, place: Fragment, text: str | None) -> str:
        """Return the mark of a drawn figure with its words; they are read in its picture where there is no text."""
        if self._recogniser != "rapidocr":
            return text or ""
        box = sheet.find_box(place)
        found = None if text is None else Recognition(text=text, lines=(), confidence=1.0)
        return self.figures.add_frame(sheet.cut(box), number, box, found=found) or text or ""

    def _read_pictures(self, sheet: Sheet, number: int, fragments: Sequence[Fragment]) -> Iterator[Fragment]:
        """Yield the words of a page that is a picture, or of the pictures on it, with their places."""
        page = sheet.page
        across, up = page.get_size()
        name = self._name
        if not fragments and _has_pictures(sheet):
            if not self._recogniser:
                self._warnings.add(f"pages of {name} without a text layer ({_advise_ocr(name)})", str(number))
            elif self._recogniser == "tesseract":
                yield Fragment(_recognise(page, number), 0, across, 0, up)
                self._warnings.add(f"pages of {name} read by OCR, which makes mistakes", str(number))
            else:
                yield Fragment(self.figures.add_frame(sheet.drawn, number, WHOLE, is_page=True), 0, across, 0, up)
        elif self._recogniser == "rapidocr" and (boxes := sheet.find_pictures()):
            is_scan = any(sheet.is_scan(box) for box in boxes)
            if is_scan and sum(len(f.text.split()) for f in fragments) > _MOST_STAMPED:
                return  # its words are there already, behind the picture of the page
            for box in [WHOLE] if is_scan else boxes:
                left, top, right, bottom = box
                text = self.figures.add_frame(sheet.cut(box), number, box)
                yield Fragment(text, left * across, right * across, (1 - bottom) * up, (1 - top) * up)


def _read_outline(document: Any) -> dict[int, list[tuple[int, str]]]:
    """Return the level and title of each entry of the outline, by page."""
    entries: dict[int, list[tuple[int, str]]] = {}
    for bookmark in document.get_toc():
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        if page is not None:
            title = " ".join(bookmark.get_title().split())
            entries.setdefault(page + 1, []).append((bookmark.level + 1, title))
    return entries


def _read_annotations(page: Any) -> Iterator[str]:
    """Yield the comments on a page and the values of its form fields."""
    address = find_address(page)
    for at in range(calls.FPDFPage_GetAnnotCount(address)):
        annotation = calls.FPDFPage_GetAnnot(address, at)
        if not annotation:
            continue
        kind = calls.FPDFAnnot_GetSubtype(annotation)
        if kind in _COMMENTS and (text := _read_entry(annotation, b"Contents")):
            yield f"[Comment: {text}]"
        elif kind == _WIDGET and (value := _read_entry(annotation, b"V")):
            label = _read_entry(annotation, b"TU") or _read_entry(annotation, b"T")
            yield f"{label}: {value}" if label else value
        calls.FPDFPage_CloseAnnot(annotation)


def _read_entry(annotation: int, key: bytes) -> str:
    size = calls.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    if size <= 2 or size > _BATCH:  # noqa: PLR2004 - an end mark alone
        return ""
    buffer = (ctypes.c_ushort * ((size + 1) // 2))()
    calls.FPDFAnnot_GetStringValue(annotation, key, buffer, size)
    return " ".join(bytes(buffer)[: size - 2].decode("utf-16-le", "replace").split())


def _has_pictures(sheet: Sheet) -> bool:
    """Return True for a page that may show words without having them: a scan, or letters drawn as curves."""
    kinds = [kind for _, kind in sheet.things]
    return bool({calls.FPDF_PAGEOBJ_IMAGE, calls.FPDF_PAGEOBJ_FORM}.intersection(kinds)) or len(kinds) >= _CURVES


def _recognise(page: Any, number: int) -> str:
    with closing(page.render(scale=_OCR_RESOLUTION / 72, grayscale=True)) as bitmap:
        rows = bytes(bitmap.buffer)
        stride, width, height = bitmap.stride, bitmap.width, bitmap.height
        pixels = b"".join(rows[at * stride : at * stride + width] for at in range(height))
        return read_picture(b"P5 %d %d 255\n" % (width, height) + pixels, f"page {number}", _OCR_RESOLUTION)


# Digits within a word are no page's number.
_NUMBER: Final = re.compile(r"(?<![^\W\d_])\d+(?![^\W\d_])|\b[ivxlc]+\b", re.IGNORECASE)
# The same words at the same height on this many pages near each other are printed by rule, not written.
_LEAST_PAGES: Final = 3
_NEAR: Final = 4
# The share of a page's height, at its top and its bottom, where they stand.
_MARGIN: Final = 0.12


def find_running_lines(pages: Sequence[Sequence[Fragment]], heights: Sequence[float]) -> list[set[int]]:
    """Return, for each page, the fragments that repeat an earlier page's margin. Each wording's first one stays."""
    places: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for number, (fragments, height) in enumerate(zip(pages, heights, strict=True)):
        for at, fragment in enumerate(fragments):
            if _is_in_margin(fragment, height):
                places.setdefault((_margin_key(fragment), round(fragment.bottom / 3)), []).append((number, at))
    repeated: list[set[int]] = [set() for _ in pages]
    for found in places.values():
        for at, (number, place) in enumerate(found):
            # One of three on pages that follow each other closely; odd and even may differ.
            firsts = range(max(0, at - _LEAST_PAGES + 1), min(at, len(found) - _LEAST_PAGES) + 1)
            if at and any(found[one + _LEAST_PAGES - 1][0] - found[one][0] <= _NEAR + 2 for one in firsts):
                repeated[number].add(place)
    for fragments, places_of_page in zip(pages, repeated, strict=True):
        places_of_page -= {at for at in places_of_page if _is_numbering(fragments, at, places_of_page)}
    _add_changing_halves(pages, heights, repeated)
    # A page that has nothing else is no page of running titles: slides, cards.
    return [places if len(places) < len(page) else set() for places, page in zip(repeated, pages, strict=True)]


def _add_changing_halves(pages: Sequence[Sequence[Fragment]], heights: Sequence[float], found: list[set[int]]) -> None:
    """Add the titles of sections that stand beside what repeats, if the text below has the same words."""
    halves = [
        (repeated, at, _margin_key(fragment))
        for fragments, height, repeated in zip(pages, heights, found, strict=True)
        for at, fragment in enumerate(fragments if repeated else ())
        if at not in repeated
        and _is_in_margin(fragment, height)
        and any(fragment.is_level(fragments[other]) for other in repeated)
    ]
    wanted = {key for _, _, key in halves}
    written = {
        key
        for fragments, repeated in zip(pages, found, strict=True)
        for at, fragment in enumerate(fragments if wanted else ())
        if at not in repeated
        and (key := _margin_key(fragment)) in wanted
        and not any(fragment.is_level(fragments[other]) for other in repeated)
    }
    for repeated, at, key in halves:
        if key in written:
            repeated.add(at)


def _margin_key(fragment: Fragment) -> str:
    return " ".join(_NUMBER.sub("#", fragment.text).split()).lower()


def _is_in_margin(fragment: Fragment, height: float) -> bool:
    return fragment.top > (1 - _MARGIN) * height or fragment.bottom < _MARGIN * height


def _is_numbering(fragments: Sequence[Fragment], at: int, repeated: set[int]) -> bool:
    """Return True for the number before a title: titles at the top of a page stand at one height too."""
    if any(c.isalpha() for c in _NUMBER.sub("", fragments[at].text)):
        return False
    return any(
        other not in repeated and fragment.is_level(fragments[at])
        for other, fragment in enumerate(fragments)
        if other != at
    )


def _advise_ocr(name: str) -> str:
    return f"{explain_missing()}, and give the file again, or run `ocrmypdf {name} readable.pdf`"


# Words at which a page is judged, and the shares of odd ones that make it doubtful.
_ENOUGH_WORDS: Final = 20
_LONG_WORD: Final = 25
_GLUED_SHARE: Final = 0.04
_GARBLED_SHARE: Final = 0.02
_STRANGE: Final = re.compile("[\N{REPLACEMENT CHARACTER}\ue000-\uf8ff]")
_VOWELS: Final = frozenset("aeiouyAEIOUY")


def _find_doubts(texts: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
    """Return the pages whose words look glued together or garbled, by kind."""
    doubts: dict[str, list[int]] = {}
    for number, text in texts:
        words = [word for word in text.split() if word.isalpha() and word.isascii()]
        glued = sum(len(word) for word in words if len(word) > _LONG_WORD)
        if len(words) + glued // 5 >= _ENOUGH_WORDS and glued > _GLUED_SHARE * sum(map(len, words)) * 2:
            doubts.setdefault("whose words look glued together", []).append(number)
        strange = len(_STRANGE.findall(text))
        long_words = [word for word in words if len(word) > 3]  # noqa: PLR2004
        vowelless = sum(map(_VOWELS.isdisjoint, long_words))
        few = len(long_words) < _ENOUGH_WORDS
        if strange > _GARBLED_SHARE * len(text) or (not few and vowelless > 0.4 * len(long_words)):
            doubts.setdefault("whose text looks garbled", []).append(number)
    return doubts
