"""Sentences of a text, as spans that tile it.

>>> text = "Ada lit it. It burned.  Then rain."
>>> [text[start:end] for start, end in split_sentences(text)]
['Ada lit it. ', 'It burned.  ', 'Then rain.']
"""

from __future__ import annotations

import re
from typing import Final

# A sentence ends with its mark and the blanks after it, at a blank line, or before a heading, a list item or a row.
_END: Final = re.compile(
    r"(?:(?<!\b[A-Z])(?<!\b(?:Mr|Dr|St|No|vs))(?<!\b(?:Mrs|etc|e\.g|i\.e))[.!?…][\"'”’)\]]*\s+(?=[\"'“‘(\[]?[^a-z\s])"
    r"|[。！？；][”’」』）]*\s*|\n\s*\n\s*|\n(?=\s*(?:[-*•·#|]|\(?\d{1,3}[.)])\s))"
)
# A longer piece without an end is cut at a comma, a line or a blank.
_LONGEST: Final = 400
_SOFT_END: Final = (re.compile(r"[;,，、:：]\s*"), re.compile(r"\s+"))


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the spans of the sentences; together they are the whole text."""
    ends = [match.end() for match in _END.finditer(text)]
    spans: list[tuple[int, int]] = []
    start = 0
    for end in (*ends, len(text)):
        while end - start > _LONGEST:
            cut = _find_soft_end(text, start, start + _LONGEST)
            spans.append((start, cut))
            start = cut
        if end > start:
            spans.append((start, end))
            start = end
    return spans


def _find_soft_end(text: str, start: int, end: int) -> int:
    """Return the last comma or blank in the second half of the piece, else its end."""
    half = (start + end) // 2
    for pattern in _SOFT_END:
        cuts = [match.end() for match in pattern.finditer(text, half, end)]
        if cuts:
            return cuts[-1]
    return end
