"""The cells of a line of a table, whatever parts them, and whether a first row names columns. Nothing of questions."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final

TOTAL: Final = re.compile(
    r"(?:sub|grand )?totals?\b|sum\b|net\b|amount due|balance|to pay\b|vat\b|tax\b|"
    r"(?:zwischen|gesamt|end)?summe\b|gesamt(?:betrag)?\b|saldo\b|somme\b|totale?\b|suma\b|"
    r"合计|小计|总计|总额|应收|应付|实收|共计|合計|小計|總計",
    re.IGNORECASE,
)
"""How the name of a row begins that sums up others."""
_SUMMARY: Final = re.compile(r"(?:all|overall)$|(?:averages?|mean|median)\b|平均", re.IGNORECASE)
"""How one may begin that has fewer cells than they have."""
_MARKUP: Final = "*_~` "
_BAR: Final = re.compile(r"(?<!\\)\|")
"""What parts the cells of Markdown's tables; one within a cell is written with a backslash."""
_MARKS: Final = ("|", "\t", ";", ",")
_WORDS: Final = re.compile(r"\S+(?: \S+)*")
_FIGURE: Final = re.compile(r"\d(?:[\d.,'’ ]*\d)?")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_MOST_OF: Final = 0.6
_WHOLE: Final = re.compile(r"\d{1,9}")
_COUNTED: Final = 2
_UNIT: Final = 5
"""Letters of a unit."""


def split_cells(line: str) -> list[str]:
    r"""Return the cells of a row or a header; none where nothing parts them.

    >>> split_cells("| Yearly | 4p |"), split_cells('a,"b, c",d'), split_cells("Yearly   4p"), split_cells("no row")
    (['Yearly', '4p'], ['a', 'b, c', 'd'], ['Yearly', '4p'], [])
    >>> split_cells('| cmd \\| "sort | 4p |')
    ['cmd | "sort', '4p']
    """
    mark = _find_mark(line)
    if mark:
        return _split(line, mark)
    placed = [cell for cell, _, _ in _place_cells(line)]
    return placed if len(placed) > 1 else []


def read_row(header: str, row: str) -> tuple[list[str], list[str]]:
    """Return the names of a table's columns and a row's cells under them, as many as there are names; else no cells.

    >>> read_row("Date    Paid out  Paid in", "11 Mar            1,500.00")
    (['Date', 'Paid out', 'Paid in'], ['11 Mar', '', '1,500.00'])
    """
    names, mark = split_cells(header), _find_mark(header)
    if not mark:
        return _align(header, row) if names else ([], [])
    cells = _split(row, mark)
    return names, cells if len(cells) == len(names) else []


def is_total(cells: Sequence[str], most: int = 0) -> bool:
    """Tell if a row sums up others, of which the fullest has so many cells.

    >>> is_total(["**Total**", "29"]), is_total(["", "Average fee", "80"], 3), is_total(["All", "29"], 2)
    (True, True, False)
    """
    held = [*filter(None, (cell.strip(_MARKUP) for cell in cells))]
    name = held[0] if held else ""
    return bool(TOTAL.match(name) or (len(held) < most and _SUMMARY.match(name)))


def has_header(rows: Sequence[Sequence[str]]) -> bool | None:
    """Tell if the first row of a table that marks none names its columns; None where nothing tells. A row alone does.

    It does not where it has figures written as those below it, save names that count: sizes, zones, weeks, distances.

    >>> has_header([["item", "price"], ["putty", "9.50"]]), has_header([["pane", "EUR 74.00"], ["putty", "EUR 9.50"]])
    (True, False)
    >>> has_header([["pane", "Ida"], ["putty", "Bo"]])
    """
    first, *others = rows
    if _are_counted(first) or _are_numbered(first, others) or not others:
        return True
    names = values = 0
    for at, cell in enumerate(first):
        below = [row[at] for row in others if at < len(row) and row[at]]
        if not cell or not below:
            continue
        if not any(map(str.isdigit, cell)):
            names += sum(_is_figure(one) for one in below) >= _MOST_OF * len(below)
        elif not _YEAR.fullmatch(cell) or all(map(_YEAR.fullmatch, below)):
            values += sum(_find_form(one) == _find_form(cell) for one in below) >= _MOST_OF * len(below)
    return names > values if names or values else None


def _are_counted(cells: Sequence[str]) -> bool:
    """Tell if the last cells, two at least, are whole numbers that rise or fall, and the others have no figure."""
    figures = [cell for cell in cells if any(map(str.isdigit, cell))]
    if len(figures) < _COUNTED or [*cells[-len(figures) :]] != figures or not all(map(_WHOLE.fullmatch, figures)):
        return False
    steps = {one < other for one, other in pairwise(map(int, figures))}
    return len({*figures}) == len(figures) and len(steps) == 1


def _are_numbered(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Tell if names differ in their numbers alone, and what stands below is written otherwise: 5 km, 10 km; 28 min."""
    places = [at for at, name in enumerate(names) if any(map(str.isdigit, name))]
    signs = {_FIGURE.sub("9", names[at]) for at in places}
    below = [row[at] for row in rows for at in places if at < len(row) and row[at]]
    alike = sum(_FIGURE.sub("9", cell) in signs for cell in below)
    is_named = len(signs) == 1 and bool(_LETTERS.search("".join(signs)))
    return len(places) >= _COUNTED and is_named and 2 * alike < len(below)


def _is_figure(cell: str) -> bool:
    """Tell if a cell has more digits than letters, or a unit."""
    letters = sum(map(len, _LETTERS.findall(cell)))
    return any(map(str.isdigit, cell)) and letters <= max(_UNIT, sum(map(str.isdigit, cell)))


def _find_form(cell: str) -> str:
    """Return how a cell is written: "EUR 74.00" and "CHF 9.50" alike."""
    return _LETTERS.sub("a", _FIGURE.sub("9", " ".join(cell.split())))


def _find_mark(line: str) -> str | None:
    """Return the sign that parts the cells; None where blanks do, or nothing does."""
    if line.lstrip().startswith("|") and line.count("|") > 2:  # noqa: PLR2004 - its first cell may be empty
        return "|"
    mark = next((mark for mark in _MARKS if mark in line.strip(" |")), None)
    is_aligned = mark == "," and len(_place_cells(line)) > line.count(mark)
    return None if is_aligned else mark


def _split(line: str, mark: str) -> list[str]:
    if line.lstrip().startswith(mark) and mark == "|":
        bare = line.strip().removeprefix("|").removesuffix("|")
        return [cell.strip().replace("\\|", "|") for cell in _BAR.split(bare)]
    bare = line.strip().strip("|") if mark == "|" else line
    try:
        return [cell.strip() for cell in next(csv.reader([bare], delimiter=mark), [])]
    except csv.Error:
        return []  # a line end within, or a cell as long as a book


def _align(header: str, row: str) -> tuple[list[str], list[str]]:
    """Return the cells that blanks part, each under the name that it stands nearest to."""
    names = _place_cells(header)
    cells = [""] * len(names)
    for text, start, end in _place_cells(row):
        # The nearer of their edges counts, for columns are set left or right.
        far = [min(abs(start - left), abs(end - right)) for _, left, right in names]
        at = far.index(min(far))
        if cells[at]:
            return [name for name, _, _ in names], []
        cells[at] = text
    return [name for name, _, _ in names], cells


def _place_cells(line: str) -> list[tuple[str, int, int]]:
    """Return what two blanks or more part, with where it begins and ends; a Chinese sign is as wide as two others."""
    widths = list(accumulate((1 + (unicodedata.east_asian_width(sign) in "WF") for sign in line), initial=0))
    return [(found[0], widths[found.start()], widths[found.end()]) for found in _WORDS.finditer(line)]
