"""What a question asks for: how its answer is said, and what can be one.

    style    yes or no · how or why, a sentence · a list, all that qualify · else a span, a few words

Passages are ranked by it, short answers chosen, and lists told from single facts. Kinds of answers: kinds.py.

>>> find_style("Which boats are blue?").value
'list'
>>> can_answer("How long may it stay?", "until May"), can_answer("How long may it stay?", "in the harbour")
(True, False)
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from bookwheel.patterns import compile_late
from bookwheel.text.comparatives import asks_more, names_two
from bookwheel.text.kinds import find_kind, holds_kind
from bookwheel.text.lexicon import stem, words
from bookwheel.text.matching import parse_words

_OPENING: Final = r"^\s*(?:and |so |(?:(?:can|could) you )?(?:please )?(?:explain|say|tell me) )?"
_REASON: Final = r"(?:why|how come|what(?:'s| is| was) the reason)\b(?! code)"
_WHY: Final = compile_late(
    rf"{_OPENING}(?:{_REASON}|reason\b(?! code)|(?:for|by|in) (?:what|which) reasons?\b(?! of)|"
    r"(?:what|which) reasons? (?:is|are|was|were|do|does|did|has|have|had)\b|what explain\w*|"
    r"what(?:'s| is| was) the (?:point|thinking) (?:of \w+ing|behind)\b|"
    r"what ma(?:de|kes) (?:(?:me|you|him|her|it|us|them|(?-i:[A-Z])\w+) \w+|(?:the|an?|his|her|its|our|their) \w+ \w+)|"
    r"what (?:led|drove|moved|prompted)\b.* to \w|what (?:stop|prevent|keep|kept|held)\w*\b.* from \w+ing\b)|"
    r"为什么|为啥|为何|怎么会|原因|缘故",
    re.IGNORECASE,
)
_HOW: Final = compile_late(
    rf"{_OPENING}(?:how (?!many|much|long|far|old|often|big|large|high|deep|soon|late|early|tall|heavy)|"
    r"what (?:happens|should|must i)|(?:for|by|in) (?:what|which) (?:means|way)\b(?! of))|怎么|咋|如何|怎样",
    re.IGNORECASE,
)
_ENDING_IN_S: Final = (
    r"is|was|has|does|takes|costs|needs|comes|opens|closes|shuts|starts|ends|lasts|leaves|pays|holds|stays"
)
_LIST: Final = compile_late(
    rf"(?:^|\bplease|\band)\s*list\b|\b(?:list (?:all|every|the|of)|name all|which (?!(?:{_ENDING_IN_S})\b)\w+s|"
    r"what are|what \w+s are|who all|all the)\b|哪些|哪几|有什么|有哪",
    re.IGNORECASE,
)
_TWO: Final = compile_late(r"([a-z]+),? or (?:(?:the|an?|on|in|at|by|to|for) )*([a-z]+)", re.IGNORECASE)
_MAY: Final = compile_late(
    r"(?-i:\bmay\b|^May\b)|\b(?:can|could|might|must|need|will|have to|there|any|allowed|permitted)\b", re.IGNORECASE
)
_ASKED_THING: Final = compile_late(r"\b(?:w?h?ich|w?hat)\s+([a-z]+)", re.IGNORECASE)
# Words that only point at what another sentence names.
POINTERS: Final = words("he her him his it its she that their them these they this those")
_CHOICE: Final = compile_late(r"\bor\b|\b(?:w?h?ich|whose)\b|还是|哪", re.IGNORECASE)
# "Was kostet der Hof?" asks what, as a verb of German follows, and nothing of English does.
_GERMAN_WHAT: Final = (
    r"\s+(?:sind|war|wird|darf|kann|soll|muss|(?!(?:it|that|not|most|last|first|next)\b)(?-i:[a-zäöü])\w*(?:t|te|en))\b"
    r"(?!.*\b(?:the|of|to|by|for|from|been|made|paid|done)\b)"
)
_POLAR: Final = compile_late(
    rf"^\s*(?:is|are|was(?!{_GERMAN_WHAT})|were|do|does|did|can|could|may|must|has|have|had|will|would|should|am)\b|"
    r"吗[？?]?\s*$|是否|([\u4e00-\u9fff])[不没]\1|"
    r"^(?!.*(?:什么|哪|谁|几|多少|怎|何|啥)).*没有?[？?]?\s*$",
    re.IGNORECASE,
)
COUNTS: Final = compile_late(r"\bhow many\b|(?:多少|几)[个位家种款门项]", re.IGNORECASE)
SUMS: Final = compile_late(
    r"\b(?:in all|altogether|in total|totals?|overall|sum|combined)\b|合计|总共|一共|总计|总额|共计", re.IGNORECASE
)
_COUNTED: Final = compile_late(
    r"\bhow many (?:of the |more |other )?([a-z]+)|(?:多少|几)[个名位只条张本次]?([\u4e00-\u9fff]{2})"
)
_ITEMS: Final = compile_late(
    r"\b(?:enumerate|name (?:each|every|the)|every|how many|which of|(?:(?:the|what|total) )number of (?!the\b|an?\b)|"
    r"which (?:\w+ ){1,4}(?:are|were|have|(?<=s )had)(?!.*\b(?:most|least|\w{2,}est)\b))\b|"
    r"列出|列举|所有|全部|多少[个次份条项人家笔]|几[个次份条项笔]",
    re.IGNORECASE,
)
_OVER_ALL: Final = compile_late(
    r"\b(?:all|each|both|count|how (?:much|often|frequently)|total|overall|most|least|longest|first|last|latest|"
    r"final(?:ly)?|summar\w+|throughout|never|any(?:one|thing)? else|which .* are)\b|"
    r"每[个一]|多少|几[处人]|总[共计]|最|概括|总结|分别",
    re.IGNORECASE,
)


class Style(StrEnum):
    """How an answer is said."""

    POLAR = "polar"
    SENTENCE = "sentence"
    LIST = "list"
    SPAN = "span"


def find_style(question: str) -> Style:
    # "May I bring a larger bag or a suitcase?" compares nothing.
    compares = names_two(question) and asks_more(question) and not _MAY.search(question)
    if _POLAR.search(question) and not compares:
        return Style.POLAR
    if _WHY.search(question) or _HOW.search(question):
        return Style.SENTENCE
    return Style.LIST if _LIST.search(question) and not names_two(question) else Style.SPAN


def leaves_open(question: str, passage: str) -> bool:
    """Return whether yes is no answer: the question asks which of two, and the passage has one of them alone.

    >>> leaves_open("Is it on Monday or Tuesday?", "It is on Tuesday."), leaves_open("Is it open or shut?", "Both.")
    (True, False)
    """
    two = _TWO.search(question)
    if two is None or _MAY.search(question):
        return False
    said = {stem(word.index_key) for word in parse_words(passage)}
    named = [stem(word.casefold()) in said for word in two.groups()]
    return named[0] is not named[1]


def asks_for_list(question: str) -> bool:
    """Return whether a question asks for all items of a kind, or for their number.

    >>> asks_for_list("How many payments are late?"), asks_for_list("When does the lease end?")
    (True, False)
    """
    return find_style(question) is Style.LIST or _ITEMS.search(question) is not None


def asks_for_all(question: str) -> bool:
    """Return whether only the whole document can answer: no part shows that nothing else is there.

    >>> asks_for_all("What was the last date?"), asks_for_all("Who wound the clock?")
    (True, False)
    """
    return asks_for_list(question) or _OVER_ALL.search(question) is not None


def find_counted(question: str) -> str:
    """Return the term of what a question wants the number of; empty where it wants none."""
    word = find_counted_word(question)
    return stem(word) if word.isascii() else word


def find_counted_word(question: str) -> str:
    """Return the word of what a question wants the number of, as it stands there."""
    found = _COUNTED.search(question.casefold())
    return found[1] or found[2] if found else ""


def can_answer(question: str, text: str) -> bool:
    """Return whether a few words can be the answer: of its kind, no pronoun, and more than the question said."""
    if all(word in POINTERS for word in text.casefold().split()):
        return False
    has_kind = holds_kind(find_kind(question), text)
    repeated = {stem(word.index_key) for word in parse_words(text)}
    if not (has_kind and repeated and repeated <= {stem(word.index_key) for word in parse_words(question)}):
        return has_kind
    # Of a choice the question has the answer; "the drawer" is none to "In which drawer?".
    asked = {stem(found[1].casefold()) for found in _ASKED_THING.finditer(question)}
    said = {stem(word.index_key) for word in parse_words(text) if word.is_distinctive}
    return bool(_CHOICE.search(question)) and not (said and said <= asked)
