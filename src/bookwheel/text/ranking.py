"""Rank texts by the words that they share with a question or a memory, the rare ones counting most.

    rarity(w)   = log(1 + (N - n + 0.5) / (n + 0.5))           n of the N texts have w
    score(text) = sum of rarity(w) * c / (c + 1.2 * (0.25 + 0.75 * length / mean length))      c counts w in the text

That is BM25 with its usual constants. Lengths are characters. Chinese is searched by characters, everything else by
words. `QuestionWords` knows the forms of a word, and asks only whether a text has it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from math import log
from operator import sub
from typing import Final, Self

from bookwheel.patterns import compile_late
from bookwheel.text import lexicon
from bookwheel.text.lexicon import FORMS, stem
from bookwheel.text.matching import Passage, parse_words
from bookwheel.types import Document

_HAN: Final = "\u4e00-\u9fff\u3400-\u4dbf"
_WORD: Final = compile_late(f"[{_HAN}]|[^\\W{_HAN}]+")
_LETTER: Final = compile_late(f"[^\\W{_HAN}]")
_NOTHING: Final = compile_late("(?!)")
# Words of English questions and statements that say nothing about where an answer stands.
_STOP_WORDS: Final = lexicon.words(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
# Words that ask, whatever is asked for.
_ASKING: Final = frozenset(map(stem, lexicon.ASKING)) | lexicon.LIGHT
# A name with a capital inside, as programs have them: "maxRedirects", "HTTPClient"; a word in capitals is none.
_NAME: Final = compile_late(r"\b[A-Za-z]*[a-z][A-Z]\w*|\b[A-Z]{2,}[a-z]{2}\w*")
_HUMP: Final = compile_late(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_K1: Final = 1.2
_B: Final = 0.75


def list_words(text: str) -> list[str]:
    """Return the words of a text in one form of their letters.

    >>> list_words("The Lamp, 灯塔")
    ['the', 'lamp', '灯', '塔']
    """
    return _WORD.findall(text.casefold())


def spell_names(text: str) -> str:
    """Return the text with the words of each name of a program after it.

    >>> spell_names("maxRedirects, close_ledger, HTTPClient")
    'maxRedirects max Redirects, close_ledger, HTTPClient HTTP Client'
    """
    return _NAME.sub(lambda name: f"{name[0]} {_HUMP.sub(' ', name[0])}", text)


def find_stems(text: str) -> set[str]:
    """Return the stems of a text's words, and of those that a name of a program is made of."""
    return {stem(key) for key in Passage(spell_names(text)).index_keys}


def weigh_rarity(holders: float, total: int) -> float:
    """Return the weight of a word that so many of all texts have."""
    return log(1 + (total - holders + 0.5) / (holders + 0.5))


class WordIndex:
    """Which words stand in which texts, and how often, for many searches; the texts themselves are not held."""

    def __init__(self) -> None:
        self.lengths = array("I")
        self.words: dict[str, array[int]] = {}
        """For each word the places of the texts that have it; a text is there as often as it has the word."""

    def add(self, words: Iterable[str], length: int) -> None:
        """Add the next text, of these words and this length."""
        place = len(self.lengths)
        self.lengths.append(length)
        for word in words:
            if (places := self.words.get(word)) is None:
                places = self.words[word] = array("I")
            places.append(place)

    def to_blocks(self) -> list[bytes]:
        """Return the index as bytes, which `from_blocks` takes back: words, their counts, places, lengths."""
        # Differences of places are small numbers, which can be compressed.
        gaps = (map(sub, places, (0, *places)) for places in self.words.values())
        return [
            "\n".join(self.words).encode("utf-8", "surrogatepass"),
            array("I", map(len, self.words.values())).tobytes(),
            array("I", chain.from_iterable(gaps)).tobytes(),
            self.lengths.tobytes(),
        ]

    @classmethod
    def from_blocks(cls, blocks: Sequence[bytes]) -> Self:
        """Return the index that such blocks are of."""
        index = cls()
        words, sizes, gaps, lengths = blocks
        index.lengths.frombytes(lengths)
        gap = iter(array("I", gaps))
        for word, size in zip(words.decode("utf-8", "surrogatepass").split("\n"), array("I", sizes), strict=False):
            index.words[word] = array("I", accumulate(islice(gap, size)))
        return index

    def find(self, word: str) -> Counter[int]:
        """Return the texts that have a word, and how often."""
        return Counter(self.words.get(word, ()))

    def score(self, words: Iterable[str], weights: Sequence[float] = ()) -> dict[int, float]:
        """Return the scores of the texts that have some of the words. Weights stand in place of the words' rarity."""
        return _score([self.find(word) for word in words], self.lengths, weights)


class PackedWords:
    """The words of a `WordIndex` as its blocks of bytes: a few are found sooner than all are taken back."""

    def __init__(self, blocks: Sequence[bytes]) -> None:
        words, sizes, gaps, _ = blocks
        self._words = b"\n%b\n" % words
        self._sizes, self._gaps = array("I", sizes), array("I", gaps)

    def find(self, word: str) -> Iterable[int]:
        """Return the places of the texts that have a word."""
        at = self._words.find(b"\n%b\n" % word.encode("utf-8", "surrogatepass"))
        if at < 0:
            return ()
        place = self._words.count(b"\n", 0, at)
        start = sum(self._sizes[:place])
        return accumulate(self._gaps[start : start + self._sizes[place]])


def score_texts(texts: Sequence[str], question: str) -> list[float]:
    """Return the score of each text for a question; 0 for one that shares no word with it.

    Only the question's words are counted, which for one search takes a tenth of what a `WordIndex` takes.
    """
    folded = [text.casefold() for text in texts]
    joined, ends = "\n".join(folded), list(accumulate(len(text) + 1 for text in folded))
    words = [word for word in list_words(question) if word not in _STOP_WORDS]
    scores = _score([_count(joined, ends, word) for word in words], [len(text) for text in folded])
    return [scores.get(place, 0.0) for place in range(len(texts))]


def _score(
    counts: Sequence[Mapping[int, int]], lengths: Sequence[int], weights: Sequence[float] = ()
) -> dict[int, float]:
    """Return the scores of the texts that have some words, given how often each word stands in which texts."""
    mean = sum(lengths) / max(1, len(lengths)) or 1.0
    scores: dict[int, float] = {}
    weights = weights or [weigh_rarity(len(holders), len(lengths)) for holders in counts]
    for weight, holders in zip(weights, counts, strict=True):
        for place, count in holders.items():
            share = count / (count + _K1 * (1 - _B + _B * lengths[place] / mean))
            scores[place] = scores.get(place, 0.0) + weight * share
    return scores


def _count(joined: str, ends: Sequence[int], word: str) -> Counter[int]:
    """Return how often a word stands in each of the joined texts that has it."""
    counts: Counter[int] = Counter()
    # Chinese characters are words wherever they stand.
    borders = _LETTER if _LETTER.match(word) else _NOTHING
    place, at = 0, joined.find(word)
    while at >= 0:
        end = at + len(word)
        if not (borders.match(joined, end) or (at and borders.match(joined, at - 1))):
            while ends[place] <= at:
                place += 1
            counts[place] += 1
        at = joined.find(word, end)
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class WordCounts:
    """In how many windows of a document words stand; those that stand in none are left out."""

    windows: int
    counts: Mapping[str, int]


class QuestionWords:
    """The words of a question that say something by themselves, in the form that "count" and "counted" share.

    >>> QuestionWords("How many barrels did the customs men count?").share("They counted sixty-four barrels.")
    0.4
    """

    def __init__(self, question: str, stems: set[str] | None = None) -> None:
        parsed = (word for word in parse_words(spell_names(question)) if word.is_distinctive)
        self.order = [stem(word.index_key) for word in parsed] if stems is None else sorted(stems)
        """The stems as they stand in the question."""
        self._stems = set(self.order)
        self.question = question

    @property
    def stems(self) -> set[str]:
        """The stems of the words that say something, save those that only ask; all of them where no other is left."""
        return self._stems - _ASKING or self._stems

    def beyond(self, text: str) -> QuestionWords:
        """Return the words to look for beside a text: those that it lacks, and the names and numbers that it adds."""
        added = {stem(word.index_key) for word in parse_words(text) if word.is_exact}
        return QuestionWords("", (self._stems - _ASKING - self.find(text)) | (added - self._stems))

    @property
    def has_subject(self) -> bool:
        """True where a word says what is asked about, unlike those of "And when?"."""
        return bool(self._stems - _ASKING)

    def find(self, text: str) -> set[str]:
        return self._stems & find_stems(text)

    def share(self, text: str) -> float:
        return len(self.find(text)) / max(1, len(self._stems))

    def count_windows(self, document: Document, size: int, *, beside: set[str]) -> WordCounts:
        """Count the windows of `size` characters with each word, save words that only ask and those in `beside`."""
        wanted = self._stems - beside - _ASKING
        # Letters of which some stand in every text with one of the stems are far faster to look for than words: "apply"
        # stands in "applies" and "reside" in "residing" but for the last one.
        forms = [form.rstrip("ey") or form for word in wanted for form in (word, *FORMS.get(word, ()))]
        counts, windows = Counter[str](), 0
        for part in document.parts() if wanted else ():
            for start in range(0, len(part.text), size):
                text = part.text[start : start + size]
                folded = text.casefold()
                windows += 1
                if any(form in folded for form in forms):
                    counts.update(wanted & self.find(text))
        return WordCounts(windows=windows, counts=counts)

    def choose(self, windows: Sequence[str], most: int) -> list[str]:
        """Return the windows with the rarest of the words, best first; all windows if none has any."""
        weights = _weigh([self.find(window) for window in windows])
        best = sorted(range(len(windows)), key=lambda at: -weights[at])[:most]
        return [windows[at] for at in best] if any(weights) else list(windows)

    def rank(self, found: Sequence[AbstractSet[str]], total: int = 0) -> list[int]:
        """Return the places of texts that have these of the words: those with the rarest first, else in their order.

        `total` counts all texts, where those that have none of the words are not among these.
        """
        weights = _weigh(found, total)
        return sorted(range(len(found)), key=lambda at: -weights[at])


def _weigh(found: Sequence[AbstractSet[str]], total: int = 0) -> list[float]:
    """Return the weight of each text, given the words that it has."""
    total = total or len(found)
    holders = Counter(word for words in found for word in words)
    # Summed in a fixed order: a set's own differs from run to run, and so would the last digits.
    rarity = {word: weigh_rarity(count, total) for word, count in holders.items()}
    return [sum(rarity[word] for word in sorted(words)) for words in found]
