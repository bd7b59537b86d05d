"""Where figures stand in a text, of what form each is, and by what value those of one form are compared.

>>> [(one.form, one.value) for one in list_figures("9 March 2021: £4.20 for 12 pegs; 90 minutes, 1.4 km on foot")]
[('day', 737858.0), ('£', 4.2), ('number', 12.0), ('time', 5400.0), ('m', 1400.0)]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, NamedTuple

from bookwheel.text.comparisons import TERM, measure
from bookwheel.text.lexicon import MONTH_NAMES
from bookwheel.text.numbers import list_amounts, list_days, place_dates
from bookwheel.text.quantities import UNITS, name_units, to_base
from bookwheel.text.ranking import find_stems

DAYS: Final = frozenset({"day", "date"})
"""The forms of days: of one year, or of any."""
NUMBER: Final = "number"
"""The form of a number that has no unit."""
_SIGNS: Final = "%£$€¥"
_MONTH: Final = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTH_NAMES)
_DATE: Final = re.compile(
    rf"(?<!\d)\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\b|\b(?:{_MONTH}) \d{{1,2}}(?!\d)|"
    r"\d{1,2}\s*月\s*\d{1,2}\s*[日号]",
    re.IGNORECASE,
)
# Of a serial number, 1074-5246, the first half is no year; of 1992-2009 it is.
_YEAR: Final = re.compile(
    r"(?<![\d.,£$€¥-])(?:1\d|20)\d\d(?!\d|,\d|%|-(?!(?:1\d|20)\d\d\b)\d{3}[\dX]\b)(?! ?(?:[a-z]*m|people|pieces)\b)"
)
_TIMES: Final = re.compile(rf"{TERM.pattern}(?:,?\s(?:and\s)?{TERM.pattern})*")
_NUMBER: Final = re.compile(rf"[{_SIGNS[1:]}]? ?(?<![\w.,/-])\d+(?:[.,]\d+)*(?![\d/-])(?: ?%|\s*([^\W\d_]{{2,}}))?")


class Figure(NamedTuple):
    """A figure in a text whose numbers are all in digits (numbers.unify_numbers)."""

    start: int
    end: int
    form: str
    """A day, a date, a time, a currency, the unit of a measure, or a number."""
    value: float
    counted: str = ""
    """The stem of what is counted."""


def list_figures(text: str) -> list[Figure]:
    """Return the figures of a text in its order; no two overlap."""
    found: list[Figure] = []
    for figure in _place(text):
        if all(figure.end <= one.start or one.end <= figure.start for one in found):
            found.append(figure)
    return sorted(found)


def _place(text: str) -> Iterator[Figure]:
    """Yield figures, first those that are made of others."""
    for start, end, day in place_dates(text):
        yield from _measure(start, end, "day", day)
    for found in _DATE.finditer(text):
        yield from (Figure(*found.span(), "date", float(day.replace("-", ""))) for day in list_days(found[0]))
    for found in _YEAR.finditer(text):
        yield from _measure(*found.span(), "day", f"{found[0]}-01-01")
    for found in _TIMES.finditer(text):
        yield from _measure(*found.span(), "time", found[0])
    for found in _NUMBER.finditer(text):
        unit = name_units(["1", (found[1] or "").lower()])[1]
        end = found.start(1) if found[1] else found.end()
        for amount in list_amounts(text[found.start() : end]):
            value, base = to_base(Decimal(str(amount)), unit)
            sign = next((sign for sign in _SIGNS if sign in found[0]), "")
            form = sign or (base if unit in UNITS else NUMBER)
            yield Figure(found.start(), end, form, float(value), next(iter(find_stems(found[1] or "")), ""))


def _measure(start: int, end: int, form: str, written: str) -> Iterator[Figure]:
    value = measure(written)
    if value is not None:
        yield Figure(start, end, form, value)
