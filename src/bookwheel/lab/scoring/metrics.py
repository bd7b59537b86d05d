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
    verbatim, official, string_match_all and others
                  the measures that were published with benchmarks (`bookwheel.lab.scoring.published`)

For `exact`, `contains`, `choice` and `f1` the golds are alternatives and any of them counts. For `all_of`, `share_of`
and `set_f1` they are the values that were asked for together. An empty answer scores 0 in every metric.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, cast

from bookwheel.errors import InputError
from bookwheel.lab.scoring.benchmarks import PUBLISHED
from bookwheel.lab.scoring.choices import is_polar, list_options, picks_gold, picks_option, read_polar, says_yes
from bookwheel.lab.scoring.claims import answers_otherwise
from bookwheel.lab.scoring.commitment import asserts_any, mentions
from bookwheel.lab.scoring.declining import declines, lacks
from bookwheel.lab.scoring.forms import find_other_form
from bookwheel.lab.scoring.lists import all_of, find_listed, set_f1, share_of
from bookwheel.lab.scoring.relevance import shares_with_rival
from bookwheel.lab.scoring.score import NOTHING, Metric, QuestionMetric, Score
from bookwheel.lab.scoring.selection import settles_on_other
from bookwheel.lab.scoring.visual import VISUAL, slidevqa_em, slidevqa_f1
from bookwheel.plugins import list_names, require_plugin
from bookwheel.text.boxes import find_box, to_plain
from bookwheel.text.normalization import (
    ARTICLES,
    match_words,
    simplify,
    words,
    words_with_articles,
)

# A refusal stands at the beginning.
_OPENING: Final = 400


def exact(answer: str, golds: Sequence[str]) -> Score:
    """Score 1 when the answer's tokens are those of a gold answer."""
    answer_words = words(answer)
    if not answer_words:
        return NOTHING
    for gold in golds:
        if match_words(answer_words, 0, words(gold)) == len(answer_words):
            return Score(score=1.0, reason=f'is "{gold}"')
    return Score(score=0.0, reason="is none of the golds")


def contains(answer: str, golds: Sequence[str], question: str = "") -> Score:
    """Score 1 when the answer commits to a gold, as whole tokens; an answer inside a gold scores 0.

    A gold that the answer denies, or names as one of several, does not count (`bookwheel.lab.scoring.commitment`).
    Golds that are a yes or a no, or say that nothing is said, are judged by what the answer says; further golds of a
    yes/no question count where it says neither.
    """
    if not words_with_articles(answer):
        return NOTHING
    if is_polar(golds, question):
        others = [gold for gold in golds if read_polar(gold) is None]
        is_decided = says_yes(answer, question) is not None and not exact(answer, others).score
        if is_decided or not others:
            return choice(answer, golds, question)
        golds = others
    if golds and all(_NOT_STATED.fullmatch(simplify(gold).strip().casefold()) for gold in golds):
        return unanswerable(answer, golds, question)
    addresses = {one.casefold() for one in _ADDRESS.findall(answer)}
    # "a@alm.example" does not stand in "a@alm.example.org".
    longer = {one for one in {gold.strip().casefold() for gold in golds} - addresses if _ADDRESS.fullmatch(one)}
    longer = {one for one in longer if any(one in other for other in addresses)}
    golds = [gold for gold in golds if gold.strip().casefold() not in longer]
    gold = asserts_any(answer, golds, question=question) or find_other_form(answer, golds, question)
    named = next((one for one in golds if mentions(answer, one)), None)
    if named is None and (listed := find_listed(answer, golds)):
        return Score(score=1.0, reason=f'holds "{listed}"')
    if gold is not None and not shares_with_rival(answer, gold, question):
        is_settled = settles_on_other(answer, golds, gold, question) or answers_otherwise(answer, gold, question)
        if is_settled or not declines(simplify(answer[:_OPENING])):
            reason = f'names "{gold}" and settles on another' if is_settled else f'holds "{gold}"'
            return Score(score=float(not is_settled), reason=reason)
    reason = "holds none of the golds" if named is None else f'names "{named}" without deciding for it'
    return Score(score=0.0, reason=reason)


# Only what can be no fact: "unknown", "nothing was found" and "no trace of the ship" answer questions of their own.
_NOT_STATED: Final = re.compile(
    r"(?:(?:it|this|that) is )?not (?:(?:given|stated|mentioned|specified|answerable)(?: in the (?:document|text))?|"
    r"in the (?:document|text))\.?|"
    r"the \w+ (?:does not|doesn't) (?:say|state|mention)(?: (?:it|this|that))?\.?|unanswerable|"
    r"(?:文中|文章)?(?:没有|未)(?:提到|提及|说明)。?"
)
_ASKS_NUMBER: Final = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+")


def choice(answer: str, golds: Sequence[str], question: str = "") -> Score:
    """Score 1 when the answer to a yes/no or either/or question decides for a gold."""
    if not words_with_articles(answer):
        return NOTHING
    options = list_options(question)
    if options and set(golds) & options.keys():
        right = picks_option(answer, golds, options)
        return Score(score=float(right), reason="picks the right option" if right else "does not pick the right option")
    if is_polar(golds, question):
        verdict = says_yes(answer, question)
        right = verdict is not None and verdict in map(read_polar, golds)
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


def unanswerable(answer: str, golds: Sequence[str], question: str = "") -> Score:
    """Score 1 when the answer says that the document has none, and neither guesses nor asks in return.

    An answer that equals a gold ("not in the document") scores 1 as well. "None" is a number where one is asked for.
    """
    if not words_with_articles(answer):
        return NOTHING
    if exact(answer, golds).score:
        return Score(score=1.0, reason="says that it is not there")
    is_number = words(answer) == ["none"] and _ASKS_NUMBER.search(question)
    has_declined = not is_number and (declines(simplify(answer)) or lacks(answer))
    if has_declined is None:
        return Score(score=0.0, reason="asks instead of answering")
    reason = "says that it is not there" if has_declined else "gives an answer where there is none"
    return Score(score=float(has_declined), reason=reason)


# Tokens ran out before the answer began.
_UNFINISHED: Final = re.compile(r"\s*<think(?:ing)?>")
_FINAL: Final = re.compile(
    r"(?:(?:^|\n)[^\w\n]*answer\b|\b(?:final answer|in conclusion)\b(?: is)?|最终答案[是为]?)\W{0,4}?[:：,]\W{0,3}|"
    # Words that are taken back stand between pauses: no "no wait at the gate", and no correction that was issued.
    r"(?<=[,;.!?…—–-]) ?(?:no,? wait|wait,? (?:no|actually)|scratch that)\b(?:\s*[,.:;…—–]\W*|\s+(?=(?-i:[A-Z0-9])))|"
    r"(?:^|(?<=[,;.!?…—–\n])) ?(?:correction|let me correct (?:that|myself))\s*[:—–]\W*|"
    r"(?<=[。，；])(?:不对|更正)[，:：]",
    re.IGNORECASE,
)
# Markdown that crosses out, and a number or a formula between the signs of LaTeX.
_STRUCK: Final = re.compile(r"~~[^~\n]*~~")
_MATHS: Final = re.compile(r"(?<!\\)\$(\d[\d.,]*|[^$\n]*[\\=][^$\n]*)(?<!\\)\$")
# A sum with its result behind it, or in brackets behind its result: "141 + 58 = 199", "199 (= 141 + 58)".
_TERM: Final = r"[$€£]?(?<![\d.,])\d[\d.,]*+(?:\s?(?:[%€£²°]|[^\W\d_]{1,4}\b))?"
_TERMS: Final = rf"{_TERM}(?:\s*[-+*/×÷·−–x]\s*{_TERM}){{1,12}}+"
_SUM: Final = re.compile(rf"{_TERMS}\s*[=≈]\s*(?=\W{{0,4}}\d)|\(\s*=\s*{_TERMS}\s*\)")
METRICS: Final[Mapping[str, Metric]] = {
    "exact": exact,
    "contains": contains,
    "choice": choice,
    "f1": f1,
    "all_of": all_of,
    "share_of": share_of,
    "set_f1": set_f1,
    "unanswerable": unanswerable,
    **PUBLISHED,
    **VISUAL,
}
"""The built-in metrics by name."""
_OURS: Final = METRICS.keys() - PUBLISHED.keys() - VISUAL.keys()
"""Metrics that do not look at what a model thought aloud before its answer."""
_WITH_QUESTION: Final[Mapping[str, QuestionMetric]] = {
    "contains": contains,
    "choice": choice,
    "all_of": all_of,
    "unanswerable": unanswerable,
    "slidevqa_f1": slidevqa_f1,
    "slidevqa_em": slidevqa_em,
}
GROUP: Final = "bookwheel.metrics"


def score_answer(metric: str, answer: str, golds: Sequence[str], question: str = "") -> Score:
    """Score an answer by the metric of that name, with the question where the metric takes one."""
    if metric in _OURS:
        answer = take_final(answer)
    if metric in _WITH_QUESTION:
        return _WITH_QUESTION[metric](answer, golds, question)
    return load_metric(metric)(answer, golds)


def take_final(answer: str) -> str:
    """Return the answer without what was thought aloud before it: from its last "Final answer:", or what is boxed.

    Nothing is left of an answer that ends within its thoughts.
    """
    answer = answer.rpartition("</think>")[2].rpartition("</thinking>")[2]
    if _UNFINISHED.match(answer):
        return ""
    boxed, _ = find_box(answer)
    if boxed is None:
        answer = _MATHS.sub(r"\1", _STRUCK.sub("", answer))
        answer = to_plain(answer) if "\\" in answer else answer
        final = next(reversed(list(_FINAL.finditer(answer))), None)
        boxed = answer[final.end() :] if final and answer[final.end() :].strip(" *_\n") else answer
    return _SUM.sub("", boxed)


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
