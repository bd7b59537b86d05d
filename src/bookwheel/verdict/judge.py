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
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from bookwheel.text.remarks import says_absent
from bookwheel.text.sentences import list_sentences
from bookwheel.verdict.agreement import Degree, compare
from bookwheel.verdict.claims import Candidate, Case, ClaimWriter
from bookwheel.verdict.copies import find_copies
from bookwheel.verdict.fragments import (
    compare_fragment,
    is_fragment,
    lacks_subject,
    list_asked,
    list_items,
    share_asked,
)
from bookwheel.verdict.search import Query, Sentence, make_query, search
from bookwheel.verdict.statements import Statement, parse_statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bookwheel.types import Claim, Evidence, Part, Step

_BULLETS: Final = re.compile(r"(?:\s*(?:[-*•·>]+|#+|\(?\d{1,2}[.)、])\s+(?=\S))+")
_CHOICE: Final = re.compile(r"\s*(?:yes|no|是的?|不是|否|对|不)[\s.,,。!]*", re.IGNORECASE)
_NO: Final = re.compile(r"\s*(?:no|不|否)", re.IGNORECASE)
# A line that is long enough to be broken by its width: its end divides nothing, unlike a heading's or a table's.
_WRAPPED: Final = re.compile(r"^(?!\s*#)([^\n]{40,})\n", re.MULTILINE)
# Terms of a sentence that says something by itself.
_LEAST_SENTENCE: Final = 4
# Of a claim's candidates, those that are compared with each other at the end.
_MOST_CANDIDATES: Final = 24
# Sentences that are remembered because they have most of the question's words.
_MOST_LEADERS: Final = 8


class SupportsParts(Protocol):
    """The part of a document that a verdict needs."""

    def parts(self) -> Iterable[Part]:
        """Yield the text from its beginning."""
        ...


def judge_answer(
    answer: str, question: str, steps: Sequence[Step], document: SupportsParts
) -> tuple[tuple[Evidence, ...], tuple[Claim, ...]]:
    """Return the passages that the answer rests on, and its sentences with their verdicts."""
    asked = parse_statement(question)
    pieces = split_answer(answer)
    parts = _PlacedParts(document)
    copies = _find_copies(parts, pieces)
    judged = [at for at, piece in enumerate(pieces) if _is_judged(piece)]
    own = dict.fromkeys(pieces[at] for at in judged if at not in copies and not says_absent(pieces[at]))
    # A sentence that an answer repeats is looked for once.
    cases = {piece: _make_cases(piece, question, asked) for piece in own}
    flat = [case for several in cases.values() for case in several]
    if flat:
        _search(flat, asked, parts)
    writer = ClaimWriter(question, steps, parts)
    claims = tuple(
        writer.write_copy(pieces[at], copies[at]) if at in copies else writer.write(pieces[at], cases.get(pieces[at]))
        for at in judged
    )
    return tuple(writer.evidence), claims


def _find_copies(parts: Iterable[Part], pieces: Sequence[str]) -> dict[int, Sentence]:
    """Return where pieces of an answer are copied from. A lone "It does not say" is the model's own."""
    copies = find_copies(parts, pieces, _says_something)
    return {
        at: sentence
        for at, sentence in copies.items()
        if not says_absent(pieces[at]) or {at - 1, at + 1} & copies.keys()
    }


def _says_something(passage: Sequence[str]) -> bool:
    """Tell if a copy bears a passage out. A name, or a list of two, stands in many places."""
    return any(_is_sentence(text) for text in (*passage, " ".join(passage)))


def _is_sentence(text: str) -> bool:
    statement = parse_statement(text)
    return len(statement.terms) >= _LEAST_SENTENCE and not is_fragment(text, statement)


def split_answer(answer: str) -> list[str]:
    """Return the sentences of an answer, without bullets, as they stand there."""
    if (values := _json_values(answer)) is not None:
        return values
    sentences: list[str] = []
    for line in answer.splitlines():
        bullets = _BULLETS.match(line)
        sentences += list_sentences(line[bullets.end() :] if bullets else line)
    return sentences


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


def _make_cases(sentence: str, question: str, asked: Statement) -> list[Case]:
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


def _make_case(statement: Statement, asked: Statement, *, fragment: bool) -> Case:
    query = make_query(statement)
    if fragment and len(statement.terms) == 1 and not query.required:
        # A single plain word stands everywhere; the question's words tell where to look.
        query = Query((*query.anchors, *make_query(asked).anchors), query.required)
    return Case(statement, query, fragment)


def _search(cases: Sequence[Case], asked: Statement, parts: Iterable[Part]) -> None:
    leaders = _Leaders(asked) if any(case.is_fragment for case in cases) else None
    queries = [case.query for case in cases] + ([leaders.query] if leaders else [])
    for number, sentences in search(parts, queries):
        if number == len(cases) and leaders:
            leaders.add(sentences)
            continue
        case = cases[number]
        for sentence in sentences:
            if any(one.sentence.text == sentence.text for one in case.candidates):
                continue
            candidate = _compare(case, asked, sentence)
            if candidate.share:
                case.candidates.append(candidate)
            if candidate.degree is Degree.FOUND and candidate.asked is None:
                case.query.is_done = True
                break
        if leaders and all(case.query.is_done for case in cases):
            leaders.query.is_done = True
        case.candidates = sorted(case.candidates, key=lambda one: (-one.degree, -one.share))[:_MOST_CANDIDATES]
    if leaders:
        for case in cases:
            case.candidates = [leaders.settle(one) for one in case.candidates]


class _Leaders:
    """The sentences of the document that have most of the question's words: an answer of a few words is from there."""

    def __init__(self, question: Statement) -> None:
        self.query = make_query(question)
        self._asked = list_asked(question)
        self._shares: dict[str, float] = {}

    def add(self, sentences: Sequence[Sentence]) -> None:
        """Take in sentences of the document, and keep the best."""
        for sentence in sentences:
            self._shares[sentence.text] = share_asked(self._asked, parse_statement(sentence.text))
        kept = sorted(self._shares, key=lambda text: -self._shares[text])[:_MOST_LEADERS]
        self._shares = {text: self._shares[text] for text in kept}

    def settle(self, candidate: Candidate) -> Candidate:
        """Return a candidate that is found no more where another sentence has more of the question's words."""
        if candidate.degree is not Degree.FOUND or candidate.asked is None:
            return candidate
        most = max((share for text, share in self._shares.items() if text != candidate.sentence.text), default=0.0)
        is_less = candidate.asked <= most if candidate.is_sole else candidate.asked < most
        return replace(candidate, degree=Degree.PARTLY) if is_less else candidate


def _compare(case: Case, asked: Statement, sentence: Sentence) -> Candidate:
    passage = parse_statement(_WRAPPED.sub(r"\1 ", sentence.text))
    # A whole sentence of the document is no fragment, whatever was asked.
    is_whole = len(case.statement.terms) >= _LEAST_SENTENCE and case.statement.keys == passage.keys
    if case.is_fragment and not is_whole:
        match = compare_fragment(case.statement, asked, passage, parse_statement(sentence.before))
        return Candidate(
            sentence, match.agreement.degree, match.agreement.matched, match.share, match.asked, is_sole=match.is_sole
        )
    agreement = compare(case.statement, passage)
    if agreement.degree is Degree.FOUND and lacks_subject(case.statement, passage, agreement.start):
        agreement = replace(agreement, degree=Degree.PARTLY)
    share = len(agreement.matched) / max(1, len(case.statement.terms))
    return Candidate(sentence, agreement.degree, agreement.matched, share)


class _PlacedParts:
    """The parts of a document, read once and remembered by their sources and pages only."""

    def __init__(self, document: SupportsParts) -> None:
        self._document = document
        self._starts: list[int] = []
        self._places: list[tuple[str, int | None]] = []

    def __iter__(self) -> Iterator[Part]:
        start = 0
        for part in self._document.parts():
            # The parts are read twice, and either time perhaps not to the end.
            is_further = not self._starts or start > self._starts[-1]
            if is_further and (not self._places or self._places[-1] != (part.source, part.page)):
                self._starts.append(start)
                self._places.append((part.source, part.page))
            start += len(part.text)
            yield part

    def pages(self, start: int, end: int) -> tuple[int, ...]:
        """Return the pages that hold these characters."""
        return tuple(dict.fromkeys(page for _, page in self._find(start, end) if page is not None))

    def sources(self, start: int, end: int) -> tuple[str, ...]:
        """Return the sources that hold these characters."""
        return tuple(dict.fromkeys(source for source, _ in self._find(start, end)))

    def _find(self, start: int, end: int) -> list[tuple[str, int | None]]:
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1)
        return self._places[max(0, first) : last]
