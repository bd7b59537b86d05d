"""A page of a PDF as it looks: its picture, and the places of the pictures and drawings on it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, Final

from bookwheel.documents.readers.ocr import has_recogniser
from bookwheel.documents.readers.pdf_calls import calls
from bookwheel.documents.readers.pdf_drawings import Drawing, find_drawings
from bookwheel.documents.readers.pdf_layout import Fragment
from bookwheel.documents.readers.pdf_pages import find_place
from bookwheel.documents.readers.pdf_things import list_things, read_bounds
from bookwheel.documents.readers.pictures import WHOLE
from bookwheel.picture import Box

# Dots per inch at which words are read well; the recogniser makes a longer side smaller.
_RESOLUTION: Final = 200
_LONGEST_DRAWN: Final = 2000
# The shares of a page that a picture on it has at least, that the picture of a scanned page has, and that all of it is.
_LEAST_AREA: Final = 0.004
_SCAN: Final = 0.8
_WHOLE: Final = 0.99
_MOST_ON_PAGE: Final = 24
# Figures drawn on a page of which each is a picture; more are one together.
_MOST_DRAWINGS: Final = 8


class Sheet:
    """A page as it looks, which is drawn once, and only where something on it is shown."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self._left, self._bottom, self._right, self._top = page.get_mediabox()

    @cached_property
    def things(self) -> list[tuple[int, int]]:
        """What is put on it, and of which kind each thing is."""
        return list_things(self.page)

    @cached_property
    def drawn(self) -> Any:
        """Its RGB picture, at a size at which its words are read well."""
        across, down = self.page.get_size()
        scale = min(_RESOLUTION / 72, _LONGEST_DRAWN / max(across, down, 1))
        # Red first, as Pillow has it: the pixels are copied once, not twice.
        with closing(self.page.render(scale=scale, rev_byteorder=True)) as bitmap:
            return bitmap.to_pil().convert("RGB")

    def find_drawings(self, fragments: Sequence[Fragment], height: float) -> list[Drawing]:
        """Return its drawings; none of a page whose words do not stand upright, and of many figures one."""
        if self.page.get_rotation() or abs(height - (self._top - self._bottom)) > 1:
            return []
        found = find_drawings(self.page, self.things, fragments)
        figures = [one.place for one in found if one.is_figure]
        if len(figures) <= _MOST_DRAWINGS:
            return found
        return [Drawing(Fragment.around("", figures), is_figure=True, is_form=True)]

    def find_box(self, place: Fragment) -> Box:
        """Return a place as the shares of the page as it is shown."""
        x, y = self._left, self._bottom
        return _clamp(find_place(self.page, x + place.left, y + place.bottom, x + place.right, y + place.top))

    def cut(self, box: Box) -> Any:
        left, top, right, bottom = box
        across, down = self.drawn.size
        return self.drawn.crop((round(left * across), round(top * down), round(right * across), round(bottom * down)))

    def draw_part(self, place: Fragment) -> tuple[Any, float]:
        """Return the pixels of a place, and how many of them a point has; none where nothing measures pictures."""
        if not has_recogniser():
            return None, 1.0
        import numpy as np

        return np.asarray(self.cut(self.find_box(place))), self.drawn.height / max(self.page.get_size()[1], 1)

    def is_filled(self, place: Fragment) -> bool:
        across, up = self.page.get_size()
        return bool((place.right - place.left) * place.height > _WHOLE * across * up)

    def is_scan(self, box: Box) -> bool:
        return _area(box) > _SCAN

    def find_pictures(self) -> list[Box]:
        """Return the places of the pictures on it, as it is shown, from above."""
        boxes: list[Box] = []
        for bounds in read_bounds([thing for thing, kind in self.things if kind == calls.FPDF_PAGEOBJ_IMAGE]):
            if bounds is None:
                continue
            inside = _clamp(find_place(self.page, *bounds))
            if _area(inside) >= _LEAST_AREA:
                boxes.append(inside)
            if len(boxes) > _MOST_ON_PAGE:
                return [WHOLE]  # a scan in strips or tiles
        return sorted(set(boxes), key=lambda box: (box[1], box[0]))


def _clamp(box: Box) -> Box:
    left, top, right, bottom = (min(max(side, 0.0), 1.0) for side in box)
    return left, top, right, bottom


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
