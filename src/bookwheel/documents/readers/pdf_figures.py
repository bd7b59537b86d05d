"""What interrupts the sentences of a printed page is put beside them: figures before their captions, notes at the end.

A figure that was drawn, as most charts of papers are, has its labels among the words of the page. They are set aside,
read as a chart is, and stand right before the line that says `Figure 2: …`, as the words of a picture do. Footnotes,
which a column or a page ends with in smaller letters, follow the page's text, so that no sentence runs into them.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bookwheel.documents.readers.charts import write_figure
from bookwheel.documents.readers.pdf_layout import Fragment, TextLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_CAPTION: Final = re.compile(r"(?:fig(?:ure|\.)?|abb(?:ildung|\.)|chart|scheme|exhibit|图|圖)\s*[\dA-Z]", re.IGNORECASE)
# Line heights between a figure and its caption at most, as others may stand between them: (a), (b).
_NEAR: Final = 5.0
# The shares of a page that a drawn figure has at least and at most.
_LEAST_DRAWN: Final = 0.004
_MOST_DRAWN: Final = 0.6
_DEEPEST: Final = 3
# Letters of a line of the text around it, which a drawing's true bounds leave out.
_LONG_LINE: Final = 40
_MOST_OBJECTS: Final = 20_000
_NOTE_MARK: Final = re.compile(r"(?:\d{1,2}|[*∗†‡§¶①-⑨]+)(?:\s?[^\W\d_]|\s?https?:|$)")
# Footnotes are set in letters of this share of the usual size at most, in this lower share of a page.
_SMALL: Final = 0.93
_FOOT: Final = 0.5
_SENTENCE_END: Final = re.compile(r"[.!?:;。！？：；][\"'”’)\]）]*$")

_Matrix = tuple[float, float, float, float, float, float]


def find_drawings(page: Any) -> list[Fragment]:
    """Return the places of the figures that were put on a page as drawings of their own."""
    from pypdfium2 import raw

    x, y, right, top = page.get_mediabox()
    whole = (right - x) * (top - y)
    found: list[Fragment] = []

    def walk(count: int, get: Callable[[int], Any], matrix: _Matrix, depth: int) -> None:
        for at in range(min(count, _MOST_OBJECTS)):
            thing = get(at)
            if raw.FPDFPageObj_GetType(thing) != raw.FPDF_PAGEOBJ_FORM:
                continue
            place = _measure(thing, matrix, x, y)
            share = (place.right - place.left) * place.height / whole if place and whole > 0 else 0.0
            if place and _LEAST_DRAWN <= share <= _MOST_DRAWN:
                found.append(place)
            elif share > _MOST_DRAWN and depth < _DEEPEST:  # a page that was put into another one
                inner = _multiply(_read_matrix(thing), matrix)
                inside = partial(raw.FPDFFormObj_GetObject, thing)
                walk(raw.FPDFFormObj_CountObjects(thing), inside, inner, depth + 1)

    walk(raw.FPDFPage_CountObjects(page), partial(raw.FPDFPage_GetObject, page), (1, 0, 0, 1, 0, 0), 0)
    return found


def _measure(thing: Any, matrix: _Matrix, x: float, y: float) -> Fragment | None:
    from pypdfium2 import raw

    sides = [ctypes.c_float() for _ in range(4)]
    if not raw.FPDFPageObj_GetBounds(thing, *map(ctypes.byref, sides)):
        return None
    left, bottom, right, top = (side.value for side in sides)
    a, b, c, d, e, f = matrix
    corners = [(a * px + c * py + e - x, b * px + d * py + f - y) for px in (left, right) for py in (bottom, top)]
    across, up = zip(*corners, strict=True)
    return Fragment("", min(across), max(across), min(up), max(up))


def _read_matrix(thing: Any) -> _Matrix:
    from pypdfium2 import raw

    found = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(thing, ctypes.byref(found)):
        return (1, 0, 0, 1, 0, 0)
    return found.a, found.b, found.c, found.d, found.e, found.f


def _multiply(one: _Matrix, other: _Matrix) -> _Matrix:
    """Return the matrix that applies one and then the other."""
    a, b, c, d, e, f = one
    p, q, r, s, t, u = other
    return (
        a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u
    )  # fmt: skip


def set_figures_aside(
    fragments: Sequence[Fragment], drawings: Sequence[Fragment], draw: Callable[[Fragment], tuple[Any, float]]
) -> tuple[list[Fragment], list[Fragment]]:
    """Return a page's fragments without those in drawn figures with a caption, and these figures with their text.

    `draw` returns the pixels of a place and how many of them a point has.
    """
    left = list(fragments)
    figures = []
    usual = _find_size(fragments)
    for drawn in sorted(drawings, key=lambda one: -one.top):
        # What a drawing hides may reach over its caption.
        captions = [f.top for f in left if _is_inside(f, drawn) and _CAPTION.match(f.text)]
        place = replace(drawn, bottom=max(captions, default=drawn.bottom))
        inside = [f for f in left if _is_inside(f, place)]
        body = [f for f in left if not _is_inside(f, place)]
        prose = [f for f in inside if len(f.text) >= _LONG_LINE and f.height > _SMALL * usual]
        if not inside or len(prose) > 1 or _find_caption(place, body) is None:
            continue
        pixels, scale = draw(place) if sum(f.text[:1].isdigit() for f in inside) > 2 else (None, 1.0)  # noqa: PLR2004
        shifted = [
            Fragment(
                f.text,
                (f.left - place.left) * scale,
                (f.right - place.left) * scale,
                (f.bottom - place.top) * scale,
                (f.top - place.top) * scale,
            )
            for f in inside
        ]
        figures.append(replace(place, text="\n".join(write_figure(shifted, pixels)).strip("\n")))
        left = body
    return left, figures


def _find_size(fragments: Sequence[Fragment]) -> float:
    """Return the height of the letters of most of a page's text."""
    sizes: Counter[float] = Counter()
    for f in fragments:
        sizes[round(f.height, 1)] += len(f.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _is_inside(fragment: Fragment, place: Fragment) -> bool:
    x, y = (fragment.left + fragment.right) / 2, (fragment.bottom + fragment.top) / 2
    return place.left <= x <= place.right and place.bottom <= y <= place.top


def _find_caption(figure: Fragment, fragments: Sequence[Fragment]) -> Fragment | None:
    """Return the beginning of the caption that stands right below a figure, or else right above it."""
    near = []
    for f in fragments:
        if not _CAPTION.match(f.text) or f.left > figure.right or f.right < figure.left:
            continue
        middle = (f.bottom + f.top) / 2
        is_above = middle > (figure.bottom + figure.top) / 2
        far = middle - figure.top if is_above else figure.bottom - middle
        if far < _NEAR * f.height:
            near.append((is_above, far, f))
    return min(near, key=lambda one: one[:2])[2] if near else None


def set_notes_aside(fragments: Sequence[Fragment], height: float) -> tuple[list[Fragment], list[Fragment]]:
    """Return a page's fragments without its footnotes, and these."""
    usual = _find_size(fragments)
    notes: list[Fragment] = []
    for at, first in enumerate(fragments):
        if first in notes or not _begins_note(first, usual, height):
            continue
        run = [first]
        for f in fragments[at + 1 :]:
            if f.height > _SMALL * usual or f.top > run[-1].top + 1 or f.left > run[0].right + 20 * usual:
                break
            run.append(f)
        left, right, low = min(f.left for f in run), max(f.right for f in run), min(f.bottom for f in run)
        below = [f for f in fragments if f not in run and f.top < low + 1 and f.left < right and f.right > left]
        # Only the page's number and small print stand below the notes of a column.
        if all(f.text.strip().isdigit() or f.height < _SMALL * usual for f in below):
            notes += run
    return [f for f in fragments if f not in notes], notes


def _begins_note(fragment: Fragment, usual: float, height: float) -> bool:
    is_small = fragment.height < _SMALL * usual and fragment.top < _FOOT * height
    return is_small and bool(_NOTE_MARK.match(fragment.text))


def place_figures(
    lines: Sequence[TextLine], figures: Sequence[Fragment], fragments: Sequence[Fragment]
) -> list[TextLine]:
    """Return the lines with the text of each figure before its caption, else where no sentence is cut."""
    placed = list(lines)
    for figure in figures:
        caption = _find_caption(figure, fragments)
        found = (at for at, line in enumerate(placed) if caption and line.text.startswith(caption.text))
        at = next(found, None)
        at = _find_gap(placed) if at is None else at
        block = list(_split_block(figure.text))
        after = [replace(line, begins_paragraph=True) for line in placed[at : at + 1]]
        placed[at : at + 1] = [*block, *after]
    return placed


def _split_block(text: str) -> Iterator[TextLine]:
    begins = True
    for line in text.split("\n"):
        if line.strip():
            yield TextLine(line, begins_paragraph=begins)
        begins = not line.strip()


def _find_gap(lines: Sequence[TextLine]) -> int:
    """Return the last place between two paragraphs of which the first one has ended; else the end."""
    for at in range(len(lines), 0, -1):
        is_between = at == len(lines) or lines[at].begins_paragraph
        if is_between and _SENTENCE_END.search(lines[at - 1].text):
            return at
    return len(lines)
