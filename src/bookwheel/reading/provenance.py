"""Where the final memory came from: for each line of it the step that brought it in and the words in the document.

Pure, over a reading's steps and anything that can give a slice of the document; only the chunks in which a line was
written or reworded are looked at, one at a time, so the cost does not grow with what lies between them.

A line is followed back through the memories: it is the same line while its words are, or most of them. Its quote is
the longest run of its words in the chunk, letter case, blanks, punctuation and invisible characters aside; the quote
itself is given in the document's own characters. A line whose numbers or names stand nowhere in those chunks was not
found in the text, however well the rest of it reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol, Self

from bookwheel.text.matching import Passage, Word, find_missing_words, is_claim, parse_words, word_overlap
from bookwheel.types import Evidence, Flag, Step

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

_SAME: Final = 0.5
"""Share of the shorter line's words that two wordings of one line have in common."""
_LONG: Final = 240
"""Characters from which a line is taken sentence by sentence."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？；])")
_MOST_CHUNKS: Final = 4
"""How many of the chunks that changed a line are searched for its words: the first and the newest ones."""
_MOST_EVIDENCE: Final = 5


class SupportsSlice(Protocol):
    """What is asked of a document here; the journal's documents have it."""

    def slice(self, start: int, end: int) -> str:
        """The characters from `start` up to `end`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOrigin:
    """Where one line of the final memory is from."""

    line: str
    """As it stands in the final memory; a sentence of it where the line is long."""
    step: int
    """At which it, or an earlier wording of it, entered."""
    since: int
    """The step from which on it has its final wording."""
    sources: tuple[str, ...]
    pages: tuple[int, ...]
    start: int
    """Span of the chunk that was read when it entered."""
    end: int
    quote: Evidence | None
    """The longest run of its words that stands in the text."""
    found: bool
    """Whether its words, and all of its numbers and names, stand in the chunks that it is from."""
    missing: tuple[str, ...] = ()
    """Its numbers and names that do not."""
    by_hand: bool = False
    """It was written by the one who edited the memory, not by the model."""


def find_origins(steps: Sequence[Step], document: SupportsSlice) -> tuple[LineOrigin, ...]:
    """For each line of the final memory that claims something, where it is from."""
    if not steps:
        return ()
    library = _Library(steps, document)
    return tuple(_origin(trail, library) for trail in _trails(steps))


def find_evidence(answer: str, steps: Sequence[Step], document: SupportsSlice) -> tuple[Evidence, ...]:
    """The sentences of the document that the answer rests on, best first: through the memory lines that speak of it."""
    said = parse_words(answer)
    wanted = {word.index_key for word in said if word.is_distinctive}
    if not wanted or not steps:
        return ()
    library = _Library(steps, document)
    trails = [(trail, len(wanted & trail.marks)) for trail in _trails(steps)]
    least = max((1, *(common / 2 for _, common in trails)))
    speaking = sorted((pair for pair in trails if pair[1] >= least), key=lambda pair: -pair[1])[:_MOST_EVIDENCE]
    found: list[Evidence] = []
    for trail, _ in speaking:
        spans = [(at, library.passage(at).find_sentence(said, trail.marks)) for at in trail.chunks]
        if not any(span for _, span in spans):
            spans = [(at, library.passage(at).find_sentence(trail.words, wanted)) for at in trail.chunks]
        found += [library.evidence(at, span) for at, span in spans if span]
    found.sort(key=lambda piece: -len(wanted & {word.index_key for word in parse_words(piece.quote)}))
    return _apart(found)[:_MOST_EVIDENCE]


def is_supported(answer: str, found: Sequence[Evidence]) -> bool:
    """Whether the answer stands in its evidence: every number and name of it, and at least half of its other words."""
    there = {word.key for piece in found for word in parse_words(piece.quote)}
    return not find_missing_words(parse_words(answer), there) and word_overlap(parse_words(answer), there) >= _SAME


@dataclass(frozen=True, slots=True)
class _Trail:
    """A line's way back: the steps that changed its wording, the first of them where it entered."""

    line: str
    words: tuple[Word, ...]
    changes: list[int]
    by_hand: bool

    @property
    def marks(self) -> set[str]:
        """What it is about."""
        return {word.index_key for word in self.words if word.is_distinctive}

    @property
    def chunks(self) -> list[int]:
        """Where its words may stand: the chunk it entered with, then the newest that it was reworded with."""
        return list(dict.fromkeys((self.changes[0], *reversed(self.changes[1:]))))[:_MOST_CHUNKS]


def _trails(steps: Sequence[Step]) -> list[_Trail]:
    """Follow every line of the final memory back until it has no earlier wording."""
    current = dict(enumerate(_lines(steps[-1].after.text)))
    following = dict(current)
    changes: dict[int, list[int]] = {number: [] for number in current}
    for at in range(len(steps) - 1, -1, -1):
        before, after = steps[at].before.text, steps[at].after.text
        if before == after and steps[at].after.text:
            continue
        older = _Lines(before, staying={_key(line) for line in _lines(after)})
        for number, line in list(following.items()):
            earlier = older.like(line)
            if earlier is None:
                del following[number]
            else:
                following[number] = earlier
            if earlier is None or _key(earlier) != _key(line):
                changes[number].append(at)
        if not following:
            break
    for number in following:
        changes[number].append(0)
    return [
        _Trail(line, parse_words(line), changes[number][::-1], _is_by_hand(line, steps[changes[number][0]]))
        for number, line in current.items()
    ]


def _is_by_hand(line: str, entered: Step) -> bool:
    return Flag.EDITED in entered.flags and _Lines(entered.conversation.reply.text).like(line) is None


class _Lines:
    """The lines of one memory, to find in it what another calls by nearly the same words.

    A line that stays as it is in the other memory is no earlier wording of anything else there.
    """

    def __init__(self, text: str, staying: Container[tuple[str, ...]] = ()) -> None:
        self._by_key = {_key(line): line for line in _lines(text)}
        self._wordings = [_Wording.of(line) for key, line in self._by_key.items() if key not in staying]

    def like(self, line: str) -> str | None:
        """The line that has the same words, or the most of them and none of other figures."""
        if (key := _key(line)) in self._by_key:
            return self._by_key[key]
        mine = _Wording.of(line)
        nearest = max(self._wordings, key=mine.nearness, default=None)
        return nearest.line if nearest and mine.nearness(nearest) >= _SAME else None


@dataclass(frozen=True, slots=True)
class _Wording:
    """A line as another is compared with it."""

    line: str
    marks: frozenset[str]
    figures: frozenset[str]

    @classmethod
    def of(cls, line: str) -> Self:
        marks = frozenset(_key(line))
        return cls(line, marks, frozenset(mark for mark in marks if mark[:1].isdigit()))

    def nearness(self, other: Self) -> float:
        """0 to 1; two lines with nothing but different figures tell of different things."""
        common = len(self.marks & other.marks)
        least = min(len(self.marks), len(other.marks))
        if common < min(2, len(self.marks)) or (self.figures and other.figures and not self.figures & other.figures):
            return 0.0
        return common / least


@lru_cache(maxsize=4096)
def _key(line: str) -> tuple[str, ...]:
    """A line as it is compared: its telling words, or all of them where it has none."""
    said = parse_words(line)
    return tuple(word.index_key for word in said if word.is_distinctive) or tuple(word.key for word in said)


def _lines(memory: str) -> Iterator[str]:
    for line in memory.splitlines():
        for sentence in _SENTENCE_END.split(line) if len(line) > _LONG else (line,):
            if is_claim(sentence):
                yield sentence.strip()


class _Library:
    """The chunks of a reading, each fetched and taken apart when it is asked for, a few kept at hand."""

    def __init__(self, steps: Sequence[Step], document: SupportsSlice) -> None:
        self.steps = steps
        self._document = document
        self._passages: dict[int, Passage] = {}

    def passage(self, at: int) -> Passage:
        """The chunk of a step."""
        if at not in self._passages:
            if len(self._passages) > 2 * _MOST_CHUNKS:
                self._passages.clear()
            chunk = self.steps[at].chunk
            self._passages[at] = Passage(chunk.text or self._document.slice(chunk.start, chunk.end))
        return self._passages[at]

    def evidence(self, at: int, span: tuple[int, int]) -> Evidence:
        """A stretch of a step's chunk, in the document's characters."""
        chunk = self.steps[at].chunk
        start, end = span
        return Evidence(
            quote=self.passage(at).text[start:end],
            start=chunk.start + start,
            end=chunk.start + end,
            step=chunk.index,
            pages=chunk.pages,
        )


def _origin(trail: _Trail, library: _Library) -> LineOrigin:
    best: tuple[int, int, tuple[int, int]] | None = None
    there: set[str] = set()
    for at in trail.chunks:
        passage = library.passage(at)
        there |= passage.index_keys
        run = passage.find_longest_run(trail.words)
        if run and (best is None or run[0] > best[0]):
            best = (run[0], at, run[1])
    missing = find_missing_words(trail.words, there)
    chunk = library.steps[trail.changes[0]].chunk
    return LineOrigin(
        line=trail.line,
        step=chunk.index,
        since=library.steps[trail.changes[-1]].chunk.index,
        sources=chunk.sources,
        pages=chunk.pages,
        start=chunk.start,
        end=chunk.end,
        quote=library.evidence(best[1], best[2]) if best else None,
        found=bool(best) and not missing and word_overlap(trail.words, there) >= _SAME,
        missing=missing,
        by_hand=trail.by_hand,
    )


def _apart(found: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Without stretches that overlap a better one."""
    kept: list[Evidence] = []
    for piece in found:
        if all(piece.end <= other.start or other.end <= piece.start for other in kept):
            kept.append(piece)
    return tuple(kept)
