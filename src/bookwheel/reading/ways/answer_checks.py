"""What makes words of a passage no answer to a question, or none that is sure; and where a figure or date is whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from bookwheel.reading.ways.passages import GAP
from bookwheel.text.denials import find_denials
from bookwheel.text.kinds import AnswerKind, find_kind
from bookwheel.text.numbers import place_dates, place_days
from bookwheel.verdict.parsing import NOT, parse

_CLAUSE_NUMBER: Final = re.compile(
    rf"(?:^|(?<={GAP})|(?<=[。.;] ))\s*(?:\d{{1,3}}(?:\.\d{{1,3}})+|\d{{1,3}}\.)(?=\s+[^\W\d_a-z])", re.MULTILINE
)

# "[2025-08-29 08:20:48Z] ana: Insurance, claim no. H-77120": when a turn was said, and nothing of what.
_STAMP: Final = re.compile(rf"(?:^|(?<={GAP}))\s*\[[^\]\n]{{4,40}}\]", re.MULTILINE)
_POWER: Final = re.compile(r"[百千万亿]+|[%％‰]")
# With the blanks behind it. Of a longer passage, each span would cost the whole.
_LONGEST_DENIAL: Final = 12
# Behind a word of more or less, before a figure; and the characters before one in which both may stand.
_BY: Final = re.compile(r"\bby(?:\s+(?:about|some|a|another|further))*\s+[£$€¥]?\Z|了\s*\Z", re.IGNORECASE)
_LONGEST_CHANGE: Final = 60
_OF_TIME: Final = frozenset({AnswerKind.WHEN, AnswerKind.DAY, AnswerKind.CLOCK, AnswerKind.HOURS})
_ASKS_DAY: Final = re.compile(r"\b(?:dates?|days?|birthday|due|since|until|till|period|term)\b|日|期|天", re.IGNORECASE)
# What somebody only heard, and what somebody doubts.
_DOUBTS: Final = r"maybe|perhaps|probably|possibly|not (?:so |at all )?(?:sure|true)|wrong|也许|可能|大概|不一定|不确定"
_HEARSAY: Final = re.compile(
    rf"\b(?:heard|hear|rumou?r\w*|told|sa(?:id|ys)|claim\w*|apparently|supposedly|{_DOUBTS})\b|[听据]说", re.IGNORECASE
)
_DOUBT: Final = re.compile(rf"\W*(?:\w+ ){{0,3}}(?:{_DOUBTS})", re.IGNORECASE)
# The name below a letter, behind its last sentence.
_SIGNATURE: Final = re.compile(r"[.!?…。！？]\s+(?P<name>[^\W\d_a-z][\w'’.-]*(?: [^\W\d_a-z][\w'’.-]*){0,2})\s*\Z")


def is_conditional(sentence: str, question: str) -> bool:
    """Return whether a sentence says yes or no under a condition that the question does not name: "if all agree"."""
    return _adds_mark(sentence, question, ("if", "unless"))


def is_hearsay(sentence: str, question: str, passage: str) -> bool:
    """Return whether a sentence of a passage tells what somebody heard or said, or the next one doubts it."""
    after = passage[passage.find(sentence) + len(sentence) :]
    return not _HEARSAY.search(question) and bool(_HEARSAY.search(sentence) or _DOUBT.match(after))


def lacks_number(question: str, passage: str) -> bool:
    """Return whether a question has a number that a passage has not: "3.9 %" says neither yes nor no to 4.2 %."""
    return any(number.key not in parse(passage).keys for number in parse(question).numbers)


def is_other_day(question: str, text: str) -> bool:
    """Return whether an answer is a day, and the question asks for none: "10 February" is no score."""
    is_day = any(text.strip() == text[start:end] for start, end, _ in (*place_dates(text), *place_days(text)))
    return is_day and find_kind(question) not in _OF_TIME and not _ASKS_DAY.search(question)


def is_signature(passage: str, start: int, end: int) -> bool:
    """Return whether a span is the name below a letter, which is no answer of its sentences."""
    found = _SIGNATURE.search(passage)
    return bool(found and found.start("name") <= start and end <= found.end("name"))


def _adds_mark(text: str, question: str, marks: Sequence[str]) -> bool:
    asked, said = parse(question).marks, parse(text).marks
    return any(said[mark] and not asked[mark] for mark in marks)


def find_figure_end(passage: str, end: int) -> int:
    """Return where a figure ends of which a span has the digits: of "11.5万册次", "11.5" is another number."""
    rest = _POWER.match(passage, end) if passage[end - 1 : end].isdigit() else None
    return rest.end() if rest else end


def find_date_start(question: str, passage: str, start: int) -> int:
    """Return where a date begins of which a span has the end; of "4月12日", "12日" is half, save for a part's name."""
    if find_kind(question) is not AnswerKind.WHEN:
        return start
    dates = (*place_dates(passage), *place_days(passage))
    return min((first for first, last, _ in dates if first < start < last), default=start)


def is_label(question: str, passage: str, start: int, end: int) -> bool:
    """Tell if a span is no more than what stands before the words: the number of a clause, the time of a turn.

    "561.1" is one before "Within thirty days the Operator pays …"; a turn's time is none where a time is asked for.
    """
    labels = [_CLAUSE_NUMBER] if find_kind(question) in _OF_TIME else [_CLAUSE_NUMBER, _STAMP]
    found = (one.span() for label in labels for one in label.finditer(passage))
    return any(first <= start and end <= last for first, last in found)


def is_denied(question: str, passage: str, start: int) -> bool:
    """Tell if the passage denies what begins here, and the question does not: "never on Sundays", "no more than 40"."""
    near = find_denials(passage, max(0, start - _LONGEST_DENIAL), start + _LONGEST_DENIAL)
    ends = [found.end() for found in near if found.end() <= start]
    return bool(ends) and not passage[ends[-1] : start].strip() and not parse(question).marks[NOT]


def is_change(question: str, passage: str, start: int) -> bool:
    """Tell if what begins here is by how much something changed, and not what it is then: "is cut by £12"."""
    before = passage[max(0, start - _LONGEST_CHANGE) : start]
    return bool(_BY.search(before)) and _adds_mark(before, question, ("up", "down"))
