"""Write a formula of MathML, or of a Word file, on one line: E=(1)/(2)mv^2.

A fraction and a power are told by where their parts stand, so the words alone would be another formula: E=12mv2. Both
markups have the same few shapes under other names. What has no shape is written as its parts, one after the other.

>>> from lxml import html
>>> to_formula(html.fromstring("<math><mfrac><mi>C</mi><msup><mi>K</mi><mn>2</mn></msup></mfrac></math>"))
'(C)/(K^2)'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from bookwheel.text.lexicon import words

# Parts that say how it looks, or say the formula once more.
_UNWRITTEN: Final = words("annotation annotation-xml mphantom none mprescripts ctrlpr rpr")
# Operators that are meant and not seen, and the blanks of layout.
_UNSEEN: Final = re.compile("[\u2061-\u2064\u200b]+")
_BLANKS: Final = re.compile(r"\s+")
_NAME_BEFORE: Final = re.compile(r"[^\W\d_]{2,}\Z")
_NAME_BEHIND: Final = re.compile(r"[^\W\d_]{2,}")
_LETTER: Final = re.compile(r"[^\W_]")
# What needs no brackets below and above a sign.
_BARE: Final = {
    "_": re.compile(r"[\w.,]+"),
    "^": re.compile(r"[-+\u2212\u2013±]?(?:[\d.,]+|\w)|[^\w\s]"),
}
# What stands over or under a sign and changes it: x̄, ẋ.
_ACCENTS: Final = frozenset(
    "\u00af\u02c9\u203e^\u02c6~\u02dc\u02d9\u00a8\u2192\u21c0\u00b4`_\u0332\u0302\u0303\u0304\u23de\u23df"
)
_OVER: Final = str.maketrans("^~", "\u0302\u0303")


def to_formula(element: Any) -> str:
    """Return a formula on one line; its TeX where the page has nothing else of it."""
    return _write(element) or " ".join((element.get("alttext") or "").split())


def _write(element: Any) -> str:
    tag = _name(element)
    if not tag or tag in _UNWRITTEN:
        return ""
    parts = [child for child in element if _name(child)]
    if tag == "semantics":
        return _write(parts[0]) if parts else ""
    if shape := _SHAPES.get(tag):
        return shape(element, parts)
    return _join([element.text or "", *(text for part in element for text in (_write(part), part.tail or ""))])


def _name(element: Any) -> str:
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""


def _join(pieces: Iterable[str]) -> str:
    """Return pieces in a row; a blank keeps names of several letters apart from what stands beside them."""
    line = ""
    for piece in pieces:
        text = _BLANKS.sub(" ", _UNSEEN.sub("", piece)).strip()
        is_apart = (_NAME_BEFORE.search(line) and _LETTER.match(text)) or (
            _NAME_BEHIND.match(text) and line and _LETTER.match(line[-1])
        )
        line += f" {text}" if is_apart else text
    return line


def _find(element: Any, name: str) -> str:
    """Return the part of that name of a formula of Word."""
    return "".join(_write(part) for part in element if _name(part) == name)


def _attribute(element: Any, name: str) -> str | None:
    """Return a property of a shape of Word, None where it is not said."""
    inner = (one for part in element if _name(part).endswith("pr") for one in part if _name(one) == name.lower())
    values = (value for one in inner for key, value in one.items() if key.rpartition("}")[2] == "val")
    return next(values, None)


def _script(sign: str, text: str) -> str:
    return "" if not text else f"{sign}{text}" if _BARE[sign].fullmatch(text) else f"{sign}({text})"


def _raise(base: str, below: str, above: str) -> str:
    return base + _script("_", below) + _script("^", above)


def _cover(base: str, accent: str, sign: str) -> str:
    return base + accent.translate(_OVER) if accent in _ACCENTS else base + _script(sign, accent)


def _nth(parts: list[Any], at: int) -> str:
    return _write(parts[at]) if at < len(parts) else ""


def _write_fraction(element: Any, parts: list[Any]) -> str:
    # Of a page that puts the words themselves there, the fraction is theirs.
    return f"({_nth(parts, 0)})/({_nth(parts, 1)})" if len(parts) > 1 else f"({_join([element.text or ''])})"


def _write_scripts(_element: Any, parts: list[Any]) -> str:
    names = [_name(part) for part in parts]
    end = names.index("mprescripts") if "mprescripts" in names else len(parts)
    below, above = ("".join(map(_write, parts[first:end:2])) for first in (1, 2))
    before, raised = ("".join(map(_write, parts[first::2])) for first in (end + 1, end + 2))
    return _raise("", before, raised) + _raise(_nth(parts, 0), below, above)


def _write_fence(element: Any, parts: list[Any]) -> str:
    separators = element.get("separators", ",").strip()[:1]
    return f"{element.get('open', '(')}{separators.join(map(_write, parts))}{element.get('close', ')')}"


def _write_delimiters(element: Any, parts: list[Any]) -> str:
    opens, closes, between = (_attribute(element, name) for name in ("begChr", "endChr", "sepChr"))
    inner = (between or "|").join(_write(part) for part in parts if _name(part) == "e")
    return f"{'(' if opens is None else opens}{inner}{')' if closes is None else closes}"


def _write_operator(element: Any, _parts: list[Any]) -> str:
    sign = _attribute(element, "chr") or "∫"
    return _join([_raise(sign, _find(element, "sub"), _find(element, "sup")), _find(element, "e")])


def _write_rows(_element: Any, parts: list[Any]) -> str:
    return "; ".join(", ".join(_write(cell) for cell in row if _name(cell)) for row in parts if not _is_about(row))


def _is_about(part: Any) -> bool:
    return _name(part).endswith("pr")


_Shape = Callable[[Any, list[Any]], str]
_SHAPES: Final[dict[str, _Shape]] = {
    "mfrac": _write_fraction,
    "msqrt": lambda element, _: f"√({_join([element.text or '', *map(_write, element)])})",
    "mroot": lambda _, parts: f"√[{_nth(parts, 1)}]({_nth(parts, 0)})",
    "msup": lambda _, parts: _raise(_nth(parts, 0), "", _nth(parts, 1)),
    "msub": lambda _, parts: _raise(_nth(parts, 0), _nth(parts, 1), ""),
    "msubsup": lambda _, parts: _raise(_nth(parts, 0), _nth(parts, 1), _nth(parts, 2)),
    "munderover": lambda _, parts: _raise(_nth(parts, 0), _nth(parts, 1), _nth(parts, 2)),
    "munder": lambda _, parts: _cover(_nth(parts, 0), _nth(parts, 1), "_"),
    "mover": lambda _, parts: _cover(_nth(parts, 0), _nth(parts, 1), "^"),
    "mmultiscripts": _write_scripts,
    "mfenced": _write_fence,
    "mtable": _write_rows,
    "mspace": lambda *_: " ",
    "f": lambda element, _: f"({_find(element, 'num')})/({_find(element, 'den')})",
    "ssup": lambda element, _: _raise(_find(element, "e"), "", _find(element, "sup")),
    "ssub": lambda element, _: _raise(_find(element, "e"), _find(element, "sub"), ""),
    "ssubsup": lambda element, _: _raise(_find(element, "e"), _find(element, "sub"), _find(element, "sup")),
    "spre": lambda element, _: _raise("", _find(element, "sub"), _find(element, "sup")) + _find(element, "e"),
    "rad": lambda element, _: (f"√[{deg}]" if (deg := _find(element, "deg")) else "√") + f"({_find(element, 'e')})",
    "nary": _write_operator,
    "d": _write_delimiters,
    "m": _write_rows,
    "acc": lambda element, _: _find(element, "e") + (_attribute(element, "chr") or "\u0302"),
    "limlow": lambda element, _: _raise(_find(element, "e"), _find(element, "lim"), ""),
    "limupp": lambda element, _: _raise(_find(element, "e"), "", _find(element, "lim")),
}
