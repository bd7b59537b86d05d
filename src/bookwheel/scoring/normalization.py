"""Reduce a text to the words that metrics compare. Every metric but `official` uses it.

Unicode becomes NFKC (full-width digits, ligatures) and case is folded. The rest is split into tokens:

    words       runs of letters and digits; "U.S.A." and "USA" are one word, and so are "King’s" and "Kings"
    numbers     1,234,567 is 1234567; 12.5 and -3 stay whole; "seven" is 7 (zero to twenty, but for "one", which
                is more often a pronoun than a number)
    characters  each Chinese character and each kana is a token of its own, as these scripts mark no words

Punctuation only separates. English articles are dropped unless nothing else is left.

>>> words("The U.S. paid $1,250 for seven lamps!")
['us', 'paid', '1250', 'for', '7', 'lamps']
>>> words("北京，2008年")
['北', '京', '2008', '年']
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

ARTICLES: Final = frozenset({"a", "an", "the"})

_SINGLE: Final = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN: Final = re.compile(rf"(?<![\w.])-\d+(?:\.\d+)?(?!\w)|\d+\.\d+(?!\w)|[{_SINGLE}]|[^\W{_SINGLE}]+(?:\+\+|#)?")
_APOSTROPHE: Final = re.compile("['’‘`ʼ]")
_DOTTED: Final = re.compile(r"\b(?:[^\W\d_]\.){2,}")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBERS: Final = re.findall(
    r"\w+",
    "zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty",
)
_NUMBER: Final = {"zero": "0"} | {word: str(value) for value, word in enumerate(_NUMBERS[1:], start=2)}


def words(text: str) -> list[str]:
    """Return the tokens of a text without articles, or with them when there is nothing else."""
    all_words = words_with_articles(text)
    return [word for word in all_words if word not in ARTICLES] or all_words


def words_with_articles(text: str) -> list[str]:
    """Return all tokens of a text."""
    text = text.replace("´", "'")  # NFKC would make a blank and an accent of it, and split the word
    text = unicodedata.normalize("NFKC", text).casefold().replace("\N{MINUS SIGN}", "-")
    text = _DOTTED.sub(lambda match: match[0].replace(".", ""), _APOSTROPHE.sub("", text))
    tokens = (token.strip("_") for token in _TOKEN.findall(_THOUSANDS.sub("", text)))
    return [_NUMBER.get(token, token) for token in tokens if token]


def contains_words(row: list[str], part: list[str]) -> bool:
    """Return True when the tokens of `part` stand in `row` side by side; never for an empty part."""
    if not part:
        return False
    width = len(part)
    return any(row[at : at + width] == part for at in range(len(row) - width + 1) if row[at] == part[0])
