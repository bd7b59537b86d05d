"""A search of one question in one document, cheap enough for every sample of an evaluation.

    score(passage) = Σ rarity(w) · n / (n + 1.5 · (0.25 + 0.75 · length / mean length))        BM25, as bm25s has it

w are the words of the question, n counts w in the passage. Nothing else of the text is counted, so a document of a
million tokens takes a tenth of a second. Passages tile the text and end with a sentence where there is one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.reading.ways.bm25 import PASSAGE_TOKENS, WORD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.text.tokens import Tokenizer

_WORD: Final = re.compile(WORD)
_LETTER: Final = re.compile("[^\\W\u4e00-\u9fff\u3400-\u4dbf]")
_NOTHING: Final = re.compile("(?!)")
# Words of English questions and statements that say nothing about where an answer stands.
_COMMON_WORDS: Final = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
_STOP_WORDS: Final = frozenset(_COMMON_WORDS.split())
_ENDS: Final = ("\n", ". ", "? ", "! ", "。", "？", "！")
# A passage is filled to this share before it may end.
_LEAST_SHARE: Final = 0.8
# Characters that tell how many of them a token has.
_GLANCE: Final = 16_384
_K1: Final = 1.5
_B: Final = 0.75


@dataclass(frozen=True, slots=True)
class SearchPassage:
    """A span of the text."""

    start: int
    end: int


def find_passages(text: str, question: str, tokenizer: Tokenizer, budget: int) -> list[SearchPassage]:
    """Return the best passages for the question, best first, as many as the budget of tokens holds."""
    glance = text[:_GLANCE]
    size = max(1, round(PASSAGE_TOKENS * len(glance) / max(1, tokenizer.count(glance))))
    passages = list(tile_text(text, size))
    scores = score_words(text, passages, question, [one.end - one.start for one in passages])
    taken: list[SearchPassage] = []
    for place in sorted(range(len(passages)), key=lambda place: -scores[place]):
        passage = passages[place]
        budget -= tokenizer.count(text[passage.start : passage.end])
        if budget < 0:
            break
        taken.append(passage)
    return taken


def tile_text(text: str, size: int) -> Iterator[SearchPassage]:
    """Yield passages of at most `size` characters that tile the text."""
    start = 0
    while start < len(text):
        end = start + size
        if end < len(text):
            least = start + int(size * _LEAST_SHARE)
            ends = (place + len(mark) for mark in _ENDS if (place := text.rfind(mark, least, end)) >= 0)
            end = max(ends, default=0) or text.rfind(" ", least, end) + 1 or end
        yield SearchPassage(start, min(end, len(text)))
        start = end


def score_words(text: str, passages: Sequence[SearchPassage], question: str, lengths: Sequence[int]) -> list[float]:
    """Return the score of each passage, given its length; 0 for one that shares no word with the question."""
    lowered = _lower(text)
    mean = sum(lengths) / max(1, len(lengths)) or 1.0
    scores = [0.0] * len(passages)
    for word in _WORD.findall(_lower(question)):
        if word in _STOP_WORDS:
            continue
        counts = _count(lowered, passages, word)
        rarity = math.log(1 + (len(passages) - len(counts) + 0.5) / (len(counts) + 0.5))
        for place, count in counts.items():
            scores[place] += rarity * count / (count + _K1 * (1 - _B + _B * lengths[place] / mean))
    return scores


def _count(lowered: str, passages: Sequence[SearchPassage], word: str) -> Counter[int]:
    """Return how often the word stands in each passage that has it."""
    counts: Counter[int] = Counter()
    # Chinese characters are words wherever they stand.
    borders = _LETTER if _LETTER.match(word) else _NOTHING
    place, at = 0, lowered.find(word)
    while at >= 0:
        end = at + len(word)
        if not (borders.match(lowered, end) or (at and borders.match(lowered, at - 1))):
            while passages[place].end <= at:
                place += 1
            counts[place] += 1
        at = lowered.find(word, end)
    return counts


def _lower(text: str) -> str:
    """Return the text in lower case, with every character in its place."""
    # The Turkish dotted capital is the only one that becomes two characters.
    return text.replace("\u0130", "i").lower()
