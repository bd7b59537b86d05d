"""Find the words of a note in the text that it was taken from.

Models copy words and change what is between them: blanks, line ends, punctuation, letter case. So texts are compared
word by word, and character by character in scripts without blanks. Invisible characters, which `text/sanitize.py`
removes from prompts, are ignored. Every span is in the characters of the original text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, zip_longest
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.lexicon import words
from bookwheel.text.sanitize import sanitize
from bookwheel.text.sentences import find_ends

# Scripts without blanks between words: each character is a word, and pairs are looked up, as they say more.
UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD: Final = compile_late(rf"[{UNSPACED}]|\d+(?:[.,:]\d+)+|(?:(?![{UNSPACED}])[^\W_])+")
_IS_UNSPACED: Final = compile_late(f"[{UNSPACED}]")
_BULLET: Final = compile_late(r"\s*(?:[-*•·]+|\(?\d{1,2}[.)、])\s+")
_LABEL: Final = compile_late(r"[^:：]{1,40}[:：]\s")
_SENTENCE_START: Final = compile_late(r"(?:^|[.!?。！？:：\n])[\s\"'“‘«(*]*$")
_HEADING: Final = compile_late(r"\s*#|.*[:：][\s*]*$")
# Characters that a sentence may have on either side of the words searched for.
_MOST_CONTEXT: Final = 240
_LEAST_WORDS: Final = 3
_LEAST_UNSPACED: Final = 4
_COMMON: Final = words(
    "a about after all also an and any are as at be been before but by can could did do does for from had has have he "
    "her his how i if in into is it its may more most no nor not of on one only or other our out over note she should "
    "so some such than that the their them then there these they this those to under up was we were what when where "
    "which while who whose will with would you your answer question memory notes section document"
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a note."""

    text: str
    key: str
    """The form in which single words are compared."""
    index_key: str
    """The form in which a text's words are searched: with the next character in scripts without blanks."""
    is_distinctive: bool
    """True if it says something by itself, unlike "the"."""
    is_exact: bool
    """True for a number or a name, which must match exactly."""


@lru_cache(maxsize=4096)  # a memory's lines come again at every step
def parse_words(note: str) -> tuple[Word, ...]:
    """Return the words of a note, without its bullet."""
    bullet = _BULLET.match(note)
    note = sanitize(note[bullet.end() :] if bullet else note)
    label = _LABEL.match(note)
    named_from = label.end() if label else 0
    found = list(_WORD.finditer(note))
    return tuple(_make_word(note, here, after, named_from) for here, after in zip_longest(found, found[1:]))


def _make_word(note: str, here: re.Match[str], after: re.Match[str] | None, named_from: int) -> Word:
    text = here[0]
    key = _fold_word(text)
    if _IS_UNSPACED.match(text):
        paired = after is not None and after.start() == here.end() and _IS_UNSPACED.match(after[0]) is not None
        return Word(text, key, text + after[0] if after and paired else text, paired, is_exact=False)
    is_distinctive = key not in _COMMON and (len(key) > 1 or key.isdigit())
    inside = here.start() >= named_from and not _SENTENCE_START.search(note[max(0, here.start() - 8) : here.start()])
    named = text[0].isupper() and (inside or (len(text) > 1 and text.isupper()))
    return Word(text, key, key, is_distinctive, is_exact=is_distinctive and (named or any(map(str.isdigit, text))))


def _fold_word(text: str) -> str:
    return text.replace(",", "") if text[0].isdigit() else text.casefold()


def is_claim(line: str) -> bool:
    """Return True if a line of a memory states something, unlike a heading, a rule or a bare label."""
    return not _HEADING.match(line) and any(word.is_distinctive for word in parse_words(line))


def word_overlap(note: Sequence[Word], keys: set[str]) -> float:
    """Return the share of the distinctive words that `keys` holds, from 0 to 1."""
    matches = [word.index_key in keys for word in note if word.is_distinctive]
    return sum(matches) / len(matches) if matches else 0.0


def find_missing_words(note: Sequence[Word], keys: set[str]) -> tuple[str, ...]:
    """Return the numbers and names that `keys` does not hold."""
    return tuple(dict.fromkeys(word.text for word in note if word.is_exact and word.index_key not in keys))


class Passage:
    """A passage of a document, split into words."""

    def __init__(self, text: str) -> None:
        self.text = text
        visible, offsets = drop_invisible(text)
        self._keys: list[str] = []
        self._spans: list[tuple[int, int]] = []
        for found in _WORD.finditer(visible):
            self._keys.append(_fold_word(found[0]))
            start, last = found.start(), found.end() - 1
            self._spans.append((offsets[start], offsets[last] + 1) if offsets else (start, last + 1))

    @cached_property
    def index_keys(self) -> set[str]:
        """The set to look up `Word.index_key` in."""
        return {
            *self._keys,
            *(a + b for a, b in pairwise(self._keys) if _IS_UNSPACED.match(a) and _IS_UNSPACED.match(b)),
        }

    @property
    def ordered_keys(self) -> list[str]:
        """What can be looked up, in the text's order: words, and pairs of characters in scripts without blanks."""
        joined = [
            a + b if _IS_UNSPACED.match(a) and _IS_UNSPACED.match(b) else a for a, b in pairwise([*self._keys, ""])
        ]
        return [key for key in joined if key]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for at, key in enumerate(self._keys):
            places.setdefault(key, []).append(at)
        return places

    def find_longest_run(self, note: Sequence[Word]) -> tuple[int, tuple[int, int]] | None:
        """Return the length in words and the span of the longest significant run of these words in the text."""
        best = end = 0
        running: dict[int, int] = {}
        for at, word in enumerate(note):
            running = {place: running.get(place - 1, 0) + 1 for place in self._places.get(word.key, ())}
            length = max(running.values(), default=0)
            if length > best and _is_significant(note, at + 1 - length, at + 1):
                best, end = length, next(place + 1 for place, have in running.items() if have == length)
        return (best, (self._spans[end - best][0], self._spans[end - 1][1])) if best else None

    def expand_to_sentence(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the sentence or sentences around a span."""
        before, after = max(0, start - _MOST_CONTEXT), min(len(self.text), end + _MOST_CONTEXT)
        first = max(find_ends(self.text, before, start), default=before)
        last = next(find_ends(self.text, end, after), after)
        quote = self.text[first:last]
        return first + len(quote) - len(quote.lstrip()), first + len(quote.rstrip())


def _is_significant(note: Sequence[Word], start: int, end: int) -> bool:
    run = note[start:end]
    distinctive = sum(word.is_distinctive for word in run)
    if not distinctive:
        return False
    if distinctive == sum(word.is_distinctive for word in note) or any(
        word.is_exact and len(word.text) > 1 for word in run
    ):
        return True
    unspaced = sum(_IS_UNSPACED.match(word.key) is not None for word in run)
    return unspaced >= _LEAST_UNSPACED or len(run) - unspaced >= _LEAST_WORDS


@lru_cache(maxsize=1 << 16)
def _is_invisible(character: str) -> bool:
    return not sanitize(character)


def drop_invisible(text: str) -> tuple[str, list[int] | None]:
    """Return the visible text and the offsets of its characters, or None for them if nothing is invisible."""
    if text.isascii():
        return text, None
    invisible = {character for character in set(text) if _is_invisible(character)}
    if not invisible:
        return text, None
    offsets = [at for at, character in enumerate(text) if character not in invisible]
    return "".join(text[at] for at in offsets), offsets
