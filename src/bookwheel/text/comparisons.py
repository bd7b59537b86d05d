"""Which row of a table has the most or the least: no single row can tell, and no model is needed for it.

    question   Which is cheaper, Otter or Heron?    Which has the longest span?    How much is the dearest?
    rows       those that it names                  all of the table               all
    column     the one that the question is about (text/rows.py)
    order      by number, date or length of time; the most, or the least
    answer     the name of the row                  the same                       what stands in the column

>>> HEADER, ROWS = "| Boat | Price | Crew |", ["| Otter | £1,200 | 4 |", "| Heron | £900 | 6 |", "| Teal | £950 | 2 |"]
>>> [compare_rows(question, HEADER, ROWS)[0] for question in ("Which boat is cheapest?", "Bigger crew: Otter or Teal?")]
['Heron', 'Otter']
>>> compare_rows("How much is the dearest boat?", HEADER, ROWS).text
'£1,200'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from bookwheel.text.cells import is_total, read_row, split_cells
from bookwheel.text.comparatives import HAN, asks_end, find_alternatives, find_order, names_two
from bookwheel.text.figures import TERM, FigureGroup, list_units, measure
from bookwheel.text.kinds import choose_figures, find_asked_columns, list_order_words
from bookwheel.text.numbers import find_dates
from bookwheel.text.ranking import QuestionWords, find_stems
from bookwheel.text.rows import BRACKETS, choose_columns

YEARS: Final = range(1000, 2101)
NAMES_TIME: Final = re.compile(r"\b(?:time|duration|days|hours|minutes|seconds)\b|时间|用时|时长", re.IGNORECASE)
_ONE_OF: Final = re.compile(r"\b(?:which|who|what (?:kind|sort|type))\b|哪[个家种款位月条台门项]|谁", re.IGNORECASE)
_OF_ALL: Final = re.compile(r"\b(?:where|which|who)\b.*\b(?:most|least|\w{2,}est)\b", re.IGNORECASE)
_SUPERLATIVE: Final = re.compile(r"\b\w{2,}est\b|\b(?:most|least|best|worst)\b|最", re.IGNORECASE)
_WANTS_VALUE: Final = re.compile(
    r"^(?!.*\b(?:which|who)\b).*(?:\bhow (?:much|many|long|old|far|high)\b|\bwhen\b|\bwhat (?:time|day|date|price)|"
    r"\bwhat (?:did|does|do)\b.*\bcosts?\b)|"
    r"^(?!.*(?:哪[个家种款位门项]|谁)).*(?:多少|几|哪[天年]|什么时候|何时)",
    re.IGNORECASE,
)
_WHAT_IS: Final = re.compile(r"\bwhat(?:'s| is| was) the \w+(.*)", re.IGNORECASE)
_FIRST: Final = re.compile(r"\b(?:first|earliest)\b|首班|头班|第一班|最早", re.IGNORECASE)
_LAST: Final = re.compile(r"\b(?:last|latest)\b|末班|尾班|最后一班|最晚", re.IGNORECASE)
_FIGURE: Final = re.compile(r"\d[\d.,]*")
_SERIAL: Final = re.compile(r"[A-Za-z]+[-–]\d+|[A-Za-z]*\d{3,}")
"""F-1003 is nobody's name, while Q5 may be."""
_CODE: Final = re.compile(r"[A-Za-z]+[-–/]?\d+(?:[-–/]\d+)*")
_SUBJECT: Final = re.compile(r"\bwhich (\w+)|哪(?:些|几[个种家款]?)([^\W\d_]{1,3})", re.IGNORECASE)
_NOUN: Final = re.compile(
    r"\b(?:which (?:(?:is|was|are|were) the (?:\w+est|(?:most|least) \w+) )?|what )(\w+)", re.IGNORECASE
)
_LEAST_ROWS: Final = 2
_DISTINCT: Final = 0.8
"""Share of a column's cells that differ, where it tells the rows apart; two chairs may have one name."""


_SPENT: Final = re.compile(
    r"\b(?:pay(?:s|ments?)?|paid|spen[dt]|expen(?:ses?|ditures?)|outgoings?|costs?|debits?)\b|支出|付款|花费|开支",
    re.IGNORECASE,
)
_RECEIVED: Final = re.compile(r"\breceiv\w*|\bincoming\b|\bpaid (?:in|to us)\b|收", re.IGNORECASE)


class Comparison(NamedTuple):
    """What a comparison of rows tells, and the rows that tell it."""

    text: str
    rows: tuple[str, ...]
    is_certain: bool
    """Whether the question names the rows that it compares, and one column alone can be meant."""


def asks_comparison(question: str) -> bool:
    """Return whether a question asks which of several has more or less of something, or how much the most is."""
    wants_one = _WANTS_VALUE.search(question) or _WHAT_IS.search(question)
    if names_two(question) or _OF_ALL.search(question) or (wants_one and _SUPERLATIVE.search(question)):
        return True
    one = _ONE_OF.search(question)
    return any((one and word.start >= one.end()) or word.text[0] == "最" for word in list_order_words(question))


def compare_rows(question: str, header: str, rows: Sequence[str], among: Collection[str] = ()) -> Comparison | None:
    """Return what a question asks for by comparing rows, or columns; None where it does not, or nothing can be told.

    With `among`, only these of the rows are compared.
    """
    names, table = split_cells(header), read_table(header, rows)
    cells = [found for _, found in table]
    if not cells:
        return None
    able = [at for at, (row, _) in enumerate(table) if not among or row in among]
    if found := _compare(question, names, cells, able):
        lines = found.places or [found.won]
        shown = tuple(table[at][0] for at in lines)
    elif found := _compare_columns(question, names, cells):
        shown = (table[found.column - 1][0],)
    else:
        return None
    return Comparison(found.text.strip("`* "), shown, is_certain=bool(found.places) and found.is_alone)


class _Won(NamedTuple):
    text: str
    won: int
    places: list[int]
    """Those that the question names, if it names several."""
    column: int
    is_alone: bool
    """Whether no other column can be meant."""


def _compare_columns(question: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> _Won | None:
    """Return the column that has the most or the least, where each row is of one kind: "Price | £3 | £5"."""
    alike = [row if len(_list_forms(row[1:])) == 1 else [row[0], *("" for _ in row[1:])] for row in rows]
    is_named = len(_find_named(question, names[1:])) > 1 or any(
        find_stems(row[0]) & find_stems(question) for row in rows
    )
    if not is_named or 2 * sum(any(row[1:]) for row in alike) < len(rows):
        return None
    turned = [[name, *(row[at] for row in alike)] for at, name in enumerate(names) if at]
    return _compare(question, ["", *(row[0] for row in rows)], turned, range(len(turned)))


def _list_forms(cells: Sequence[str]) -> set[str]:
    """Return how the figures among some cells are written: "£9", "9:9"."""
    return {_FIGURE.sub("9", cell) for cell in cells if measure(cell)}


def find_outermost(question: str, row: Sequence[str]) -> str | None:
    """Return the first or the last of a row's times, where one of these is asked for.

    >>> find_outermost("When is the last bus from Quay?", ["Quay", "06:47", "8:24", "18:01"])
    '18:01'
    """
    first, last = _FIRST.search(question), _LAST.search(question)
    times = {cell: value for cell in row[1:] if ":" in cell and (value := measure(cell)) is not None}
    if bool(first) is bool(last) or len(times) < _LEAST_ROWS or len(_list_forms(list(times))) > 1:
        return None
    return (min if first else max)(times, key=times.__getitem__)


def _compare(question: str, names: Sequence[str], rows: Sequence[Sequence[str]], among: Sequence[int]) -> _Won | None:
    found = find_key(question, names, rows) if len(rows) >= _LEAST_ROWS else None
    if found is None:
        return None
    key, places = found
    asked = question
    for at in places:
        asked = asked.replace(rows[at][key], " ")
    # Which of two ranks is the higher, no figure tells.
    order = None if choose_figures((), asked) == [] else find_order(asked)
    is_one = len(places) == 1 and not _SUPERLATIVE.search(asked)
    if order is None or is_one or (find_alternatives(question) and len(places) < 2):  # noqa: PLR2004 - both are rows
        return None
    places = places if len(places) > 1 else []
    compared = places or among
    ends = asks_end(asked)
    able = list_measured([rows[place] for place in compared], key, ends=ends)
    beside = {stem for place in compared for stem in find_stems(rows[place][key])}
    columns = choose_columns(question, names, able, beside=beside)
    if not columns:
        return None
    column = columns[0]
    values = {at: value for at in compared if (value := measure(rows[at][column], ends=ends)) is not None}
    if len(values) < max(_LEAST_ROWS, len(places)):
        return None
    if are_spent(question, [*values.values()]):
        values = {at: -value for at, value in values.items()}
    group = find_group(names[column], [rows[at][column] for at in values])
    best = (min if order.takes_least(group) else max)(values.values())
    won = [at for at, value in values.items() if value == best]
    if len(won) > 1:
        return None
    # "What is the highest yearly fee?", where the fee has a column.
    what = _WHAT_IS.search(question)
    is_value = _WANTS_VALUE.search(question) or (what and choose_columns(what[1], names, [column], by_kind=False))
    told = _find_told(question, names, rows[won[0]], key)
    told = None if told == column else told
    told = column if told is None and is_value else key if told is None else told
    return _Won(rows[won[0]][told], won[0], places, column, len(columns) == 1)


def _find_told(question: str, names: Sequence[str], row: Sequence[str], key: int) -> int | None:
    """Return the column that the question names, or is of the kind asked for where rows have codes and no names.

    "Which site had the dearest repair?" and "Who did it?" ask for neither its number nor its price.
    """
    nouns = find_stems(" ".join(_NOUN.findall(question)))
    found = [at for at, name in enumerate(names) if nouns & find_stems(name)]
    if not found and _CODE.fullmatch(row[key]):
        found = find_asked_columns(question, names)
    return found[0] if len(found) == 1 and row[found[0]] else None


def are_spent(question: str, values: Sequence[float | None]) -> bool:
    """Tell if a question is about what was paid, in a book in which that is negative and what was received is not."""
    signs = [value < 0 for value in values if value]
    # One below zero in a list of prices is a discount.
    is_book = not all(signs) and 4 * sum(signs) >= len(signs) > 0
    return is_book and bool(_SPENT.search(question)) and not _RECEIVED.search(question)


def find_group(name: str, cells: Sequence[str]) -> FigureGroup:
    """Return what the cells of a column measure: days, lengths of time, or else numbers."""
    values = [value for value in map(measure, cells) if value is not None]
    if any(map(find_dates, cells)) or all(value in YEARS for value in values):
        return FigureGroup.DAY
    is_time = NAMES_TIME.search(name) or any(TERM.search(cell) or ":" in cell for cell in cells)
    return FigureGroup.TIME if is_time else FigureGroup.NUMBER


def read_table(header: str, rows: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the rows with their cells; not a total, nor those that leave most of them empty, as a sum often does."""
    table = [(row, cells) for row in rows if len(cells := read_row(header, row)[1]) > 1]
    most = max((sum(map(bool, cells)) for _, cells in table), default=0)
    return [(row, cells) for row, cells in table if 2 * sum(map(bool, cells)) > most and not _is_sum(cells)]


def _is_sum(cells: Sequence[str]) -> bool:
    """Tell if a row is called as a sum is and no more: a tax adviser is none."""
    name = next(filter(None, cells), "")
    return is_total(cells) and ("total" in name.casefold() or len(name.split()) == 1)


def find_key(question: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[int, list[int]] | None:
    """Return the column that tells the rows apart by words, else by codes, and the rows that the question names."""
    return _find_key(question, names, rows, is_code=False) or _find_key(question, names, rows, is_code=True)


def _find_key(
    question: str, names: Sequence[str], rows: Sequence[Sequence[str]], *, is_code: bool
) -> tuple[int, list[int]] | None:
    subject = find_stems(" ".join(word for found in _SUBJECT.findall(question) for word in found))
    best = list[tuple[tuple[int, int, int], int, list[int]]]()
    for at in range(len(rows[0])):
        cells = [row[at] for row in rows]
        worded = sum(
            bool(_CODE.fullmatch(cell))
            if is_code
            else sum(map(str.isalpha, cell)) >= sum(map(str.isdigit, cell)) and not _SERIAL.fullmatch(cell)
            for cell in filter(None, cells)
        )
        named = _find_named(question, cells)
        told = [cells[place] for place in named] if len(named) > 1 else cells
        if len(set(told)) >= (len(told) if named else _DISTINCT * len(told)) and worded > len(cells) / 2:
            # The column with the most of what the question names; "which boats" are those of a column "Boat".
            best.append(((len(named), len(find_stems(names[at]) & subject), -at), at, named))
    return max(best)[1:] if best else None


def _find_named(question: str, names: Sequence[str]) -> list[int]:
    """Return the places of the names that the question has, whole, or by words that no other name has."""
    asked = find_stems(question)
    names = [BRACKETS.sub("", name).strip() or name for name in names]
    stems = [set[str]() if HAN.search(name) else find_stems(name) for name in names]
    two = find_alternatives(question)
    pair = [QuestionWords(one).stems for one in two.names] if two else []
    holders = [[at for at, some in enumerate(stems) if wanted and wanted <= some] for wanted in pair]
    if holders and all(len(found) == 1 for found in holders):
        return [at for (at,) in holders]
    common = Counter(stem for some in stems for stem in some)
    return [
        at
        for at, (name, some) in enumerate(zip(names, stems, strict=True))
        if (some and some <= asked)
        or (2 * len(some & asked) >= len(some) > 0 and any(common[stem] == 1 for stem in some & asked))
        or (HAN.search(name) and name in question)
    ]


def list_measured(rows: Sequence[Sequence[str]], key: int, *, ends: bool = False) -> list[int]:
    """Return the columns beside the key in which something can be compared; the number of a row says nothing of it."""
    return [
        at
        for at in range(len(rows[0]))
        if at != key
        and not _are_numbers([row[at] for row in rows])
        and any(measure(row[at], ends=ends) is not None for row in rows)
        and len(list_units(row[at] for row in rows)) <= 1
    ]


def _are_numbers(cells: Sequence[str]) -> bool:
    """Tell if cells number their rows: each is one more than the one above, and none is a year."""
    numbers = [int(cell) if cell.isdecimal() else None for cell in cells]
    first = numbers[0]
    is_counted = first is not None and numbers == [*range(first, first + len(cells))]
    return is_counted and len(cells) > _LEAST_ROWS and first not in YEARS
