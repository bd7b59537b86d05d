"""The words of a PDF page with their places, and what is put right in them: ligatures, gaps, raised numbers, cut words.

A word that the end of a line or page has cut is joined as the document writes it elsewhere.
"""

from __future__ import annotations

import ctypes
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import accumulate, chain, compress, repeat
from operator import add, sub
from statistics import median
from typing import Any, Final

from bookwheel.documents.readers.pdf_calls import calls, find_address, iterate_addresses
from bookwheel.documents.readers.pdf_layout import Fragment, TextLine

# PDFium's own signs for a hyphen at a line's end, and the one that is seen only there.
_HYPHENS: Final = "\x02\ufffe\N{SOFT HYPHEN}"
_CUTS: Final = frozenset("\x02\ufffe")
_CUT: Final = re.compile("[\x02\ufffe]")
_BLANKS: Final = re.compile(r"(\s+)")
_LINE_END: Final = re.compile(r"[\r\n]")
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
# Words at which a page is judged, and the shares of odd ones that make it doubtful.
_ENOUGH_WORDS: Final = 20
_LONG_WORD: Final = 25
_GLUED_SHARE: Final = 0.04
# Of a font that does not say which letters its shapes are.
_UNKNOWN_GLYPHS: Final = re.compile(r"[\x01-\x1f]{3,}")
_GARBLED_SHARE: Final = 0.02
_STRANGE: Final = re.compile("[\N{REPLACEMENT CHARACTER}\ue000-\uf8ff]")
_VOWEL: Final = re.compile("[aeiouy]", re.IGNORECASE)


_Box = tuple[float, float, float, float]
# The left, bottom, right and top sides of letters.
_Sides = tuple[Sequence[float], Sequence[float], Sequence[float], Sequence[float]]
_ReadSides = Callable[[Sequence[int]], _Sides]


def read_fragments(page: Any, whole: set[str]) -> tuple[list[Fragment], float]:
    """Return the fragments of a page in the order they were drawn, upright, and the page's height.

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
        return list(_split_lines(text, read_sides, whole)), (right - left if turn % 2 else top - bottom)


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


def _split_text(text: str) -> tuple[list[str], list[int], list[int]]:
    """Return the words of a page, where each begins, and where lines end."""
    words: list[str] = []
    starts: list[int] = []
    stops: list[int] = []
    at = 0
    # PDFium joins the halves of a cut word, which leaves the line end where the hyphen stands.
    for end in (*(found.end() for found in _CUT.finditer(text)), len(text)):
        pieces = _BLANKS.split(text[at:end])
        bounds = list(accumulate(map(len, pieces), initial=at))
        words += pieces[::2]
        starts += bounds[:-1:2]
        blanks = zip(bounds[1::2], pieces[1::2], strict=False)
        stops += [stop for stop, blank in blanks if blank != " " and _LINE_END.search(blank)]
        stops.append(end)
        at = end
    return list(filter(None, words)), list(compress(starts, words)), stops


def _split_lines(text: str, read_sides: _ReadSides, whole: set[str]) -> Iterator[Fragment]:
    """Yield the fragments of all lines: words without a wide gap between them."""
    words, starts, stops = _split_text(text)
    ends = list(map(add, starts, map(len, words)))
    if gaps := list(_find_gaps(words, starts, read_sides, whole)):
        starts, ends = sorted([*starts, *gaps]), sorted([*ends, *gaps])
        words = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    places = [0] * (2 * len(words))
    places[::2] = starts
    places[1::2] = [
        end - 1 - (text[end - 1] in _CUTS and start + 1 < end) for start, end in zip(starts, ends, strict=True)
    ]
    line = PageWords(words, read_sides(places))
    first = 0
    for stop in stops:
        last = bisect_left(starts, stop, first)
        if last > first:
            yield from line.read_line(first, last)
        first = last


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

    def __init__(self, words: Sequence[str], sides: _Sides) -> None:
        self._words = words
        self._sides = self._lefts, self._bottoms, self._rights, self._tops = sides
        self._gaps = list(map(sub, self._lefts[2::2], self._rights[1::2]))

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
        if is_even and widest <= _WIDE_GAP * max(height, 1.0) and shown.isprintable():
            yield _make_fragment(text if text.isascii() else shown.translate(_LIGATURES) + cut, box)
        else:
            yield from self.read_uneven(start, end)

    def read_uneven(self, start: int, end: int) -> Iterator[Fragment]:
        """Yield the fragments of a line word by word."""
        words: list[str] = []
        box = (0.0, 0.0, 0.0, 0.0)
        letters = list(zip(*(side[2 * start : 2 * end] for side in self._sides), strict=True))
        for word, first, last in zip(map(_clean, self._words[start:end]), letters[::2], letters[1::2], strict=True):
            here = _join_boxes(first, last)
            for piece in _part_raised(word, first, last) if word else ():
                if words and _is_apart(box, here):
                    yield _make_fragment(" ".join(words), box)
                    words = []
                box = _join_boxes(box, here) if words else here
                words.append(piece)
        if words:
            yield _make_fragment(" ".join(words), box)


def _part_raised(word: str, first: _Box, last: _Box) -> tuple[str, ...]:
    """Return a raised number, which is a note's or an exponent, apart from the word that it stands at."""
    found = None
    if word[-1].isdigit() and _is_raised(last, first):
        found = _NUMBER_END.match(word)
    if not found and word[0].isdigit() and _is_raised(first, last):
        found = _NUMBER_START.match(word)
    return found.groups() if found else (word,)


def _is_raised(box: _Box, other: _Box) -> bool:
    height = other[3] - other[1]
    return box[3] - box[1] < _RAISED * height and box[1] > other[1] + 0.1 * height


def _join_boxes(one: _Box, other: _Box) -> _Box:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def _is_apart(box: _Box, here: _Box) -> bool:
    """Return True if the next word stands behind a wide gap, or on another line."""
    height = max(min(box[3] - box[1], here[3] - here[1]), 1.0)
    return here[0] - box[2] > _WIDE_GAP * height or min(box[3], here[3]) - max(box[1], here[1]) < _FLAT * height


def _make_fragment(text: str, box: _Box) -> Fragment:
    if ".." in text or ". ." in text or not text.isascii():
        text = " ".join(_DOTS.sub(" … ", text).split())
    left, bottom, right, top = box
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


_AT_ENDS: Final = (*_HYPHENS, "-", "‐")
_AT_END: Final = re.compile(rf"([^\W\d_]+)[{_HYPHENS}\-‐]$")
# Where a blank parts words in a text of signs without blanks.
_LATIN_END: Final = re.compile(r"[A-Za-z0-9.,;)]$")
_WORD_START: Final = re.compile(r"^[^\W\d_]+")
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class Hyphens:
    """Joins words that a line end has cut. What the document writes elsewhere decides: `non-free` keeps its hyphen."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._words: Counter[str] = Counter()
        for word, count in Counter(chain.from_iterable(map(_WORD.findall, texts))).items():
            self._words[word.lower()] += count

    def join(self, lines: Sequence[TextLine]) -> str:
        """Return the lines as text, paragraphs apart."""
        pieces: list[str] = []
        for line in lines:
            text = line.text
            if pieces and (joined := self._join_cut(pieces[-1], text)):
                pieces[-1], text = joined
                if not text:
                    continue
            elif pieces and line.runs_on and not line.begins_paragraph:
                is_between_words = _LATIN_END.search(pieces[-1]) and text[:1].isascii()
                pieces[-1] += f" {text}" if is_between_words else text
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
        if not before.endswith(_AT_ENDS):  # as most, which are long, do not
            return None
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
