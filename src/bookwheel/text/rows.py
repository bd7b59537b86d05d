"""The cells of a table's row, and the one that a question asks for.

    question   Max. load of Down & Duvets?             How much is Heron?
    header     | Programme | Max. load | Time |        | Boat | Price a day | Crew |
    row        | Down & Duvets | 2.5 kg | 2 h |        | Heron | £36 | 6 |
    column     its name has the question's words       its name is of the kind that is asked for: a price

>>> find_cell("| Plan | Minute |", "| Yearly | 4p |", "What is a minute on the yearly plan?").text
'4p'
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections import Counter
from difflib import get_close_matches
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from bookwheel.text.lexicon import stem, words
from bookwheel.text.questions import find_columns
from bookwheel.text.ranking import QuestionWords, find_stems

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

_BAR: Final = re.compile(r"(?<!\\)\|")
"""What parts the cells of Markdown's tables; one within a cell is written with a backslash."""
_MARKS: Final = ("|", "\t", ";", ",")
_WORDS: Final = re.compile(r"\S+(?: \S+)*")
_ASKS: Final = re.compile(
    "(?:是|有|要)?(?:多少|什么|哪[里儿个位天年]|谁|几|多久|何时|怎么)钱?|[的呢吗？?]|价[格钱]|费用|合计|总共"
)
BRACKETS: Final = re.compile(r"\s*[（(\[][^()（）\[\]]*[)）\]]")
_SHORT: Final = re.compile(r"[A-Za-z]{2,4}")
"""A name that may be short for a word: Pts, Qty."""
_LIGHT: Final = words("per for of the a an it is each every and or in on to")
_LETTER: Final = re.compile(r"(?<=[a-z] )[A-Z]\b(?!')")
"""A letter that names something: Bus D."""
_VOWEL: Final = re.compile("[aeiou]", re.IGNORECASE)
_PERIODS: Final = {
    stem(adverb): stem(period)
    for period, adverbs in (
        ("day", "daily"),
        ("week", "weekly"),
        ("month", "monthly"),
        ("year", "yearly annual annually"),
    )
    for adverb in adverbs.split()
}
_LEAST_FUZZY: Final = 5
_ALIKE: Final = 0.78
_ASKS_FIGURE: Final = re.compile(
    r"\bhow (?:many|much|high|long|deep|big|large|far|tall|old)\b|"
    r"\bwhat (?:share|percentage|proportion|number|fraction)\b|"
    r"多少|几|占比|比例",
    re.IGNORECASE,
)
_TOTAL: Final = re.compile(r"\btotal|\bsum\b|altogether|in all|comes to|overall|合计|总|一共", re.IGNORECASE)


_FIGURE: Final = re.compile(r"\d(?:[\d.,'’ ]*\d)?")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_MOST_OF: Final = 0.6
_WHOLE: Final = re.compile(r"\d{1,9}")
_COUNTED: Final = 2
_UNIT: Final = 5
"""Letters of a unit."""


class FoundCell(NamedTuple):
    """A cell that a question asks for."""

    text: str
    is_named: bool
    """Whether all that the question says stands in the row, its header or what leads it in."""


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
        at = min(range(len(names)), key=lambda at: _measure_distance((start, end), names[at][1:]))
        if cells[at]:
            return [name for name, _, _ in names], []
        cells[at] = text
    return [name for name, _, _ in names], cells


def _place_cells(line: str) -> list[tuple[str, int, int]]:
    """Return what two blanks or more part, with where it begins and ends; a Chinese sign is as wide as two others."""
    widths = list(accumulate((1 + (unicodedata.east_asian_width(sign) in "WF") for sign in line), initial=0))
    return [(found[0], widths[found.start()], widths[found.end()]) for found in _WORDS.finditer(line)]


def _measure_distance(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Return how far two cells stand apart: the nearer of their edges, for columns are set left or right."""
    return min(abs(one[0] - other[0]), abs(one[1] - other[1]))


def find_cell(header: str, row: str, question: str, leads: str = "") -> FoundCell | None:
    """Return the cell of a row that a question asks for, if one column can be told."""
    names, cells = read_row(header, row)
    if len(cells) < 2:  # noqa: PLR2004 - a key and a value
        return None
    asked = find_stems(question)
    key = _find_key(cells, asked)
    own = find_stems(cells[key]) if key is not None else set[str]()
    able = [at for at in range(len(names)) if at != key and cells[at]]
    columns = choose_columns(question, names, able, beside=own)
    # Of a name and its figure, the figure is meant, if a figure is.
    if not columns and own and own <= asked and len(able) == 1 and _ASKS_FIGURE.search(question):
        columns = able
    if not columns:
        return None
    said = f"{leads} {header} {row}"
    stood = {one for stem in find_stems(said) for one in (stem, _PERIODS.get(stem, stem))} | _LIGHT
    # Stems of Chinese are pairs of signs, and two words make a pair that stands nowhere.
    is_named = all(stem in stood or (not stem.isascii() and set(stem) <= set(said)) for stem in list_asked(question))
    is_named = is_named and bool(_find_shared(_list_stems(names[columns[0]], question), asked))
    return FoundCell(cells[columns[0]].strip("`* "), is_named=is_named)


def choose_columns(
    question: str, names: Sequence[str], able: Collection[int], *, beside: Collection[str] = (), by_kind: bool = True
) -> list[int]:
    """Return the able column whose name has the question's words, save those beside; else those of the kind asked for.

    Of several of a kind the first is the likeliest: a price stands before what is added to it.
    """
    stems = {at: _list_stems(names[at], question) for at in able}
    said = QuestionWords(question).stems | {letter.casefold() for letter in _LETTER.findall(question)}
    # "Day" only asks in most questions.
    said |= find_stems(question) & {*_PERIODS.values()}
    asked = _mend({_PERIODS.get(stem, stem) for stem in said}, stems.values()).difference(beside)
    common = Counter(stem for some in stems.values() for stem in some)
    shared = {at: _find_shared(some, asked) for at, some in stems.items()}
    # Of "Per day" and "Km included per day", the first where nobody asks for distances.
    shares = {
        at: sum(1 / common[stem] for stem in some) + len(some) / len(stems[at]) for at, some in shared.items() if some
    }
    best = max(shares.values(), default=0.0)
    named = [at for at in able if shares.get(at) == best] if best else []
    if len(named) == 1:
        return named
    for found in find_columns(question, names) if by_kind else ():
        if fit := [at for at in named or able if at in found]:
            fit = _prefer_total(fit, names, question) or fit
            return fit if not named or len(fit) == 1 else []
    return []


def _mend(asked: set[str], names: Iterable[set[str]]) -> set[str]:
    """Return the stems of a question, and those of names that a mistyped one stands for."""
    known = {stem for some in names for stem in some if len(stem) >= _LEAST_FUZZY}
    strange = [stem for stem in asked - known if len(stem) >= _LEAST_FUZZY and stem.isascii()]
    near = {found for stem in strange for found in get_close_matches(stem, known, n=1, cutoff=_ALIKE)}
    return asked | near


def _prefer_total(fit: Sequence[int], names: Sequence[str], question: str) -> list[int]:
    """Return, of prices and sums, the sums where these are asked for, else the others."""
    wants_total = bool(_TOTAL.search(question))
    return [at for at in fit if bool(_TOTAL.search(names[at])) is wants_total]


def _list_stems(name: str, question: str) -> set[str]:
    """Return the stems of a column's name without its unit, and of the question's words that it is short for.

    One sign of a longer Chinese word tells nothing.
    """
    bare = BRACKETS.sub("", name) or name
    stems = find_stems(bare)
    stems = {_PERIODS.get(stem, stem) for stem in stems - _LIGHT if stem.isascii() or len(stem) > 1} or stems
    if _SHORT.fullmatch(bare):
        # "Pos" begins a word; of "Pts" the vowels are left out.
        letters = bare.casefold() if _VOWEL.search(bare) else r"\w*".join(bare.casefold())
        longer = re.findall(rf"\b{letters}\w*\b", question.casefold())
        stems |= {stem for word in longer for stem in find_stems(word)}
    return stems


def _find_shared(stems: set[str], asked: set[str]) -> set[str]:
    """Return the stems that a question has; of a Chinese name two or half, as pairs of signs stand across words too."""
    shared = stems & asked
    is_enough = len(shared) > 1 or 2 * len(shared) >= len(stems) or all(map(str.isascii, stems))
    return shared if is_enough else set()


def list_asked(question: str) -> set[str]:
    """Return the stems of a question, in Chinese without the words that only ask."""
    return QuestionWords(_ASKS.sub(" ", question)).stems


def _find_key(cells: Sequence[str], asked: set[str]) -> int | None:
    """Return the place of the cell that the question names, if it names one."""
    shares = [len((stems := find_stems(cell)) & asked) / max(1, len(stems)) for cell in cells]
    best = max(shares)
    return shares.index(best) if best else None
