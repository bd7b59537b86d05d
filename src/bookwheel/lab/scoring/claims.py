"""Tell whether an answer says what is asked of another thing than the gold, which it only mentions.

An answer is clauses. Each claims those words of the question that it repeats, and says something new:

    asked when the auction begins
    "Viewing is from 10:30, the auction starts at noon."   the second clause claims auction and start, the first nothing

A clause with nothing new beside the gold is the answer ("10:30", "It is at 10:30"). The gold counts unless another
clause claims all that the clauses with the gold claim, and more, and offers a number or a name like the gold, or
is set beside the gold by "and" or "but". It does not count either where the first sentence is only another thing ("A
vestry. The porch is older."), or where the gold was only meant or so before ("They meant to stay at Bo, but …").
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from bookwheel.lab.scoring.selection import is_quoted
from bookwheel.text import lexicon
from bookwheel.text.normalization import ARTICLES, BREAK, find_words, match_words, split_clauses, words

_OPENERS: Final = lexicon.words(
    "and but while whereas although though which who whom whose where so because since when after before until then"
)
_PRONOUNS: Final = lexicon.words("it he she they this that which who")
# What a clause may say besides without saying anything new.
_REMARKS: Final = (
    frozenset(
        map(
            lexicon.stem,
            lexicon.words(
                "okay ok yes no none well sure therefore hence based certainly actually first finally given let think "
                "specific precise exact more would could may might probably perhaps likely end"
            ),
        )
    )
    | lexicon.LIGHT
)
_MEASURES: Final = frozenset(map(lexicon.stem, lexicon.words("many much long old name")))
# What is so no more, or never came to be.
_PLANS: Final = frozenset(
    map(
        lexicon.stem,
        lexicon.words(
            "meant planned wanted intended hoped supposed expected tried offered proposed estimated quotation budget "
            "originally initially formerly previously 以前 原来 原本 原定 起初 最初 本来 打算 计划"
        ),
    )
)
_HAN_JOINTS: Final = frozenset("和与及、")
_PREPOSITIONS: Final = lexicon.POSITIONS | lexicon.DIRECTIONS
_BESIDE: Final = lexicon.words("and but while whereas")
_NOW: Final = _BESIDE | frozenset("现后但最")
_CAPITAL: Final = re.compile(r"\b[A-ZÀ-Þ]\w+")
_DIGIT: Final = re.compile(f"[0-9{''.join({*lexicon.CJK_DIGITS} - {'一'})}]")
_LONGEST_LEAD: Final = 4
# A gold of so many words is a statement, which other clauses explain.
_STATEMENT: Final = 6
_LEAD: Final = re.compile(
    r"[\W_]*([^.;。；\n!?！？]+?)(?:[;。；\n]|(?<=\w{4})\.\s|,? (?:so|but|though|although|while|whereas|because)\b)"
)
_VERBS: Final = lexicon.AUXILIARIES | lexicon.words("would could may might not im")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clause:
    """What a clause of an answer says."""

    claims: frozenset[str]
    """The question's words that it repeats; a pronoun stands for those of the clause before."""
    news: frozenset[str]
    """What it says beside these and the gold."""
    has_gold: bool
    is_plan: bool
    """Whether it says what was meant, tried or so before."""
    is_own: bool
    """Whether it has a subject of its own."""
    has_verb: bool
    opener: str
    """Its first word."""


def answers_otherwise(answer: str, gold: str, question: str) -> bool:
    """Return whether another clause claims more of the question than those in which the gold stands."""
    part = words(gold)
    if len(part) >= _STATEMENT or "why" in words(question) or is_quoted(answer):
        return False
    if _leads_with_other(answer, part, question):
        return True
    clauses = _read_clauses(answer, part, question)
    own = [one for one in clauses if one.has_gold]
    if not own or not all(one.news for one in own) or _leads_with_gold(answer, part):
        return False
    rivals = [one for one in clauses if not one.has_gold and one.is_own and _has_kind(one.news, gold, answer)]
    if all(one.is_plan for one in own) and any(not one.is_plan and one.opener in _NOW for one in rivals):
        return True
    if not (_DIGIT.search(" ".join(part)) or _is_name(gold) or any(one.opener in _BESIDE for one in own)):
        rivals = [one for one in rivals if one.opener in _BESIDE]
    held = {one.claims for one in own}
    return any(all(claims > one for one in held) for claims in {one.claims for one in rivals})


def _has_kind(news: Iterable[str], gold: str, answer: str) -> bool:
    """Return whether a clause says something new of the gold's kind: a number, a name, or anything."""
    if _DIGIT.search(" ".join(words(gold))):
        return any(_DIGIT.search(word) for word in news)
    if _is_name(gold):
        names = {lexicon.stem(word.casefold()) for word in _CAPITAL.findall(answer)}
        return bool(names & {*news} - lexicon.MONTHS)
    return bool(news)


def _is_name(gold: str) -> bool:
    return gold.strip('"“”《')[:1].isupper() and gold.isascii()


def _leads_with_gold(answer: str, gold: Sequence[str]) -> bool:
    """Return whether the answer begins with the gold, and says no more than when or where ("Ada in Bergen.")."""
    row = next(iter(_split(answer)), [])
    at = next(iter(find_words(row, gold, most=1)), -1)
    end = match_words(row, at, gold) if at >= 0 else 0
    is_open = all(word in _PREPOSITIONS or word[0].isdigit() for word in row[:at])
    is_date = all(word[0].isdigit() or word in "年月日" for word in row[end:])
    return at >= 0 and is_open and (is_date or row[end] in lexicon.POSITIONS)


def is_said_of_some(answer: str, golds: Sequence[str], question: str) -> bool:
    """Return whether what is asked is said of some golds, and something else of another: "Ada signed, Bram watched"."""
    parts = [words(gold) for gold in golds]
    # With the numbers of a numbered list.
    named = [*(word for part in parts for word in part), *map(str, range(1, len(golds) + 1))]
    rows = [_read_clauses(answer, part, question, named) for part in parts]
    own = [[one for one in clauses if one.has_gold] for clauses in rows]
    return any(
        all(one.news and one.has_verb and other.claims > one.claims for one in some for other in others)
        for some in own
        for others in own
        if some and others and some is not others
    )


def _read_clauses(answer: str, gold: Sequence[str], question: str, golds: Sequence[str] = ()) -> list[_Clause]:
    asked = _find_content(words(question)) - _MEASURES
    named = _find_content(gold) | {*gold, *golds, *map(lexicon.stem, golds)}
    clauses: list[_Clause] = []
    claims: frozenset[str] = frozenset()
    for row in _split(answer):
        said = _find_content(row) - _REMARKS
        has_gold = bool(find_words(row, gold, most=1))
        follows = bool(_PRONOUNS & set(row[:2])) or (not has_gold and _drops_subject(row))
        own = frozenset(said & asked) | (claims if follows else frozenset())
        claims = own or claims
        clauses.append(
            _Clause(
                claims=own,
                news=frozenset(said - asked - named),
                has_gold=has_gold,
                is_plan=bool(_PLANS & said - asked),
                is_own=not _is_verb(row[0]),
                has_verb=any(map(_is_verb, row)),
                opener=row[0],
            )
        )
    return clauses


def _leads_with_other(answer: str, gold: Sequence[str], question: str) -> bool:
    """Return whether the first sentence is only a name, a thing or a number that is not the gold: "A vestry. …"."""
    lead = _LEAD.match(answer)
    row = words(lead[1]) if lead else []
    if not lead or not row or len(row) > _LONGEST_LEAD or _VERBS & set(row) or row[0] in _PREPOSITIONS:
        return False
    said = _find_content(row) - _REMARKS
    if not said - _find_content(words(question)) - _find_content(gold) or find_words(row, gold, most=1):
        return False
    is_number = gold[0][:1].isdigit()
    if is_number != any(word[:1].isdigit() for word in row):
        return False
    return bool(find_words(words(answer[lead.end() :]), gold, most=1))


def _split(answer: str) -> Iterable[list[str]]:
    """Yield the clauses of an answer: between punctuation, and from each word that opens one."""
    row: list[str] = []
    for token in [*split_clauses(answer), BREAK]:
        if token in _OPENERS | {BREAK}:
            if row:
                yield row
            row = [] if token == BREAK else [token]
        elif token not in ARTICLES:
            row.append(token)


def _drops_subject(row: Sequence[str]) -> bool:
    """Return whether a clause speaks of what the one before speaks of: "… and opened in 1932", "…，1956年重修"."""
    if row[0] in {"and", "but"}:
        return len(row) > 1 and _is_verb(row[1])
    return row[0] in "于在并后至从由到直是" or (row[0][0].isdigit() and any(map(_is_han, row)))


def _is_verb(word: str) -> bool:
    return word in lexicon.AUXILIARIES or word in lexicon.IRREGULAR or word.endswith("ed")


def _find_content(row: Sequence[str]) -> set[str]:
    """Return the stems of the words that say something, and the pairs of Chinese characters."""
    stems = {lexicon.stem(word) for word in row if word not in lexicon.FUNCTION_WORDS and not _is_han(word)}
    return stems | {a + b for a, b in pairwise(row) if _is_han(a) and _is_han(b) and not {a, b} & _HAN_JOINTS}


def _is_han(word: str) -> bool:
    return len(word) == 1 and "\u3400" <= word <= "\u9fff"
