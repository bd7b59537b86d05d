"""The metrics: pure functions from an answer and the gold answers to a Score, for training and evaluation alike.

A metric of another package registers through the entry point group `bookwheel.metrics`.

    exact         the answer is a gold answer and nothing more
    contains      a gold answer stands in the answer, on token boundaries; never the other way round
    f1            overlap of tokens with the nearest gold (words; characters in Chinese)
    all_of        every gold stands in the answer, else 0
    share_of      the share of the golds that stand in the answer
    unanswerable  the answer says that the document does not say
    official      the metric published with MemAgent, flaws included; only to compare with published figures

For `exact`, `contains` and `f1` the golds are alternatives and any of them counts. For `all_of` and `share_of`
they are the values that were asked for together. An empty answer scores 0 in every metric but `official`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol, cast

from bookwheel.errors import InputError
from bookwheel.plugins import list_names, require_plugin
from bookwheel.reading.remarks import is_absence
from bookwheel.scoring.normalization import ARTICLES, contains_words, words, words_with_articles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The score of an answer.

    >>> contains("It was Ada Quill.", ["Ada Quill", "Quill"])
    Score(score=1.0, reason='holds "Ada Quill"', parts={})
    """

    score: float
    """From 0 to 1."""
    reason: str = ""
    """An explanation for people who look at a single sample."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """The parts of the score, if it has any: one for each gold, or precision and recall."""


class Metric(Protocol):
    """A function that scores an answer."""

    def __call__(self, answer: str, golds: Sequence[str]) -> Score:
        """Return the score of `answer`. The golds are alternatives or parts, as the metric says."""
        ...


_NOTHING: Final = Score(score=0.0, reason="the answer is empty")


def exact(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 when the answer's tokens are those of a gold answer."""
    answer_words = words(answer)
    if not answer_words:
        return _NOTHING
    for gold in golds:
        if answer_words == words(gold):
            return Score(score=1.0, reason=f'is "{gold}"')
    return Score(score=0.0, reason="is none of the golds")


def contains(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 when a gold answer stands in the answer as whole tokens; an answer inside a gold scores 0."""
    if not words_with_articles(answer):
        return _NOTHING
    for gold in golds:
        if _is_within(gold, answer):
            return Score(score=1.0, reason=f'holds "{gold}"')
    return Score(score=0.0, reason="holds none of the golds")


def _is_within(gold: str, answer: str) -> bool:
    """Return True when the gold stands in the answer. Only a gold of articles alone ("The The") keeps its articles."""
    wanted = words(gold)
    answer_words = words_with_articles(answer) if set(wanted) <= ARTICLES else words(answer)
    return contains_words(answer_words, wanted)


def f1(answer: str, golds: Sequence[str]) -> Score:
    """Score the best harmonic mean of precision and recall over tokens; yes and no must match exactly."""
    answer_words = words(answer)
    if not answer_words:
        return _NOTHING
    best = max((_measure_overlap(answer_words, words(gold)) for gold in golds), default=(0.0, 0.0, 0.0))
    score, precision, recall = best
    return Score(score=score, reason=f"F1 {score:.2f}", parts={"precision": precision, "recall": recall})


_CHOICES: Final = (["yes"], ["no"])


def _measure_overlap(answer_words: list[str], gold: list[str]) -> tuple[float, float, float]:
    if answer_words in _CHOICES or gold in _CHOICES:
        same = float(answer_words == gold)
        return same, same, same
    if set(answer_words) <= ARTICLES and answer_words != gold:
        return 0.0, 0.0, 0.0
    common = sum((Counter(answer_words) & Counter(gold)).values())
    if not common:
        return 0.0, 0.0, 0.0
    precision, recall = common / len(answer_words), common / len(gold)
    return 2 * precision * recall / (precision + recall), precision, recall


def share_of(answer: str, golds: Sequence[str]) -> Score:
    """Score the share of the golds that stand in the answer; other words around them cost nothing."""
    if not words_with_articles(answer):
        return _NOTHING
    parts = {gold: float(_is_within(gold, answer)) for gold in golds}
    count = int(sum(parts.values()))
    return Score(score=count / len(parts) if parts else 0.0, reason=f"holds {count} of {len(parts)}", parts=parts)


def all_of(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 when every gold stands in the answer."""
    share = share_of(answer, golds)
    return Score(score=float(share.score == 1.0), reason=share.reason, parts=share.parts)


_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|[\n;；。！？]+")
_ASKS: Final = re.compile(r"[?？]\s*$")


def unanswerable(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 when the first sentence says that the document has no answer, and asks no question in return.

    An answer that equals a gold ("not in the document") scores 1 as well.
    """
    text = answer.strip().casefold().replace("’", "'")
    if not words_with_articles(text):
        return _NOTHING
    if exact(answer, golds).score:
        return Score(score=1.0, reason="says that it is not there")
    first = next(part for part in _SENTENCE_END.split(text) if part.strip())
    if _ASKS.search(first) or _ASKS.search(text):
        return Score(score=0.0, reason="asks instead of answering")
    if is_absence(first):
        return Score(score=1.0, reason="says that it is not there")
    return Score(score=0.0, reason="gives an answer where there is none")


def official(answer: str, golds: Sequence[str]) -> Score:
    """Score as published with MemAgent: substring in both directions, against the first gold alone.

    It accepts "the" and the empty answer, and ignores every gold but the first. It is only for comparison.
    """
    given, gold = _normalize_as_published(answer), _normalize_as_published(golds[0]) if golds else ""
    right = gold in given or given in gold
    return Score(score=float(right), reason="by the published metric, which takes substrings in both directions")


_PUBLISHED_MARKS: Final = re.compile(r"[!-/:-@\[-`{-~]")
_PUBLISHED_ARTICLES: Final = re.compile(r"\b(?:a|an|the)\b")


def _normalize_as_published(text: str) -> str:
    """Remove case, ASCII punctuation, articles and repeated blanks."""
    bare = _PUBLISHED_ARTICLES.sub(" ", _PUBLISHED_MARKS.sub("", text.lower()))
    return " ".join(bare.split())


METRICS: Final[Mapping[str, Metric]] = {
    "exact": exact,
    "contains": contains,
    "f1": f1,
    "all_of": all_of,
    "share_of": share_of,
    "unanswerable": unanswerable,
    "official": official,
}
"""The built-in metrics by name."""
GROUP: Final = "bookwheel.metrics"


def list_metrics() -> list[str]:
    """Return the names of all metrics: ours in their order, then those of other packages."""
    return list_names(GROUP, METRICS)


def load_metric(name: str) -> Metric:
    """Return the metric of that name; InputError suggests the nearest one."""
    return METRICS[name] if name in METRICS else _load_plugin(name)


# Every scored sample loads its metric, and a search through the installed packages takes milliseconds.
@cache
def _load_plugin(name: str) -> Metric:
    metric = require_plugin(GROUP, name, METRICS, "metric")
    if not callable(metric):
        raise InputError(f"the metric {name!r} of another package is not a function: {metric!r}")
    return cast("Metric", metric)


def score_missing_answer(reason: str) -> Score:
    """Return the score of a sample without an answer: it counts as wrong and stays in the denominator."""
    return Score(score=0.0, reason=f"no answer: {reason}")
