"""Numbers and dates in one form, however a text writes them: digits, and the day before the month.

    12,400, 3.50                          12400, 3.5
    twenty-one, two hundred and five      21, 205
    5 million, two thousand               5000000, 2000
    nineteen fifty-three                  1953
    third, twenty-first                   3rd, 21st
    July 14, 1953; 14th July 1953         14 july 1953
    1953-07-14                            14 july 1953
    二〇〇八, 三百二十, 百分之五             2008, 320, 5%

"one" alone stays a word: it is more often a pronoun than a number.

>>> find_dates("signed on 30 June 2027, or June 30th, 2027; 2027年6月30日; 30.06.2027")
['2027-06-30']
>>> find_dates("06/07/2027")
[]

A date that two countries read differently is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text import lexicon
from bookwheel.text.chinese_numbers import (
    CHINESE_MEASURES,
    parse_chinese_numbers,
    parse_cjk_number,
    write_chinese_amounts,
)

_HUNDRED: Final = 100
_VALUE: Final = {
    word: int(value) for word, value in lexicon.NUMBER_WORDS.items() if int(value) < _HUNDRED and word != "dozen"
}
_POWER: Final = {"hundred": _HUNDRED, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ORDINAL: Final = {
    "third": "3rd",
    "fifth": "5th",
    "eighth": "8th",
    "ninth": "9th",
    "twelfth": "12th",
    "twentieth": "20th",
    "thirtieth": "30th",
} | {f"{word}th": f"{value}th" for word, value in _VALUE.items() if value in {4, 6, 7, 10, 11, *range(13, 20)}}
# Only after a number: alone they are an adjective and a unit of time.
_AFTER_TENS: Final = {"first": "1st", "second": "2nd"}
_DIGITS: Final = compile_late(r"\d+(?:\.\d+)?")
_DAY: Final = compile_late(r"(\d{1,2})(?:st|nd|rd|th)?")
_ISO: Final = compile_late(r"(\d{4})")
_AMOUNT: Final = compile_late(
    r"(?<![\w.,])(?:(?P<sign>[-−])(?:[$£€¥](?=\s?\d))?)?\s?(?P<whole>\d[\d.,'’\u00a0]*(?! ?/)(?!\d))?\s*"
    r"(?:(?P<over>\d+)/(?P<under>\d+))?(?![\d/])"
)
# Of book-keeping: (1,234.50); 1.234,50-. The years 1990- are none.
_IN_RED: Final = compile_late(r"\s*\W?\([^()]*\)\s*|[^-−]*\d[.,]\d\d ?[-−](?: ?(?:[A-Z]{3}|[€$£¥]))?\s*")
_SCALES: Final = {
    **{word: float(power) for word, power in _POWER.items()},
    "k": 1e3,
    "bn": 1e9,
    # In German, French, Spanish and Italian, each with its ends.
    "tausend": 1e3,
    "milliard": 1e9,
    "mill": 1e6,
}
_SCALE: Final = compile_late(
    r"\s*(thousand|million|billion|trillion|k\b|bn\b|tausend|milliard(?=(?:en?|s|i|o)?\b)|mill(?=[oó]n(?:es)?\b))",
    re.IGNORECASE,
)
# 5.9 ± 0.3; h^-1; 10⁶; 3.1 × 10^6, 1.5e-3; 1 900.
_ERROR: Final = compile_late(r"\s?(?:±|\+/-|\\pm)\s?\d[\d.,]*")
_RAISED: Final = compile_late("(?<=[\\w)])[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_LEVEL: Final = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")
_OF_UNITS: Final = compile_late(r"(?<=[^\W\d_])\^[-−+]?\d+")
_POWERS: Final = compile_late(
    r"(?:(\d+(?:[.,]\d+)?)\s?[×x·*]\s?)?(?<!\d)10\^([-−+]?\d{1,2})(?!\d)|(?<![\w.])(\d+(?:\.\d+)?)e([-+]?\d{1,2})(?!\w)",
    re.IGNORECASE,
)
_SPACED: Final = compile_late(r"(?<![\d.,] )(?<![\d.,])[1-9]\d{0,2}(?: \d{3})+(?![\d ]?\d)")
_LEAST_SPELLED: Final = 4
_TEEN: Final = 10
_LAST_DAY: Final = 31
_MONTHS_A_YEAR: Final = 12
_MONTH: Final = rf"({lexicon.MONTH})\.?"
# German, French, Spanish and Italian, where a day stands before and a year behind them.
_OTHER_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            *("januar jänner janvier enero gennaio", "februar février febrero febbraio", "märz mars marzo"),
            *("april avril abril aprile", "mai mayo maggio", "juni juin junio giugno", "juli juillet julio luglio"),
            *("august août agosto", "september septembre septiembre settembre", "oktober octobre octubre ottobre"),
            *("november novembre noviembre", "dezember décembre diciembre dicembre"),
        ),
        start=1,
    )
    for name in names.split()
}
_DATES: Final = (
    (compile_late(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)"), "ymd"),
    (compile_late(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]"), "ymd"),
    (
        compile_late(rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+{_MONTH},?\s+(\d{{4}})(?!\d)", re.IGNORECASE),
        "dmy",
    ),
    (compile_late(rf"\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})(?!\d)", re.IGNORECASE), "mdy"),
    (
        compile_late(
            rf"(?<!\d)(\d{{1,2}})(?:\.|er|º)?\s+(?:de\s+)?({'|'.join(_OTHER_MONTHS)})\s+(?:de\s+)?(\d{{4}})(?!\d)",
            re.IGNORECASE,
        ),
        "dmy",
    ),
    (compile_late(r"(?<!\d)(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)"), "dmy"),
    (compile_late(r"(?<!\d)(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)"), "d/m/y"),
)
_DAYS: Final = (
    compile_late(rf"(?<!\d)(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<m>{lexicon.MONTH})\b", re.IGNORECASE),
    compile_late(rf"\b(?P<m>{lexicon.MONTH})\.?\s+(?P<d>\d{{1,2}})(?!\d)", re.IGNORECASE),
    compile_late(r"(?<!\d)(?P<m>\d{1,2})\s*月\s*(?P<d>\d{1,2})\s*[日号]"),
)
# A count of things; "一" before 定 or 般 is none.
_ONE_MEASURE: Final = compile_late(rf"(?<![一二三四五六七八九十百千万亿两第])一(?=[{CHINESE_MEASURES}])")
_ALONE: Final = compile_late(r"\s*(one|[〇零一二三四五六七八九十两])\s*", re.IGNORECASE)
_NUMBER_WORD: Final = "|".join(sorted({*_VALUE, *_POWER, *_ORDINAL, *_AFTER_TENS}, key=len, reverse=True))
_SPELLED: Final = compile_late(
    rf"\b(?!(?:second|{'|'.join(_POWER)})\b)(?:{_NUMBER_WORD})(?:(?:\s+and\s+|[\s-]+)(?:{_NUMBER_WORD}))*\b",
    re.IGNORECASE,
)
_SPELLED_WORD: Final = compile_late(r"[a-z]+")
_FIRST_OF_MONTH: Final = compile_late(rf"\b(?:first|second)\b(?=\s+(?:of\s+)?{_MONTH})", re.IGNORECASE)
_AFTER_HAN: Final = compile_late(r"(?<=[\u2e80-\u9fff])(?=\d)")


def parse_ones(word: str) -> int:
    """Return the value of a word from one to nine, else 0."""
    value = lexicon.NUMBER_WORDS.get(word.casefold(), "")
    return int(value) if len(value) == 1 else 0


def compose_numbers(tokens: list[str], pause: str) -> list[str]:
    """Replace numbers in words by digits; `pause` is a token that no number reaches across."""
    composed: list[str] = []
    at = 0
    while at < len(tokens):
        text, used = _read_number(tokens, at, pause)
        composed.append(text)
        at += used
    return composed


def _read_number(tokens: list[str], at: int, pause: str) -> tuple[str, int]:
    """Return the token or number at this place, and how many tokens it takes."""
    if used := _count_spelled(tokens, at):
        return "".join(str(_VALUE[token]) for token in tokens[at : at + used]), used
    if tokens[at] not in _VALUE and tokens[at] not in _POWER:
        return _read_scaled(tokens, at)
    total = section = used = 0
    last = 0
    while at + used < len(tokens) and (word := tokens[at + used]) != pause:
        if word == "and" and used and last >= _HUNDRED and _VALUE.keys() & tokens[at + used + 1 : at + used + 2]:
            used += 1
            continue
        value, power = _VALUE.get(word), _POWER.get(word)
        if value is not None:
            # "twenty one" is one number, "one two" are two.
            if used and last < _HUNDRED and not (last >= 2 * _TEEN and 0 < value < _TEEN):
                break
            section, last = section + value, value
        elif power == _HUNDRED:
            section, last = (section or 1) * power, power
        elif power is not None:
            total, section, last = total + (section or 1) * power, 0, power
        else:
            break
        used += 1
    return _finish_number(tokens, at, used, total + section)


def _finish_number(tokens: list[str], at: int, used: int, value: int) -> tuple[str, int]:
    following = tokens[at + used] if at + used < len(tokens) else ""
    if used == 1 and tokens[at] == "one":
        return "one", 1
    if value and value % _TEEN == 0 and following in _AFTER_TENS | _ORDINAL.keys() and tokens[at] not in _POWER:
        ones = _DAY.fullmatch((_AFTER_TENS | _ORDINAL)[following])
        if ones and int(ones[1]) < _TEEN:
            return f"{value + int(ones[1])}{ones[0][len(ones[1]) :]}", used + 1
    if used == 1 and _TEEN < value < 2 * _TEEN + 1 and _VALUE.get(following, 0) >= _TEEN:
        # A year in two halves: nineteen fifty-three.
        rest, more = _read_number(tokens, at + 1, "")
        if len(rest) == 2:  # noqa: PLR2004 - two digits
            return f"{value}{rest}", more + 1
    return str(value), used


def _read_scaled(tokens: list[str], at: int) -> tuple[str, int]:
    """Return "5 million" in digits, an ordinal in digits, or the token as it is."""
    power = _POWER.get(tokens[at + 1]) if at + 1 < len(tokens) else None
    if power and _DIGITS.fullmatch(tokens[at]):
        value = float(tokens[at]) * power
        if value.is_integer():
            return str(int(value)), 2
    return _ORDINAL.get(tokens[at], tokens[at]), 1


def _count_spelled(tokens: list[str], at: int) -> int:
    """Return the length of a number that is spelled digit by digit; 0 where there is none."""
    end = at
    while end < len(tokens) and _VALUE.get(tokens[end], _TEEN) < _TEEN:
        end += 1
    return end - at if end - at >= _LEAST_SPELLED else 0


def order_dates(tokens: list[str]) -> list[str]:
    """Put the day before the month, and both before the year."""
    ordered = list(tokens)
    for at in range(len(ordered) - 1):
        first, second = ordered[at], ordered[at + 1]
        day = _DAY.fullmatch(second)
        is_taken = at > 0 and _DAY.fullmatch(ordered[at - 1]) is not None
        if first in lexicon.MONTHS and day and int(day[1]) <= _LAST_DAY and not is_taken:
            ordered[at], ordered[at + 1] = day[1], first
        elif second in lexicon.MONTHS and (day := _DAY.fullmatch(first)):
            ordered[at] = day[1]
        elif _ISO.fullmatch(first) and at + 2 < len(ordered):
            _, month, day_ = ordered[at : at + 3]
            is_date = len(month) == len(day_) == 2 and month.isdigit() and day_.isdigit()  # noqa: PLR2004 - two digits
            if is_date and 1 <= int(month) <= _MONTHS_A_YEAR and 1 <= int(day_) <= _LAST_DAY:
                ordered[at : at + 3] = [str(int(day_)), lexicon.MONTH_NAMES[int(month) - 1], first]
    return ordered


def read_amount(text: str) -> float | None:
    """Return the one number that a text gives, in whichever country's signs; None where it gives none or several.

    >>> [read_amount(text) for text in ("12 crowns", "1½ lb", "3/4 tsp", "€1.234,50", "(1,234.50)", "三百二十元")]
    [12.0, 1.5, 0.75, 1234.5, -1234.5, 320.0]
    >>> [read_amount(text) for text in ("twelve thousand five hundred pounds", "壹万贰仟元整", "共两箱", "1.2万")]
    [12500.0, 12000.0, 2.0, 12000.0]
    >>> [read_amount(text) for text in ("-£280", "312,40-", "十万元", "百万人", "十万火急")]
    [-280.0, -312.4, 100000.0, 1000000.0, None]
    >>> [read_amount(text) for text in ("2–3", "2 × 45", "some")]
    [None, None, None]
    >>> [read_amount(text) for text in ("5.9 ± 0.3 kg", "3.1 × 10^6", "2×10⁻³", "1.5e-3 mol", "1 900 SEK", "0.4 h^-1")]
    [5.9, 3100000.0, 0.002, 0.0015, 1900.0, 0.4]
    """
    if alone := _ALONE.fullmatch(text):
        return float(parse_ones(alone[1]) or parse_cjk_number(alone[1]))
    plain = unify_numbers(_write_plainly(text))
    found = [match for match in _AMOUNT.finditer(plain) if match[0].strip()]
    if len(found) != 1:
        return None
    value = _read_value(found[0], plain)
    return -value if value and _IN_RED.fullmatch(plain) else value


def _write_plainly(text: str) -> str:
    """Return a value as science writes it without its error, its powers of ten and the blanks between its thousands."""
    text = _RAISED.sub(lambda found: f"^{found[0].translate(_LEVEL)}", text)
    text = _OF_UNITS.sub("", _ERROR.sub("", text))
    text = _SPACED.sub(lambda found: found[0].replace(" ", ""), text)

    def write(found: re.Match[str]) -> str:
        mantissa, power = found[1] or found[3] or "1", found[2] or found[4]
        return f"{Decimal(mantissa.replace(',', '.')).scaleb(int(power.replace('−', '-'))):f}"

    return _POWERS.sub(write, text)


def list_amounts(text: str) -> set[float]:
    """Return all numbers of a text without their signs, in digits or in words.

    >>> sorted(list_amounts("forty-two meters at 8,75 € each, 违约金５０元, 三十把"))
    [8.75, 30.0, 42.0, 50.0]
    """
    return set(map(abs, list_signed(text)))


def list_signed(text: str) -> set[float]:
    plain = unify_numbers(text)
    values = (_read_value(match, plain) for match in _AMOUNT.finditer(plain) if match[0].strip())
    return {value for value in values if value is not None}


def _read_value(found: re.Match[str], plain: str) -> float | None:
    sign, whole, over, under = found.group("sign", "whole", "over", "under")
    value = _read_separators(whole) if whole else 0.0
    if value is None or (under and not int(under)):
        return None
    value += int(over) / int(under) if under else 0.0
    if scale := _SCALE.match(plain, found.end()):
        value *= _SCALES[scale[1].lower()]
    return -value if sign else value


def unify_numbers(text: str) -> str:
    """Return a text with its numbers in Arabic digits: those in words, in Chinese signs and in wide ones.

    >>> unify_numbers("forty-two by the first of July; 人民币伍仟元，３箱")
    '42 by the 1st of July; 人民币 5000元,3箱'
    """
    if not text.isascii():
        # A sign such as ½ stands close to the number before it.
        text = "".join(f" {sign}" if "⁄" in unicodedata.normalize("NFKC", sign) else sign for sign in text)
    text = parse_chinese_numbers(unicodedata.normalize("NFKC", text).replace("⁄", "/"))
    text = write_chinese_amounts(_ONE_MEASURE.sub("1", text))
    text = _FIRST_OF_MONTH.sub(lambda found: _AFTER_TENS[found[0].lower()], text)
    text = _SPELLED.sub(lambda found: " ".join(compose_numbers(_SPELLED_WORD.findall(found[0].lower()), "")), text)
    return _AFTER_HAN.sub(" ", text)


def _read_separators(digits: str) -> float | None:
    """Return the number of digits with points, commas and apostrophes between them; None where they say two."""
    plain = re.sub(r"[\s'’]", "", digits).rstrip(".,")
    if re.fullmatch(r"\d+(?:\.\d+)?|\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain):
        return float(plain.replace(",", ""))
    if re.fullmatch(r"\d+,\d{1,2}|\d{1,3}(?:\.\d{3})+(?:,\d+)?", plain):
        return float(plain.replace(".", "").replace(",", "."))
    return None


def find_dates(text: str) -> list[str]:
    """Return the dates of a text as YYYY-MM-DD, each once, in the text's order."""
    return list(dict.fromkeys(day for *_, day in place_dates(unify_numbers(text))))


def list_days(text: str) -> set[str]:
    """Return the days of a text, with or without a year, as MM-DD.

    >>> sorted(list_days("by Friday 12 June; July 3rd; 8月7日"))
    ['06-12', '07-03', '08-07']
    """
    return {day for *_, day in place_days(unify_numbers(text))}


def place_days(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the days of a text, with or without a year: from where to where each stands, and the day as MM-DD."""
    months = [name[:3] for name in lexicon.MONTH_NAMES]
    for found in (match for pattern in _DAYS for match in pattern.finditer(text)):
        month = found["m"] if found["m"].isdigit() else months.index(found["m"][:3].lower()) + 1
        yield *found.span(), f"{int(month):02}-{int(found['d']):02}"


def place_dates(text: str) -> list[tuple[int, int, str]]:
    """Return the dates of a text in its order: from where to where each stands, and the day as YYYY-MM-DD."""
    matches = ((match, order) for pattern, order in _DATES for match in pattern.finditer(text))
    found = sorted((*match.span(), _make_date(order, match.groups())) for match, order in matches)
    return [one for one in found if one[2]]


def _make_date(order: str, parts: tuple[str, ...]) -> str:
    if order == "d/m/y":
        first, second, year = map(int, parts)
        if first <= _MONTHS_A_YEAR and second <= _MONTHS_A_YEAR and first != second:
            return ""
        day, month = (first, second) if second <= _MONTHS_A_YEAR else (second, first)
    else:
        given = dict(zip(order, parts, strict=True))
        year, day = int(given["y"]), int(given["d"])
        named = _OTHER_MONTHS.get(given["m"].lower())
        names = [name[:3] for name in lexicon.MONTH_NAMES]
        month = int(given["m"]) if given["m"].isdigit() else named or 1 + names.index(given["m"][:3].lower())
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""
