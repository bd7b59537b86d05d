"""Which column of a document's table a column of the request means.

    wanted   who          until when         amount            what
    header   No.          Action             Owner             Due              Net
             no word is shared, but Owner is a person, Due a deadline, Net an amount, and Action a task

    every boat: name     Boat | Class: the name of a boat stands under Boat, or first under no name

The names' own words come first, then what the names stand for, then what the cells are: dates, numbers, words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from bookwheel.tables.columns import Column, Kind
from bookwheel.text.numbers import place_dates
from bookwheel.text.ranking import find_stems
from bookwheel.text.rows import choose_columns

OF_PEOPLE: Final = re.compile(
    r"\b(?:who|whom|names?|person|party|owner|responsible|assignee|supplier|vendor|customer|client)\b"
    r"|谁|姓名|人员|负责人|责任人|供应商|客户",
    re.IGNORECASE,
)
_SENSES: Final = (
    re.compile(r"\b(?:until|due|by|deadline|expir\w*|latest)\b|期限|截止|到期", re.IGNORECASE),
    re.compile(
        r"\b(?:what|actions?|tasks?|items?|description|duty|obligation|subject)\b|事项|任务|内容|什么|项目",
        re.IGNORECASE,
    ),
    OF_PEOPLE,
)
_OF_NAMES: Final = re.compile(r"names?|titles?|名称|名字|品名", re.IGNORECASE)
"""What a row is called, whoever or whatever it is of."""
_ASKED: Final = {Kind.DATE: "when", Kind.NUMBER: "how much", Kind.TEXT: ""}
OF_COUNTS: Final = re.compile(r"quantity|qty|count|number|pieces|数量|数目|件数", re.IGNORECASE)
CURRENCY: Final = r"(?:[€$£¥￥]|EUR|USD|GBP|CHF|RMB|CNY|Fr\.?|Rs\.?)"
AMOUNT: Final = rf"{CURRENCY}?\s?[-−]?\d[\d.,']*\s?{CURRENCY}?"
IS_NUMBER: Final = re.compile(rf"[-−+]?{AMOUNT}\s?(?:%|[^\W\d]{{1,8}}(?:\s?/?\s?[^\W\d]{{1,8}})?)?\.?")
CODES: Final = re.compile(r"\b(?:cent(?:re|er)|code|id|no|nr|number)s?\b|编号|代码|号$", re.IGNORECASE)
"""Names of numbers that are no amounts."""
_MOST_OF: Final = 0.6
"""Of the cells that are filled, those of a kind, from which on the column is of it."""


def map_columns(
    columns: Sequence[Column],
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    thing: str = "",
    named: Collection[int] = (),
) -> dict[int, int]:
    """Return for each column of the request, by its place there, the place under the header; none where none suits.

    `thing` is what a row is of, as the request has it. Those `named` are not guessed by their kind: another table has
    them by their names.
    """
    cells = [[row[at] for row in rows if row[at]] for at in range(len(names))]
    found = match_words(columns, names)
    of_thing = [at for at, name in enumerate(names) if find_stems(name) & find_stems(thing)]
    is_headless = bool("".join(names).strip()) and not names[0].strip()
    of_thing += [0] if is_headless else []

    def find_thing(column: Column, _names: Sequence[str], free: Sequence[int]) -> int | None:
        return next((at for at in of_thing if at in free), None) if _OF_NAMES.fullmatch(column.name) else None

    for choose in (find_thing, _find_sensed, _find_asked, _find_last):
        for at, column in enumerate(columns):
            if at in named and choose in (_find_asked, _find_last):
                continue
            free = [place for place in range(len(names)) if place not in found.values()]
            free = [place for place in free if _suits(column, names[place], cells[place])]
            place = choose(column, names, free) if at not in found and free else None
            if place is not None:
                found[at] = place
    left = [at for at, one in enumerate(columns) if one.kind is Kind.TEXT and at not in {*found, *named}]
    free = [at for at in range(len(names)) if at not in found.values()]
    free = [at for at in free if left and _suits(columns[left[0]], names[at], cells[at])]
    # What is left of words is what a row is about, and nobody's name, unless it stands first without a name.
    is_first = is_headless and free[:1] == [0]
    if len(left) == 1 and free and (is_first or not OF_PEOPLE.search(columns[left[0]].name)):
        found[left[0]] = free[0]
    return found


def has_named(columns: Sequence[Column], names: Sequence[str]) -> bool:
    """Tell if a header has a word of a column's name, or one that stands for the same: "who" and "Owner"."""
    senses = [sense for column in columns if (sense := _find_sense(column.name))]
    return bool(match_words(columns, names)) or any(sense.search(name) for sense in senses for name in names)


def match_words(columns: Sequence[Column], names: Sequence[str]) -> dict[int, int]:
    """Return the columns whose names share words with a header's, those that share most of both first."""
    stems = [find_stems(name) for name in names]
    shares = []
    for at, column in enumerate(columns):
        wanted, sense = find_stems(column.name), _find_sense(column.name)
        shares += [
            (len(wanted & one) / len(wanted | one), sense is _find_sense(names[place]), -at, -place)
            for place, one in enumerate(stems)
            if wanted & one
        ]
    found: dict[int, int] = {}
    for *_, at, place in sorted(shares, reverse=True):
        if -at not in found and -place not in found.values():
            found[-at] = -place
    return found


def _find_sense(name: str) -> re.Pattern[str] | None:
    return next((one for one in _SENSES if one.search(name)), None)


def _find_sensed(column: Column, names: Sequence[str], free: Sequence[int]) -> int | None:
    """Return the column that stands for the same: a person, a deadline, a task."""
    sense = _find_sense(column.name)
    return next((place for place in free if sense and sense.search(names[place])), None)


def _find_asked(column: Column, names: Sequence[str], free: Sequence[int]) -> int | None:
    """Return the column that is called what such a value is."""
    asked = "how many" if OF_COUNTS.search(column.name) else _ASKED[column.kind]
    return next(iter(choose_columns(f"{column.name} {asked}", names, free)), None)


def _find_last(column: Column, _names: Sequence[str], free: Sequence[int]) -> int | None:
    """Return the column of its kind: of several numbers the last, which is the sum; a count is not guessed."""
    if column.kind is Kind.TEXT or (OF_COUNTS.search(column.name) and len(free) > 1):
        return None
    return free[-1] if column.kind is Kind.NUMBER else free[0]


def _suits(column: Column, name: str, cells: Sequence[str]) -> bool:
    """Tell if most cells under a name are of a column's kind; a date is no words, and a code no amount."""
    is_text = column.kind is Kind.TEXT
    held = sum(is_of(cell, column.kind) and not (is_text and is_of(cell, Kind.DATE)) for cell in cells)
    is_code = column.kind is Kind.NUMBER and bool(CODES.search(name))
    return bool(cells) and held >= _MOST_OF * len(cells) and not is_code


def fits(column: Column, cell: str) -> bool:
    """Tell if a cell is of a column's kind; a number that counts nothing may be a code."""
    return is_of(cell, column.kind) or (bool(CODES.search(column.name)) and any(map(str.isdigit, cell)))


def is_of(cell: str, kind: Kind) -> bool:
    """Tell if a cell is a number, mostly a date, or no number."""
    if kind is Kind.NUMBER:
        return bool(IS_NUMBER.fullmatch(cell))
    if kind is Kind.DATE:
        return any(end - start > len(cell) / 2 for start, end, _ in place_dates(cell))
    return not IS_NUMBER.fullmatch(cell)
