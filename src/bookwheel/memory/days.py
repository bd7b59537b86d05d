"""The days that one text tells of: a chat's quiet days are read together, and each turn keeps a time of its own.

    [2026-03-01 10:00] Ada: Hello.              as of 2 March only this was said
    [2026-03-03 10:03] Ada: The rent is 550.    the text is of the time of its last turn

A text that somebody gave another time is of that time alone, whatever its lines say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.journal.memory_rows import MemoryText

TURN: Final = re.compile(r"^\[(\d{4}-\d\d-\d\d[^\]\n]*)\] ", re.MULTILINE)
"""How a turn of a transcript begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySpan:
    """The characters of a text that are of one day."""

    start: int
    end: int
    at: str
    """The time of its last turn."""
    since: str
    """The time of its first turn."""


def list_days(text: MemoryText, content: str, until: datetime | None = None) -> list[DaySpan]:
    """Return the days of a text, oldest first; with `until`, what was said up to then."""
    turns = list(_list_turns(text, content))
    if not turns or turns[-1][1] != text.instant:
        is_known = until is None or text.instant <= until
        return [DaySpan(start=0, end=len(content), at=text.at, since=text.at)] if is_known else []
    days = list[DaySpan]()
    ends = [*(start for start, _ in turns[1:]), len(content)]
    for (start, when), end in zip(turns, ends, strict=True):
        if until is not None and when > until:
            break
        at = when.isoformat(timespec="seconds")
        day = days.pop() if days and days[-1].at[:10] == at[:10] else DaySpan(start=start, end=end, at=at, since=at)
        days.append(replace(day, end=end, at=at))
    return days


def _list_turns(text: MemoryText, content: str) -> Iterator[tuple[int, datetime]]:
    """Yield where each turn begins, the first with what stands before it, and its time in the zone of the text.

    A line that only quotes an older one is no older than the turn before it, nor newer than the text.
    """
    last = datetime.fromisoformat(text.at)
    newest: datetime | None = None
    for found in TURN.finditer(content):
        try:
            when = datetime.fromisoformat(found[1])
        except ValueError:
            continue
        when = when.astimezone(last.tzinfo) if when.tzinfo else when.replace(tzinfo=last.tzinfo)
        is_first, newest = newest is None, min(max(when, newest or when), last)
        yield 0 if is_first else found.start(), newest


def find_time(said: str, day: str) -> str:
    """Return the time of a turn as its text writes times; the one of its day where it has none of that day."""
    try:
        when, last = datetime.fromisoformat(said), datetime.fromisoformat(day)
    except ValueError:
        return day
    when = when.astimezone(last.tzinfo) if when.tzinfo else when.replace(tzinfo=last.tzinfo)
    return when.isoformat(timespec="seconds") if when.date() == last.date() and when <= last else day
