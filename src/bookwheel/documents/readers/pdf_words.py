"""The words of a PDF page with their places, and what is put right in them: ligatures, gaps, raised numbers."""

from __future__ import annotations

import ctypes
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import accumulate, chain, repeat
from operator import add, sub
from statistics import median
from typing import Any, Final

from bookwheel.documents.readers.pdf_calls import calls, find_address, iterate_addresses
from bookwheel.documents.readers.pdf_hyphens import HYPHENS
from bookwheel.documents.readers.pdf_layout import Fragment
from bookwheel.documents.readers.pdf_rules import Rule, find_crossings, is_ruled, skip_cells

_CUTS: Final = frozenset("\x02\ufffe")
# PDFium joins the halves of a cut word, which leaves the line end where the hyphen stands.
_LINE: Final = re.compile("[^\r\n\x02\ufffe]*(?:[\x02\ufffe]|[\r\n]+|\\Z)")
# Stands for the second half of a pair.
_NOTHING: Final = "\x00"
# A power, or the marks of notes.
_SMALL_NUMBER: Final = re.compile(r"[-+\u2212\u2013]?\d{1,3}(?:[,\u2013-]\d{1,3})*,?")
_DIGIT: Final = re.compile(r"\d")
# The size of a raised number's letters, as a share of its word's; and how far it stands from that, in line heights.
_RAISED: Final = 0.85
_RAISED_GAP: Final = 0.15
# By its own size and line.
_SMALLER: Final = 0.9
_RISE: Final = 0.1
_DOTS: Final = re.compile(r"(?:\s?[.·…]){5,}")
_LIGATURES: Final = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
# A gap of this many line heights parts cells and columns. Justified words stand closer.
_WIDE_GAP: Final = 1.1
# Points that a letter may stand over the line beside it.
_OVER: Final = 0.5
# The height at which words stand beside each other at least, in line heights.
_FLAT: Final = 0.1
# Letters in a row that can be two words. Fewer are not looked at, which costs time.
_LEAST_LETTERS: Final = 6
_LETTERS: Final = re.compile(rf"[A-Za-z\u00c0-\u024f\u0370-\u052f]{{{_LEAST_LETTERS},}}")
# The gaps between letters, in line heights, of two words and of one. A blank of justified text has 0.15 at least.
_WORD_GAP: Final = 0.14
_LETTER_GAP: Final = 0.03
# Characters of a page whose angle is looked at.
_ANGLES: Final = 80
# Of a font that does not say which letters its shapes are.
_UNKNOWN_GLYPHS: Final = re.compile(r"[\x01-\x1f]{3,}")


_Box = tuple[float, float, float, float]
# The left, bottom, right and top sides of letters.
_Sides = tuple[Sequence[float], Sequence[float], Sequence[float], Sequence[float]]
_ReadSides = Callable[[Sequence[int]], _Sides]
_Measure = Callable[[int, int], bool]


def read_fragments(page: Any, whole: set[str], rules: Sequence[Rule] = ()) -> tuple[list[Fragment], float]:
    """Return the fragments of a page in the order they were drawn, upright, and the page's height.

    Words on both sides of one of the `rules` of a table are fragments of their own, however close they stand.
    `whole` is kept for a document: the words that were looked at and have no gap. Most of a text is such words again.
    """
    with closing(page.get_textpage()) as loaded:
        text_page = find_address(loaded)
        text = read_characters(text_page)
        left, bottom, right, top = page.get_mediabox()
        places = [at for at in range(0, len(text), max(1, len(text) // _ANGLES)) if text[at].isalnum()]
        angles = map(calls.FPDFText_GetCharAngle, repeat(text_page), places)
        turns = Counter(round(angle / (math.pi / 2)) % 4 for angle in angles)
        # By so many quarters of a circle most of the text is turned.
        turn = turns.most_common(1)[0][0] if turns else 0
        read_sides = _bind_reader(text_page, turn, (left, bottom, right, top))
        measure = partial(_measure_rise, text_page, turn)
        rules = () if turn else rules
        fragments = [*skip_cells(_split_lines(text, read_sides, whole, measure, rules), rules)]
        return fragments, (right - left if turn % 2 else top - bottom)


def read_characters(text_page: int) -> str:
    """Return the page's text with one character for each of PDFium's, so that positions agree."""
    count = calls.FPDFText_CountChars(text_page)
    buffer = (ctypes.c_ushort * (count + 1))()
    units = max(0, calls.FPDFText_GetText(text_page, 0, count, buffer) - 1)
    text = bytes(buffer)[: 2 * units].decode("utf-16-le", "replace")
    if len(text) == count:
        return text
    # PDFium leaves some characters out of that text, and has a pair of halves for each beyond the first 65,536.
    codes = list(map(calls.FPDFText_GetUnicode, repeat(text_page), range(count)))
    characters = [chr(code) if code < 0x110000 else "\N{REPLACEMENT CHARACTER}" for code in codes]  # noqa: PLR2004
    for at in range(count):
        if 0xD800 <= codes[at] < 0xDC00 and at + 1 < count and 0xDC00 <= codes[at + 1] < 0xE000:  # noqa: PLR2004
            characters[at] = chr(0x10000 + ((codes[at] - 0xD800) << 10) + codes[at + 1] - 0xDC00)
            characters[at + 1] = _NOTHING
        elif 0xD800 <= codes[at] < 0xE000 and characters[at] != _NOTHING:  # noqa: PLR2004
            characters[at] = "\N{REPLACEMENT CHARACTER}"
    return "".join(characters)


def _bind_reader(text_page: int, turn: int, frame: _Box) -> _ReadSides:
    """Return what reads the left, bottom, right and top sides of letters, turned so that the text is upright."""
    x, y, width, height = frame

    def read_sides(places: Sequence[int]) -> _Sides:
        boxes = (calls.FS_RECTF * len(places))()
        if not all(map(calls.FPDFText_GetLooseCharBox, repeat(text_page), places, iterate_addresses(boxes))):
            raise ValueError("PDFium tells no place of a letter")
        sides: Sequence[float] = memoryview(boxes).cast("B").cast("f").tolist()
        lefts, tops, rights, bottoms = (sides[at::4] for at in range(4))
        if turn % 3:  # it is read from the right, or from above
            lefts, rights = [width - side for side in rights], [width - side for side in lefts]
        elif x:
            lefts, rights = [side - x for side in lefts], [side - x for side in rights]
        if turn > 1:
            bottoms, tops = [height - side for side in tops], [height - side for side in bottoms]
        elif y:
            bottoms, tops = [side - y for side in bottoms], [side - y for side in tops]
        return (bottoms, lefts, tops, rights) if turn % 2 else (lefts, bottoms, rights, tops)

    return read_sides


def _measure_rise(text_page: int, turn: int, before: int, after: int) -> bool:
    """Return whether a letter is smaller than the one before it, and stands on a higher line.

    The sides of letters are those of their fonts, and the digits among Chinese signs are of another one.
    """
    (x, y), (other_x, other_y) = (_read_origin(text_page, at) for at in (before, after))
    size, other = (_read_size(text_page, at) for at in (before, after))
    rise = (other_y - y, x - other_x, y - other_y, other_x - x)[turn]
    return bool(other < _SMALLER * size and rise > _RISE * size)


def _read_size(text_page: int, at: int) -> float:
    matrix = calls.FS_MATRIX()
    calls.FPDFText_GetMatrix(text_page, at, ctypes.addressof(matrix))
    # Some programs write all fonts at the size of 1, and scale them.
    scale = math.sqrt(abs(matrix.a * matrix.d - matrix.b * matrix.c))
    return float(calls.FPDFText_GetFontSize(text_page, at) * scale)


def _read_origin(text_page: int, at: int) -> tuple[float, float]:
    x, y = ctypes.c_double(), ctypes.c_double()
    calls.FPDFText_GetCharOrigin(text_page, at, ctypes.addressof(x), ctypes.addressof(y))
    return x.value, y.value


def _split_text(text: str) -> tuple[list[str], list[int], list[int]]:
    """Return the words of a page, where each begins, and where lines end."""
    words: list[str] = []
    starts: list[int] = []
    stops: list[int] = []
    end = 0
    for line in _LINE.findall(text):
        at = end + len(line) - len(line.lstrip())
        end += len(line)
        stops.append(end)
        found = line.split()
        words += found
        if " ".join(found) == line.strip():  # as in most lines
            starts += map(add, accumulate(map(len, found), initial=at), range(len(found)))
            continue
        for word in found:
            at = text.index(word, at)
            starts.append(at)
            at += len(word)
    return words, starts, stops


def _split_lines(
    text: str, read_sides: _ReadSides, whole: set[str], measure: _Measure, rules: Sequence[Rule]
) -> Iterator[Fragment]:
    """Yield the fragments of all lines: words without a wide gap between them."""
    words, starts, stops = _split_text(text)
    words, starts = _part_words(text, words, starts, [*_find_gaps(words, starts, read_sides, whole)])
    places = _list_ends(words, starts)
    sides = read_sides(places)
    left, right = min(sides[0], default=0.0), max(sides[2], default=0.0)
    rules = [rule for rule in rules if left < rule[0] < right]  # the frame around a text parts no words
    raised = _find_raised(words, starts, sides, read_sides)
    if parted := {*raised, *find_crossings(words, starts, sides, read_sides, rules)}:
        words, starts = _part_words(text, words, starts, [*parted])
        places = _list_ends(words, starts)
        sides = read_sides(places)
    line = PageWords(words, sides, lambda at: measure(places[2 * at - 1], places[2 * at]), rules)
    first = 0
    for stop in stops:
        last = bisect_left(starts, stop, first)
        # PDFium takes what is raised for a line of its own.
        if last > first and not line.goes_on(last):
            yield from line.read_line(first, last)
            first = last


def _part_words(text: str, words: list[str], starts: list[int], places: Sequence[int]) -> tuple[list[str], list[int]]:
    """Return the words and where they begin, with one more from each of these places on."""
    if not places:
        return words, starts
    ends = sorted([*map(add, starts, map(len, words)), *places])
    starts = sorted([*starts, *places])
    return [text[start:end] for start, end in zip(starts, ends, strict=True)], starts


def _list_ends(words: Sequence[str], starts: Sequence[int]) -> list[int]:
    """Return the places of the first and the last letter of each word in turn."""
    places = [0] * (2 * len(words))
    places[::2] = starts
    places[1::2] = [
        start + len(word) - 1 - (word[-1] in _CUTS and len(word) > 1) for start, word in zip(starts, words, strict=True)
    ]
    return places


def _find_raised(words: Sequence[str], starts: Sequence[int], sides: _Sides, read_sides: _ReadSides) -> Iterator[int]:
    """Yield where a raised number begins, or ends, that PDFium takes for a part of its word: `10` `6`."""
    for at in [at for at, word in enumerate(words) if word[-1].isdigit() or word[0].isdigit()]:
        word, start = words[at], starts[at]
        first, last = zip(*(side[2 * at : 2 * at + 2] for side in sides), strict=True)
        is_end, is_start = _is_raised(last, first), _is_raised(first, last)
        if not (is_end and word[-1].isdigit()) and not (is_start and word[0].isdigit()):
            continue
        letters = zip(*read_sides(range(start, start + len(word))), strict=True)
        own = [not _is_raised(letter, first if is_end else last) for letter in letters]
        cut = len(own) - own[::-1].index(True) if is_end else own.index(True)
        if _SMALL_NUMBER.fullmatch(word[cut:] if is_end else word[:cut]):
            yield start + cut


def _find_gaps(words: Sequence[str], starts: Sequence[int], read_sides: _ReadSides, whole: set[str]) -> Iterator[int]:
    """Yield where words stand apart that PDFium takes for one, as it does where italics end: `rules` `file`."""
    known = {*words}
    new = [word for word in known - whole if len(word) >= _LEAST_LETTERS and _LETTERS.search(word)]
    doubtful = (
        _find_doubtful(new, dict(zip(reversed(words), reversed(starts), strict=True)), read_sides) if new else set()
    )
    for word, start in zip(words, starts, strict=True) if doubtful else ():
        if word not in doubtful:
            continue
        places: list[int] = []
        for letters in _LETTERS.finditer(word):
            first = start + letters.start()
            lefts, bottoms, rights, tops = read_sides(range(first, start + letters.end()))
            heights = map(max, map(sub, tops, bottoms), repeat(1.0))
            gaps = [gap / height for gap, height in zip(map(sub, lefts[1:], rights), heights, strict=False)]
            # Letters that all stand apart are one word in a wide setting.
            if max(gaps) >= _WORD_GAP and median(gaps) <= _LETTER_GAP:
                places += [first + at for at, gap in enumerate(gaps, 1) if gap >= _WORD_GAP]
        yield from places
        if not places:
            doubtful.remove(word)
    whole |= known - doubtful


def _find_doubtful(words: Iterable[str], starts: Mapping[str, int], read_sides: _ReadSides) -> set[str]:
    """Return the words that may have a gap where each begins first: most have none, as is seen of all at once."""
    runs = [
        (word, starts[word] + found.start(), starts[word] + found.end())
        for word in words
        for found in _LETTERS.finditer(word)
    ]
    lefts, bottoms, rights, tops = read_sides([*chain.from_iterable(range(*run[1:]) for run in runs)])
    gaps = [*map(sub, lefts[1:], rights), 0.0]
    doubtful: set[str] = set()
    first = 0
    for word, start, end in runs:
        last = first + end - start
        height = max(min(tops[first:last]) - max(bottoms[first:last]), 1.0)
        if max(gaps[first : last - 1]) > 0.9 * _WORD_GAP * height:
            doubtful.add(word)
        first = last
    return doubtful


class PageWords:
    """The words of a page, with the sides of the first and the last letter of each in turn."""

    def __init__(
        self,
        words: Sequence[str],
        sides: _Sides,
        is_higher: Callable[[int], bool] = lambda _at: True,
        rules: Sequence[Rule] = (),
    ) -> None:
        self._words = words
        self._rules = rules
        self._is_higher = is_higher
        self._sides = self._lefts, self._bottoms, self._rights, self._tops = sides
        self._gaps = list(map(sub, self._lefts[2::2], self._rights[1::2]))

    def goes_on(self, at: int) -> bool:
        """Return whether a line goes on with a word: a raised number, or what stands right behind one."""
        # A word without a digit, as most are, needs no measure.
        if not 0 < at < len(self._words) or not any(map(_DIGIT.search, self._words[at - 1 : at + 1])):
            return False
        before, here = (_join_boxes(*self._list_boxes(one)) for one in (at - 1, at))
        is_behind = here[0] >= before[2] and not _is_apart(before, here)
        return self._is_raised(at) or (is_behind and at > 1 and self._is_raised(at - 1))

    def _list_boxes(self, at: int) -> list[_Box]:
        return list(zip(*(side[2 * at : 2 * at + 2] for side in self._sides), strict=True))

    def _is_raised(self, at: int) -> bool:
        before, here = (_join_boxes(*self._list_boxes(one)) for one in (at - 1, at))
        return _stands_raised(_clean(self._words[at]), here, before) and self._is_higher(at)

    def read_line(self, start: int, end: int) -> Iterator[Fragment]:
        """Yield the fragments of a line, which ends before the word `end`."""
        text = " ".join(self._words[start:end])
        cut = text[-1] if text[-1] in _CUTS else ""
        shown = text.removesuffix(cut) if cut else text
        of_line = slice(2 * start, 2 * end)
        bottoms, tops = self._bottoms[of_line], self._tops[of_line]
        box = min(self._lefts[of_line]), min(bottoms), max(self._rights[of_line]), max(tops)
        # No letter is less high than this: of most lines it is told by all letters at once that no two words
        # stand apart, and that no number is raised.
        height = min(tops) - max(bottoms)
        is_even = height >= _RAISED * (box[3] - box[1]) and height >= _FLAT
        widest = max(self._gaps[start : end - 1], default=0.0)
        is_even = is_even and not (self._rules and is_ruled(self._rules, box))
        if is_even and widest <= _WIDE_GAP * max(height, 1.0) and shown.isprintable():
            yield _make_fragment(text if text.isascii() else shown.translate(_LIGATURES) + cut, box)
        else:
            yield from self.read_uneven(start, end)

    def read_uneven(self, start: int, end: int) -> Iterator[Fragment]:
        """Yield the fragments of a line word by word."""
        words: list[str] = []
        is_cell = False
        box = (0.0, 0.0, 0.0, 0.0)
        before = box
        letters = list(zip(*(side[2 * start : 2 * end] for side in self._sides), strict=True))
        cleaned = enumerate(map(_clean, self._words[start:end]), start)
        for (at, word), first, last in zip(cleaned, letters[::2], letters[1::2], strict=True):
            if not word:
                continue
            here = _join_boxes(first, last)
            gap = (box[2] - _OVER, here[1], here[0] + _OVER, here[3])
            is_parted = bool(words) and is_ruled(self._rules, gap)
            if is_parted or (words and _is_apart(box, here)):
                yield _make_fragment(" ".join(words), box, is_cell)
                words, is_cell = [], is_parted
            if words and _stands_raised(word, here, before) and self._is_higher(at):
                words[-1] += f"^{word}"
            else:
                words.append(word)
                before = here
            box = _join_boxes(box, here) if len(words) > 1 or before is not here else here
        if words:
            yield _make_fragment(" ".join(words), box, is_cell)


def _stands_raised(word: str, box: _Box, before: _Box) -> bool:
    """Return whether a word is a raised number at the one before it, which is a note's or an exponent."""
    is_beside = -_RAISED_GAP < (box[0] - before[2]) / max(before[3] - before[1], 1.0) < _RAISED_GAP
    return is_beside and _is_raised(box, before) and bool(_SMALL_NUMBER.fullmatch(word))


def _is_raised(box: _Box, other: _Box) -> bool:
    height = other[3] - other[1]
    return box[3] - box[1] < _RAISED * height and box[1] > other[1] + 0.1 * height


def _join_boxes(one: _Box, other: _Box) -> _Box:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def _is_apart(box: _Box, here: _Box) -> bool:
    """Return True if the next word stands behind a wide gap, or on another line."""
    height = max(min(box[3] - box[1], here[3] - here[1]), 1.0)
    return here[0] - box[2] > _WIDE_GAP * height or min(box[3], here[3]) - max(box[1], here[1]) < _FLAT * height


def _make_fragment(text: str, box: _Box, is_ruled: bool = False) -> Fragment:
    if ".." in text or ". ." in text or not text.isascii():
        text = " ".join(_DOTS.sub(" … ", text).split())
    left, bottom, right, top = box
    return Fragment(text, left, right, bottom, top, is_ruled)


def _clean(word: str) -> str:
    if word.isascii() and word.isprintable():
        return word
    mark = word[-1] if word[-1] in HYPHENS else ""
    if _UNKNOWN_GLYPHS.fullmatch(word):
        return "\N{REPLACEMENT CHARACTER}" * len(word)
    return _UNSEEN.sub("", word.translate(_LIGATURES).replace("\ufffe", "").replace("\N{SOFT HYPHEN}", "")) + mark
