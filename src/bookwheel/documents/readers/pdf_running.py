"""Find what a PDF prints again on page after page: running titles, footers, page numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.documents.readers.pdf_layout import Fragment

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
                places.setdefault((_key(fragment), round(fragment.bottom / 3)), []).append((number, at))
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
        _key(fragment)
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
            and _key(fragment) in written
            and any(fragment.is_level(other) for other in beside)
        }


def _key(fragment: Fragment) -> str:
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
