r"""The letters that LaTeX writes as commands: Lund\"o is Lundö, {\aa} is å.

A name is searched, quoted and compared by its letters. Lines stay where they are, and everything else of LaTeX stays
as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

SUFFIXES: Final = frozenset((".tex", ".ltx", ".bib"))
_MARKS: Final = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "k": "\u0328", "r": "\u030a", "d": "\u0323",
    "b": "\u0331",
}  # fmt: skip
_LETTERS: Final = {
    "aa": "å", "AA": "Å", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł",
    "ss": "ß", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ",
}  # fmt: skip
_DOTLESS: Final = {"i": "i", "j": "j"}
# \"o, \"{o}, \'\i and, with a blank or in braces as their names are letters, \c c, \v{s}; braces may be around it all.
_ACCENT: Final = re.compile(
    r"(?P<brace>\{)?(?<!\\)\\(?:(?P<sign>[`'^~\"=.])[ ]?|(?P<name>[uvHckrdb])(?=[ {])[ ]?)"
    r"(?:\{\\?(?P<inner>[A-Za-z])\}|\\(?P<dotless>[ij])(?![A-Za-z])[ ]?|(?P<bare>[A-Za-z])(?(name)(?![A-Za-z])))"
    r"(?(brace)\})"
)
_LETTER: Final = re.compile(
    rf"\{{\\({'|'.join(_LETTERS)})[ ]?\}}|(?<!\\)\\({'|'.join(_LETTERS)})(?:\{{\}}|[ ]|(?![A-Za-z{{]))"
)


def resolve_accents(pieces: Iterable[str]) -> Iterator[str]:
    """Yield LaTeX with its letters as letters. A piece goes on from the last line end."""
    rest = ""
    for piece in pieces:
        text = rest + piece
        end = text.rfind("\n") + 1
        rest = text[end:]
        yield _resolve(text[:end])
    yield _resolve(rest)


def _resolve(text: str) -> str:
    if "\\" not in text:
        return text
    return _LETTER.sub(lambda found: _LETTERS[found[1] or found[2]], _ACCENT.sub(_compose, text))


def _compose(found: re.Match[str]) -> str:
    letter = found["inner"] or found["bare"] or _DOTLESS[found["dotless"]]
    composed = unicodedata.normalize("NFC", letter + _MARKS[found["sign"] or found["name"]])
    # Of a letter that nobody writes so it was something else, such as a tabbing stop.
    return composed if len(composed) == 1 else found[0]
