"""Names and numbers that stand in each other's place: what makes a sentence contradict another."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from bookwheel.text import lexicon
from bookwheel.verdict.statements import TermKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.verdict.statements import Statement, Term

_YEAR_DIGITS: Final = 4
_CJK_DATE: Final = frozenset("年月日号")
# Signs of a word that may stand for another.
_LONGEST_WORD: Final = 4


def replaces(claim: Statement, passage: Statement, matched: set[int]) -> bool:
    """Tell if the passage has another name or number where the claim has one of its own."""
    lacking = {term.kind for at, term in enumerate(claim.terms) if at not in matched and term.is_exact}
    if not lacking:
        return _replaces_signs(claim.terms, passage.terms, matched)
    keys, terms = {*claim.keys}, passage.terms
    # "Agostino Ramelli" may stand for "Ramelli", but not "Paul Williams" for "Paul Reed".
    whole = {name_start(claim.terms, at) for at, term in enumerate(claim.terms) if term.is_exact} - {
        name_start(claim.terms, at) for at in range(len(claim.terms)) if at not in matched
    }
    settled = {claim.terms[at].key for at in matched if name_start(claim.terms, at) in whole}
    if TermKind.NAME in lacking and any(_repeats(claim.terms, terms)):
        return True
    numbers = [term for at, term in enumerate(claim.terms) if at not in matched and term.kind is TermKind.NUMBER]
    return any(
        any(_is_rival_number(number, term) for number in numbers)
        if term.kind is TermKind.NUMBER
        else term.kind in lacking and term.key not in keys and not is_in_name(terms, at, settled)
        for at, term in enumerate(terms)
    )


def _repeats(claim: Sequence[Term], terms: Sequence[Term]) -> Iterator[str]:
    """Yield the names of the claim that the passage has more often: once in the place of another, perhaps."""
    theirs = Counter(term.key for term in terms if term.kind is TermKind.NAME)
    mine = Counter(term.key for term in claim)
    yield from (key for key, count in theirs.items() if count > mine[key] > 0)


def _is_rival_number(mine: Term, other: Term) -> bool:
    """Tell if another number may stand for this one: another count of the same, or the same count of another."""
    if mine.key == other.key:
        return mine.unit != other.unit
    return is_date(mine) == is_date(other) and (not mine.unit or not other.unit or mine.unit == other.unit)


def _replaces_signs(claim: Sequence[Term], terms: Sequence[Term], matched: set[int]) -> bool:
    """Tell if the passage has other signs between the same two: another word in the place of one."""
    keys = [term.key for term in terms]
    have = {claim[at].key for at in matched}
    at = 0
    while at < len(claim):
        stop = at
        while stop < len(claim) and stop not in matched and claim[stop].kind is TermKind.SIGN:
            stop += 1
        if stop > at and at and stop < len(claim) and claim[at - 1].key in keys and claim[stop].key in keys:
            first, last = keys.index(claim[at - 1].key), keys.index(claim[stop].key)
            if 1 <= last - first - 1 <= _LONGEST_WORD and not any(key in have for key in keys[first + 1 : last]):
                return True
        at = stop + 1
    return False


def is_in_name(terms: Sequence[Term], at: int, keys: set[str]) -> bool:
    """Tell if a name directly beside this one is among the keys: "Agostino" of "Agostino Ramelli"."""
    if terms[at].kind is not TermKind.NAME:
        return False
    for step in (-1, 1):
        near = at
        while 0 <= near + step < len(terms) and terms[near + step].kind is TermKind.NAME:
            joint = terms[near + step if step > 0 else near]
            if joint.lead or joint.breaks:
                break
            near += step
            if terms[near].key in keys:
                return True
    return False


def name_start(terms: Sequence[Term], at: int) -> int:
    """Return the place of the first word of a name of several words."""
    while at and terms[at].kind is terms[at - 1].kind is TermKind.NAME and not (terms[at].lead or terms[at].breaks):
        at -= 1
    return at


def is_date(term: Term) -> bool:
    """Tell if a term is a year, a month, or the number of a day."""
    if term.kind is TermKind.NUMBER:
        is_year = len(term.key) == _YEAR_DIGITS and term.key.isdigit() and not term.unit
        return is_year or term.unit in lexicon.MONTHS or term.unit in _CJK_DATE
    return term.key in lexicon.MONTHS
