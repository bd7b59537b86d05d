"""Which row of a table has the most or the least: no single row can tell, and no model is needed for it.

    question   Which is cheaper, Otter or Heron?        Which has the longest span?
    rows       those that it names                      all of the table
    column     the one whose name has the question's words, else the one of the kind that is compared: a price, a time
    order      by number, date or length of time; the most, or the least

>>> HEADER, ROWS = "| Boat | Price | Crew |", ["| Otter | £1,200 | 4 |", "| Heron | £900 | 6 |", "| Teal | £950 | 2 |"]
>>> [compare_rows(question, HEADER, ROWS)[0] for question in ("Which boat is cheapest?", "Bigger crew: Otter or Teal?")]
['Heron', 'Otter']
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple

from bookwheel.text.numbers import find_dates, read_amount
from bookwheel.text.ranking import find_stems
from bookwheel.text.rows import split_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAST: Final = re.compile(
    r"\b(?:least|fewe(?:r|st)|less|lowe(?:r|st)|smalle(?:r|st)|shorte(?:r|st)|cheape(?:r|st)|lighte(?:r|st)|earlie(?:r|st)|"
    r"slowe(?:r|st)|olde(?:r|st)|narrowe(?:r|st)|first|minimum|nearest|closest)\b|[更最较]?[少低小短轻早便]|便宜|先",
    re.IGNORECASE,
)
_MOST: Final = re.compile(
    r"\b(?:most|more|higher|highest|larger|largest|bigger|biggest|greater|greatest|longe(?:r|st)|deare(?:r|st)|heavie(?:r|st)|"
    r"late(?:r|st)|newe(?:r|st)|wider|widest|taller|tallest|costlie(?:r|st)|last|maximum|faste(?:r|st)|furthest|farthest)\b|"
    r"[更最较]?[多高大长重晚贵久]",
    re.IGNORECASE,
)
_COMPARES: Final = re.compile(
    r"\bor\b|\b(?:which|who)\b.*\b(?:more|most|less|least|fewer|fewest|\w{2,}est|better|\w{3,}er)\b|"
    r"哪[个家种款位月条台]|谁.*[多少高低大小长短贵早晚]|最[多少高低大小长短贵早晚便]",
    re.IGNORECASE,
)
_BOUND: Final = re.compile(
    r"\b(?:less|more|fewer) than\b|\bat (?:least|most)\b|不到|超过|以上|以下|至少|至多", re.IGNORECASE
)
_SUPERLATIVE: Final = re.compile(r"\w{2,}est\b|\bmost\b|最", re.IGNORECASE)
_KINDS: Final = (
    (
        re.compile(r"cheap|dear|costl|expensive|\bcosts?\b|\bpric|贵|便宜|价|费", re.IGNORECASE),
        re.compile(r"pric|cost|fee|charge|rate|amount|total|[£$€¥]|价|费|元|金额", re.IGNORECASE),
    ),
    (
        re.compile(r"\blong|\bshort|\bquick|\bslow|\bfast|takes|久|长|短|快|慢", re.IGNORECASE),
        re.compile(r"time|duration|length|days|weeks|hours|minutes|时|期|长", re.IGNORECASE),
    ),
    (
        re.compile(r"\bearl|\blate|\bnew|\bold|\bfirst|\blast|早|晚|先|新|旧", re.IGNORECASE),
        re.compile(r"date|day|year|built|since|when|日|年|期", re.IGNORECASE),
    ),
    (re.compile(r"heav|light|重|轻", re.IGNORECASE), re.compile(r"weight|kg|mass|重", re.IGNORECASE)),
)
_TERM: Final = re.compile(
    r"(\d+(?:\.\d+)?) ?(seconds?|secs?|s|minutes?|mins?|min|hours?|hrs?|h|days?|d|weeks?|months?|years?|"
    r"秒|分钟?|小时|[天日]|周|个?月|年)(?![^\W\d_a-zA-Z]|[a-z])"
)
_SECONDS: Final = {"s": 1, "秒": 1, "m": 60, "分": 60, "h": 3600, "小": 3600, "d": 86400, "天": 86400, "日": 86400}
_LONGER: Final = {"w": 7, "周": 7, "mo": 30, "个": 30, "月": 30, "y": 365, "年": 365}
_TIME: Final = re.compile(r"(\d{1,2}):(\d\d)(?!\d)")
_NOTHING: Final = re.compile(r"free|none|nil|免费|无|没有", re.IGNORECASE)
_BRACKETS: Final = re.compile(r"\s*[（(\[][^()（）\[\]]*[)）\]]")
_LEAST_ROWS: Final = 2


class Comparison(NamedTuple):
    """The name of the row that has the most or the least, and the rows that tell it."""

    text: str
    rows: tuple[str, ...]
    is_named: bool
    """Whether the question names the rows that it compares."""


def asks_comparison(question: str) -> bool:
    """Return whether a question asks which of several has more or less of something."""
    return bool(_COMPARES.search(question))


def compare_rows(question: str, header: str, rows: Sequence[str]) -> Comparison | None:
    """Return the row that a question asks for by comparing; None where it does not, or no column can be told."""
    names = split_cells(header)
    cells = [split_cells(row) for row in rows]
    table = [(row, found) for row, found in zip(rows, cells, strict=True) if len(found) == len(names)]
    found = _find_key(question, [found for _, found in table]) if len(table) >= _LEAST_ROWS else None
    if found is None or _BOUND.search(question):
        return None
    key, places = found
    asked = question
    for at in places:
        asked = asked.replace(table[at][1][key], " ")
    least, most = _LEAST.search(asked), _MOST.search(asked)
    if bool(least) is bool(most) or (len(places) == 1 and not _SUPERLATIVE.search(asked)):
        return None
    named = [table[at] for at in places] if len(places) > 1 else []
    compared = named or table
    column = _choose_column(asked, names, [found for _, found in compared], key)
    if column is None:
        return None
    values = [(value, one) for one in compared if (value := _measure(one[1][column])) is not None]
    if len(values) < _LEAST_ROWS or (named and len(values) < len(named)):
        return None
    best = (min if least else max)(value for value, _ in values)
    won = [one for value, one in values if value == best]
    if len(won) > 1:
        return None
    shown = [row for row, _ in named] if named else [won[0][0]]
    return Comparison(won[0][1][key].strip("`* "), tuple(shown), is_named=bool(named))


def _find_key(question: str, rows: Sequence[Sequence[str]]) -> tuple[int, list[int]] | None:
    """Return the column that tells the rows apart by words, and the rows that the question names by it."""
    best: tuple[int, list[int]] | None = None
    for at in range(len(rows[0])):
        cells = [row[at] for row in rows]
        worded = sum(sum(map(str.isalpha, cell)) >= sum(map(str.isdigit, cell)) for cell in filter(None, cells))
        named = _find_named(question, cells)
        told = [cells[place] for place in named] if len(named) > 1 else cells
        if len(set(told)) < len(told) or worded <= len(cells) / 2:
            continue
        if best is None or len(named) > len(best[1]):
            best = (at, named)
    return best


def _find_named(question: str, names: Sequence[str]) -> list[int]:
    """Return the places of the names that the question has, by half of their words or more, one of them no other's."""
    asked = find_stems(question)
    names = [_BRACKETS.sub("", name).strip() or name for name in names]
    stems = [find_stems(name) if name.isascii() else set[str]() for name in names]
    common = Counter(stem for some in stems for stem in some)
    return [
        at
        for at, (name, some) in enumerate(zip(names, stems, strict=True))
        if (some and some <= asked)
        or (2 * len(some & asked) >= len(some) > 0 and any(common[stem] == 1 for stem in some & asked))
        or (not name.isascii() and name in question)
    ]


def _choose_column(question: str, names: Sequence[str], rows: Sequence[Sequence[str]], key: int) -> int | None:
    """Return the column of values that the question is about."""
    asked = find_stems(question) - {stem for row in rows for stem in find_stems(row[key])}
    stems = [find_stems(name) for name in names]
    common = Counter(stem for some in stems for stem in some)
    able = [at for at in range(len(names)) if at != key and any(_measure(row[at]) is not None for row in rows)]
    shares = {at: sum(1 / common[stem] for stem in stems[at] & asked) for at in able}
    best = max(shares.values(), default=0.0)
    if best:
        first = [at for at in able if shares[at] == best]
        return first[0] if len(first) == 1 else None
    for of_question, of_name in _KINDS:
        if of_question.search(question):
            fit = [at for at in able if of_name.search(names[at])]
            return fit[0] if len(fit) == 1 else None
    return None


def _measure(cell: str) -> float | None:
    """Return what a cell is compared by: a day, a length of time, a time of day, or its number."""
    if days := find_dates(cell):
        return float(date.fromisoformat(days[0]).toordinal())
    if terms := _TERM.findall(cell):
        return sum(float(number) * _count_seconds(unit) for number, unit in terms)
    if time := _TIME.search(cell):
        return float(int(time[1]) * 60 + int(time[2]))
    return 0.0 if _NOTHING.fullmatch(cell.strip()) else read_amount(cell)


def _count_seconds(unit: str) -> int:
    long = _LONGER.get(unit[:2]) or _LONGER.get(unit[0])
    return long * _SECONDS["d"] if long and unit[:3] != "min" else _SECONDS[unit[0]]
