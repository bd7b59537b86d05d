"""Which rows of a table have what a question asks for: a value beyond a bound, or a certain word.

    question   Which boats cost less than £950?     Which boats lie in the north shed?
    column     the one that the question is about   the one whose cells the question names some of
               a month is such a bound: How many boats were sold in May 2025?
    answer     the names of the rows, in order

>>> HEADER, ROWS = "| Boat | Price | Shed |", ["| Otter | £1,200 | North |", "| Heron | £900 | South |"]
>>> ROWS += ["| Teal | £30 | North |"]
>>> select_rows("Which boats cost less than £950?", HEADER, ROWS).names
('Heron', 'Teal')
>>> select_rows("Which boats are in the north shed?", HEADER, ROWS).names
('Otter', 'Teal')
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from functools import cache
from typing import Final, NamedTuple

from bookwheel.patterns import compile_late
from bookwheel.text import lexicon
from bookwheel.text.cells import split_cells
from bookwheel.text.comparatives import HAN, find_order, spell_bounds
from bookwheel.text.comparisons import NAMES_TIME, YEARS, are_spent, find_group, find_key, list_measured, read_table
from bookwheel.text.figures import FigureGroup, Scale, find_scale, list_figures, list_units, measure, measure_span
from bookwheel.text.kinds import choose_figures, spell_order
from bookwheel.text.numbers import find_dates
from bookwheel.text.ranking import find_stems
from bookwheel.text.rows import BRACKETS, choose_columns

# Without a longest, a question of twenty thousand numerals takes minutes.
_VALUE: Final = (
    rf"(?P<value>(?:(?:{lexicon.MONTH})\.? )?[£$€¥]? ?\d(?:[\d,.]{{0,20}}\d)?|"
    rf"\b(?:{'|'.join(lexicon.SMALL_NUMBERS[2:])})\b|[一二两三四五六七八九十百千]{1, 20})"
)
_UNIT: Final = r"(?P<unit> ?[万千百]? ?[^\W\d_]{1,20})"
_MONTH: Final = re.compile(
    rf"\b(?:in|during|of|for) (?P<name>{'|'.join(lexicon.MONTH_NAMES)})\b(?: (?P<year>\d{{4}}))?"
    r"|(?:(?P<before>\d{4})年)?(?P<number>\d{1,2})月(?!\d|[一二三四五六七八九十底初])",
    re.IGNORECASE,
)
_PLAIN_DATE: Final = re.compile(r"date|day|日期", re.IGNORECASE)
_PLAIN: Final = frozenset({"yes", "no", "none", "y", "n", "有", "无", "是", "否"})
# What is asked for by these words, the equality of cells does not tell.
_ORDERED: Final = re.compile(
    r"\b(?:before|after|since|until|earlier|later)\b|\bnot?\b|以[前后]|之[前后]|[没不未]", re.IGNORECASE
)
# In the place of the bound there is a space: a drone, 无人机, denies nothing, and neither does "item no."
_DENIED: Final = re.compile(
    r"\b(?:not|no(?!\.)|nor|never|neither|without|except)\b|n['’]t\b|没|[不未](?=\s)", re.IGNORECASE
)

_HOURS: Final = re.compile(r"\d ?(?:h|时|小时)", re.IGNORECASE)

_Holds = Callable[[float, float], bool]
_Measured = tuple[list[float | None], float]
# Characters that a day in words takes at the most.
_LONGEST_DAY: Final = 40


@cache
def _compile_bound(behind: str) -> re.Pattern[str]:
    """Return the words for more and for less than what stands behind them."""
    order = "|".join(map(spell_order, (True, False)))
    than = r"(?:(?: \w+){0,2} than\b|于)"
    over, under = r"(?P<over>\bover\b|\babove\b|超过)", r"(?P<under>\bunder\b|\bbelow\b|不到)"
    return re.compile(rf"(?:(?P<words>(?:{order}){than})|{over}|{under}){behind}", re.IGNORECASE)


_BEFORE_VALUE: Final = rf"\s*{_VALUE}{_UNIT}?"
_INCLUSIVE: Final[Sequence[tuple[re.Pattern[str], _Holds]]] = [
    (compile_late(pattern, re.IGNORECASE), holds)
    for pattern, holds in (
        (rf"(?:\bat least|至少){_BEFORE_VALUE}", float.__ge__),
        (rf"(?:\bat most|\bup to|至多){_BEFORE_VALUE}", float.__le__),
        (rf"{_VALUE}{_UNIT}??(?: or (?:more|longer)\b|以上)", float.__ge__),
        (rf"{_VALUE}{_UNIT}??(?: or (?:less|fewer)\b|以[下内])", float.__le__),
    )
]


class Selection(NamedTuple):
    """The rows that a question asks for."""

    names: tuple[str, ...]
    rows: tuple[str, ...]
    is_measured: bool
    """Whether a bound told them; else a word that stands in their cells."""


def select_rows(question: str, header: str, rows: Sequence[str]) -> Selection | None:
    """Return the rows that have what is asked for; None where no column can be told, or all rows have it."""
    question = spell_bounds(question)
    names, table = split_cells(header), read_table(header, rows)
    # Of "later than 5 pm" no word names a row whose cell is "9 pm".
    bare = _compile_bound(_BEFORE_VALUE).sub(" ", question)
    found = find_key(bare, names, [cells for _, cells in table]) if len(table) > 1 else None
    if found is None:
        return None
    key, every = found[0], [cells for _, cells in table]
    beyond = _select_beyond(question, names, every, key)
    beyond = _select_month(question, names, every, key) if beyond is None else beyond
    named = _select_named(question if beyond is None else _MONTH.sub(" ", bare), every, key)
    if beyond is None:
        beyond = _select_against(question, names, every, key)
        chosen = named if beyond is None else beyond
    else:
        chosen = [at for at in beyond if at in named] if named else beyond
    if not chosen or len(chosen) == len(table):
        return None
    return Selection(
        tuple(every[at][key].strip("`* ") for at in chosen), tuple(table[at][0] for at in chosen), beyond is not None
    )


def _select_beyond(question: str, names: Sequence[str], rows: Sequence[Sequence[str]], key: int) -> list[int] | None:
    """Return the rows whose value lies beyond the bound that the question gives; None where it gives none."""
    exclusive = ((found, None) for found in _compile_bound(_BEFORE_VALUE).finditer(question))
    inclusive = ((found, holds) for pattern, holds in _INCLUSIVE for found in pattern.finditer(question))
    bounds = [*exclusive, *inclusive]
    if not bounds:
        return None
    found, holds = bounds[0]
    said = _read_value(question, found)
    rest = question.replace(found[0], " ").replace(said, " ")
    able = list_measured(rows, key)
    measured = {at: _compare_cells(names[at], [row[at] for row in rows], found, said) for at in able}
    if not any(measured.values()):
        measured = {at: _compare_spans(question, names[at], [row[at] for row in rows], said) for at in able}
    like = [at for at in able if measured[at]]
    columns = choose_columns(rest, names, able, by_kind=False) or choose_columns(rest, names, like)
    columns = columns or choose_columns(question, names, like) or _find_unit(found["unit"], rows, like)
    # Of two bounds, or of one that is denied, one alone tells nothing.
    compared = measured[columns[0]] if len(columns) == 1 else None
    if compared is None or len(bounds) > 1 or _DENIED.search(rest):
        return []
    cells = [row[columns[0]] for row in rows]
    if len(list_units([*cells, found[0]])) > 1 or choose_figures((), question) == []:
        return []
    if (holds := holds or _find_side(found, names[columns[0]], cells)) is None:
        return []
    values, bound = compared
    if are_spent(question, values):
        values = [value and -value for value in values]
    return [at for at, value in enumerate(values) if value is not None and holds(value, bound)]


def _read_value(question: str, found: re.Match[str]) -> str:
    """Return the value of a bound as it is said: a day and a time of day are more than their first number."""
    start = found.start("value")
    day = next((one for one in list_figures(question[start : start + _LONGEST_DAY]) if one.start == 0), None)
    if day and day.group is FigureGroup.DAY and start + day.end > found.end("value"):
        return question[start : start + day.end]
    return found["value"] + (found["unit"] or "")


def _compare_cells(name: str, cells: Sequence[str], found: re.Match[str], said: str) -> _Measured | None:
    """Return the values of a column's cells, and of the bound; None where they cannot be compared."""
    values, scale = [*map(measure, cells)], find_scale(said)
    scales = {find_scale(cell) for cell, value in zip(cells, values, strict=True) if value is not None}
    number = measure(found["value"])
    bound = measure(said) if scales == {scale} else None
    if scales == {Scale.DATE} and scale is Scale.NUMBER and number in YEARS:
        values, bound = [value and float(date.fromordinal(int(value)).year) for value in values], number
    # The column "Years in post" has no unit in its cells.
    elif scales == {Scale.NUMBER} and (scale is Scale.NUMBER or find_stems(found["unit"] or "") & find_stems(name)):
        bound = number if bound is None else bound
    return None if bound is None else (values, bound)


def _compare_spans(question: str, name: str, cells: Sequence[str], said: str) -> _Measured | None:
    """Return the seconds of a column of lengths of time like 12:30; None where they may be times of day.

    Hours and minutes where the bound is in hours. Of "Departure time" the question has the word, or it is no length.
    """
    bound = measure(said) if find_scale(said) is Scale.SPAN and NAMES_TIME.search(name) else None
    if bound is None or not find_stems(BRACKETS.sub("", NAMES_TIME.sub("", name))) <= find_stems(question):
        return None
    # Beside 2:05:30, what is 59:30 is minutes.
    is_hours = bool(_HOURS.search(said)) and not any(cell.count(":") > 1 for cell in cells)
    values = [measure_span(cell, is_hours=is_hours) for cell in cells]
    is_fit = all((value is None) is (measure(cell) is None) for value, cell in zip(values, cells, strict=True))
    return (values, bound) if is_fit else None


def _find_side(found: re.Match[str], name: str, cells: Sequence[str]) -> _Holds | None:
    """Return what holds of a column's cells beyond a bound: what is older than 1990 has an earlier year."""
    if not found["words"]:
        return float.__gt__ if found["over"] else float.__lt__
    if (order := find_order(found["words"])) is None:
        return None
    return float.__lt__ if order.takes_least(find_group(name, cells)) else float.__gt__


def _select_month(question: str, names: Sequence[str], rows: Sequence[Sequence[str]], key: int) -> list[int] | None:
    """Return the rows whose day lies in the month that the question names; None where it names none."""
    if (found := _MONTH.search(question)) is None:
        return None
    month, year = found["name"] or f"{int(found['number'])}月", found["year"] or found["before"]
    (day,) = find_dates(f"{year or 2000}年{month}1日" if found["number"] else f"1 {month} {year or 2000}")[:1] or [""]
    days = [[find_dates(row[at]) for row in rows] for at in range(len(names))]
    able = [at for at in range(len(names)) if at != key and any(days[at])]
    columns = choose_columns(question.replace(found[0], " "), names, able) if len(able) > 1 else able
    columns = columns or [at for at in able if _PLAIN_DATE.fullmatch(names[at].strip())]
    if not day or len(columns) != 1:
        return []
    part = slice(0, 7) if year else slice(5, 7)
    return [at for at, some in enumerate(days[columns[0]]) if some and some[0][part] == day[part]]


def _find_unit(unit: str | None, rows: Sequence[Sequence[str]], able: Sequence[int]) -> list[int]:
    """Return the columns that have figures in a unit: of "more than 5 kg" the one with "3 kg" in it."""
    pattern = re.compile(rf"\d ?{re.escape(unit.strip())}(?![^\W\d_])", re.IGNORECASE) if unit else None
    return [at for at in able if pattern and any(pattern.search(row[at]) for row in rows)]


def _select_against(question: str, names: Sequence[str], rows: Sequence[Sequence[str]], key: int) -> list[int] | None:
    """Return the rows whose value is beyond that of another column; None where none is named."""
    able = list_measured(rows, key)
    found = _compile_bound("").search(question)
    if found is None or _DENIED.search(question.replace(found[0], " ")):
        return None
    others = choose_columns(question[found.end() :], names, able, by_kind=False)
    rest = [at for at in able if at not in others]
    left = choose_columns(question[: found.start()], names, rest, by_kind=False)
    if len(others) != 1 or (not left and others[0] - 1 not in able):
        return None
    one, other = left[0] if left else others[0] - 1, others[0]
    holds = _find_side(found, names[one], [row[one] for row in rows])
    pairs = [(measure(row[one]), measure(row[other])) for row in rows]
    return [at for at, (a, b) in enumerate(pairs) if holds and a is not None and b is not None and holds(a, b)]


def narrow_rows(question: str, header: str, rows: Sequence[str]) -> list[str]:
    """Return the rows with all the words that a question names of their columns; none where it names no such word.

    >>> narrow_rows("The north shed?", "| Boat | Shed |", ["| A | North |", "| B | South |", "| C | South |"])
    ['| A | North |']
    """
    table = read_table(header, rows)
    found = find_key(question, split_cells(header), [cells for _, cells in table]) if len(table) > 1 else None
    chosen = _select_named(question, [cells for _, cells in table], found[0]) if found else ()
    return [table[at][0] for at in chosen]


def _select_named(question: str, rows: Sequence[Sequence[str]], key: int) -> list[int]:
    """Return the rows with the cells that the question names, one of a column: "open" ones at "North Lock".

    None of them where one word of the question may be that of two columns: of the home team and of the guests.
    """
    asked, found = find_stems(question), list[tuple[str, set[int]]]()
    for at in range(len(rows[0])) if not _ORDERED.search(question) else ():
        cells = Counter(row[at] for row in rows if row[at])
        named = [cell for cell in cells if _names(question, asked, cell)]
        if at != key and len(cells) < len(rows) and len(named) == 1:
            found.append((named[0], {place for place, row in enumerate(rows) if row[at] == named[0]}))
    best = list[tuple[str, set[int]]]()
    for cell, places in sorted(found, key=lambda one: -len(one[0])):
        same = [other for other, _ in best if find_stems(other) & find_stems(cell)]
        if any(len(other) == len(cell) for other in same):
            return []
        best += [] if same else [(cell, places)]
    return sorted(set[int].intersection(*(places for _, places in best))) if best else []


def asks_bound(question: str) -> bool:
    """Return whether a question gives a bound: more than, at least, below, or a month."""
    question = spell_bounds(question)
    bounds = (_MONTH, _compile_bound(""), *(pattern for pattern, _ in _INCLUSIVE))
    return any(pattern.search(question) for pattern in bounds)


def _names(question: str, asked: set[str], cell: str) -> bool:
    if cell.casefold() in _PLAIN:
        return False
    if not HAN.search(cell):
        stems = find_stems(cell)
        return bool(stems) and stems <= asked
    return len(cell) > 1 and cell in question
