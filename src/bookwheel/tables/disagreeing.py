"""Which rows of a table say otherwise than others, and which of them comes later.

    row 3   Buyer's fee   £180   Concession Lot                      another says otherwise further on: row 9
    row 9   Buyer's fee   £150   Concession Lot   corrects "£180"    says otherwise than row 3

Rows disagree that agree in the key and differ elsewhere; without a key, those that differ in one number or date alone.
A model that reads that the text puts right what was said before tells so in its row: that row and the one before it
that it is most like, and differs from, disagree too, however few columns the correction repeats. Where it names a
number that it puts right, that is a row with this number, or none. What it leaves out stays as it was before. A row of
another file that has the value it names may stand behind it, too.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bookwheel.patterns import compile_late
from bookwheel.tables.columns import Column, Kind
from bookwheel.text.matching import UNSPACED
from bookwheel.text.numbers import list_amounts
from bookwheel.text.ranking import find_stems

if TYPE_CHECKING:
    from bookwheel.tables.table import TableRow

_LEAST_SHARED: Final = 2
"""Other values that two rows must share, so that one number or date in which they differ is a contradiction."""
_LEAST_ALIKE: Final = 0.5
"""Of the stems of the shorter of two texts, so that they name the same."""
_VOID: Final = compile_late(
    r"\b(?:void|cancel\w*|withdrawn|revoked|struck|deleted|annul\w*|entfällt|gestrichen|anulad\w*)\b|作废|取消|撤销|废止|删除|無効",
    re.IGNORECASE,
)
_UNSPACED_RUN: Final = compile_late(f"[{UNSPACED}]+")
_MOST_COMPARED: Final = 100
"""Rows that a correction is compared with: of those that share a word of its name, and of those with the value."""


def mark_disagreeing(rows: Sequence[TableRow], columns: Sequence[Column], key: Sequence[int]) -> None:
    """Set of each row, in the document's order, which others say otherwise, and which is the last of them."""
    for row in rows:
        row.groups, row.later, row.is_corrected, row.taken = [], None, False, ()
    found = [*_find_contradictions(rows, columns, key)]
    for corrected, row in _pair_corrections(rows, columns) if any(row.corrects for row in rows) else ():
        corrected.is_corrected = True
        pairs = zip(columns, corrected.held, strict=True)
        if not _is_void(row, corrected, columns):
            row.taken = tuple(None if cell and _names(one, row.corrects, cell) else cell for one, cell in pairs)
        found.append([corrected, row])
    for group in found:
        _set_group(group)


def mark_across(rows: Sequence[TableRow], columns: Sequence[Column]) -> None:
    """Set which rows of several tables are put right by one that found nothing to put right in its own table.

    Each row has the name of its file as its source. A row that several tables have is put right in all of them.
    """
    same: dict[str, list[TableRow]] = {}
    for row in rows:
        same.setdefault(row.id, []).append(row)
    lost = {id(row) for row in rows if row.corrects and all(group[-1] != row.id for group in row.groups)}
    for corrected, row in _pair_corrections(rows, columns) if lost else ():
        if id(row) in lost and row.id != corrected.id:
            for one in [corrected, *(one for one in same[corrected.id] if one is not corrected and not one.corrects)]:
                one.is_corrected = True
                _set_group([one, row])


def _set_group(rows: Sequence[TableRow]) -> None:
    ids = tuple(row.id for row in rows)
    for row in rows:
        row.groups.append(ids)
        row.later = ids[-1] if row is not rows[-1] else row.later


def _pair_corrections(rows: Sequence[TableRow], columns: Sequence[Column]) -> Iterator[tuple[TableRow, TableRow]]:
    """Yield the rows that are put right, each with the row that does it: one before it, or of another file behind it.

    Files come in the order of their names, which says nothing of which is the newer.
    """
    seen, waiting = _KnownRows(columns), []
    for row in rows:
        if row.corrects:
            if corrected := _find_corrected(row, seen.find_like(row), columns):
                yield (row, corrected) if _goes_back(corrected, row, columns) else (corrected, row)
            else:
                waiting.append(row)
        seen.add(row)
    for row in waiting:
        others = [
            one for one in seen.find_like(row) if not one.corrects and one.places[0].source != row.places[0].source
        ]
        if corrected := _find_corrected(row, others, columns, is_named=True):
            yield corrected, row


def _goes_back(one: TableRow, other: TableRow, columns: Sequence[Column]) -> bool:
    """Tell if a row puts another one right again, in another file than that one, which put it right itself."""
    is_elsewhere = any(place.source != other.places[0].source for place in one.places)
    pairs = zip(columns, other.cells, strict=True)
    return is_elsewhere and any(cell and _names(column, one.corrects, cell) for column, cell in pairs if one.corrects)


def _find_contradictions(
    rows: Sequence[TableRow], columns: Sequence[Column], key: Sequence[int]
) -> Iterator[list[TableRow]]:
    """Yield rows that agree in the key and differ elsewhere; without one, those that differ in one value alone."""
    typed = [at for at, column in enumerate(columns) if column.kind is not Kind.TEXT]
    keys = [key] if key else [[at for at in range(len(columns)) if at != left_out] for left_out in typed]
    for chosen in keys:
        groups: dict[tuple[str, ...], list[TableRow]] = {}
        for row in rows:
            name = tuple(columns[at].fold(row.cells[at]) for at in chosen)
            if any(name) if key else sum(map(bool, name)) >= _LEAST_SHARED:
                groups.setdefault(name, []).append(row)
        left = next((at for at in range(len(columns)) if at not in chosen), None)
        for group in groups.values():
            # A value that a row does not give contradicts nothing, and rows of one section are two things.
            given = [row for row in group if key or (left is not None and row.cells[left])]
            sections = {row.places[0].step for row in given}
            if _differ(given, columns) if key else len(given) > 1 and len(sections) == len(given):
                yield given


def _differ(rows: Sequence[TableRow], columns: Sequence[Column]) -> bool:
    """Return whether some give different values of a column; a value that only one of them gives is told besides."""
    return any(len({column.fold(row.cells[at]) for row in rows} - {""}) > 1 for at, column in enumerate(columns))


class _KnownRows:
    """Rows by the words that name them and by their values, so that a correction is compared with few."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        # The first words of a row say what it is of.
        self._names = next((at for at, column in enumerate(columns) if column.kind is Kind.TEXT), None)
        self._rows: list[TableRow] = []
        self._places: dict[Hashable, list[int]] = {}

    def add(self, row: TableRow) -> None:
        values = [(column, cell) for column, cell in zip(self._columns, row.cells, strict=True) if cell]
        # A value is named where all of its stems are, so that one of them is enough to find it by.
        stems = [("value", min(found)) for _, cell in values if (found := _find_stems(cell))]
        numbers: list[Hashable] = [("value", number) for _, cell in values for number in list_amounts(cell)]
        numbers += [("value", number) for column, cell in values if (number := _read_number(column, cell)) is not None]
        for one in {*self._list_names(row), *stems, *numbers}:
            self._places.setdefault(one, []).append(len(self._rows))
        self._rows.append(row)

    def find_like(self, row: TableRow) -> list[TableRow]:
        """Return the known rows that may be of the same as a row, or have the value that it puts right."""
        stems = {("value", stem) for stem in _find_stems(row.corrects)}
        numbers: set[Hashable] = {("value", number) for number in list_amounts(row.corrects)}
        numbers |= {("value", _read_number(column, row.corrects)) for column in self._columns}
        places = {*self._list_last({*self._list_names(row), None}), *self._list_last(stems | numbers)}
        if self._list_names(row) == {None}:
            places.update(range(len(self._rows))[-_MOST_COMPARED:])
        return [self._rows[at] for at in sorted(places)]

    def _list_names(self, row: TableRow) -> set[Hashable]:
        name = None if self._names is None else row.cells[self._names]
        if name is None or self._names is None:
            return {None}
        return {("name", one) for one in (*_find_stems(name), self._columns[self._names].fold(name))}

    def _list_last(self, keys: Iterable[Hashable]) -> set[int]:
        """Return the last places that have one of the keys, those of the rarest keys first."""
        found: set[int] = set()
        for places in sorted((self._places.get(key, []) for key in keys), key=len):
            found.update(places[len(found) - _MOST_COMPARED :])
            if len(found) >= _MOST_COMPARED:
                break
        return found


def _find_corrected(
    row: TableRow, others: Sequence[TableRow], columns: Sequence[Column], *, is_named: bool = False
) -> TableRow | None:
    """Return the one of other rows that a row puts right: most like it, and of those alike the last.

    With `is_named`, only one with the value that it names.
    """
    # The first words of a row say what it is of.
    names = next((column for column in columns if column.kind is Kind.TEXT), None)
    best, found = (0, 0), None
    for one in others:
        pairs = [
            (column, old, new)
            for column, old, new in zip(columns, one.held, row.cells, strict=True)
            if old is not None and (new is not None or (column is not names and _names(column, row.corrects, old)))
        ]
        differing = [(column, old) for column, old, new in pairs if new is None or not _are_alike(column, old, new)]
        shared = len(pairs) - len(differing)
        if any(column is names for column, _ in differing):
            continue
        # What says all that the row before says, and how long it held, puts that right, too.
        is_ended = not differing and any(
            old is None and new is not None for old, new in zip(one.held, row.cells, strict=True)
        )
        is_void = _is_void(row, one, columns)
        # It names the value that it puts right, or is the same but for one.
        named = [(column, old) for column, old, _ in pairs] if is_ended else differing
        has_value = any(_names(column, row.corrects, old) for column, old in named)
        may_be = has_value or (not is_named and shared >= len(differing) and not list_amounts(row.corrects))
        if shared and (differing or is_ended or is_void) and may_be and (has_value, shared) >= best:
            best, found = (has_value, shared), one
    return found


def _is_void(row: TableRow, other: TableRow, columns: Sequence[Column]) -> bool:
    """Tell if a row says that another is void: it repeats what names that, and nothing else."""
    cells = [*zip(columns, other.held, row.cells, strict=True)]
    return (
        _VOID.search(row.corrects) is not None
        and any(old and not new for _, old, new in cells)
        and all(new is None or (old is not None and _are_alike(column, old, new)) for column, old, new in cells)
    )


def _are_alike(column: Column, one: str, other: str) -> bool:
    """Tell if two values are the same, or words for the same: "Buyer's fee" and "Buyer's fee (clause 7)"."""
    if column.fold(one) == column.fold(other):
        return True
    if column.kind is not Kind.TEXT:
        return False
    mine, theirs = _find_stems(one), _find_stems(other)
    figures, others = _list_figures(one), _list_figures(other)
    # Lot 2 is not lot 5, nor 九千 九千六.
    has_other = figures - others and others - figures
    return not has_other and len(mine & theirs) > _LEAST_ALIKE * min(len(mine), len(theirs))


def _list_figures(text: str) -> AbstractSet[str | float]:
    """Return the numbers of a text, and its words with digits."""
    return list_amounts(text) | {stem for stem in _find_stems(text) if any(map(str.isdigit, stem))}


def _names(column: Column, words: str, value: str) -> bool:
    """Tell if some words name a value, as they stand or as a number or date."""
    number = _read_number(column, value)
    is_same = number is not None and _read_number(column, words) == number
    stems, amounts = _find_stems(value), list_amounts(words)
    has_number = bool(amounts) and amounts <= list_amounts(value)
    return is_same or has_number or (bool(stems) and stems <= _find_stems(words))


def _read_number(column: Column, value: str) -> str | float | None:
    return None if column.kind is Kind.TEXT else column.normalize(value)


@lru_cache(maxsize=1 << 16)
def _find_stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words; where no blanks part them, pairs of signs, as names share single ones."""
    runs = _UNSPACED_RUN.findall(text)
    pairs = {run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))}
    return frozenset(find_stems(_UNSPACED_RUN.sub(" ", text)) | pairs if runs else find_stems(text))
