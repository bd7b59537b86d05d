"""Reduce a text to the words that metrics compare. Every metric but the published ones uses it.

Unicode becomes NFKC (full-width digits, ligatures), digits of all scripts become Arabic ones, Latin letters lose their
accents, traditional Chinese characters become simplified ones, invisible characters go, and case is folded. The rest is
split into tokens:

    words       runs of letters and digits; "U.S.A." and "USA" are one word, and so are "King’s" and "Kings"
    numbers     1,234,567 is 1234567; 12.5 and -3 stay whole; words become digits (`bookwheel.text.numbers`)
    dates       "July 14, 1953" and "1953-07-14" are "14 july 1953"
    characters  each Chinese character and each kana is a token of its own, as these scripts mark no words

Punctuation only separates. English articles are dropped unless nothing else is left.

>>> words("The U.S. paid $1,250 for twenty-one lamps!")
['us', 'paid', '1250', 'usd', 'for', '21', 'lamps']
>>> words("北京，2008年")
['北', '京', '2008', '年']
"""

import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

from bookwheel.packaged import PACKAGE
from bookwheel.patterns import compile_late
from bookwheel.text.chinese_numbers import parse_chinese_numbers
from bookwheel.text.lexicon import FUNCTION_WORDS
from bookwheel.text.numbers import compose_numbers, order_dates
from bookwheel.text.quantities import UNITS, name_units, same_quantity, spell_quantities

ARTICLES: Final = frozenset({"a", "an", "the"})
BREAK: Final = "\x1f"
"""The token of `split_clauses` between two clauses."""

_SINGLE: Final = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN: Final = compile_late(
    rf"{BREAK}|(?<![\w.])-\d+(?:\.\d+)?(?!\w)|\d+\.\d+(?!\w)|[{_SINGLE}]|[^\W{_SINGLE}]+(?:\+\+|#)?"
)
_APOSTROPHE: Final = compile_late("['’‘`ʼ]")
_DOTTED: Final = compile_late(r"\b(?:[^\W\d_]\.){2,}")
_THOUSANDS: Final = compile_late(r"(?<=\d),(?=\d{3}(?!\d))")
# Blanks that typographers set between thousands; an ordinary blank may stand between two numbers.
_THIN_THOUSANDS: Final = compile_late("(?<=\\d)[\u00a0\u2007\u2009\u202f](?=\\d{3}(?!\\d))")
# "4 821 907": three groups with one or two digits first are one number.
_WIDE_THOUSANDS: Final = compile_late(r"(?<![\d.,] )(?<![\d.,])\d{1,2}(?: \d{3}){2,}(?! ?\d)")
# "2 350 EUR": one blank will do where a sign, a unit or a currency follows.
_MEASURED_THOUSANDS: Final = compile_late(
    r"(?<![\d.,] )(?<![\d.,])([1-9]\d{0,2}) (\d{3})"
    r"(?=\s?(?:[$€£%]|(?:eur|euros?|usd|gbp|dkk|nok|sek|chf|kr|kg|km|m)\b))"
)
# Three zeros may be thousands: "1.000 €" is no single one.
_WHOLE: Final = compile_late(r"(?<![\d.,])(\d+)\.0{1,2}(?!\d|\.\d)")
_INVISIBLE: Final = compile_late("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_ACCENTS: Final = compile_late("(?<=[a-z])[\u0300-\u036f]+")
_WITHOUT_ACCENT: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "þ": "th"})
_CLAUSE_END: Final = compile_late(r"[;:!?()\[\]\n。！？；：，、（）—–|]|(?<!\d),|,(?!\d)|\.(?=\s|$)|\s-{1,2}\s")
# "2½" is 2.5.
_MIXED: Final = compile_late("(?<!\\d)(\\d{1,6}) ?([¼-¾⅐-⅞])")
_HAN: Final = compile_late("[\u3400-\u9fff]")
# An answer of 10,000 tokens takes about a megabyte.
_SPLITS_KEPT: Final = 256
_DECIMAL_ZEROS: Final = compile_late(r"(?<=[$€£¥])(\d+\.[1-9])0(?!\d)")


def words(text: str) -> list[str]:
    """Return the tokens of a text without articles, or with them when there is nothing else."""
    all_words = words_with_articles(text)
    return [word for word in all_words if word not in ARTICLES] or all_words


def words_with_articles(text: str) -> list[str]:
    return [token for token in split_clauses(text) if token != BREAK]


# A report tries the same constant answers on every question, and a question's golds on every answer.
@lru_cache(_SPLITS_KEPT)
def split_clauses(text: str) -> tuple[str, ...]:
    """Return all tokens of a text, with BREAK where punctuation parts two clauses or two items."""
    text = _DOTTED.sub(lambda match: match[0].replace(".", ""), _APOSTROPHE.sub("", _fold(text)))
    text = _WIDE_THOUSANDS.sub(lambda match: match[0].replace(" ", ""), _THOUSANDS.sub("", text))
    text = _CLAUSE_END.sub(f" {BREAK} ", _WHOLE.sub(r"\1", text))
    tokens = [token.strip("_") for token in _TOKEN.findall(text)]
    return tuple(name_units(order_dates(compose_numbers([token for token in tokens if token], BREAK))))


def _fold(text: str) -> str:
    text = _THIN_THOUSANDS.sub("", _INVISIBLE.sub("", text))
    text = _MIXED.sub(lambda match: f"{int(match[1]) + unicodedata.numeric(match[2]):.10g}", text)
    text = text.replace("´", "'")  # NFKC would make a blank and an accent of it, and split the word
    text = unicodedata.normalize("NFKC", text).casefold().replace("\N{MINUS SIGN}", "-")
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFD", text)).translate(_WITHOUT_ACCENT)
        text = unicodedata.normalize("NFC", text)
        text = "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in text)
        text = parse_chinese_numbers(simplify(text))
    return spell_quantities(_MEASURED_THOUSANDS.sub(r"\1\2", _DECIMAL_ZEROS.sub(r"\1", text)))


def simplify(text: str) -> str:
    """Return the text with simplified characters; other scripts stay as they are."""
    return text.translate(_load_table()) if _HAN.search(text) else text


@cache
def _load_table() -> dict[int, str]:
    """Load the pairs: one line of traditional characters, one of simplified ones in the same order."""
    file = PACKAGE / "text" / "simplified.txt"
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    traditional, simplified = "".join(lines[::2]), "".join(lines[1::2])
    return dict(zip(map(ord, traditional), simplified, strict=True))


def contains_words(row: Sequence[str], part: Sequence[str]) -> bool:
    """Return True when the tokens of `part` stand in `row` side by side; never for an empty part."""
    return bool(find_words(row, part, most=1))


def find_words(row: Sequence[str], part: Sequence[str], *, most: int | None = None) -> list[int]:
    """Return the places at which the tokens of `part` stand in `row` side by side, at most so many."""
    places: list[int] = []
    for at in range(len(row)) if part else ():
        if match_words(row, at, part):
            places.append(at)
            if len(places) == most:
                break
    return places


def match_words(row: Sequence[str], at: int, part: Sequence[str]) -> int:
    """Return where the tokens of `part` end that begin at a place of the row; 0 where they do not stand there.

    A quantity may stand in another unit, or without its unit where no other word follows the number.
    """
    for here, token in enumerate(part):
        unit = part[here + 1] if here + 1 < len(part) and part[here + 1] in UNITS and token[0].isdigit() else ""
        following = row[at + 1] if at + 1 < len(row) else BREAK
        if unit and at < len(row) and row[at][0].isdigit():
            if following in UNITS:
                return _finish(row, at + 2, part[here + 2 :]) * same_quantity(token, unit, row[at], following)
            is_bare = not following[0].isalpha() or following in FUNCTION_WORDS
            return _finish(row, at + 1, part[here + 2 :]) * (token == row[at] and is_bare)
        if at >= len(row) or row[at] != token:
            return 0
        at += 1
    return at


def _finish(row: Sequence[str], at: int, rest: Sequence[str]) -> int:
    return match_words(row, at, rest) if rest else at
