"""The published measures of questions on pictures, flaws included.

anls                      DocVQA: 1 less the share of the letters that differ from the nearest gold; 0 below a half
relaxed                   ChartQA: a number within 5 % of the gold, else the same text
slidevqa_f1, slidevqa_em  SlideVQA: words after its own clean-up, which takes the question's unit away
mmlongbench               MMLongBench-Doc, texts: `anls` after its clean-up; addresses, dates and pages must be equal
mmlongbench_int, _float, _list   its other formats; a list's worst item counts
mmlongbench_none          its unanswerable questions: that an answer declines is said by a rule of ours, where a model
                          writes it down as published

MMLongBench-Doc has a model cut the answer out of the reply; here the reply is compared as it stands.
"""

import re
from ast import literal_eval
from collections.abc import Sequence
from itertools import pairwise
from math import isclose
from typing import Any, Final

from bookwheel.lab.scoring.declining import declines
from bookwheel.lab.scoring.published import ALL_MARKS, ARTICLES, best, harmonic_mean
from bookwheel.lab.scoring.score import NOTHING, Score
from bookwheel.text.lexicon import SMALL_NUMBERS
from bookwheel.text.normalization import simplify

# Letters of an answer that are compared: beyond, no gold is near.
_LONGEST: Final = 20_000
_HALF: Final = 0.5
_CLOSE: Final = 0.05


def _count_changes(one: str, other: str) -> int:
    """Return the letters to be put in, taken out or replaced to get from one text to the other."""
    counts = list(range(len(one) + 1))
    for number, letter in enumerate(other, 1):
        row = [number]
        for at, (diagonal, above) in enumerate(pairwise(counts)):
            row.append(diagonal if one[at] == letter else 1 + min(diagonal, above, row[-1]))
        counts = row
    return counts[-1]


def _differ(one: str, other: str, longest: int) -> float:
    """Return the changes as a share of the longer text, or 1 where they are most of it in any case."""
    if not longest:
        return 0.0
    gap = abs(len(one) - len(other))
    return 1.0 if gap > _HALF * longest or longest > _LONGEST else _count_changes(one, other) / longest


def anls(answer: str, golds: Sequence[str]) -> Score:
    """Score as DocVQA does: average normalized Levenshtein similarity."""

    def compare(given: str, gold: str) -> float:
        longest = max(len(gold.upper()), len(given.upper()))
        one, other = (" ".join(text.strip().lower().split()) for text in (given, gold))
        similarity = 1 - _differ(one, other, longest)
        return similarity if similarity >= _HALF else 0.0

    return best(answer, golds, compare, "ANLS") if golds else NOTHING


def _to_number(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        return None


def relaxed(answer: str, golds: Sequence[str]) -> Score:
    """Score as ChartQA does: 1 for a number that is within 5 % of the gold's, or for the same text."""

    def compare(given: str, gold: str) -> float:
        number, wanted = _to_number(given), _to_number(gold)
        if number is not None and wanted:
            return float(abs(number - wanted) / abs(wanted) <= _CLOSE)
        return float(given.lower() == gold.lower())

    return best(answer, golds, compare, "relaxed accuracy") if golds else NOTHING


_NUMBERS: Final = {name: str(number) for number, name in enumerate(SMALL_NUMBERS[:20])}
_REPLACED: Final = (
    ("this is ", ""),
    ("it is ", ""),
    ("&", ","),
    ("and", ","),
    ("percent", ""),
    ("organisation", "organization"),
    ("because of", ""),
    ("because", ""),
    ("due to", ""),
    ("hours", "hrs"),
    ("minites", "min"),
)


def _split_slides(text: str, question: str) -> list[str]:
    """Return the words of an answer as SlideVQA's script leaves them."""
    text = text.lower()
    for old, new in _REPLACED:
        text = text.replace(old, new)
    for asked in ("how many", "which"):
        if unit := question.partition(asked)[2].split()[:1]:
            text = text.replace(unit[0], "")
    text = ARTICLES.sub(" ", text.translate(ALL_MARKS))
    if text.startswith(("yes", "no")):
        text = text.split()[0]
    return [_NUMBERS.get(word, word) for word in text.split()]


def slidevqa_f1(answer: str, golds: Sequence[str], question: str = "") -> Score:
    return best(answer, golds, lambda *both: harmonic_mean(*(_split_slides(one, question) for one in both)), "F1")


def slidevqa_em(answer: str, golds: Sequence[str], question: str = "") -> Score:
    """Score 1 for an answer of the gold's words alone."""

    def compare(given: str, gold: str) -> float:
        words = _split_slides(given, question)
        return float(bool(words) and words == _split_slides(gold, question))

    return best(answer, golds, compare, "exact match")


def _clean(text: str) -> str:
    text = re.sub(r"\s*\([^)]*\)", "", text.lower().strip()).strip()
    text = re.sub(r"^['\"]|['\"]$", "", text).strip()
    return text.lstrip("$").strip().rstrip("%").strip()


_EXACT: Final = (
    re.compile(r"\b\d+(?:-\d+|\s\d+)?\b"),
    re.compile(r"\b\d{4}[-\s]\d{2}[-\s]\d{2}\b"),
    re.compile(r"\b\d{4}[-\s]\d{2}\b"),
    re.compile(r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}"),
)


def _is_exact(gold: str) -> bool:
    return (
        any(part in gold for part in ("https://", "a.m.", "p.m."))
        or gold.endswith((".py", "ipynb"))
        or gold.startswith("page")
        or any(pattern.fullmatch(gold) for pattern in _EXACT)
    )


def _compare_texts(given: str, gold: str) -> float:
    similarity = 1 - _differ(given, gold, max(len(gold.upper()), len(given.upper())))
    return similarity if similarity > _HALF else 0.0


def mmlongbench(answer: str, golds: Sequence[str]) -> Score:
    """Score a text."""

    def compare(given: str, gold: str) -> float:
        given, gold = _clean(given), _clean(gold)
        return float(given == gold) if _is_exact(gold) else _compare_texts(given, gold)

    return best(answer, golds, compare, "MMLongBench-Doc's measure")


def mmlongbench_none(answer: str, golds: Sequence[str]) -> Score:
    """Score the answer to a question that the document does not answer."""
    return mmlongbench("Not answerable" if declines(simplify(answer)) else answer, golds)


def mmlongbench_int(answer: str, golds: Sequence[str]) -> Score:
    """Score a whole number."""

    def compare(given: str, gold: str) -> float:
        try:
            return float(int(float(given)) == int(gold))
        except (ValueError, OverflowError):
            return 0.0

    return best(answer, golds, compare, "MMLongBench-Doc's measure")


def _find_precision(number: float) -> int:
    shown = str(number)
    return len(shown.rsplit(".", maxsplit=1)[-1]) if "." in shown else 3


def _is_near(given: float, gold: float) -> bool:
    precision = max(min(_find_precision(given), _find_precision(gold)), 2)
    return isclose(gold, given, rel_tol=0.01) or round(given, precision) == round(gold, precision)


def mmlongbench_float(answer: str, golds: Sequence[str]) -> Score:
    """Score a number, as it is or as a share of a hundred."""

    def compare(given: str, gold: str) -> float:
        try:
            number, wanted = float(_clean(given)), float(_clean(gold))
        except ValueError:
            return 0.0
        return float(any(_is_near(number, one) for one in (wanted / 100, wanted, wanted * 100)))

    return best(answer, golds, compare, "MMLongBench-Doc's measure")


def _parse_items(text: str) -> list[str]:
    """Return the items of a list as Python writes it; of anything else, it alone. Nothing is run."""
    value: Any = text
    if text.startswith("["):
        try:
            value = literal_eval(text)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            value = text
    return sorted(_clean(str(item)) for item in (value if isinstance(value, list) else [value]))


def mmlongbench_list(answer: str, golds: Sequence[str]) -> Score:
    """Score a list: as many items, and the worst of them, both in the order of letters."""

    def compare(given: str, gold: str) -> float:
        items, wanted = _parse_items(given), _parse_items(gold)
        if len(items) != len(wanted) or not wanted:
            return 0.0
        if _is_plain_number(wanted[0]) or _is_exact(wanted[0]):
            return float("-".join(items) == "-".join(wanted))
        return min(map(_compare_texts, items, wanted))

    return best(answer, golds, compare, "MMLongBench-Doc's measure")


def _is_plain_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


VISUAL: Final = {
    one.__name__: one
    for one in (
        *(anls, relaxed, mmlongbench, mmlongbench_none, mmlongbench_int, mmlongbench_float, mmlongbench_list),
        *(slidevqa_f1, slidevqa_em),
    )
}
