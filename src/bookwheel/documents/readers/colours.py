"""The colours of a picture: which one a number is written at, the patches of a legend, the circle of a pie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, Final

from bookwheel.documents.damage import LateModule
from bookwheel.documents.readers.pdf_layout import Fragment

np: Final[Any] = LateModule("numpy")

# Of a colour's channels of 256, the difference above which it is another one; what is darker is letters and lines,
# and on a dark ground what is lighter.
_OTHER: Final = 40
_DARK: Final = 90
_LIGHT: Final = 200
# The share of an area that a colour fills at least to count as shown there, and that a pie fills of its circle.
_LEAST_SHOWN: Final = 0.08
_ROUND: Final = 0.8
_LEAST_PIE: Final = 0.04
# Line heights: how far a legend's patch stands from its words, and how wide it may be.
_LEAST_GAP: Final = 0.12
_PATCH_GAP: Final = 1.5
_PATCH_WIDTH: Final = 4.0
# Line heights: how far a bar's foot is from its name at most, and how much of it is seen there at least.
_BAR_GAP: Final = 1.2
_LEAST_FOOT: Final = 0.25
_WRITTEN_ON: Final = 0.4
# Pixels of a line across a bar, or above it; the share of its width that a bar stands beside its name.
_LINE: Final = 3
_ASIDE: Final = 0.7


Colour = tuple[int, int, int]


def find_nearest(colour: Colour, known: Sequence[Colour]) -> int | None:
    """Return the place of the colour that is meant, or None where two are as near, or none is."""
    far = sorted((max(abs(a - b) for a, b in zip(colour, one, strict=True)), at) for at, one in enumerate(known))
    if far[0][0] > _OTHER or (len(far) > 1 and far[1][0] < 2 * far[0][0]):
        return None
    return far[0][1]


def _keep_distinct(entries: dict[Fragment, Colour]) -> dict[Fragment, Colour]:
    """Return entries of a legend; nothing where two have one colour, or one stands alone."""
    colours = [*entries.values()]
    is_told = len(colours) > 1 and all(find_nearest(one, colours) is not None for one in colours)
    return entries if is_told else {}


def _cut(left: float, right: float, bottom: float, top: float) -> tuple[slice, slice]:
    """Return the rows and columns of pixels between places whose heights count from below."""
    rows = slice(max(0, round(-top)), max(0, round(-bottom)))
    return rows, slice(max(0, round(left)), max(0, round(right)))


class Paint:
    """The colours of a picture."""

    def __init__(self, pixels: Any) -> None:
        self._pixels = pixels
        self._height, self._width = pixels.shape[:2]
        border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
        self._ground = np.median(border, axis=0)

    @cached_property
    def _differing(self) -> Any:
        """Whether each pixel has another colour than the ground."""
        return self._has_channel([np.abs(np.arange(256) - level) > _OTHER for level in self._ground])

    @cached_property
    def _shown(self) -> Any:
        """Whether each pixel has a colour: not the ground's, not that of letters and lines."""
        levels = np.arange(256)
        is_dark = self._ground.max() < _DARK
        return self._differing & self._has_channel([levels < _LIGHT if is_dark else levels > _DARK] * 3)

    def _has_channel(self, tables: Sequence[Any]) -> Any:
        """Return for each pixel whether a channel has a level that its table has."""
        return reduce(np.logical_or, (table[self._pixels[..., at]] for at, table in enumerate(tables)))

    def _find_colour(self, area: tuple[slice, slice]) -> Colour | None:
        """Return the colour that fills most of an area, or None where there is little of any."""
        is_shown = self._shown[area]
        shown = self._pixels[area][is_shown]
        if len(shown) == 0 or len(shown) < _LEAST_SHOWN * is_shown.size:
            return None
        steps, counts = np.unique(shown // 16, axis=0, return_counts=True)
        most = (shown // 16 == steps[counts.argmax()]).all(axis=1)
        red, green, blue = np.median(shown[most], axis=0)
        return int(red), int(green), int(blue)

    def find_beside(self, number: Fragment, *, is_down: bool) -> Colour | None:
        """Return the colour of what a number is written at: before it or below it, else behind it."""
        high, middle = number.height, (number.left + number.right) / 2
        if is_down:
            near = _cut(number.left - high, number.left - 0.1 * high, number.bottom, number.top)
        else:
            near = _cut(middle - 0.4 * high, middle + 0.4 * high, number.bottom - high, number.bottom)
        return self._find_colour(near) or self.find_behind(number)

    def find_behind(self, number: Fragment) -> Colour | None:
        return self._find_colour(_cut(number.left, number.right, number.bottom, number.top))

    def has_bars(self, names: Sequence[Fragment], *, is_down: bool) -> bool:
        """Return whether a bar stands on each name of a row, or begins at each of a column, with ground between."""
        # What is written on a bar is no name of it.
        behind = (self._shown[_cut(f.left, f.right, f.bottom, f.top)] for f in names)
        if any(not area.size or area.mean() > _WRITTEN_ON for area in behind):
            return False
        high = max(f.height for f in names)
        left, right = min(f.left for f in names), max(f.right for f in names)
        bottom, top = min(f.bottom for f in names), max(f.top for f in names)
        # Its rows lead away from the names, its columns along them.
        if is_down:
            area = self._shown[_cut(right, right + _BAR_GAP * high, bottom, top)].T
            places = sorted(top - (f.bottom + f.top) / 2 for f in names)
        else:
            area = self._shown[_cut(left, right, top, top + _BAR_GAP * high)]
            places = sorted((f.left + f.right) / 2 - left for f in names)
        half = 0.4 * high
        feet = [area[:, max(0, round(at - half)) : round(at + half) + 1].all(axis=1) for at in places if area.size]
        if len(feet) < 2 or min(foot.sum() for foot in feet) < _LEAST_FOOT * high:  # noqa: PLR2004
            return False
        # A line of a grid may run through all feet.
        ground = [area[foot].mean(axis=0) < 0.5 for foot in feet]  # noqa: PLR2004
        spans = pairwise(map(round, places))
        return all(beside[a:b].sum() > half for beside, (a, b) in zip(ground, spans, strict=False))

    def find_ends(self, names: Sequence[Fragment], *, is_down: bool) -> list[float]:
        """Return where the bar of each name ends; nothing where one is not of one colour, or stands beside another."""
        # Rows lead away from the names, columns along them.
        pixels, shown = (one.swapaxes(0, 1) if is_down else one[::-1] for one in (self._pixels, self._shown))
        ends = []
        for f in names:
            middle = round(-(f.bottom + f.top) / 2 if is_down else (f.left + f.right) / 2)
            foot, half = round(f.right if is_down else self._height + f.top), round(0.3 * f.height)
            rows = np.flatnonzero(shown[foot:, max(0, middle - half) : middle + half + 1].mean(axis=1) > 0.5)  # noqa: PLR2004
            parts = np.split(rows, np.flatnonzero(np.diff(rows) > _LINE) + 1)
            # What is drawn farther away, but for the lines of a grid, may be a part of it.
            if not rows.size or any(len(part) > _LINE for part in parts[1:]):
                return []
            row = foot + int(parts[0][len(parts[0]) // 2])
            left, right = (int(np.argmin(side)) for side in (shown[row, : middle + 1][::-1], shown[row, middle:]))
            inside = np.concatenate([pixels[foot + parts[0], middle], pixels[row, middle - left + 1 : middle + right]])
            others = np.abs(inside.astype(np.int16) - np.median(inside, axis=0)).max(axis=1) > _OTHER
            if others.mean() > _LEAST_SHOWN or abs(left - right) > _ASIDE * (left + right):
                return []
            end = foot + int(parts[0][-1]) + 1
            ends.append(float(end if is_down else end - self._height))
        return ends

    def find_legend(self, fragments: Sequence[Fragment]) -> dict[Fragment, Colour]:
        """Return the fragments with a patch of colour before them, each of another one; nothing where one repeats."""
        patches = {f: colour for f in fragments if (colour := self._find_patch(f))}
        columns = [[f for f in patches if abs(f.left - first.left) < first.height / 2] for first in patches]
        lines = [[f for f in patches if f.is_level(first)] for first in patches]
        entries = max((*columns, *lines), key=len, default=[])
        return _keep_distinct({f: patches[f] for f in entries})

    def find_inks(self, fragments: Sequence[Fragment]) -> dict[Fragment, Colour]:
        """Return the words that are written in colours, each in another one, as a line's name beside it may be."""
        inks = {f: self.find_behind(f) for f in fragments if any(map(str.isalpha, f.text))}
        return _keep_distinct({f: ink for f, ink in inks.items() if ink and max(ink) - min(ink) > _OTHER})

    def _find_patch(self, fragment: Fragment) -> Colour | None:
        """Return the colour of a patch that begins and ends before a fragment, on its line."""
        high, middle = fragment.height, (fragment.bottom + fragment.top) / 2
        wide = (_PATCH_GAP + _PATCH_WIDTH + 0.5) * high
        rows, columns = _cut(fragment.left - wide, fragment.left - 1, middle - 0.15 * high, middle + 0.15 * high)
        area = self._shown[rows, columns]
        if not area.size:
            return None
        shown = area.mean(axis=0) > 0.3  # noqa: PLR2004
        places = [at for at, is_shown in enumerate(shown[::-1].tolist()) if is_shown]
        if not places or not _LEAST_GAP * high < places[0] < _PATCH_GAP * high:
            return None
        first = places[0]
        width = next((n for n, at in enumerate(places) if at != first + n), len(places))
        if not 0.3 * high < width < _PATCH_WIDTH * high or first + width >= len(shown):
            return None
        end = columns.start + len(shown) - first
        return self._find_colour((rows, slice(end - width, end)))

    def find_circle(self) -> tuple[float, float, float] | None:
        """Return the middle and the radius of a pie, or None where no shape is as round and as large as one."""
        import cv2

        shapes, _ = cv2.findContours(self._differing.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        for shape in sorted(shapes, key=cv2.contourArea, reverse=True)[:3]:
            (x, y), radius = cv2.minEnclosingCircle(shape)
            area = cv2.contourArea(shape)
            if area > max(_ROUND * math.pi * radius**2, _LEAST_PIE * self._width * self._height):
                return x, -y, radius
        return None
