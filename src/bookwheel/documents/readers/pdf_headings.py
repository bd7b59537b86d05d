"""Mark the lines of a PDF page that its outline names as headings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bookwheel.documents.readers.pdf_hyphens import Hyphens
    from bookwheel.documents.readers.pdf_layout import TextLine

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
    found = list(_iterate_titles(lines, _key(title)))
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
            text += _key(lines[end].text)
            if lines[end].text.startswith("#") or len(text) > len(wanted) + _NUMBERING:
                break
            if text.endswith(wanted):
                if len(text) == len(wanted) or end == first or _NUMERAL.search(lines[first].text):
                    yield first, end + 1
                break


def _key(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())
