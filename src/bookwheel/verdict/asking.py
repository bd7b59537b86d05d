"""Measure whether a sentence answers the question: its kind, what it asks for, and what the sentence speaks of.

Nothing here decides, and nothing here asks whether the sentence is true. The table of `weights.py` weighs the features.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bookwheel.text import lexicon
from bookwheel.text.lexicon import stem
from bookwheel.verdict.marks import CAUSE, NOT
from bookwheel.verdict.parsing import Sentence, share_terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_TIMES: Final = lexicon.MONTHS | lexicon.words(
    "monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday morning afternoon evening night "
    "noon midnight year month week day hour minute second after before until daily weekly monthly yearly spring summer "
    "autumn winter now immediately once 年 月 日 号 天 周 时 分 点 早 晚 午 今 明 昨 后 前 季 期"
)
_PLACES: Final = lexicon.words(
    "in at on from to near under above behind beside inside outside 在 从 到 里 处 店 市 楼 室 馆"
)
_KINDS: Final = {
    "how many": re.compile(
        r"\b(?:how (?:many|much|old|far|long|often|big|tall|large|high|deep|wide|heavy|late|loud|fast)|what (?:share|"
        r"percentage|number|year|price|rate|age)|which (?:year|version))\b"
        "|多少|几[个人次天年月日名位只条]|多[大久长高重远]"
    ),
    "when": re.compile(
        r"\b(?:when|what (?:time|date|day)|by when|until when|since when)\b|什么时候|何时|哪[天年月日]|几点"
    ),
    "who": re.compile(r"\b(?:who|whom|whose)\b|谁|哪位|何人"),
    "where": re.compile(r"\b(?:where|which (?:room|place|city|country))\b|哪里|哪儿|何处|在哪"),
    "why": re.compile(r"\b(?:why|what (?:is|was) the reason|how come)\b|为什么|为何|原因|怎么会"),
    "yes or no": re.compile(
        r"^(?:is|are|was|were|does|do|did|can|could|may|might|must|should|will|would|has|have|had|am)\b|[吗么嗎麼]\s*[?？]?$"
        r"|是否|能否|有没有|是不是|能不能|要不要|可不可以|了没有"
    ),
}
_PRICE: Final = re.compile(r"(?<![\d.,])\d[\d.,]*[.,]\d\d(?!\d)")
_MONEY_ASKED: Final = re.compile(
    r"\b(?:cost|costs|price|fee|pay|spend|salary|rent|charge)\b|多少[钱錢]|价格|费用|工资|花多少|經費|经费"
)
_MONEY: Final = frozenset({"usd", "eur", "gbp", "jpy", "cny", "元", "free", "免", "crown", "crowns", "francs"})
_COUNTED: Final = re.compile(
    r"\bhow many (?:of the |more |other )?([a-z]+)|(?:多少|几)[个名位只条张本次]?([\u4e00-\u9fff]{2})"
)
_SHORT: Final = 4
_LONG: Final = 25


def find_kinds(question: Sentence) -> set[str]:
    """Return the kinds of a question: what its answer must hold."""
    text = question.text.strip().casefold()
    return {kind for kind, pattern in _KINDS.items() if pattern.search(text)}


def measure_fit(claim: Sentence, question: Sentence, passages: Sequence[Sentence]) -> dict[str, float]:
    """Return the features that tell whether a sentence answers the question."""
    kinds = find_kinds(question)
    best = passages[0].keys if passages else {}
    tokens = set(claim.tokens)
    has_number = any(term.key not in question.keys for term in claim.numbers)
    says_choice = bool(claim.marks["yes"] or claim.marks[NOT] or {"no"} & set(claim.tokens[:1]))
    holds = {
        "how many": has_number,
        "when": bool(_TIMES & tokens) or has_number,
        "who": bool(claim.names - question.names) or claim.has_signs,
        "where": bool(_PLACES & tokens) or bool(claim.names),
        "why": bool(claim.marks[CAUSE]),
        "yes or no": says_choice,
    }
    is_verbatim = any(claim.is_in(passage) for passage in passages)
    asked = share_terms(question.asked, claim.keys)
    is_long = len(claim.terms) > _SHORT
    return {
        "lacks money": float(_lacks_money(claim, question, passages)),
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
        **{f"lacks {kind}": float(kind in kinds and not holds[kind]) for kind in _KINDS},
    }


def is_misfit(fit: Mapping[str, float]) -> bool:
    """Tell if an answer of a few words is none of the kind that is asked for: "Ramelli" answers no "when"."""
    return bool(fit["short"]) and any(fit[f"lacks {kind}"] for kind in ("how many", "when", "who", "counted"))


def find_counted(question: str) -> str:
    """Return the term of what a question wants the number of; empty where it wants none."""
    found = _COUNTED.search(question.casefold())
    return (stem(found[1]) if found[1] else found[2]) if found else ""


def _lacks_money(claim: Sentence, question: Sentence, passages: Sequence[Sentence]) -> bool:
    """Tell if money is asked for and a sentence names none. A figure has the currency of the passage that is meant.

    A receipt writes none: there a figure with two places is a price.
    """
    if not _MONEY_ASKED.search(question.text.casefold()) or _MONEY & set(claim.tokens) or _PRICE.search(claim.text):
        return False
    own = {number.key for number in claim.numbers}
    beside = [
        {*passage.tokens[max(0, number.at - 1) : number.at + 2]}
        for passage in passages
        if question.asked <= passage.keys.keys()
        for number in passage.numbers
        if number.key in own
    ]
    return not any(_MONEY & tokens for tokens in beside)


def _lacks_counted(claim: Sentence, question: Sentence, passages: Sequence[Sentence]) -> bool:
    """Tell if a sentence has numbers, and none of them counts what the question counts, here or in its passages."""
    counted = find_counted(question.text)
    if not counted or not claim.numbers:
        return False
    own = {number.key for number in claim.numbers}
    numbers = [(one, number) for one in (claim, *passages) for number in one.numbers if number.key in own]
    beside = {key for one, number in numbers for key in one.find_counted(number)}
    return bool(beside) and counted not in beside
