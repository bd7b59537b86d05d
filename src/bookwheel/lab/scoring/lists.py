"""Compare an answer that lists several values with the set of golds: what is missing counts, and what is too much.

golds red, green     "red and green"          1.0
                     "red"                    0.67    precision 1, recall 0.5
                     "red, green, blue, white" 0.67   precision 0.5, recall 1
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bookwheel.lab.scoring.normalization import find_words, words

if TYPE_CHECKING:
    from collections.abc import Sequence

_SEPARATOR: Final = re.compile(
    r"[\n;；、，|]|(?<!\d),|,(?!\d{3}(?!\d))|(?<=\d),\s|\s(?:and|or|&|plus)\s|以及|还有|\s[-–—]\s|(?<=[^\W\d_])[.。](?:\s|$)"
)
_BULLET: Final = re.compile(r"^\s*(?:[-*•·]|\(?\d{1,2}[.):]|\d{1,2}\.\s)\s*")
_INTRODUCTION: Final = re.compile(r"^[^:：\n]{0,200}[:：]\s*")
# An item without a gold that has so many words more than the longest gold is a sentence, and no item.
_MOST_EXTRA: Final = 3


def compare_sets(answer: str, golds: Sequence[str]) -> tuple[float, float, dict[str, float]]:
    """Return precision, recall, and for each gold whether the answer lists it."""
    wanted = {gold: words(gold) for gold in golds}
    items = _split_items(answer, list(wanted.values()))
    found = {gold: float(any(find_words(item, part, most=1) for item in items)) for gold, part in wanted.items()}
    hits = [item for item in items if any(find_words(item, part, most=1) for part in wanted.values())]
    named = sum(found.values())
    wrong = len(items) - len(hits)
    precision = named / (named + wrong) if named + wrong else 0.0
    return precision, named / len(found) if found else 0.0, found


def _split_items(answer: str, golds: Sequence[list[str]]) -> list[list[str]]:
    """Return the words of each item. Prose around the items is left out."""
    body = _INTRODUCTION.sub("", answer.strip())
    longest = max(map(len, golds), default=1)
    items: list[list[str]] = []
    for piece in _SEPARATOR.split(body):
        item = words(_BULLET.sub("", piece))
        has_gold = any(find_words(item, gold, most=1) for gold in golds)
        if item and (has_gold or len(item) <= longest + _MOST_EXTRA):
            items += _split_run(item, golds) if has_gold else [item]
    return items


def _split_run(item: list[str], golds: Sequence[list[str]]) -> list[list[str]]:
    """Split an item with several values in a row ("A B C D") where all golds are single words of one kind."""
    if any(len(gold) != 1 for gold in golds):
        return [item]
    kinds = {_shape(gold[0]) for gold in golds}
    values = [[word] for word in item if _shape(word) in kinds]
    has_prose = len(kinds) == 1 and kinds == {"word"} and len(item) > 1 and not _is_run(item, golds)
    return [item] if has_prose or not values else values


def _is_run(item: list[str], golds: Sequence[list[str]]) -> bool:
    """Return whether a row of plain words is a list without separators: most of its words are golds."""
    return 2 * sum(any(gold == [word] for gold in golds) for word in item) > len(item)


def _shape(word: str) -> str:
    if word.isdigit():
        return f"number of {len(word) // 3}"
    return "word" if word.isalpha() else "code"
