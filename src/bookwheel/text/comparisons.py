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
from collections.abc import Sequence
from datetime import date
from typing import Final, NamedTuple

from bookwheel.text.cells import read_row, split_cells
from bookwheel.text.numbers import find_dates, read_amount
from bookwheel.text.ranking import find_stems
from bookwheel.text.rows import BRACKETS, choose_columns

_LEAST: Final = re.compile(
    r"\b(?:least|fewe(?:r|st)|less|lowe(?:r|st)|smalle(?:r|st)|shorte(?:r|st)|cheape(?:r|st)|lighte(?:r|st)|earlie(?:r|st)|"
    r"slowe(?:r|st)|colde(?:r|st)|younge(?:r|st)|narrowe(?:r|st)|first(?!-\w)|minimum|neare(?:r|st)|close(?:r|st)|worst|worse)\b|[更最较]?[少低小短轻早便]|便宜|先|年轻",
    re.IGNORECASE,
)
_MOST: Final = re.compile(
    r"\b(?:most|more|higher|highest|larger|largest|bigger|biggest|greater|greatest|longe(?:r|st)|olde(?:r|st)|deare(?:r|st)|heavie(?:r|st)|"
    r"late(?:r|st)|newe(?:r|st)|wider|widest|taller|tallest|costlie(?:r|st)|last|maximum|faste(?:r|st)|best|better|warme(?:r|st)|hotte(?:r|st)|f[ua]rthe(?:r|st))\b|"
    r"[更最较]?[多高大长重晚贵久慢老旧]|最新",
    re.IGNORECASE,
)
_HOW_MUCH: Final = re.compile(r"多[少久长大高]|\bhow (?:much|long|old|late|early|high|far)\b", re.IGNORECASE)
"""Here no more and no less is said."""
_LONG_AGO: Final = re.compile(r"longest|longer|\bolde|\byounge|[久老旧]|年轻", re.IGNORECASE)
"""Of days and years these turn the order round: the oldest has the earliest, but the greatest age."""
_YEARS: Final = range(1000, 2101)
_COMPARES: Final = re.compile(
    r"\bor\b|\bwhere\b.*\b(?:most|least|\w{2,}est)\b|\b(?:which|who)\b.*\b(?:more|most|less|least|fewer|fewest|\w{2,}est|better)\b|"
    # A solver and a paper are no comparison: what ends so is one by its word alone.
    rf"\b(?:which|who)\b.*(?:{_LEAST.pattern}|{_MOST.pattern})|"
    r"(?:哪[个家种款位月条台门项]|谁).*[多少高低大小长短贵早晚久快慢便新旧]|最[多少高低大小长短贵早晚便新旧久快慢]",
    re.IGNORECASE,
)
_SUPERLATIVE: Final = re.compile(r"\b\w{2,}est\b|\b(?:most|least|best|worst)\b|最", re.IGNORECASE)
_WANTS_VALUE: Final = re.compile(
    r"^(?!.*\b(?:which|who)\b).*(?:\bhow (?:much|many|long|old|far|high)\b|\bwhen\b|\bwhat (?:time|day|date|price))|"
    r"^(?!.*(?:哪[个家种款位门项]|谁)).*(?:多少|几|哪[天年]|什么时候|何时)",
    re.IGNORECASE,
)
_WHAT_IS: Final = re.compile(r"\bwhat(?:'s| is| was) the \w+(.*)", re.IGNORECASE)
_FIRST: Final = re.compile(r"\b(?:first|earliest)\b|首班|头班|第一班|最早", re.IGNORECASE)
_LAST: Final = re.compile(r"\b(?:last|latest)\b|末班|尾班|最后一班|最晚", re.IGNORECASE)
_FIGURE: Final = re.compile(r"\d[\d.,]*")
_ENDS: Final = re.compile(r"clos|shut|\buntil\b|\bend|\blatest\b|关|结束|下班", re.IGNORECASE)
_PAIR: Final = re.compile(
    r"(?:[,:;–—]|\bis|\bare|\bbetween)\s+(?:the\s+)?(?:one\s+from\s+)?(?P<a>[^,:;]+?)\s+(?:or|and)\s+(?:the\s+)?(?:one\s+from\s+)?(?P<b>[^,:;?]+?)\s*[?？]?\s*$",
    re.IGNORECASE,
)
TERM: Final = re.compile(
    r"(?<!\d)(\d+(?:\.\d+)?) ?(seconds?|secs?|s|minutes?|mins?|min|hours?|hrs?|h|days?|d|weeks?|months?|years?|"
    r"秒|分钟?|小时|[天日]|周|个?月|年)(?![^\W\d_a-zA-Z]|[a-z])"
)
_SECONDS: Final = {"s": 1, "秒": 1, "m": 60, "分": 60, "h": 3600, "小": 3600, "d": 86400, "天": 86400, "日": 86400}
_LONGER: Final = {"w": 7, "周": 7, "mo": 30, "个": 30, "月": 30, "y": 365, "年": 365}
_TIME: Final = re.compile(r"(\d{1,2})[:.](\d\d)(?!\d)")
_NOTHING: Final = re.compile(r"free|none|nil|免费|无|没有", re.IGNORECASE)
_NAME: Final = re.compile(
    r"\s*(?!(?:[A-Z]{2,3}|about|from|up to|ca\.?|approx\.?|约|近) ?[\d.,]*\d(?:\D|$))[^\W\d_][^\d]*\d"
)
"""Letters with a number behind them: F-1003, Room 12; but GBP 410 and about 12 are figures."""
_SERIAL: Final = re.compile(r"[A-Za-z]+[-–]\d+|[A-Za-z]*\d{3,}")
"""F-1003 is nobody's name, while Q5 may be."""
_CODE: Final = re.compile(r"[A-Za-z]+[-–/]?\d+(?:[-–/]\d+)*")
_SUBJECT: Final = re.compile(r"\bwhich (\w+)|哪(?:些|几[个种家款]?)([^\W\d_]{1,3})", re.IGNORECASE)
HAN: Final = re.compile("[\u3400-\u9fff]")
_LEAST_ROWS: Final = 2
_DISTINCT: Final = 0.8
"""Share of a column's cells that differ, where it tells the rows apart; two chairs may have one name."""


class Order(NamedTuple):
    """The words by which a question asks for the most or the least."""

    start: int
    end: int
    is_least: bool


def find_order(question: str) -> Order | None:
    """Return what a question asks for; None where that is nothing, or both."""
    plain = _HOW_MUCH.sub(lambda found: " " * len(found[0]), question)
    found = [[*pattern.finditer(plain)] for pattern in (_LEAST, _MOST)]
    if bool(found[0]) is bool(found[1]):
        return None
    ones = found[0] or found[1]
    return Order(ones[0].start(), ones[-1].end(), bool(found[0]))


def is_ago(question: str) -> bool:
    """Return whether days count backwards: the oldest has the earliest."""
    return _LONG_AGO.search(question) is not None


class Comparison(NamedTuple):
    """What a comparison of rows tells, and the rows that tell it."""

    text: str
    rows: tuple[str, ...]
    is_certain: bool
    """Whether the question names the rows that it compares, and one column alone can be meant."""


def asks_comparison(question: str) -> bool:
    """Return whether a question asks which of several has more or less of something, or how much the most is."""
    wants_one = _WANTS_VALUE.search(question) or _WHAT_IS.search(question)
    return bool(_COMPARES.search(question)) or bool(wants_one and _SUPERLATIVE.search(question))


def list_superlatives(question: str) -> set[str]:
    """Return the stems of the words of a question that only say whether the most or the least is asked for."""
    return find_stems(" ".join(found[0] for one in (_LEAST, _MOST) for found in one.finditer(question)))


def compare_rows(question: str, header: str, rows: Sequence[str]) -> Comparison | None:
    """Return what a question asks for by comparing rows, or columns; None where it does not, or nothing can be told."""
    names, table = split_cells(header), read_table(header, rows)
    cells = [found for _, found in table]
    if not cells:
        return None
    if found := _compare(question, names, cells):
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
    return _compare(question, ["", *(row[0] for row in rows)], turned)


def _list_forms(cells: Sequence[str]) -> set[str]:
    """Return how the figures among some cells are written: "£9", "9:9"."""
    return {_FIGURE.sub("9", cell) for cell in cells if measure(cell) and not _NOTHING.fullmatch(cell)}


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


def _compare(question: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> _Won | None:
    found = find_key(question, names, rows) if len(rows) >= _LEAST_ROWS else None
    if found is None:
        return None
    key, places = found
    asked = question
    for at in places:
        asked = asked.replace(rows[at][key], " ")
    order = find_order(asked)
    is_one = len(places) == 1 and not _SUPERLATIVE.search(asked)
    if order is None or is_one or (len(places) < len(_find_pair(question))):
        return None
    places = places if len(places) > 1 else []
    compared = places or range(len(rows))
    ends = bool(_ENDS.search(asked))
    able = list_measured([rows[place] for place in compared], key, ends=ends)
    beside = {stem for place in compared for stem in find_stems(rows[place][key])}
    columns = choose_columns(question, names, able, beside=beside)
    if not columns:
        return None
    column = columns[0]
    values = {at: value for at in compared if (value := measure(rows[at][column], ends=ends)) is not None}
    if len(values) < max(_LEAST_ROWS, len(places)):
        return None
    are_times = any(find_dates(rows[at][column]) for at in values) or all(value in _YEARS for value in values.values())
    best = (min if order.is_least is not (are_times and is_ago(asked)) else max)(values.values())
    won = [at for at, value in values.items() if value == best]
    if len(won) > 1:
        return None
    # "What is the highest yearly fee?", where the fee has a column.
    what = _WHAT_IS.search(question)
    is_value = _WANTS_VALUE.search(question) or (what and choose_columns(what[1], names, [column], by_kind=False))
    return _Won(rows[won[0]][column if is_value else key], won[0], places, column, len(columns) == 1)


def read_table(header: str, rows: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the rows with their cells; not those that leave most of them empty, as a sum below the others does."""
    table = [(row, cells) for row in rows if len(cells := read_row(header, row)[1]) > 1]
    most = max((sum(map(bool, cells)) for _, cells in table), default=0)
    return [(row, cells) for row, cells in table if 2 * sum(map(bool, cells)) > most]


def find_key(question: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[int, list[int]] | None:
    """Return the column that tells the rows apart by words, else by codes, and the rows that the question names."""
    return _find_key(question, names, rows, is_code=False) or _find_key(question, names, rows, is_code=True)


def _find_key(
    question: str, names: Sequence[str], rows: Sequence[Sequence[str]], *, is_code: bool
) -> tuple[int, list[int]] | None:
    subject = find_stems(" ".join(word for found in _SUBJECT.findall(question) for word in found))
    best = list[tuple[tuple[int, bool, int], int, list[int]]]()
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
            best.append(((len(named), bool(find_stems(names[at]) & subject), -at), at, named))
    return max(best)[1:] if best else None


def _find_named(question: str, names: Sequence[str]) -> list[int]:
    """Return the places of the names that the question has, whole, or by words that no other name has."""
    asked = find_stems(question)
    names = [BRACKETS.sub("", name).strip() or name for name in names]
    stems = [set[str]() if HAN.search(name) else find_stems(name) for name in names]
    pair = [find_stems(one) for one in _find_pair(question)]
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


def _find_pair(question: str) -> tuple[str, str] | tuple[()]:
    """Return the two that a question compares at its end: "…, Otter or Heron?"."""
    found = _PAIR.search(question)
    return (found["a"], found["b"]) if found else ()


def list_measured(rows: Sequence[Sequence[str]], key: int, *, ends: bool = False) -> list[int]:
    """Return the columns beside the key in which something can be compared."""
    return [
        at for at in range(len(rows[0])) if at != key and any(measure(row[at], ends=ends) is not None for row in rows)
    ]


def measure(cell: str, *, ends: bool = False) -> float | None:
    """Return what a cell is compared by: a day, a length of time, a time of day, or its number."""
    if days := find_dates(cell):
        return float(date.fromisoformat(days[0]).toordinal())
    if terms := TERM.findall(cell):
        return sum(float(number) * _count_seconds(unit) for number, unit in terms)
    if ":" in cell and (times := _TIME.findall(cell)):
        hour, minute = times[-1 if ends else 0]
        return float(int(hour) * 60 + int(minute))
    if _NOTHING.fullmatch(cell.strip()):
        return 0.0
    return None if _NAME.match(cell) else read_amount(cell)


def _count_seconds(unit: str) -> int:
    long = _LONGER.get(unit[:2]) or _LONGER.get(unit[0])
    return long * _SECONDS["d"] if long and unit[:3] != "min" else _SECONDS[unit[0]]
