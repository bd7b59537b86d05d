"""Tell whether an answer says what is asked of another thing than the gold, which it only mentions.

An answer is clauses. Each claims those words of the question that it repeats, and says something new:

    asked when the auction begins
    "Viewing is from 10:30, the auction starts at 12:00."  the second clause claims auction and start, the first nothing

A clause with nothing new beside the gold is the answer ("10:30", "It is at 10:30"). Else the gold counts unless
another clause of its sentence claims all that the clauses with the gold claim, and more, and offers something of the
gold's kind: a number of the same unit, a name with the verb of a question for a "who", or what "and" or "but" sets
beside it. A further sentence goes on about the answer, and takes nothing back.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from bookwheel.lab.scoring.selection import DIGIT, LONGEST, find_units, is_statement
from bookwheel.text import lexicon
from bookwheel.text.normalization import ARTICLES, BREAK, find_words, match_words, split_clauses, words
from bookwheel.text.quantities import UNITS
from bookwheel.text.sentences import list_sentences

_OPENERS: Final = lexicon.words(
    "and but while whereas although though which who whom whose where so because since when after before until then"
)
_PRONOUNS: Final = lexicon.words("it he she they this")
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
_MEASURES: Final = frozenset(map(lexicon.stem, lexicon.words("many much long old name responsible charge")))
# "李敏负责会场，王强负责接待。": two clauses, and the gold in the first.
_ASKS_WHO, _PAIR = "谁", 2
_HAN_JOINTS: Final = frozenset("和与及、")
_WHERE: Final = lexicon.POSITIONS | lexicon.DIRECTIONS
_BESIDE: Final = lexicon.words("and but while whereas")
_CAPITAL: Final = re.compile(r"\b[A-ZÀ-Þ]\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clause:
    """What a clause of an answer says."""

    claims: frozenset[str]
    """The question's words that it repeats; a pronoun stands for those of the clause before."""
    news: frozenset[str]
    """What it says beside these and the gold."""
    has_gold: bool
    row: Sequence[str]
    """Its tokens."""
    sentence: int
    """The place of its sentence in the answer."""


def answers_otherwise(answer: str, gold: str, question: str) -> bool:
    """Return whether another clause claims more of the question than those in which the gold stands."""
    answer, part, asked = answer[:LONGEST], words(gold), words(question)
    # A statement or a reason is explained by other clauses, and has no rivals.
    if is_statement(gold) or "why" in asked:
        return False
    clauses = _read_clauses(answer, part, question)
    own = [one for one in clauses if one.has_gold]
    if not own or not all(one.news for one in own) or _leads_with_gold(answer, part):
        return False
    held = frozenset().union(*(one.claims for one in own))
    sentences = {one.sentence for one in own}
    # A clause that begins with a verb has no subject of its own.
    rivals = [one for one in clauses if not (one.has_gold or lexicon.is_verb(one.row[0])) and one.sentence in sentences]
    if _has_number(part):
        unit = find_units(part)
        unit |= {""} if "time" in unit else set()  # "at 9"
        rivals = [one for one in rivals if find_units(one.row) & unit]
    elif _is_name(gold):
        # Who did it is said with the verb, the first word that a question for a "who" holds.
        said = [lexicon.stem(word) for word in asked if _find_content([word]) - _MEASURES]
        verb = {*said[:1]} if "who" in asked[:1] else {*said}
        names = {lexicon.stem(word.casefold()) for word in _CAPITAL.findall(answer)} - lexicon.MONTHS
        rivals = [one for one in rivals if names & one.news and one.claims & verb]
    elif not (held and _ASKS_WHO in question and len(clauses) == _PAIR and clauses[0].has_gold) and not any(
        one.row[0] in _BESIDE for one in own
    ):
        rivals = [one for one in rivals if one.row[0] in _BESIDE]
    return any(one.news and one.claims > held for one in rivals)


def _has_number(row: Sequence[str]) -> bool:
    return any(map(DIGIT.search, row))


def _is_name(gold: str) -> bool:
    return gold.strip('"“”《')[:1].isupper() and not any(map(_is_han, gold))


def _leads_with_gold(answer: str, gold: Sequence[str]) -> bool:
    """Return whether the answer begins with the gold, and says no more than when or where ("Ada in Bergen.")."""
    row = next(iter(_split(answer)), [])
    at = next(iter(find_words(row, gold, most=1)), len(row))
    end = match_words(row, at, gold)
    end += row[end : end + 1] != [] and row[end] in UNITS
    is_open = all(word in _WHERE or word[0].isdigit() for word in row[:at])
    return end > 0 and is_open and (end == len(row) or row[end] in lexicon.POSITIONS)


def _read_clauses(answer: str, gold: Sequence[str], question: str) -> list[_Clause]:
    asked = _find_content(words(question)) - _MEASURES
    named = _find_content(gold) | {*gold}
    clauses: list[_Clause] = []
    claims: frozenset[str] = frozenset()
    rows = ((at, row) for at, one in enumerate(list_sentences(answer)) for row in _split(one))
    for at, row in rows:
        said = _find_content(row) - _REMARKS
        has_gold = bool(find_words(row, gold, most=1))
        follows = bool(_PRONOUNS & set(row[:2])) or (not has_gold and _drops_subject(row))
        repeated = frozenset(said & asked) | (claims if follows else frozenset())
        claims = repeated or claims
        clauses.append(
            _Clause(
                claims=repeated,
                news=frozenset(said - asked - named),
                has_gold=has_gold,
                row=row,
                sentence=at,
            )
        )
    return clauses


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
        return len(row) > 1 and lexicon.is_verb(row[1])
    return row[0] in "于在并后至从由到直是" or (row[0][0].isdigit() and any(map(_is_han, row)))


def _find_content(row: Sequence[str]) -> set[str]:
    """Return the stems of the words that say something, and the pairs of Chinese characters."""
    stems = lexicon.find_content(word for word in row if not _is_han(word))
    return stems | {a + b for a, b in pairwise(row) if _is_han(a) and _is_han(b) and not {a, b} & _HAN_JOINTS}


def _is_han(word: str) -> bool:
    return len(word) == 1 and "\u3400" <= word <= "\u9fff"
