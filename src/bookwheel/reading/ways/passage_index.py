"""The windows of a whole document with their words, kept while the document is read; and how they rank for a question.

    score(window) = sum of WEIGHTS[feature] * feature

    bm25       BM25 of the question's stems in the window and, for half as much, in its heading and leads; as a share of
               what a window with all of them would have
    covered    share of the question's words, weighed by how rare they are, that stand in the window or its leads
    own        the same in the window alone
    best       bm25 as a share of the best window's
    pairs      share of neighbouring words of the question that stand near each other in the window
    kind       the window has what is asked for: a time, a number, a name
    …          its shape, its length, how late it stands

The weights are trained (benchmarks/quality/train_passages.py): for a question on a real document the windows with the
gold evidence should have the greatest share of exp(score). What no word of the question stands in is no candidate.
"""

from __future__ import annotations

import re
from array import array
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Final, TypeVar

from bookwheel.reading.ways.windows import find_windows
from bookwheel.text.chunks import split
from bookwheel.text.matching import Passage
from bookwheel.text.stems import stem
from bookwheel.text.structure import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bookwheel.reading.ways.windows import Window
    from bookwheel.text.ranking import QuestionWords
    from bookwheel.text.tokens import Tokenizer
    from bookwheel.types import Chunk, Document

Key = TypeVar("Key")
Value = TypeVar("Value")

FEATURES: Final = ("bm25", "covered", "own", "best", "pairs", "kind", "row", "turn", "item", "code", "length", "late")
WEIGHTS: Final = {
    "bm25": 0.28,
    "covered": 2.404,
    "own": 0.053,
    "best": 3.332,
    "pairs": 1.356,
    "kind": 1.372,
    "row": 0.284,
    "turn": -0.049,
    "item": 0.14,
    "code": -0.035,
    "length": 2.308,
    "late": 0.929,
}
_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.6
_LEAD_SHARE: Final = 0.5
# Candidates by BM25 alone whose features are measured.
_CANDIDATES: Final = 40
_NEAR: Final = 4
_KEPT: Final = 4
_ALIKE: Final = 0.78
_LEAST_FUZZY: Final = 5
_FEW: Final = 3


@dataclass(frozen=True, slots=True)
class RankedWindow:
    """A window with its score for a question, and the share of the question's words that it has."""

    score: float
    covered: float
    window: Window


class PassageIndex:
    """The windows of a document and the places of their words."""

    def __init__(self, text: str) -> None:
        self.windows = list(find_windows(text))
        self._postings: dict[str, array[int]] = defaultdict(lambda: array("I"))
        self._led: dict[str, array[int]] = defaultdict(lambda: array("I"))
        self._lengths = array("H")
        leads: dict[tuple[str, ...], frozenset[str]] = {}
        for at, window in enumerate(self.windows):
            own = find_stems(window.text)
            self._lengths.append(min(len(own), 65535))
            for word in own:
                self._postings[word].append(at)
            if window.leads not in leads:
                leads[window.leads] = frozenset(find_stems(" ".join(window.leads)))
            for word in leads[window.leads] - own:
                self._led[word].append(at)
        self._mean = sum(self._lengths) / max(1, len(self._lengths))

    def rank(self, question: QuestionWords, most: int) -> list[RankedWindow]:
        """Return the windows with the greatest scores, best first."""
        measured = self.measure(question)
        ranked = [
            RankedWindow(
                sum(WEIGHTS[name] * value for name, value in features.items()), features["covered"], self.windows[at]
            )
            for at, features in measured
        ]
        return sorted(ranked, key=lambda one: -one.score)[:most]

    def measure(self, question: QuestionWords) -> list[tuple[int, dict[str, float]]]:
        """Return the features of the windows that BM25 ranks first."""
        words = self._find_words(question.stems)
        weights = {word: self._weigh(word) for word in words}
        total = sum(weights.values()) or 1.0
        scores: dict[int, float] = defaultdict(float)
        for word, weight in weights.items():
            for at in self._postings.get(word, ()):
                length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * self._lengths[at] / self._mean
                scores[at] += weight * (_SATURATION + 1) / (1 + _SATURATION * length) / total
            for at in self._led.get(word, ()):
                scores[at] += _LEAD_SHARE * weight / total
        first = sorted(scores, key=lambda at: (-scores[at], at))[:_CANDIDATES]
        best = scores[first[0]] if first else 1.0
        return [
            (at, self._describe(at, question, weights) | {"bm25": scores[at], "best": scores[at] / best})
            for at in first
        ]

    def _weigh(self, word: str) -> float:
        holders = len(self._postings.get(word, ())) + len(self._led.get(word, ())) / 4
        return log(1 + (len(self.windows) + 0.5) / (holders + 0.5))

    def _find_words(self, stems: Iterable[str]) -> list[str]:
        """Return the stems, and for one that stands nowhere the nearest that does: people mistype."""
        found: list[str] = []
        for word in sorted(stems):
            if word in self._postings or word in self._led or len(word) < _LEAST_FUZZY or not word.isascii():
                found.append(word)
            else:
                same = [
                    other for other in self._postings if other[:1] == word[:1] and abs(len(other) - len(word)) < _FEW
                ]
                found += get_close_matches(word, same, n=1, cutoff=_ALIKE) or [word]
        return list(dict.fromkeys(found))

    def _describe(self, at: int, question: QuestionWords, weights: dict[str, float]) -> dict[str, float]:
        window, total = self.windows[at], sum(weights.values()) or 1.0
        sequence = [stem(key) for key in Passage(window.text).ordered_keys]
        own = set(sequence) & set(weights)
        led = find_stems(" ".join(window.leads)) & set(weights)
        places = {word: [here for here, other in enumerate(sequence) if other == word] for word in own}
        asked = [word for word in question.order if word in weights]
        near = [
            any(abs(one - other) <= _NEAR for one in places.get(first, ()) for other in places.get(second, ()))
            for first, second in pairwise(asked)
        ]
        return {
            "covered": sum(weights[word] for word in own | led) / total,
            "own": sum(weights[word] for word in own) / total,
            "pairs": sum(near) / len(near) if near else 0.0,
            "kind": float(has_kind(find_kind(question.question), window.text)),
            "row": float(window.shape is Shape.ROW),
            "turn": float(window.shape is Shape.TURN),
            "item": float(window.shape is Shape.ITEM),
            "code": float(window.shape is Shape.CODE),
            "length": log(1 + len(sequence)) / 5,
            "late": at / max(1, len(self.windows)),
        }


def find_stems(text: str) -> set[str]:
    """Return the stems of a text's words."""
    return {stem(key) for key in Passage(text).index_keys}


_ASKED: Final = {
    "time": re.compile(
        r"\bwhen\b|\bw?hat (?:time|date|day|year|month)|\bwich (?:day|date)|\bhow (?:long|old|late|early|"
        r"soon)|\buntil\b|\bdeadline\b|"
        r"\bdate\b|\b(?:which|what) (?:day|week)|何时|什么时候|几点|几号|哪天|哪一?[年月日天]|多久|多长时间|日期|时间",
        re.IGNORECASE,
    ),
    "number": re.compile(
        r"\bhow (?:many|much|far|big|large|high|deep|heavy|wide|often|tall)|\b(?:price|cost|fee|rent|"
        r"number|no\.?|amount|"
        r"total|percentage|rate|fine|charge|limit|max\w*|min\w*)\b|多少|几[个位次天本台辆条张份名人]|费用|价格|数量|金额",
        re.IGNORECASE,
    ),
    "name": re.compile(r"\bwho(?:se|m)?\b|\bwhich (?:person|company|firm)|谁|哪位|哪个人|什么人|叫什么", re.IGNORECASE),
    "place": re.compile(r"\bwhere\b|\bw?hich (?:room|place|town|city)|哪里|哪儿|在哪|什么地方|何处", re.IGNORECASE),
}
_HAS: Final = {
    "time": re.compile(
        r"\d{1,2}[:.]\d\d\b|\b(?:1[5-9]|20)\d\d\b|\b\d{1,2}(?:st|nd|rd|th)?\s(?:Jan|Feb|Mar|Apr|May|Jun|"
        r"Jul|Aug|Sep|Oct|Nov|Dec)|"
        r"\b(?:Mon|Tues?|Wed|Thu(?:rs)?|Fri|Sat|Sun)(?:day|nesday|sday|urday)?\b|\b(?:day|week|month|year|"
        r"hour|minute|second)s?\b|"
        r"\b\d+ ?(?:am|pm|min|h|s|ms)\b|noon|midnight|\d[年月日号点时分天周]|"
        r"[一二三四五六七八九十]+[年月日天周]|星期|周[一二三四五六日]"
    ),
    "number": re.compile(
        r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|hundred|half)\b|[一二两三四五六七八九十百千]"
    ),
    "name": re.compile(r"(?<=[a-z,;:(] )[A-Z][a-z]+|\b[A-Z][a-z]+ [A-Z][a-z]+|[\u4e00-\u9fff]{2}"),
    "place": re.compile(r"\b(?:in|at|on|near|behind|under|to|from)\b|在|[里处室楼区路]"),
}


def find_kind(question: str) -> str:
    """Return what a question asks for: a time, a number, a name, a place; or nothing that has a form."""
    return next((kind for kind, pattern in _ASKED.items() if pattern.search(question)), "")


def has_kind(kind: str, text: str) -> bool:
    """Return whether a text has what such a question asks for."""
    return not kind or bool(_HAS[kind].search(text))


_INDEXES: Final[OrderedDict[tuple[str, int, int], PassageIndex]] = OrderedDict()
_CHUNKS: Final[OrderedDict[tuple[str, int, int, str, int], list[Chunk]]] = OrderedDict()


def index_document(document: Document) -> PassageIndex:
    """Return the index of a document, from the last few in memory where it is there."""
    text = "".join(part.text for part in document.parts())
    return _recall(_INDEXES, (document.name, len(text), hash(text)), lambda: PassageIndex(text))


def cut_chunks(document: Document, tokenizer: Tokenizer, size: int) -> list[Chunk]:
    """Return the chunks of a document without their texts, from the last few in memory where they are there."""
    text = "".join(part.text for part in document.parts())
    key = (document.name, len(text), hash(text), tokenizer.name, size)
    return _recall(_CHUNKS, key, lambda: [replace(chunk, text="") for chunk in split(document, tokenizer, size)])


def _recall(known: OrderedDict[Key, Value], key: Key, make: Callable[[], Value]) -> Value:
    if key not in known:
        known[key] = make()
    known.move_to_end(key)
    while len(known) > _KEPT:
        known.popitem(last=False)
    return known[key]
