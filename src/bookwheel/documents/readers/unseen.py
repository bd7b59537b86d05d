"""Words that a page or a Word file holds and does not show.

Left out and counted is only what is certain: an element that its own attributes hide, and Word's hidden text. Words
that by their own attributes are in the colour of their ground, too small or off the page are read, and counted in a
note. Of what a style sheet or a script may show, hide or paint nothing is said. `SourceFile.everything` reads all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from bookwheel.documents.readers.markup import UNSEEN, tag_of
from bookwheel.documents.sources import SourceWarnings

_LEFT_OUT: Final = "words that are not shown left out (--everything keeps them)"
_NAMED: Final = "words that are hidden or can hardly be seen, which are read"
_WORD: Final = re.compile(r"[\w-]+")
_IS_VISIBLE: Final = re.compile(r"visibility\W{1,9}(?!hidden|collapse)\w", re.IGNORECASE)
_ENCLOSED: Final = re.compile(r"\"[^\"]*\"|'[^']*'|\([^()]*\)")
_BROKEN: Final = re.compile(r"[\"'()\\{}]|/\*")
_UNSURE: Final = re.compile(
    r"position|float|transform|translate|shadow|stroke|filter|blend|clip|var\(|[:\s]-[\d.]", re.IGNORECASE
)
"""What may bring words over another ground, or draw letters in two colours."""
_LENGTH: Final = re.compile(r"(-?\d{1,9}(?:\.\d{1,9})?)(px|pt)|0")
_CHANNELS: Final = re.compile(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)")
_COLOURS: Final = {"white": "ffffff", "snow": "fffafa", "ivory": "fffff0", "whitesmoke": "f5f5f5", "black": "000000"}
_SAME_GROUND: Final = frozenset(("none", "transparent"))
_WITH_GROUND: Final = frozenset(("body", "table", "thead", "tbody", "tfoot", "tr", "td", "th"))
_OWN_COLOUR: Final = frozenset(("a", "table", "mark", "button", "textarea", "dialog", "svg"))
"""Elements whose letters a browser does not colour as those around."""
_OWN_GROUND: Final = frozenset(("mark", "button", "textarea", "dialog", "svg"))
_OWN_SIZE: Final = frozenset(("font", "table", "button", "textarea", "svg"))
_NO_DIFFERENCE: Final = 16
"""Between the channels of two colours that nobody tells apart."""
_TINY: Final = 2.0
"""Pixels of letters that nobody reads."""
_FAR: Final = -900.0
"""Pixels off the page."""
_WHITE: Final = (255, 255, 255)


class _Look(NamedTuple):
    """How words look, as far as it is certain; a colour is None where it is not."""

    colour: tuple[int, ...] | None
    ground: tuple[int, ...] | None
    is_tiny: bool = False
    is_away: bool = False

    def apply(self, element: Any, tag: str, styles: dict[str, str]) -> _Look:
        """Return the look of an element inside."""
        colour = None if tag in _OWN_COLOUR else self.colour
        ground = None if tag in _OWN_GROUND else self.ground
        told = _read_attributes(element, tag) | styles
        values = {value for name, value in told.items() if name.startswith("background")} - _SAME_GROUND
        if values:
            ground = _read_colour(values.pop()) if len(values) == 1 else None
        if told.get("color", "inherit") != "inherit":
            colour = _read_colour(told["color"])
        if _is_unsure(element.get("style") or ""):
            colour = None
        is_tiny = self.is_tiny and tag not in _OWN_SIZE
        if "font" in styles or "font-size" in styles:
            is_tiny = "font" not in styles and _measure(styles, "font-size", _TINY) < _TINY
        return _Look(colour, ground, is_tiny, self.is_away or _is_away(styles))

    @property
    def is_faint(self) -> bool:
        return self.is_tiny or self.is_away or _are_alike(self.colour, self.ground)


_UNKNOWN: Final = _Look(None, None)


def drop_unseen(root: Any, name: str, warnings: SourceWarnings) -> None:
    """Take out of a tree the words that it certainly hides; count in notes those, and those that are hard to see."""
    elements = list(root.iter("*"))
    texts = [value for one in elements for key, value in one.items() if key != "id"]
    texts += [one.text or "" for one in elements if tag_of(one) in {"style", "script"}]
    # What the page names can be shown by a press.
    kept = {one.get("id") for one in elements}.intersection(word for text in texts for word in _WORD.findall(text))
    can_be_visible = any(map(_IS_VISIBLE.search, texts))
    # A press unfolds something of this page: what is folded is not told by its own attributes.
    unfolds = any(one.get("aria-expanded") or one.get("onclick") for one in elements)
    is_plain = not any(_is_painter(one) or _is_unsure(one.get("style") or "") for one in elements)
    left_out = shown = faint = 0
    hidden: list[Any] = []
    pending = [(root, _Look((0, 0, 0), _WHITE) if is_plain else _UNKNOWN)]
    while pending:
        element, look = pending.pop()
        tag = tag_of(element)
        if not tag or tag in UNSEEN:
            continue
        styles = _read_styles(element.get("style") or "")
        is_kept = element is root or tag in {"html", "body"} or element.get("id") in kept
        is_hidden = not is_kept and _is_hidden(element, tag, styles, can_be_visible=can_be_visible)
        if is_hidden and unfolds and tag != "template":
            look = look._replace(is_away=True)
        elif is_hidden:
            left_out += sum(_count_own(one) for one in element.iter("*") if tag_of(one) not in UNSEEN)
            hidden.append(element)
            continue
        look = look.apply(element, tag, styles)
        words = _count_own(element)
        shown += words
        faint += words if look.is_faint else 0
        pending += [(child, look if is_plain else _UNKNOWN._replace(is_away=look.is_away)) for child in element]
    if shown:
        for element in hidden:
            element.clear(keep_tail=True)
            element.tag = "script"
    # A page without any other words is one that a script shows.
    for what, words in ((_LEFT_OUT, left_out if shown else 0), (_NAMED, faint if shown else left_out)):
        if words:
            warnings.add(what, name, words)


def _is_painter(element: Any) -> bool:
    tag = tag_of(element)
    return tag in {"style", "script"} or (tag == "link" and "stylesheet" in (element.get("rel") or "").lower())


def _is_hidden(element: Any, tag: str, styles: dict[str, str], *, can_be_visible: bool) -> bool:
    if tag == "template":
        return element.get("shadowrootmode") is None
    is_hidden = element.get("hidden", "until-found") != "until-found"
    is_invisible = styles.get("visibility") == "hidden" and not can_be_visible
    return is_invisible or styles.get("display", "none" if is_hidden else "") == "none"


@lru_cache(maxsize=256)  # most elements of a page are written alike
def _is_unsure(style: str) -> bool:
    return bool(_UNSURE.search(style)) and not _is_away(_read_styles(style))


def _is_away(styles: dict[str, str]) -> bool:
    is_placed = styles.get("position") in {"absolute", "fixed"}
    is_folded = styles.get("overflow") == "hidden"
    return (
        (is_placed and min(_measure(styles, side, 0.0) for side in ("left", "top")) < _FAR)
        or (is_folded and min(_measure(styles, side, _TINY) for side in ("height", "max-height")) < _TINY)
        or _measure(styles, "text-indent", 0.0) < _FAR
    )


def _count_own(element: Any) -> int:
    return sum(len((text or "").split()) for text in (element.text, *(child.tail for child in element)))


def _read_attributes(element: Any, tag: str) -> dict[str, str]:
    """Return the colours that an element's own attributes tell, as styles."""
    ground = element.get("bgcolor") if tag in _WITH_GROUND else None
    picture = element.get("background") and "url(?)"
    colour = element.get("text" if tag == "body" else "color") if tag in {"body", "font"} else None
    found = {"background-color": ground, "background": picture, "color": colour}
    return {name: value.strip().lower() for name, value in found.items() if value}


@lru_cache(maxsize=256)
def _read_styles(text: str) -> dict[str, str]:
    """Return what is declared last, or as important; nothing where it is not certain what is declared."""
    text = _CHANNELS.sub(lambda found: "#{:02x}{:02x}{:02x}".format(*map(int, found.groups())), text.lower())
    text = _ENCLOSED.sub("?", text)
    if _BROKEN.search(text):
        return {}
    found = [(name.strip(), value.strip()) for name, _, value in (one.partition(":") for one in text.split(";"))]
    found.sort(key=lambda one: one[1].endswith("!important"))
    return {name: value.removesuffix("!important").strip() for name, value in found if value}


def _measure(styles: dict[str, str], name: str, default: float) -> float:
    """Return a length in pixels; the default where it has another unit."""
    found = _LENGTH.fullmatch(styles.get(name, ""))
    return float(found[1] or 0) * (4 / 3 if found[2] == "pt" else 1) if found else default


@lru_cache(maxsize=256)
def _read_colour(text: str) -> tuple[int, ...] | None:
    """Return the channels of a colour, or None where they are not known."""
    word = _COLOURS.get(text, text).removeprefix("#")
    if re.fullmatch("[0-9a-f]{3}", word):
        word = "".join(sign * 2 for sign in word)
    return tuple(bytes.fromhex(word)) if re.fullmatch("[0-9a-f]{6}", word) else None


def _are_alike(one: tuple[int, ...] | None, other: tuple[int, ...] | None) -> bool:
    if one is None or other is None:
        return False
    return all(abs(a - b) <= _NO_DIFFERENCE for a, b in zip(one, other, strict=True))


_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TINY_RUN: Final = 2
"""Half points."""
_GROUNDS: Final = ("{*}background", "{*}anchor", "{*}pict", "{*}txbxContent")
"""What may stand behind any words of a document."""
_DRAWN: Final = frozenset(f"{_W}{name}" for name in ("shd", "highlight", "outline", "shadow", "emboss", "imprint"))


def drop_unseen_runs(document: Any, styles: Any, name: str, warnings: SourceWarnings) -> None:
    """Take the hidden text out of a Word document's main text; count it in a note, and what is white or tiny too."""
    from lxml import etree

    hidden = {style.get(f"{_W}styleId") for style in styles.iter(f"{_W}style") if _is_on(style.find(f"{_W}rPr"))}
    painted = (one for one in styles.iter(f"{_W}style") if one.get(f"{_W}type") != "table")
    is_plain = not (_has_any(document, _GROUNDS) or any(_has_any(one, (f"{_W}shd",)) for one in painted))
    left_out = faint = 0
    # The style of the paragraph, and whether its ground is white.
    around: list[tuple[str, bool]] = [("", is_plain)]
    tags = [f"{_W}{kind}" for kind in ("p", "tbl", "r")]
    for event, element in etree.iterwalk(document, events=("start", "end"), tag=tags):
        if event == "end":
            around.pop()
            continue
        style, is_white = around[-1]
        if element.tag == f"{_W}p":
            style = _get_value(element, "pPr", "pStyle")
            is_white = is_white and element.find(f"{_W}pPr/{_W}shd") is None
        elif element.tag == f"{_W}tbl":
            is_white = False
        else:
            look = element.find(f"{_W}rPr")
            texts = element.findall(f"{_W}t")
            words = sum(len((text.text or "").split()) for text in texts)
            by_style = (style in hidden) != (_get_value(element, "rPr", "rStyle") in hidden)
            if by_style if look is None or look.find(f"{_W}vanish") is None else _is_on(look):
                left_out += words
                for text in texts:
                    text.text = ""
            elif look is not None:
                size = _get_value(look, "sz")
                is_tiny = size.isdecimal() and int(size) <= _TINY_RUN
                faint += words if is_tiny or (is_white and _is_white_run(look)) else 0
        around.append((style, is_white))
    for what, words in ((_LEFT_OUT, left_out), (_NAMED, faint)):
        if words:
            warnings.add(what, name, words)


def _has_any(element: Any, tags: Iterable[str]) -> bool:
    return next(element.iter(*tags), None) is not None


def _get_value(element: Any, *path: str) -> str:
    found = element.find("/".join(f"{_W}{name}" for name in path))
    return found.get(f"{_W}val", "") if found is not None else ""


def _is_on(look: Any) -> bool:
    vanish = look.find(f"{_W}vanish") if look is not None else None
    return vanish is not None and vanish.get(f"{_W}val", "true") not in {"0", "false", "off"}


def _is_white_run(look: Any) -> bool:
    # What other programs add, as outlines and glows, is no longer plain white.
    if any(one.tag in _DRAWN or not one.tag.startswith(_W) for one in look) or _get_value(look, "rStyle"):
        return False
    return _are_alike(_read_colour(_get_value(look, "color").lower()), _WHITE)
