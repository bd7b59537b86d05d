"""An answer of a lasting memory: with its verdict, the words of the texts that it rests on, and what others say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bookwheel.claims import BORNE_OUT, WORDS, Claim, Evidence, Fit, Verdict, mark_seen, sum_up_fits, sum_up_verdicts
from bookwheel.journal.memory_rows import MemoryVersion
from bookwheel.memory.opened import OpenMemory
from bookwheel.memory.passages import DatedQuote, PassageDocument
from bookwheel.memory.pictures import find_marks
from bookwheel.memory.values import find_rivals, says_more
from bookwheel.text.lexicon import stem
from bookwheel.text.matching import find_missing_words, parse_words
from bookwheel.text.ranking import QuestionWords
from bookwheel.types import Status, Usage
from bookwheel.verdict.judge import judge_answer

Judged = tuple[Sequence[Evidence], Sequence[Claim]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAnswer:
    """The answer to a question put to a lasting memory."""

    question: str
    answer: str
    origin: str
    """`memory` or `texts`."""
    version: int
    verdict: Verdict | None
    answers: Fit | None = None
    claims: tuple[Claim, ...] = ()
    evidence: tuple[DatedQuote, ...] = ()
    superseded: tuple[DatedQuote, ...] = ()
    """What older texts say in its place, newest first."""
    newer: tuple[DatedQuote, ...] = ()
    """What newer texts say in its place."""
    gaps: tuple[MemoryVersion, ...] = ()
    """The version that it was answered from, where its memory was full and did not take a piece in whole."""
    as_of: str = ""
    """The time that it was asked of; empty where that was now."""
    usage: Usage = field(default_factory=Usage)
    status: Status = Status.ANSWERED
    error: str = ""


def judge_words(text: str, question: str, version: int, document: PassageDocument, origin: str) -> MemoryAnswer:
    """Return an answer in the texts' own words with its verdict by words."""
    judged = judge_answer(text, question, (), document, is_copied=True)
    return describe(text, question, version, document, origin, judged)


def describe(
    text: str, question: str, version: int, document: PassageDocument, origin: str, judged: Judged
) -> MemoryAnswer:
    """Return the answer with its verdict, its quotes, and what other texts say in its place."""
    found, claims = _keep_quotes(*judged, document)
    claims = tuple(_mark_idle(_mark_written(claim, found), found, question) for claim in claims)
    rivals = [one for one in find_rivals(text, found, question, document) if not any(_overlap(one, it) for it in found)]
    newer = [one for one in rivals if found and all(_is_newer(one, quote) for quote in found)]
    return MemoryAnswer(
        question=question,
        answer=text,
        origin=origin,
        version=version,
        verdict=sum_up_verdicts(claims),
        answers=sum_up_fits(claims),
        claims=claims,
        evidence=found,
        superseded=tuple(one for one in rivals if one not in newer and not says_more(one.quote, text)),
        newer=tuple(newer),
    )


def _is_newer(one: DatedQuote, other: DatedQuote) -> bool:
    """Return whether words are of a later time, or of the same file that was changed."""
    mine, theirs = (datetime.fromisoformat(quote.at) for quote in (one, other))
    return mine > theirs or (mine == theirs and one.source == other.source and one.text > other.text > 0)


def _overlap(one: DatedQuote, other: DatedQuote) -> bool:
    return one.text == other.text != 0 and one.start < other.end and other.start < one.end


def _keep_quotes(
    evidence: Sequence[Evidence], claims: Sequence[Claim], document: PassageDocument
) -> tuple[tuple[DatedQuote, ...], tuple[Claim, ...]]:
    """Return the evidence as words of the texts, and the claims with its places; a line above a text is left out."""
    quotes = [document.quote(piece.start, piece.end) for piece in evidence]
    kept = [at for at, quote in enumerate(quotes) if quote and quote.quote.strip()]
    places = {at: place for place, at in enumerate(kept)}

    def move(cited: Sequence[int]) -> tuple[int, ...]:
        return tuple(places[at] for at in cited if at in places)

    moved = (replace(claim, evidence=move(claim.evidence), against=move(claim.against)) for claim in claims)
    return tuple(quote for quote in quotes if quote and quote.quote.strip()), tuple(moved)


def _mark_written(claim: Claim, quotes: Sequence[DatedQuote]) -> Claim:
    """Return a claim as written by hand where the words of the texts alone do not have its names and numbers."""
    cited = [quotes[at] for at in claim.evidence]
    if claim.verdict not in {*BORNE_OUT, Verdict.PARTLY} or all(one.text for one in cited):
        return claim
    words = {word.index_key for one in cited if one.text for word in parse_words(one.quote)}
    is_told = words and not find_missing_words(parse_words(claim.text), words)
    return claim if is_told else replace(claim, verdict=Verdict.BY_HAND, missing=(), unsaid=(), score=None)


def _mark_idle(claim: Claim, quotes: Sequence[DatedQuote], question: str) -> Claim:
    """Return a claim that words alone bear out as doubtful where they are of another matter than the question.

    They share none of its words, or only a name.
    """
    asked = QuestionWords(question)
    names = {stem(word.index_key) for word in parse_words(question) if word.is_exact}
    matter = asked.stems - names or asked.stems
    is_of_it = not matter or any(asked.find(quotes[at].quote) & matter for at in claim.evidence)
    is_sure = claim.judge == WORDS and claim.evidence and claim.answers is Fit.YES
    return replace(claim, answers=Fit.DOUBTFUL) if is_sure and not is_of_it else claim


def add_seen(opened: OpenMemory, answer: MemoryAnswer, marks: Sequence[str]) -> MemoryAnswer:
    """Return the answer with what no words bear out said to be seen in these pictures."""
    is_open = any(claim.verdict is Verdict.NOT_FOUND for claim in answer.claims)
    if not is_open or not (quotes := find_marks(opened, marks)):
        return answer
    claims = mark_seen(answer.claims, tuple(range(len(answer.evidence), len(answer.evidence) + len(quotes))))
    return replace(answer, claims=claims, verdict=sum_up_verdicts(claims), evidence=(*answer.evidence, *quotes))
