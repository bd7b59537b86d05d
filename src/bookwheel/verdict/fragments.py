"""Judge answers that are no sentences: a name, a number, a list of them. The question says what they are said of.

"Agostino Ramelli" answers "Who signed the plan?" where one sentence of the document has the whole name beside the words
of the question. The name alone, somewhere, proves nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.text import lexicon
from bookwheel.verdict.agreement import Agreement, Degree
from bookwheel.verdict.alignment import find_windows, match_terms
from bookwheel.verdict.asking import asks_openly, suits_question
from bookwheel.verdict.conflicts import is_date
from bookwheel.verdict.sole_answers import is_sole_answer
from bookwheel.verdict.statements import NOT, PERHAPS, Statement, Term, TermKind

if TYPE_CHECKING:
    from collections.abc import Sequence

_VERB: Final = re.compile(
    r"(?<=[\w,]\s)(?:is|was|are|were|has|have|had|does|did|do|can|will|shall|must|became|remained|"
    r"\w{2,}ed(?=\s+(?:(?:by|in|at|to|the|an?|on|for|from|with|of|his|her|its|their|into|about|that|up|out)\b|[A-Z\d]))|"
    r"wrote|built|made|took|gave|came|went|said|held|found|left|lost|won|met|paid|bought|sold|sent|brought|began|ran|"
    r"drew|fell|rose|kept|stands?|lies)\b"
)
_OPENING: Final = re.compile(
    r"\s*(?:is|was|are|were|has|have|had|because|since|that|which|who|to|due|by|\w+ed|\w+ing|using)\b", re.IGNORECASE
)
# "因是一个内陆国家" gives a reason and says not of what.
_CJK_OPENING: Final = re.compile(r"\s*(?:因|由[于於]|[虽雖]|若|如果)")
_CJK_VERB: Final = re.compile("[是為为有在了被由把]")
_CJK_SURE_VERB: Final = re.compile("[是了把付给給买買卖賣签簽写寫]")
_LONGEST: Final = 10
_LONGEST_CJK: Final = 14
_SHORTEST_CJK: Final = 7
_ITEM_END: Final = re.compile(r"\s*(?:,|;|、|，|;|\band\b|\bor\b|&|和|与|以及)+\s*")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
# Of the question's words, those that must stand in the sentence, and fewer than these say nothing.
_LEAST_ASKED: Final = 0.7
# Where a question may ask for anything, more of it must stand there.
_LEAST_ASKED_OPEN: Final = 0.8
_LEAST_ASKED_SIGNS: Final = 0.85
_LEAST_NEAR: Final = 0.34
_LEAST_NEAR_BY: Final = 0.75
_SHORT_SENTENCE: Final = 18
_MOST_BETWEEN: Final = 2
# Places between plain words and the nearest word of the question.
_NEXT_TO: Final = 2
_JOINTS: Final = lexicon.words("and but while whereas")
_CLAUSE: Final = frozenset(",;:，；：—–")


def is_fragment(text: str, statement: Statement) -> bool:
    """Tell if an answer needs its question to say anything."""
    terms = statement.terms
    if any(term.kind is TermKind.SIGN for term in terms):
        is_phrase = len(terms) <= _SHORTEST_CJK or not _CJK_VERB.search(text)
        is_phrase = _CJK_OPENING.match(text) is not None or (is_phrase and not _CJK_SURE_VERB.search(text))
        return len(terms) <= _LONGEST_CJK and is_phrase
    # Two terms are no statement even with a verb: "He signed it."
    is_phrase = _OPENING.match(text) is not None or not _VERB.search(text)
    return len(terms) <= 2 or (len(terms) <= _LONGEST and is_phrase)  # noqa: PLR2004


def lacks_subject(claim: Statement, passage: Statement, start: int) -> bool:
    """Tell if a short claim in signs begins in the middle of a clause: "bought the ship" of "Ada bought the ship"."""
    if len(claim.terms) > _LONGEST_CJK or not all(term.kind is TermKind.SIGN for term in claim.terms):
        return False
    return any(term.start == start and at and not term.breaks for at, term in enumerate(passage.terms))


def list_items(text: str) -> list[str]:
    """Return the items of a list in one line, or the whole text where it is none."""
    text = text.strip().rstrip(".。")
    items = [item for item in _ITEM_END.split(_THOUSANDS.sub("\0", text)) if item.strip()]
    items = [item.replace("\0", ",") for item in items]
    return items if len(items) > 1 and all(len(item.split()) <= 4 for item in items) else [text]  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class FragmentMatch:
    """How far a sentence bears out a fragment as the answer to a question."""

    agreement: Agreement
    share: float
    """The share of the claim that the sentence has, for the choice of what is quoted."""
    asked: float
    """The share of the question's words in the sentence: no other sentence of the document may have more."""
    is_sole: bool
    """It is all of its kind in the sentence, and that is why it is the answer: no other sentence may have as many."""


def compare_fragment(fragment: Statement, question: Statement, passage: Statement, before: Statement) -> FragmentMatch:
    """Return how far a sentence bears out a fragment as the answer to a question."""
    terms = fragment.terms
    asked = list_asked(question)
    own = {term.key for term in terms}
    best, best_share = Agreement(Degree.CONFLICT, frozenset(), 0, 0), 0.0
    whole_share, is_sole = share_asked(asked, passage), False
    for window in find_windows(terms, passage.terms):
        if window[-1] - window[0] + 1 - len(window) > _MOST_BETWEEN:
            continue
        rest = [term for at, term in enumerate(passage.terms) if at not in window]
        others = [term for term in asked if term.key not in own]
        matched = match_terms(others, rest)
        share = len(matched) / len(others) if others else 1.0
        is_whole = _is_answer(others, matched, before, share, is_open=asks_openly(question)) and not _is_doubtful(
            fragment, question, passage, window, [others[at] for at in matched]
        )
        is_only = not is_whole and is_sole_answer(fragment, question, passage, window, whole_share)
        # Half of the question's own words say nothing new.
        is_echo = 2 * len(own & {term.key for term in question.terms}) > len(own)
        degree = Degree.FOUND if (is_whole or is_only) and not is_echo else Degree.PARTLY
        if (degree, share) > (best.degree, best_share):
            span = passage.terms[window[0]].start, passage.terms[window[-1]].end
            best, best_share, is_sole = Agreement(degree, frozenset(range(len(terms))), *span), share, is_only
    scaled = best_share if best.degree is Degree.FOUND else min(1.0, best_share * 0.6 / _LEAST_NEAR)
    return FragmentMatch(best, scaled, whole_share, is_sole)


def list_asked(question: Statement) -> list[Term]:
    """Return the terms of a question that its answer's sentence should have."""
    return [term for term in question.terms if not _only_asks(term)]


def share_asked(asked: Sequence[Term], passage: Statement) -> float:
    """Return the share of a question's terms that a sentence has."""
    return len(match_terms(asked, passage.terms)) / max(1, len(asked))


def _only_asks(term: Term) -> bool:
    return term.key in lexicon.ASKING or (term.kind is TermKind.SIGN and term.key in lexicon.CJK_ASKING)


def _is_answer(asked: Sequence[Term], matched: set[int], before: Statement, share: float, *, is_open: bool) -> bool:
    """Tell if a sentence has most words of a question, and all its names and numbers there or just before."""
    context = {term.key for term in before.terms}
    lacking = [term for at, term in enumerate(asked) if at not in matched and _must_stand(term)]
    if not asked:
        return False
    if any(_is_missing_pair(asked, matched, at) for at in range(1, len(asked))):
        return False
    signs = any(term.kind is TermKind.SIGN for term in asked)
    least = _LEAST_ASKED_SIGNS if signs else _LEAST_ASKED_OPEN if is_open else _LEAST_ASKED
    return bool(matched) and share >= least and all(term.key in context for term in lacking)


def _must_stand(term: Term) -> bool:
    """Tell if nothing else can stand for a term: a name, a number, a digit of a longer word."""
    # "哪一年" counts nothing.
    is_digit = term.kind is TermKind.SIGN and term.key in lexicon.CJK_DIGITS and term.key != "一"
    return term.is_exact or is_digit


def _is_missing_pair(asked: Sequence[Term], matched: set[int], at: int) -> bool:
    """Tell if two signs side by side are missing: a word, and perhaps the name of what is asked about."""
    one, two = asked[at - 1], asked[at]
    return one.kind is two.kind is TermKind.SIGN and one.end == two.start and not {at - 1, at} & matched


def _is_doubtful(
    fragment: Statement, question: Statement, passage: Statement, window: Sequence[int], beside: Sequence[Term]
) -> bool:
    """Tell if something speaks against the fragment: a negation, another unit, a rival that stands nearer."""
    terms = passage.terms
    keys = {term.key for term in beside}
    places = [at for at, term in enumerate(terms) if term.key in keys or at in window]
    reach = terms[min(places) : max(places) + 1]
    for mark in (NOT, PERHAPS):
        if sum(term.lead.count(mark) for term in reach) != _count_asked(mark, question):
            return True
    return (
        not suits_question(fragment, question, terms, window)
        or _is_apart(terms, window, [at for at in places if at not in window])
        or (
            _has_rival(question, terms, window) if _is_near(terms, window, places) else _is_far(question, terms, window)
        )
    )


def _is_far(question: Statement, terms: Sequence[Term], window: Sequence[int]) -> bool:
    """Tell if what the question speaks of and the fragment may belong to different things in one sentence."""
    first = terms[window[0]]
    asked = {term.key for term in question.terms}
    return (
        len(terms) > _SHORT_SENTENCE
        or not first.is_exact
        or any(
            term.kind is first.kind
            and at not in window
            and term.key not in asked
            and _counts_alike(first, term)
            and not _belongs(terms, at, window)
            for at, term in enumerate(terms)
        )
    )


def _is_apart(terms: Sequence[Term], window: Sequence[int], asked: Sequence[int]) -> bool:
    """Tell if plain words stand away from all words of the question: they may be said of something else."""
    if len(window) == 1 and terms[window[0]].kind is TermKind.NAME:
        return True  # one word of a name, or the name of somebody else beside it
    if any(terms[at].is_exact for at in window):
        return False
    if _is_title(terms, window):
        return True
    if len(window) == 1 and terms[window[0]].kind is TermKind.SIGN:
        return True  # one sign is a part of many words
    return not any(window[0] - _NEXT_TO <= at <= window[-1] + _NEXT_TO for at in asked)


def _is_title(terms: Sequence[Term], window: Sequence[int]) -> bool:
    """Tell if a name follows directly: "journalist" of "journalist Ada Quill"."""
    after = window[-1] + 1
    return after < len(terms) and terms[after].kind is TermKind.NAME and not (terms[after].lead or terms[after].breaks)


def _is_near(terms: Sequence[Term], window: Sequence[int], places: Sequence[int]) -> bool:
    """Tell if the question's words stand in the clause of the fragment rather than elsewhere in the sentence."""
    mine = _clause(terms, window[0])
    others = [at for at in places if at not in window]
    return sum(at in mine for at in others) >= _LEAST_NEAR_BY * len(others)


def _count_asked(mark: str, question: Statement) -> int:
    return sum(term.lead.count(mark) for term in question.terms) + question.tail.count(mark)


def _has_rival(question: Statement, terms: Sequence[Term], window: Sequence[int]) -> bool:
    """Tell if another name or number of the clause could be the answer as well, by its kind and its preposition."""
    first = next((terms[at] for at in window if terms[at].is_exact), None)
    if first is None:
        return False
    asked = {term.key for term in question.terms}
    role = lexicon.POSITIONS & {*first.lead}
    return any(
        terms[at].kind is first.kind
        and at not in window
        and terms[at].key not in asked
        and (lexicon.POSITIONS & {*terms[at].lead}) == role
        and _counts_alike(first, terms[at])
        and (first.kind is TermKind.NUMBER or not _belongs(terms, at, window))
        for at in (range(len(terms)) if first.kind is TermKind.NUMBER else _clause(terms, window[0]))
    )


def _counts_alike(one: Term, other: Term) -> bool:
    return is_date(one) == is_date(other) and (not one.unit or not other.unit or one.unit == other.unit)


def _belongs(terms: Sequence[Term], at: int, window: Sequence[int]) -> bool:
    """Tell if a term stands directly beside the window, as a part of the same name."""
    if at == window[0] - 1:
        return not terms[window[0]].lead and not terms[window[0]].breaks
    if at == window[-1] + 1:
        return not terms[at].lead and not terms[at].breaks
    return at > 0 and not terms[at].lead and not terms[at].breaks


def _clause(terms: Sequence[Term], at: int) -> range:
    """Return the places of the clause around a term."""
    first = last = at
    while first and not _opens_clause(terms[first]):
        first -= 1
    while last + 1 < len(terms) and not _opens_clause(terms[last + 1]):
        last += 1
    return range(first, last + 1)


def _opens_clause(term: Term) -> bool:
    return bool(_CLAUSE & set(term.breaks)) or bool(_JOINTS & set(term.lead))
