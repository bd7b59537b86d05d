"""What is put on a page of a PDF: the kinds, the bounds and the colours of things, and whether it has words unseen.

A thing is an address, and each question is put to all things of a page at once (`pdf_calls`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import chain, islice, repeat
from typing import Any, Final

from bookwheel.documents.readers.pdf_calls import calls, find_address, iterate_addresses

Bounds = tuple[float, float, float, float]
# Channels of 256 from which on a colour is white.
_WHITE: Final = 241
# What is drawn on a page, at most, for its words to be looked at; squares along each side; points of a thin line.
_MOST_OBJECTS: Final = 20_000
_SQUARES: Final = 64
_THIN: Final = 4.0


def list_things(page: Any, most: int | None = None) -> list[tuple[int, int]]:
    """Return what is put on a page, at most so many things, and of which kind each is."""
    owner = find_address(page)
    return _list(calls.FPDFPage_GetObject, owner, calls.FPDFPage_CountObjects(owner), most)


def list_inside(form: int, most: int) -> list[tuple[int, int]]:
    return _list(calls.FPDFFormObj_GetObject, form, calls.FPDFFormObj_CountObjects(form), most)


def _list(get: Any, owner: int, count: int, most: int | None) -> list[tuple[int, int]]:
    things = list(map(get, repeat(owner), islice(range(count), most)))
    return list(zip(things, map(calls.FPDFPageObj_GetType, things), strict=True))


def ask_all(get: Any, things: Sequence[int], kind: Any, count: int) -> Iterator[tuple[Any, ...] | None]:
    """Yield the values that PDFium tells of each thing, so many of a C type; None where it tells none."""
    told, columns = _ask_columns(get, things, kind, count)
    return (row if is_told else None for row, is_told in zip(zip(*columns, strict=True), told, strict=True))


def _ask_columns(get: Any, things: Sequence[int], kind: Any, count: int) -> tuple[list[int], list[list[Any]]]:
    columns = [(kind * len(things))() for _ in range(count)]
    told = list(map(get, things, *map(iterate_addresses, columns)))
    return told, [column[:] for column in columns]


def read_bounds(things: Sequence[int]) -> Iterator[Bounds | None]:
    """Yield the left, bottom, right and top of each thing."""
    return ask_all(calls.FPDFPageObj_GetBounds, things, ctypes.c_float, 4)


def are_pale(things: Sequence[int], white: int) -> list[bool]:
    """Tell of each thing if the colour that fills it is clear, or has no channel below `white`."""
    told, colours = _ask_columns(calls.FPDFPageObj_GetFillColor, things, ctypes.c_uint, 4)
    if max(colours[0], default=0) < white and all(colours[3]):  # as on most pages, which may have a thing per letter
        return [False] * len(things)
    rows = zip(told, *colours, strict=True)
    return [bool(is_told and (min(channels) >= white or not clear)) for is_told, *channels, clear in rows]


def has_unseen_words(page: Any, things: Sequence[tuple[int, int]]) -> bool:
    """Tell if a page has words that are not drawn, clear or white, where nothing is painted: no picture and no area."""
    # The page is looked at in squares; what stands inside of forms, and a page of very many objects, are not looked at.
    if len(things) > _MOST_OBJECTS:
        return False
    kind_of_text = calls.FPDF_PAGEOBJ_TEXT
    texts = [thing for thing, kind in things if kind == kind_of_text]
    modes = list(map(calls.FPDFTextObj_GetTextRenderMode, texts))
    pale = are_pale(texts, _WHITE)
    if not any(pale) and calls.FPDF_TEXTRENDERMODE_INVISIBLE not in modes:
        return False
    unseen = [
        text
        for text, mode, is_pale in zip(texts, modes, pale, strict=True)
        if mode == calls.FPDF_TEXTRENDERMODE_INVISIBLE or (is_pale and mode == calls.FPDF_TEXTRENDERMODE_FILL)
    ]
    frame = page.get_mediabox()
    words = _find_squares(unseen, frame)
    painted = [0] * _SQUARES
    for row, across in chain.from_iterable(_find_squares(_list_areas(things), frame) if any(words) else ()):
        painted[row] |= across
    return any(squares and not any(painted[row] & across for row, across in squares) for squares in words)


def _list_areas(things: Sequence[tuple[int, int]]) -> list[int]:
    """Return what may be a ground: all but text and thin lines."""
    paths = [thing for thing, kind in things if kind == calls.FPDF_PAGEOBJ_PATH]
    modes, widths = (
        ask_all(calls.FPDFPath_GetDrawMode, paths, ctypes.c_int, 2),
        ask_all(calls.FPDFPageObj_GetStrokeWidth, paths, ctypes.c_float, 1),
    )
    lines = {
        path
        for path, mode, width in zip(paths, modes, widths, strict=True)
        if mode and width and mode[0] == calls.FPDF_FILLMODE_NONE and mode[1] and width[0] <= _THIN
    }
    return [thing for thing, kind in things if kind != calls.FPDF_PAGEOBJ_TEXT and thing not in lines]


def _find_squares(things: Sequence[int], frame: Bounds) -> list[list[tuple[int, int]]]:
    """Return for each thing the rows of squares of a page that it touches, each with a bit for every square."""
    left, bottom, right, top = frame
    sizes = (right - left, top - bottom) * 2
    found: list[list[tuple[int, int]]] = []
    for bounds in read_bounds(things):
        sides = bounds or (left, bottom) * 2
        places = [_SQUARES * (side - frame[at % 2]) / (sizes[at] or 1.0) for at, side in enumerate(sides)]
        if not (places[2] > places[0] and places[3] > places[1]):
            found.append([])
            continue
        low_x, low_y, high_x, high_y = (int(min(max(place, 0.0), _SQUARES - 1)) for place in places)
        across = (1 << (high_x + 1)) - (1 << low_x)
        found.append([(row, across) for row in range(low_y, high_y + 1)])
    return found
