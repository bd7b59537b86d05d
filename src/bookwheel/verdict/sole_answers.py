"""Short answers that are the only ones of their kind in a sentence: its one date, its one count.

    "When was the bridge built?"    "1588"   "Of the bridge at Este, built in 1588, two arches stand."    its only date

Which words of the sentence it stands beside does not matter then. That it is the right sentence is for the caller to
see: it must have more of the question's words than any other of the document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bookwheel.verdict.asking import CJK_DATE_SIGNS, AskedKind, kind_asked, suits_question
from bookwheel.verdict.conflicts import is_date
from bookwheel.verdict.statements import NOT, PERHAPS, Statement, Term, TermKind

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAST_ASKED: Final = 0.6


def is_sole_answer(
    fragment: Statement, question: Statement, passage: Statement, window: Sequence[int], asked: float
) -> bool:
    """Tell if a fragment is the only date or number of a sentence, where the question asks for one."""
    kind = kind_asked(question)
    if (
        kind is None
        or asked < _LEAST_ASKED
        or any(is_date(term) for term in fragment.terms) != (kind is AskedKind.DATE)
    ):
        return False
    if not any(_is_of(term, kind) for term in fragment.terms):
        return False
    known = {term.key for term in question.terms}
    mentions = [
        one for one in _list_mentions(passage.terms, kind) if not {passage.terms[at].key for at in one} <= known
    ]
    return (
        all(set(one) & set(window) for one in mentions)
        and all(_count(mark, passage) == _count(mark, question) for mark in (NOT, PERHAPS))
        and suits_question(fragment, question, passage.terms, window)
    )


def _is_of(term: Term, kind: AskedKind) -> bool:
    if kind is AskedKind.DATE:
        return is_date(term)
    return term.kind is TermKind.NUMBER and not is_date(term)


def _list_mentions(terms: Sequence[Term], kind: AskedKind) -> list[list[int]]:
    """Return the places of each date or number; those of one date stand side by side."""
    mentions: list[list[int]] = []
    for at, term in enumerate(terms):
        if not _is_of(term, kind):
            continue
        between = terms[mentions[-1][-1] + 1 : at] if mentions else ()
        if mentions and all(one.key in CJK_DATE_SIGNS for one in between) and not (term.lead or term.breaks.strip(",")):
            mentions[-1].append(at)
        else:
            mentions.append([at])
    return mentions


def _count(mark: str, statement: Statement) -> int:
    return sum(term.lead.count(mark) for term in statement.terms) + statement.tail.count(mark)
