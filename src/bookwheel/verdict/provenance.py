"""Provenance: for each line of the final memory, the step that brought it in and its words in the document.

Pure, over a reading's steps and anything that can return a slice of the document. Only the chunks at which a line was
written or reworded are searched, one at a time, so the cost does not grow with the steps between them.

A line is followed back through the memories: it stays the same line while most of its words stay. Its quote is the
longest run of its words in the chunk, ignoring letter case, blanks, punctuation and invisible characters, and is given
in the document's own characters. A line whose numbers or names stand in none of those chunks counts as not found,
however well the rest of it matches.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol, Self, runtime_checkable

from bookwheel.claims import Evidence
from bookwheel.flags import Flag
from bookwheel.text.matching import Passage, Word, find_missing_words, is_claim, parse_words, word_overlap
from bookwheel.text.sentences import list_sentences
from bookwheel.types import Step
from bookwheel.verdict.measure import Surroundings, contradicts, measure
from bookwheel.verdict.parsing import parse

# Two lines are wordings of one fact when they share half of the shorter one's words.
_SAME: Final = 0.5
# A longer line, in characters, is traced sentence by sentence.
_LONG: Final = 240
# Of the chunks that changed a line, only the first and the newest ones are searched.
_MOST_CHUNKS: Final = 4
# Of a line's words that say something, the share that a quote must have: three words in common are no source.
_LEAST_QUOTED: Final = 0.5
# A sentence with this share of a line's words that says something else contradicts it.
_SAME_FACT: Final = 0.6


@runtime_checkable
class SupportsSlice(Protocol):
    """A document whose chunks can be read again."""

    def slice(self, start: int, end: int) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOrigin:
    """The origin of one line of the final memory."""

    line: str
    """The line in the final memory, or a sentence of it where the line is long."""
    step: int
    """The step at which it, or an earlier wording of it, entered."""
    since: int
    """The step that gave it its final wording."""
    sources: tuple[str, ...]
    pages: tuple[int, ...]
    start: int
    """Span of the chunk that was read when it entered."""
    end: int
    quote: Evidence | None
    """The longest run of its words that stands in the text; None where it is no source."""
    found: bool
    """Its words, and all of its numbers and names, stand in the chunks that it is from."""
    missing: tuple[str, ...] = ()
    """Its numbers and names that stand in none of them."""
    by_hand: bool = False
    """Written by the person who edited the memory, not by the model."""


def find_origins(steps: Sequence[Step], document: SupportsSlice) -> tuple[LineOrigin, ...]:
    """Return the origin of each line of the final memory that claims something."""
    if not steps:
        return ()
    chunks = _ChunkCache(steps, document)
    return tuple(_origin(trail, chunks) for trail in _trails(steps))


@dataclass(frozen=True, slots=True)
class _Trail:
    """A line and the steps that changed its wording; it entered at the first of them."""

    line: str
    words: tuple[Word, ...]
    changes: list[int]
    by_hand: bool

    @property
    def chunks(self) -> list[int]:
        """The chunks to search: the one it entered with, then the newest that reworded it."""
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
        there = {_key(line) for line in _lines(after)}
        older = _Lines(before, staying=there)
        for number, line in list(following.items()):
            # Segments that are read side by side have memories of their own.
            if _key(line) not in there:
                continue
            earlier = older.find(line)
            # A merge shows no text of the document: what is new in it comes from another segment.
            if earlier is None and steps[at].chunk.start == steps[at].chunk.end:
                continue
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
        _Trail(line, parse_words(line), changes[number][::-1], _is_by_hand(line, steps, changes[number]))
        for number, line in current.items()
    ]


def _is_by_hand(line: str, steps: Sequence[Step], changes: Sequence[int]) -> bool:
    """Tell if a person wrote the line, or gave it its wording. The newest of the changes comes first."""
    newest = steps[changes[0]]
    if Flag.EDITED in newest.flags and _Lines(newest.conversation.reply.text).find(line) is None:
        return True
    return any(
        _has_line(steps[at].after.text, line) and not _has_line(steps[at].conversation.reply.text, line)
        for at in changes
        if Flag.EDITED in steps[at].flags
    )


def _has_line(text: str, line: str) -> bool:
    return any(_key(other) == _key(line) for other in _lines(text))


class _Lines:
    """The lines of one memory, searched for earlier wordings of another memory's lines.

    A line that both memories share is no earlier wording of anything else.
    """

    def __init__(self, text: str, staying: Container[tuple[str, ...]] = ()) -> None:
        self._by_key = {_key(line): line for line in _lines(text)}
        self._wordings = [_Wording.of(line) for key, line in self._by_key.items() if key not in staying]

    def find(self, line: str) -> str | None:
        """Return the line with the same words, or with most of them and no other figures."""
        if (key := _key(line)) in self._by_key:
            return self._by_key[key]
        mine = _Wording.of(line)
        nearest = max(self._wordings, key=mine.nearness, default=None)
        return nearest.line if nearest and mine.nearness(nearest) >= _SAME else None


@dataclass(frozen=True, slots=True)
class _Wording:
    """A line prepared for comparison."""

    line: str
    marks: frozenset[str]
    figures: frozenset[str]

    @classmethod
    def of(cls, line: str) -> Self:
        marks = frozenset(_key(line))
        return cls(line, marks, frozenset(mark for mark in marks if mark[:1].isdigit()))

    def nearness(self, other: Self) -> float:
        """Return the share of common words, 0 to 1; lines with different figures are about different things."""
        common = len(self.marks & other.marks)
        least = min(len(self.marks), len(other.marks))
        if common < min(2, len(self.marks)) or (self.figures and other.figures and not self.figures & other.figures):
            return 0.0
        return common / least


@lru_cache(maxsize=4096)
def _key(line: str) -> tuple[str, ...]:
    """Return the words to compare a line by: those that say something, or all of them."""
    words = parse_words(line)
    return tuple(word.index_key for word in words if word.is_distinctive) or tuple(word.key for word in words)


def _lines(memory: str) -> Iterator[str]:
    for line in memory.splitlines():
        for sentence in list_sentences(line) if len(line) > _LONG else (line.strip(),):
            if is_claim(sentence):
                yield sentence


class _ChunkCache:
    """The chunks of a reading, fetched on demand; a few are cached."""

    def __init__(self, steps: Sequence[Step], document: SupportsSlice) -> None:
        self.steps = steps
        self._document = document
        self._passages: dict[int, Passage] = {}

    def passage(self, at: int) -> Passage:
        if at not in self._passages:
            if len(self._passages) > 2 * _MOST_CHUNKS:
                self._passages.clear()
            chunk = self.steps[at].chunk
            self._passages[at] = Passage(chunk.text or self._document.slice(chunk.start, chunk.end))
        return self._passages[at]

    def evidence(self, at: int, span: tuple[int, int]) -> Evidence:
        """Return a span of a step's chunk as evidence, in the document's characters."""
        chunk = self.steps[at].chunk
        start, end = chunk.start + span[0], chunk.start + span[1]
        pages, sources, lines = (getattr(self._document, name, None) for name in ("pages", "sources", "lines"))
        return Evidence(
            quote=self.passage(at).text[slice(*span)],
            start=start,
            end=end,
            step=chunk.index,
            pages=pages(start, end) if pages else chunk.pages,
            sources=sources(start, end) if sources else chunk.sources,
            lines=lines(start, end) if lines else (),
        )


def _origin(trail: _Trail, chunks: _ChunkCache) -> LineOrigin:
    best: tuple[int, int, tuple[int, int]] | None = None
    there: set[str] = set()
    for at in trail.chunks:
        passage = chunks.passage(at)
        there |= passage.index_keys
        run = passage.find_longest_run(trail.words)
        if run and (best is None or run[0] > best[0]):
            best = (run[0], at, run[1])
    missing = find_missing_words(trail.words, there)
    is_found = bool(best) and not missing and word_overlap(trail.words, there) >= _SAME
    if best and _is_contradicted(trail, chunks.passage(best[1]), best[2]):
        is_found, best = False, None
    elif best and not is_found and not _is_quoted(trail, chunks.passage(best[1]), best[2]):
        best = None
    chunk = chunks.steps[trail.changes[0]].chunk
    return LineOrigin(
        line=trail.line,
        step=chunk.index,
        since=chunks.steps[trail.changes[-1]].chunk.index,
        sources=chunk.sources,
        pages=chunk.pages,
        start=chunk.start,
        end=chunk.end,
        quote=chunks.evidence(best[1], best[2]) if best else None,
        found=is_found,
        missing=missing,
        by_hand=trail.by_hand,
    )


def _is_quoted(trail: _Trail, passage: Passage, span: tuple[int, int]) -> bool:
    """Tell if a run of common words is enough of a line to be its source."""
    quoted = {word.index_key for word in parse_words(passage.text[slice(*span)])}
    return word_overlap(trail.words, quoted) >= _LEAST_QUOTED


def _is_contradicted(trail: _Trail, passage: Passage, span: tuple[int, int]) -> bool:
    """Tell if the sentence of a run of common words speaks of the same and says something else."""
    line, sentence = parse(trail.line), parse(passage.text[slice(*passage.expand_to_sentence(*span))])
    features = measure(line, parse(""), [sentence], Surroundings([sentence]))
    return features["in all"] >= _SAME_FACT and contradicts(features)
