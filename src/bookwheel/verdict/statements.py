"""A sentence as its terms: what it speaks of, and the small words between that decide how.

    parse_statement("It did not cost 12,400 livres in Este.").terms
        cost    lead ("it", "did", "¬")
        12400   NUMBER
        livres  lead ()                       directly after the number, so it is its unit
        este    NAME, lead ("in",)

Terms of one key are the same word in another form. In scripts without blanks each character is a term.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Final, NamedTuple

from bookwheel.text import lexicon
from bookwheel.text.lexicon import stem
from bookwheel.text.matching import UNSPACED
from bookwheel.text.numbers import name_month, normalize_number, parse_cjk_number, parse_ones

NOT: Final = "¬"
"""Stands in a lead for any word of negation."""
PERHAPS: Final = "~"
"""Stands in a lead for any word that takes the fact out of a sentence: "if", "believed", "refused to"."""

_TOKEN: Final = re.compile(
    rf"(?P<date>\b\d{{4}}-\d\d-\d\d\b)|(?P<number>\d+(?:[.,:/]\d+)*)|(?P<sign>[{UNSPACED}])"
    rf"|(?P<negated>[^\W\d_]+n['’]t\b)|(?P<genitive>['’]s\b)|(?P<word>(?:(?![{UNSPACED}])[^\W_])+)"
    r"|(?P<unit>[%％$€£¥])|(?P<break>[.!?。！？;；:：,，、()（）\[\]—–|\n])"
)
# "A320", which counts nothing, unlike "third".
_CODE: Final = re.compile(r"[^\W\d_]+\d")
# A sentence of the document is compared with each claim of an answer.
_PARSED_KEPT: Final = 256
_SENTENCE_BREAKS: Final = frozenset(".!?。！？:：\n")


class TermKind(Enum):
    """The care with which a term must match."""

    WORD = auto()
    """May stand in another form."""
    NAME = auto()
    NUMBER = auto()
    SIGN = auto()
    """A character of a script without blanks."""


class Term(NamedTuple):
    """A word that says something."""

    key: str
    kind: TermKind
    text: str
    start: int
    end: int
    lead: tuple[str, ...]
    """The function words between the term before and this one."""
    breaks: str
    """The punctuation marks there."""
    unit: str
    """Of a number: the word or sign that it counts, where that stands directly beside it."""

    @property
    def is_exact(self) -> bool:
        """True for a name or a number, which nothing else can stand for."""
        return self.kind is TermKind.NAME or self.kind is TermKind.NUMBER


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence in terms."""

    terms: tuple[Term, ...]
    tail: tuple[str, ...]
    """The function words after the last term."""

    @property
    def keys(self) -> list[str]:
        """The keys of the terms in order."""
        return [term.key for term in self.terms]

    @property
    def exact_keys(self) -> set[str]:
        """The keys of its names and numbers."""
        return {term.key for term in self.terms if term.is_exact}


@lru_cache(_PARSED_KEPT)
def parse_statement(text: str) -> Statement:
    """Split a sentence into its terms."""
    parser = _Parser(text)
    return parser.parse()


class _Parser:
    """Collects the terms of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._terms: list[Term] = []
        self._lead: list[str] = []
        self._breaks = ""
        self._unit = ""
        self._is_start = True

    def parse(self) -> Statement:
        """Return the statement of the whole text."""
        tokens = list(_TOKEN.finditer(self._text))
        at = 0
        while at < len(tokens):
            at += self._take(tokens, at)
        return Statement(_order_dates(self._terms), tuple(self._lead))

    def _take(self, tokens: list[re.Match[str]], at: int) -> int:
        """Take the token at this place, and return how many tokens were taken."""
        token = tokens[at]
        kind, text = token.lastgroup, token[0]
        if kind == "sign":
            return self._take_sign(tokens, at)
        if kind == "break":
            if text == "." and at and _is_abbreviation(tokens[at - 1]):
                return 1
            self._breaks += text
            self._is_start = self._is_start or text in _SENTENCE_BREAKS
            return 1
        if kind == "unit":
            self._take_unit(token)
        elif kind == "date":
            year, month, day = text.split("-")
            for key, what in ((day, TermKind.NUMBER), (name_month(month), TermKind.NAME), (year, TermKind.NUMBER)):
                self._add(key.lstrip("0") or "0", what, token)
        elif kind == "number":
            self._add(normalize_number(text), TermKind.NUMBER, token)
            self._add_unit(token)
        elif kind in {"negated", "genitive"}:
            self._lead.append(NOT if kind == "negated" else "'s")
        else:
            taken = self._take_word(tokens, at)
            self._is_start = False
            return taken
        self._is_start = False
        return 1

    def _take_unit(self, token: re.Match[str]) -> None:
        unit = lexicon.UNITS[token[0]]
        last = self._terms[-1] if self._terms else None
        self._unit = unit
        if (
            last
            and last.kind is TermKind.NUMBER
            and not self._lead
            and (unit == "percent" or last.end == token.start())
        ):
            self._add_unit(token)

    def _add_unit(self, token: re.Match[str]) -> None:
        """Add the term of a sign such as "$", after its number as the word would stand."""
        if self._unit:
            unit, self._unit = stem(self._unit), ""
            self._add(unit, TermKind.WORD, token)

    def _take_word(self, tokens: list[re.Match[str]], at: int) -> int:
        token = tokens[at]
        text = token[0]
        word = text.casefold()
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if word in lexicon.NEGATIONS and not (word == "no" and after and after[0] == "."):
            self._lead.append(NOT)
        elif word in lexicon.HEDGES and not (word == "may" and text == "May"):
            self._lead.append(PERHAPS)
        elif word in lexicon.FUNCTION_WORDS or (len(text) == 1 and after and after[0] == "."):
            self._lead.append(word)
        elif any(map(str.isdigit, text)):
            self._add(word, TermKind.NUMBER, token)
        elif word in lexicon.NUMBER_WORDS:
            tens, ones = int(lexicon.NUMBER_WORDS[word]), parse_ones(after[0]) if after and word in lexicon.TENS else 0
            end = after.end() if after and ones else 0
            self._add(str(tens + ones), TermKind.NUMBER, token, end=end)
            return 2 if ones else 1
        elif word in lexicon.ORDINALS:
            self._add(word, TermKind.NUMBER, token)
        else:
            is_name = text[0].isupper() and (
                not self._is_start or (len(text) > 1 and text.isupper()) or _is_capitalized(after)
            )
            self._add(stem(word), TermKind.NAME if is_name else TermKind.WORD, token)
        return 1

    def _take_sign(self, tokens: list[re.Match[str]], at: int) -> int:
        token = tokens[at]
        text, start = token[0], token.start()
        self._is_start = False
        if digits := _digit_run(tokens, at):
            number = self._text[start : tokens[at + digits - 1].end()]
            follower = self._text[start + len(number) : start + len(number) + 1]
            pointer = self._text[start - 1 : start] if start else ""
            if digits > 1 or (follower in lexicon.CJK_CLASSIFIERS and pointer not in lexicon.CJK_POINTERS):
                self._add(parse_cjk_number(number), TermKind.NUMBER, token, end=start + len(number))
                return digits
        if self._text[start : start + 2] in lexicon.CJK_HEDGES:
            self._lead.append(PERHAPS)
            return 2
        if text in lexicon.CJK_NEGATIONS and not self._negates_nothing(start):
            self._lead.append(NOT)
        elif text in lexicon.CJK_FUNCTION:
            self._lead.append(text)
        else:
            self._add(text, TermKind.SIGN, token)
        return 1

    def _negates_nothing(self, start: int) -> bool:
        around, word = self._text[max(0, start - 1) : start + 2], self._text[start : start + 3]
        return any(one in around or word.startswith(one) for one in lexicon.CJK_NO_NEGATION)

    def _add(self, key: str, kind: TermKind, token: re.Match[str], *, end: int = 0) -> None:
        last = self._terms[-1] if self._terms else None
        is_beside = last is not None and not self._lead and not self._breaks
        counts = kind is TermKind.WORD or kind is TermKind.SIGN or key in lexicon.MONTHS  # "In 1792 Ada" counts no Adas
        is_count = last is not None and last.kind is TermKind.NUMBER and not _CODE.match(last.key)
        if last and is_beside and is_count and not last.unit and counts:
            self._terms[-1] = last._replace(unit=key)
        end = end or token.end()
        self._terms.append(
            Term(key, kind, self._text[token.start() : end], token.start(), end, tuple(self._lead), self._breaks, "")
        )
        self._lead, self._breaks = [], ""


def _is_capitalized(token: re.Match[str] | None) -> bool:
    return token is not None and token.lastgroup == "word" and token[0][0].isupper() and len(token[0]) > 1


def _is_abbreviation(token: re.Match[str]) -> bool:
    return (len(token[0]) == 1 and token[0].isupper()) or token[0].casefold() in lexicon.ABBREVIATIONS


def _digit_run(tokens: list[re.Match[str]], at: int) -> int:
    count = 0
    while at + count < len(tokens) and (
        tokens[at + count][0] in lexicon.CJK_DIGITS or tokens[at + count][0] in lexicon.CJK_POWERS
    ):
        if count and tokens[at + count].start() != tokens[at + count - 1].end():
            break
        count += 1
    return count


def _order_dates(terms: list[Term]) -> tuple[Term, ...]:
    """Put the day before the month, so that "March 31, 2031" has the order of "31 March 2031"."""
    for at in range(len(terms) - 1):
        month, day = terms[at], terms[at + 1]
        is_free = at == 0 or terms[at - 1].kind is not TermKind.NUMBER or terms[at - 1].unit != month.key
        if month.key in lexicon.MONTHS and day.kind is TermKind.NUMBER and len(day.key) <= 2 and is_free:  # noqa: PLR2004
            lead, breaks = month.lead, month.breaks
            terms[at] = day._replace(lead=lead, breaks=breaks, unit=month.key)
            terms[at + 1] = month._replace(lead=(), breaks="")
    return tuple(terms)
