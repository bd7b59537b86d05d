r"""Find the passages of an answer that are copied from the document word for word.

    document    # Who built it?\nThe mill was built by Odo Farr,\na carpenter. He died in 1601.
    answer      Who built it? The mill was built by Odo Farr, a carpenter.      copied, in two pieces

A passage is a run of the answer's pieces that stand in the document one after the other. Blanks, line ends, bullets,
quotes and invisible characters do not count. It begins and ends where sentences of the document do: "Ada signed it." is
no copy of "Nobody says that Ada signed it."
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.matching import UNSPACED, drop_invisible
from bookwheel.text.sentences import find_ends
from bookwheel.types import Part
from bookwheel.verdict.parsing import STRUCK
from bookwheel.verdict.search import LocatedSentence, list_blocks

# Characters before and after a passage in which the sentences' ends are looked for.
_MARGIN: Final = 640
# Pieces that are looked for, the longest first; a passage is found by any one of its own.
_MOST_SEEDS: Final = 32
_MOST_PLACES: Final = 16
_LEAST_SEED: Final = 8
_QUOTES: Final = "\"'“”‘’«»「」"
_PARTS: Final = compile_late(r"[“”„«»「」\"]|…|\.{3}")
_UNSPACED: Final = compile_late(f"[{UNSPACED}]")
_BULLETS: Final = compile_late(r"(?:\n|\A)\s*(?:(?:[-*•·>]+|#+|\(?\d{1,2}[.)、])\s+)+")


def find_copies(
    parts: Iterable[Part], pieces: Sequence[str], says_something: Callable[[Sequence[str]], bool]
) -> dict[int, LocatedSentence]:
    """Return the document's sentences that pieces of an answer are copied from, by the pieces' numbers.

    `says_something` tells if the pieces of a passage can be borne out at all: a name alone stands in many places.
    """
    keys = [_squeeze(piece) for piece in pieces]
    words = [sorted((word.strip(_QUOTES) for word in piece.split()), key=len, reverse=True) for piece in pieces]
    seeds = sorted((at for at in range(len(pieces)) if len(pieces[at]) >= _LEAST_SEED), key=lambda at: -len(keys[at]))
    seeds = seeds[:_MOST_SEEDS]
    copies: dict[int, LocatedSentence] = {}
    if not seeds or not says_something(pieces):
        return copies
    for offset, text, is_last in list_blocks(parts, overlap=sum(map(len, pieces)) + 2 * _MARGIN):
        here = [seed for seed in seeds if seed not in copies and all(word in text for word in words[seed])]
        if not here:
            continue
        block = _SqueezedBlock(text, offset, is_last=is_last)
        for seed in here:
            if seed not in copies:
                copies |= block.find(keys, seed, lambda run: says_something(pieces[run.start : run.stop]))
        if all(seed in copies for seed in seeds):
            break
    return dict(sorted(copies.items()))


def find_quote(parts: Iterable[Part], reply: str) -> LocatedSentence | None:
    """Return the document's sentence that a reply copies, or a line of it; None where none does.

    Of several, one that is no more than the words is meant, as a line of its own; then the longest.
    """
    keys = _list_keys(reply)
    for offset, text, is_last in list_blocks(parts, overlap=len(reply) + 2 * _MARGIN) if keys else ():
        block = _SqueezedBlock(text, offset, is_last=is_last)
        if found := [sentence for key in keys for sentence in block.find_sentences(key)]:
            return max(found, key=lambda one: (_squeeze(one.text).strip("….") in keys, len(one.text)))
    return None


def is_findable(reply: str) -> bool:
    """Tell if a reply has so many words that they stand nowhere by chance."""
    return bool(_list_keys(reply))


def _list_keys(reply: str) -> set[str]:
    """Return the squeezed words of a reply, of its lines, and of what stands in quotes or between dots there."""
    lines = reply.splitlines()
    parts = (part for line in lines for part in _PARTS.split(line))
    keys = {_squeeze(piece).strip("….") for piece in (reply, *lines, *parts)}
    # A sign of a script without blanks says as much as some letters.
    return {key for key in keys if len(key) + len(_UNSPACED.findall(key)) >= _LEAST_SEED}


def _squeeze(text: str) -> str:
    return "".join(_blank(drop_invisible(text)[0]).split())


def _blank(text: str) -> str:
    """Return a text with blanks for its bullets, its quotes, and what is struck out."""
    text = STRUCK.sub(lambda found: " " * len(found[0]), text)
    for quote in _QUOTES:
        text = text.replace(quote, " ")
    return _BULLETS.sub(lambda found: " " * len(found[0]), text)


class _SqueezedBlock:
    """One block of the document, in which copies are looked for."""

    def __init__(self, text: str, start: int, *, is_last: bool) -> None:
        self._text = text
        self._start = start
        self._is_last = is_last
        self._squeezed = _squeeze(text)

    @cached_property
    def _places(self) -> list[int]:
        """Where the squeezed characters stand; few blocks have a copy."""
        visible, offsets = drop_invisible(self._text)
        places = [at for at, sign in enumerate(_blank(visible)) if not sign.isspace()]
        return [offsets[at] for at in places] if offsets else places

    def find(
        self, keys: Sequence[str], seed: int, says_something: Callable[[range], bool]
    ) -> dict[int, LocatedSentence]:
        """Return the sentences that the longest copied passage around a piece is from; none where there is none."""
        first, last = seed, seed + 1
        while first and keys[first - 1] and "".join(keys[first - 1 : last]) in self._squeezed:
            first -= 1
        while last < len(keys) and keys[last] and "".join(keys[first : last + 1]) in self._squeezed:
            last += 1
        best: dict[int, LocatedSentence] = {}
        lengths, at = [0, *accumulate(map(len, keys[first:last]))], -1
        for _ in range(_MOST_PLACES):
            if (at := self._squeezed.find("".join(keys[first:last]), at + 1)) < 0:
                break
            sentences = self._trim(first, [at + length for length in lengths])
            if len(sentences) > len(best) and says_something(range(min(sentences), max(sentences) + 1)):
                best = sentences
        return best

    def find_sentences(self, key: str) -> Iterator[LocatedSentence]:
        """Yield the sentences in which squeezed words stand."""
        at = -1
        for _ in range(_MOST_PLACES):
            if (at := self._squeezed.find(key, at + 1)) < 0:
                return
            start, end = self._places[at], self._places[at + len(key) - 1] + 1
            yield self._sentence(start, end, self._list_ends(start, end))

    def _trim(self, first: int, bounds: Sequence[int]) -> dict[int, LocatedSentence]:
        """Return the sentences of the pieces from the first that begins one to the last that ends one."""
        spans = [(self._places[one], self._places[two - 1] + 1) for one, two in pairwise(bounds)]
        before = [self._places[one - 1] if one else -1 for one in bounds[:-1]]
        ends = self._list_ends(spans[0][0], spans[-1][1])
        begin = [at for at, (start, _) in enumerate(spans) if any(before[at] < end <= start for end in ends)]
        stop = [at for at, (_, end) in enumerate(spans) if self._is_end(end, ends)]
        kept = range(begin[0], stop[-1] + 1) if begin and stop else ()
        return {first + at: self._sentence(*spans[at], ends) for at in kept}

    def _list_ends(self, start: int, end: int) -> list[int]:
        """Return where sentences begin and end around a span."""
        first, last = max(0, start - _MARGIN), min(len(self._text), end + _MARGIN)
        ends = [*find_ends(self._text, first, last)]
        starts = [0] if first == 0 == self._start else []
        return starts + ends + ([last] if last == len(self._text) and self._is_last else [])

    def _is_end(self, end: int, ends: Sequence[int]) -> bool:
        after = next((one for one in ends if one >= end), None)
        return after is not None and not any(map(str.isalnum, self._text[end:after]))

    def _sentence(self, start: int, end: int, ends: Sequence[int]) -> LocatedSentence:
        first = max((one for one in ends if one <= start), default=start)
        last = min((one for one in ends if one >= end), default=end)
        quote = self._text[first:last]
        first += len(quote) - len(quote.lstrip())
        last = first + len(quote.strip())
        return LocatedSentence(self._text[first:last], self._start + first, self._start + last)
