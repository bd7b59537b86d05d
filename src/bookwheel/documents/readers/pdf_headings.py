"""Mark the headings of a PDF's outline among the lines of its pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bookwheel.documents.readers.pdf_hyphens import Hyphens
from bookwheel.documents.readers.pdf_layout import TextLine

_MOST_TITLE_LINES: Final = 3
# Letters that a chapter's number may add to its title.
_NUMBERING: Final = 12
# A line above the title is its number, or the end of the text before.
_NUMERAL: Final = re.compile(r"\d|\b[IVXLC]+\b|^\W*[A-Z]\W*$")


_NO_LETTERS: Final = re.compile(r"[\W_]+")


def mark_headings(lines: Sequence[TextLine], outline: Iterable[tuple[int, str]], hyphens: Hyphens) -> list[TextLine]:
    """Return the lines with those of the outline marked as headings."""
    result = list(lines)
    start = 0
    for level, title in outline:
        *_, first, end = min(_find_titles(result, title, start), default=(False, False, 0, 0))
        if end:
            # Its number stands apart from it, as cells do.
            text = " ".join(hyphens.join(result[first:end]).replace(" | ", " ").split())
            heading = TextLine(f"{'#' * min(level, 6)} {text}", begins_paragraph=True)
            after = [TextLine(line.text, begins_paragraph=True) for line in result[end : end + 1]]
            result[first : end + 1] = [heading, *after]
            start = first + 1
    return result


def _find_titles(lines: Sequence[TextLine], title: str, start: int) -> Iterator[tuple[bool, bool, int, int]]:
    """Yield the first and the next line of each place with these letters and perhaps a number before them."""
    # In front of them stands what the choice goes by: whether it is in capitals instead, and above the title before.
    wanted = _title_key(title)
    for first in range(len(lines) if wanted else 0):
        text = ""
        for end in range(first, min(len(lines), first + _MOST_TITLE_LINES)):
            text += _title_key(lines[end].text)
            if lines[end].text.startswith("#") or len(text) > len(wanted) + _NUMBERING:
                break
            if text.endswith(wanted):
                if len(text) == len(wanted) or end == first or _NUMERAL.search(lines[first].text):
                    shown = " ".join(line.text for line in lines[first : end + 1])
                    yield title not in shown, first < start, first, end + 1
                break


def _title_key(text: str) -> str:
    return _NO_LETTERS.sub("", text.lower())
