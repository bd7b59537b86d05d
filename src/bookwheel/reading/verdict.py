"""The verdict on an answer: for each of its sentences, what the document says to it.

    "The plan was signed by Agostino Ramelli."   found      the document says so; its sentence is quoted
    "Ramelli, born in Este, asked 12,400 livres" partly     its parts stand in two places, and both are quoted
    "The miller was called Odo."                 by-hand    that was written into the memory after step 3
    "It was burnt in 1601."                      not-found  the document has no such sentence
    "The document does not say who paid."        absent     the model says that it is not there

A wrong "found" is worse than a wrong "partly": what is not surely the same counts as less. The document is searched
once for all sentences together, in blocks, so that the cost grows with its length and the memory does not.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from bookwheel.reading.remarks import says_absent
from bookwheel.text.agreement import Degree, compare, match_terms
from bookwheel.text.fragments import compare_fragment, is_fragment, list_items
from bookwheel.text.sentence_search import Query, Sentence, make_query, search
from bookwheel.text.statements import Statement, parse_statement
from bookwheel.types import Claim, Evidence, Flag, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bookwheel.types import Document, Part, Step

_SENTENCE: Final = re.compile(
    r"(?:(?!\n)(?:[^.!?。！？\n]|(?<=\bMr)\.|(?<=\bMrs)\.|(?<=\bDr)\.|(?<=\bSt)\.|(?<=\b[A-Z])\.|[.!?](?=[^\s\"'”’)\]])))+"
    r"[.!?。！？]*[\"'”’)\]」』]*"
)
_BULLET: Final = re.compile(r"\s*(?:[-*•·>]+|#+|\(?\d{1,2}[.)、])\s+")
_CHOICE: Final = re.compile(r"\s*(?:yes|no|是的?|不是|否|对|不)[\s.,,。!]*", re.IGNORECASE)
_NO: Final = re.compile(r"\s*(?:no|不|否)", re.IGNORECASE)
# A passage that has less of a sentence than this is not quoted for it.
_LEAST_PART: Final = 0.6
# Several passages together must have nearly all of it.
_LEAST_UNION: Final = 0.9
_MOST_PASSAGES: Final = 3
# Terms of a sentence that says something by itself.
_LEAST_SENTENCE: Final = 4
# Of a claim's candidates, those that are compared with each other at the end.
_MOST_CANDIDATES: Final = 24


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence of the document that may bear out a claim."""

    sentence: Sentence
    degree: Degree
    matched: frozenset[int]
    share: float


@dataclass(slots=True)
class _Case:
    """A sentence of the answer, or one item of a list, while the document is searched for it."""

    statement: Statement
    query: Query
    is_fragment: bool
    candidates: list[_Candidate] = field(default_factory=list)

    @property
    def best(self) -> _Candidate | None:
        """The sentence that bears it out, or comes nearest to it."""
        return max(self.candidates, key=lambda one: (one.degree, one.share), default=None)


def judge_answer(
    answer: str, question: str, steps: Sequence[Step], document: Document, *, end: int | None = None
) -> tuple[tuple[Evidence, ...], tuple[Claim, ...]]:
    """Return the passages that the answer rests on, and its sentences with their verdicts.

    With `end`, only the document's text before that character counts.
    """
    asked = parse_statement(question)
    sentences = [sentence for sentence in split_answer(answer) if _is_judged(sentence)]
    cases = {sentence: _make_cases(sentence, question, asked) for sentence in sentences if not says_absent(sentence)}
    parts = _PlacedParts(document, end)
    flat = [case for several in cases.values() for case in several]
    if flat:
        _search(flat, asked, parts)
    writer = _Writer(steps, parts)
    claims = tuple(writer.write(sentence, cases.get(sentence)) for sentence in sentences)
    return tuple(writer.evidence), claims


def split_answer(answer: str) -> list[str]:
    """Return the sentences of an answer, without bullets, as they stand there."""
    found = []
    if (values := _json_values(answer)) is not None:
        return values
    for sentence in _SENTENCE.findall(answer):
        bullet = _BULLET.match(sentence)
        found.append((sentence[bullet.end() :] if bullet else sentence).strip())
    return [sentence for sentence in found if sentence]


def _json_values(answer: str) -> list[str] | None:
    """Return the texts and numbers of an answer in JSON; None where it is none."""
    if not answer.lstrip().startswith(("{", "[")):
        return None
    try:
        todo = [json.loads(answer)]
    except ValueError:
        return None
    values: list[str] = []
    while todo:
        value = todo.pop(0)
        if isinstance(value, dict | list):
            todo[:0] = value.values() if isinstance(value, dict) else value
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            values.append(str(value))
    return [value for value in values if value.strip()]


def _is_judged(sentence: str) -> bool:
    """Tell if a sentence says something. Headings and "Here is the answer:" do not."""
    return not sentence.endswith((":", "：")) and bool(
        parse_statement(sentence).terms or _CHOICE.fullmatch(sentence) or says_absent(sentence)
    )


def _make_cases(sentence: str, question: str, asked: Statement) -> list[_Case]:
    choice = _CHOICE.match(sentence)
    if choice and choice.end() == len(sentence):
        # "No" claims the question with a negation that it does not have.
        statement = parse_statement(f"not {question}" if _NO.match(sentence) else question)
        return [_make_case(statement, asked, fragment=False)]
    sentence = sentence[choice.end() :] if choice and choice[0].rstrip()[-1:] in ",," else sentence
    statement = parse_statement(sentence)
    if not is_fragment(sentence, statement):
        return [_make_case(statement, asked, fragment=False)]
    items = list_items(sentence)
    return [_make_case(parse_statement(item), asked, fragment=True) for item in items]


def _make_case(statement: Statement, asked: Statement, *, fragment: bool) -> _Case:
    query = make_query(statement)
    if fragment and len(statement.terms) == 1 and not query.required:
        # A single plain word stands everywhere; the question's words tell where to look.
        query = Query((*query.anchors, *make_query(asked).anchors), query.required)
    return _Case(statement, query, fragment)


def _search(cases: Sequence[_Case], asked: Statement, parts: Iterable[Part]) -> None:
    for number, sentences in search(parts, [case.query for case in cases]):
        case = cases[number]
        for sentence in sentences:
            if any(one.sentence.text == sentence.text for one in case.candidates):
                continue
            candidate = _compare(case, asked, sentence)
            if candidate.share:
                case.candidates.append(candidate)
            if candidate.degree is Degree.FOUND:
                case.query.is_done = True
                break
        case.candidates = sorted(case.candidates, key=lambda one: (-one.degree, -one.share))[:_MOST_CANDIDATES]


def _compare(case: _Case, asked: Statement, sentence: Sentence) -> _Candidate:
    passage = parse_statement(sentence.text)
    # A whole sentence of the document is no fragment, whatever was asked.
    is_whole = len(case.statement.terms) >= _LEAST_SENTENCE and case.statement.keys == passage.keys
    if case.is_fragment and not is_whole:
        agreement, share = compare_fragment(case.statement, asked, passage, parse_statement(sentence.before))
    else:
        agreement = compare(case.statement, passage)
        share = len(agreement.matched) / max(1, len(case.statement.terms))
    return _Candidate(sentence, agreement.degree, agreement.matched, share)


class _PlacedParts:
    """The parts of a document, read once and remembered by their pages only."""

    def __init__(self, document: Document, end: int | None) -> None:
        self._document = document
        self._end = end
        self._starts: list[int] = []
        self._pages: list[int | None] = []

    def __iter__(self) -> Iterator[Part]:
        start = 0
        for part in self._document.parts():
            if not self._pages or self._pages[-1] != part.page:
                self._starts.append(start)
                self._pages.append(part.page)
            if self._end is not None and start + len(part.text) >= self._end:
                yield replace(part, text=part.text[: self._end - start])
                return
            start += len(part.text)
            yield part

    def pages(self, start: int, end: int) -> tuple[int, ...]:
        """Return the pages that hold these characters."""
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1)
        return tuple(page for page in self._pages[max(0, first) : last] if page is not None)


class _Writer:
    """Writes the claims, and numbers the passages that they rest on."""

    def __init__(self, steps: Sequence[Step], parts: _PlacedParts) -> None:
        self.evidence: list[Evidence] = []
        self._parts = parts
        self._chunks = [step.chunk for step in steps]
        self._starts = [chunk.start for chunk in self._chunks]
        self._by_hand = list(_lines_by_hand(steps))

    def write(self, sentence: str, cases: list[_Case] | None) -> Claim:
        """Return the claim of one sentence."""
        if cases is None:
            return Claim(text=sentence, verdict=Verdict.ABSENT)
        verdicts = [self._judge(case) for case in cases]
        missing = tuple(dict.fromkeys(word for case in cases for word in _missing(case)))
        quotes = [passage for _, passages in verdicts for passage in passages]
        degrees = {degree for degree, _ in verdicts}
        step = None if degrees == {Verdict.FOUND} else self._step_by_hand(cases)
        if step is not None:
            return Claim(text=sentence, verdict=Verdict.BY_HAND, step=step, missing=missing)
        if len(degrees) > 1:
            degrees = {Verdict.PARTLY} if degrees & {Verdict.FOUND, Verdict.PARTLY} else {Verdict.NOT_FOUND}
        evidence = tuple(dict.fromkeys(self._number(quote) for quote in quotes))
        return Claim(text=sentence, verdict=degrees.pop(), evidence=evidence, missing=missing)

    def _judge(self, case: _Case) -> tuple[Verdict, list[Sentence]]:
        best = case.best
        if best is None:
            return Verdict.NOT_FOUND, []
        if best.degree is Degree.FOUND:
            return Verdict.FOUND, [best.sentence]
        useful = [one for one in case.candidates if one.degree is Degree.PARTLY]
        near = [one for one in useful if one.share >= _LEAST_PART]
        if case.is_fragment:
            return (Verdict.PARTLY, [near[0].sentence]) if near else (Verdict.NOT_FOUND, [])
        together = _cover(useful, len(case.statement.terms))
        if near and (not together or near[0].share >= _LEAST_UNION):
            together = [near[0].sentence]
        return (Verdict.PARTLY, together) if together else (Verdict.NOT_FOUND, [])

    def _step_by_hand(self, cases: Sequence[_Case]) -> int | None:
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
            )
        )
        return len(self.evidence) - 1


def _cover(candidates: Sequence[_Candidate], terms: int) -> list[Sentence]:
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


def _missing(case: _Case) -> Iterator[str]:
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
