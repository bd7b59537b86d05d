"""Measure whether a sentence answers the question: its kind, what it asks for, and what the sentence speaks of.

Nothing here decides, and nothing here asks whether the sentence is true. The table of `weights.py` weighs the features.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text import lexicon
from bookwheel.text.comparatives import names_two
from bookwheel.text.kinds import AnswerKind, find_kind, shows_kind
from bookwheel.text.questions import COUNTS, Style, asks_reason, can_answer, find_counted_word, find_style
from bookwheel.verdict.parsing import CAUSE, NOT, Sentence, Term, parse, share_terms

_FIGURES: Final = frozenset(
    {
        AnswerKind.AGE,
        AnswerKind.AMOUNT,
        AnswerKind.COUNT,
        AnswerKind.DURATION,
        AnswerKind.MEASURE,
        AnswerKind.MONEY,
        AnswerKind.PERCENT,
    }
)
_GROUPS: Final[Mapping[str, Collection[AnswerKind | None]]] = {
    "how many": _FIGURES,
    "when": {AnswerKind.CLOCK, AnswerKind.DAY, AnswerKind.HOURS, AnswerKind.WHEN},
    "who": {AnswerKind.PERSON},
    "where": {AnswerKind.PLACE},
    "why": (),
    "yes or no": (),
}
"""What a question can want, as the weights know it."""
_PRICE: Final = compile_late(r"(?<![\d.,])\d[\d.,]*[.,]\d\d(?!\d)")
_YEAR: Final = compile_late(r"[12]\d{3}")
# "in 1997" is a year, and "from 1450 a month" a rent.
_BEFORE_YEAR: Final = lexicon.words("in since from until")
_RATE: Final = lexicon.words("a an per each")
_DATED: Final = {*lexicon.MONTH_NAMES, *"年月日"}
_MONEY_ASKED: Final = compile_late(
    r"\b(?:cost|costs|price|fee|pay|spend|salary|rent|charge)\b|多少[钱錢]|价格|费用|工资|花多少|經費|经费"
)
_MONEY: Final = frozenset({"usd", "eur", "gbp", "jpy", "cny", "元", "free", "免", "crown", "crowns", "francs"})
_SHORT: Final = 4
_LONG: Final = 25


def measure_fit(claim: Sentence, question: Sentence, passages: Sequence[Sentence]) -> dict[str, float]:
    """Return the features that tell whether a sentence answers the question."""
    kind = find_kind(question.text)
    kinds = {name for name, wanted in _GROUPS.items() if kind in wanted}
    kinds |= {"why"} if asks_reason(question.text) else set()
    kinds |= {"yes or no"} if find_style(question.text) is Style.POLAR else set()
    best = passages[0].keys if passages else {}
    has_number = any(term.key not in question.keys for term in claim.numbers)
    # Of two that the question names, one is the answer: "Who wrote it, Piotr or Hanna?"
    named = claim.names if names_two(question.text) else claim.names - question.names
    says_choice = bool(claim.marks["yes"] or claim.marks[NOT] or {"no"} & set(claim.tokens[:1]))
    holds = {
        "how many": has_number,
        "when": has_number or shows_kind(kind, claim.text),
        "who": bool(named) or claim.has_signs,
        "where": bool(claim.names) or shows_kind(kind, claim.text),
        "why": bool(claim.marks[CAUSE]),
        "yes or no": says_choice,
    }
    is_verbatim = any(claim.is_in(passage) for passage in passages)
    asked = share_terms(question.asked, claim.keys)
    is_long = len(claim.terms) > _SHORT
    return {
        "lacks money": float(_lacks_money(claim, question, passages)),
        "other kind": float(not can_answer(question.text, claim.text)),
        "lacks counted": float(_lacks_counted(claim, question, passages)),
        "asked nowhere": sum(key not in best and key not in claim.keys for key in question.asked)
        / max(1, len(question.asked)),
        "asked in best": share_terms(question.asked, set(best) | set(claim.keys)),
        "has kind": float(any(holds[kind] for kind in kinds)),
        "says yes or no": float("yes or no" in kinds and says_choice),
        "open": float(not kinds),
        "short": float(len(claim.terms) <= _SHORT),
        "length": min(len(claim.terms), _LONG) / _LONG,
        "verbatim long": float(is_verbatim and is_long),
        "verbatim elsewhere": float(is_verbatim and is_long) * (1 - asked),
        "signs": float(claim.has_signs),
        **{f"lacks {kind}": float(kind in kinds and not holds[kind]) for kind in _GROUPS},
    }


def is_misfit(fit: Mapping[str, float]) -> bool:
    """Tell if an answer of a few words is none of the kind that is asked for: "Ramelli" answers no "when"."""
    return bool(fit["short"]) and bool(fit["other kind"] or fit["lacks counted"])


def _lacks_money(claim: Sentence, question: Sentence, passages: Sequence[Sentence]) -> bool:
    """Tell if money is asked for and a sentence names none. A figure has the currency of the passage that is meant.

    A receipt writes none: there a figure with two places is a price; so is any other that has no unit and is no date,
    where the passage that is meant names no currency at all.
    """
    if not _MONEY_ASKED.search(question.text.casefold()) or _MONEY & set(claim.tokens) or _PRICE.search(claim.text):
        return False
    own = {number.key for number in claim.numbers}
    meant = [
        (passage, number)
        for passage in passages
        if question.asked <= passage.keys.keys()
        for number in passage.numbers
        if number.key in own
    ]
    return not any(_is_money(passage, number) for passage, number in meant)


def _is_money(passage: Sentence, number: Term) -> bool:
    before, after = passage.tokens[max(0, number.at - 1) : number.at], passage.tokens[number.at + 1 : number.at + 2]
    beside = {*before, *after}
    if _MONEY & set(passage.tokens):
        return bool(_MONEY & beside)
    is_year = _YEAR.fullmatch(number.key) and _BEFORE_YEAR & {*before} and not _is_rate(passage, number)
    return number.key.replace(".", "").isdigit() and not (is_year or passage.find_unit(number) or _DATED & beside)


def _lacks_counted(claim: Sentence, question: Sentence, passages: Sequence[Sentence]) -> bool:
    """Tell if a sentence has numbers, and none of them counts what the question counts, here or in its passages."""
    # 多少 asks how much too, and an amount of money tells that.
    if _MONEY & set(claim.tokens) and not COUNTS.search(question.text):
        return False
    # A unit has one form behind every number: "litres" are "l".
    asked = parse(f"1 {find_counted_word(question.text)}")
    counted = {key for number in asked.numbers for key in asked.find_counted(number)}
    if not counted or not claim.numbers:
        return False
    own = {number.key for number in claim.numbers}
    numbers = [(one, number) for one in (claim, *passages) for number in one.numbers if number.key in own]
    # "six a plot" counts no plots.
    beside = {key for one, number in numbers if not _is_rate(one, number) for key in one.find_counted(number)}
    return bool(beside) and not counted & beside


def _is_rate(sentence: Sentence, number: Term) -> bool:
    return not _RATE.isdisjoint(sentence.tokens[number.at + 1 : number.at + 2])
