"""Count tokens, and find how much text fits a token budget.

Budgets are in the model's own tokens, so every model has its tokenizer. Three are here: Hugging Face's `tokenizers`
for a `tokenizer.json`, a small exact one for scripted models, and an estimate for endpoints with an unknown tokenizer.
`exact` is False for the estimate.
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
        """The name in reports and journals."""
        ...

    @property
    def exact(self) -> bool:
        """False when the counts are estimates."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of the text."""
        ...

    def fit(self, text: str, limit: int) -> int:
        """Return about how many leading characters have `limit` tokens, or the text's length if all of it fits.

        Callers check the prefix with `count`: alone it can have a token more than inside the whole text.
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
        """Return the number of word pieces of the text."""
        return len(self._token.findall(text))

    def fit(self, text: str, limit: int) -> int:
        """Return the character where token number `limit` ends."""
        if limit <= 0:
            return 0
        last = next(islice(self._token.finditer(text), limit - 1, None), None)
        return last.end() if last else len(text)


class EstimatingTokenizer:
    """An estimate for unknown tokenizers, deliberately high so that budgets hold.

    A token counts as 3.2 bytes of ASCII or as one character of anything else; English text has 4 to 5 bytes a token.
    """

    name: Final = "estimate"
    exact: Final = False
    _bytes_per_token: Final = 3.2

    def count(self, text: str) -> int:
        """Return a high estimate of the text's tokens."""
        ascii_only = len(text.encode("ascii", "ignore"))
        return -int(-ascii_only // self._bytes_per_token) + len(text) - ascii_only

    def fit(self, text: str, limit: int) -> int:
        """Return the length of the longest prefix whose estimate is within the limit."""
        low, high = 0, min(len(text), int(limit * self._bytes_per_token) + 1)
        while low < high:
            middle = (low + high + 1) // 2
            if self.count(text[:middle]) <= limit:
                low = middle
            else:
                high = middle - 1
        return low


class FileTokenizer:
    """A tokenizer from a `tokenizer.json` in Hugging Face's format."""

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
        """Return the number of tokens, without special ones."""
        return len(self._fast.encode(replace_surrogates(text), add_special_tokens=False).ids)

    def fit(self, text: str, limit: int) -> int:
        """Return the character where token number `limit` ends."""
        offsets = self._fast.encode(replace_surrogates(text), add_special_tokens=False).offsets
        return len(text) if len(offsets) <= limit else int(offsets[limit][0])


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded, by the replacement character, as prompts do."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
