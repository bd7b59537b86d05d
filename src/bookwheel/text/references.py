r"""Where a text lists what it cites: titles of other works, which answer nothing about this one.

A list begins at a line that says so and goes on as long as its lines have years, pages or addresses every few lines.

>>> text = "It works.\n\nReferences\n[1] A. Lark. Tides. 2019.\n[2] B. Hale. Lamps. In Proceedings, pages 1-9."
>>> [text[start:end][:14] for start, end in find_references(text)]
['[1] A. Lark. T']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_TITLE: Final = re.compile(
    r"^(?:[#*]|[^\S\n])*+(?:(?:\d+|[IVX]+|[A-Z])\.?\s+)?"
    r"(?:references(?: and notes)?|reference list|bibliography|works cited|literature(?: cited)?|"
    r"literatur(?:verzeichnis)?|r[ée]f[ée]rences|bibliographie|bibliograf[íi]a|参\s*考\s*文\s*献|參考文獻)[\s:：*]*$",
    re.IGNORECASE | re.MULTILINE,
)
_SIGN: Final = re.compile(
    r"\b(?:1[89]|20)\d\d[a-z]?\b|\barxiv\b|\bdoi\b|https?://|\bet al\b|\bpp?\.\s?\d|\bpages \d|\bproceedings\b|"
    r"\bproc\.|\bvol\.|\bno\. ?\d|\bisbn\b|^\s*\[\d+\]|\[[JMCDNR](?:/OL)?\]",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(r"\s*(?:#{1,6}\s|appendi(?:x|ces)\b|supplement|附\s*录)", re.IGNORECASE)
# Lines of an entry at most: a list has a sign in each so many lines.
_ENTRY: Final = 16
_LEAST_SIGNS: Final = 2


def find_references(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the lists of a text, without their titles."""
    done = 0
    for title in _TITLE.finditer(text):
        if title.start() < done:
            continue
        start = end = at = title.end() + 1
        signs = since = 0
        for line in _read_lines(text, start):
            at += len(line)
            if _HEADING.match(line) or _TITLE.match(line):
                break
            since += bool(line.strip())
            if _SIGN.search(line):
                signs, since, end = signs + 1, 0, at
            elif since > _ENTRY:
                break
        if signs >= _LEAST_SIGNS:
            yield start, end
            done = end


def _read_lines(text: str, start: int) -> Iterator[str]:
    """Yield the lines from a place on, one by one: most lists are short, and a text may have many."""
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end
