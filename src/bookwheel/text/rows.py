"""The cell of a row that a question asks for, and the column that its words or its kind mean.

    question   Max. load of Down & Duvets?             How much is Heron?
    header     | Programme | Max. load | Time |        | Boat | Price a day | Crew |
    row        | Down & Duvets | 2.5 kg | 2 h |        | Heron | £36 | 6 |
    column     its name has the question's words       its name is of the kind that is asked for: a price

>>> find_cell("| Plan | Minute |", "| Yearly | 4p |", "What is a minute on the yearly plan?").text
'4p'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

from bookwheel.text import lexicon
from bookwheel.text.cells import read_row
from bookwheel.text.kinds import find_columns
from bookwheel.text.lexicon import stem, words
from bookwheel.text.questions import find_counted
from bookwheel.text.ranking import QuestionWords, find_stems

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
_DIRECTIONS: Final = frozenset(map(stem, lexicon.DIRECTIONS))
_LEAST_FUZZY: Final = 5
_ALIKE: Final = 0.78
_ASKS_FIGURE: Final = re.compile(
    r"\bhow (?:many|much|high|long|deep|big|large|far|tall|old)\b|"
    r"\bwhat (?:share|percentage|proportion|number|fraction)\b|"
    r"多少|几|占比|比例",
    re.IGNORECASE,
)
_MEASURE: Final = re.compile("(?:多少|几)个?([\u4e00-\u9fff])")
"""The word that counts, whatever it counts: 几册."""
_AMOUNT: Final = re.compile(r"\W*\d[\d.,]*\s*([^\W\d_]+)")
_NUMBER: Final = re.compile(r"\s*(?:\bno\b\.?|\bnumber\b|#|[编序]?号)\s*", re.IGNORECASE)
"""In the name of a column: its cells are numbers."""
_TOTAL: Final = re.compile(r"\btotal|\bsum\b|altogether|in all|comes to|overall|合计|总|一共", re.IGNORECASE)


class FoundCell(NamedTuple):
    """A cell that a question asks for."""

    text: str
    is_named: bool
    """Whether all that the question says stands in the row, its header or what leads it in."""


def find_cell(header: str, row: str, question: str, leads: str = "") -> FoundCell | None:
    """Return the cell of a row that a question asks for, if one column can be told."""
    names, cells = read_row(header, row)
    if len(cells) < 2:  # noqa: PLR2004 - a key and a value
        return None
    asked = find_stems(question)
    # The cell that the question names, if it names one, is the row's key.
    shares = [len((stems := find_stems(cell)) & asked) / max(1, len(stems)) for cell in cells]
    key = shares.index(max(shares)) if any(shares) else None
    own = find_stems(cells[key]) if key is not None else set[str]()
    # A first name is no column, whatever it begins as.
    called = find_stems(" ".join(names))
    own |= {stem for cell, share in zip(cells, shares, strict=True) if share == 1 for stem in find_stems(cell) - called}
    able = [at for at in range(len(names)) if at != key and cells[at]]
    columns = (
        choose_columns(question, names, able, beside=own, by_kind=False)
        or _find_counted(question, cells, able)
        or choose_columns(question, names, able, beside=own)
    )
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


def find_only_number(question: str) -> str:
    """Return the digits of the only number of a question; empty where it has none, several, or a part of a number."""
    said = re.findall(r"\d[\d.,:/-]*", question)
    number = said[0].rstrip(".,:/-") if len(said) == 1 else ""
    return number if number.isdecimal() else ""


def find_numbered(question: str, names: Sequence[str]) -> int | None:
    """Return the place of the column that a question names right beside its only number.

    >>> find_numbered("Who has pitch 21?", ["Trader", "Pitch no."]), find_numbered("21号摊位是谁的？", ["摊位", "摊主"])
    (1, 0)
    """
    number = find_only_number(question)
    before, _, after = question.casefold().partition(number) if number else ("", "", "")
    before, after = _NUMBER.sub("", before).rstrip(), after.removeprefix("号")
    for at, name in enumerate(names):
        bare = _NUMBER.sub("", BRACKETS.sub("", name)).strip().casefold()
        is_after = not bare.isascii() and after.startswith(bare)
        if is_after or (bare and re.search(rf"(?<![a-z]){re.escape(bare)}$", before)):
            return at
    return None


def _find_counted(question: str, cells: Sequence[str], able: Collection[int]) -> list[int]:
    """Return the one able cell that counts what the question does: "30 days", "10册"."""
    measure = _MEASURE.search(question)
    counted = measure[1] if measure else find_counted(question)
    units = {at: match[1] for at in able if (match := _AMOUNT.match(cells[at]))}
    is_latin = counted.isascii()
    found = [at for at, one in units.items() if (counted in find_stems(one) if is_latin else one.startswith(counted))]
    return found if counted and len(found) == 1 else []


def choose_columns(
    question: str, names: Sequence[str], able: Collection[int], *, beside: Collection[str] = (), by_kind: bool = True
) -> list[int]:
    """Return the able column whose name has the question's words, save those beside; else those of the kind.

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
    if len(named) != 1:  # "Other" tells of two sums, and "before" may be all that a name says.
        light = find_stems(question).difference(beside)
        counts = {at: len(stems[at] & light) for at in named or able if named or stems[at] <= _DIRECTIONS | light}
        most = [at for at, count in counts.items() if count and count == max(counts.values())]
        named = most if len(most) == 1 else named
    if len(named) == 1:
        return named
    for found in find_columns(question, names) if by_kind else ():
        if fit := [at for at in named or able if at in found]:
            # Of prices and sums, the sums where these are asked for, else the others.
            wants_total = bool(_TOTAL.search(question))
            fit = [at for at in fit if bool(_TOTAL.search(names[at])) is wants_total] or fit
            return fit if not named or len(fit) == 1 else []
    return []


def _mend(asked: set[str], names: Iterable[set[str]]) -> set[str]:
    """Return the stems of a question, and those of names that a mistyped one stands for."""
    known = {stem for some in names for stem in some if len(stem) >= _LEAST_FUZZY}
    strange = [stem for stem in asked - known if len(stem) >= _LEAST_FUZZY and stem.isascii()]
    near = {found for stem in strange for found in get_close_matches(stem, known, n=1, cutoff=_ALIKE)}
    return asked | near


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
