"""Compare a sentence of an answer with one of the document.

A sentence is borne out when all of its terms stand in the other one in the same order, close together, and nothing
between them changes what is said: no negation, no "if" or "believed", no other name in the place of one, no other unit,
no "before" instead of "after". The order may differ in three known ways: a phrase moved to the front, an active
sentence made passive, and "X is Y" for "Y is X". Everything else counts as partly said at most: a wording that is not
known is no proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from bookwheel.text import lexicon
from bookwheel.verdict.alignment import (
    APPOSITION,
    BE,
    find_windows,
    list_orders,
    list_phrases,
    match_terms,
    place_phrase,
)
from bookwheel.verdict.conflicts import is_in_name, name_start, replaces
from bookwheel.verdict.statements import NOT, PERHAPS, Statement, Term, TermKind

if TYPE_CHECKING:
    from collections.abc import Sequence

_EMBEDDING: Final = lexicon.words("of by with for from to")
_JOINTS: Final = lexicon.words("and but while whereas")
# Terms before the matched ones whose negations still reach them: "It is not true that …".
_REACH: Final = 3
# Shares of a matched stretch that are the answer's own terms: below it, words were picked from here and there.
_LEAST_DENSITY: Final = 0.34
_LEAST_KEPT_PAIRS: Final = 0.7
_MOST_TERMS: Final = 60


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


def _is_light(term: Term) -> bool:
    return term.kind is TermKind.WORD and term.key in lexicon.LIGHT


def _span(claim: Statement, passage: Statement, matched: set[int]) -> tuple[int, int]:
    keys = {claim.terms[at].key for at in matched}
    places = [term for term in passage.terms if term.key in keys]
    return (places[0].start, places[-1].end) if places else (0, 0)


def _align(claim: Statement, passage: Statement, required: list[int]) -> tuple[Degree, list[int]]:
    """Return the best degree of all ways to lay the claim's terms on the passage's, and where they lie."""
    best: tuple[Degree, list[int]] | None = None
    if len(required) > _MOST_TERMS:
        return Degree.PARTLY, []
    for phrase in list_phrases(claim.terms, required):
        rest = [at for at in required if at not in phrase]
        places = place_phrase(claim.terms, passage.terms, phrase)
        if phrase and not places:
            continue
        for order in list_orders(claim, passage, rest, can_turn=not phrase):
            for window in find_windows([claim.terms[at] for at in order], passage.terms):
                degree, whole = _judge(claim, passage, order, window, places)
                if degree is Degree.FOUND:
                    return degree, whole
                best = best or (degree, whole)
    if best is None and _exchanges(claim.terms, passage.terms):
        return Degree.CONFLICT, []
    return best or (Degree.PARTLY, [])


def _exchanges(claim: Sequence[Term], terms: Sequence[Term]) -> bool:
    """Tell if the passage has the claim's names in another order: who did it to whom.

    In scripts without capitals no name is known, so any other order counts.
    """
    if any(term.kind is TermKind.SIGN for term in claim):
        return True
    mine = list(dict.fromkeys(term.key for term in claim if term.kind is TermKind.NAME))
    theirs = list(dict.fromkeys(term.key for term in terms if term.key in mine))
    return len(mine) > 1 and mine != theirs


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
    while at and not terms[at].lead and not terms[at].breaks and terms[at - 1].kind is not TermKind.NUMBER:
        at -= 1  # "the son of old Ada signed"
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
    if "or" in here.lead and "or" not in own:
        return True
    in_row = at > 0 and order[at] == order[at - 1] + 1
    return in_row and bool(own & BE) and not _is_linked(mine, terms, previous, window[at], leads)


def _is_linked(mine: Term, terms: Sequence[Term], before: int, at: int, leads: set[str]) -> bool:
    """Tell if the passage too says that the one is the other."""
    if leads & BE:
        return True
    if at != before + 1:
        return False
    # "the plan signed by Ada" for "the plan was signed by Ada"
    is_same_form = terms[at].text == mine.text and not terms[at].lead
    return is_same_form or bool(APPOSITION & set(terms[at].breaks)) or "as" in leads


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
