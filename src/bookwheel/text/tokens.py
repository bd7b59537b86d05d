"""Counting tokens, and finding how much text a token budget holds.

Budgets are only worth something in the model's own tokens, so every model carries its tokenizer.
Three of them live here: Hugging Face's `tokenizers` for a `tokenizer.json`, a small exact one for scripted
models, and an estimate for endpoints that tell nothing about theirs. `exact` says which kind it is.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from bookwheel.errors import TokenizerError

if TYPE_CHECKING:
    from pathlib import Path


class Tokenizer(Protocol):
    """Counts a text's tokens; special tokens are neither added nor recognised."""

    @property
    def name(self) -> str:
        """For reports and journals."""
        ...

    @property
    def exact(self) -> bool:
        """False when the counts are estimates."""
        ...

    def count(self, text: str) -> int:
        """How many tokens the text has."""
        ...

    def fit(self, text: str, limit: int) -> int:
        """About how many leading characters hold `limit` tokens: all of them when the whole text fits.

        The caller checks `count` of what it takes: a prefix can tokenise to a token more than it had inside the whole.
        """
        ...


class WordTokenizer:
    """A word is a token, in pieces of eight letters; so is every other visible character. For scripted models.

    >>> WordTokenizer().count("Ramelli's wheel turns.")
    5
    """

    name: Final = "words"
    exact: Final = True
    _token: Final = re.compile(r"(?:[a-zA-Z0-9_]{1,8}|\S)\s{0,16}|\s{1,16}")

    def count(self, text: str) -> int:
        """How many word pieces the text has."""
        return len(self._token.findall(text))

    def fit(self, text: str, limit: int) -> int:
        """Where token number `limit` ends."""
        if limit <= 0:
            return 0
        last = next(islice(self._token.finditer(text), limit - 1, None), None)
        return last.end() if last else len(text)


class EstimatingTokenizer:
    """For endpoints with an unknown tokenizer: deliberately high, so that budgets hold.

    A token is taken as 3.2 bytes of ASCII or as one character of anything else; English text has 4 to 5 bytes a token.
    """

    name: Final = "estimate"
    exact: Final = False
    _bytes_per_token: Final = 3.2

    def count(self, text: str) -> int:
        """An upper estimate."""
        ascii_only = len(text.encode("ascii", "ignore"))
        return -int(-ascii_only // self._bytes_per_token) + len(text) - ascii_only

    def fit(self, text: str, limit: int) -> int:
        """The longest prefix whose estimate is within the limit."""
        low, high = 0, min(len(text), int(limit * self._bytes_per_token) + 1)
        while low < high:
            middle = (low + high + 1) // 2
            if self.count(text[:middle]) <= limit:
                low = middle
            else:
                high = middle - 1
        return low


class FileTokenizer:
    """A `tokenizer.json` of Hugging Face's format."""

    exact: Final = True

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer as Fast

        try:
            self._fast = Fast.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for every fault
            raise TokenizerError(f"{path} is not a tokenizer.json that can be loaded: {error}") from error
        self._fast.no_truncation()
        self._fast.no_padding()
        self._fast.encode_special_tokens = True
        self.name = str(path)

    def count(self, text: str) -> int:
        """By the file's own rules."""
        return len(self._fast.encode(replace_surrogates(text), add_special_tokens=False).ids)

    def fit(self, text: str, limit: int) -> int:
        """Where token number `limit` ends."""
        offsets = self._fast.encode(replace_surrogates(text), add_special_tokens=False).offsets
        return len(text) if len(offsets) <= limit else int(offsets[limit][0])


_LONE = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """Lone surrogates cannot be encoded; each counts like the replacement character that prompts show for it."""
    return _LONE.sub("\N{REPLACEMENT CHARACTER}", text)
