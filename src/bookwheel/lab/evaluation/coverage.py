"""What a task can show: how much of its evidence a search finds, and what one constant answer earns.

A task whose evidence stands in the passages that BM25 ranks first asks for no memory. One that a constant answers asks
for no reading.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from bookwheel.lab.baselines.one_call import PASSAGE_TOKENS
from bookwheel.lab.evaluation.records import Record, group_by
from bookwheel.lab.scoring import score_answer
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


# The same questions are asked at every length.
@lru_cache(maxsize=1 << 16)
def _score_cached(metric: str, answer: str, golds: tuple[str, ...], question: str) -> float:
    return score_answer(metric, answer, golds, question).score


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
    return _summarize((sample, find_share(sample, tokenizer, budget)) for sample in samples)


def summarize_coverage(records: Iterable[Record]) -> list[TaskCoverage]:
    """Return a row for each task and length of an evaluation, each sample counting once."""
    first: dict[tuple[object, ...], Record] = {}
    for record in records:
        if record.is_counted:
            first.setdefault(record.key[:4], record)  # task, length, sample, file
    return _summarize((record, record.found_by_search) for record in first.values())


def find_default_share(sample: Sample) -> float | None:
    """Return what a search of the default size finds; None without evidence."""
    return find_share(sample, WordTokenizer(), SEARCH_TOKENS)


def find_share(sample: Sample, tokenizer: Tokenizer, budget: int) -> float | None:
    """Return the share of the evidence that lies in the best passages within the budget; None without evidence."""
    total = sum(one.end - one.start for one in sample.evidence)
    if not total:
        return None
    taken = find_passages(sample.text, sample.question, tokenizer, budget)
    overlaps = (max(0, min(one.end, p.stop) - max(one.start, p.start)) for one in sample.evidence for p in taken)
    return float(sum(overlaps) / total)


def find_passages(text: str, question: str, tokenizer: Tokenizer, budget: int) -> list[slice]:
    """Return the best passages for the question, best first, as many as the budget of tokens holds."""
    glance = text[:_GLANCE]
    size = max(1, round(PASSAGE_TOKENS * len(glance) / max(1, tokenizer.count(glance))))
    passages = list(tile_text(text, size))
    scores = score_texts([text[one] for one in passages], question)
    taken: list[slice] = []
    for place in sorted(range(len(passages)), key=lambda place: -scores[place]):
        budget -= tokenizer.count(text[passages[place]])
        if budget < 0:
            break
        taken.append(passages[place])
    return taken


def tile_text(text: str, size: int) -> Iterator[slice]:
    """Yield passages of at most `size` characters that tile the text."""
    start = 0
    while start < len(text):
        end = start + size
        if end < len(text):
            least = start + int(size * _LEAST_SHARE)
            ends = (place + len(mark) for mark in _ENDS if (place := text.rfind(mark, least, end)) >= 0)
            end = max(ends, default=0) or text.rfind(" ", least, end) + 1 or end
        yield slice(start, min(end, len(text)))
        start = end


def _summarize(rows: Iterable[tuple[Sample | Record, float | None]]) -> list[TaskCoverage]:
    table = []
    for (task, length), group in group_by(rows, lambda row: (row[0].task, row[0].length)).items():
        constant, score = find_constant([asked for asked, _ in group])
        shares = [share for _, share in group if share is not None]
        row = TaskCoverage(
            task=task,
            length=length,
            samples=len(group),
            found=sum(shares) / len(shares) if shares else None,
            complete=sum(share > 1 - 1e-9 for share in shares) / len(shares) if shares else None,
            constant=constant,
            constant_score=score,
        )
        table.append(row)
    return table


def find_constant(questions: Sequence[Sample | Record]) -> tuple[str, float]:
    """Return the best constant answer and its mean score by the questions' own metrics."""
    golds = Counter(gold for asked in questions for gold in dict.fromkeys(asked.golds))
    frequent = golds.most_common(_MOST_GOLDS)
    # Golds of one question only earn alike as a rule: one of them stands for all.
    repeated = [gold for gold, count in frequent if count > 1] or [gold for gold, _ in frequent[:1]]
    candidates = dict.fromkeys((*_STOCK, *repeated))
    scores = {
        answer: sum(_score_cached(one.metric, answer, one.golds, one.question) for one in questions) / len(questions)
        for answer in candidates
    }
    best = max(scores, key=lambda answer: scores[answer])
    return best, scores[best]
