r"""The answer that a reply puts inside \boxed{}, in plain text, and what it says around it.

Models that were trained on mathematics write the box's content as LaTeX: `\text{3 times}`, `14\%`, `4{,}536`.

>>> find_box(r"85 × 48 is \boxed{\text{about 4{,}080 euros}}")
('about 4,080 euros', False)

Code is never LaTeX, and neither is a word that the model was shown so: `echo \$HOME`, HEAD~2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.lexicon import words
from bookwheel.text.sentences import find_ends

_OPENS: Final = compile_late(r"\\(?:boxed|fbox)\s*\{")
# Without its backslash it is a word of CSS or a function, but where a reply has nothing else.
_BARE: Final = compile_late(r"[^\w\\]*+(?:(?:the\s)?(?:final\s)?answer(?:\sis)?[^\w\\]++)?(boxed\{)", re.IGNORECASE)
_WORD: Final = compile_late(r"\w")
# Between boxes that hold one answer together.
_AND: Final = compile_late(r"[\s$,;()、，；*]*+(?:and|&|und|et|及|和|与)?[\s$,;()、，；*]*+")
_ITEM: Final = compile_late(r"[ \t]*(?:[-*•]|\d{1,3}[.)、])\s")
_BRACE: Final = compile_late(r"\\.|[{}]")
# Commands whose braces hold plain words, and those of two arguments.
_STYLES: Final = words(
    "text textbf textit textrm texttt textsf textnormal mathrm mathbf mathit mathsf mathtt mbox operatorname emph "
    "underline bm boldsymbol boxed fbox"
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
_SPACE: Final = compile_late(r"\\[,;:! ]")
# A tie, beside other LaTeX: "~3~" is a subscript of Markdown, HEAD~2 a name.
_TIE: Final = compile_late(r"(?<=\w)(?<!~\w)~(?=\w)(?!\w+~)")
# A word with signs of LaTeX, without the brackets and stops around it.
_SIGNED: Final = compile_late(r"(?<!\S)[^\s\\~]*+[\\~]\S*")
_ESCAPED: Final = compile_late(r"\\([$%&#_{}])")
_GROUP: Final = compile_late(r"\{([,.'])\}")
# Blanks are taken from their first one on: from each of a run anew would take the square of its length.
_BREAK: Final = compile_late(r"(?:(?<![ \t])[ \t]++)?\\\\(?:\s+|$)")
_ITEMS: Final = compile_late(r"(?:(?<!\s)\s++)?\\item\b[ \t]*")
_FRAME: Final = compile_late(r"\\(?:begin|end)\{(?:itemize|enumerate|aligned|align\*?|gather\*?|cases|split)\}\s*")
_BLANKS: Final = compile_late(r"(?<=\S) {2,}")
_LEAD: Final = compile_late(
    r"[*#_\s]*(?:[^\d\n]{0,80}[:：]|(?:the )?(?:final )?answer|(?:最终)?答案)[*_\s]*", re.IGNORECASE
)
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


# Code in Markdown: a block, closed or at the end of a reply that was cut, and a span within a paragraph. And the
# characters that stand for them.
_IN_PROSE: Final = compile_late(
    r"(?:^|(?<=\{))[ \t]*(?P<fence>`{3,}|~{3,})[^\n`]*\n(?s:.*?)(?:^[ \t]*(?P=fence)|\Z)"
    r"|(?<!`)(?P<ticks>`{1,3})(?!`)(?:(?!\n[ \t]*\n)(?s:.)){1,1000}?(?<!`)(?P=ticks)(?!`)"
    r"|[\U000f0000-\U0010fffd]",
    re.MULTILINE,
)
_FIRST_MARK: Final = 0xF0000
_MOST_MARKS: Final = 0x1FFFD
_MARKS: Final = compile_late("[\U000f0000-\U0010fffd]")


def find_box(text: str, shown: str = "") -> tuple[str | None, bool]:
    r"""Return the content of the last box as plain text, None where there is none, and whether it was cut off.

    Boxes beside each other hold one answer together. Where words stand between boxes of one sentence, or of the items
    of a list, these words are a part of the answer. What stands in `shown` is no LaTeX of the reply.

    >>> find_box(r"The fee is \boxed{40} and the rent \boxed{90}.")
    ('The fee is 40 and the rent 90.', False)
    """
    boxes = list(list_boxes(text))
    if not boxes:
        cut = _OPENS.search(text)
        return (to_plain(text[cut.end() :], shown), True) if cut else (None, False)
    start, end, first = _find_last(text, boxes)
    if start == boxes[first][0] and _are_beside(text, boxes[first:]):
        contents = dict.fromkeys(filter(None, (to_plain(content, shown) for *_, content in boxes[first:])))
        return re.sub(r"(?<=[.!?。！？]), ", " ", ", ".join(contents)), False
    pieces = list[str]()
    for opens, closes, content in boxes[first:]:
        pieces += [text[start:opens].rstrip("$"), content]
        start = closes + text.startswith("$", closes)
    return to_plain("".join((*pieces, text[start:end])), shown), False


def _are_beside(text: str, boxes: Sequence[tuple[int, int, str]]) -> bool:
    """Return whether nothing but signs and an "and" stand between boxes: in "A, not B" more does."""
    return all(_AND.fullmatch(text, one[1], other[0]) for one, other in pairwise(boxes))


def find_around(text: str) -> str:
    """Return what a reply says beside its last box, such as how a number was worked out; empty without a box.

    A line that only leads the answer in says nothing: "From the notes:", "**Answer**".
    """
    boxes = list(list_boxes(text))
    if not boxes:
        return ""
    start, end, _ = _find_last(text, boxes)
    around = text[:start].rstrip().rstrip("$*(").rstrip(), text[end:].lstrip("$*).。 \n")
    lines = "\n".join(filter(None, map(str.strip, around))).splitlines()
    return "\n".join(line for line in lines if not _LEAD.fullmatch(line)).strip()


def _find_last(text: str, boxes: Sequence[tuple[int, int, str]]) -> tuple[int, int, int]:
    """Return the span of the last answer of a text, and which of the boxes is its first."""
    first = len(boxes) - 1
    while first and _are_beside(text, boxes[first - 1 : first + 1]):
        first -= 1
    start, end = _find_statement(text, boxes)
    others = sum(opens < start for opens, *_ in boxes)
    return (start, end, others) if others < first else (boxes[first][0], boxes[-1][1], first)


def _find_statement(text: str, boxes: Sequence[tuple[int, int, str]]) -> tuple[int, int]:
    """Return the span of the last sentence that has a box, or of the last items of a list that do."""
    line = text.rfind("\n", 0, boxes[-1][0]) + 1
    line_end = text.find("\n", boxes[-1][1]) if "\n" in text[boxes[-1][1] :] else len(text)
    if _ITEM.match(text, line):
        start, at = line, len(boxes) - 1
        while at >= 0 and start <= boxes[at][0] and (above := text.rfind("\n", 0, max(0, start - 1)) + 1) < start:
            while at >= 0 and boxes[at][0] >= start:
                at -= 1
            if at < 0 or boxes[at][0] < above or not _ITEM.match(text, above):
                break
            start = above
        return start, line_end
    # A name may have a full stop: no sentence ends within a box.
    masked = list(text[line:line_end])
    for opens, closes, _ in boxes:
        if opens >= line:
            masked[opens - line : closes - line] = "x" * (closes - opens)
    ends = [0, *find_ends("".join(masked)), line_end - line]
    begins = max(end for end in ends if end <= boxes[-1][0] - line)
    closes = min(end for end in ends if end >= boxes[-1][1] - line)
    return line + begins, line + closes


def to_plain(latex: str, shown: str = "") -> str:
    """Return the words of a box's content, without the commands that only dress them."""
    words = {found[0].strip("$()\"'.,;:!?*") for found in _SIGNED.finditer(latex)} if shown else set[str]()
    own = {word for word in words if _WORD.search(word) and word.count("{") == word.count("}") and word in shown}
    return change_prose(latex, _unwrite, own).strip()


def _unwrite(latex: str) -> str:
    text = _MATHS.sub(r"\1", _undress(_ITEMS.sub("\n- ", _FRAME.sub("", latex)).strip()))
    text = _GROUP.sub(r"\1", _FRACTION.sub(r"\1/\2", text))
    text = _SPACE.sub(" ", _SIGN.sub(lambda found: _SIGNS[found[1]], _BREAK.sub("\n", text)))
    text = _TIE.sub(" ", text) if "\\" in latex else text
    return _BLANKS.sub(" ", _ESCAPED.sub(r"\1", text))


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


def change_prose(text: str, change: Callable[[str], str], own: Iterable[str] = ()) -> str:
    """Return a text changed everywhere but in its code, and in those of its words that are nobody's to change.

    >>> change_prose("Read `READ ME` and READ IT", str.lower, own=["IT"])
    'read `READ ME` and read IT'
    """
    kept = list[str]()

    def take(found: re.Match[str]) -> str:
        kept.append(found[0])
        return chr(_FIRST_MARK + len(kept) - 1) if len(kept) <= _MOST_MARKS else ""

    text = _IN_PROSE.sub(take, text)
    if words := sorted(own, key=len, reverse=True):
        text = re.sub("|".join(map(re.escape, words)), take, text)
    return _MARKS.sub(lambda found: kept[ord(found[0]) - _FIRST_MARK], change(text))
