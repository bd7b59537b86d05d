"""Words that a page holds and does not show: not displayed, in the colour of their ground, too small, far off the page.

They are left out and counted in a note; `SourceFile.everything` keeps them. Of a web page only its own styles are
looked at: those of elements, and the simple rules of its style sheets (`.x`, `#x`, `p.x`). What a press shows is text:
what another element names as its own, and classes that some rule shows. Of a Word document the runs are looked at, and
the styles that they name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bookwheel.documents.readers.markup import UNSEEN, tag_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bookwheel.documents.sources import SourceWarnings

LEFT_OUT: Final = "words that are not shown left out (--everything keeps them)"
_BESIDE_RULES: Final = re.compile(r"/\*.*?\*/|<!--|-->|@[^{};]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})", re.DOTALL)
_RULE: Final = re.compile(r"([^{}]+)\{([^{}]*)\}")
_SIMPLE: Final = re.compile(r"(?:[a-z][a-z0-9]*|\*)?(?:[.#][\w-]+)*", re.IGNORECASE)
_LAST: Final = re.compile(r"[^\s>+~]+$")
_PSEUDO: Final = re.compile(r"::?[\w-]+(?:\([^)]*\))?|\[[^\]]*\]")
_MARK: Final = re.compile(r"[.#][\w-]+")
_DECLARATION: Final = re.compile(r"([\w-]+)\s*:\s*([^;]+)")
_LENGTH: Final = re.compile(r"(-?[\d.]+)([a-z%]*)")
_CHANNELS: Final = re.compile(r"rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)\s*(?:[,/]\s*(?:1(?:\.0*)?|100%)\s*)?\)")
_AWAY: Final = re.compile(r"scale\(0(?:\.0*)?\)|translate[xy3d]*\([^)]*-\d{4,}")
_CUT: Final = re.compile(r"rect\((?:\s*[01](?:px)?[\s,]*){4}\)|inset\((?:50|100)%\)")
_NAMED: Final = {"white": "#ffffff", "snow": "#fffafa", "ivory": "#fffff0", "whitesmoke": "#f5f5f5", "black": "#000000"}
_NOT_KNOWN: Final = "?"
_CONTROLS: Final = ("aria-controls", "href", "data-target", "data-bs-target", "for")
_NO_DIFFERENCE: Final = 16
"""Between the channels of two colours that nobody tells apart."""
_TINY: Final = 2.0
"""Pixels of letters that nobody reads."""
_FAR: Final = -900.0
"""Pixels off the page."""
_WHITE: Final = (255, 255, 255)

Styles = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """How the words of an element look, as far as the page says."""

    colour: tuple[int, ...] | str | None = (0, 0, 0)
    """None where it is not known, and so is the ground."""
    ground: tuple[int, ...] | str | None = _WHITE
    is_tiny: bool = False
    is_clear: bool = False

    def apply(self, styles: Mapping[str, str]) -> _Look:
        look = self
        ground = styles.get("background-color") or styles.get("background", "")
        if ground and ground not in {"transparent", "none", "inherit"}:
            look = replace(look, ground=_read_colour(ground))
        if styles.get("background-image", "none") != "none":
            look = replace(look, ground=None)
        if (colour := styles.get("color", "inherit")) != "inherit":
            is_clear = colour == "transparent" and not any(value == "text" for value in styles.values())
            look = replace(look, colour=_read_colour(colour), is_clear=is_clear)
        if "font-size" in styles:
            size = _measure(styles, "font-size", 99.0)
            look = replace(look, is_tiny=size < _TINY)
        return look

    @property
    def is_unseen(self) -> bool:
        return self.is_tiny or self.is_clear or (self.colour is not None and _are_alike(self.colour, self.ground))

    @property
    def is_doubtful(self) -> bool:
        return self.ground is None and self.colour is not None and _are_alike(self.colour, _WHITE)


def drop_unseen(root: Any, name: str, warnings: SourceWarnings) -> None:
    """Take out of a tree the words that the page does not show, and count them in a note."""
    sheet = _Sheet(root)
    # A sheet that is not at hand may give the page any ground.
    is_whole = not any("stylesheet" in (link.get("rel") or "").lower() for link in root.iter("link", "{*}link"))
    words = doubtful = 0
    dropped: list[Any] = []
    pending = [(root, _Look() if is_whole else _Look(colour=None, ground=None))]
    while pending:
        element, look = pending.pop()
        tag = tag_of(element)
        if not tag or tag in UNSEEN:
            continue
        styles = sheet.find_styles(element, tag)
        if tag not in {"html", "body"} and sheet.hides(element, styles):
            words += _count_words(element)
            dropped.append(element)
            continue
        look = look.apply(styles)
        if look.is_unseen:
            words += _empty(element)
        elif look.is_doubtful:
            doubtful += sum(len(text.split()) for text in _list_texts(element))
        pending += [(child, look) for child in element]
    for element in dropped:
        remove(element)
    if words:
        warnings.add(LEFT_OUT, f"{name} ({words})")
    if doubtful:
        warnings.add("words in white on a ground that the page does not tell, which are read", f"{name} ({doubtful})")


def remove(element: Any) -> None:
    """Take an element out of its tree; what stands behind it stays."""
    parent, before = element.getparent(), element.getprevious()
    if element.tail:
        holder, name = (parent, "text") if before is None else (before, "tail")
        setattr(holder, name, f"{getattr(holder, name) or ''}{element.tail}")
    element.tail = None
    parent.remove(element)


def _count_words(element: Any) -> int:
    texts = (text for one in element.iter() if tag_of(one) and tag_of(one) not in UNSEEN for text in _list_texts(one))
    return sum(len(text.split()) for text in texts)


def _list_texts(element: Any) -> Iterator[str]:
    yield element.text or ""
    yield from (child.tail or "" for child in element)


def _empty(element: Any) -> int:
    """Take out the words of an element itself; return how many they were."""
    words = sum(len(text.split()) for text in _list_texts(element))
    element.text = " " if element.text else None
    for child in element:
        child.tail = " " if child.tail else None
    return words


class _Rule(NamedTuple):
    weight: tuple[int, int]
    tag: str
    marks: frozenset[str]
    styles: Styles


class _Sheet:
    """The rules of a page's own style sheets."""

    def __init__(self, root: Any) -> None:
        self._rules: dict[str, list[_Rule]] = defaultdict(list)
        self._shown: set[str] = set()
        """Classes that some rule shows."""
        text = "\n".join("".join(style.itertext()) for style in root.iter("style", "{*}style"))
        for order, (selectors, body) in enumerate(_RULE.findall(_BESIDE_RULES.sub(" ", text))):
            styles = _read_styles(body)
            if styles.get("display", "none") != "none":
                self._shown.update(_MARK.findall(selectors))
            for selector in filter(None, map(str.strip, selectors.split(","))):
                self._add(selector, styles, order)
        values = (element.get(key) or "" for element in root.iter() if tag_of(element) for key in _CONTROLS)
        self._controlled = {one.lstrip("#") for value in values for one in value.split()}

    def _add(self, selector: str, styles: Styles, order: int) -> None:
        if not _SIMPLE.fullmatch(selector):
            # It is not told which elements these are: their colours are not known.
            last = _LAST.search(_PSEUDO.sub("", selector))
            names = [name for name in styles if name == "color" or name.startswith("background")]
            if not last or not names or not _SIMPLE.fullmatch(last[0]):
                return
            selector, styles = last[0], dict.fromkeys(names, _NOT_KNOWN)
        marks = frozenset(_MARK.findall(selector))
        tag = re.split("[.#*]", selector.lower())[0]
        weight = 100 * sum(mark[0] == "#" for mark in marks) + 10 * len(marks) + bool(tag)
        self._rules[min(marks, default=tag)].append(_Rule((weight, order), tag, marks, styles))

    def find_styles(self, element: Any, tag: str) -> Styles:
        """Return what is declared for an element, what names it most closely last."""
        attributes = {"color": element.get("color"), "background-color": element.get("bgcolor")}
        styles = {name: value.lower() for name, value in attributes.items() if value}
        if self._rules:
            marks = {f".{one}" for one in (element.get("class") or "").split()}
            marks |= {f"#{id_}"} if (id_ := element.get("id")) else set()
            found = [rule for key in {tag, "", *marks} for rule in self._rules.get(key, ())]
            fitting = (rule for rule in found if rule.tag in {"", tag} and rule.marks <= marks)
            for rule in sorted(fitting, key=lambda rule: rule.weight):
                styles |= rule.styles
        return styles | _read_styles(element.get("style") or "")

    def hides(self, element: Any, styles: Mapping[str, str]) -> bool:
        """Tell if a page shows nothing of an element, also after a press."""
        is_folded = styles.get("overflow") == "hidden" and any(
            _measure(styles, side, 99.0) <= 1 for side in ("width", "height", "max-height")
        )
        is_gone = styles.get("display") == "none" or styles.get("visibility") in {"hidden", "collapse"}
        if is_gone or is_folded or element.get("hidden") is not None:
            classes = {f".{one}" for one in (element.get("class") or "").split()}
            is_pressed = element.get("id") in self._controlled or element.get("role") == "tabpanel"
            return not (is_pressed or classes & self._shown)
        is_placed = styles.get("position") in {"absolute", "fixed"}
        is_far = is_placed and any(_measure(styles, side, 0.0) < _FAR for side in ("left", "top", "right", "bottom"))
        return (
            is_far
            or _measure(styles, "opacity", 1.0) == 0
            or _measure(styles, "text-indent", 0.0) < _FAR
            or bool(_AWAY.search(styles.get("transform", "")))
            or (is_placed and bool(_CUT.search(f"{styles.get('clip', '')} {styles.get('clip-path', '')}")))
        )


def _measure(styles: Mapping[str, str], name: str, default: float) -> float:
    """Return a length in pixels, or about; a hundredth of the width or size around is a sixth of a letter."""
    if found := _LENGTH.fullmatch(styles.get(name, "")):
        with suppress(ValueError):
            return float(found[1]) * {"em": 16, "rem": 16, "%": 0.16}.get(found[2], 1)
    return default


def _read_styles(body: str) -> Styles:
    """Return declarations; those that are important are taken for the last."""
    found = [(name.lower(), value.strip().lower()) for name, value in _DECLARATION.findall(body)]
    found.sort(key=lambda one: "!important" in one[1])
    return {name: value.replace("!important", "").strip() for name, value in found}


def _read_colour(text: str) -> tuple[int, ...] | str | None:
    """Return the channels of a colour, or its name; None where it is not told, or a picture."""
    if found := _CHANNELS.fullmatch(text):
        return tuple(map(int, found.groups()))
    word = _NAMED.get(text, text)
    if re.fullmatch("#[0-9a-f]{3}", word):
        word = "#" + "".join(sign * 2 for sign in word[1:])
    if re.fullmatch("#[0-9a-f]{6}", word):
        return tuple(int(word[at : at + 2], 16) for at in (1, 3, 5))
    return word if word.isalpha() and word not in {"inherit", "initial", "unset", "currentcolor"} else None


def _are_alike(one: tuple[int, ...] | str, other: tuple[int, ...] | str | None) -> bool:
    if isinstance(one, str) or isinstance(other, str) or other is None:
        return one == other
    return all(abs(a - b) <= _NO_DIFFERENCE for a, b in zip(one, other, strict=True))


_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TINY_RUN: Final = 2
"""Half points."""
_GROUNDS: Final = ("tblStyle", "highlight", "background", "txbxContent")
"""What may give words another ground than white."""


def drop_unseen_runs(document: Any, styles: Any) -> int:
    """Take the runs that Word does not show out of its main text; return how many words they had."""
    hidden = {style.get(f"{_W}styleId") for style in styles.iter(f"{_W}style") if _is_on(style.find(f"{_W}rPr"))}
    words = 0
    for run in list(document.iter(f"{_W}r")):
        look = run.find(f"{_W}rPr")
        named = [one.get(f"{_W}val") for one in _list_named(run, look)]
        vanish = look.find(f"{_W}vanish") if look is not None else None
        is_gone = _is_on(look) if vanish is not None else any(name in hidden for name in named)
        if is_gone or (look is not None and (_is_tiny_run(look) or _is_white_run(run, look, document))):
            words += sum(len((text.text or "").split()) for text in run.iter(f"{_W}t"))
            run.getparent().remove(run)
    return words


def _list_named(run: Any, look: Any) -> Iterator[Any]:
    """Yield the styles that a run and its paragraph name."""
    paragraph = next(run.iterancestors(f"{_W}p"), None)
    yield from look.iterfind(f"{_W}rStyle") if look is not None else ()
    yield from paragraph.iterfind(f"{_W}pPr/{_W}pStyle") if paragraph is not None else ()


def _is_on(look: Any) -> bool:
    vanish = look.find(f"{_W}vanish") if look is not None else None
    return vanish is not None and vanish.get(f"{_W}val", "true") not in {"0", "false", "off"}


def _is_tiny_run(look: Any) -> bool:
    size = look.find(f"{_W}sz")
    value = size.get(f"{_W}val", "") if size is not None else ""
    return value.isdecimal() and int(value) <= _TINY_RUN


def _is_white_run(run: Any, look: Any, document: Any) -> bool:
    colour = look.find(f"{_W}color")
    value = _read_colour(f"#{colour.get(f'{_W}val', '')}".lower()) if colour is not None else None
    if value is None or not _are_alike(value, _WHITE) or document.find(f"{_W}background") is not None:
        return False
    around = [look, *run.iterancestors(f"{_W}p", f"{_W}tc", f"{_W}tr", f"{_W}tbl", f"{_W}txbxContent")]
    if any(one.tag == f"{_W}txbxContent" for one in around):
        return False
    facts = [fact for one in around for fact in (one, *one.iterfind("./*[1]"))]
    grounds = {fact.tag for one in facts for fact in one.iterfind("*")} & {f"{_W}{name}" for name in _GROUNDS}
    fills = {fact.get(f"{_W}fill", "auto").lower() for one in facts for fact in one.iterfind(f"{_W}shd")}
    return not grounds and fills <= {"auto", "ffffff", ""}
