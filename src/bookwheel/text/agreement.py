"""Compare a sentence of an answer with one of the document.

A sentence is borne out when all of its terms stand in the other one in the same order, close together, and nothing
between them changes what is said: no negation, no "if" or "believed", no other name in the place of one, no other unit,
no "before" instead of "after". The order may differ in three known ways: a phrase moved to the front, an active
sentence made passive, and "X is Y" for "Y is X". Everything else counts as partly said at most: a wording that is not
known is no proof.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from bookwheel.text import lexicon
from bookwheel.text.conflicts import is_date, is_in_name, name_start, replaces
from bookwheel.text.statements import NOT, PERHAPS, Statement, Term, TermKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BE: Final = lexicon.words("is was are were be been being 是 为 即 乃")
_APPOSITION: Final = frozenset(",:(—–，：（")
_PASSIVE: Final = frozenset({"by", "由", "被"})
_EMBEDDING: Final = lexicon.words("of by with for from to")
_JOINTS: Final = lexicon.words("and but while whereas")
# Terms before the matched ones whose negations still reach them: "It is not true that …".
_REACH: Final = 3
# Shares of a matched stretch that are the answer's own terms: below it, words were picked from here and there.
_LEAST_DENSITY: Final = 0.34
_LEAST_KEPT_PAIRS: Final = 0.7
_MOST_TERMS: Final = 60
_LONGEST_PHRASE: Final = 5
_LONGEST_SIGNS: Final = 10


class Degree(IntEnum):
    """How far one sentence bears out another."""

    CONFLICT = 0
    """It speaks of the same and says something else."""
    PARTLY = 1
    FOUND = 2


@dataclass(frozen=True, slots=True)
class Agreement:
    """The outcome of one comparison."""

    degree: Degree
    matched: frozenset[int]
    """Indexes of the claim's terms that the passage has."""
    start: int
    """Span of the matched terms in the passage."""
    end: int


def compare(claim: Statement, passage: Statement) -> Agreement:
    """Return how far a sentence of a document bears out a claim."""
    matched = match_terms(claim.terms, passage.terms)
    start, end = _span(claim, passage, matched)
    required = [at for at, term in enumerate(claim.terms) if at in matched or not _is_light(term)]
    degree = Degree.PARTLY
    if len(required) == len(matched):
        outcome, window = _align(claim, passage, required)
        if window:
            start, end = passage.terms[window[0]].start, passage.terms[window[-1]].end
        degree = outcome
    elif replaces(claim, passage, matched) or _count(NOT, claim.terms, claim.tail) != _count(
        NOT, passage.terms, passage.tail
    ):
        degree = Degree.CONFLICT
    return Agreement(degree, frozenset(matched), start, end)


def match_terms(claim: Sequence[Term], passage: Sequence[Term]) -> set[int]:
    """Return the indexes of the claim's terms that the passage has, each as often as it has it."""
    have = Counter(term.key for term in passage)
    matched = set()
    for at, term in enumerate(claim):
        if have[term.key] > 0 and (not term.unit or _has_unit(term, passage)):
            have[term.key] -= 1
            matched.add(at)
    return matched


def _is_light(term: Term) -> bool:
    return term.kind is TermKind.WORD and term.key in lexicon.LIGHT


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


def _span(claim: Statement, passage: Statement, matched: set[int]) -> tuple[int, int]:
    keys = {claim.terms[at].key for at in matched}
    places = [term for term in passage.terms if term.key in keys]
    return (places[0].start, places[-1].end) if places else (0, 0)


def _align(claim: Statement, passage: Statement, required: list[int]) -> tuple[Degree, list[int]]:
    """Return the best degree of all ways to lay the claim's terms on the passage's, and where they lie."""
    best: tuple[Degree, list[int]] | None = None
    if len(required) > _MOST_TERMS:
        return Degree.PARTLY, []
    for phrase in _phrases(claim.terms, required):
        rest = [at for at in required if at not in phrase]
        places = _place_phrase(claim.terms, passage.terms, phrase)
        if phrase and not places:
            continue
        for order in _orders(claim, passage, rest, can_turn=not phrase):
            for window in find_windows([claim.terms[at] for at in order], passage.terms):
                degree, whole = _judge(claim, passage, order, window, places)
                if degree is Degree.FOUND:
                    return degree, whole
                best = best or (degree, whole)
    if best is None and _exchanges(claim.terms, passage.terms):
        return Degree.CONFLICT, []
    return best or (Degree.PARTLY, [])


def _phrases(terms: Sequence[Term], required: list[int]) -> Iterator[list[int]]:
    """Yield nothing, then each phrase of time, place or manner, which may stand elsewhere in the sentence."""
    yield []
    for at, first in enumerate(required):
        term = terms[first]
        if not lexicon.MOVABLE & set(term.lead) and not is_date(term):
            continue
        longest = _LONGEST_SIGNS if any(terms[one].kind is TermKind.SIGN for one in required) else _LONGEST_PHRASE
        for stop in range(at + 1, min(at + longest, len(required)) + 1):
            if any(_BE & {*terms[one].lead} for one in required[at + 1 : stop]):
                break
            if stop - at < len(required):
                yield required[at:stop]


def _place_phrase(claim: Sequence[Term], terms: Sequence[Term], phrase: list[int]) -> list[int]:
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


def _exchanges(claim: Sequence[Term], terms: Sequence[Term]) -> bool:
    """Tell if the passage has the claim's names in another order: who did it to whom.

    In scripts without capitals no name is known, so any other order counts.
    """
    if any(term.kind is TermKind.SIGN for term in claim):
        return True
    mine = list(dict.fromkeys(term.key for term in claim if term.kind is TermKind.NAME))
    theirs = list(dict.fromkeys(term.key for term in terms if term.key in mine))
    return len(mine) > 1 and mine != theirs


def _orders(claim: Statement, passage: Statement, required: list[int], *, can_turn: bool) -> Iterator[list[int]]:
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
    if _BE & {*second.lead}:
        if {"a", "an"} & {*second.lead}:  # "Ada is a miller" does not say that a miller is Ada
            return False
        halves = ([claim.terms[at] for at in front], [claim.terms[at] for at in back])
        is_named = any(term.kind is not TermKind.WORD for half in halves for term in half)
        return is_named and (_has_lead(passage, first.key, _BE) or _follows_break(passage, first.key))
    if second.kind is TermKind.SIGN:
        return bool(_PASSIVE & {*second.lead}) != _has_lead(passage, first.key, _PASSIVE)
    return False


def _follows_break(passage: Statement, key: str) -> bool:
    return any(term.key == key and _APPOSITION & {*term.breaks} for term in passage.terms)


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


def _judge(
    claim: Statement, passage: Statement, order: list[int], window: list[int], phrase: list[int]
) -> tuple[Degree, list[int]]:
    """Return how far these places of the passage bear out the claim, and all of them in order."""
    whole = sorted({*window, *phrase})
    if len(whole) < len(window) + len(phrase):
        return Degree.PARTLY, whole
    here, tail = _reach(passage, whole)
    if _count(NOT, claim.terms, claim.tail) != _count(NOT, here, tail):
        return Degree.CONFLICT, whole
    doubts = (
        _count(PERHAPS, claim.terms, claim.tail) != _count(PERHAPS, here, tail)
        or len(whole) < _LEAST_DENSITY * (whole[-1] - whole[0] + 1)
        or _is_embedded(claim.terms[order[0]], passage.terms, window[0])
        or any(_changes(claim.terms, passage.terms, order, window, at, phrase) for at in range(len(order)))
        or not _keeps_pairs(claim.terms, passage.terms, order, window)
        or (phrase and _is_in_other_clause(passage.terms, window, phrase))
    )
    return (Degree.PARTLY if doubts else Degree.FOUND), whole


def _is_in_other_clause(terms: Sequence[Term], window: list[int], phrase: list[int]) -> bool:
    first, last = (phrase[-1], window[0]) if phrase[0] < window[0] else (window[-1], phrase[0])
    return any(_JOINTS & {*terms[at].lead} for at in range(first + 1, last + 1))


def _reach(passage: Statement, window: list[int]) -> tuple[Sequence[Term], tuple[str, ...]]:
    """Return the terms whose negations and hedges bear on the window, and the words after them."""
    terms = passage.terms
    first, last = window[0], window[-1]
    for _ in range(_REACH):
        if first and not terms[first].breaks and not _JOINTS & set(terms[first].lead):
            first -= 1
    if last + 1 == len(terms):
        return terms[first:], passage.tail
    after = terms[last + 1]
    closed = bool(after.breaks) or bool(_JOINTS & set(after.lead))
    return terms[first : last + 1], () if closed else after.lead


def _count(mark: str, terms: Sequence[Term], tail: tuple[str, ...]) -> int:
    return sum(term.lead.count(mark) for term in terms) + tail.count(mark)


def _is_embedded(first: Term, terms: Sequence[Term], at: int) -> bool:
    """Tell if the stretch begins inside a larger phrase: "the son of Ada signed" does not say that Ada signed."""
    lead = set(terms[at].lead)
    return bool(at and not terms[at].breaks and (lead & _EMBEDDING) - set(first.lead))


def _changes(
    claim: Sequence[Term], terms: Sequence[Term], order: list[int], window: list[int], at: int, phrase: list[int]
) -> bool:
    """Tell if what stands in the passage before this term changes what the claim says."""
    mine, here = claim[order[at]], terms[window[at]]
    previous = window[at - 1] if at else window[at]
    between = [place for place in range(previous + 1, window[at]) if place not in phrase] if at else []
    leads = {word for place in (*between, window[at]) for word in terms[place].lead}
    own = set(mine.lead)
    if any(_is_intruder(terms, place, {*window, *phrase}) for place in between):
        return True
    if between and {"'s", "的"} & set(terms[previous + 1].lead):
        return True
    if (own & lexicon.DIRECTIONS) - leads or (leads & lexicon.STRICT) - own:
        return True
    if mine.kind is TermKind.NUMBER and set(here.lead[-2:]) & lexicon.COMPARATORS != own & lexicon.COMPARATORS:
        return True
    in_row = at > 0 and order[at] == order[at - 1] + 1
    return in_row and bool(own & _BE) and not _is_linked(mine, terms, previous, window[at], leads)


def _is_linked(mine: Term, terms: Sequence[Term], before: int, at: int, leads: set[str]) -> bool:
    """Tell if the passage too says that the one is the other."""
    if leads & _BE:
        return True
    if at != before + 1:
        return False
    # "the plan signed by Ada" for "the plan was signed by Ada"
    is_same_form = terms[at].text == mine.text and not terms[at].lead
    return is_same_form or bool(_APPOSITION & set(terms[at].breaks)) or "as" in leads


def _is_intruder(terms: Sequence[Term], at: int, window: set[int]) -> bool:
    """Tell if an unmatched name or number is more than a detail: "Ada met Bo, the captain" says nothing of Ada."""
    term = terms[at]
    if not term.is_exact or set(terms[name_start(terms, at)].lead) & lexicon.POSITIONS:
        return False
    keys = {terms[place].key for place in window}
    if term.kind is TermKind.NUMBER and term.unit and term.unit not in keys and {*term.lead} <= {"and"}:
        return False  # "40 apples and 12 pears" are 40 apples, "5 or 6 crates" are not 5
    return not is_in_name(terms, at, keys)


def _keeps_pairs(claim: Sequence[Term], terms: Sequence[Term], order: list[int], window: list[int]) -> bool:
    """Tell if signs that stand side by side in the claim do so in the passage: they are one word there."""
    pairs = kept = 0
    for at in range(1, len(order)):
        one, two = claim[order[at - 1]], claim[order[at]]
        if one.kind is TermKind.SIGN and two.kind is TermKind.SIGN and one.end == two.start:
            pairs += 1
            kept += terms[window[at - 1]].end == terms[window[at]].start
    return kept >= _LEAST_KEPT_PAIRS * pairs
