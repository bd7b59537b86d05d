"""The small words that change what a sentence says: one table for English and Chinese, `marks.txt`.

>>> sorted(find_marks(("at", "least", "3", "至", "少", "3")))
['least']

A mark is a kind of such word. Two marks may be opposites: a sentence with one is not borne out by one with the other.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from bookwheel.text import lexicon

if TYPE_CHECKING:
    from collections.abc import Sequence

NOT: Final = "not"
HEDGE: Final = "hedge"
SAID: Final = "said"
CAUSE: Final = "cause"

OPPOSITES: Final = (
    ("least", "most"),
    ("over", "under"),
    ("before", "after"),
    ("up", "down"),
    ("high", "low"),
    ("first", "last"),
    ("with", "without"),
    ("accept", "reject"),
    ("inside", "outside"),
)
BOUNDS: Final = ("least", "most", "over", "under", "about")
# Signs of a negation in these words negate nothing.
_NO_NEGATION: Final = tuple(" ".join(word) for word in lexicon.CJK_NO_NEGATION)


def find_marks(tokens: Sequence[str]) -> Counter[str]:
    """Return the marks among tokens in normal form, and how often each comes."""
    text = f" {' '.join(tokens)} "
    for word in _NO_NEGATION:
        text = text.replace(f" {word} ", " · ")
    return Counter(mark for mark, pattern in _patterns().items() for _ in pattern.finditer(text))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    file = resources.files("bookwheel") / "verdict" / "marks.txt"
    lines = (line.split(" = ") for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {mark: re.compile(f"(?<= )(?:{'|'.join(_list_spellings(words))})(?= )") for mark, words in lines}


def _list_spellings(words: str) -> list[str]:
    # In normal form, signs stand apart.
    spelled = [word if word.isascii() else " ".join(word) for word in words.split(",")]
    return sorted(map(re.escape, spelled), key=len, reverse=True)
