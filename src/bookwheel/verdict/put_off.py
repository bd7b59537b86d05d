"""Find what a document puts off in so many words: a value that an answer has, and that holds no longer.

    "by 20 March instead of 15 April"        15 April
    "46,500 tiles, not 42,000"               42,000
    "管理员由周文彬改为何晓岚"                   周文彬

An answer that tells both values may say which one holds, and is left alone.
"""

from __future__ import annotations

from typing import Final

from bookwheel.verdict.measure import SHORT, Surroundings
from bookwheel.verdict.parsing import Sentence, Term

# What stands before a value that is put off, and behind one; and what may stand between.
_PUTS_OFF: Final = (
    *("not", "no longer", "instead of", "rather than", "in place of", "replaces", "replacing", "supersedes"),
    *("不 是", "并 非", "而 非", "不 再 是", "不 再 为", "原 为", "原 定", "代 替", "取 代"),
)
_IS_PUT_OFF: Final = (
    *(f"{be} {done}" for be in ("is", "are", "was", "were") for done in ("replaced", "superseded", "cancelled")),
    *(
        "should read",
        "should say",
        "moved to",
        "postponed to",
        "改 为",
        "改 成",
        "更 正 为",
        "变 更 为",
        "调 整 为",
        "で は な く",
    ),
)
# Right behind a number: "37.5% should be 35.7%", and no year 2027 of which something should be.
_SHOULD_BE: Final = ("应 为", "应 是")
_BETWEEN: Final = frozenset({"the", "a", "an", "about", "around", "on", "at", "in", "by", "约", "于", "在"})
_MOST_BETWEEN: Final = 3
_BEFORE: Final = tuple(f" {words}" for words in _PUTS_OFF)
_BEHIND: Final = tuple(f" {words} " for words in _IS_PUT_OFF)
_TELLS_BOTH: Final = (*(f"{words} " for words in _BEFORE[1:]), *_BEHIND)
# Signs of a figure that two sentences seldom share by chance.
_LEAST_TELLING: Final = 3


def find_put_off(claim: Sentence, question: Sentence, around: Surroundings) -> int | None:
    """Return the place of the sentence that puts off a value of the claim: "by 20 March instead of 15 April"."""
    # A few signs of a script without capitals may be a name.
    may_be_name = claim.has_signs and len(claim.terms) <= SHORT
    own = {
        term.key: term
        for term in claim.terms
        if (may_be_name or term.is_number or term.key in claim.names) and term.key not in question.keys
    }
    # What tells both values may say which one holds.
    if any(words in f" {' '.join(claim.tokens)} " for words in _TELLS_BOTH) or any(
        _is_put_off(claim, term) for term in own.values()
    ):
        return None
    known = {*claim.keys, *question.asked}
    for at, one in enumerate(around.sentences):
        is_asked = not question.asked.isdisjoint(one.keys)
        places = [term for term in one.terms if term.key in own]
        off = {
            term.key
            for term in places
            if _is_put_off(one, term)
            and (is_asked or term.is_number or term.key in claim.names)
            and _is_of_same(claim, own[term.key], one, term, known)
        }
        if off - {term.key for term in places if not _is_put_off(one, term)}:
            return at
    return None


def _is_put_off(sentence: Sentence, term: Term) -> bool:
    clause = sentence.clauses[term.clause]
    at = first = term.at - sum(map(len, sentence.clauses[: term.clause]))
    while first and clause[first - 1] in _BETWEEN:
        first -= 1
    before = f" {' '.join(clause[max(0, first - _MOST_BETWEEN) : first])}"
    behind = f" {' '.join(clause[at + 1 : at + 1 + 2 * _MOST_BETWEEN])} "
    is_wrong = term.is_number and " ".join(clause[at + 1 + bool(sentence.find_unit(term)) :]).startswith(_SHOULD_BE)
    return is_wrong or before.endswith(_BEFORE) or any(words in behind for words in _BEHIND)


def _is_of_same(claim: Sentence, mine: Term, other: Sentence, theirs: Term, known: set[str]) -> bool:
    """Tell if two equal terms are of one thing: what they count is alike, or what else is known and said there."""
    counted, others = claim.find_counted(mine)[:1], other.find_counted(theirs)
    if counted and others and counted[0] not in others:
        return False
    return len(mine.key) > _LEAST_TELLING or len(known & other.keys.keys()) > 1
