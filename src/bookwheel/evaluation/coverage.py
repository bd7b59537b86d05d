"""What a task can show: how much of its evidence a search finds, and what one constant answer earns.

A task whose evidence stands in the passages that BM25 ranks first asks for no memory. One that a constant answers asks
for no reading.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bookwheel.reading.ways.bm25 import PASSAGE_TOKENS, rank_passages
from bookwheel.text.chunks import split

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bookwheel.tasks.base import Sample
    from bookwheel.text.tokens import Tokenizer
    from bookwheel.types import Chunk

# Answers to try beside the golds, and how many of the most frequent golds are tried.
_STOCK: Final = ("yes", "no", "not in the document", "文中没有提到")
_MOST_GOLDS: Final = 200


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
    shares: dict[tuple[str, int], list[float]] = {}
    groups: dict[tuple[str, int], list[Sample]] = {}
    for sample in samples:
        key = (sample.task, sample.length)
        groups.setdefault(key, []).append(sample)
        share = find_share(sample, tokenizer, budget)
        if share is not None:
            shares.setdefault(key, []).append(share)
    return [_summarize(key, group, shares.get(key, [])) for key, group in groups.items()]


def find_share(sample: Sample, tokenizer: Tokenizer, budget: int) -> float | None:
    """Return the share of the evidence that lies in the best passages within the budget; None without evidence."""
    if not sample.evidence:
        return None
    passages = list(split(sample.document, tokenizer, PASSAGE_TOKENS))
    taken: list[Chunk] = []
    tokens = 0
    for place in rank_passages([passage.text for passage in passages], sample.question):
        tokens += passages[place].tokens
        if tokens > budget:
            break
        taken.append(passages[place])
    covered = sum(_overlap(one.start, one.end, taken) for one in sample.evidence)
    total = sum(one.end - one.start for one in sample.evidence)
    return covered / total if total else None


def _overlap(start: int, end: int, passages: Sequence[Chunk]) -> int:
    return sum(max(0, min(end, passage.end) - max(start, passage.start)) for passage in passages)


def _summarize(key: tuple[str, int], samples: Sequence[Sample], shares: Sequence[float]) -> TaskCoverage:
    constant, score = find_constant(samples)
    return TaskCoverage(
        task=key[0],
        length=key[1],
        samples=len(samples),
        found=sum(shares) / len(shares) if shares else None,
        complete=sum(share > 1 - 1e-9 for share in shares) / len(shares) if shares else None,
        constant=constant,
        constant_score=score,
    )


def find_constant(samples: Sequence[Sample]) -> tuple[str, float]:
    """Return the best constant answer and its mean score by the samples' own metrics."""
    golds = Counter(gold for sample in samples for gold in dict.fromkeys(sample.golds))
    candidates = dict.fromkeys((*_STOCK, *(gold for gold, _ in golds.most_common(_MOST_GOLDS))))
    scores = {answer: sum(sample.score(answer).score for sample in samples) / len(samples) for answer in candidates}
    best = max(scores, key=lambda answer: scores[answer])
    return best, scores[best]
