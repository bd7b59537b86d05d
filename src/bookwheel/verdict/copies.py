r"""Find the passages of an answer that are copied from the document word for word.

    document    # Who built it?\nThe mill was built by Odo Farr,\na carpenter. He died in 1601.
    answer      Who built it? The mill was built by Odo Farr, a carpenter.      copied, in two pieces

A passage is a run of the answer's pieces that stand in the document one after the other. Blanks, line ends, bullets and
invisible characters do not count. It begins and ends where sentences of the document do: "Ada signed it." is no copy of
"Nobody says that Ada signed it."
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.matching import drop_invisible
from bookwheel.text.sentences import find_ends
from bookwheel.types import Part
from bookwheel.verdict.search import LocatedSentence, list_blocks

# Characters before and after a passage in which the sentences' ends are looked for.
_MARGIN: Final = 640
# Pieces that are looked for, the longest first; a passage is found by any one of its own.
_MOST_SEEDS: Final = 32
_MOST_PLACES: Final = 16
_LEAST_SEED: Final = 8
_QUOTES: Final = "\"'“”‘’«»「」"
_BETWEEN: Final = compile_late(rf"(?:[-*•·>#{_QUOTES}]+|\(?\d{{1,2}}[.)、])*")
_BETWEEN_LENGTH: Final = 8
_BULLETS: Final = compile_late(rf"\s*(?:(?:[-*•·>]+|#+|\(?\d{{1,2}}[.)、])\s+)*[{_QUOTES}]*")
_CLOSING: Final = compile_late(rf"[.!?。！？…{_QUOTES})\]]*")
_HEADING: Final = compile_late(r"^\s{0,3}#{1,6}\s.*\n\s*", re.MULTILINE)


def find_copies(
    parts: Iterable[Part], pieces: Sequence[str], says_something: Callable[[Sequence[str]], bool]
) -> dict[int, LocatedSentence]:
    """Return the document's sentences that pieces of an answer are copied from, by the pieces' numbers.

    `says_something` tells if the pieces of a passage can be borne out at all: a name alone stands in many places.
    """
    keys = [_squeeze(piece)[0].strip(_QUOTES) for piece in pieces]
    words = [sorted((word.strip(_QUOTES) for word in piece.split()), key=len, reverse=True) for piece in pieces]
    seeds = sorted((at for at in range(len(pieces)) if len(keys[at]) >= _LEAST_SEED), key=lambda at: -len(keys[at]))
    seeds = seeds[:_MOST_SEEDS]
    copies: dict[int, LocatedSentence] = {}
    if not seeds or not says_something(pieces):
        return copies
    for offset, text, is_last in list_blocks(parts, overlap=sum(map(len, pieces)) + 2 * _MARGIN):
        here = [seed for seed in seeds if seed not in copies and all(word in text for word in words[seed])]
        if not here:
            continue
        block = _CopyBlock(text, offset, is_last=is_last)
        for seed in here:
            if seed not in copies:
                copies |= block.find(keys, seed, lambda run: says_something(pieces[run.start : run.stop]))
        if all(seed in copies for seed in seeds):
            break
    return dict(sorted(copies.items()))


def _squeeze(text: str) -> tuple[str, list[int]]:
    """Return a text without blanks and invisible characters, and the places of those that are left."""
    visible, offsets = drop_invisible(text)
    places = [at for at, character in enumerate(visible) if not character.isspace()]
    return "".join(visible.split()), [offsets[at] for at in places] if offsets else places


@dataclass(frozen=True, slots=True)
class _CopiedRun:
    """Pieces that stand one after the other in a block."""

    first: int
    spans: tuple[tuple[int, int], ...]
    """Of each piece, its characters in the squeezed text."""


class _CopyBlock:
    """One block of the document, in which copies are looked for."""

    def __init__(self, text: str, start: int, *, is_last: bool) -> None:
        self._text = text
        self._start = start
        self._is_last = is_last
        self._squeezed, self._places = _squeeze(text)

    def find(
        self, keys: Sequence[str], seed: int, says_something: Callable[[range], bool]
    ) -> dict[int, LocatedSentence]:
        """Return the sentences that the longest copied passage around a piece is from; none where there is none."""
        best: dict[int, LocatedSentence] = {}
        for place in self._find_places(keys[seed]):
            sentences = self._trim(self._extend(keys, seed, place))
            if len(sentences) > len(best) and says_something(range(min(sentences), max(sentences) + 1)):
                best = sentences
        return best

    def _find_places(self, key: str) -> Iterator[int]:
        place = -1
        for _ in range(_MOST_PLACES):
            place = self._squeezed.find(key, place + 1)
            if place < 0:
                return
            yield place

    def _extend(self, keys: Sequence[str], seed: int, place: int) -> _CopiedRun:
        spans = [(place, place + len(keys[seed]))]
        first = last = seed
        while first and (span := self._step_back(keys[first - 1], spans[0][0])):
            spans.insert(0, span)
            first -= 1
        while last + 1 < len(keys) and (span := self._step_on(keys[last + 1], spans[-1][1])):
            spans.append(span)
            last += 1
        return _CopiedRun(first, tuple(spans))

    def _step_on(self, key: str, end: int) -> tuple[int, int] | None:
        skipped = _BETWEEN.match(self._squeezed, end)
        for start in (end, skipped.end() if skipped else end):
            if self._squeezed.startswith(key, start):
                return start, start + len(key)
        return None

    def _step_back(self, key: str, start: int) -> tuple[int, int] | None:
        for end in range(start, max(0, start - _BETWEEN_LENGTH) - 1, -1):
            is_between = _BETWEEN.fullmatch(self._squeezed, end, start)
            if is_between and end >= len(key) and self._squeezed.startswith(key, end - len(key)):
                return end - len(key), end
        return None

    def _trim(self, run: _CopiedRun) -> dict[int, LocatedSentence]:
        """Return the sentences of the pieces from the first that begins one to the last that ends one."""
        spans = [(self._places[start], self._places[end - 1] + 1) for start, end in run.spans if end > start]
        if len(spans) < len(run.spans):
            return {}
        ends = self._list_ends(spans[0][0], spans[-1][1])
        starts = [self._find_start(start, ends) for start, _ in spans]
        stops = [self._find_stop(end, ends) for _, end in spans]
        first = next((at for at, start in enumerate(starts) if start is not None), len(spans))
        last = next((at for at in range(len(spans) - 1, -1, -1) if stops[at] is not None), -1)
        return {run.first + at: self._sentence(*spans[at], ends) for at in range(first, last + 1)}

    def _list_ends(self, start: int, end: int) -> list[int]:
        """Return where sentences begin and end around a span."""
        first, last = max(0, start - _MARGIN), min(len(self._text), end + _MARGIN)
        ends = {*find_ends(self._text, first, last)}
        ends |= {found.end() for found in _HEADING.finditer(self._text, first, last)}
        if first == 0 and self._start == 0:
            ends.add(len(self._text) - len(self._text.lstrip()))
        if last == len(self._text) and self._is_last:
            ends.add(last)
        return sorted(ends)

    def _find_start(self, start: int, ends: Sequence[int]) -> int | None:
        """Return where the sentence begins that these characters are the beginning of."""
        before = (end for end in reversed(ends) if end <= start)
        return next((end for end in before if _BULLETS.fullmatch(self._text, end, start)), None)

    def _find_stop(self, end: int, ends: Sequence[int]) -> int | None:
        closed = _CLOSING.match(self._text, end)
        stop = closed.end() if closed else end
        after = next((one for one in ends if one >= stop), None)
        return stop if after is not None and not self._text[stop:after].strip() else None

    def _sentence(self, start: int, end: int, ends: Sequence[int]) -> LocatedSentence:
        first = max((one for one in ends if one <= start), default=start)
        last = min((one for one in ends if one >= end), default=end)
        quote = self._text[first:last]
        first += len(quote) - len(quote.lstrip())
        last = first + len(quote.strip())
        return LocatedSentence(self._text[first:last], self._start + first, self._start + last)
