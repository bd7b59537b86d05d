"""What a question compares: whether it asks for the most or the least of something, and the two that it names.

The words stand with the kinds that they compare, in kinds.toml.

>>> find_order("Which is older, the mill or the chapel?").is_least, find_order("Who built the mill?")
(False, None)
>>> find_alternatives("Was more diesel ordered in March or in June?").names, find_alternatives("Is it open or not?")
(('in March', 'in June'), None)
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bookwheel.patterns import compile_late
from bookwheel.text.kinds import AnswerKind, list_order_words, turns_order
from bookwheel.text.ranking import find_stems

HAN: Final = compile_late("[\u3400-\u9fff]")
_HOW_MUCH: Final = compile_late(r"多[少久长大高]|\bhow (?:much|long|old|late|early|high|far)\b", re.IGNORECASE)
"""Here no more and no less is said."""
_EITHER: Final = compile_late(r"\bor\b(?! not\b)|还是", re.IGNORECASE)
_COMPARATIVE: Final = compile_late(r"(?:\w+er|more|less|worse|first(?! or))\b", re.IGNORECASE)
_ENDS: Final = compile_late(
    r"\b(?:die[sd]?|dead|death|end(?:s|ed)?|expires?|clos\w+|shuts?|until|open (?:the )?late\w+)\b|"
    r"去世|逝世|结束|到期|关|下班",
    re.IGNORECASE,
)
_OR: Final = compile_late(
    r"(?<=\S)\s+or\s+(?!(?:not|so|more|less|later|earlier|over|under|both)\b)|还是|(?<=[^，。\s])[和跟与](?=[^。]{1,20}?(?:哪(?![里儿些])|谁))",
    re.IGNORECASE,
)
_PAUSE: Final = compile_late(r"[,:;–—?，：；？]\s*")
_LEADS: Final = compile_late(r"(?:(?:is|are|was|were|do|does|did|of|out of|between|from|than|paid)\s+)+", re.IGNORECASE)
_TRAILS: Final = compile_late(
    r"\s+(?:for|born|released|founded|published|is|was|are|were|come|came|die[sd]?)$|[，,]?(?:哪|谁).*$",
    re.IGNORECASE,
)
_WHICH: Final = compile_late(r"\b(?:w?h?ich|who|what)\b", re.IGNORECASE)
_OTHER_ASKED: Final = compile_late(r"\b(?:when|where|why|how|whom|whose|if)\b", re.IGNORECASE)
_LETTER: Final = compile_late(r"[^\W\d_]")


_NEGATED_BOUNDS: Final = (
    (compile_late(r"\b(?:no|not) later than\b|\bon or before\b", re.IGNORECASE), "by"),
    (compile_late(r"\b(?:no|not) (?:less|fewer) than\b", re.IGNORECASE), "at least"),
    (compile_late(r"\b(?:no|not) more than\b", re.IGNORECASE), "at most"),
    (compile_late("不少于|不低于"), "至少"),
    (compile_late("不超过|不多于"), "至多"),
)
"""Spellings of a bound by a negation, which negate nothing."""


class Order(NamedTuple):
    """What a question asks for: the most, or the least."""

    start: int
    """Where its words begin."""
    end: int
    is_least: bool
    kinds: tuple[AnswerKind, ...]
    """Of what, so far as the words say it."""

    def takes_least(self, group: str) -> bool:
        """Return whether of some figures the least wins."""
        return self.is_least is not any(turns_order(kind, group) for kind in self.kinds)


def find_order(question: str) -> Order | None:
    """Return what a question asks for; None where that is nothing, both, or what no figure tells."""
    plain = _HOW_MUCH.sub(lambda found: " " * len(found[0]), question)
    words = [word for word in list_order_words(plain) if word.kind is not AnswerKind.RANK]
    if len({word.is_least for word in words}) != 1:
        return None
    return Order(words[0].start, words[-1].end, words[0].is_least, tuple(word.kind for word in words))


def list_superlatives(question: str) -> set[str]:
    """Return the stems of the words of a question that only say whether the most or the least is asked for."""
    return find_stems(" ".join(word.text for word in list_order_words(question)))


def asks_more(question: str) -> bool:
    """Return whether a question compares by a comparative: "Is the roof dearer?", not "Is it the dearest?"."""
    return any(_COMPARATIVE.match(question, word.start) for word in list_order_words(question))


def asks_end(question: str) -> bool:
    """Return whether a question is about the end of something that has two days or times."""
    return _ENDS.search(question) is not None


def spell_bounds(text: str) -> str:
    """Return a text with its bounds said without a negation: no less than five is at least five."""
    for pattern, plain in _NEGATED_BOUNDS:
        text = pattern.sub(plain, text)
    return text


def names_two(question: str) -> bool:
    """Return whether a question may be one of which of two: "Is the roof or the boiler dearer?"."""
    return _EITHER.search(question) is not None


class Alternatives(NamedTuple):
    """The two between which a question asks to choose."""

    question: str
    names: tuple[str, str]
    asked: str
    """The question without them."""
    order: Order | None
    """Whether the one with the most or with the least is asked for; None where nothing is compared."""


def find_alternatives(question: str) -> Alternatives | None:
    """Return the two between which a question asks to choose; None where it names no two."""
    found = [*_OR.finditer(question)]
    if len(found) != 1:
        return None
    before, after = question[: found[0].start()].rstrip(","), question[found[0].end() :]
    left, right = _PAUSE.split(before)[-1], _PAUSE.split(after)[0]
    if not _is_choice(before, before.removesuffix(left), right, after[len(right) :]):
        return None
    if left == before and not HAN.search(left) and (order := find_order(left)):
        left = left[order.end :].lstrip()
    left = _LEADS.sub("", left, count=1) if _LEADS.match(left) else left
    if not find_order(before) and (order := find_order(right)):
        right = right[: order.start].rstrip()
    right = _TRAILS.sub("", right).strip()
    left = left.strip()
    if not (left and right):
        return None
    # "ordered in March or in June": both begin alike.
    alike = [one.start() for one in re.finditer(rf"\b{re.escape(right.split()[0])}\b", left)]
    left = left[alike[-1] :] if alike and alike[0] else left
    asked = question.replace(left, " ").replace(right, " ")
    return Alternatives(question, (left, right), asked, find_order(asked))


def _is_choice(before: str, lead: str, right: str, rest: str) -> bool:
    """Return whether a question asks for one of the two in it: "When does it rain or snow?" asks for a time.

    `lead` is what stands before a pause before the two, `rest` what stands behind one after them.
    """
    if HAN.search(before):
        return True
    is_last = not _LETTER.search(rest)
    if _OTHER_ASKED.search(f"{lead or before} {right} {rest}"):
        # "Where must bills be kept longer, in Saint-Orme or in Aberwyn?"
        return is_last and bool(lead) and find_order(lead) is not None
    if _WHICH.search(lead or before):
        return bool(lead) or find_order(f"{before} {right}") is not None
    return is_last and find_order(f"{before} {right}") is not None
