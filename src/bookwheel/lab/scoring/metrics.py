"""The metrics: pure functions from an answer and the gold answers to a Score, for training and evaluation alike.

A metric of another package registers through the entry point group `bookwheel.metrics`.

    exact         the answer is a gold answer and nothing more
    contains      the answer commits to a gold answer, on token boundaries; never the other way round
    choice        the answer to a yes/no or either/or question decides for a gold answer
    f1            overlap of tokens with the nearest gold (words; characters in Chinese)
    all_of        every gold stands in the answer, else 0
    share_of      the share of the golds that stand in the answer
    set_f1        the harmonic mean of that share and of the share of what the answer lists that is gold
    unanswerable  the answer says that the document does not say
    official, string_match_all, string_match_part
                  the metrics published with MemAgent and RULER, flaws included; only to compare with published figures

For `exact`, `contains`, `choice` and `f1` the golds are alternatives and any of them counts. For `all_of`, `share_of`
and `set_f1` they are the values that were asked for together. An empty answer scores 0 in every metric.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Final, cast

from bookwheel.errors import InputError
from bookwheel.lab.scoring.abstention import declines
from bookwheel.lab.scoring.choices import is_polar, picks_gold, says_yes
from bookwheel.lab.scoring.commitment import asserts_any, mentions
from bookwheel.lab.scoring.lists import compare_sets
from bookwheel.lab.scoring.normalization import ARTICLES, words, words_with_articles
from bookwheel.lab.scoring.published import official, string_match_all, string_match_part
from bookwheel.lab.scoring.score import NOTHING, Metric, QuestionMetric, Score
from bookwheel.lab.scoring.verbatim import verbatim
from bookwheel.plugins import list_names, require_plugin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def exact(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 when the answer's tokens are those of a gold answer."""
    answer_words = words(answer)
    if not answer_words:
        return NOTHING
    for gold in golds:
        if answer_words == words(gold):
            return Score(score=1.0, reason=f'is "{gold}"')
    return Score(score=0.0, reason="is none of the golds")


def contains(answer: str, golds: Sequence[str], question: str = "") -> Score:
    """Score 1 when the answer commits to a gold, as whole tokens; an answer inside a gold scores 0.

    A gold that the answer denies, or names as one of several, does not count (`bookwheel.lab.scoring.commitment`).
    """
    if not words_with_articles(answer):
        return NOTHING
    gold = asserts_any(answer, golds, question=question)
    if gold is not None:
        return Score(score=1.0, reason=f'holds "{gold}"')
    named = next((one for one in golds if mentions(answer, one)), None)
    reason = "holds none of the golds" if named is None else f'names "{named}" without deciding for it'
    return Score(score=0.0, reason=reason)


def choice(answer: str, golds: Sequence[str], question: str = "") -> Score:
    """Score 1 when the answer to a yes/no or either/or question decides for a gold."""
    if not words_with_articles(answer):
        return NOTHING
    if is_polar(golds):
        verdict = says_yes(answer)
        right = verdict is not None and verdict == says_yes(golds[0])
        return Score(score=float(right), reason={True: "says yes", False: "says no", None: "says neither"}[verdict])
    right = picks_gold(answer, golds, question)
    return Score(score=float(right), reason="decides for a gold" if right else "does not decide for a gold")


def f1(answer: str, golds: Sequence[str]) -> Score:
    """Score the best harmonic mean of precision and recall over tokens; yes and no must match exactly."""
    answer_words = words(answer)
    if not answer_words:
        return NOTHING
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
        return NOTHING
    parts = {gold: float(asserts_any(answer, [gold], alone=False) is not None) for gold in golds}
    count = int(sum(parts.values()))
    return Score(score=count / len(parts) if parts else 0.0, reason=f"holds {count} of {len(parts)}", parts=parts)


def all_of(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 when every gold stands in the answer."""
    share = share_of(answer, golds)
    return Score(score=float(share.score == 1.0), reason=share.reason, parts=share.parts)


def set_f1(answer: str, golds: Sequence[str]) -> Score:
    """Score what the answer lists against the set of golds: naming too much costs as much as naming too little."""
    if not words_with_articles(answer):
        return NOTHING
    precision, recall, _ = compare_sets(answer, golds)
    score = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return Score(score=score, reason=f"set F1 {score:.2f}", parts={"precision": precision, "recall": recall})


def unanswerable(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 when the answer says that the document has none, and neither guesses nor asks in return.

    An answer that equals a gold ("not in the document") scores 1 as well.
    """
    if not words_with_articles(answer):
        return NOTHING
    if exact(answer, golds).score:
        return Score(score=1.0, reason="says that it is not there")
    has_declined = declines(answer)
    if has_declined is None:
        return Score(score=0.0, reason="asks instead of answering")
    reason = "says that it is not there" if has_declined else "gives an answer where there is none"
    return Score(score=float(has_declined), reason=reason)


METRICS: Final[Mapping[str, Metric]] = {
    "exact": exact,
    "contains": contains,
    "choice": choice,
    "f1": f1,
    "all_of": all_of,
    "share_of": share_of,
    "set_f1": set_f1,
    "unanswerable": unanswerable,
    "verbatim": verbatim,
    "official": official,
    "string_match_all": string_match_all,
    "string_match_part": string_match_part,
}
"""The built-in metrics by name."""
_WITH_QUESTION: Final[Mapping[str, QuestionMetric]] = {"contains": contains, "choice": choice}
GROUP: Final = "bookwheel.metrics"


def score_answer(metric: str, answer: str, golds: Sequence[str], question: str = "") -> Score:
    """Score an answer by the metric of that name, with the question where the metric takes one."""
    if metric in _WITH_QUESTION:
        return _WITH_QUESTION[metric](answer, golds, question)
    return load_metric(metric)(answer, golds)


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
