"""The words of a PDF page with their places, and what is put right in them: ligatures, gaps, raised numbers, cut words.

A word that the end of a line or page has cut is joined as the document writes it elsewhere.
"""

from __future__ import annotations

import ctypes
import math
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from statistics import median
from typing import Any, Final

from bookwheel.documents.damage import LateModule
from bookwheel.documents.readers.pdf_layout import Fragment, TextLine

raw: Final[Any] = LateModule("pypdfium2.raw")

# PDFium's own signs for a hyphen at a line's end, and the one that is seen only there.
_HYPHENS: Final = "\x02\ufffe\N{SOFT HYPHEN}"
_LINE_END_HYPHENS: Final = frozenset("\x02\ufffe")
_LINE_ENDS: Final = frozenset("\r\n")
_TOKEN: Final = re.compile(r"[\r\n]|[^\s\x02\ufffe]*[\x02\ufffe]|[^\s\x02\ufffe]+")
# Stands for the second half of a pair.
_NOTHING: Final = "\x00"
_NUMBER_END: Final = re.compile(r"(.*?\D|\d+?)(\d{1,3})$")
_NUMBER_START: Final = re.compile(r"(\d{1,3})(\D.*)$")
# The size of a raised number's letters, as a share of its word's.
_RAISED: Final = 0.85
_DOTS: Final = re.compile(r"(?:\s?[.·…]){5,}")
_LIGATURES: Final = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
# A gap of this many line heights parts cells and columns. Justified words stand closer.
_WIDE_GAP: Final = 1.1
# Letters in a row that can be two words. Shorter ones are not looked at, which costs time.
_LETTERS: Final = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u052f]{6,}")
# The gaps between letters, in line heights, of two words and of one. A blank of justified text has 0.15 at least.
_WORD_GAP: Final = 0.14
_LETTER_GAP: Final = 0.03
# Characters of a page whose angle is looked at.
_ANGLES: Final = 80
# Words at which a page is judged, and the shares of odd ones that make it doubtful.
_ENOUGH_WORDS: Final = 20
_LONG_WORD: Final = 25
_GLUED_SHARE: Final = 0.04
# Of a font that does not say which letters its shapes are.
_UNKNOWN_GLYPHS: Final = re.compile(r"[\x01-\x1f]{3,}")
_GARBLED_SHARE: Final = 0.02
_STRANGE: Final = re.compile("[\N{REPLACEMENT CHARACTER}\ue000-\uf8ff]")
# Channels of 256 from which on a colour is white.
_WHITE: Final = 241
# What is drawn on a page, at most, for its words to be looked at; squares along each side; points of a thin line.
_MOST_OBJECTS: Final = 20_000
_SQUARES: Final = 64
_THIN: Final = 4.0
_VOWEL: Final = re.compile("[aeiouy]", re.IGNORECASE)


_Box = tuple[float, float, float, float]
_ReadBox = Callable[[int], _Box | None]
_SIDES: Final = struct.Struct("4f")


def read_fragments(page: Any, whole: set[str]) -> tuple[list[Fragment], float]:
    """Return the fragments of a page in the order they were drawn, upright, and the page's height.

    `whole` is kept for a document: the words that were looked at and have no gap. Most of a text is such words again.
    """
    with closing(page.get_textpage()) as loaded:
        text_page = loaded.raw
        text = read_characters(text_page)
        left, bottom, right, top = page.get_mediabox()
        angles = Counter(
            round(raw.FPDFText_GetCharAngle(text_page, at) / (math.pi / 2)) % 4
            for at in range(0, len(text), max(1, len(text) // _ANGLES))
            if text[at].isalnum()
        )
        # By so many quarters of a circle most of the text is turned.
        turn = angles.most_common(1)[0][0] if angles else 0
        read_box = _make_reader(text_page, turn, (left, bottom, right, top))
        return list(_split_lines(text, read_box, whole)), (right - left if turn % 2 else top - bottom)


def read_characters(text_page: Any) -> str:
    """Return the page's text with one character for each of PDFium's, so that positions agree."""
    count = raw.FPDFText_CountChars(text_page)
    buffer = (ctypes.c_ushort * (count + 1))()
    units = max(0, raw.FPDFText_GetText(text_page, 0, count, buffer) - 1)
    text = bytes(buffer)[: 2 * units].decode("utf-16-le", "replace")
    if len(text) == count:
        return text
    # PDFium leaves some characters out of that text, and has a pair of halves for each beyond the first 65,536.
    codes = [raw.FPDFText_GetUnicode(text_page, at) for at in range(count)]
    characters = [chr(code) if code < 0x110000 else "\N{REPLACEMENT CHARACTER}" for code in codes]  # noqa: PLR2004
    for at in range(count):
        if 0xD800 <= codes[at] < 0xDC00 and at + 1 < count and 0xDC00 <= codes[at + 1] < 0xE000:  # noqa: PLR2004
            characters[at] = chr(0x10000 + ((codes[at] - 0xD800) << 10) + codes[at + 1] - 0xDC00)
            characters[at + 1] = _NOTHING
        elif 0xD800 <= codes[at] < 0xE000 and characters[at] != _NOTHING:  # noqa: PLR2004
            characters[at] = "\N{REPLACEMENT CHARACTER}"
    return "".join(characters)


def list_things(page: Any) -> list[tuple[Any, int]]:
    """Return what is put on a page, and of which kind each thing is."""
    things = (raw.FPDFPage_GetObject(page, at) for at in range(raw.FPDFPage_CountObjects(page)))
    return [(thing, raw.FPDFPageObj_GetType(thing)) for thing in things]


def has_unseen_words(page: Any) -> bool:
    """Tell if a page has words that are not drawn, clear or white, where nothing is painted: no picture and no area."""
    # The page is looked at in squares; what stands inside of forms, and a page of very many objects, are not looked at.
    things = list_things(page) if raw.FPDFPage_CountObjects(page) <= _MOST_OBJECTS else []
    frame = page.get_mediabox()
    text = raw.FPDF_PAGEOBJ_TEXT
    words = [_find_squares(thing, frame) for thing, kind in things if kind == text and _is_unseen(thing)]
    painted = [0] * _SQUARES
    for thing, kind in things if any(words) else ():
        if kind != text and _is_area(thing):
            for row, across in _find_squares(thing, frame):
                painted[row] |= across
    return any(squares and not any(painted[row] & across for row, across in squares) for squares in words)


def _is_unseen(text: Any) -> bool:
    mode = raw.FPDFTextObj_GetTextRenderMode(text)
    is_filled = mode == raw.FPDF_TEXTRENDERMODE_FILL
    return bool(mode == raw.FPDF_TEXTRENDERMODE_INVISIBLE or (is_filled and is_pale(text, _WHITE)))


def is_pale(thing: Any, white: int) -> bool:
    """Tell if the colour that fills a thing is clear, or has no channel below `white`."""
    channels = [ctypes.c_uint() for _ in range(4)]
    is_told = raw.FPDFPageObj_GetFillColor(thing, *channels)
    *colour, solid = (channel.value for channel in channels)
    return bool(is_told) and (min(colour) >= white or not solid)


def _is_area(thing: Any) -> bool:
    """Tell of what is no text whether it may be a ground: all but thin lines."""
    if raw.FPDFPageObj_GetType(thing) != raw.FPDF_PAGEOBJ_PATH:
        return True
    fill, is_stroked, width = ctypes.c_int(), ctypes.c_int(), ctypes.c_float()
    is_told = raw.FPDFPath_GetDrawMode(thing, fill, is_stroked)
    is_line = is_stroked.value and raw.FPDFPageObj_GetStrokeWidth(thing, width) and width.value <= _THIN
    return not is_told or fill.value != raw.FPDF_FILLMODE_NONE or not is_line


def read_bounds(thing: Any) -> _Box | None:
    """Return the left, bottom, right and top of a thing on a page."""
    sides = [ctypes.c_float() for _ in range(4)]
    is_told = raw.FPDFPageObj_GetBounds(thing, *sides)
    return (sides[0].value, sides[1].value, sides[2].value, sides[3].value) if is_told else None


def _find_squares(thing: Any, frame: _Box) -> list[tuple[int, int]]:
    """Return the rows of squares of a page that a thing touches, each with a bit for every square."""
    left, bottom, right, top = frame
    sizes = (right - left, top - bottom) * 2
    sides = read_bounds(thing) or (left, bottom) * 2
    places = [_SQUARES * (side - frame[at % 2]) / (sizes[at] or 1.0) for at, side in enumerate(sides)]
    if not (places[2] > places[0] and places[3] > places[1]):
        return []
    low_x, low_y, high_x, high_y = (int(min(max(place, 0.0), _SQUARES - 1)) for place in places)
    across = (1 << (high_x + 1)) - (1 << low_x)
    return [(row, across) for row in range(low_y, high_y + 1)]


def _make_reader(text_page: Any, turn: int, frame: _Box) -> _ReadBox:
    """Return what reads left, bottom, right and top of a character, turned so that the text is upright."""
    x, y, width, height = frame
    rect = raw.FS_RECTF()
    pointer, get = ctypes.byref(rect), raw.FPDFText_GetLooseCharBox

    def read_box(at: int) -> _Box | None:
        if not get(text_page, at, pointer):
            return None
        left, top, right, bottom = _SIDES.unpack(rect)
        if turn == 0:
            return left - x, bottom - y, right - x, top - y
        if turn == 1:
            return bottom - y, width - right, top - y, width - left
        if turn == 2:  # noqa: PLR2004
            return width - right, height - top, width - left, height - bottom
        return height - top, left - x, height - bottom, right - x

    return read_box


def _split_lines(text: str, read_box: _ReadBox, whole: set[str]) -> Iterator[Fragment]:
    """Yield the fragments of all lines: words without a wide gap between them."""
    words: list[str] = []
    box: _Box | None = None
    for word, here in _iterate_words(text, read_box, whole):
        if words and (not word or (box and here and _is_apart(box, here))):
            yield _make_fragment(words, box)
            words, box = [], None
        if word:
            words.append(word)
            box = _join_boxes(box, here)
    if words:
        yield _make_fragment(words, box)


def _iterate_words(text: str, read_box: _ReadBox, whole: set[str]) -> Iterator[tuple[str, _Box | None]]:
    """Yield the words and their boxes, and an empty word at each line's end."""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in _LINE_ENDS:
            yield "", None
            continue
        is_cut = token[-1] in _LINE_END_HYPHENS
        start, stop = found.span()
        gaps = () if token in whole else _find_gaps(found, read_box)
        if not gaps:
            whole.add(token)
        for end in (*gaps, stop):
            if word := _clean(text[start:end]):
                first, last = read_box(start), read_box(max(start, end - 1 - (is_cut and end == stop)))
                box = _join_boxes(first, last)
                for piece in _part_raised(word, first, last):
                    yield piece, box
            start = end
        # PDFium joins the halves of a cut word, which leaves the line end where the hyphen stands.
        if is_cut:
            yield "", None


def _find_gaps(token: re.Match[str], read_box: _ReadBox) -> Sequence[int]:
    """Return where words stand apart that PDFium takes for one, as it does where italics end: `rules` `file`."""
    places: list[int] = []
    for letters in _LETTERS.finditer(token[0]):
        first = token.start() + letters.start()
        known = [box for at in range(first, first + len(letters[0])) if (box := read_box(at))]
        if len(known) < len(letters[0]):
            continue
        gaps = [(after[0] - before[2]) / max(before[3] - before[1], 1.0) for before, after in pairwise(known)]
        # Letters that all stand apart are one word in a wide setting.
        if max(gaps) >= _WORD_GAP and median(gaps) <= _LETTER_GAP:
            places += [first + at for at, gap in enumerate(gaps, 1) if gap >= _WORD_GAP]
    return places


def _part_raised(word: str, first: _Box | None, last: _Box | None) -> tuple[str, ...]:
    """Return a raised number, which is a note's or an exponent, apart from the word that it stands at."""
    found = None
    if first and last and word[-1].isdigit() and _is_raised(last, first):
        found = _NUMBER_END.match(word)
    if not found and first and last and word[0].isdigit() and _is_raised(first, last):
        found = _NUMBER_START.match(word)
    return found.groups() if found else (word,)


def _is_raised(box: _Box, other: _Box) -> bool:
    height = other[3] - other[1]
    return box[3] - box[1] < _RAISED * height and box[1] > other[1] + 0.1 * height


def _join_boxes(one: _Box | None, other: _Box | None) -> _Box | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def _is_apart(box: _Box, here: _Box) -> bool:
    """Return True if the next word stands behind a wide gap, or on another line."""
    height = max(min(box[3] - box[1], here[3] - here[1]), 1.0)
    return here[0] - box[2] > _WIDE_GAP * height or min(box[3], here[3]) - max(box[1], here[1]) < 0.1 * height


def _make_fragment(words: list[str], box: _Box | None) -> Fragment:
    text = " ".join(_DOTS.sub(" … ", " ".join(words)).split())
    left, bottom, right, top = box or (0.0, 0.0, 0.0, 0.0)
    return Fragment(text, left, right, bottom, top)


def _clean(word: str) -> str:
    if word.isascii() and word.isprintable():
        return word
    mark = word[-1] if word[-1] in _HYPHENS else ""
    if _UNKNOWN_GLYPHS.fullmatch(word):
        return "\N{REPLACEMENT CHARACTER}" * len(word)
    return _UNSEEN.sub("", word.translate(_LIGATURES).replace("\ufffe", "").replace("\N{SOFT HYPHEN}", "")) + mark


def find_doubts(texts: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
    """Return the pages whose words look glued together or garbled, by kind."""
    doubts: dict[str, list[int]] = {}
    for number, text in texts:
        words = [word for word in text.split() if word.isalpha() and word.isascii()]
        glued = sum(len(word) for word in words if len(word) > _LONG_WORD)
        if len(words) + glued // 5 >= _ENOUGH_WORDS and glued > _GLUED_SHARE * sum(map(len, words)) * 2:
            doubts.setdefault("whose words look glued together", []).append(number)
        strange = len(_STRANGE.findall(text))
        long_words = [word for word in words if len(word) > 3]  # noqa: PLR2004
        vowelless = sum(not _VOWEL.search(word) for word in long_words)
        few = len(long_words) < _ENOUGH_WORDS
        if strange > _GARBLED_SHARE * len(text) or (not few and vowelless > 0.4 * len(long_words)):
            doubts.setdefault("whose text looks garbled", []).append(number)
    return doubts


_AT_END: Final = re.compile(rf"([^\W\d_]+)[{_HYPHENS}\-‐]$")
_WORD_START: Final = re.compile(r"^[^\W\d_]+")
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class Hyphens:
    """Joins words that a line end has cut. What the document writes elsewhere decides: `non-free` keeps its hyphen."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._words: Counter[str] = Counter()
        for text in texts:
            self._words.update(word.lower() for word in _WORD.findall(text))

    def join(self, lines: Sequence[TextLine]) -> str:
        """Return the lines as text, paragraphs apart."""
        pieces: list[str] = []
        for line in lines:
            text = line.text
            if pieces and (joined := self._join_cut(pieces[-1], text)):
                pieces[-1], text = joined
                if not text:
                    continue
            elif line.begins_paragraph and pieces:
                pieces.append("")
            pieces.append(text)
        text = "\n".join(pieces)
        return text.translate({ord(mark): "-" for mark in _HYPHENS}).strip("\n")

    def join_pages(self, before: str, after: str) -> tuple[str, str]:
        """Return the texts of two pages; a word that the page's end has cut goes to the first one, whole."""
        return self._join_cut(before, after) or (before, after)

    def _join_cut(self, before: str, after: str) -> tuple[str, str] | None:
        """Return both texts with the word that was cut at the end of the first one, or None if none was."""
        cut, rest = _AT_END.search(before), _WORD_START.match(after)
        if not cut or not rest:
            return None
        # The rest of a word may begin a line: of `exam-ple`, `EXAM-PLE`, not of `Jean-Paul`.
        if not (rest[0][0].islower() or (cut[1][-1].isupper() and rest[0][0].isupper())):
            return None
        end = next((at for at in range(rest.end(), len(after)) if after[at].isspace()), len(after))
        # Its punctuation goes along.
        return f"{before[: cut.end(1)]}{self._hyphen(cut[1], rest[0])}{after[:end]}", after[end:].lstrip()

    def _hyphen(self, before: str, after: str) -> str:
        """Return a hyphen if the word is written with one, or if only its two halves are words of the document."""
        with_one, without = self._words[f"{before}-{after}".lower()], self._words[f"{before}{after}".lower()]
        # Each half was counted once where it is cut. Halves in capitals are rather names: `ISO-IEC`.
        halves = [self._words[half.lower()] > 1 for half in (before, after)]
        are_words = any(halves) if after[0].isupper() else all(halves)
        return "-" if with_one > without or (are_words and not without) else ""
