"""A sample: something to read, what is asked of it, what the right answer is, and where it stands.

Knows nothing of how samples are made, read or stored.

    Sample(task="niah_single_2", question="What is the special number for amber-kettle?", golds=("4821907",),
           document=…, metric="contains", length=8192, tokens=8190, evidence=(
               Evidence(start=10233, end=10291, note="amber-kettle: 4821907"),))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from bookwheel.scoring import Score, load_metric, score_missing_answer
from bookwheel.types import Document, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class MemoryRule(StrEnum):
    """How the ideal memory of a sample grows."""

    NOTES = "notes"
    """From the notes of the evidence read so far; a note takes the place of an older one with its key."""
    TALLY = "tally"
    """The most frequent words so far with their counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldEvidence:
    """A span of the document that the answer rests on, and what a perfect reader notes on reading it."""

    start: int
    """Character offset into the document's text."""
    end: int
    note: str = ""
    """Empty: nothing to be noted, the span is only shown to people."""
    key: str = ""
    """A later note with the same key takes this one's place: the last value wins."""
    replaces: tuple[str, ...] = ()
    """Keys of further notes that this one makes needless."""


class SampleDocument:
    """A document held as pieces, so that the longest ones need not be joined to be read.

    >>> SampleDocument("letters", ["Dear Ada, ", "the wheel turns."]).slice(5, 15)
    'Ada, the w'
    """

    __slots__ = ("_pieces", "length", "name")

    def __init__(self, name: str, pieces: Iterable[str]) -> None:
        self.name = name
        self._pieces = tuple(pieces)
        self.length = sum(map(len, self._pieces))

    def parts(self, start: int = 0) -> Iterator[Part]:
        """The text from character `start` on."""
        for piece in self._pieces:
            if start < len(piece):
                yield Part(text=piece[start:] if start > 0 else piece, source=self.name)
            start -= len(piece)

    @property
    def text(self) -> str:
        """The whole, joined."""
        return "".join(self._pieces)

    def slice(self, start: int, end: int) -> str:
        """The characters from `start` up to `end`."""
        found: list[str] = []
        for part in self.parts(start):
            found.append(part.text[: end - start])
            start += len(part.text)
            if start >= end:
                break
        return "".join(found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SampleDocument):
            return NotImplemented
        return (self.name, self.length) == (other.name, other.length) and self.text == other.text

    def __hash__(self) -> int:
        return hash((self.name, self.length))

    def __repr__(self) -> str:
        return f"SampleDocument({self.name!r}, {self.length} characters)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question put to one document, with all that judging the answer takes."""

    id: str
    """Unique within a task, length, seed and language."""
    task: str
    question: str
    golds: tuple[str, ...]
    """Alternatives or parts, as the metric says."""
    document: Document
    metric: str
    """The name of the metric in `bookwheel.scoring` that judges it."""
    length: int = 0
    """The tokens asked for: the column of a report that it belongs to."""
    tokens: int = 0
    """The tokens it has, by the tokenizer it was made with."""
    seed: int = 0
    language: str = "en"
    evidence: tuple[GoldEvidence, ...] = ()
    """In the document's order."""
    memory: MemoryRule = MemoryRule.NOTES
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Plain JSON values: how it was made, and which tokenizer counted."""

    @property
    def text(self) -> str:
        """The document's text, joined."""
        return "".join(part.text for part in self.document.parts())

    def score(self, answer: str | None) -> Score:
        """What an answer earns by this sample's own metric; None is an answer that never came, and counts as wrong."""
        return (
            score_missing_answer("the reading failed")
            if answer is None
            else load_metric(self.metric)(answer, self.golds)
        )
