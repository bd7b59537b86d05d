"""What interrupts the sentences of a printed page is put beside them: figures before their captions, notes at the end.

A figure that was drawn, as most charts of papers are (`pdf_drawings`), has its labels among the words of the page. They
are set aside, read as a chart is, and stand right before the line that says `Figure 2: …`, as the words of a picture
do; without a caption, where the numbers of a chart find their names. The figure is a picture, so that a model that sees
is shown what its words alone do not say. Footnotes, which a column or a page ends with in smaller letters, follow the
page's text, so that no sentence runs into them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from bookwheel.documents.readers.charts import read_chart, write_figure
from bookwheel.documents.readers.pdf_drawings import Drawing
from bookwheel.documents.readers.pdf_layout import Fragment, TextLine

_CAPTION: Final = re.compile(r"(?:fig(?:ure|\.)?|abb(?:ildung|\.)|chart|scheme|exhibit|图|圖)\s*[\dA-Z]", re.IGNORECASE)
# Line heights between a figure and its caption at most, as others may stand between them: (a), (b).
_NEAR: Final = 5.0
# Letters of a line of the text around it, which a drawing's true bounds leave out.
_LONG_LINE: Final = 40
# Line heights between a drawing and what is written beside it, and between the lines of a paragraph.
_BESIDE: Final = 1.2
_TIGHT: Final = 0.8
# Labels of a drawing whose letters are not drawn as curves.
_LABELS: Final = 3
_NOTE_MARK: Final = re.compile(r"(?:\d{1,2}|[*∗†‡§¶①-⑨]+)(?:\s?[^\W\d_]|\s?https?:|$)")
# Footnotes are set in letters of this share of the usual size at most, in this lower share of a page.
_SMALL: Final = 0.93
_FOOT: Final = 0.5
_SENTENCE_END: Final = re.compile(r"[.!?:;。！？：；][\"'”’)\]）]*$")


def set_figures_aside(
    fragments: Sequence[Fragment],
    drawings: Sequence[Drawing],
    draw: Callable[[Fragment], tuple[Any, float]],
    show: Callable[[Fragment, str | None], str],
) -> tuple[list[Fragment], list[Fragment]]:
    """Return a page's fragments without the labels of its drawn figures, and these figures with their text.

    `draw` returns the pixels of a place and how many of them a point has. `show` returns a figure's mark with its
    words; with None it reads them in the picture.
    """
    left = list(fragments)
    figures: list[Fragment] = []
    usual = _find_size(fragments) if drawings else 0.0
    for drawn in sorted(drawings, key=lambda one: -one.place.top):
        if any(_is_inside(drawn.place, one) for one in figures):
            continue
        # What a drawing hides may reach over its caption.
        captions = [f.top for f in left if _is_inside(f, drawn.place) and _CAPTION.match(f.text)]
        place = replace(drawn.place, bottom=max(captions, default=drawn.place.bottom))
        place = place if drawn.is_form else _reach_labels(place, left)
        inside = [f for f in left if _is_inside(f, place)]
        body = [f for f in left if not _is_inside(f, place)]
        prose = [f for f in inside if len(f.text) >= _LONG_LINE and f.height > _SMALL * usual]
        has_caption = _find_caption(place, body) is not None
        if not (has_caption or drawn.is_figure) or (len(prose) > 1 and not (has_caption and drawn.is_form)):
            continue
        if not inside or len(prose) > 1:
            text = show(place, "" if inside else None)
        else:
            text, is_chart = _write_labels(place, inside, draw)
            is_aside = has_caption or is_chart
            is_read = has_caption and drawn.is_figure and len(inside) < _LABELS
            shown = show(place, None if is_read else text if is_aside else "")
            # What stands on the page is kept, whatever is read in its picture.
            unread = [f.text for f in inside if is_read and f.text not in shown]
            text = "\n".join(filter(None, [shown, *unread]))
            left = body if is_aside else left
        figures.append(replace(place, text=text))
    return left, figures


def _write_labels(
    place: Fragment, inside: Sequence[Fragment], draw: Callable[[Fragment], tuple[Any, float]]
) -> tuple[str, bool]:
    """Return the text of the labels of a drawing, and whether it is a chart whose numbers have their names."""
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
    chart = read_chart(shifted, pixels)
    return "\n".join(write_figure(shifted, chart)).strip("\n"), bool(chart and chart.rows)


def _reach_labels(place: Fragment, fragments: Sequence[Fragment]) -> Fragment:
    """Return the place of a drawing with what is written right beside it: the names along its sides, its title."""
    outside = [f for f in fragments if not _is_inside(f, place) and not _CAPTION.match(f.text)]
    for _ in range(2):
        near = [f for f in outside if len(f.text) < _LONG_LINE and _is_beside(f, place, _BESIDE * f.height)]
        for f in near:
            lines = (g for g in outside if len(g.text) >= _LONG_LINE)
            if not any(_is_beside(f, g, _TIGHT * g.height) for g in lines):
                place = Fragment.around("", [place, f])
    return place


def _is_beside(one: Fragment, other: Fragment, far: float) -> bool:
    across = max(one.left, other.left) - min(one.right, other.right)
    up = max(one.bottom, other.bottom) - min(one.top, other.top)
    return max(across, up) < far and min(across, up) < 0


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
        is_small = first.height < _SMALL * usual and first.top < _FOOT * height
        if first in notes or not (is_small and _NOTE_MARK.match(first.text)):
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


def place_figures(
    lines: Sequence[TextLine], figures: Sequence[Fragment], fragments: Sequence[Fragment]
) -> list[TextLine]:
    """Return the lines with the text of each figure before its caption, else where no sentence is cut."""
    placed = list(lines)
    captions = [(figure, _find_caption(figure, fragments)) for figure in figures]
    alone = [(figure, None) for figure, caption in captions if caption is None]
    # Each goes right before its caption, and those without one before the one that stands there.
    for figure, caption in [*((one, caption) for one, caption in captions if caption), *reversed(alone)]:
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
