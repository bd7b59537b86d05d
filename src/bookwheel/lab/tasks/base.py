"""A sample: a document, a question, the right answers, and the places in the document that give them.

This module knows nothing of how samples are made, read or stored.

    Sample(task="niah_single_2", question="What is the special number for amber-kettle?", golds=("4821907",),
           document=…, metric="contains", length=8192, tokens=8190, evidence=(
               GoldEvidence(start=10233, end=10291, note="amber-kettle: 4821907"),))
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from itertools import chain
from typing import Any, Final

from bookwheel.errors import InputError
from bookwheel.lab.scoring import Score, score_answer, score_missing_answer
from bookwheel.text.leads import WithLeads
from bookwheel.types import Document, Message, Part


class MemoryRule(StrEnum):
    """The rule by which the ideal memory of a sample grows."""

    NOTES = "notes"
    """The notes of the evidence read so far; a note replaces an older one with the same key."""
    TALLY = "tally"
    """The most frequent words so far with their counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldEvidence:
    """A span of the document that the answer needs, with the note that a perfect reader takes there."""

    start: int
    """Character offset into the document's text."""
    end: int
    note: str = ""
    """Empty: no note, the span is only shown to people."""
    key: str = ""
    """A later note with the same key replaces this one."""
    replaces: tuple[str, ...] = ()
    """Keys of other notes that this one replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingSample:
    """A sample that could not be made at the requested length."""

    task: str
    id: str
    reason: str
    length: int = 0


MISSING: Final = "infeasible"
"""The field, first in its line, with the reason why a sample could not be made."""


class SampleDocument(WithLeads):
    """A document in pieces, so that a long one is never joined just to be read.

    >>> SampleDocument("letters", ["Dear Ada, ", "the wheel turns."]).slice(5, 15)
    'Ada, the w'
    """

    __slots__ = ("_pieces", "length", "name")

    def __init__(self, name: str, pieces: Iterable[str]) -> None:
        self.name = name
        self._pieces = tuple(pieces)
        self.length = sum(map(len, self._pieces))

    def parts(self, start: int = 0) -> Iterator[Part]:
        for piece in self._pieces:
            if start < len(piece):
                yield Part(text=piece[start:] if start > 0 else piece, source=self.name)
            start -= len(piece)

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def slice(self, start: int, end: int) -> str:
        """Return the characters from `start` up to `end`, without joining the rest."""
        pieces: list[str] = []
        for part in self.parts(start):
            pieces.append(part.text[: end - start])
            start += len(part.text)
            if start >= end:
                break
        return "".join(pieces)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SampleDocument):
            return NotImplemented
        return (self.name, self.length) == (other.name, other.length) and self.text == other.text

    def __hash__(self) -> int:
        return hash((self.name, self.length))

    def __repr__(self) -> str:
        return f"SampleDocument({self.name!r}, {self.length} characters)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCall:
    """The one call by which a benchmark was published to ask for a sample's answer."""

    benchmark: str
    messages: tuple[Message, ...]
    reply_tokens: int
    """0: none is published, and the plan's holds."""
    temperature: float | None
    top_p: float | None
    first_line: bool = False
    """Only the answer's first line is compared."""
    way: str = ""
    """The way of reading that stands in for the call, where there are no messages."""
    preset: str = ""
    """Whose plan that way has; empty for the user's."""
    judge: tuple[str, ...] = ()
    """What the benchmark's own judge is sent, user and assistant by turns, with ANSWER where the answer goes."""


ANSWER: Final = "\0answer\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question about one document, with the golds and the metric that score an answer."""

    id: str
    """Unique within a task, length, seed and language."""
    task: str
    question: str
    golds: tuple[str, ...]
    """Alternatives or parts, as the metric says."""
    document: Document
    metric: str
    """The name of the metric that scores it."""
    length: int = 0
    """The requested tokens: the column of a report."""
    tokens: int = 0
    """The real number of tokens, by the tokenizer it was made with."""
    seed: int = 0
    language: str = "en"
    evidence: tuple[GoldEvidence, ...] = ()
    """In the document's order."""
    memory: MemoryRule = MemoryRule.NOTES
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Plain JSON values, such as the split and the tokenizer."""
    published: PublishedCall | None = None
    """How it is asked as published; metric and golds are the published ones then. It stands in no file."""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.document.parts())

    @property
    def content(self) -> str:
        """A hash of what the sample asks and how it is judged: question, golds, metric and document."""
        asked = json.dumps([self.question, list(self.golds), self.metric], ensure_ascii=True)
        return self._hash(asked, repr(self.published) if self.published else "")

    @property
    def document_hash(self) -> str:
        return self._hash()

    def _hash(self, before: str = "", after: str = "") -> str:
        digest = hashlib.sha256()
        for text in chain([before], (part.text for part in self.document.parts()), [after]):
            digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:16]

    def score(self, answer: str | None) -> Score:
        """Score an answer by the sample's own metric; None, a missing answer, counts as wrong."""
        if answer is None:
            return score_missing_answer("the reading failed")
        if self.published and self.published.first_line:
            answer = take_first_line(answer)
        return score_answer(self.metric, answer, self.golds, self.question)


def take_first_line(answer: str) -> str:
    """Return the first line, after empty ones."""
    return answer.lstrip("\n").split("\n")[0]


class InfeasibleSample(InputError):
    """One sample cannot be made at the requested length; others of its series may be."""

    task: str = ""
    """Filled in by the series, as is `sample`."""
    sample: str = ""
    """The id that the sample would have had."""
    length: int = 0


GOLDS: Final = ("golds", "answers", "answer")
"""The names that gold answers have in files."""


def parse_golds(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the gold answers under any of the names in use: golds, answers, answer.

    ValueError when there is none.
    """
    value = next((record[key] for key in GOLDS if key in record), None)
    values = value if isinstance(value, list) else [value]
    values = [str(gold) if isinstance(gold, int | float) and not isinstance(gold, bool) else gold for gold in values]
    if not values or not all(isinstance(gold, str) and gold for gold in values):
        raise ValueError("'golds' (or 'answers', or 'answer') must be a text, a number or a list of them, none empty")
    return tuple(values)


def refuse_misspelt(record: Mapping[str, Any]) -> None:
    """Raise ValueError for a field that is nearly one of ours: other people's fields stay, but no lost `metric`.

    >>> refuse_misspelt({"metrics": "choice"})
    Traceback (most recent call last):
    ...
    ValueError: there is no field 'metrics'; did you mean 'metric'?
    """
    for name in _DECISIVE - record.keys():
        if near := get_close_matches(name, record, n=1, cutoff=0.85):
            raise ValueError(f"there is no field {near[0]!r}; did you mean {name!r}?")


_DECISIVE: Final = frozenset({"metric", "language", "memory", "length"})


def write_gold(value: object) -> str:
    """Return a gold answer of another project as a text: a number, a date or a truth value is written out."""
    if value is None:
        raise ValueError("the gold answer is null")
    return str(value)
