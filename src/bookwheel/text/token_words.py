"""Count tokens word by word: each word of a language is tokenized once, and not wherever it stands.

Nearly every tokenizer splits a text before it looks for tokens, and nearly all split it before a blank and a letter. So
the tokens of "It was 1,204 men" are those of "It", " was 1,204" and " men", and counts of such pieces add up to the
count of the text. `WordCounter.find` tries whether a tokenizer does this; for one that does not it returns None.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokenizers import Encoding, Tokenizer

# A letter of ASCII, because no normalizer joins it with the blank or with what stands before.
_WORD_START: Final = re.compile(r" (?=[A-Za-z])(?<!\s )(?<!\A )")
# What may stand before the blank: of each kind of character, and what tokenizers treat apart.
_BEFORE: Final = (
    *("a", "A", "é", "e\u0301", "中", "я", "א", "ก", "'s", "’s", "7", "1234", "²", "Ⅷ"),
    *(".", "...", "!?", ",", ")", '"', "”", "。", "_", "-", "—", "/", "$", "€", "<", "|"),
    *("\u200b", "\u00ad", "😀", "👩\u200d💻", "\n\n-", "\ufffd"),
)
_PROBE: Final = "".join(f"{before} then" for before in _BEFORE)
# A longer piece is no word: a table, a text without blanks. Kept ones must not fill the memory.
_LONGEST_WORD: Final = 256
# The words of a long book, in about 8 MB.
_WORDS_KEPT: Final = 1 << 15


class WordCounter:
    """The counts of the words that a tokenizer has met lately. Any number of threads may ask."""

    def __init__(self, encode: Callable[[str], Encoding]) -> None:
        self._encode = encode
        self._count: Callable[[str], int] = lru_cache(_WORDS_KEPT)(lambda word: len(encode(f" {word}")))

    @classmethod
    def find(cls, tokenizer: Tokenizer, encode: Callable[[str], Encoding]) -> Self | None:
        """Return a counter if the tokenizer splits texts where words start here, and each word stands for itself."""
        added = [token for token in tokenizer.get_added_tokens_decoder().values() if not token.special]
        if any(token.lstrip or token.rstrip or _WORD_START.search(token.content) for token in added):
            return None
        whole, words = encode(_PROBE), _split(_PROBE)
        ids = [id_ for word in words for id_ in encode(word).ids]
        starts = accumulate(map(len, words[:-1]))
        is_split = all(whole.char_to_word(start - 1) != whole.char_to_word(start + 1) for start in starts)
        return cls(encode) if is_split and ids == whole.ids else None

    def scan(self, text: str) -> CountedWords | None:
        """Count the tokens of each word of a text; None where it is not made of words."""
        first, *others = _WORD_START.split(text)
        if max(map(len, (first, *others))) > _LONGEST_WORD:
            return None
        return CountedWords(text, (first, *others), [len(self._encode(first)), *map(self._count, others)], self._encode)


def _split(text: str) -> list[str]:
    """Return the words of a text, each with the blank before it."""
    first, *others = _WORD_START.split(text)
    return [first, *(f" {word}" for word in others)]


class CountedWords:
    """A text whose words were counted: answers for every beginning of it without tokenizing it again."""

    is_local: Final = True

    def __init__(
        self, text: str, words: Sequence[str], counts: Sequence[int], encode: Callable[[str], Encoding]
    ) -> None:
        self._text = text
        self._encode = encode
        self._letters = [0, *accumulate(map(len, words))]
        """The characters before each word, and in all, without the blanks between words."""
        self._tokens = [0, *accumulate(counts)]
        """The tokens before each word, and in all."""

    def fit(self, limit: int) -> int:
        """Return the character where token number `limit` begins, or the text's length if it has no more tokens."""
        if limit >= self._tokens[-1]:
            return len(self._text)
        at = bisect_right(self._tokens, limit) - 1
        start, end = self._start(at), self._start(at + 1)
        span = self._encode(self._text[start:end]).token_to_chars(limit - self._tokens[at])
        return start + (span[0] if span else 0)

    def count(self, end: int) -> int:
        """Return the number of tokens of the first `end` characters."""
        if end >= len(self._text):
            return self._tokens[-1]
        # Where a word starts shows by two characters: its blank and its letter.
        at = max(0, bisect_right(range(len(self._letters)), end - 2, key=self._start) - 1)
        return self._tokens[at] + len(self._encode(self._text[self._start(at) : end]))

    def _start(self, at: int) -> int:
        """Return the character where this word starts, with the blank before it."""
        return self._letters[at] + max(0, at - 1)
