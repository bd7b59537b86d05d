"""A short answer of a passage's own words where none can be copied out of it.

how, why          the sentence with most of the question's words, and the one after it
yes or no         no, where the sentence that has most of the question's words denies something, else yes; the
passage, where no sentence has half of them
all others        the passage: a list may be all of it, and of other words a model says which (question_scorer.py)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bookwheel.reading.ways.passages import GAP
from bookwheel.text.questions import AnswerKind, Style, find_kind, find_style
from bookwheel.text.ranking import QuestionWords, find_stems
from bookwheel.text.sentences import split_sentences
from bookwheel.verdict.parsing import NOT, parse

if TYPE_CHECKING:
    from bookwheel.models.copying import CopiedSpan

# Of the question's words, the share that a sentence must have to say yes or no: then four of five are right; or to have
# the answer where the likeliest one is of another sentence.
_LEAST: Final = 0.5
_CLAUSE_NUMBER: Final = re.compile(
    rf"(?:^|(?<={GAP})|(?<=[。.;] ))\s*(?:\d{{1,3}}(?:\.\d{{1,3}})+|\d{{1,3}}\.)(?=\s+[^\W\d_a-z])", re.MULTILINE
)

# "[2025-08-29 08:20:48Z] ana: Insurance, claim no. H-77120": when a turn was said, and nothing of what.
_STAMP: Final = re.compile(rf"(?:^|(?<={GAP}))\s*\[[^\]\n]{{4,40}}\]", re.MULTILINE)
_POWER: Final = re.compile(r"[百千万亿]+|[%％‰]")
_OF_TIME: Final = frozenset({AnswerKind.WHEN, AnswerKind.DAY, AnswerKind.CLOCK, AnswerKind.HOURS})


def choose_answer(passage: str, words: QuestionWords) -> str:
    """Return the part of a passage that answers a question."""
    body = passage.rpartition(GAP)[2]
    sentences = split_sentences(body) if find_style(words.question) is Style.SENTENCE else []
    if not sentences:
        return body
    shares = [len(find_stems(body[start:end]) & words.stems) for start, end in sentences]
    # The one after it may have the "because".
    at = shares.index(max(shares))
    return body[sentences[at][0] : sentences[min(at + 1, len(shares) - 1)][1]].strip()


def choose_span(spans: Sequence[CopiedSpan], passage: str, words: QuestionWords) -> CopiedSpan | None:
    """Return the likeliest span; not one whose sentence has nothing of the question where another's has most of it.

    A small model takes a name from the sentence beside: "Malik Osei is the chair now. The shed key is with Petra Lunn."
    """
    shares = [(end, words.share(passage[start:end])) for start, end in split_sentences(passage)]
    homes = [next(share for end, share in shares if one.start < end) for one in spans]
    if not spans or homes[0]:
        return next(iter(spans), None)
    return next((one for one, share in zip(spans, homes, strict=True) if share >= _LEAST), spans[0])


def find_polarity(passages: Sequence[str], words: QuestionWords) -> bool | None:
    """Return whether passages answer yes; None where no sentence of theirs has enough of the question's words."""
    bodies = [passage.rpartition(GAP)[2] for passage in passages]
    sentences = [body[start:end] for body in bodies for start, end in split_sentences(body)]
    best = max(sentences, key=words.share, default="")
    return None if words.share(best) < _LEAST else not parse(best).marks[NOT]


def find_figure_end(passage: str, end: int) -> int:
    """Return where a figure ends of which a span has the digits: of "11.5万册次", "11.5" is another number."""
    rest = _POWER.match(passage, end) if passage[end - 1 : end].isdigit() else None
    return rest.end() if rest else end


def is_label(question: str, passage: str, start: int, end: int) -> bool:
    """Tell if a span is no more than what stands before the words: the number of a clause, the time of a turn.

    "561.1" is one before "Within thirty days the Operator pays …"; a turn's time is none where a time is asked for.
    """
    labels = [_CLAUSE_NUMBER] if find_kind(question) in _OF_TIME else [_CLAUSE_NUMBER, _STAMP]
    found = (one.span() for label in labels for one in label.finditer(passage))
    return any(first <= start and end <= last for first, last in found)
