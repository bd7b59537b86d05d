"""Numbers and dates in one form: digits, and the day before the month.

    twenty-one, two hundred and five      21, 205
    5 million, two thousand               5000000, 2000
    nineteen fifty-three                  1953
    third, twenty-first                   3rd, 21st
    July 14, 1953; 14th July 1953         14 july 1953
    1953-07-14                            14 july 1953
    二〇〇八, 三百二十                      2008, 320

"one" alone stays a word: it is more often a pronoun than a number.
"""

from __future__ import annotations

import re
from typing import Final

from bookwheel.text.lexicon import MONTH_NAMES, MONTHS

_SMALL: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_VALUE: Final = {word: value for value, word in enumerate(_SMALL.split())} | {
    word: 10 * value for value, word in enumerate(_TENS.split(), start=2)
}
_POWER: Final = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
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
_DIGITS: Final = re.compile(r"\d+(?:\.\d+)?")
_DAY: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_ISO: Final = re.compile(r"(\d{4})")
_LEAST_SPELLED: Final = 4
_TEEN: Final = 10
_LAST_DAY: Final = 31
_MONTHS_A_YEAR: Final = 12


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
        if word == "and" and used and last >= _POWER["hundred"] and _is_small(tokens, at + used + 1):
            used += 1
            continue
        value, power = _VALUE.get(word), _POWER.get(word)
        if value is not None:
            if used and not _may_add(last, value):
                break
            section, last = section + value, value
        elif power == _POWER["hundred"]:
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


def _may_add(last: int, value: int) -> bool:
    """Return whether a small number may follow in the same number: "twenty one" but not "one two"."""
    return last >= _POWER["hundred"] or (last >= 2 * _TEEN and 0 < value < _TEEN)


def _is_small(tokens: list[str], at: int) -> bool:
    return at < len(tokens) and tokens[at] in _VALUE


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
        if first in MONTHS and day and int(day[1]) <= _LAST_DAY and not is_taken:
            ordered[at], ordered[at + 1] = day[1], first
        elif second in MONTHS and (day := _DAY.fullmatch(first)):
            ordered[at] = day[1]
        elif _ISO.fullmatch(first) and at + 2 < len(ordered):
            _order_iso(ordered, at)
    return ordered


def _order_iso(tokens: list[str], at: int) -> None:
    year, month, day = tokens[at : at + 3]
    is_date = len(month) == len(day) == 2 and month.isdigit() and day.isdigit()  # noqa: PLR2004 - two digits
    if is_date and 1 <= int(month) <= _MONTHS_A_YEAR and 1 <= int(day) <= _LAST_DAY:
        tokens[at : at + 3] = [str(int(day)), MONTH_NAMES[int(month) - 1], year]


_CHINESE_DIGIT: Final = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_CHINESE_POWER: Final = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
# One sign alone is part of too many words (一定, 三明治); it counts before a word of measure.
_CHINESE: Final = re.compile(
    r"[〇零一二三四五六七八九十百千万亿两]{2,}|[二三四五六七八九十两](?=[年月日号个次岁人位名天条只本])|"
    r"(?<=月)一(?=[日号])|(?<=年)一(?=月)"
)
_NO_NUMBER: Final = frozenset({"万一", "千万", "百万", "十万", "万千", "一一", "万万", "千百", "百十"})


def parse_chinese_numbers(text: str) -> str:
    """Replace numbers in Chinese signs by digits."""
    return _CHINESE.sub(lambda match: match[0] if match[0] in _NO_NUMBER else _parse_chinese(match[0]), text)


def _parse_chinese(text: str) -> str:
    if not any(sign in _CHINESE_POWER for sign in text):
        return "".join(str(_CHINESE_DIGIT[sign]) for sign in text)
    total = section = digit = 0
    for sign in text:
        if sign in _CHINESE_DIGIT:
            digit = _CHINESE_DIGIT[sign]
        elif (power := _CHINESE_POWER[sign]) >= _CHINESE_POWER["万"]:
            total, section, digit = (total + section + digit) * power, 0, 0
        else:
            section, digit = section + (digit or 1) * power, 0
    return str(total + section + digit)
