"""Count tokens, and find how much text fits a token budget.

Budgets are in the model's own tokens, so every model has its tokenizer. Three are here: Hugging Face's `tokenizers`
for a `tokenizer.json`, a small exact one for scripted models, and an estimate for endpoints with an unknown tokenizer.
`exact` is False for the estimate.

A tokenizer may also have `scan`: it tokenizes a text once and then answers both questions for every beginning of it.

Of a `tokenizer.json`, each word of a language is tokenized once, and not wherever it stands. Nearly every tokenizer
splits a text before it looks for tokens, and nearly all split it before a blank and a letter. So the tokens of "It was
1,204 men" are those of "It", " was 1,204" and " men", and counts of such pieces add up to the count of the text.
`WordCounter.find` tries whether a tokenizer does this; for one that does not it returns None.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property, lru_cache
from itertools import accumulate, islice
from math import ceil
from typing import TYPE_CHECKING, Final, Protocol, Self

from bookwheel.errors import TokenizerError
from bookwheel.patterns import compile_late

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from tokenizers import Encoding
    from tokenizers import Tokenizer as HuggingFaceTokenizer

# An ASCII character, of an unknown tokenizer: 3.2 bytes a token.
_TOKENS_PER_BYTE: Final = 0.3125
# Counts that are kept, so that a reply, a question or a template is tokenized once.
_COUNTS_KEPT: Final = 256
# What one token can stand for in any number, and characters that are words or syllables.
_RUN: Final = compile_late(r"(\W)\1+|\s+")
_SYLLABLE: Final = compile_late("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# A letter of ASCII, because no normalizer joins it with the blank or with what stands before.
_WORD_START: Final = compile_late(r" (?=[A-Za-z])(?<!\s )(?<!\A )")
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
SEAM: Final = 64
"""Characters around a cut within which tokens can fall differently; nearly all words are shorter."""


class Tokenizer(Protocol):
    """Counts a text's tokens; special tokens are neither added nor recognised."""

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool:
        """False when the counts are estimates."""
        ...

    def count(self, text: str) -> int: ...

    def fit(self, text: str, limit: int) -> int:
        """Return about how many leading characters have `limit` tokens, or the text's length if all of it fits.

        Callers check the prefix with `count`: alone it can have a token more than inside the whole text.
        """
        ...


class ScannedText(Protocol):
    """A text that was tokenized once, for any number of questions about its beginnings."""

    @property
    def is_local(self) -> bool:
        """True if text further on than SEAM characters never changes how a text is tokenized."""
        ...

    def fit(self, limit: int) -> int:
        """Return what the tokenizer's `fit` returns for this text."""
        ...

    def count(self, end: int) -> int:
        """Return the number of tokens of the first `end` characters."""
        ...


def scan_text(tokenizer: Tokenizer, text: str) -> ScannedText:
    """Return the text tokenized once where the tokenizer can do that, else one that asks it for every answer."""
    scan = getattr(tokenizer, "scan", None)
    scanned: ScannedText = scan(text) if scan else _CountedText(tokenizer, text)
    return scanned


class _CountedText:
    """A text whose tokenizer has only `count` and `fit`."""

    is_local: Final = False

    def __init__(self, tokenizer: Tokenizer, text: str) -> None:
        self._tokenizer = tokenizer
        self._text = text

    def fit(self, limit: int) -> int:
        return self._tokenizer.fit(self._text, limit)

    def count(self, end: int) -> int:
        return self._tokenizer.count(self._text[:end])


class WordTokenizer:
    """A word is a token, in pieces of eight letters; so is every other visible character. For scripted models.

    >>> WordTokenizer().count("Ramelli's wheel turns.")
    6
    """

    name: Final = "words"
    exact: Final = True
    _token: Final = re.compile(r"(?:[a-zA-Z0-9_]{1,8}|\S)\s{0,16}|\s{1,16}")

    def count(self, text: str) -> int:
        return len(self._token.findall(text))

    def fit(self, text: str, limit: int) -> int:
        if limit <= 0:
            return 0
        last = next(islice(self._token.finditer(text), limit - 1, None), None)
        return last.end() if last else len(text)


class EstimatingTokenizer:
    """An estimate for unknown tokenizers, deliberately high so that budgets hold.

    A token counts as 3.2 bytes of ASCII or as one character of anything else; English text has 4 to 5 bytes a token.
    `scale` corrects that once an endpoint's own counts are known: it is the real tokens per estimated token.

    >>> EstimatingTokenizer().count("a" * 32), EstimatingTokenizer(0.7).count("a" * 32)
    (10, 7)
    """

    name: Final = "estimate"
    exact: Final = False

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def count(self, text: str) -> int:
        # Python knows of every string whether it is ASCII, so that most texts need not be looked at.
        ascii_only = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
        return ceil(self.scale * (ascii_only * _TOKENS_PER_BYTE + len(text) - ascii_only))

    def fit(self, text: str, limit: int) -> int:
        """Return the length of the longest prefix whose estimate is within the limit."""
        low, high = 0, min(len(text), int(limit / (self.scale * _TOKENS_PER_BYTE)) + 1)
        if text.isascii():
            low = max(0, high - 2)
        while low < high:
            middle = (low + high + 1) // 2
            if self.count(text[:middle]) <= limit:
                low = middle
            else:
                high = middle - 1
        return low


def least_tokens(texts: Iterable[str]) -> int:
    """Return a number of tokens that no tokenizer in use comes below: none joins words across blanks.

    Prose has up to five characters a token, and no more than two and a half where a character is a word or a syllable.
    Blanks, and signs that repeat, can be joined in any number.

    >>> least_tokens(["Ada wound the clock.", "阿达给钟上了发条", "-" * 400])
    8
    """
    return sum(max(len(text.split()), _count_fifths(_RUN.sub(" ", text)) // 5) for text in texts)


def are_possible(count: int, texts: Sequence[str]) -> bool:
    """Tell whether the texts can have so few tokens. Most counts are above what needs no pattern."""
    plenty = sum(max(len(text.split()), _count_fifths(text) // 5) for text in texts)
    return count >= plenty or count >= least_tokens(texts)


def _count_fifths(text: str) -> int:
    return len(text) if text.isascii() else len(text) + len(_SYLLABLE.findall(text))


class FastTokenizer:
    """A tokenizer of Hugging Face's library."""

    exact: Final = True

    def __init__(self, fast: HuggingFaceTokenizer, name: str) -> None:
        self._fast = fast
        self.name = name
        self._words = WordCounter.find(fast, self._encode)
        self._count = lru_cache(_COUNTS_KEPT)(lambda text: self.scan(text).count(len(text)))

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens, without special ones."""
        return self._encode(replace_surrogates(text)).ids

    def encode_ends(self, text: str) -> tuple[list[int], list[int]]:
        """Return the ids of the tokens and the characters at which they end."""
        encoding = self._encode(replace_surrogates(text))
        return encoding.ids, [end for _, end in encoding.offsets]

    def count(self, text: str) -> int:
        return self._count(text)

    def fit(self, text: str, limit: int) -> int:
        return self.scan(text).fit(limit)

    def scan(self, text: str) -> ScannedText:
        """Tokenize the text once, and words that came before not at all."""
        text = replace_surrogates(text)
        words = self._words.scan(text) if self._words else None
        return words or _EncodedText(text, self._encode, is_local=self._splits_words)

    def _encode(self, text: str) -> Encoding:
        return self._fast.encode(text, add_special_tokens=False)

    @cached_property
    def _splits_words(self) -> bool:
        """True if words are split off before they are tokenized, and none is changed for standing first."""
        split, normalize = self._fast.pre_tokenizer, self._fast.normalizer
        return (
            split is not None
            and split.pre_tokenize_str("a") == [("a", (0, 1))]
            and (normalize is None or normalize.normalize_str("a") == "a")
        )


class FileTokenizer(FastTokenizer):
    """A tokenizer from a `tokenizer.json` in Hugging Face's format."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer as Fast

        try:
            fast = Fast.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for every fault
            raise TokenizerError(f"{path} is not a tokenizer.json that can be loaded: {error}") from error
        fast.no_truncation()
        fast.no_padding()
        fast.encode_special_tokens = True
        super().__init__(fast, str(path))


class _EncodedText:
    """A text with its encoding, which is asked for single tokens: lists of all of them would take time."""

    def __init__(self, text: str, encode: Callable[[str], Encoding], *, is_local: bool) -> None:
        self._text = text
        self._encode = encode
        self._encoding = encode(text)
        self.is_local = is_local

    def fit(self, limit: int) -> int:
        span = self._encoding.token_to_chars(limit) if limit < len(self._encoding) else None
        return span[0] if span else len(self._text)

    def count(self, end: int) -> int:
        """Tokenize again only the words around the end: a cut inside one changes how it is tokenized."""
        if end >= len(self._text):
            return len(self._encoding)
        token = self._find_word(end - SEAM) if self.is_local else 0
        span = self._encoding.token_to_chars(token) if token else None
        return token + len(self._encode(self._text[span[0] if span else 0 : end]))

    def _find_word(self, place: int) -> int:
        """Return the first token of the word at this place, or before it where only blanks are."""
        token = None
        while place > 0 and (token := self._encoding.char_to_token(place)) is None:
            place -= 1
        token = token or 0
        word = self._encoding.token_to_word(token)
        while token and self._encoding.token_to_word(token - 1) == word:
            token -= 1
        return token


class WordCounter:
    """The counts of the words that a tokenizer has met lately. Any number of threads may ask."""

    def __init__(self, encode: Callable[[str], Encoding]) -> None:
        self._encode = encode
        self._count: Callable[[str], int] = lru_cache(_WORDS_KEPT)(lambda word: len(encode(f" {word}")))

    @classmethod
    def find(cls, tokenizer: HuggingFaceTokenizer, encode: Callable[[str], Encoding]) -> Self | None:
        """Return a counter if the tokenizer splits texts where words start here, and each word stands for itself."""
        added = [token for token in tokenizer.get_added_tokens_decoder().values() if not token.special]
        if any(token.lstrip or token.rstrip or _WORD_START.search(token.content) for token in added):
            return None
        first, *others = _WORD_START.split(_PROBE)
        whole, words = encode(_PROBE), [first, *(f" {word}" for word in others)]
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


_SURROGATE: Final = compile_late("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded, by the replacement character, as prompts do."""
    # An encoder finds none much faster than the pattern does.
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text
