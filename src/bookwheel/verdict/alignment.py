"""Lay the terms of one sentence on those of another: where they stand, and the orders in which they say the same.

A phrase may move to the front, an active sentence may become passive, and "X is Y" may be "Y is X".
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from bookwheel.text import lexicon
from bookwheel.verdict.conflicts import is_date
from bookwheel.verdict.statements import Statement, Term, TermKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BE: Final = lexicon.words("is was are were be been being 是 为 即 乃")
APPOSITION: Final = frozenset(",:(—–，：（")
"""Marks between two names of one thing: "Ada, the captain"."""
_PASSIVE: Final = frozenset({"by", "由", "被"})
_LONGEST_PHRASE: Final = 5
_LONGEST_SIGNS: Final = 10


def match_terms(claim: Sequence[Term], passage: Sequence[Term]) -> set[int]:
    """Return the indexes of the claim's terms that the passage has, each as often as it has it."""
    have = Counter(term.key for term in passage)
    matched = set()
    for at, term in enumerate(claim):
        if have[term.key] > 0 and (not term.unit or _has_unit(term, passage)):
            have[term.key] -= 1
            matched.add(at)
    return matched


def _has_unit(number: Term, passage: Sequence[Term]) -> bool:
    return any(_same_number(number, passage, at) for at in range(len(passage)))


def _same_number(number: Term, passage: Sequence[Term], at: int) -> bool:
    """Tell if the term at this place is the number, and counts the same."""
    other = passage[at]
    if other.key != number.key:
        return False
    if not number.unit or other.unit == number.unit or other.kind is not TermKind.NUMBER:
        return True
    # "40 salted herrings" are 40 herrings.
    return any(
        term.key == number.unit and not any(one.breaks or one.lead for one in passage[at + 2 : here + 1])
        for here, term in enumerate(passage[at + 1 : at + 4], at + 1)
    )


def find_windows(wanted: Sequence[Term], terms: Sequence[Term]) -> Iterator[list[int]]:
    """Yield the tightest places of the wanted terms in this order, from left to right."""
    begin = 0
    while True:
        at, here = 0, begin
        while here < len(terms) and at < len(wanted):
            at += _is_same(wanted[at], terms, here)
            here += 1
        if at < len(wanted):
            return
        window = [0] * len(wanted)
        for at in range(len(wanted) - 1, -1, -1):
            here -= 1
            while not _is_same(wanted[at], terms, here):
                here -= 1
            window[at] = here
        yield window
        begin = window[0] + 1


def _is_same(wanted: Term, terms: Sequence[Term], at: int) -> bool:
    return _same_number(wanted, terms, at) if wanted.unit else wanted.key == terms[at].key


def list_phrases(terms: Sequence[Term], required: list[int]) -> Iterator[list[int]]:
    """Yield nothing, then each phrase of time, place or manner, which may stand elsewhere in the sentence."""
    yield []
    for at, first in enumerate(required):
        term = terms[first]
        if not lexicon.MOVABLE & set(term.lead) and not is_date(term):
            continue
        longest = _LONGEST_SIGNS if any(terms[one].kind is TermKind.SIGN for one in required) else _LONGEST_PHRASE
        for stop in range(at + 1, min(at + longest, len(required)) + 1):
            if any(BE & {*terms[one].lead} for one in required[at + 1 : stop]):
                break
            if stop - at < len(required):
                yield required[at:stop]


def place_phrase(claim: Sequence[Term], terms: Sequence[Term], phrase: list[int]) -> list[int]:
    """Return where a phrase stands in the passage as one piece and after the same preposition."""
    if not phrase:
        return []
    lead = lexicon.MOVABLE & set(claim[phrase[0]].lead)
    for window in find_windows([claim[at] for at in phrase], terms):
        gaps = [at for at in range(window[0], window[-1]) if at not in window]
        together = len(gaps) <= 1 and not any(terms[at].is_exact for at in gaps)
        if together and (not lead or lead & set(terms[window[0]].lead) or is_date(claim[phrase[0]])):
            return window
    return []


def list_orders(claim: Statement, passage: Statement, required: list[int], *, can_turn: bool) -> Iterator[list[int]]:
    """Yield the claim's terms in every order in which another sentence may say the same."""
    yield required
    terms, count = claim.terms, len(required)
    for cut in range(1, count):
        if can_turn and _may_turn(claim, passage, required[:cut], required[cut:]):
            yield required[cut:] + required[:cut]
    if not any(_PASSIVE & {*term.lead} for term in (*terms, *passage.terms)):
        return
    for cut in range(1, count - 1):
        # "The plan was signed by Ada": "Ada signed the plan", and the other way round.
        front, verb, back = required[:cut], required[cut : cut + 1], required[cut + 1 :]
        by_front = _has_lead(passage, terms[front[0]].key, _PASSIVE)
        for split in range(len(back)):
            one, two = back[:split], back[split:]
            by_two = bool(_PASSIVE & {*terms[two[0]].lead})
            if by_two and not by_front:
                for stop in range(1, len(two) + 1):
                    yield two[:stop] + verb + front + one + two[stop:]
            elif by_front and not by_two:
                yield one + verb + two + front if one else two + verb + front
                if one:
                    yield one + verb + front + two


def _has_lead(passage: Statement, key: str, words: frozenset[str]) -> bool:
    return any(term.key == key and words & {*term.lead} for term in passage.terms)


def _may_turn(claim: Statement, passage: Statement, front: list[int], back: list[int]) -> bool:
    """Tell if the claim says that front is back, so that back may stand first; or, in Chinese, with 由 or 被."""
    first, second = claim.terms[front[0]], claim.terms[back[0]]
    if BE & {*second.lead}:
        if {"a", "an"} & {*second.lead}:  # "Ada is a miller" does not say that a miller is Ada
            return False
        halves = ([claim.terms[at] for at in front], [claim.terms[at] for at in back])
        is_named = any(term.kind is not TermKind.WORD for half in halves for term in half)
        return is_named and (_has_lead(passage, first.key, BE) or _follows_break(passage, first.key))
    if second.kind is TermKind.SIGN:
        return bool(_PASSIVE & {*second.lead}) != _has_lead(passage, first.key, _PASSIVE)
    return False


def _follows_break(passage: Statement, key: str) -> bool:
    return any(term.key == key and APPOSITION & {*term.breaks} for term in passage.terms)
