"""Where figures stand in a text, of what form each is, and by what value those of one form are compared.

>>> [(one.form, one.value) for one in list_figures("9 March 2021: £4.20 for 12 pegs; 90 minutes, 1.4 km on foot")]
[('day', 737858.0), ('gbp', 4.2), ('number', 12.0), ('time', 5400.0), ('m', 1400.0)]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple

from bookwheel.text.lexicon import MONTH, words
from bookwheel.text.numbers import find_dates, list_amounts, place_dates, place_days, read_amount
from bookwheel.text.quantities import SYMBOLS, UNITS, name_units, to_base
from bookwheel.text.ranking import find_stems

_DAYS: Final = frozenset({"day", "date", "clock"})
# Beside 元 a sign of both yen and yuan is of yuan.
_SIGNS: Final = SYMBOLS | {"¥": "cny", "元": "cny", "块": "cny", "%": "%"}
_MONEY: Final = frozenset({*_SIGNS.values(), "jpy"} - {"%"})
TERM: Final = re.compile(
    r"(?<!\d)(\d+(?:\.\d+)?) ?(seconds?|secs?|s|minutes?|mins?|min|hours?|hrs?|h|days?|d|weeks?|months?|years?|"
    r"秒|分钟?|小时|[天日]|周|个?月|年)(?![^\W\d_a-zA-Z]|[a-z])"
)
_SECONDS: Final = {"s": 1, "秒": 1, "m": 60, "分": 60, "h": 3600, "小": 3600, "d": 86400, "天": 86400, "日": 86400}
_LONGER: Final = {"w": 7, "周": 7, "mo": 30, "个": 30, "月": 30, "y": 365, "年": 365}
_UNIT: Final = re.compile(r"\d ?([^\W\d_]+)")
_TIME: Final = re.compile(r"(\d{1,2})[:.](\d\d)(?!\d)")
_SPAN: Final = re.compile(r"\s*(\d{1,3}):([0-5]\d)(?::([0-5]\d))?(?:\.\d+)?\s*")
_NOTHING: Final = re.compile(r"free|none|nil|免费|无|没有", re.IGNORECASE)
_NAME: Final = re.compile(
    r"\s*(?!(?:[A-Z]{2,3}|about|from|up to|ca\.?|approx\.?|约|近) ?[\d.,]*\d(?:\D|$))[^\W\d_][^\d]*\d"
)
"""Letters with a number behind them: F-1003, Room 12; but GBP 410 and about 12 are figures."""
# Of a serial number, 1074-5246, the first half is no year; of 1992-2009 it is.
_YEAR: Final = re.compile(
    r"(?:(?<![\d.,£$€¥-])|(?<=\b1\d{3}-)|(?<=\b20\d\d-))(?P<year>1\d\d\d|20\d\d)(?!\d|[.,]\d|%|-(?!(?:1\d|20)\d\d\b)\d{3}[\dX]\b)"
    r"(?P<before> ?BC\b)?(?: ?(?P<counted>[a-z]{1,12})\b)?"
)
_LEADS_TO_YEAR: Final = re.compile(
    rf"(?:\b(?:in|since|from|until|till|to|of|by|before|after|between|and|around|about|circa|year|born|died|spring|summer|autumn|"
    rf"winter|early|late|an?|the|{MONTH})|\b(?:c|ca|b|d)\.|[(–—,/-]|[\u3400-\u9fff，。（])\s*$",
    re.IGNORECASE,
)
_AFTER_YEAR: Final = words("and or to by for as with in at on but when while until where which who was is has had")
_TERMS: Final = re.compile(rf"{TERM.pattern}(?:,?\s(?:and\s)?{TERM.pattern})*")
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


class FigureGroup(StrEnum):
    """What figures measure, as the table of kinds knows them."""

    DAY = "day"
    """What is before or after: days of one year or of any, and times of day."""
    TIME = "time"
    """A length of time."""
    MONEY = "money"
    PERCENT = "percent"
    MEASURE = "measure"
    NUMBER = "number"
    """What has no unit."""


class Figure(NamedTuple):
    """A figure in a text whose numbers are all in digits (numbers.unify_numbers)."""

    start: int
    end: int
    form: str
    """A day, a date, a time, a currency, the unit of a measure, or a number."""
    value: float
    counted: str = ""
    """The stem of what is counted."""

    @property
    def group(self) -> FigureGroup:
        if self.form in _DAYS:
            return FigureGroup.DAY
        # A pound a month is money.
        base = self.form.partition("/")[0]
        if base in _MONEY:
            return FigureGroup.MONEY
        return _GROUPS.get(base, FigureGroup.MEASURE)


_GROUPS: Final = {"time": FigureGroup.TIME, "%": FigureGroup.PERCENT, "number": FigureGroup.NUMBER}


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
    for start, end, day in place_days(text):
        yield Figure(start, end, "date", float(day.replace("-", "")))
    for found in _YEAR.finditer(text):
        if _is_year(found, text):
            value = (
                -365.25 * int(found["year"]) if found["before"] else float(date(int(found["year"]), 1, 1).toordinal())
            )
            yield Figure(*found.span("year"), "day", value)
    for found in _TERMS.finditer(text):
        yield from _measure(*found.span(), "time", found[0])
    for found in _CLOCK.finditer(text):
        if (minutes := _count_minutes(found)) is not None:
            yield Figure(*found.span(), "clock", minutes)
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
        form = sign or (base if unit in UNITS else "number")
        by = f"/{(rate[1] or rate[2]).lower()}" if rate else ""
        yield Figure(found.start(), end, form + by, float(value), next(iter(find_stems(counted)), ""))


def _measure(start: int, end: int, form: str, written: str) -> Iterator[Figure]:
    value = measure(written)
    if value is not None:
        yield Figure(start, end, form, value)


def measure(cell: str, *, ends: bool = False) -> float | None:
    """Return what a cell is compared by: a day, a length of time, a time of day, or its number."""
    if days := find_dates(cell):
        return float(date.fromisoformat(days[0]).toordinal())
    if terms := TERM.findall(cell):
        return sum(float(number) * _count_seconds(unit) for number, unit in terms)
    if times := _list_clocks(cell):
        return times[-1 if ends else 0]
    if _NOTHING.fullmatch(cell.strip()):
        return 0.0
    return None if _NAME.match(cell) else read_amount(cell)


class Scale(StrEnum):
    """On what `measure` puts a cell; only values on one scale are compared."""

    DATE = "date"
    SPAN = "span"
    """A length of time."""
    CLOCK = "clock"
    NUMBER = "number"


def find_scale(cell: str) -> Scale:
    if find_dates(cell):
        return Scale.DATE
    if TERM.search(cell):
        return Scale.SPAN
    return Scale.CLOCK if _list_clocks(cell) else Scale.NUMBER


def measure_span(cell: str, *, is_hours: bool) -> float | None:
    """Return the seconds of a length of time like 12:30, minutes and seconds or hours and minutes, or like 2:05:30."""
    if (found := _SPAN.fullmatch(cell)) is None:
        return None
    first, second, third = (int(part or 0) for part in found.groups())
    return float(60 * (60 * first + second) + third if found[3] or is_hours else 60 * first + second)


def list_units(cells: Iterable[str]) -> set[str]:
    """Return the units of some cells, save those of time: where there are two, their numbers are not compared."""
    written = {found[1].lower() for cell in cells if not TERM.search(cell) and (found := _UNIT.search(cell))}
    return {unit for one in written if (unit := name_units(["1", one])[1]) in UNITS}


def _list_clocks(cell: str) -> list[float]:
    """Return the times of day in a cell, or of "2:05:30" hours and minutes, as minutes."""
    # "Channel 4 am" is a name; "until 4 am" is a time.
    is_name = _NAME.match(cell) and not cell.lstrip()[0].islower()
    places = () if is_name and ":" not in cell else _CLOCK.finditer(cell)
    times = [minutes for found in places if (minutes := _count_minutes(found)) is not None]
    return times or [float(int(hour) * 60 + int(minute)) for hour, minute in _TIME.findall(cell) if ":" in cell]


def _count_minutes(found: re.Match[str]) -> float | None:
    """Return the minutes since midnight of a time of day; None of a number that is none."""
    hour, half = int(found[1]), (found[3] or "").lower()
    if not (found[2] or half):
        return None
    return float(60 * (hour % 12 + 12 * (half == "p") if half else hour) + int(found[2] or 0))


def _count_seconds(unit: str) -> int:
    long = _LONGER.get(unit[:2]) or _LONGER.get(unit[0])
    return long * _SECONDS["d"] if long and unit[:3] != "min" else _SECONDS[unit[0]]
