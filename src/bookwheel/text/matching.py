"""Finding the words of a note in the text that it was taken from.

Models copy words and change what is between them: blanks, line ends, punctuation, letter case. So texts are compared
word by word, and character by character where a script writes no blanks. What a prompt does not show of a text
(`text/sanitize.py`) does not count either. Every span is in the characters of the text as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Final

from bookwheel.text.sanitize import sanitize

if TYPE_CHECKING:
    from collections.abc import Sequence

_SINGLE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts without blanks between words: each character is a word here, and two in a row tell more than one."""
_WORD: Final = re.compile(rf"[{_SINGLE}]|\d+(?:[.,:]\d+)+|(?:(?![{_SINGLE}])[^\W_])+")
_IS_SINGLE: Final = re.compile(f"[{_SINGLE}]")
_BULLET: Final = re.compile(r"\s*(?:[-*•·]+|\(?\d{1,2}[.)、])\s+")
_LABEL: Final = re.compile(r"[^:：]{1,40}[:：]\s")
_SENTENCE_START: Final = re.compile(r"(?:^|[.!?。！？:：\n])[\s\"'“‘«(*]*$")
_HEADING: Final = re.compile(r"\s*#|.*[:：][\s*]*$")
_STOP: Final = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|[。！？][”’」』]*|\n\s*\n")
_WIDEST: Final = 240
"""Characters on either side that a sentence may have around the words that were sought."""
_MOST_SENTENCES: Final = 64
"""How many occurrences are weighed against each other."""
_LEAST_WORDS: Final = 3
_LEAST_SINGLE: Final = 4
_COMMON_WORDS: Final = (
    "a about after all also an and any are as at be been before but by can could did do does for from had has have he "
    "her his how i if in into is it its may more most no nor not of on one only or other our out over said she should "
    "so some such than that the their them then there these they this those to under up was we were what when where "
    "which while who whose will with would you your answer question memory notes section document"
)
_COMMON: Final = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a note."""

    text: str
    key: str
    """How it is compared one to one."""
    index_key: str
    """How it is looked up among all words of a text: with the next character, in scripts without blanks."""
    is_distinctive: bool
    """Whether it says something by itself, unlike "the"."""
    is_exact: bool
    """A number or a name: nothing else would do in its place."""


@lru_cache(maxsize=4096)
def parse_words(note: str) -> tuple[Word, ...]:
    """The words of a note, without its bullet. A memory's lines come again at every step, so they are remembered."""
    bullet = _BULLET.match(note)
    note = sanitize(note[bullet.end() :] if bullet else note)
    label = _LABEL.match(note)
    named_from = label.end() if label else 0
    found = list(_WORD.finditer(note))
    return tuple(_make_word(note, here, after, named_from) for here, after in zip_longest(found, found[1:]))


def _make_word(note: str, here: re.Match[str], after: re.Match[str] | None, named_from: int) -> Word:
    text = here[0]
    key = _fold_word(text)
    if _IS_SINGLE.match(text):
        paired = after is not None and after.start() == here.end() and _IS_SINGLE.match(after[0]) is not None
        return Word(text, key, text + after[0] if after and paired else text, paired, is_exact=False)
    tells = key not in _COMMON and (len(key) > 1 or key.isdigit())
    inside = here.start() >= named_from and not _SENTENCE_START.search(note[max(0, here.start() - 8) : here.start()])
    named = text[0].isupper() and (inside or (len(text) > 1 and text.isupper()))
    return Word(text, key, key, tells, is_exact=tells and (named or any(map(str.isdigit, text))))


def _fold_word(text: str) -> str:
    return text.replace(",", "") if text[0].isdigit() else text.casefold()


def is_claim(line: str) -> bool:
    """Whether a line of a memory says anything: a heading, a rule or a bare label does not."""
    return not _HEADING.match(line) and any(word.is_distinctive for word in parse_words(line))


def word_overlap(said: Sequence[Word], there: set[str]) -> float:
    """How many of the telling words are among those marks, from 0 to 1."""
    telling = [word.index_key in there for word in said if word.is_distinctive]
    return sum(telling) / len(telling) if telling else 0.0


def find_missing_words(said: Sequence[Word], there: set[str]) -> tuple[str, ...]:
    """The numbers and names that are not among those marks."""
    return tuple(dict.fromkeys(word.text for word in said if word.is_exact and word.index_key not in there))


class Passage:
    """A stretch of a document, taken apart into words."""

    def __init__(self, text: str) -> None:
        self.text = text
        shown, offsets = _drop_invisible(text)
        self._keys: list[str] = []
        self._spans: list[tuple[int, int]] = []
        for found in _WORD.finditer(shown):
            self._keys.append(_fold_word(found[0]))
            start, last = found.start(), found.end() - 1
            self._spans.append((offsets[start], offsets[last] + 1) if offsets else (start, last + 1))

    @cached_property
    def index_keys(self) -> set[str]:
        """What `Word.index_key` is looked up in."""
        return {*self._keys, *(a + b for a, b in pairwise(self._keys) if _IS_SINGLE.match(a) and _IS_SINGLE.match(b))}

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for at, key in enumerate(self._keys):
            places.setdefault(key, []).append(at)
        return places

    def find_longest_run(self, said: Sequence[Word]) -> tuple[int, tuple[int, int]] | None:
        """The longest run of these words that stands here and is no mere chance: how many words, and the span."""
        length, ends = self._runs(said)
        return (length, self._span(length, ends[0])) if ends else None

    def find_sentence(self, said: Sequence[Word], near: set[str]) -> tuple[int, int] | None:
        """The sentence around the longest such run; of several, the one with the most of the marks `near`."""
        length, ends = self._runs(said)
        spans = dict.fromkeys(self._widened(*self._span(length, end)) for end in ends[:_MOST_SENTENCES])
        return max(spans, key=lambda span: len(near & Passage(self.text[slice(*span)]).index_keys), default=None)

    def _span(self, length: int, end: int) -> tuple[int, int]:
        return self._spans[end - length][0], self._spans[end - 1][1]

    def _runs(self, said: Sequence[Word]) -> tuple[int, list[int]]:
        """The length of the longest common runs that are no mere chance, and the places here after their last words."""
        best, ends = 0, list[int]()
        running: dict[int, int] = {}
        for at, word in enumerate(said):
            running = {place: running.get(place - 1, 0) + 1 for place in self._places.get(word.key, ())}
            length = max(running.values(), default=0)
            if length < max(best, 1) or not _is_significant(said, at + 1 - length, at + 1):
                continue
            if length > best:
                best, ends = length, []
            ends += [place + 1 for place, have in running.items() if have == length]
        return best, ends

    def _widened(self, start: int, end: int) -> tuple[int, int]:
        before, after = max(0, start - _WIDEST), min(len(self.text), end + _WIDEST)
        stops = [stop.end() for stop in _STOP.finditer(self.text, before, start)]
        first = stops[-1] if stops else before
        stop = _STOP.search(self.text, end, after)
        last = stop.end() if stop else after
        quote = self.text[first:last]
        return first + len(quote) - len(quote.lstrip()), first + len(quote.rstrip())


def _is_significant(said: Sequence[Word], start: int, end: int) -> bool:
    run = said[start:end]
    telling = sum(word.is_distinctive for word in run)
    if not telling:
        return False
    if telling == sum(word.is_distinctive for word in said) or any(
        word.is_exact and len(word.text) > 1 for word in run
    ):
        return True
    single = sum(_IS_SINGLE.match(word.key) is not None for word in run)
    return single >= _LEAST_SINGLE or len(run) - single >= _LEAST_WORDS


def _drop_invisible(text: str) -> tuple[str, list[int] | None]:
    """The text without what cannot be seen, and where each character of that is; None when nothing is left out."""
    unseen = {character for character in set(text) if not sanitize(character)}
    if not unseen:
        return text, None
    offsets = [at for at, character in enumerate(text) if character not in unseen]
    return "".join(text[at] for at in offsets), offsets
