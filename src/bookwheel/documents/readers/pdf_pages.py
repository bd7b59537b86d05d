"""Pages of a PDF as they look: their sizes, a picture of one, and where a passage stands on it.

Called in a child process (`run_in_child`), because PDFium parses what strangers made.
"""

from __future__ import annotations

import base64
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from io import BytesIO
from itertools import pairwise
from typing import Any, Final

from bookwheel.documents.damage import LateModule, import_extra
from bookwheel.documents.readers.pdf_calls import find_address
from bookwheel.documents.readers.pdf_words import read_characters
from bookwheel.picture import Box

pypdfium2: Final[Any] = LateModule("pypdfium2")

MOST_WIDTH: Final = 2400
"""Pixels."""
_MOST_PIXELS: Final = 8_000_000
_MOST_PAGES: Final = 20_000
# Parts of a page's side in which places are told.
_SIDE: Final = 10_000
# Letters and digits of a passage's piece that is looked for by itself, where the whole passage does not stand in a row.
_SHORTEST: Final = 10
# The share of a character's height that stands beside the one before it on its line.
_BESIDE: Final = 0.5
# Pages whose turn is looked at, which takes a millisecond each; the rest have the sizes that the file tells.
_MOST_OPENED: Final = 2000


def measure_pages(path: str) -> Iterator[list[float]]:
    """Yield the width and height of each page in points, as it is shown."""
    with _open(path) as document:
        for at in range(min(len(document), _MOST_PAGES)):
            if at < _MOST_OPENED:
                with closing(document[at]) as page:
                    size = page.get_size()
            else:
                size = document.get_page_size(at)
            yield [round(side, 1) for side in size]


def draw_page(path: str, number: int, width: int) -> Iterator[str]:
    """Yield the picture of a page, counted from 1, as PNG in base64, or nothing where there is no such page."""
    with _open(path) as document:
        if not 1 <= number <= len(document):
            return
        with closing(document[number - 1]) as page:
            across, down = page.get_size()
            scale = min(min(width, MOST_WIDTH) / max(across, 1), (_MOST_PIXELS / max(across * down, 1)) ** 0.5)
            with closing(page.render(scale=scale, rev_byteorder=True)) as bitmap:
                yield encode_png(bitmap.to_pil().convert("RGB"))


def encode_png(picture: Any) -> str:
    content = BytesIO()
    picture.save(content, "PNG", compress_level=4)
    return base64.b64encode(content.getvalue()).decode()


def find_boxes(path: str, number: int, passage: str) -> Iterator[list[float]]:
    """Yield the boxes of a passage's lines on a page; nothing where its words do not stand there."""
    with _open(path) as document:
        if not 1 <= number <= len(document):
            return
        with closing(document[number - 1]) as page, closing(page.get_textpage()) as text_page:
            places = find_characters(read_characters(find_address(text_page)), passage)
            boxes = [find_place(page, *text_page.get_charbox(at, loose=True)) for at in places]
            yield from ([round(side, 4) for side in box] for box in join_lines(boxes))


def find_characters(text: str, passage: str) -> list[int]:
    """Return the places of a passage's letters and digits in a page's text, whatever stands between them."""
    # A page's text may have the lines of two columns in another order than the passage: it is found piece by piece.
    there = [(at, letter) for at, letter in enumerate(text) if letter.isalnum()]
    folded = "".join(_fold(letter) for _, letter in there)
    wanted = "".join(_fold(letter) for letter in passage if letter.isalnum())
    found: set[int] = set()
    at, least = 0, min(_SHORTEST, len(wanted))
    while at < len(wanted):
        # The longest piece from here on that stands on the page: of a piece that does, each beginning does.
        length = bisect_left(range(len(wanted) - at), True, key=lambda n: wanted[at : at + n + 1] not in folded)
        if length >= least:
            start = folded.index(wanted[at : at + length])
            found.update(there[place][0] for place in range(start, start + length))
        at += length if length >= least else 1
    return sorted(found)


def _fold(letter: str) -> str:
    lower = letter.lower()
    return lower if len(lower) == 1 else letter


def find_place(page: Any, left: float, bottom: float, right: float, top: float) -> Box:
    """Return a place in the space of a page as shares of the page as it is shown."""
    shown = pypdfium2.PdfPosConv(page, (0, 0, _SIDE, _SIDE, 0))
    (x, y), (other_x, other_y) = shown.to_bitmap(left, top), shown.to_bitmap(right, bottom)
    return min(x, other_x) / _SIDE, min(y, other_y) / _SIDE, max(x, other_x) / _SIDE, max(y, other_y) / _SIDE


def join_lines(boxes: Sequence[Box]) -> list[Box]:
    """Join the boxes of characters that follow each other on a line, across the page or along it."""
    pairs = list(pairwise(boxes))
    if sum(_share(one[::2], other[::2]) > _BESIDE for one, other in pairs) > len(pairs) / 2:
        return [_turn(box) for box in join_lines([_turn(box) for box in boxes])] if pairs else list(boxes)
    joined: list[Box] = []
    for left, top, right, bottom in boxes:
        last = joined[-1] if joined else (2.0, 2.0, 2.0, 2.0)
        gap = max(left - last[2], last[0] - right)
        if _share(last[1::2], (top, bottom)) > _BESIDE and gap < 3 * (bottom - top):
            joined[-1] = (min(last[0], left), min(last[1], top), max(last[2], right), max(last[3], bottom))
        else:
            joined.append((left, top, right, bottom))
    return joined


def _share(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the part of the shorter of two spans that is in the longer one."""
    shorter = min(one[1] - one[0], other[1] - other[0])
    return (min(one[1], other[1]) - max(one[0], other[0])) / shorter if shorter > 0 else 0.0


def _turn(box: Box) -> Box:
    left, top, right, bottom = box
    return top, left, bottom, right


@contextmanager
def _open(path: str) -> Iterator[Any]:
    with closing(import_extra("pypdfium2", "showing the pages of PDFs").PdfDocument(path)) as document:
        yield document
