r"""The answer that a reply puts inside \boxed{}, in plain text, and what it says around it.

Models that were trained on mathematics write the box's content as LaTeX: `\text{3 times}`, `14\%`, `4{,}536`.

>>> find_box(r"85 × 48 is \boxed{\text{about 4{,}080 euros}}")
('about 4,080 euros', False)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.lexicon import words

_OPENS: Final = compile_late(r"\\(?:boxed|fbox)\s*\{")
# Without its backslash it is a word of CSS or a function, but where a reply has nothing else.
_BARE: Final = compile_late(r"[^\w\\]*+(?:(?:the\s)?(?:final\s)?answer(?:\sis)?[^\w\\]++)?(boxed\{)", re.IGNORECASE)
_WORD: Final = compile_late(r"\w")
# Between boxes that hold one answer together.
_AND: Final = compile_late(r"[ $,;()、，；*]*+(?:and|&|und|et|及|和|与)?[ $,;()、，；*]*+")
_BRACE: Final = compile_late(r"\\.|[{}]")
# Commands whose braces hold plain words, and those of two arguments.
_STYLES: Final = words(
    "text textbf textit textrm texttt textsf textnormal mathrm mathbf mathit mathsf mathtt mbox operatorname emph "
    "underline bm boldsymbol"
)
_STYLED: Final = compile_late(r"\\([a-z]+)\s*(?=\{)")
_FRACTION: Final = compile_late(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_SIGNS: Final = {
    "times": "×", "cdot": "·", "div": "÷", "pm": "±", "approx": "≈", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥",
    "ne": "≠", "neq": "≠", "to": "→", "rightarrow": "→", "euro": "€", "texteuro": "€", "pounds": "£",
    "degree": "°", "circ": "°", "dots": "…", "ldots": "…", "quad": " ", "qquad": " ", "left": "", "right": "",
    "displaystyle": "", "textendash": "–", "textemdash": "—",
}  # fmt: skip
# What looks like a part of a path is none.
_SIGN: Final = compile_late(rf"(?<![A-Za-z:\\])\\({'|'.join(_SIGNS)})(?![A-Za-z\\])")
_SPACE: Final = compile_late(r"\\[,;:! ]|(?<=\w)~(?=\w)")
_ESCAPED: Final = compile_late(r"\\([$%&#_{}])")
_GROUP: Final = compile_late(r"\{([,.'])\}")
_BREAK: Final = compile_late(r"[ \t]*\\\\(?:\s+|$)")
_BLANKS: Final = compile_late(r"(?<=\S) {2,}")
_MATHS: Final = compile_late(r"\\[()]|\A\$([^$]+)\$\Z")


def list_boxes(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where each closed box begins and ends, and its content as it stands."""
    closes, at = _pair_braces(text), 0
    bare = _BARE.match(text)
    if bare and (end := closes.get(bare.end() - 1)) is not None and not _WORD.search(text, end):
        yield bare.start(1), end + 1, text[bare.end() : end]
        return
    for found in _OPENS.finditer(text):
        end = closes.get(found.end() - 1)
        if end is not None and found.start() >= at:
            yield found.start(), end + 1, text[found.end() : end]
            at = end + 1


def _pair_braces(text: str) -> dict[int, int]:
    """Return where each brace closes, by where it opens: in one pass, however many stay open."""
    opened, closes = list[int](), dict[int, int]()
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif brace[0] == "}" and opened:
            closes[opened.pop()] = brace.start()
    return closes


def find_box(text: str) -> tuple[str | None, bool]:
    """Return the content of the last box as plain text, None where there is none, and whether it was cut off.

    Boxes beside each other hold one answer together.
    """
    boxes = list(list_boxes(text))
    if not boxes:
        cut = _OPENS.search(text)
        return (to_plain(text[cut.end() :]), True) if cut else (None, False)
    first = _find_first(text, boxes)
    return ", ".join(filter(None, (to_plain(content) for *_, content in boxes[first:]))), False


def find_around(text: str) -> str:
    """Return what a reply says beside its last box, such as how a number was worked out; empty without a box."""
    boxes = list(list_boxes(text))
    if not boxes:
        return ""
    start, end = boxes[_find_first(text, boxes)][0], boxes[-1][1]
    around = text[:start].rstrip().rstrip("$*(").rstrip(), text[end:].lstrip("$*).。 \n")
    return "\n".join(filter(None, map(str.strip, around)))


def _find_first(text: str, boxes: Sequence[tuple[int, int, str]]) -> int:
    """Return which box is the first of those that stand beside the last one."""
    first = len(boxes) - 1
    while first and _AND.fullmatch(text, boxes[first - 1][1], boxes[first][0]):
        first -= 1
    return first


def to_plain(latex: str) -> str:
    """Return the words of a box's content, without the commands that only dress them."""
    text = _MATHS.sub(r"\1", _undress(latex.strip()))
    text = _GROUP.sub(r"\1", _FRACTION.sub(r"\1/\2", text))
    text = _SPACE.sub(" ", _SIGN.sub(lambda found: _SIGNS[found[1]], _BREAK.sub("\n", text)))
    return _BLANKS.sub(" ", _ESCAPED.sub(r"\1", text)).strip()


def _undress(text: str) -> str:
    """Return a text without the commands of style, whose braces hold plain words."""
    closes, dropped = _pair_braces(text), list[tuple[int, int]]()
    for found in _STYLED.finditer(text):
        if found[1] in _STYLES and (end := closes.get(found.end())) is not None:
            dropped += [(found.start(), found.end() + 1), (end, end + 1)]
    pieces, at = [], 0
    for start, end in sorted(dropped):
        pieces.append(text[at:start])
        at = end
    return "".join((*pieces, text[at:]))
