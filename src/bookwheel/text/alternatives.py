"""Which of the two that a question names has the more of something, told by figures beside their names.

    question       Who was born first, Ada Quill or Tom Rook?      Do more of them live in Low Stavelock or in the town?
    passages       Ada Quill (born 3 May 1902) … Rook, b. 1899     402 live in Low Stavelock, 655 in the town
    of each        the nearest figure, of one form for both        the same
    answer         the one with the least, or the most             the same

Where nothing is compared, the sentence that names one of them with the other words of the question.
No model is asked: a small one guesses. Tables have more to go by (comparisons.py).

>>> from bookwheel.text.comparatives import find_alternatives
>>> two = find_alternatives("Which is longer, the ford or the lane?")
>>> choose_alternative(two, ["The ford road is 9 miles, the lane 14 miles."]).text
'the lane'
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import product
from typing import Final, NamedTuple

from bookwheel.text.comparatives import HAN, Alternatives, Order, asks_end, list_superlatives
from bookwheel.text.denials import denies
from bookwheel.text.figures import Figure, FigureGroup, list_figures
from bookwheel.text.kinds import choose_figures
from bookwheel.text.numbers import unify_numbers
from bookwheel.text.ranking import QuestionWords, find_stems

# The figure of a film's director stands beside the director's name.
_OF_ANOTHER: Final = re.compile(
    r"\bwhose\b|\bha(?:s|ve|d) (?:the|an?) \w+ (?:who|that|which|born|died)\b", re.IGNORECASE
)
# What stands before the last day of a life, of a lease.
_TO_THE_END: Final = re.compile(
    r"(?:[–—-]|†|\b(?:died|to|until|ended|expires|clos\w+|shuts?)\b|[至到])\D{0,12}$", re.IGNORECASE
)
_WORD: Final = re.compile(r"[^\W_\u3400-\u9fff]+(?:[-'’.][^\W_\u3400-\u9fff]+)*|[\u3400-\u9fff](?=([\u3400-\u9fff])?)")
_JUDGED: Final = re.compile(r"\b(?:better|best|worse|worst)\b", re.IGNORECASE)
"""That a sentence names one of two says nothing of which is better."""
_JOINTS: Final = re.compile(r"\b(?:of|among|in|on|for|from|with|to|at|by|under|as)\b", re.IGNORECASE)
_STOP: Final = re.compile(r"[.!?]\s|[\n;。！？；]")

# Distances, in characters.
_TOGETHER: Final = 25
_CLOSE: Final = 30
"""A figure so near behind a name is nearly always its own."""
_FARTHEST: Final = 100
_ANOTHER_SENTENCE: Final = 40
_NOT_ASKED: Final = 20
_OTHER_SIDE: Final = 20
_CANDIDATES: Final = 12
_MOST_ASKED: Final = 0.5


class Alternative(NamedTuple):
    """The one of two that a question asks for."""

    text: str
    passages: tuple[int, ...]
    """Where the figures of both stand."""
    is_sure: bool
    """Whether days close behind the names are compared: of a number it is less sure what it counts."""


class _Called(NamedTuple):
    stems: set[str]
    """By which one of two is told from the other."""
    head: set[str]
    """Those that have to stand there."""


_Names = tuple[_Called, _Called]


class _Held(NamedTuple):
    gap: int
    passage: int
    figure: Figure
    is_after: bool


def choose_alternative(two: Alternatives, passages: Sequence[str]) -> Alternative | None:
    """Return the one of two that figures beside their names tell, or a sentence where nothing is compared."""
    names = _tell_apart(*two.names)
    texts = [unify_numbers(passage) for passage in passages]
    return _compare(two, two.order, names, texts) if two.order else _find_sentence(two, names, texts)


def _compare(two: Alternatives, order: Order, names: _Names, texts: Sequence[str]) -> Alternative | None:
    """Return the one that has the most, or the least, by figures beside their names."""
    if not all(name.stems for name in names):
        return None
    sides = _list_held(two, order, names, texts)
    words = find_stems(two.asked)
    pairs = [(one, other) for one, other in product(*sides) if _are_alike(one, other, words)]
    if not pairs:
        return None
    one, other = min(pairs, key=lambda pair: sum(held.gap for held in pair) + _OTHER_SIDE * (pair[0][3] != pair[1][3]))
    if one.figure.value == other.figure.value:
        return None
    won = two.names[(one.figure.value < other.figure.value) is not order.takes_least(one.figure.group)]
    is_close = all(held.is_after and held.gap <= _CLOSE for held in (one, other))
    is_sure = one.figure.group is FigureGroup.DAY and is_close and not _OF_ANOTHER.search(two.asked)
    return Alternative(won, tuple(dict.fromkeys((one.passage, other.passage))), is_sure)


def _find_sentence(two: Alternatives, names: _Names, texts: Sequence[str]) -> Alternative | None:
    """Return the one that a sentence names with most of the question's other words."""
    words = QuestionWords(two.asked).stems
    if not words or denies(two.asked) or _JUDGED.search(two.asked):
        return None
    best = [(0.0, 0), (0.0, 0)]
    for at, text in enumerate(texts):
        for sentence in _STOP.split(text):
            share = len(words & find_stems(sentence)) / len(words)
            named = [bool(name.stems and _find_places(name, sentence)) for name in names]
            if named[0] is not named[1] and not denies(sentence):
                best[named[1]] = max(best[named[1]], (share, -at))
    won = best[1] > best[0]
    if best[0][0] == best[1][0] or best[won][0] < _MOST_ASKED:
        return None
    return Alternative(two.names[won], (-best[won][1],), is_sure=False)


def _tell_apart(one: str, other: str) -> _Names:
    one, other = unify_numbers(one), unify_numbers(other)
    stems = [find_stems(name) for name in (one, other)]
    mine, others = stems[0] - stems[1], stems[1] - stems[0]
    return _Called(mine, _find_head(one, mine)), _Called(others, _find_head(other, others))


def _find_head(name: str, stems: set[str]) -> set[str]:
    """Return all stems of a proper name, and the last of a thing: "the old boiler in the cellar"."""
    thing = next(filter(None, map(str.strip, _JOINTS.split(name))), name)
    words = [word[0] for word in _WORD.finditer(thing) if find_stems(word[0]) & stems]
    if not words or HAN.search(name) or any(word[0].isupper() for word in words):
        return stems
    return find_stems(words[-1]) & stems


def _list_held(two: Alternatives, order: Order, names: _Names, texts: Sequence[str]) -> list[list[_Held]]:
    """Return the figures that stand beside each of the two, the nearest first."""
    words = QuestionWords(two.asked).stems - list_superlatives(two.asked)
    groups = choose_figures(order.kinds, two.asked)
    held: list[list[_Held]] = [[], []]
    for at, text in enumerate(texts):
        figures = _choose_figures(text, groups, ends=asks_end(two.asked))
        said, stops = _place_words(words, text), [stop.end() for stop in _STOP.finditer(text)]
        places = [_find_places(name, text) for name in names]
        for side, (mine, others) in enumerate((places, places[::-1])):
            for name, figure in product(mine, figures):
                gap = _measure_gap(name, figure, others, text)
                gap += _weigh_asked(said, stops, name, figure) if words else 0
                if gap <= _FARTHEST:
                    held[side].append(_Held(gap, at, figure, is_after=figure.start >= name[1]))
    return [sorted(side)[:_CANDIDATES] for side in held]


def _choose_figures(text: str, choices: Sequence[Collection[str]] | None, *, ends: bool) -> list[Figure]:
    """Return the figures of a text that can be what is asked about; of two days the last where ends are asked for."""
    every = list_figures(text)
    if choices is None:
        return [one for one in every if one.group is not FigureGroup.DAY]
    figures = next(filter(None, ([one for one in every if one.group in groups] for groups in choices)), [])
    last = [
        one
        for one in figures
        if one.group is FigureGroup.DAY and _TO_THE_END.search(text[max(0, one.start - 16) : one.start])
    ]
    return last if ends and last else figures


def _place_words(words: set[str], text: str) -> list[int]:
    """Return where words with these stems begin."""
    return [word.start() for word in _WORD.finditer(text) if find_stems(word[0] + (word[1] or "")) & words]


def _weigh_asked(asked: Sequence[int], stops: Sequence[int], name: tuple[int, int], figure: Figure) -> int:
    """Return how much farther a figure counts whose sentence says nothing of what is asked, or says it of another.

    "The Otter, built in 1901, sank in 1930": asked when it sank, the year is the one behind that word.
    """
    at = bisect_right(stops, figure.start)
    first, last = stops[at - 1] if at else 0, stops[at] if at < len(stops) else figure.end + _FARTHEST
    said = max(first, name[1]) if figure.start >= name[1] else first
    if any(said <= place < figure.start for place in asked):
        return 0
    is_other = not any(first <= place < said for place in asked) and any(figure.end <= place < last for place in asked)
    return 2 * _NOT_ASKED if is_other else _NOT_ASKED


def _are_alike(one: _Held, other: _Held, asked: set[str]) -> bool:
    """Return whether two figures can be compared: of one form, in one passage, or counting what is asked about."""
    first, second = one.figure, other.figure
    if first.form != second.form:
        return False
    if one.passage == other.passage:
        # "402 live in Low Stavelock, 655 in the town": what is counted is said once.
        return first.start != second.start
    return first.group is not FigureGroup.NUMBER or (first.counted == second.counted and first.counted in asked)


def _find_places(name: _Called, text: str) -> list[tuple[int, int]]:
    """Return where the words of a name stand together."""
    runs: list[tuple[int, int, set[str]]] = []
    for word in _WORD.finditer(text):
        written = word[0] + (word[1] or "")
        here = (find_stems(written) | {word[0]}) & name.stems
        start, end = word.start(), word.start() + len(written)
        if here and runs and start - runs[-1][1] < _TOGETHER:
            runs[-1] = (runs[-1][0], end, runs[-1][2] | here)
        elif here:
            runs.append((start, end, here))
    most = max((len(found) for *_, found in runs), default=0)
    return [(start, end) for start, end, found in runs if len(found) == most and name.head <= found]


def _measure_gap(name: tuple[int, int], figure: Figure, others: Sequence[tuple[int, int]], text: str) -> int:
    """Return how far a figure is from a name; farther behind a stop, or behind the other name."""
    is_after = figure.start >= name[1]
    first, last = (name[1], figure.start) if is_after else (figure.end, name[0])
    crossed = any(first <= start < last for start, _ in others)
    stops = len(_STOP.findall(text[first:last]))
    # What a sentence says before a stop is of something else.
    return max(0, last - first) + (_ANOTHER_SENTENCE if is_after else _FARTHEST) * stops + _FARTHEST * crossed
