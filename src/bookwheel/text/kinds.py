"""The kinds of answers that can be told by their form, out of the table kinds.toml.

A length of time, money, a day, a person: how it is asked for, what an answer of that kind has, what a table calls its
column, and which figures are compared where the most or the least is asked for.

>>> find_kind("How long may it stay?").value, holds_kind(AnswerKind.DURATION, "until May")
('duration', True)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final, NamedTuple

from bookwheel.packaged import PACKAGE
from bookwheel.patterns import compile_late

_FIRST_ASKED: Final = compile_late(
    r"\b(?:w?hat|w?h?ich|who(?:se|m)?|when|where|why|how)\b|什么|哪|谁|几|多少|多[久高宽重深远快大长]|何|怎",
    re.IGNORECASE,
)
_SIDES: Final = ("least", "most")
_PART: Final = compile_late(r"\{([a-z_]+)\}")


class AnswerKind(StrEnum):
    """A kind of answer that can be told by its form."""

    DURATION = "duration"
    AGE = "age"
    PERCENT = "percent"
    MONEY = "money"
    HOURS = "hours"
    CLOCK = "clock"
    FINISH = "finish"
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
    PACE = "pace"
    RANK = "rank"


@cache
def _load_table() -> Mapping[AnswerKind, Mapping[str, str]]:
    """Return what the table of kinds says of each, in its order."""
    import tomllib

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


def _has(kind: AnswerKind, of: str, text: str) -> bool:
    pattern = _find_pattern(kind, of)
    return pattern is not None and bool(pattern.search(text))


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


def holds_kind(kind: AnswerKind | None, text: str) -> bool:
    """Return whether a few words have what an answer of a kind has; of no kind all have it."""
    pattern = kind and _find_pattern(kind, "held")
    return not pattern or bool(pattern.search(text))


def shows_kind(kind: AnswerKind | None, passage: str) -> bool:
    """Return whether a passage has what such a question asks for."""
    pattern = kind and (_find_pattern(kind, "shown") or _find_pattern(kind, "held"))
    return not pattern or bool(pattern.search(passage))


def find_columns(question: str, names: Sequence[str]) -> Iterator[list[int]]:
    """Yield the places of the names that a column of a kind has which the question is about, kind by kind."""
    for kind in _load_table():
        column = _find_pattern(kind, "column")
        if column and _has(kind, "about", question):
            yield [at for at, name in enumerate(names) if column.search(name)]


def find_asked_columns(question: str, names: Sequence[str]) -> list[int]:
    """Return the places of the names that a column has of what the question asks for: of "who" those of persons."""
    kind = find_kind(question)
    column = kind and _find_pattern(kind, "column")
    return [at for at, name in enumerate(names) if column and column.search(name)]


def spell_order(is_least: bool) -> str:
    """Return the words that ask for the least, or for the most, as alternatives of a regular expression."""
    side = _SIDES[not is_least]
    return "|".join(form[side] for form in _load_table().values() if side in form)


@cache
def _compile_orders() -> re.Pattern[str]:
    """Return the words that ask for the least or the most. A group's name has the kind, and which of the two."""
    forms = [(f"{kind}_{side}", form[side]) for kind, form in _load_table().items() for side in _SIDES if side in form]
    return re.compile("|".join(f"(?P<{name}>[更最较]?(?:{pattern}))" for name, pattern in forms), re.IGNORECASE)


class OrderWord(NamedTuple):
    """A word that asks for the most or the least of something."""

    start: int
    end: int
    text: str
    is_least: bool
    kind: AnswerKind


def list_order_words(question: str) -> list[OrderWord]:
    """Return the words of a question that ask for the most or the least.

    >>> [(word.text, word.is_least, word.kind.value) for word in list_order_words("the older one? 哪个最便宜")]
    [('older', False, 'age'), ('最便宜', True, 'money')]
    """
    words: list[OrderWord] = []
    for found in _compile_orders().finditer(question):
        kind, side = (found.lastgroup or "").split("_")
        words.append(OrderWord(*found.span(), found[0], side == _SIDES[0], AnswerKind(kind)))
    return words


def choose_figures(kinds: Collection[AnswerKind], asked: str) -> list[list[str]] | None:
    """Return which figures are compared, and which where there are none of these; None where all may be.

    They are of the kinds of the words that compare, else of the first kind that the question is about.
    """
    table = _load_table()
    about = (kind for kind in table if _has(kind, "about", asked) or _has(kind, "also", asked))
    for kind in (*kinds, *about):
        if (groups := table[kind].get("figures")) is not None:
            return [choice.split() for choice in groups.split("|") if choice]
    return None


def turns_order(kind: AnswerKind, group: str) -> bool:
    """Return whether the most of a kind has the least of such figures: the oldest has the earliest day."""
    return group in _load_table()[kind].get("turned", "").split()
