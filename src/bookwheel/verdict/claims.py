"""Write the claims of an answer: what the search for each of its sentences has come to.

The passages that bear a sentence out are numbered as the answer's evidence. A sentence that rests on a memory which a
person has edited is said to.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from bookwheel.text.ranking import QuestionWords
from bookwheel.types import Claim, Evidence, Fit, Flag, Verdict
from bookwheel.verdict.agreement import Degree
from bookwheel.verdict.alignment import match_terms
from bookwheel.verdict.statements import Statement, parse_statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.types import Step
    from bookwheel.verdict.search import Query, Sentence

# A passage that has less of a sentence than this is not quoted for it.
_LEAST_PART: Final = 0.6
# Several passages together must have nearly all of it.
_LEAST_UNION: Final = 0.9
_MOST_PASSAGES: Final = 3
# Of the question's words, those that an answer or its passages have.
_LEAST_ASKED: Final = 0.5


class PageFinder(Protocol):
    """Knows the sources and pages of a document that has been read."""

    def sources(self, start: int, end: int) -> tuple[str, ...]:
        """Return the sources that hold these characters."""
        ...

    def pages(self, start: int, end: int) -> tuple[int, ...]:
        """Return the pages that hold these characters."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of the document that may bear out a claim."""

    sentence: Sentence
    degree: Degree
    matched: frozenset[int]
    share: float
    asked: float | None = None
    """Of a short answer: the share of the question's words in the sentence."""
    is_sole: bool = False
    """Of a short answer: it is the only one of its kind there."""


@dataclass(slots=True)
class Case:
    """A sentence of the answer, or one item of a list, while the document is searched for it."""

    statement: Statement
    query: Query
    is_fragment: bool
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def best(self) -> Candidate | None:
        """The sentence that bears it out, or comes nearest to it."""
        return max(self.candidates, key=lambda one: (one.degree, one.share), default=None)


class ClaimWriter:
    """Writes the claims, and numbers the passages that they rest on."""

    def __init__(self, question: str, steps: Sequence[Step], parts: PageFinder) -> None:
        self._question = QuestionWords(question)
        self.evidence: list[Evidence] = []
        self._parts = parts
        # In the document's order, which is not that of every way. Of a section read twice the later step counts.
        self._chunks = sorted(
            (step.chunk for step in steps if step.chunk.end > step.chunk.start and Flag.UNREAD not in step.flags),
            key=lambda chunk: chunk.start,
        )
        self._starts = [chunk.start for chunk in self._chunks]
        self._by_hand = list(_lines_by_hand(steps))

    def write(self, sentence: str, cases: list[Case] | None) -> Claim:
        """Return the claim of one sentence."""
        if cases is None:
            return Claim(text=sentence, verdict=Verdict.ABSENT)
        verdicts = [self._judge(case) for case in cases]
        missing = tuple(dict.fromkeys(word for case in cases for word in _missing(case)))
        quotes = [passage for _, passages in verdicts for passage in passages]
        degrees = {degree for degree, _ in verdicts}
        step = None if degrees == {Verdict.SUPPORTED} else self._step_by_hand(cases)
        if step is not None:
            return Claim(text=sentence, verdict=Verdict.BY_HAND, step=step, missing=missing)
        if len(degrees) > 1:
            degrees = {Verdict.PARTLY} if degrees & {Verdict.SUPPORTED, Verdict.PARTLY} else {Verdict.NOT_FOUND}
        evidence = tuple(dict.fromkeys(self._number(quote) for quote in quotes))
        return self._add_fit(Claim(text=sentence, verdict=degrees.pop(), evidence=evidence, missing=missing))

    def write_copy(self, sentence: str, source: Sentence) -> Claim:
        """Return the claim of a sentence that is copied from the document."""
        return self._add_fit(Claim(text=sentence, verdict=Verdict.QUOTED, evidence=(self._number(source),)))

    def _add_fit(self, claim: Claim) -> Claim:
        """Add whether the sentence answers the question: half of the question's words in it or its passages."""
        said = " ".join((claim.text, *(self.evidence[number].quote for number in claim.evidence)))
        fit = Fit.YES if self._question.share(said) >= _LEAST_ASKED else Fit.DOUBTFUL
        return replace(claim, answers=fit)

    def _judge(self, case: Case) -> tuple[Verdict, list[Sentence]]:
        best = case.best
        if best is None:
            return Verdict.NOT_FOUND, []
        if best.degree is Degree.FOUND:
            return Verdict.SUPPORTED, [best.sentence]
        useful = [one for one in case.candidates if one.degree is Degree.PARTLY]
        near = [one for one in useful if one.share >= _LEAST_PART]
        if case.is_fragment:
            return (Verdict.PARTLY, [near[0].sentence]) if near else (Verdict.NOT_FOUND, [])
        together = _cover(useful, len(case.statement.terms))
        if near and (not together or near[0].share >= _LEAST_UNION):
            together = [near[0].sentence]
        return (Verdict.PARTLY, together) if together else (Verdict.NOT_FOUND, [])

    def _step_by_hand(self, cases: Sequence[Case]) -> int | None:
        """Return the step at which a line that says this was written by hand."""
        for step, line in self._by_hand:
            if all(
                len(match_terms(case.statement.terms, line.terms)) >= _LEAST_PART * len(case.statement.terms)
                and case.statement.exact_keys <= set(line.keys)
                for case in cases
            ):
                return step
        return None

    def _number(self, sentence: Sentence) -> int:
        """Return the position of a passage in the evidence, where it is added if it is new."""
        for number, piece in enumerate(self.evidence):
            if (piece.start, piece.end) == (sentence.start, sentence.end):
                return number
        at = bisect_right(self._starts, sentence.start) - 1
        is_read = at >= 0 and sentence.start < self._chunks[at].end
        self.evidence.append(
            Evidence(
                quote=sentence.text,
                start=sentence.start,
                end=sentence.end,
                step=self._chunks[at].index if is_read else None,
                pages=self._parts.pages(sentence.start, sentence.end),
                sources=self._parts.sources(sentence.start, sentence.end),
            )
        )
        return len(self.evidence) - 1


def _cover(candidates: Sequence[Candidate], terms: int) -> list[Sentence]:
    """Return the fewest sentences that have nearly all of a claim's terms together, or none."""
    chosen: list[Sentence] = []
    covered: set[int] = set()
    for _ in range(_MOST_PASSAGES):
        nearest = max(candidates, key=lambda one: len(one.matched - covered), default=None)
        if nearest is None or len(nearest.matched - covered) == 0:
            break
        chosen.append(nearest.sentence)
        covered |= nearest.matched
        if len(covered) >= _LEAST_UNION * terms:
            return chosen
    return []


def _missing(case: Case) -> Iterator[str]:
    """Yield the names and numbers of a claim that the document has nowhere."""
    if case.query.is_done:
        return
    seen = {spelling for anchor in case.query.seen for spelling in anchor}
    for term in case.statement.terms:
        if term.is_exact and term.text.casefold() not in seen and term.key not in seen:
            yield term.text


def _lines_by_hand(steps: Sequence[Step]) -> Iterator[tuple[int, Statement]]:
    """Yield the lines that a person wrote into the memory, each with its step."""
    for step in steps:
        if Flag.EDITED in step.flags:
            models = {*step.conversation.reply.text.splitlines(), *step.before.text.splitlines()}
            for line in step.after.text.splitlines():
                if line.strip() and line not in models:
                    yield step.chunk.index, parse_statement(line)
