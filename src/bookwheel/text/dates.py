"""Dates in one form, however a text writes them.

>>> find_dates("signed on 30 June 2027, or June 30th, 2027; 2027年6月30日; 30.06.2027")
['2027-06-30']
>>> find_dates("06/07/2027")
[]

A date that two countries read differently is none.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES: Final = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_LAST_MONTH: Final = 12
_PATTERNS: Final = (
    (re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)"), "ymd"),
    (re.compile(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]"), "ymd"),
    (re.compile(rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+{_NAMES},?\s+(\d{{4}})(?!\d)", re.IGNORECASE), "dmy"),
    (re.compile(rf"\b{_NAMES}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})(?!\d)", re.IGNORECASE), "mdy"),
    (re.compile(r"(?<!\d)(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)"), "dmy"),
    (re.compile(r"(?<!\d)(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)"), "d/m/y"),
)


def find_dates(text: str) -> list[str]:
    """Return the dates of a text as YYYY-MM-DD, each once, in the text's order."""
    found = sorted(_find_all(text))
    return list(dict.fromkeys(day for _, day in found))


def _find_all(text: str) -> Iterator[tuple[int, str]]:
    for pattern, order in _PATTERNS:
        for match in pattern.finditer(text):
            if day := _make(order, match.groups()):
                yield match.start(), day


def _make(order: str, parts: tuple[str, ...]) -> str:
    if order == "d/m/y":
        first, second, year = map(int, parts)
        if first <= _LAST_MONTH and second <= _LAST_MONTH and first != second:
            return ""
        day, month = (first, second) if second <= _LAST_MONTH else (second, first)
    else:
        given = dict(zip(order, parts, strict=True))
        year, day = int(given["y"]), int(given["d"])
        month = int(given["m"]) if given["m"].isdigit() else 1 + _MONTHS.index(given["m"][:3].lower())
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""
