"""Where figures stand in a text, of what form each is, and by what value those of one form are compared.

>>> [(one.form, one.value) for one in list_figures("9 March 2021: £4.20 for 12 pegs; 90 minutes, 1.4 km on foot")]
[('day', 737858.0), ('gbp', 4.2), ('number', 12.0), ('time', 5400.0), ('m', 1400.0)]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from bookwheel.text.comparisons import TERM, measure
from bookwheel.text.lexicon import MONTH_NAMES, words
from bookwheel.text.numbers import list_amounts, list_days, place_dates
from bookwheel.text.quantities import UNITS, name_units, to_base
from bookwheel.text.ranking import find_stems

DAYS: Final = frozenset({"day", "date", "clock"})
"""The forms of what is before or after: days of one year or of any, and times of day."""
TIME: Final = "time"
"""The form of a length of time."""
NUMBER: Final = "number"
"""The form of a number that has no unit."""
MONEY: Final = frozenset({"gbp", "usd", "eur", "jpy", "cny"})
_SIGNS: Final = {"£": "gbp", "$": "usd", "€": "eur", "¥": "cny", "元": "cny", "块": "cny", "%": "%"}
_MONTH: Final = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTH_NAMES)
_DATE: Final = re.compile(
    rf"(?<!\d)\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH})\b|\b(?:{_MONTH}) \d{{1,2}}(?!\d)|"
    r"(?<!\d)\d{1,2}\s*月\s*\d{1,2}\s*[日号]",
    re.IGNORECASE,
)
# Of a serial number, 1074-5246, the first half is no year; of 1992-2009 it is.
_YEAR: Final = re.compile(
    r"(?<![\d.,£$€¥-])(?P<year>1\d\d\d|20\d\d)(?!\d|[.,]\d|%|-(?!(?:1\d|20)\d\d\b)\d{3}[\dX]\b)"
    r"(?P<before> ?BC\b)?(?: ?(?P<counted>[a-z]{1,12})\b)?"
)
_LEADS_TO_YEAR: Final = re.compile(
    rf"(?:\b(?:in|since|from|until|till|to|of|by|before|after|between|and|around|about|circa|year|born|died|spring|summer|autumn|"
    rf"winter|early|late|an?|the|{_MONTH})|\b(?:c|ca|b|d)\.|[(–—,/-]|[\u3400-\u9fff，。（])\s*$",
    re.IGNORECASE,
)
_AFTER_YEAR: Final = words("and or to by for as with in at on but when while until where which who was is has had")
_TIMES: Final = re.compile(rf"{TERM.pattern}(?:,?\s(?:and\s)?{TERM.pattern})*")
_CLOCK: Final = re.compile(r"(?<![\d:.])(\d{1,2})(?::(\d\d))?(?![:\d]|\.\d) ?(?:([ap])\.?m\b)?", re.IGNORECASE)
_NUMBER: Final = re.compile(
    r"(?P<sign>[£$€¥])? ?(?<![\w.,/-])(?P<minus>minus |零下 ?|负|[-−](?=\d))?"
    r"\d+(?:[.,]\d+)*(?![\d/-]|(?:st|nd|rd|th)\b)(?:\s?(?:thousand|million|billion|trillion|k|bn)\b|[千万亿])?"
    r"(?: ?(?P<share>%)|\s*(?P<counted>[元块]|[^\W\d_]{2,}))?",
    re.IGNORECASE,
)
_RATE: Final = re.compile(
    r"\s?(?:/|per |an? |each |every )\s?(hour|day|week|month|year|night|person|head|litre|metre|kilo|kg|km)|"
    r"/?每?([时天周月年夜人])",
    re.IGNORECASE,
)


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
    taken, found = bytearray(len(text)), list[Figure]()
    for figure in _place(text):
        if not any(taken[figure.start : figure.end]):
            taken[figure.start : figure.end] = b"1" * (figure.end - figure.start)
            found.append(figure)
    return sorted(found)


def _place(text: str) -> Iterator[Figure]:
    """Yield figures, first those that are made of others."""
    for start, end, day in place_dates(text):
        yield from _measure(start, end, "day", day)
    for found in _DATE.finditer(text):
        yield from (Figure(*found.span(), "date", float(day.replace("-", ""))) for day in list_days(found[0]))
    for found in _YEAR.finditer(text):
        if _is_year(found, text):
            value = (
                -365.25 * int(found["year"]) if found["before"] else float(date(int(found["year"]), 1, 1).toordinal())
            )
            yield Figure(*found.span("year"), "day", value)
    for found in _TIMES.finditer(text):
        yield from _measure(*found.span(), TIME, found[0])
    for found in _CLOCK.finditer(text):
        hour, minutes, half = int(found[1]), int(found[2] or 0), (found[3] or "").lower()
        if found[2] or half:
            yield Figure(
                *found.span(), "clock", float(60 * (hour % 12 + 12 * (half == "p") if half else hour) + minutes)
            )
    for found in _NUMBER.finditer(text):
        yield from _read_number(found, text)


def _is_year(found: re.Match[str], text: str) -> bool:
    """Return whether four digits are a year: of "the tank holds 1800 litres" they are a number."""
    counted = found["counted"]
    if counted and (name_units(["1", counted])[1] in UNITS or (counted.endswith("s") and counted not in _AFTER_YEAR)):
        return False
    leads = _LEADS_TO_YEAR.search(text[max(0, found.start() - 12) : found.start()])
    return bool(leads) or found["before"] is not None or not counted or counted in _AFTER_YEAR


def _read_number(found: re.Match[str], text: str) -> Iterator[Figure]:
    counted = found["counted"] or ""
    unit = name_units(["1", counted.lower()])[1]
    end = found.start("counted") if counted else found.end()
    sign = _SIGNS.get(found["sign"] or found["share"] or counted, "")
    # A pound a month is less than a pound a week.
    rate = _RATE.match(text, found.end() if sign or unit in UNITS else end)
    for amount in list_amounts(text[found.start() : end]):
        value, base = to_base(Decimal(str(-amount if found["minus"] else amount)), unit)
        form = sign or (base if unit in UNITS else NUMBER)
        by = f"/{(rate[1] or rate[2]).lower()}" if rate else ""
        yield Figure(found.start(), end, form + by, float(value), next(iter(find_stems(counted)), ""))


def _measure(start: int, end: int, form: str, written: str) -> Iterator[Figure]:
    value = measure(written)
    if value is not None:
        yield Figure(start, end, form, value)
