"""Of whom a turn of a talk speaks: who says "my doctor" speaks of nobody else's.

    Ilse: I saw my doctor today.                      of Ilse
    Dorian: My doctor is called Naicksteand.          of Dorian: no answer to "Who is Ilse's doctor?"
    Dorian: Ilse's doctor was here.                   of Ilse too
    Dorian: I met him at your place.                  of somebody else: it may be of Ilse

A reader that only quotes takes the words as they stand, and cannot see whose they are. Only what surely speaks of
another than the one who is asked about is left out for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from bookwheel.memory.days import list_day_lines
from bookwheel.text.matching import parse_words

if TYPE_CHECKING:
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
    """Yield where each turn or day begins, the first with what stands before it, and its time in the zone of the text.

    A line that only quotes an older one is no older than the turn before it, nor newer than the text.
    """
    last = datetime.fromisoformat(text.at)
    newest: datetime | None = None
    stamps = [(found.start(), found[1]) for found in TURN.finditer(content)] or list_day_lines(content)
    for start, stamp in stamps:
        try:
            when = datetime.fromisoformat(stamp)
        except ValueError:
            continue
        when = when.astimezone(last.tzinfo) if when.tzinfo else when.replace(tzinfo=last.tzinfo)
        is_first, newest = newest is None, min(max(when, newest or when), last)
        yield 0 if is_first else start, newest


def find_time(said: str, day: str) -> str:
    """Return the time of a turn as its text writes times; the one of its day where it has none of that day."""
    try:
        when, last = datetime.fromisoformat(said), datetime.fromisoformat(day)
    except ValueError:
        return day
    when = when.astimezone(last.tzinfo) if when.tzinfo else when.replace(tzinfo=last.tzinfo)
    return when.isoformat(timespec="seconds") if when.date() == last.date() and when <= last else day


_TURN: Final = re.compile(
    r"^[ \t]*(?:\[[^\]\n]{1,40}\]\s*)?(?P<who>[^\W\d_][^\n:：\[\]{}<>|\"“”.,;，。；]{0,30}?)[ \t]*[:：][ \t]*"
    r"(?P<words>\S.*)$",
    re.MULTILINE,
)
_MOST_WORDS: Final = 3
"""Of a name before a colon; a longer run is no name."""
_NAME: Final = 4
"""Chinese signs of a name, with a title before it; a longer label is told only as it stands."""
FIRST: Final = re.compile(r"\b(?:i|my|mine|me|we|our|ours|us)\b|我", re.IGNORECASE)
"""Words by which a speaker speaks of themselves."""
_OTHERS: Final = re.compile(r"\b(?:you|yours?|he|him|his|she|hers?|they|them|theirs?)\b|[你您他她]", re.IGNORECASE)
_OF: Final = r"(?:['’]s?\s+|的)(?P<what>[^\s?？,，。的]+(?:\s+[^\s?？,，.]+)?)"


def find_turn(text: str, place: int) -> tuple[str, str]:
    """Return who says what stands at a character of a text, and when; each is empty where no turn tells it.

    In a talk with times a turn goes on to the next time, over all of its lines.
    """
    stamp = None
    for found in TURN.finditer(text):
        if found.start() > place:
            break
        stamp = found
    start = stamp.start() if stamp else text.rfind("\n", 0, place) + 1
    turn = _TURN.match(text, start)
    return turn["who"].strip() if turn and _is_name(turn["who"]) else "", stamp[1] if stamp else ""


def list_speakers(texts: Iterable[str]) -> set[str]:
    return {turn["who"].strip() for text in texts for turn in _TURN.finditer(text) if _is_name(turn["who"])}


def keep_spans(text: str, question: str, speakers: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text without the turns that speak of another speaker than the question asks about."""
    asked = {who for who in speakers if _names(question, who)}
    start = 0
    for turn in _TURN.finditer(text) if asked else ():
        who, words = turn["who"].strip(), turn["words"]
        if who in asked or not _is_name(who) or any(_names(words, one) for one in asked):
            continue
        if _is_own(words, question, asked):
            if text[start : turn.start()].strip():
                yield start, turn.start()
            start = turn.end()
    if text[start:].strip():
        yield start, len(text)


def _is_own(words: str, question: str, asked: Iterable[str]) -> bool:
    """Return whether a turn speaks of the speaker alone, or of the speaker's own of what is asked for."""
    if not FIRST.search(words):
        return False
    if not _OTHERS.search(words):
        return True
    things = [found["what"].split()[0] for one in asked for found in re.finditer(re.escape(one) + _OF, question)]
    return any(
        re.search(rf"\b(?:my|our)\s+(?:\w+\s+)?{re.escape(one)}|我们?的?{re.escape(one[:2])}", words, re.IGNORECASE)
        for one in things
    )


def _names(text: str, who: str) -> bool:
    """Return whether a text names somebody; Chinese words have no blanks between them."""
    return bool(re.search(rf"(?<![A-Za-z]){re.escape(who)}(?![A-Za-z])", text))


def is_named(who: str, question: str) -> bool:
    """Return whether a question names a speaker: a label may share a common word with it, as "橱柜店小曾" does.

    A name is called whole, by a word that is written as a name, or in Chinese without what stands before it.
    """
    if re.search(rf"(?<![A-Za-z]){re.escape(who)}(?![A-Za-z])", question, re.IGNORECASE):
        return True
    if not who.isascii():
        return len(who) <= _NAME and who[-2:] in question
    words = {word.key for word in parse_words(who)}
    return any(word.is_exact and word.key in words for word in parse_words(question))


def _is_name(who: str) -> bool:
    return len(who.split()) <= _MOST_WORDS
