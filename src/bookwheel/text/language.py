"""The language of a text, as far as its letters tell."""

from __future__ import annotations

from typing import Final

from bookwheel.patterns import compile_late

_LETTER: Final = compile_late(r"[^\W\d_]")
_HAN: Final = compile_late("[\u4e00-\u9fff\u3400-\u4dbf]")


def language_of(text: str) -> str:
    """Return `zh` when at least three in ten letters are Chinese characters, else `en`."""
    letters = len(_LETTER.findall(text))
    return "zh" if letters and len(_HAN.findall(text)) >= 0.3 * letters else "en"
