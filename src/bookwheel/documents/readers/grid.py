"""Write the rows of a table as Markdown, whatever format it comes from: its names of columns, and cells over others.

| Prices in EUR          |      a cell over all columns, first or last, is a line of its own
| Boat     | Day         |      a name over several columns is a part of each of their names, and a cell over
|          | low | high  |      several rows or columns stands in each of them
| Heron    | 36  | 41    |      Boat, Day low, Day high
| Wherry   |     closed  |      Wherry, closed, closed
| Note: in summer only   |      so are the cells of rows before the names and at the end that have their own labels
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Final, NamedTuple

from bookwheel.text.cells import TOTAL, has_header
from bookwheel.text.numbers import place_dates

GUESSED: Final = "first rows taken for the names of columns, in tables where nothing tells"
CONTINUED: Final = "rows that begin with an empty cell, read as of the day above them"
COVERED: Final = "values below a cell that covers them, which nobody sees, left out"
REPEATED: Final = "amounts over several rows or columns, repeated in each of them"
ONCE: Final = "cells over so many others that they stand in the first alone"
"""What notes say of tables."""
# Rows that tell if the first one is a header.
_SAMPLE: Final = 50
# Columns of a diary: a day, what was done, and how much.
_LEAST_OF_DIARY: Final = 3
# Of names, one below the other: of two, and at most.
_LINES: Final = 2
MOST_NAMES: Final = 3
# Characters of a cell: a longer one is a text that stands once, no value.
_MOST_REPEATED: Final = 400
# Characters that cells over others may add to a table, beside its own.
_MOST_ADDED: Final = 100_000
# A note has its own label; a time, an address and a ratio have none.
_LABELLED: Final = re.compile(r"[^:：]{0,20}[^\W\d_][:：](?!//)\s*\S")
# Rows in which the names of columns are looked for, below titles and notes; and of notes at the end.
_MOST_NOTES: Final = 8
# What Markdown would take for a heading, an item, a quote or code.
_DIGIT: Final = re.compile(r"\d")
SIGN: Final = re.compile(r"[#>+*-]+(?=\s|$)|```|~~~")


class Span(NamedTuple):
    """A cell over several rows or columns, by its first ones."""

    row: int
    column: int
    height: int
    width: int


def format_rows(
    rows: Iterable[Sequence[str]],
    guess: Callable[[str], object] = str,
    *,
    is_marked: bool | None = None,
    most_names: int = MOST_NAMES,
    spans: Sequence[Span] = (),
    keeps_empty: bool = False,
) -> Iterator[str]:
    """Yield the lines of a Markdown table without its empty rows. A table without a header gets an empty one.

    `is_marked` tells if the first row is the header; with None, its cells tell. Where they do not tell either, it is
    taken for one; of names one below the other there are `most_names` lines. `guess` is called with what is a guess,
    or left out.
    With `keeps_empty` an empty cell says nothing: a value that JSON lacks, a cell that was not recognised.
    """
    cleaned = ([" ".join(cell.split()) for cell in row] for row in rows)
    filled = (row for row in cleaned if any(row))
    table = [*cleaned] if spans else list(islice(filled, _SAMPLE))
    width = max(map(len, table), default=0)
    squared = [row + [""] * (width - len(row)) for row in table]
    spans = [span for span in spans if span.row < len(table) and span.column < width]
    notes = _take_notes(squared) if is_marked is None else []
    spans += _guess_spans(squared[:_SAMPLE]) if is_marked is None else []
    above, below = list[str](), list[str]()
    shown = squared if spans or notes else table
    if spans:
        # A title is a cell over several columns that is all that stands in its row, from the first column on.
        wide = (span for span in spans if span.column == 0 and span.width > 1)
        titles = {span for span in wide if not any(squared[span.row][1:])}
        above, below = _take_titles(squared, titles)
        spans = [span for span in spans if span not in titles]
        if _clear_covered(squared, spans):
            guess(COVERED)
        names = [] if is_marked is False else _find_names(squared, spans, most_names)
        shown = [*_fill_spans(squared, spans, names, guess)]
    yield from chain.from_iterable((line, "") for line in chain(above, notes))
    if found := [row for row in shown if any(row)]:
        head = has_header(found[:_SAMPLE]) if is_marked is None else is_marked
        if head is None:
            guess(GUESSED)
        begin = [[""] * len(found[0]), *found] if head is False else found
        others: Iterator[list[str]] = chain(begin[1:], filled)
        if not keeps_empty and _is_diary(begin[1:_SAMPLE]):
            guess(CONTINUED)
            others = _add_days(others)
        others = _hold_notes(others, below) if is_marked is None else others
        for at, row in enumerate(chain(begin[:1], others)):
            cells = [cell.replace("|", "\\|") for cell in row]
            yield f"| {' | '.join(cells)} |"
            if not at:
                yield f"|{' --- |' * len(row)}"
    yield from chain.from_iterable(("", line) for line in below)


def _is_note(row: Sequence[str]) -> bool:
    """Tell if a row has cells with their own labels alone, or few cells and one such: Unit: EUR k; 注：本表未经审计."""
    cells = [*filter(None, row)]
    labelled = [*filter(_LABELLED.match, cells)]
    return bool(labelled) and (len(labelled) == len(cells) < len(row) or 2 * len(cells) < len(row))


def _take_notes(table: Sequence[list[str]]) -> list[str]:
    """Take out of a table the cells of the notes above its names of columns: their unit, the day, who made it."""
    head = next((at for at, row in enumerate(table[:_MOST_NOTES]) if 2 * sum(map(bool, row)) > len(row)), 0)
    taken = [at for at in range(head) if _is_note(table[at])]
    lines = [cell for at in taken for cell in table[at] if cell]
    for at in taken:
        table[at][:] = [""] * len(table[at])
    return lines


def _hold_notes(rows: Iterable[list[str]], below: list[str]) -> Iterator[list[str]]:
    """Yield the rows; the cells of a few notes behind the last one are added to what stands below."""
    held = list[list[str]]()
    are_rows = False
    for row in rows:
        held.append(row)
        # More than a few are the lines of a log, or tasks: "ERROR: disk full", "Buy: paint".
        is_note = _is_note(row)
        are_rows = is_note and (are_rows or len(held) > _MOST_NOTES)
        if are_rows or not is_note:
            yield from held
            held.clear()
    below += [cell for row in held for cell in row if cell]


def _is_diary(rows: Sequence[Sequence[str]]) -> bool:
    """Tell if a table goes from day to day, each of which stands once, before the first of its rows."""
    # Any other empty cell may be a lack: of a nickname, a mark, a number.
    days = [[day for *_, day in place_dates(row[0])] for row in rows if row[0]]
    is_in_order = all(map(len, days)) and all(one < other for one, other in pairwise(days))
    return len(days) > 1 and is_in_order and bool(rows[0][0]) and any(map(_lacks_day, rows))


def _lacks_day(row: Sequence[str]) -> bool:
    """Tell if a row of a diary lacks its day alone, and is no sum of others."""
    return len(row) >= _LEAST_OF_DIARY and not row[0] and bool(row[1]) and not TOTAL.match(row[1])


def _add_days(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    day = ""
    for row in rows:
        day = row[0] or day
        yield [day, *row[1:]] if _lacks_day(row) else row


def _guess_spans(table: Sequence[Sequence[str]]) -> list[Span]:
    """Return the titles above the names of columns, and names over several columns, of a table that marks neither."""
    # Such a name has empty cells behind it, and words below all of them, where no other column has a name in both
    # lines.
    top = next((at for at, row in enumerate(table) if any(row[1:])), len(table))
    names = table[top : top + 2]
    if len(names) < _LINES or len(names[0]) <= _LINES or not has_header(table[top:]):
        return []
    starts = [at for at, name in enumerate(names[0]) if name]
    ends = [*starts[1:], len(names[0])]
    wide = [Span(top, at, 1, end - at) for at, end in zip(starts, ends, strict=True) if end - at > 1]
    parted = {at for span in wide for at in range(span.column, span.column + span.width)}
    fits = all(
        any(map(str.isalpha, below)) if at in parted else not (name and below)
        for at, (name, below) in enumerate(zip(*names, strict=True))
    )
    titles = [Span(at, 0, 1, len(row)) for at, row in enumerate(table[:top]) if row[0]]
    return [*titles, *(wide if fits and has_header(table[top + 1 :]) else ())]


def _take_titles(table: Sequence[list[str]], titles: Collection[Span]) -> tuple[list[str], list[str]]:
    """Take out of a table the titles above all other rows, and those below them."""
    rows = {span.row for span in titles}
    others = [at for at, row in enumerate(table) if any(row) and at not in rows] or [len(table)]
    taken = [at for at in sorted(rows) if not others[0] < at < others[-1]]
    lines = [
        (at, SIGN.sub(r"\\\g<0>", table[at][0], count=1) if SIGN.match(table[at][0]) else table[at][0]) for at in taken
    ]
    for at in taken:
        table[at][0] = ""
    return [line for at, line in lines if at < others[0]], [line for at, line in lines if at > others[-1]]


def _clear_covered(table: Sequence[list[str]], spans: Sequence[Span]) -> bool:
    """Empty the cells that others cover; return True where they had something, as in sheets that a program wrote."""
    is_found = False
    for span in spans:
        for at, row in enumerate(table[span.row : span.row + span.height]):
            for column in range(span.column + (not at), min(span.column + span.width, len(row))):
                is_found |= bool(row[column])
                row[column] = ""
    return is_found


def _fill_spans(
    table: Sequence[list[str]], spans: Sequence[Span], names: Collection[int], guess: Callable[[str], object]
) -> Iterator[list[str]]:
    """Yield the rows with each cell in all places that it covers, and the lines of names as one."""
    texts = {span: table[span.row][span.column] for span in spans}
    # What begins a row and is no name of a column names the row, once: "Total", over three columns.
    widths = {span: span.width if span.column or span.row in names else 1 for span in spans}
    added = {
        span: len(text) * widths[span] * span.height for span, text in texts.items() if len(text) <= _MOST_REPEATED
    }
    is_small = sum(added.values()) <= _MOST_ADDED + sum(len(cell) for row in table for cell in row)
    if not is_small:
        guess(ONCE)
    elif any(s.row not in names and widths[s] * s.height > 1 and _DIGIT.search(texts[s]) for s in added):
        guess(REPEATED)
    for span in added:
        rows = range(span.row, min(span.row + span.height, len(table)))
        for row in (table[at] for at in rows if is_small or at in names):
            for at in range(span.column, min(span.column + widths[span], len(row))):
                row[at] = row[at] or texts[span]
    if names:
        columns = zip(*(table[at] for at in names), strict=True)
        yield [" ".join(dict.fromkeys(filter(None, parts))) for parts in columns]
    yield from (row for at, row in enumerate(table) if at not in names)


def _find_names(table: Sequence[Sequence[str]], spans: Sequence[Span], most: int) -> list[int]:
    """Return the rows that name columns: the first one, and each that parts what a name above it covers."""
    names = [next((at for at, row in enumerate(table) if any(row)), 0)]
    while len(names) < most and (below := names[-1] + 1) < len(table) - 1:
        wide = [range(left, left + width) for row, left, _, width in spans if row == names[-1] and width > 1]
        parted = {at for columns in wide if sum(bool(table[below][at]) for at in columns) > 1 for at in columns}
        others = set(range(len(table[below]))) - parted
        # Two texts one below the other are a name and a value.
        is_row = any(table[below][at] and any(table[name][at] for name in names) for at in others)
        if not parted or is_row or has_header(table[below : below + _SAMPLE]) is False:
            break
        names.append(below)
    return names
