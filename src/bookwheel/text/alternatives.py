"""Which of the two that a question names has the more of something, told by figures beside their names.

    question       Who was born first, Ada Quill or Tom Rook?      Do more of them live in Low Stavelock or in the town?
    passages       Ada Quill (born 3 May 1902) … Rook, b. 1899     402 live in Low Stavelock, 655 in the town
    of each        the nearest figure, of one form for both        the same
    answer         the one with the least, or the most             the same

No model is asked: a small one guesses. Tables have more to go by (comparisons.py).

>>> choose_alternative("Which is longer, the ford or the lane?", ["The ford road is 9 miles, the lane 14 miles."]).text
'the lane'
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple

from bookwheel.text.comparisons import HAN, find_order, is_ago, list_superlatives
from bookwheel.text.figures import DAYS, MONEY, NUMBER, TIME, Figure, list_figures
from bookwheel.text.numbers import unify_numbers
from bookwheel.text.ranking import QuestionWords, find_stems

_OR: Final = re.compile(
    r"(?<=\S)\s+or\s+(?!(?:not|so|more|less|later|earlier|over|under|both)\b)|还是|(?<=[^，。\s])[和跟与](?=[^。]{1,20}?(?:哪(?![里儿些])|谁))",
    re.IGNORECASE,
)
_PAUSE: Final = re.compile(r"[,:;–—?，：；？]\s*")
_LEADS: Final = re.compile(r"(?:(?:is|are|was|were|do|does|did|of|out of|between|from|than|paid)\s+)+", re.IGNORECASE)
_TRAILS: Final = re.compile(
    r"\s+(?:for|born|released|founded|published|is|was|are|were|come|came|die[sd]?)$|[，,]?(?:哪|谁).*$",
    re.IGNORECASE,
)
# The figure of a film's director stands beside the director's name.
_OF_ANOTHER: Final = re.compile(
    r"\bwhose\b|\bha(?:s|ve|d) (?:the|an?) \w+ (?:who|that|which|born|died)\b", re.IGNORECASE
)
_OF_DAYS: Final = re.compile(
    r"\b(?:first|earlie\w*|later?|latest|olde\w*|younge\w*|newe\w*|(?:more|most) recent\w*|before)\b|"
    r"[先早晚老旧新]|年轻",
    re.IGNORECASE,
)
_END: Final = re.compile(
    r"\b(?:die[sd]?|dead|death|end(?:s|ed)?|expires?|clos\w+|shuts?)\b|去世|逝世|结束|到期|关", re.IGNORECASE
)
# What stands before the last day of a life, of a lease.
_TO_THE_END: Final = re.compile(
    r"(?:[–—-]|†|\b(?:died|to|until|ended|expires|clos\w+|shuts?)\b|[至到])\D{0,12}$", re.IGNORECASE
)
_AGE: Final = re.compile(r"\b(?:olde|younge)\w+|年轻|[老大]", re.IGNORECASE)
_PRICE: Final = re.compile(
    r"\b(?:cheap|dear|cost|pric|pay|paid|expensive|salar|rent|fee|fare|earn|wage|income|bill)\w*|[贵贱]|便宜|[价租费]|工资",
    re.IGNORECASE,
)
_RATE: Final = re.compile(r"\b(?:rates?|per ?cent|percentage|discount|interest)\b|利率|折扣|百分", re.IGNORECASE)
_PACE: Final = re.compile(r"\b(?:fast|slow|quick)\w*|[快慢]", re.IGNORECASE)
_RANK: Final = re.compile(r"\brank\w*|\bplaced?\b|排名|名次", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W_\u3400-\u9fff]+(?:[-'’.][^\W_\u3400-\u9fff]+)*|[\u3400-\u9fff](?=([\u3400-\u9fff])?)")
_WHICH: Final = re.compile(r"\b(?:w?h?ich|who|what)\b", re.IGNORECASE)
_OTHER_ASKED: Final = re.compile(r"\b(?:when|where|why|how|whom|whose|if)\b", re.IGNORECASE)
_LETTER: Final = re.compile(r"[^\W\d_]")
_DENIAL: Final = re.compile(r"\b(?:not|no|nor|never|neither|without|except)\b|n['’]t\b|[不没無无未]", re.IGNORECASE)
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


class _Held(NamedTuple):
    gap: int
    passage: int
    figure: Figure
    is_after: bool


def find_alternatives(question: str) -> tuple[str, str] | tuple[()]:
    """Return the two between which a question asks to choose; nothing where it names no two.

    >>> find_alternatives("Was more diesel ordered in March or in June?"), find_alternatives("Is it open or not?")
    (('in March', 'in June'), ())
    """
    found = [*_OR.finditer(question)]
    if len(found) != 1:
        return ()
    before, after = question[: found[0].start()].rstrip(","), question[found[0].end() :]
    left, right = _PAUSE.split(before)[-1], _PAUSE.split(after)[0]
    if not _is_choice(before, before.removesuffix(left), right, after[len(right) :]):
        return ()
    if left == before and not HAN.search(left) and (order := find_order(left)):
        left = left[order.end :].lstrip()
    left = _LEADS.sub("", left, count=1) if _LEADS.match(left) else left
    if not find_order(before) and (order := find_order(right)) and order.start:
        right = right[: order.start].rstrip()
    right = _TRAILS.sub("", right).strip()
    # "ordered in March or in June": both begin alike.
    alike = [one.start() for one in re.finditer(rf"\b{re.escape(right.split()[0])}\b", left)] if right else []
    left = left[alike[-1] :].strip() if alike else left.strip()
    return (left, right) if left and right else ()


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


def choose_alternative(question: str, passages: Sequence[str]) -> Alternative | None:
    """Return the one of two that has the most, or the least, by figures beside their names; None where none tells."""
    alternatives = find_alternatives(question)
    asked = _leave_out(alternatives, question)
    order = find_order(asked)
    if order is None or not alternatives or _RANK.search(asked):
        return None
    names = _tell_apart(*alternatives)
    if not all(name.stems for name in names):
        return None
    sides = _list_held(names, [unify_numbers(passage) for passage in passages], asked)
    words = find_stems(asked)
    pairs = [(one, other) for one, other in product(*sides) if _are_alike(one, other, words)]
    if not pairs:
        return None
    one, other = min(pairs, key=lambda pair: sum(held.gap for held in pair) + _OTHER_SIDE * (pair[0][3] != pair[1][3]))
    if one.figure.value == other.figure.value:
        return None
    are_days = one.figure.form in DAYS
    is_turned = is_ago(asked) if are_days else one.figure.form == TIME and bool(_PACE.search(asked))
    is_least = order.is_least is not is_turned
    won = alternatives[(one.figure.value < other.figure.value) is not is_least]
    is_close = all(held.is_after and held.gap <= _CLOSE for held in (one, other))
    places = tuple(dict.fromkeys((one.passage, other.passage)))
    return Alternative(won, places, is_sure=are_days and is_close and not _OF_ANOTHER.search(asked))


def name_alternative(question: str, passages: Sequence[str]) -> Alternative | None:
    """Return the one of two that a sentence names with most of the question's other words.

    >>> name_alternative("Who writes it, Piotr or Hanna?", ["Piotr keeps the keys; Hanna writes the letter."]).text
    'Hanna'
    """
    alternatives = find_alternatives(question)
    asked = _leave_out(alternatives, question)
    words = QuestionWords(asked).stems
    if not alternatives or not words or find_order(asked) or _DENIAL.search(asked):
        return None
    names = _tell_apart(*alternatives)
    best = [(0.0, 0), (0.0, 0)]
    for at, passage in enumerate(passages):
        for sentence in _STOP.split(unify_numbers(passage)):
            share = len(words & find_stems(sentence)) / len(words)
            named = [bool(name.stems and _find_places(name, sentence)) for name in names]
            if named[0] is not named[1] and not _DENIAL.search(sentence):
                best[named[1]] = max(best[named[1]], (share, -at))
    won = best[1] > best[0]
    if best[0][0] == best[1][0] or best[won][0] < _MOST_ASKED:
        return None
    return Alternative(alternatives[won], (-best[won][1],), is_sure=False)


def _leave_out(alternatives: Sequence[str], question: str) -> str:
    for one in alternatives:
        question = question.replace(one, " ")
    return question


def _tell_apart(one: str, other: str) -> tuple[_Called, _Called]:
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


def _list_held(names: tuple[_Called, _Called], texts: Sequence[str], asked: str) -> list[list[_Held]]:
    """Return the figures that stand beside each of the two, the nearest first."""
    words = QuestionWords(asked).stems - list_superlatives(asked)
    held: list[list[_Held]] = [[], []]
    for at, text in enumerate(texts):
        figures = _choose_figures(text, asked)
        said, stops = _place_words(words, text), [stop.end() for stop in _STOP.finditer(text)]
        places = [_find_places(name, text) for name in names]
        for side, (mine, others) in enumerate((places, places[::-1])):
            for name, figure in product(mine, figures):
                gap = _measure_gap(name, figure, others, text)
                gap += _weigh_asked(said, stops, name, figure) if words else 0
                if gap <= _FARTHEST:
                    held[side].append(_Held(gap, at, figure, is_after=figure.start >= name[1]))
    return [sorted(side)[:_CANDIDATES] for side in held]


def _choose_figures(text: str, asked: str) -> list[Figure]:
    """Return the figures of a text that can be what is asked about: days for the first, money for the cheapest."""
    every = list_figures(text)
    if _OF_DAYS.search(asked):
        figures = [one for one in every if one.form in DAYS or (one.form == TIME and _AGE.search(asked))]
        ends = [one for one in figures if _TO_THE_END.search(text[max(0, one.start - 16) : one.start])]
        return ends if ends and _END.search(asked) else figures
    amounts = [one for one in every if one.form not in DAYS]
    money = [one for one in amounts if one.form.partition("/")[0] in MONEY]
    if _PRICE.search(asked):
        return money or [one for one in amounts if one.form == NUMBER]
    if _RATE.search(asked):
        return [one for one in amounts if one.form == "%"]
    return [one for one in amounts if one not in money] if _PACE.search(asked) else amounts


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
    return first.form != NUMBER or (first.counted == second.counted and first.counted in asked)


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
