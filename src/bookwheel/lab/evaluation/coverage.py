"""What a task can show: how much of its evidence a search finds, and what one constant answer earns.

A task whose evidence stands in the passages that BM25 ranks first asks for no memory. One that a constant answers asks
for no reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol

from bookwheel.lab.baselines.one_call import PASSAGE_TOKENS
from bookwheel.lab.evaluation.records import Record
from bookwheel.lab.scoring import Score, score_answer
from bookwheel.lab.tasks.base import Sample
from bookwheel.text.ranking import score_texts
from bookwheel.text.tokens import Tokenizer, WordTokenizer

SEARCH_TOKENS: Final = 1024
"""Tokens of passages that a search may show, unless another number is asked for."""
# Answers to try beside the golds, and how many of the most frequent golds are tried.
_STOCK: Final = ("yes", "no", "not in the document", "文中没有提到", "withdrawn", "已撤回")
_MOST_GOLDS: Final = 50
_ENDS: Final = ("\n", ". ", "? ", "! ", "。", "？", "！")
# A passage is filled to this share before it may end.
_LEAST_SHARE: Final = 0.8
# Characters that tell how many of them a token has.
_GLANCE: Final = 16_384


@dataclass(frozen=True, slots=True)
class SearchPassage:
    """A span of the text."""

    start: int
    end: int


class Judged(Protocol):
    """A question that an answer can be scored for."""

    @property
    def golds(self) -> tuple[str, ...]: ...

    def score(self, answer: str | None) -> Score: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """The question of a record."""

    question: str
    golds: tuple[str, ...]
    metric: str

    def score(self, answer: str | None) -> Score:
        """Score an answer by the record's metric."""
        return _score_cached(self.metric, answer or "", self.golds, self.question)


# The same questions are asked at every length.
@lru_cache(maxsize=1 << 16)
def _score_cached(metric: str, answer: str, golds: tuple[str, ...], question: str) -> Score:
    return score_answer(metric, answer, golds, question)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCoverage:
    """What a search and a constant reach on the samples of one task and length."""

    task: str
    length: int
    samples: int
    found: float | None
    """The mean share of the evidence in the passages found; None where no sample has evidence."""
    complete: float | None
    """The share of the samples whose evidence was found whole."""
    constant: str
    """The answer that earns most when it is given to every sample."""
    constant_score: float


def measure_coverage(samples: Iterable[Sample], tokenizer: Tokenizer, budget: int) -> list[TaskCoverage]:
    """Return a row for each task and length. A search may show passages of `budget` tokens in all."""
    groups: dict[tuple[str, int], list[tuple[Judged, float | None]]] = {}
    for sample in samples:
        row = (sample, find_share(sample, tokenizer, budget))
        groups.setdefault((sample.task, sample.length), []).append(row)
    return [_summarize(key, group) for key, group in groups.items()]


def summarize_coverage(records: Iterable[Record]) -> list[TaskCoverage]:
    """Return a row for each task and length of an evaluation, each sample counting once."""
    groups: dict[tuple[str, int], dict[str, tuple[Judged, float | None]]] = {}
    for record in records:
        group = groups.setdefault((record.task, record.length), {})
        if record.is_counted and record.sample not in group:
            asked = AskedQuestion(question=record.question, golds=record.golds, metric=record.metric)
            group[record.sample] = (asked, record.found_by_search)
    return [_summarize(key, list(group.values())) for key, group in groups.items() if group]


def find_default_share(sample: Sample) -> float | None:
    """Return what a search of the default size finds; None without evidence."""
    return find_share(sample, WordTokenizer(), SEARCH_TOKENS)


def find_share(sample: Sample, tokenizer: Tokenizer, budget: int) -> float | None:
    """Return the share of the evidence that lies in the best passages within the budget; None without evidence."""
    total = sum(one.end - one.start for one in sample.evidence)
    if not total:
        return None
    taken = find_passages(sample.text, sample.question, tokenizer, budget)
    overlaps = (max(0, min(one.end, p.end) - max(one.start, p.start)) for one in sample.evidence for p in taken)
    return sum(overlaps) / total


def find_passages(text: str, question: str, tokenizer: Tokenizer, budget: int) -> list[SearchPassage]:
    """Return the best passages for the question, best first, as many as the budget of tokens holds."""
    glance = text[:_GLANCE]
    size = max(1, round(PASSAGE_TOKENS * len(glance) / max(1, tokenizer.count(glance))))
    passages = list(tile_text(text, size))
    scores = score_texts([text[one.start : one.end] for one in passages], question)
    taken: list[SearchPassage] = []
    for place in sorted(range(len(passages)), key=lambda place: -scores[place]):
        passage = passages[place]
        budget -= tokenizer.count(text[passage.start : passage.end])
        if budget < 0:
            break
        taken.append(passage)
    return taken


def tile_text(text: str, size: int) -> Iterator[SearchPassage]:
    """Yield passages of at most `size` characters that tile the text."""
    start = 0
    while start < len(text):
        end = start + size
        if end < len(text):
            least = start + int(size * _LEAST_SHARE)
            ends = (place + len(mark) for mark in _ENDS if (place := text.rfind(mark, least, end)) >= 0)
            end = max(ends, default=0) or text.rfind(" ", least, end) + 1 or end
        yield SearchPassage(start, min(end, len(text)))
        start = end


def _summarize(key: tuple[str, int], group: Sequence[tuple[Judged, float | None]]) -> TaskCoverage:
    constant, score = find_constant([asked for asked, _ in group])
    shares = [share for _, share in group if share is not None]
    return TaskCoverage(
        task=key[0],
        length=key[1],
        samples=len(group),
        found=sum(shares) / len(shares) if shares else None,
        complete=sum(share > 1 - 1e-9 for share in shares) / len(shares) if shares else None,
        constant=constant,
        constant_score=score,
    )


def find_constant(questions: Sequence[Judged]) -> tuple[str, float]:
    """Return the best constant answer and its mean score by the questions' own metrics."""
    golds = Counter(gold for asked in questions for gold in dict.fromkeys(asked.golds))
    frequent = golds.most_common(_MOST_GOLDS)
    # Golds of one question only earn alike as a rule: one of them stands for all.
    repeated = [gold for gold, count in frequent if count > 1] or [gold for gold, _ in frequent[:1]]
    candidates = dict.fromkeys((*_STOCK, *repeated))
    scores = {answer: sum(asked.score(answer).score for asked in questions) / len(questions) for answer in candidates}
    best = max(scores, key=lambda answer: scores[answer])
    return best, scores[best]
