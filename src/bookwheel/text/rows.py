"""The cells of a table's row, and the one that a question asks for: it stands under a header with the question's words.

    question   What does Down & Duvets hold at most, the max. load?
    header     | Programme | Max. load | Typical time |
    row        | Down & Duvets | 2.5 kg | 2 h 20 min |      "2.5 kg"

>>> find_cell("| Plan | Minute |", "| Yearly | 4p |", "What is a minute on the yearly plan?").text
'4p'
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from bookwheel.text.ranking import QuestionWords, find_stems

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARKS: Final = ("|", "\t", ";", ",")
_ASKS: Final = re.compile("(?:是|有|要)?(?:多少|什么|哪[里儿个位天年]|谁|几|多久|何时|怎么)钱?|[的呢吗？?]")


class FoundCell(NamedTuple):
    """A cell that a question asks for."""

    text: str
    is_named: bool
    """Whether all that the question says stands in the row, its header or what leads it in."""


def split_cells(line: str) -> list[str]:
    """Return the cells of a row; none where nothing parts them.

    >>> split_cells("| Yearly | 4p |"), split_cells('a,"b, c",d'), split_cells("no row")
    (['Yearly', '4p'], ['a', 'b, c', 'd'], [])
    """
    mark = next((mark for mark in _MARKS if mark in line.strip(" |")), None)
    if mark is None:
        return []
    bare = line.strip().strip("|") if mark == "|" else line
    try:
        return [cell.strip() for cell in next(csv.reader([bare], delimiter=mark), [])]
    except csv.Error:
        return []  # a line end within, or a cell as long as a book


def find_cell(header: str, row: str, question: str, leads: str = "") -> FoundCell | None:
    """Return the cell of a row that a question asks for, if one column's name has more of the question's words."""
    names, cells = split_cells(header), split_cells(row)
    if len(names) != len(cells) or len(cells) < 2:  # noqa: PLR2004 - a key and a value
        return None
    asked = find_stems(question)
    key = _find_key(cells, asked)
    own = find_stems(cells[key]) if key is not None else set[str]()
    stems = [find_stems(name) for name in names]
    common = Counter(stem for some in stems for stem in some)
    shares = [
        sum(1 / common[stem] for stem in some & asked - own) if at != key and cells[at] else 0.0
        for at, some in enumerate(stems)
    ]
    best = max(shares)
    if not best or shares.count(best) > 1:
        return None
    said = f"{leads} {header} {row}"
    stood = find_stems(said)
    # Stems of Chinese are pairs of signs, and two words make a pair that stands nowhere.
    is_named = all(stem in stood or (not stem.isascii() and set(stem) <= set(said)) for stem in _list_asked(question))
    return FoundCell(cells[shares.index(best)].strip("`* "), is_named=is_named)


def _list_asked(question: str) -> set[str]:
    return QuestionWords(_ASKS.sub(" ", question)).stems


def _find_key(cells: Sequence[str], asked: set[str]) -> int | None:
    """Return the place of the cell that the question names, if it names one."""
    shares = [len((stems := find_stems(cell)) & asked) / max(1, len(stems)) for cell in cells]
    best = max(shares)
    return shares.index(best) if best else None
