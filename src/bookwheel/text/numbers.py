"""Numbers in one form, however a text writes them.

>>> normalize_number("12,400"), normalize_number("3.50"), parse_cjk_number("三万二千")
('12400', '3.5', '32000')
"""

from __future__ import annotations

import re

from bookwheel.text import lexicon


def parse_ones(word: str) -> int:
    """Return the value of a word from one to nine, else 0."""
    value = lexicon.NUMBER_WORDS.get(word.casefold(), "")
    return int(value) if len(value) == 1 else 0


def normalize_number(text: str) -> str:
    """Return a number without separators of thousands and closing zeros: 12,400 is 12400, and 3.50 is 3.5."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        text = text.replace(",", "")
    if re.fullmatch(r"\d+\.\d+", text):
        text = text.rstrip("0").rstrip(".")
    return text


def parse_cjk_number(text: str) -> str:
    """Return a number written in Chinese signs, in Arabic digits."""
    if not any(sign in lexicon.CJK_POWERS for sign in text):
        return "".join(str(lexicon.CJK_DIGITS[sign]) for sign in text)
    total = section = digit = 0
    for sign in text:
        if sign in lexicon.CJK_DIGITS:
            digit = lexicon.CJK_DIGITS[sign]
        elif (power := lexicon.CJK_POWERS[sign]) >= lexicon.CJK_POWERS["万"]:
            total, section, digit = (total + section + digit) * power, 0, 0
        else:
            section, digit = section + (digit or 1) * power, 0
    return str(total + section + digit)


def name_month(number: str) -> str:
    """Return the name of a month by its number."""
    return lexicon.MONTH_NAMES[(int(number) - 1) % 12]
