"""Passages: the short windows that the way `quotes` chooses from, and how those of a document rank for a question.

Windows follow what the text is written in:

    a paragraph, a clause, an item      runs of up to three of its sentences
    a row, a turn, a line of a log      whole, and never together with another one
    code                                whole blocks

A window is shown with its heading and with what leads it in, a row with the header of its table: "Prices … | Plan |
Minute | … | Yearly | 4p |". These say what it is about and nothing by themselves, so they are no windows of their own,
and they stand apart: on one line nothing else would tell where a heading ends.

    score(window) = sum of WEIGHTS[feature] * feature

    bm25       BM25 of the question's stems in the window and, for less, in its heading and leads; as a share of what a
               short window with all of them would have
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Final, Self

from bookwheel.text.code import has_only_imports, is_test
from bookwheel.text.kinds import AnswerKind, find_kind, shows_kind
from bookwheel.text.lexicon import stem
from bookwheel.text.lines import Span
from bookwheel.text.matching import Passage
from bookwheel.text.ranking import QuestionWords, WordIndex, find_stems, spell_names, weigh_rarity
from bookwheel.text.sentences import split_sentences
from bookwheel.text.structure import Shape, TextPart, split_parts

if TYPE_CHECKING:
    from bookwheel.text.tokens import Tokenizer

SENTENCES: Final = 3
# A heading or a header that is longer says too much for the passage under it.
_LONGEST_LEAD: Final = 240
GAP: Final = " … "
"""Between the leads of a window and its own words."""
# Of a run of sentences: some 120 tokens of English.
_BYTES: Final = 480
WEIGHTS: Final = {
    "bm25": -0.05,
    "covered": 2.632,
    "own": 0.164,
    "best": 3.255,
    "pairs": 1.346,
    "kind": 1.762,
    "row": 0.214,
    "turn": -0.037,
    "item": 0.137,
    "code": -0.034,
    # Not trained: the title of a cited work has a question's words and says nothing of this one.
    "reference": -9.0,
    "length": 2.431,
    "late": 0.867,
    "imports": -2.0,
    "tests": -1.0,
}
_LEAD_SHARE: Final = 0.23
_ASKS_CITED: Final = re.compile(r"\bcit(?:e|es|ed|ation)|\breferenc|\bbibliograph|引用|参考文献|文献", re.IGNORECASE)
# Candidates by BM25 alone whose features are measured.
_CANDIDATES: Final = 40
_NEAR: Final = 4
_ALIKE: Final = 0.78
_LEAST_FUZZY: Final = 5
_FEW: Final = 3
_SHAPES: Final = tuple(Shape)
# Where a heading right below another one begins, or below the name of a file.
_BELOW: Final = re.compile(r"\n(?=\s*#{1,6}\s)|(?<= =====)\n")
_HEADING_MARKS: Final = re.compile(r"^(?:#{1,6}\s+|\*\*(?=[^*]*\*\*$)|=+\s+)|(?<=[^*])\*\*$|\s+=+$")
# Numbers of a window: its span, its shape, two leads.
_FIELDS: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A passage of a text with its place."""

    source: str = field(repr=False)
    """The whole text."""
    start: int
    end: int
    shape: Shape
    lead_spans: tuple[Span, ...] = ()
    """Its heading and what leads it in."""

    @property
    def text(self) -> str:
        """The words of the passage itself, on one line."""
        return _flatten(self.source, (self.start, self.end))

    @property
    def leads(self) -> tuple[str, ...]:
        """Its heading and what leads it in, each on one line, without the marks of a heading."""
        parts = (part for start, end in self.lead_spans for part in _BELOW.split(self.source[start:end]))
        return tuple(dict.fromkeys(_HEADING_MARKS.sub("", " ".join(part.split())) for part in parts if part.strip()))

    @property
    def shown(self) -> str:
        return GAP.join((*self.leads, self.text))


def _flatten(text: str, span: Span) -> str:
    return " ".join(text[span[0] : span[1]].split())


def find_windows(
    text: str, fits: Callable[[str], bool] = lambda run: len(run.encode("utf-8", "replace")) <= _BYTES
) -> Iterator[Window]:
    """Yield the windows of a text in order. A run of sentences that does not fit is shortened; one sentence stays."""
    for part in split_parts(text):
        above = [span for span in (part.heading, part.lead) if span]
        leads = tuple(span for span in above if 0 < len(_flatten(text, span)) <= _LONGEST_LEAD)
        for start, end in _split_runs(text, part, fits):
            if any(map(str.isalnum, text[start:end])) and (start, end) != part.lead:
                yield Window(source=text, start=start, end=end, shape=part.shape, lead_spans=leads)


def split_windows(text: str, tokenizer: Tokenizer, limit: int) -> list[str]:
    """Return the windows of a text as they are shown, each within the limit; one with too long leads loses them."""
    windows = find_windows(text, lambda run: tokenizer.count(run) <= limit)
    return list(dict.fromkeys(fit(window, tokenizer, limit) for window in windows))


def fit(window: Window, tokenizer: Tokenizer, limit: int) -> str:
    """Return a window as it is shown, with as many of its leads as fit, the nearest last, and as many sentences."""
    for first in range(len(window.leads) + 1):
        shown = GAP.join((*window.leads[first:], window.text))
        if tokenizer.count(shown) <= limit:
            return shown
    kept = ""
    for _, end in split_sentences(window.text):
        # One long sentence stays whole.
        if kept and tokenizer.count(window.text[:end].rstrip()) > limit:
            break
        kept = window.text[:end].rstrip()
    return kept


def _split_runs(text: str, part: TextPart, fits: Callable[[str], bool]) -> Iterator[Span]:
    """Yield the runs of sentences of a part, shifted by one sentence each."""
    if part.shape in (Shape.ROW, Shape.TURN, Shape.CODE):
        yield part.start, part.end
        return
    spans = [(part.start + start, part.start + end) for start, end in split_sentences(text[part.start : part.end])]
    done = 0
    for first in range(len(spans)):
        last = min(first + SENTENCES, len(spans))
        while last - first > 1 and not fits(_flatten(text, (spans[first][0], spans[last - 1][1]))):
            last -= 1
        # Else it is the end of the run before.
        if last > done:
            yield spans[first][0], spans[last - 1][1]
            done = last


def overlaps(one: str, other: str) -> bool:
    """Return whether two windows share a sentence: windows of one chunk are shifted against each other."""
    first, body = one.rpartition(GAP)[2], other.rpartition(GAP)[2]
    sentences = {first[start:end].strip() for start, end in split_sentences(first)}
    return any(body[start:end].strip() in sentences for start, end in split_sentences(body))


@dataclass(frozen=True, slots=True)
class RankedWindow:
    """A window with its score for a question, and the share of the question's words that it has."""

    score: float
    covered: float
    window: Window


class PassageIndex:
    """The windows of a document and the places of their words."""

    def __init__(self, text: str, windows: array[int], own: WordIndex, led: WordIndex) -> None:
        self._text = text
        self._windows = windows
        self._own, self._led = own, led

    @classmethod
    def build(cls, text: str) -> Self:
        windows, own, led = array("I"), WordIndex(), WordIndex()
        leads: dict[tuple[Span, ...], set[str]] = {}
        for window in find_windows(text):
            if window.lead_spans not in leads:
                leads[window.lead_spans] = find_stems(" ".join(window.leads))
            spans = [*window.lead_spans, (0, 0), (0, 0)][:2]
            shape = _SHAPES.index(window.shape)
            windows.extend((window.start, window.end, shape, *spans[0], *spans[1]))
            stems = find_stems(window.text)
            own.add(stems, len(stems))
            led.add(leads[window.lead_spans] - stems, 0)
        return cls(text, windows, own, led)

    def to_blocks(self) -> list[bytes]:
        """Return all but the text as bytes, which `from_blocks` takes back."""
        return [self._windows.tobytes(), *self._own.to_blocks(), *self._led.to_blocks()]

    @classmethod
    def from_blocks(cls, text: str, blocks: Sequence[bytes]) -> Self:
        middle = 1 + len(blocks) // 2
        own, led = WordIndex.from_blocks(blocks[1:middle]), WordIndex.from_blocks(blocks[middle:])
        return cls(text, array("I", blocks[0]), own, led)

    def __len__(self) -> int:
        return len(self._own.lengths)

    def __getitem__(self, at: int) -> Window:
        start, end, shape, *leads = self._windows[_FIELDS * at : _FIELDS * (at + 1)]
        spans = tuple((first, last) for first, last in (leads[:2], leads[2:]) if last)
        return Window(source=self._text, start=start, end=end, shape=_SHAPES[shape], lead_spans=spans)

    def rank(self, question: QuestionWords, most: int) -> list[RankedWindow]:
        """Return the windows with the greatest scores, best first."""
        ranked = [
            RankedWindow(sum(WEIGHTS[name] * value for name, value in found.items()), found["covered"], self[at])
            for at, found in self.measure(question)
        ]
        return sorted(ranked, key=lambda one: -one.score)[:most]

    def find_places(self, question: QuestionWords, most: int) -> list[int]:
        """Return the places in this index of the windows with the greatest scores, best first."""
        scores = {
            at: sum(WEIGHTS[name] * value for name, value in found.items()) for at, found in self.measure(question)
        }
        return sorted(scores, key=lambda at: -scores[at])[:most]

    @property
    def starts(self) -> array[int]:
        """The characters at which the windows begin, in order."""
        return self._windows[::_FIELDS]

    def measure(self, question: QuestionWords) -> list[tuple[int, dict[str, float]]]:
        """Return the features of the windows that BM25 ranks first."""
        weights = self.weigh_words(question.stems)
        total = sum(weights.values()) or 1.0
        scores = self.score_places(weights)
        first = sorted(scores, key=lambda at: (-scores[at], at))[:_CANDIDATES]
        best = scores[first[0]] if first else 1.0
        kind = find_kind(question.question)
        return [
            (at, self._describe(at, question, kind, weights) | {"bm25": scores[at] / total, "best": scores[at] / best})
            for at in first
        ]

    def weigh_words(self, stems: Iterable[str]) -> dict[str, float]:
        """Return how much each of the stems says, the rare ones most."""
        return {
            word: weigh_rarity(len(self._own.find(word)) + len(self._led.find(word)) / 4, len(self))
            for word in self._find_words(stems)
        }

    def score_places(self, weights: dict[str, float]) -> dict[int, float]:
        """Return the places of the windows that have some of these words, each with its score by BM25."""
        scores = self._own.score(weights, list(weights.values()))
        for word, weight in weights.items():
            for at in self._led.find(word):
                scores[at] = scores.get(at, 0.0) + _LEAD_SHARE * weight
        return scores

    def find_holders(self, words: Iterable[str]) -> Iterator[tuple[str, int]]:
        """Yield each of these stems with the places where the windows begin that have it."""
        for word in words:
            for at in self._own.find(word):
                yield word, self._windows[_FIELDS * at]

    def list_windows(self, shape: Shape) -> list[Window]:
        """Return the windows of a shape: the rows of all tables, the blocks of all code."""
        wanted = _SHAPES.index(shape)
        return [self[at] for at in range(len(self)) if self._windows[_FIELDS * at + 2] == wanted]

    def find_shown(self, passage: str, shape: Shape) -> Window | None:
        """Return the window of a shape that a passage shows, with all of its leads or the last of them."""
        # The leads of a window are put together for those alone whose own words fit.
        near = (one for one in self.list_windows(shape) if passage.endswith(one.text))
        return next((one for one in near if one.shown.endswith(passage)), None)

    def _find_words(self, stems: Iterable[str]) -> list[str]:
        """Return the stems, and for one that stands nowhere the nearest that does: people mistype."""
        found: list[str] = []
        own, led = self._own.words, self._led.words
        for word in sorted(stems):
            if word in own or word in led or len(word) < _LEAST_FUZZY or not word.isascii():
                found.append(word)
            else:
                same = [other for other in own if other[:1] == word[:1] and abs(len(other) - len(word)) < _FEW]
                found += get_close_matches(word, same, n=1, cutoff=_ALIKE) or [word]
        return list(dict.fromkeys(found))

    def _describe(
        self, at: int, question: QuestionWords, kind: AnswerKind | None, weights: dict[str, float]
    ) -> dict[str, float]:
        window, total = self[at], sum(weights.values()) or 1.0
        sequence = [stem(key) for key in Passage(spell_names(window.text)).ordered_keys]
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
            "kind": float(shows_kind(kind, window.text)),
            **{str(shape): float(window.shape is shape) for shape in Shape if shape is not Shape.PROSE},
            str(Shape.REFERENCE): float(window.shape is Shape.REFERENCE and not _ASKS_CITED.search(question.question)),
            "length": log(1 + len(sequence)) / 5,
            "late": at / max(1, len(self)),
            "imports": float(window.shape is Shape.CODE and has_only_imports(window.text)),
            "tests": float(window.shape is Shape.CODE and is_test(window.leads) and not is_test([question.question])),
        }
