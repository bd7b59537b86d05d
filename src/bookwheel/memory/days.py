"""The day that a text tells of itself: in its head, or above each of its entries.

    Hüxstraße 48, minutes          Lübeck, 10 January 2016        3 January 2020
    Date: Tuesday, 14 May 2024     Dear Mother,                   Felix has a fever.

                                                                  11 January 2020
    of that day                    of that day                    We saw the flat.      a diary: a text for each day

A date in the middle of a line is what the text speaks of, and says nothing of when it is from; nor does one to come.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Final

from bookwheel.text.lines import FILE_HEADER, read_lines
from bookwheel.text.numbers import place_dates
from bookwheel.types import Part

# Lines of a text's head, and characters of one.
_HEAD: Final = 8
_LONGEST: Final = 80
# Fewer days may be those of signatures.
_LEAST_DAYS: Final = 3
_WEEKDAY: Final = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)(?:day)?|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|星期.|周.)"
)
_BEFORE: Final = re.compile(rf"[\s#*=_–—-]*(?:{_WEEKDAY}[.,]?\s*)?(?:the\s+|den\s+)?", re.IGNORECASE)
_AFTER: Final = re.compile(
    rf"[\s.,:*=_–—-]*(?:\(?{_WEEKDAY}\)?)?(?:(?:at|um)?\s*\d?\d[:.]\d\d\s*(?:uhr|[ap]m)?)?[\s.,:*=_–—-]*", re.IGNORECASE
)
_LABEL: Final = re.compile(
    rf"(?:date|dated|datum|日期)\s*[:：]\s*(?:{_WEEKDAY}[.,]?\s*)?(?:the\s+|den\s+)?", re.IGNORECASE
)
# Of a letter, which goes on with whom it is to.
_PLACE: Final = re.compile(r"[^\W\d_a-z][^\d\n:;.!?]{0,40},\s*(?:the\s+|den\s+)?")
_GREETING: Final = (",", "!", ":", "，", "！", "：")


def find_head_day(words: str) -> str | None:
    """Return the one day that the head of a text has: on a line of its own, behind "Date:", or above a greeting."""
    lines = [line.text.strip() for line in read_lines(words[: _HEAD * 4 * _LONGEST]) if not line.is_blank]
    lines = [line for line in lines if not FILE_HEADER.match(line)][: _HEAD + 1]
    days = set[str]()
    for line, below in pairwise([*lines, ""][: _HEAD + 1]):
        for start, end, day in place_dates(line)[:1]:
            before, is_end = line[:start], bool(_AFTER.fullmatch(line, end))
            is_letter = bool(_PLACE.fullmatch(before)) and below.endswith(_GREETING)
            if _LABEL.fullmatch(before) or (is_end and (is_letter or _BEFORE.fullmatch(before))):
                days.add(day)
    return days.pop() if len(days) == 1 and max(days) <= _today() else None


def list_day_lines(words: str) -> list[tuple[int, str]]:
    """Return where each entry of a diary begins, at a line that is a day alone, and its day; none of another text."""
    lines = read_lines(words)
    found = [
        (line.start, place_dates(line.text)[0][2])
        for before, line, after in zip([None, *lines], lines, [*lines[1:], None], strict=False)
        if (before is None or before.is_blank or FILE_HEADER.match(before.text)) and after and _is_day(line.text)
    ]
    days = [day for _, day in found]
    is_in_order = days in (sorted(days), sorted(days, reverse=True))
    return found if len({*days}) >= _LEAST_DAYS and is_in_order and max(days) <= _today() else []


def split_days(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield the parts of a diary with the day of each; what stands above the first goes with it."""
    entries = list_day_lines("".join(part.text for part in parts))
    starts = [(0, entries[0][1]), *entries[1:]] if entries else []
    place = 0
    for part in parts:
        end = place + len(part.text)
        here = [max(place, start) for start, _ in starts[1:] if place < start < end]
        for first, last in pairwise([place, *here, end]):
            day = next((day for start, day in reversed(starts) if start <= first), "")
            yield replace(part, text=part.text[first - place : last - place], at=day)
        place = end


def _is_day(line: str) -> bool:
    # "6 April 2020" is a date in several languages.
    found = list(dict.fromkeys(place_dates(line))) if len(line) <= _LONGEST else []
    return len(found) == 1 and bool(_BEFORE.fullmatch(line[: found[0][0]]) and _AFTER.fullmatch(line, found[0][1]))


def _today() -> str:
    return datetime.now().astimezone().date().isoformat()
