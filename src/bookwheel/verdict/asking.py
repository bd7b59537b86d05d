"""Measure whether a sentence answers the question: its kind, what it asks for, and what the sentence speaks of.

Nothing here decides, and nothing here asks whether the sentence is true. A table of weights does (`weights.json`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bookwheel.text.kinds import AnswerKind, find_kind, shows_kind
from bookwheel.text.questions import COUNTS, Style, can_answer, find_counted_word, find_style
from bookwheel.verdict.parsing import NOT, Sentence, parse, share_terms

_SHORT: Final = 4
_LONG: Final = 25


def measure_fit(claim: Sentence, question: Sentence, passages: Sequence[Sentence]) -> dict[str, float]:
    """Return the features that tell whether a sentence answers the question."""
    kind, best = find_kind(question.text), passages[0].keys if passages else {}
    says_choice = bool(claim.marks["yes"] or claim.marks[NOT] or {"no"} & set(claim.tokens[:1]))
    is_short = len(claim.terms) <= _SHORT
    is_verbatim = any(claim.is_in(passage) for passage in passages)
    shows_place = bool(claim.names) or shows_kind(kind, claim.text)
    is_polar = find_style(question.text) is Style.POLAR
    is_other = not (is_polar or can_answer(question.text, claim.text))
    asked = share_terms(question.asked, {*best, *claim.keys}) if question.asked else 1.0
    return {
        "misfit": float((is_other or _lacks_counted(claim, question, passages)) if is_short else not asked),
        "other kind": float(is_other),
        "lacks where": float(kind is AnswerKind.PLACE and not shows_place),
        "asked in best": asked,
        "says yes or no": float(is_polar and says_choice),
        "length": min(len(claim.terms), _LONG) / _LONG,
        "verbatim long": float(is_verbatim and not is_short),
    }


def is_misfit(fit: Mapping[str, float]) -> bool:
    """Tell if a few words are of another kind than is asked for, "Ramelli" to "when", or a sentence is of all else."""
    return bool(fit["misfit"])


def _lacks_counted(claim: Sentence, question: Sentence, passages: Sequence[Sentence]) -> bool:
    """Tell if a sentence has numbers, and none of them counts what the question counts, here or in its passages."""
    # 多少 asks how much too.
    if not COUNTS.search(question.text):
        return False
    # A unit has one form behind every number: "litres" are "l".
    asked = parse(f"1 {find_counted_word(question.text)}")
    counted = {key for number in asked.numbers for key in asked.find_counted(number)}
    if not counted or not claim.numbers:
        return False
    own = {number.key for number in claim.numbers}
    numbers = [(one, number) for one in (claim, *passages) for number in one.numbers if number.key in own]
    beside = {key for one, number in numbers for key in one.find_counted(number)}
    return bool(beside) and not counted & beside
