"""Which rows of a table say otherwise than others, and which of them comes later.

    row 3   Buyer's fee   £180   Concession Lot                      another says otherwise further on: row 9
    row 9   Buyer's fee   £150   Concession Lot   corrects "£180"    says otherwise than row 3

Rows disagree that agree in the key and differ elsewhere; without a key, those that differ in one number or date alone.
A model that reads that the text puts right what was said before tells so in its row: that row and the one before it
that it is most like, and differs from, disagree too, however few columns the correction repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from bookwheel.tables.columns import Column, Kind
from bookwheel.text.ranking import find_stems

if TYPE_CHECKING:
    from bookwheel.tables.table import TableRow

_LEAST_SHARED: Final = 2
"""Other values that two rows must share, so that one number or date in which they differ is a contradiction."""
_LEAST_ALIKE: Final = 0.5
"""Of the stems of the shorter of two texts, so that they name the same."""


def mark_disagreeing(rows: Sequence[TableRow], columns: Sequence[Column], key: Sequence[int]) -> None:
    """Set of each row, in the document's order, which others say otherwise, and which is the last of them."""
    for row in rows:
        row.others, row.later, row.is_corrected = (), None, False
    groups = [*_find_contradictions(rows, columns, key)]
    for at, row in enumerate(rows):
        if row.corrects and (corrected := _find_corrected(row, rows[:at], columns)):
            corrected.is_corrected = True
            groups.append([corrected, row])
    for group in groups:
        for at, row in enumerate(group):
            row.others = tuple(dict.fromkeys((*row.others, *(one.id for one in group if one is not row))))
            row.later = group[-1].id if at < len(group) - 1 else row.later


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
            if key or sum(map(bool, name)) >= _LEAST_SHARED:
                groups.setdefault(name, []).append(row)
        left = next((at for at in range(len(columns)) if at not in chosen), None)
        for group in groups.values():
            # A value that a row does not give contradicts nothing, and rows of one section are two things.
            given = [row for row in group if key or (left is not None and row.cells[left])]
            sections = {row.places[0].step for row in given}
            if len(given) > 1 and (key or len(sections) == len(given)):
                yield given


def _find_corrected(row: TableRow, earlier: Sequence[TableRow], columns: Sequence[Column]) -> TableRow | None:
    """Return the row before it that a row puts right: most like it, and of those alike the last."""
    # The first words of a row say what it is of.
    names = next((column for column in columns if column.kind is Kind.TEXT), None)
    best, found = (0, 0), None
    for one in earlier:
        pairs = [
            (column, old, new)
            for column, old, new in zip(columns, one.cells, row.cells, strict=True)
            if old is not None and new is not None
        ]
        differing = [(column, old) for column, old, new in pairs if not _are_alike(column, old, new)]
        shared = len(pairs) - len(differing)
        if any(column is names for column, _ in differing):
            continue
        # It names the value that it puts right, or is the same but for one.
        is_named = any(_names(column, row.corrects, old) for column, old in differing)
        if shared and differing and (is_named or shared >= len(differing)) and (is_named, shared) >= best:
            best, found = (is_named, shared), one
    return found


def _are_alike(column: Column, one: str, other: str) -> bool:
    """Tell if two values are the same, or words for the same: "Buyer's fee" and "Buyer's fee (clause 7)"."""
    if column.fold(one) == column.fold(other):
        return True
    if column.kind is not Kind.TEXT:
        return False
    mine, theirs = set(find_stems(one)), set(find_stems(other))
    shared, mine_alone, theirs_alone = mine & theirs, mine - theirs, theirs - mine
    # Lot 2 is not lot 5.
    has_other = _has_number(mine_alone) and _has_number(theirs_alone)
    return not has_other and len(shared) > _LEAST_ALIKE * min(len(mine), len(theirs))


def _has_number(stems: set[str]) -> bool:
    return any(map(str.isdigit, "".join(stems)))


def _names(column: Column, words: str, value: str) -> bool:
    """Tell if some words name a value, as they stand or as a number or date."""
    number = column.normalize(value)
    is_same = column.kind is not Kind.TEXT and number is not None and column.normalize(words) == number
    stems = set(find_stems(value))
    return is_same or (bool(stems) and stems <= set(find_stems(words)))
