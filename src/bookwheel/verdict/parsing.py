"""A sentence as its terms and marks, in one form for all spellings: what is measured on both sides of a verdict.

    parse("It did not cost 12,400 livres.")     terms cost, 12400, livr     marks not
    parse("它不到四百元。")                        terms 它不, 不到, 400, cny   marks under

Words are stems, numbers, dates and units are in one form (`text/normalization.py`), and in scripts without blanks two
neighbouring signs are a term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import takewhile
from typing import Final

from bookwheel.packaged import PACKAGE
from bookwheel.patterns import compile_late
from bookwheel.text import lexicon
from bookwheel.text.lexicon import stem
from bookwheel.text.matching import parse_words
from bookwheel.text.normalization import BREAK, split_clauses
from bookwheel.text.quantities import UNITS

NOT: Final = "not"
HEDGE: Final = "hedge"
SAID: Final = "said"
CAUSE: Final = "cause"

OPPOSITES: Final = (
    ("least", "most"),
    ("over", "under"),
    ("before", "after"),
    ("up", "down"),
    ("high", "low"),
    ("first", "last"),
    ("with", "without"),
    ("accept", "reject"),
    ("inside", "outside"),
)
BOUNDS: Final = ("least", "most", "over", "under", "about")
# Signs of a negation in these words negate nothing.
_NO_NEGATION: Final = tuple(" ".join(word) for word in lexicon.CJK_NO_NEGATION)


def find_marks(tokens: Sequence[str]) -> Counter[str]:
    """Return the marks among tokens in normal form, and how often each comes."""
    text = f" {' '.join(tokens)} "
    for word in _NO_NEGATION:
        text = text.replace(f" {word} ", " · ")
    spoken = text.split()
    found: Counter[str] = Counter()
    free: dict[str, int] = {}
    for at, word in enumerate(spoken):
        for mark, phrase in _list_phrases().get(word, ()):
            if at >= free.get(mark, 0) and spoken[at : at + len(phrase)] == phrase:
                found[mark] += 1
                free[mark] = at + len(phrase)
    return found


@cache
def _list_phrases() -> dict[str, list[tuple[str, list[str]]]]:
    """Return the marks' phrases, the longest first, by the word with which they begin."""
    marks = (PACKAGE / "verdict" / "marks.txt").read_text(encoding="utf-8")
    lines = (line.split(" = ") for line in marks.splitlines() if not line.startswith("#"))
    # In normal form, signs stand apart.
    phrases = [
        (mark, (word if word.isascii() else " ".join(word)).split())
        for mark, words in lines
        for word in words.split(",")
    ]
    by_word: dict[str, list[tuple[str, list[str]]]] = {}
    for mark, phrase in sorted(phrases, key=lambda one: -len(one[1])):
        by_word.setdefault(phrase[0], []).append((mark, phrase))
    return by_word


STRUCK: Final = compile_late(r"(?<!~)~~(?![~\s])[^~\n]{1,400}~~(?!~)")
"""Words that a document strikes out, which say nothing any more."""


def blank_struck(text: str) -> str:
    """Return a text of the same length without what it strikes out."""
    return STRUCK.sub(lambda found: " " * len(found[0]), text)


_SIGN: Final = compile_late("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_EMPTY: Final = lexicon.FUNCTION_WORDS | lexicon.words("provided document text passage section page according")
_ASKING_PAIRS: Final = lexicon.words(
    "什么 为什 怎么 多少 哪里 哪个 哪些 哪家 哪天 几点 是谁 如何 是否 多久 多大 哪一 几个"
)
# Tokens beside a term that tell what it is said of.
_NEAR: Final = 4
_PARSED_KEPT: Final = 1024


@dataclass(frozen=True, slots=True)
class Term:
    """A word that says something, with its place among the tokens."""

    key: str
    at: int
    clause: int
    is_number: bool


class Sentence:
    """A sentence in terms and marks."""

    def __init__(self, text: str) -> None:
        self.text = text
        tokens = split_clauses(STRUCK.sub(" ", text))
        self.tokens: list[str] = []
        self.terms: list[Term] = []
        self.clauses: list[list[str]] = [[]]
        for place, token in enumerate(tokens):
            if token == BREAK:
                self.clauses.append([])
                continue
            after = tokens[place + 1] if place + 1 < len(tokens) else BREAK
            if key := _find_key(token, after):
                number = any(map(str.isdigit, key))
                self.terms.append(Term(key, len(self.tokens), len(self.clauses) - 1, is_number=number))
            self.tokens.append(token)
            self.clauses[-1].append(token)
        self.keys = Counter(term.key for term in self.terms)

    @cached_property
    def marks(self) -> Counter[str]:
        """The words that change what it says, counted by their kind."""
        return find_marks(self.tokens)

    @cached_property
    def numbers(self) -> list[Term]:
        return [term for term in self.terms if term.is_number]

    @cached_property
    def names(self) -> frozenset[str]:
        """Those of its terms that are names; scripts without capitals show none."""
        # In the form of the terms: "RMB 500" is 500 cny, and "Feb" and "München" are february and munchen.
        found = (token for word in parse_words(self.text) if word.is_exact for token in split_clauses(word.text))
        return frozenset(stem(token) for token in found if not token[0].isdigit()) & self.keys.keys()

    @cached_property
    def has_signs(self) -> bool:
        """True where some of it is in a script without blanks."""
        return any(_SIGN.match(token) for token in self.tokens)

    @cached_property
    def signs(self) -> frozenset[str]:
        """Its signs in a script without blanks, save those that say nothing."""
        return frozenset(filter(_SIGN.match, self.tokens)) - lexicon.CJK_FUNCTION

    @cached_property
    def asked(self) -> frozenset[str]:
        """Of a question: the terms that its answer's passage should have."""
        return frozenset(self.keys) - lexicon.ASKING - _ASKING_PAIRS

    def find_unit(self, number: Term) -> str:
        """Return the unit behind a number; empty where there is none."""
        after = self.tokens[number.at + 1 : number.at + 2]
        return after[0] if after and after[0] in UNITS else ""

    def find_counted(self, number: Term) -> list[str]:
        """Return the terms that follow a number in its clause: the first is what it counts, or says of what kind."""
        after = (term for term in self.terms if 0 < term.at - number.at <= _NEAR and term.clause == number.clause)
        return [term.key for term in takewhile(lambda term: not term.is_number, after)]

    @cached_property
    def clause_keys(self) -> list[set[str]]:
        """The keys of each of its clauses."""
        keys: list[set[str]] = [set() for _ in self.clauses]
        for term in self.terms:
            keys[term.clause].add(term.key)
        return keys

    def is_in(self, other: Sentence) -> bool:
        """Tell if its tokens stand in another sentence side by side."""
        return f" {' '.join(self.tokens)} " in f" {' '.join(other.tokens)} "


@lru_cache(_PARSED_KEPT)
def parse(text: str) -> Sentence:
    return Sentence(text)


def _find_key(token: str, after: str) -> str:
    if _SIGN.fullmatch(token):
        pair = token + after if _SIGN.fullmatch(after) else ""
        return "" if set(pair) <= lexicon.CJK_FUNCTION else pair
    if token in _EMPTY:
        return ""
    return token if token[0].isdigit() else stem(token)


def share_terms(wanted: Sequence[str] | frozenset[str], held: Counter[str] | set[str]) -> float:
    return sum(key in held for key in wanted) / max(1, len(wanted))
