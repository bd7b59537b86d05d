"""What a question asks for: how its answer is said, and of what kind it is.

    style    yes or no · how or why, a sentence · a list, all that qualify · else a span, a few words
    kind     a length of time, money, a day, a person: how it is asked for, and what an answer of that kind has

Passages are ranked by it, short answers chosen, and lists told from single facts. The kinds stand in kinds.toml.

>>> find_style("Which boats are blue?").value, find_kind("How long may it stay?").value
('list', 'duration')
>>> can_answer("How long may it stay?", "until May"), can_answer("How long may it stay?", "in the harbour")
(True, False)
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from bookwheel.packaged import PACKAGE
from bookwheel.patterns import compile_late
from bookwheel.text.lexicon import stem, words
from bookwheel.text.matching import parse_words

_HOW_WHY: Final = compile_late(
    r"^\s*(?:and |so )?(?:why|how (?!many|much|long|far|old|often|big|large|high|deep|soon|late|early|"
    r"tall|heavy)|what (?:happens|should|must i)|reason\b)|为什么|为啥|为何|怎么|咋|如何|怎样|原因",
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
_EITHER: Final = compile_late(r"\bor\b(?! not\b)|还是", re.IGNORECASE)
_TWO: Final = compile_late(r"([a-z]+),? or (?:(?:the|an?|on|in|at|by|to|for) )*([a-z]+)", re.IGNORECASE)
_MAY: Final = compile_late(
    r"(?-i:\bmay\b|^May\b)|\b(?:can|could|might|must|need|will|have to|there|any|allowed|permitted)\b", re.IGNORECASE
)
_MORE_OR_LESS: Final = compile_late(
    r"\b(?:more|less|fewer|better|worse|sooner|first(?! or)|(?:long|short|high|low|larg|bigg|great|small|cheap|"
    r"dear|heavi|light|deep|thick|near|safe|hott|earli|lat|old|young|new|fast|slow|tall|wid|busi|warm|cold)er)\b",
    re.IGNORECASE,
)
_FIRST_ASKED: Final = compile_late(
    r"\b(?:w?hat|w?h?ich|who(?:se|m)?|when|where|why|how)\b|什么|哪|谁|几|多少|多[久高宽重深远快大长]|何|怎",
    re.IGNORECASE,
)
_PART: Final = compile_late(r"\{([a-z_]+)\}")
_ASKED_THING: Final = compile_late(r"\b(?:w?h?ich|w?hat)\s+([a-z]+)", re.IGNORECASE)
# Words that only point at what another sentence names.
_POINTERS: Final = words("he her him his it its she that their them these they this those")
_CHOICE: Final = compile_late(r"\bor\b|\b(?:w?h?ich|whose)\b|还是|哪", re.IGNORECASE)
_POLAR: Final = compile_late(
    r"^\s*(?:is|are|was|were|do|does|did|can|could|may|must|has|have|had|will|would|should|am)\b|"
    r"吗[？?]?\s*$|是否|能不能|可不可以|有没有|会不会|要不要|"
    r"^(?!.*(?:什么|哪|谁|几|多少|怎|何|啥)).*没有?[？?]?\s*$",
    re.IGNORECASE,
)
COUNTS: Final = compile_late(r"\bhow many\b|(?:多少|几)[个位家种款门项]", re.IGNORECASE)
_COUNTED: Final = compile_late(
    r"\bhow many (?:of the |more |other )?([a-z]+)|(?:多少|几)[个名位只条张本次]?([\u4e00-\u9fff]{2})"
)
_ITEMS: Final = compile_late(
    r"\b(?:enumerate|name (?:each|every|the)|every|how many|which of|(?:(?:the|what|total) )number of (?!the\b|an?\b)|"
    r"which (?:\w+ ){1,4}(?:are|were|have|had)(?!.*\b(?:most|least|\w{2,}est)\b))\b|"
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
    compares = names_two(question) and _MORE_OR_LESS.search(question) and not _MAY.search(question)
    if _POLAR.search(question) and not compares:
        return Style.POLAR
    if _HOW_WHY.search(question):
        return Style.SENTENCE
    return Style.LIST if _LIST.search(question) and not names_two(question) else Style.SPAN


def names_two(question: str) -> bool:
    """Return whether a question may be one of which of two: "Is the roof or the boiler dearer?"."""
    return _EITHER.search(question) is not None


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


class AnswerKind(StrEnum):
    """A kind of answer that can be told by its form."""

    DURATION = "duration"
    AGE = "age"
    PERCENT = "percent"
    MONEY = "money"
    HOURS = "hours"
    CLOCK = "clock"
    DAY = "day"
    WHEN = "when"
    AMOUNT = "amount"
    COUNT = "count"
    MEASURE = "measure"
    PERSON = "person"
    PLACE = "place"
    WARRANTY = "warranty"
    WARMTH = "warmth"
    PEOPLE = "people"
    WEIGHT = "weight"


@cache
def _load_table() -> Mapping[AnswerKind, Mapping[str, str]]:
    """Return what the table of kinds says of each, in its order."""
    table = tomllib.loads((PACKAGE / "text" / "kinds.toml").read_text(encoding="utf-8"))
    parts: dict[str, str] = {}

    def build(pattern: str) -> str:
        # Long alternatives go over several lines.
        return _PART.sub(lambda found: parts[found[1]], pattern.replace("\n", ""))

    for name, pattern in table.pop("parts").items():
        parts[name] = build(pattern)
    return {
        AnswerKind(name): {of: "|".join(map(build, alternatives)) for of, alternatives in form.items()}
        for name, form in table.items()
    }


@cache
def _find_pattern(kind: AnswerKind, of: str) -> re.Pattern[str] | None:
    """Return a pattern of a kind; None where it has none. Few of them are needed for a question."""
    pattern = _load_table()[kind].get(of)
    return re.compile(pattern, re.IGNORECASE) if pattern else None


@lru_cache(maxsize=256)
def find_kind(question: str) -> AnswerKind | None:
    """Return the kind that a question asks for first; None for what has no form of its own."""
    first = _FIRST_ASKED.search(question)
    for kind in _load_table():
        asked = _find_pattern(kind, "asked")
        found = asked.search(question) if asked else None
        # "What did he use when …" asks for no time.
        if found and (first is None or found.start() <= first.start() < found.end()):
            return kind
    return None


def shows_kind(kind: AnswerKind | None, passage: str) -> bool:
    """Return whether a passage has what such a question asks for."""
    pattern = kind and (_find_pattern(kind, "shown") or _find_pattern(kind, "held"))
    return not pattern or bool(pattern.search(passage))


def can_answer(question: str, text: str) -> bool:
    """Return whether a few words can be the answer: of its kind, no pronoun, and more than the question said."""
    if all(word in _POINTERS for word in text.casefold().split()):
        return False
    kind = find_kind(question)
    pattern = kind and _find_pattern(kind, "held")
    has_kind = not pattern or bool(pattern.search(text))
    repeated = {stem(word.index_key) for word in parse_words(text)}
    if not (has_kind and repeated and repeated <= {stem(word.index_key) for word in parse_words(question)}):
        return has_kind
    # Of a choice the question has the answer; "the drawer" is none to "In which drawer?".
    asked = {stem(found[1].casefold()) for found in _ASKED_THING.finditer(question)}
    said = {stem(word.index_key) for word in parse_words(text) if word.is_distinctive}
    return bool(_CHOICE.search(question)) and not (said and said <= asked)


def find_columns(question: str, names: Sequence[str]) -> Iterator[list[int]]:
    """Yield the places of the names that a column of a kind has which the question is about, kind by kind."""
    for kind in _load_table():
        about = _find_pattern(kind, "about")
        column = about and about.search(question) and _find_pattern(kind, "column")
        if column:
            yield [at for at, name in enumerate(names) if column.search(name)]
