"""The passages of a verdict as evidence: where the memory's line came from first, then what else the document says.

A fact that the memory took in at step 20 is cited at step 20, whatever earlier passage shares its words.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

from bookwheel.claims import Evidence
from bookwheel.flags import Flag
from bookwheel.text.lines import FILE_HEADER, find_lines, has_lines
from bookwheel.text.matching import find_missing_words, parse_words
from bookwheel.types import Part, Step
from bookwheel.verdict.parsing import parse, share_terms
from bookwheel.verdict.provenance import SupportsSlice, find_origins
from bookwheel.verdict.search import MOST_CONTEXT, LocatedSentence, find_sentence

# Of a sentence's terms, those that a line of the memory must have to be what it rests on.
_LEAST_SHARED: Final = 0.6


class SupportsParts(Protocol):
    """The part of a document that a verdict needs."""

    def parts(self) -> Iterable[Part]: ...


class PlacedParts:
    """The parts of a document, remembered by their sources and pages only."""

    def __init__(self, document: SupportsParts) -> None:
        self.document = document
        self._starts: list[int] = []
        self._places: list[tuple[str, int | None]] = []

    def __iter__(self) -> Iterator[Part]:
        start = 0
        for part in self.document.parts():
            # The parts are read twice, and either time perhaps not to the end.
            is_further = not self._starts or start > self._starts[-1]
            if is_further and (not self._places or self._places[-1] != (part.source, part.page)):
                self._starts.append(start)
                self._places.append((part.source, part.page))
            start += len(part.text)
            yield part

    def pages(self, start: int, end: int) -> tuple[int, ...]:
        return tuple(dict.fromkeys(page for _, page in self._find(start, end) if page is not None))

    def sources(self, start: int, end: int) -> tuple[str, ...]:
        return tuple(dict.fromkeys(source for source, _ in self._find(start, end)))

    def lines(self, start: int, end: int) -> tuple[int, ...]:
        """Return the first and the last line of the file that these characters stand in."""
        if not isinstance(self.document, SupportsSlice) or not has_lines(", ".join(self.sources(start, end))):
            return ()
        return find_lines(self.document.slice, self._starts[bisect_right(self._starts, start) - 1], start, end)

    def _find(self, start: int, end: int) -> list[tuple[str, int | None]]:
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1)
        return self._places[max(0, first) : last]


class EvidenceList:
    """Numbers the passages that the sentences of one answer rest on."""

    def __init__(self, steps: Sequence[Step], parts: PlacedParts) -> None:
        self.pieces: list[Evidence] = []
        self._parts = parts
        # In the document's order, which is not that of every way. Of a section read twice the later step counts.
        self._chunks = sorted(
            (step.chunk for step in steps if step.chunk.end > step.chunk.start and Flag.UNREAD not in step.flags),
            key=lambda chunk: chunk.start,
        )
        self._starts = [chunk.start for chunk in self._chunks]
        found = find_origins(steps, parts.document) if isinstance(parts.document, SupportsSlice) else ()
        self._origins = [(one, one.quote) for one in found if one.quote and not one.by_hand]
        self._by_hand = [(one.since, one.line) for one in found if one.by_hand]

    def add(
        self, text: str, passages: Iterable[LocatedSentence], near: Iterable[LocatedSentence] = ()
    ) -> tuple[int, ...]:
        """Return the numbers of the passages for a sentence; what the memory took it from stands first.

        That is a sentence of the document where one of the passages, or of those `near`, is there.
        """
        passages, near = list(passages), list(near)
        first = [self._number_origin(quote, (*passages, *near)) for quote in self._find_origins(text)]
        return tuple(dict.fromkeys((*first, *self.number(passages))))

    def number(self, passages: Iterable[LocatedSentence]) -> tuple[int, ...]:
        """Return the numbers of passages, whatever the memory took them for."""
        return tuple(self._number(one.text, one.start, one.end) for one in passages)

    def _number_origin(self, quote: Evidence, passages: Iterable[LocatedSentence]) -> int:
        for one in passages:
            if one.start < quote.end and one.end > quote.start:
                return self._number(one.text, one.start, one.end)
        whole = _widen(quote, self._parts.document)
        return self._number(whole.text, whole.start, whole.end, quote.step)

    def list_origins(self, text: str) -> list[LocatedSentence]:
        """Return where the lines of the memory came from, those first that have most of a text."""
        keys = list(parse(text).keys)
        ranked = sorted(self._origins, key=lambda pair: -share_terms(keys, parse(pair[0].line).keys))
        return [_widen(quote, self._parts.document) for _, quote in ranked]

    def find_step_by_hand(self, text: str, missing: Sequence[str]) -> int | None:
        """Return the step at which a line was written by hand that says this, or has what the document has nowhere.

        That are the names and numbers of it in `missing`.
        """
        words, keys, lost = parse_words(text), list(parse(text).keys), parse_words(" ".join(missing))
        for step, line in self._by_hand:
            held = set(parse(line).keys)
            there = {word.index_key for word in parse_words(line)}
            says_all = share_terms(keys, held) >= _LEAST_SHARED and not find_missing_words(words, there)
            if says_all or (lost and not find_missing_words(lost, there)):
                return step
        return None

    def _find_origins(self, text: str) -> list[Evidence]:
        """Return where the lines of the memory came from that have most of a sentence, alone or together."""
        keys, found = list(parse(text).keys), list[Evidence]()
        lines = [(parse(origin.line).keys.keys(), quote) for origin, quote in self._origins]
        left = set(keys)
        while lines and left:
            best, quote = max(lines, key=lambda pair: len(left & pair[0]))
            if not left & best:
                break
            found.append(quote)
            left -= best
        return found if keys and 1 - len(left) / len(keys) >= _LEAST_SHARED else []

    def _number(self, quote: str, start: int, end: int, step: int | None = None) -> int:
        """Return the position of a passage in the evidence, where it is added if it is new."""
        for number, piece in enumerate(self.pieces):
            if (piece.start, piece.end) == (start, end):
                return number
        at = bisect_right(self._starts, start) - 1
        if step is None and at >= 0 and start < self._chunks[at].end:
            step = self._chunks[at].index
        pages, sources = self._parts.pages(start, end), self._parts.sources(start, end)
        lines = self._parts.lines(start, end)
        if header := FILE_HEADER.fullmatch(quote):
            # Words of ours: the file's name, which stands on none of its lines.
            quote, lines = header[1], ()
        piece = Evidence(quote=quote, start=start, end=end, step=step, pages=pages, sources=sources, lines=lines)
        self.pieces.append(piece)
        return len(self.pieces) - 1


def _widen(quote: Evidence, document: SupportsParts) -> LocatedSentence:
    """Return the sentence that a run of common words is a piece of."""
    if not isinstance(document, SupportsSlice):
        return LocatedSentence(quote.quote, quote.start, quote.end)
    first = max(0, quote.start - MOST_CONTEXT)
    around = document.slice(first, quote.end + MOST_CONTEXT)
    start, end = find_sentence(around, quote.start - first, quote.end - first)
    return LocatedSentence(around[start:end], first + start, first + end)
