"""Search a document of any length for the sentences that could bear out the sentences of an answer.

The document is read once, block by block, and only a block and a few sentences are in memory. In each block the rarest
words of a sentence, and of the question, are looked for with plain string searches, and only what stands around them
is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise, starmap
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.lexicon import FORMS, stem
from bookwheel.text.lines import skip_file_header
from bookwheel.text.matching import UNSPACED, drop_invisible, parse_words
from bookwheel.text.numbers import list_amounts
from bookwheel.text.sentences import find_ends
from bookwheel.types import Part
from bookwheel.verdict.parsing import parse

# Characters of a block. Larger blocks save little, and smaller ones cost a pass over the queries each.
_BLOCK: Final = 1 << 16
# Characters that a sentence may have on either side of the word searched for.
MOST_CONTEXT: Final = 640
# Occurrences of a word that are looked at in one block, and characters around one by which the best are chosen.
_MOST_PLACES: Final = 128
_NEAR: Final = 160
# Of the words that a block has, those whose occurrences are looked at; and the sentences that are kept.
_MOST_ANCHORS: Final = 6
_MOST_ASKED: Final = 3
_MOST_KEPT: Final = 16
# A sentence of short lines is a table, a list or a log: each line speaks for itself.
_LEAST_LINES: Final = 3
_SHORT_LINE: Final = 60
# Lines of prose that was cut are at least so long; what begins alike, but for numbers, are rows of a list or a log.
_LEAST_WIDTH: Final = 36
# 审 判 长　　沈　　岚: as judgments and forms print titles and names.
_SPACED: Final = compile_late(rf"(?<![{UNSPACED}])[{UNSPACED}](?:[ \t\u3000]+[{UNSPACED}](?![{UNSPACED}]))+")
_THOUSANDS: Final = compile_late(r"\d{1,3}(?:[.,]\d{3})+")
# A number with what may stand behind it and is part of it.
_SCALED: Final = compile_late(r"(?<![\w.,])(\d[\d.,]*)\s?(?:[十百千萬万億亿]+|[^\W\d_]+)?")
_UNSPACED: Final = compile_late(f"[{UNSPACED}]")
_FIRST_WORD: Final = compile_late(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class LocatedSentence:
    """A sentence of a document, in the document's characters."""

    text: str
    start: int
    end: int


@dataclass(slots=True)
class Query:
    """The words of one sentence of an answer, and of its question, to search for; and what was found."""

    anchors: tuple[tuple[str, ...], ...]
    """Spellings of each word, lower case."""
    asked: tuple[tuple[str, ...], ...]
    """Those of the question's words that are not among them."""
    exact: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The names and numbers that were seen nowhere yet, with their spellings."""
    found: list[tuple[float, LocatedSentence]] = field(default_factory=list)
    """The sentences with the most words, each with their weight."""

    @property
    def sentences(self) -> list[LocatedSentence]:
        """What was found, in the document's order."""
        return sorted((sentence for _, sentence in self.found), key=lambda one: one.start)

    def add(self, weight: float, sentence: LocatedSentence) -> None:
        """Take in a sentence, and keep the best; of two that begin alike, one was cut off where a block ends."""
        begun = [pair for pair in self.found if pair[1].start == sentence.start]
        if any(other.end >= sentence.end for _, other in begun):
            return
        self.found = [*(pair for pair in self.found if pair not in begun), (weight, sentence)]
        self.found.sort(key=lambda pair: -pair[0])
        del self.found[_MOST_KEPT:]


def make_query(text: str, question: str) -> Query:
    """Return what to search for a sentence of an answer."""
    mine, asked = _list_anchors(text), _list_anchors(question)
    exact = {word.text: _spell(word.text.casefold()) for word in parse_words(text) if word.is_exact}
    return Query(tuple(mine.values()), tuple(anchor for key, anchor in asked.items() if key not in mine), exact)


def search(parts: Iterable[Part], queries: Sequence[Query]) -> None:
    """Fill the queries with what the document has."""
    for offset, text, _ in list_blocks(parts):
        block = _SearchedBlock(text, offset)
        for query in queries:
            block.fill(query)


def list_blocks(parts: Iterable[Part], overlap: int = 2 * MOST_CONTEXT) -> Iterator[tuple[int, str, bool]]:
    """Yield the text in blocks that overlap, each with the character where it begins and if it is the last."""
    offset, pending, length = 0, list[str](), 0
    for part in parts:
        pending.append(part.text)
        length += len(part.text)
        if length >= max(_BLOCK, 2 * overlap):
            text = "".join(pending)
            yield offset, text, False
            offset += len(text) - overlap
            pending, length = [text[len(text) - overlap :]], overlap
    if length:
        yield offset, "".join(pending), True


def drop_written(missing: Sequence[str], words: str, passages: Sequence[LocatedSentence]) -> tuple[str, ...]:
    """Return the names and numbers that passages do not have in another spelling: 1195 万, 九点五万, 1,02 millones.

    A text in Chinese or Japanese has no name in the letters of another language.
    """
    theirs = "\n".join(one.text for one in passages) if missing else ""
    is_foreign = 2 * len(_UNSPACED.findall(theirs)) > len(theirs) and not _UNSPACED.search(words)
    amounts, scaled = list_amounts(theirs), dict[str, str]()
    for found in _SCALED.finditer(words) if missing else ():
        scaled.setdefault(found[1].rstrip(".,"), found[0])

    def is_written(word: str) -> bool:
        if not any(map(str.isdigit, word)):
            return is_foreign
        plain = re.sub("[.,]", "", word) if _THOUSANDS.fullmatch(word) else word
        return bool(amounts & (list_amounts(word) | list_amounts(plain) | list_amounts(scaled.get(word, ""))))

    return tuple(word for word in missing if not is_written(word))


def _list_anchors(text: str) -> dict[str, tuple[str, ...]]:
    """Return the words of a text that say something, each in the spellings by which a document may have it."""
    anchors = {key: _spell(key) for key in parse(text).keys}
    # Normal form changes signs: a document in traditional ones is searched by the text's own.
    for word in parse_words(text):
        key = stem(word.index_key)
        if word.is_distinctive and key not in anchors:
            anchors[key] = _spell(key)
    return anchors


def _spell(key: str) -> tuple[str, ...]:
    """Return the ways to find a word in a lower-case text: its stem, which other forms share, and those that differ."""
    if key.isdigit():
        # A model that repeats itself may write more digits than an integer is read from.
        return tuple(dict.fromkeys((key, f"{Decimal(key):,}")))
    forms = tuple(dict.fromkeys((key, *FORMS.get(key, ()))))
    return tuple(form for form in forms if not any(form != other and form.startswith(other) for other in forms))


def is_wrapped(lines: Sequence[str]) -> bool:
    """Tell if lines are prose that was cut to a width: no next word would have fitted, and phrases go on.

    >>> is_wrapped(["one of the rubber bands round the head of", "a driving rod had shrunk so as not to fill", "it"])
    True
    >>> is_wrapped(["web01 is up since monday, at six in the morn", "web02 is down since monday, at one in the morn"])
    False
    """
    lines = [line.strip() for line in lines]
    width, pairs = max(map(len, lines)), list(pairwise(lines))
    # The first line may begin within a sentence, far from the margin.
    is_full = all(len(one) + len(other.split(None, 1)[0]) >= width for one, other in pairs[1:])
    if width < _LEAST_WIDTH or not is_full:
        return False
    firsts = [match[0] if (match := _FIRST_WORD.match(line)) else "" for line in lines]
    alike = sum(one == other for one, other in pairwise(firsts))
    return 2 * alike <= len(pairs) < 2 * sum(starmap(_goes_on, pairs))


def _goes_on(line: str, other: str) -> bool:
    """Tell if a phrase goes on from one line to the next: at a comma, or at a word such as "of" or "the"."""
    last, first = line.rsplit(None, 1)[-1], other.split(None, 1)[0]
    is_loose = any(
        word.isalpha() and not any(one.is_distinctive for one in parse_words(word)) for word in (last, first)
    )
    return first[0].islower() and (is_loose or last.endswith(","))


def find_sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the sentence around a span, or its lines where they are of many short ones.

    The line that names a file is a sentence of its own, and none of the file's.
    """
    before, after = max(0, start - MOST_CONTEXT), min(len(text), end + MOST_CONTEXT)
    # What has no end nearby is cut between two words.
    cut = next((at for at in range(before, start) if text[at].isspace()), before) if before else 0
    first = max(find_ends(text, before, start), default=cut)
    cut = next((at for at in range(after, end, -1) if text[at - 1].isspace()), after) if after < len(text) else after
    last = next(find_ends(text, end, after), cut)
    lines = [line for line in text[first:last].split("\n") if line.strip()]
    is_short = len(lines) >= _LEAST_LINES and sum(map(len, lines)) < _SHORT_LINE * len(lines)
    if is_short and not is_wrapped(lines):
        first = max(first, text.rfind("\n", first, start) + 1)
        last = stop if (stop := text.find("\n", end, last)) >= 0 else last
    if (begins := skip_file_header(lambda at, stop: text[at:stop], first)) > first:
        first, last = (begins, last) if end > begins else (first, begins)
    quote = text[first:last]
    return first + len(quote) - len(quote.lstrip()), first + len(quote.rstrip())


class _BlockWords:
    """The words that a block has, to be counted in thousands of places: nearly all have one spelling there."""

    def __init__(self, block: str, anchors: Iterable[tuple[str, ...]]) -> None:
        present = [tuple(filter(block.__contains__, spellings)) for spellings in anchors]
        self._single = [spellings[0] for spellings in present if len(spellings) == 1]
        self._several = [spellings for spellings in present if len(spellings) > 1]

    def count(self, text: str) -> int:
        """Return how many of them stand in a part of the block."""
        has = text.__contains__
        return sum(map(has, self._single)) + sum(any(map(has, spellings)) for spellings in self._several)


class _SearchedBlock:
    """One block of the document."""

    def __init__(self, shown: str, start: int) -> None:
        text, self._offsets = _drop_unread(shown)
        self._shown = shown
        self._text = text
        self._start = start
        lower = text.lower()
        # A few characters become two in lower case, which would shift all places behind them.
        if len(lower) != len(text):
            lower = "".join(one if len(one := sign.lower()) == 1 else sign for sign in text)
        self._lower = lower

    def fill(self, query: Query) -> None:
        """Add the sentences of this block that have most of a query's words."""
        for word in [word for word, spellings in query.exact.items() if any(one in self._lower for one in spellings)]:
            del query.exact[word]
        places: dict[int, None] = {}
        words: list[_BlockWords] = []
        for anchors, most in ((query.anchors, _MOST_ANCHORS), (query.asked, _MOST_ASKED)):
            counts = {anchor: sum(map(self._lower.count, anchor)) for anchor in anchors}
            present = sorted((one for one in anchors if counts[one]), key=lambda one: counts[one])
            words.append(_BlockWords(self._lower, present))
            for anchor in present[:most]:
                places.update(dict.fromkeys(self._find_places(anchor)))
        weights = {place: self._weigh(max(0, place - _NEAR), place + _NEAR, *words) for place in places}
        spans: dict[tuple[int, int], None] = {}
        for place in sorted(weights, key=lambda place: -weights[place]):
            if len(spans) == _MOST_KEPT:
                break
            if not any(start <= place < end for start, end in spans):
                spans[find_sentence(self._text, place, place)] = None
        for start, end in spans:
            # What goes on from the block before was whole in there.
            if start < end and (start or not self._start):
                query.add(self._weigh(start, end, *words), self._locate(start, end))

    def _find_places(self, anchor: tuple[str, ...]) -> Iterator[int]:
        for spelling in anchor:
            at = -1
            for _ in range(_MOST_PLACES):
                at = self._lower.find(spelling, at + 1)
                if at < 0:
                    break
                yield at

    def _weigh(self, start: int, end: int, mine: _BlockWords, asked: _BlockWords) -> float:
        text = self._lower[start:end]
        return mine.count(text) + 0.4 * asked.count(text)

    def _locate(self, start: int, end: int) -> LocatedSentence:
        first, last = (self._offsets[start], self._offsets[end - 1] + 1) if self._offsets else (start, end)
        return LocatedSentence(drop_invisible(self._shown[first:last])[0], self._start + first, self._start + last)


def _drop_unread(text: str) -> tuple[str, list[int] | None]:
    """Return a text without its invisible signs and the blanks within names, and where its characters stand."""
    visible, offsets = drop_invisible(text)
    blanks = {at for found in _SPACED.finditer(visible) for at in range(*found.span()) if visible[at].isspace()}
    if not blanks:
        return visible, offsets
    left = [at for at in range(len(visible)) if at not in blanks]
    return "".join(visible[at] for at in left), [offsets[at] for at in left] if offsets else left
