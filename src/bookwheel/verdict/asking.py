"""What a question asks for: a number, a place, a person; and whether a short answer can be that where it stands.

    "How many minors does it grant?"     a number that counts minors, and nothing else
    "Where was it shown?"                something after "in", "at" or another preposition of place
    "Who was responsible?"               nothing after such a preposition

Purely the words around: no dictionary knows what Paris is.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from bookwheel.text import lexicon
from bookwheel.text.lexicon import stem
from bookwheel.verdict.conflicts import is_date
from bookwheel.verdict.statements import Statement, Term, TermKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NUMBER_ASKED: Final = tuple(
    map(lexicon.words, ("how long", "how old", "how far", "what year", "which year", "what date", "which date"))
)
# Questions with one of these may be answered by a number alone.
_MEASURED: Final = lexicon.words(
    "many much long old far often when year years date day number percent percentage ratio rate age price cost amount "
    "population size area length height width depth distance speed temperature time times score total average high "
    "tall large big deep wide fast late early soon"
)
# Of these a question asks for one: what is long is not how deep it is.
_EXTENTS: Final = lexicon.words("long deep wide high tall thick old")
_MEASURE_WORDS: Final = lexicon.words(
    "percent dollar euro pound yuan foot feet inch mile kilometre kilometer metre meter centimetre millimetre km cm "
    "mm mi ft kg kilogram gram tonne acre hectare mph degree million billion"
)
_MEASURES: Final = frozenset(map(stem, _MEASURE_WORDS))
_ORDINAL_ENDS: Final = (*lexicon.ORDINALS, "st", "nd", "rd", "th")
# Questions with one of these are answered by no number.
_NAMED: Final = lexicon.words(
    "who whom whose where kind type name country city state team company person river language"
)
_ASKING: Final = frozenset({"which", "what", "whom", "whose"})
_TIME_OR_PLACE: Final = frozenset({"when", "where", "long", "often", "far", "year", "date", "day", "time", "place"})
_BOUND: Final = lexicon.words("with from against")
_CJK_COUNT: Final = re.compile("多少|几|幾|哪一?年|何[时時年]|[时時]候")
_DATE_ASKED: Final = tuple(map(lexicon.words, ("what year", "which year", "what date", "which date")))
_CJK_WHEN: Final = re.compile("哪一?年|何[时時年]|[时時]候")
CJK_DATE_SIGNS: Final = frozenset("年月日号號")
_CJK_TIME: Final = re.compile("[年月日号號时時期代天]")
_CJK_HOW_MANY: Final = re.compile("多少|几|幾")
_CJK_WHO: Final = re.compile("谁|誰|哪位|哪里|哪裡|何人|何[处處]")
_CJK_WHERE: Final = re.compile("哪里|哪裡|哪儿|哪兒|何[处處地]|什么地方|什麼地方")
_CJK_PLACE: Final = frozenset("在于於到至从從往")
# "因是一个内陆国家", "以收买人心": a reason or an aim is no thing.
_CJK_REASON: Final = frozenset("因以")
# "什么河谷", "哪个时期": the two signs after the asking word name what is asked for.
_CJK_NAMED: Final = re.compile("(?:什[么麼]|哪一?[个個种種座条條家位])([^的是在有为為了吗嗎呢?？,，。]{2})")
# "多少个都市", "几步": what is counted begins with this sign.
_CJK_COUNTED: Final = re.compile("(?:多少|几|幾)[个個种種座条條家位项項只隻]?([^的是在有为為了吗嗎呢?？,，。])")
# Terms after a number in which the thing that it counts must stand.
_COUNTED_WITHIN: Final = 3


class AskedKind(Enum):
    """What a question asks for, where its words leave no doubt."""

    DATE = auto()
    COUNT = auto()


def kind_asked(question: Statement) -> AskedKind | None:
    """Return what a question asks for; None where it may be anything."""
    words, signs = _asking_words(question), _signs(question)
    if "when" in words or any(pair <= words for pair in _DATE_ASKED) or _CJK_WHEN.search(signs):
        return AskedKind.DATE
    return AskedKind.COUNT if {"how", "many"} <= words or _CJK_HOW_MANY.search(signs) else None


def asks_openly(question: Statement) -> bool:
    """Tell if the answer to a question may be anything: a "what" or a "which" that names no year and counts nothing."""
    words = _asking_words(question)
    return bool({"what", "which"} & words) and kind_asked(question) is None


def _signs(question: Statement) -> str:
    return "".join(term.text for term in question.terms if term.kind is TermKind.SIGN)


def suits_question(fragment: Statement, question: Statement, terms: Sequence[Term], window: Sequence[int]) -> bool:
    """Tell if the fragment, where it stands in a sentence, can be what the question asks for."""
    signs = _signs(question)
    return (
        _has_kind(fragment, question, signs)
        and _has_role(question, signs, terms[window[0]])
        and not _counts_otherwise(question, signs, terms, window)
        and not _is_elsewhere(signs, terms, window)
    )


def _asking_words(question: Statement) -> set[str]:
    return {word for term in question.terms for word in term.lead} | {*question.tail} | {*question.keys}


def _has_kind(fragment: Statement, question: Statement, signs: str) -> bool:
    """Tell if the fragment is a number where the question asks for one, and no bare number where it asks for more."""
    words = _asking_words(question)
    has_number = any(term.kind is TermKind.NUMBER or term.key in lexicon.MONTHS for term in fragment.terms)
    if {"year", "date"} & words and {"which", "what"} & words:
        # "July" is no year.
        return any(is_date(term) and ("date" in words or _is_year(term)) for term in fragment.terms)
    if _is_other_measure(fragment, words) or (signs and _is_time(fragment) and not _CJK_TIME.search(signs)):
        return False
    counts = {"when", "many", "much", "ratio", "percentage", "score"} & words or any(
        pair <= words for pair in _NUMBER_ASKED
    )
    if counts or _CJK_COUNT.search(signs):
        return has_number
    if _NAMED & words or _CJK_WHO.search(signs):
        return not has_number and not ("who" in words and _is_plain_word(fragment))
    if "how" in words and not _MEASURED & words:
        return False  # a manner is no name and no number
    # Nor is a date a thing.
    is_measure = _is_bare_number(fragment) or _is_time(fragment)
    return not is_measure or bool(signs) or bool(_MEASURED & words)


def _is_other_measure(fragment: Statement, words: set[str]) -> bool:
    """Tell if a fragment measures something else than is asked for: "six" is no time, "240 km long" is not how deep."""
    terms = fragment.terms
    if "when" in words:
        return not any(is_date(term) or term.text[0].isdigit() for term in terms)
    if {"how", "long"} <= words and any(is_date(term) for term in terms):
        return True  # a time is no duration
    if {"how", "many"} <= words and all(term.text.casefold().endswith(_ORDINAL_ENDS) for term in terms):
        return True
    return "how" in words and bool((_EXTENTS & set(fragment.keys)) - words)


def _is_time(fragment: Statement) -> bool:
    return any(is_date(term) for term in fragment.terms) and all(
        is_date(term) or term.key in CJK_DATE_SIGNS for term in fragment.terms
    )


def _is_year(term: Term) -> bool:
    return term.kind is TermKind.NUMBER and term.unit not in lexicon.MONTHS


def _is_plain_word(fragment: Statement) -> bool:
    return len(fragment.terms) == 1 and fragment.terms[0].kind is TermKind.WORD


def _is_bare_number(fragment: Statement) -> bool:
    """Tell if a fragment is a number, with the unit of a measure at most: "12,799 feet" is no mountain."""
    return all(term.kind is TermKind.NUMBER or term.key in _MEASURES for term in fragment.terms)


def _has_role(question: Statement, signs: str, first: Term) -> bool:
    """Tell if the preposition before the fragment is one that the question asks for."""
    if _CJK_WHERE.search(signs):
        return bool(_CJK_PLACE & set(first.lead))
    if first.kind is TermKind.SIGN:
        return first.key not in _CJK_REASON and not _CJK_REASON & set(first.lead)
    # Who did it stands after "by".
    words, position = _asking_words(question), (lexicon.POSITIONS - {"by"}) & {*first.lead}
    if "where" in words:
        return bool(position)
    # "With what artist" is answered by no name that only stands near.
    if (bound := _BOUND & set(_list_asked_positions(question))) and not bound & {*first.lead}:
        return False
    # "After the war the city built" does not say that the war built.
    is_detail = position or lexicon.DIRECTIONS & {*first.lead} & {"after", "before"}
    return not is_detail or bool(_TIME_OR_PLACE & words) or bool(is_detail & set(_list_asked_positions(question)))


def _list_asked_positions(question: Statement) -> Iterator[str]:
    """Yield the prepositions of what is asked for: "in which city", "sold to whom", "Whom did she sell it to?"."""
    yield from question.tail[-1:]
    for term in question.terms:
        yield from (word for word, asking in pairwise(term.lead) if asking in _ASKING)


def _counts_otherwise(question: Statement, signs: str, terms: Sequence[Term], window: Sequence[int]) -> bool:
    """Tell if a number counts something else than what the question counts, or if another number might."""
    if not any(terms[at].kind is TermKind.NUMBER for at in window):
        return False
    if _is_in_number(terms, window[0]):
        return True
    others = [at for at, term in enumerate(terms) if term.kind is TermKind.NUMBER and at not in window]
    if counted := _CJK_COUNTED.search(signs):
        near = terms[window[0] : window[-1] + 1 + _COUNTED_WITHIN]
        return counted[1] not in {term.text for term in near}
    if named := list(_list_counted(question)):
        near = terms[window[0] + 1 : window[-1] + 1 + _COUNTED_WITHIN]
        before = [term.key for term in near if term.kind is not TermKind.NUMBER]
        return not all(key in before for key in named) or any(
            term.kind is TermKind.NUMBER for term in terms[window[-1] + 1 : window[-1] + 2]
        )
    asked, words = {term.key for term in question.terms}, _asking_words(question)
    # "How much" may be answered by a sum or by a share of it.
    is_number_asked = "number" in words or {"how", "much"} <= words
    return is_number_asked and any(terms[at].key not in asked for at in others)


def _is_in_number(terms: Sequence[Term], at: int) -> bool:
    """Tell if a number stands directly before this one: "a million" is not "12.5 million"."""
    term = terms[at]
    is_joined = at > 0 and terms[at - 1].kind is TermKind.NUMBER and not (term.lead or term.breaks)
    return is_joined and term.kind is TermKind.NUMBER and not is_date(term)


def _list_counted(question: Statement) -> Iterator[str]:
    """Yield the words between "how many" and the next function word."""
    terms = question.terms
    start = next((at for at, term in enumerate(terms) if term.key in {"many", "much"}), None)
    if start is None:
        return
    for term in terms[start + 1 :]:
        if term.lead or term.breaks:
            return
        yield term.key


def _is_elsewhere(signs: str, terms: Sequence[Term], window: Sequence[int]) -> bool:
    """Tell if the sentence names what is asked for in another place: "什么河谷" is not "莱茵河中游" of "莱茵河谷"."""
    named = _CJK_NAMED.search(signs)
    if not named:
        return False
    pairs = [at for at in range(len(terms) - 1) if terms[at].text + terms[at + 1].text == named[1]]
    return bool(pairs) and not any(window[0] - 2 <= at <= window[-1] + 1 for at in pairs)
