"""Read a PDF page by page, in reading order, so that every quote can name its page. PDFium allows one thread only.

PDFium finds the words and where they stand; `pdf_layout` puts them in order. Lines of the outline become headings.
Comments, form fields and notes follow their page's text. Running titles and page numbers are left out after their first
time, unless `SourceFile.everything` is set. Pages that are pictures go to tesseract where it is installed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.readers.ocr import OCR_ADVICE, has_tesseract, read_picture
from bookwheel.documents.readers.pdf_layout import Hyphens, arrange
from bookwheel.documents.readers.pdf_words import find_doubts, read_fragments
from bookwheel.errors import MissingExtra, SourceError
from bookwheel.types import Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bookwheel.documents.readers.pdf_layout import Fragment, TextLine
    from bookwheel.documents.sources import SourceFile, SourceWarnings


# Dots per inch at which tesseract reads best.
_OCR_RESOLUTION: Final = 300
# Subtypes of annotations that a reader sees as text; links and pop-ups are not.
_WIDGET: Final = 20
_COMMENTS: Final = frozenset((1, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
_PASSWORD_ERROR: Final = 4
# A page with fewer drawn shapes has lines and boxes, not letters.
_CURVES: Final = 20
_BATCH: Final = 1 << 20


def read_pdf(source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield a part for every page with text. Pages count from 1."""
    try:
        import pypdfium2
    except ImportError as error:
        raise MissingExtra("reading PDF", "documents") from error
    with source.open() as file:
        try:
            document = pypdfium2.PdfDocument(file)
        except pypdfium2.PdfiumError as error:
            raise _opening_error(source.name, error) from error
        try:
            yield from _read_pages(document, source, warnings)
        finally:
            document.close()


def _opening_error(name: str, error: Any) -> SourceError:
    if getattr(error, "err_code", 0) == _PASSWORD_ERROR:
        return SourceError(
            f"{name} needs a password: save it without one, for example "
            f"`qpdf --password=... --decrypt {name} readable.pdf`"
        )
    return SourceError(
        f"{name} is a damaged PDF: {error}. Download it again, or repair it with `qpdf {name} repaired.pdf`."
    )


def _read_pages(document: Any, source: SourceFile, warnings: SourceWarnings) -> Iterator[Part]:
    """Yield an empty part for every page that was looked at, then the texts: what repeats is known at the end only."""
    name = source.name
    pages: list[list[Fragment]] = []
    heights: list[float] = []
    extras: list[str] = []
    for number in range(1, len(document) + 1):
        fragments, height, extra = _read_page(document, number, name, warnings)
        pages.append(fragments)
        heights.append(height)
        extras.append(extra)
        yield Part(text="", source=name, page=number)
    if not source.everything:
        _drop_running_lines(pages, heights, name, warnings)
    outline = _read_outline(document)
    hyphens = Hyphens(f.text for page in pages for f in page)
    bodies = [
        hyphens.join(mark_headings(arrange(fragments), outline.get(number, ()), hyphens))
        for number, fragments in enumerate(pages, 1)
    ]
    for at in range(len(bodies) - 1):
        bodies[at], bodies[at + 1] = hyphens.join_pages(bodies[at], bodies[at + 1])
    texts: list[tuple[int, str]] = []
    for number, pieces in enumerate(zip(bodies, extras, strict=True), 1):
        text = "\n\n".join(piece for piece in pieces if piece)
        if text.strip():
            texts.append((number, text))
            yield Part(text=f"{text}\n", source=name, page=number)
    for doubt, places in find_doubts(texts).items():
        for place in places:
            warnings.add(f"pages of {name} {doubt}", str(place))
    if not texts:
        raise SourceError(f"{name} has no text layer, only pictures of pages: {OCR_ADVICE.format(name=name)}")


def _read_page(document: Any, number: int, name: str, warnings: SourceWarnings) -> tuple[list[Fragment], float, str]:
    """Return the words of a page, its height as it is read, and the words beside its text."""
    from pypdfium2 import PdfiumError

    page = None
    try:
        page = document[number - 1]
        fragments, height = read_fragments(page)
        extra = "\n".join(_read_annotations(page))
        if not fragments and _has_pictures(page):
            if has_tesseract():
                extra = "\n\n".join(text for text in (_recognise(page, number), extra) if text)
                warnings.add(f"pages of {name} read by OCR, which makes mistakes", str(number))
            else:
                warnings.add(f"pages of {name} without a text layer ({OCR_ADVICE.format(name=name)})", str(number))
    except (PdfiumError, ValueError, SourceError) as error:
        warnings.add(f"pages of {name} that are damaged and left out", f"{number} ({error})")
        return [], 0.0, ""
    finally:
        if page is not None:
            page.close()
    return fragments, height, extra


def _drop_running_lines(pages: list[list[Fragment]], heights: list[float], name: str, warnings: SourceWarnings) -> None:
    words = 0
    for at, repeated in enumerate(find_running_lines(pages, heights)):
        words += sum(len(pages[at][place].text.split()) for place in repeated)
        pages[at] = [fragment for place, fragment in enumerate(pages[at]) if place not in repeated]
    if words:
        warnings.add("running titles and page numbers left out (--everything keeps them)", f"{name} ({words} words)")


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
    from pypdfium2 import raw

    for at in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, at)
        if not annotation:
            continue
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        if kind in _COMMENTS and (text := _read_entry(annotation, b"Contents")):
            yield f"[Comment: {text}]"
        elif kind == _WIDGET and (value := _read_entry(annotation, b"V")):
            label = _read_entry(annotation, b"TU") or _read_entry(annotation, b"T")
            yield f"{label}: {value}" if label else value
        raw.FPDFPage_CloseAnnot(annotation)


def _read_entry(annotation: Any, key: bytes) -> str:
    import ctypes

    from pypdfium2 import raw

    size = raw.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    if size <= 2 or size > _BATCH:  # noqa: PLR2004 - an end mark alone
        return ""
    buffer = (ctypes.c_ushort * ((size + 1) // 2))()
    raw.FPDFAnnot_GetStringValue(annotation, key, buffer, size)
    return " ".join(bytes(buffer)[: size - 2].decode("utf-16-le", "replace").split())


def _has_pictures(page: Any) -> bool:
    """Return True for a page that may show words without having them: a scan, or letters drawn as curves."""
    from pypdfium2 import raw

    kinds = [raw.FPDFPageObj_GetType(raw.FPDFPage_GetObject(page, at)) for at in range(raw.FPDFPage_CountObjects(page))]
    return bool({raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_FORM}.intersection(kinds)) or len(kinds) >= _CURVES


def _recognise(page: Any, number: int) -> str:
    """Return what tesseract reads in the picture of a page."""
    bitmap = page.render(scale=_OCR_RESOLUTION / 72, grayscale=True)
    try:
        rows = bytes(bitmap.buffer)
        stride, width, height = bitmap.stride, bitmap.width, bitmap.height
        pixels = b"".join(rows[at * stride : at * stride + width] for at in range(height))
        return read_picture(b"P5 %d %d 255\n" % (width, height) + pixels, f"page {number}", _OCR_RESOLUTION)
    finally:
        bitmap.close()


_MOST_TITLE_LINES: Final = 3
# Letters that a chapter's number may add to its title.
_NUMBERING: Final = 12
# A line above the title is its number, or the end of the text before.
_NUMERAL: Final = re.compile(r"\d|\b[IVXLC]+\b|^\W*[A-Z]\W*$")


def mark_headings(lines: Sequence[TextLine], outline: Iterable[tuple[int, str]], hyphens: Hyphens) -> list[TextLine]:
    """Return the lines with those of the outline marked as headings."""
    result = list(lines)
    start = 0
    for level, title in outline:
        found = _find_title(result, title, start)
        if found:
            first, end = found
            text = " ".join(hyphens.join(result[first:end]).split())
            heading = type(result[first])(f"{'#' * min(level, 6)} {text}", begins_paragraph=True)
            after = [type(line)(line.text, begins_paragraph=True) for line in result[end : end + 1]]
            result[first : end + 1] = [heading, *after]
            start = first + 1
    return result


def _find_title(lines: Sequence[TextLine], title: str, start: int) -> tuple[int, int] | None:
    """Return the lines that are the title, with its number or without; rather in its own spelling than in capitals."""
    found = list(_iterate_titles(lines, _title_key(title)))
    return min(
        found,
        key=lambda place: (title not in " ".join(line.text for line in lines[slice(*place)]), place[0] < start, place),
        default=None,
    )


def _iterate_titles(lines: Sequence[TextLine], wanted: str) -> Iterator[tuple[int, int]]:
    """Yield the first and the next line of each place with these letters and perhaps a number before them."""
    for first in range(len(lines) if wanted else 0):
        text = ""
        for end in range(first, min(len(lines), first + _MOST_TITLE_LINES)):
            text += _title_key(lines[end].text)
            if lines[end].text.startswith("#") or len(text) > len(wanted) + _NUMBERING:
                break
            if text.endswith(wanted):
                if len(text) == len(wanted) or end == first or _NUMERAL.search(lines[first].text):
                    yield first, end + 1
                break


def _title_key(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


_NUMBER: Final = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)
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
            if at and _is_dense(found, at):
                repeated[number].add(place)
    for fragments, places_of_page in zip(pages, repeated, strict=True):
        places_of_page -= {at for at in places_of_page if _is_numbering(fragments, at, places_of_page)}
    _add_changing_halves(pages, heights, repeated)
    return repeated


def _add_changing_halves(pages: Sequence[Sequence[Fragment]], heights: Sequence[float], found: list[set[int]]) -> None:
    """Add the titles of sections that stand beside what repeats, if the text below has the same words."""
    written = {
        _margin_key(fragment)
        for fragments, repeated in zip(pages, found, strict=True)
        for at, fragment in enumerate(fragments)
        if at not in repeated and not any(fragment.is_level(fragments[other]) for other in repeated)
    }
    for fragments, height, repeated in zip(pages, heights, found, strict=True):
        beside = [fragments[at] for at in repeated]
        repeated |= {
            at
            for at, fragment in enumerate(fragments)
            if _is_in_margin(fragment, height)
            and _margin_key(fragment) in written
            and any(fragment.is_level(other) for other in beside)
        }


def _margin_key(fragment: Fragment) -> str:
    """Return a fragment's words in lower case, without its numbers."""
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


def _is_dense(found: Sequence[tuple[int, int]], at: int) -> bool:
    """Return True if this place is one of three on pages that follow each other closely; odd and even may differ."""
    return any(
        found[first + _LEAST_PAGES - 1][0] - found[first][0] <= _NEAR + 2
        for first in range(max(0, at - _LEAST_PAGES + 1), min(at, len(found) - _LEAST_PAGES) + 1)
    )
