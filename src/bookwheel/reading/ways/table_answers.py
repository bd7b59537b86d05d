"""A short answer out of a table: the cell that a question asks for, the row that has the most, those beyond a bound.

A small model that copies mistakes one column for another: of 15 cells of real documents it copied 6, and the columns'
names told 12 (lab/2026-11-28-tables.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

from bookwheel.reading.ways.document_index import index_passages
from bookwheel.reading.ways.passages import GAP, Window
from bookwheel.text.cells import read_row, split_cells
from bookwheel.text.comparatives import list_superlatives
from bookwheel.text.comparisons import asks_comparison, compare_rows, find_outermost
from bookwheel.text.figures import measure
from bookwheel.text.kinds import AnswerKind, find_kind
from bookwheel.text.lines import Span
from bookwheel.text.questions import COUNTS, Style, can_answer, find_counted, find_style
from bookwheel.text.ranking import find_stems
from bookwheel.text.rows import find_cell, find_numbered, find_only_number, list_asked
from bookwheel.text.selections import asks_bound, narrow_rows, select_rows
from bookwheel.text.structure import Shape
from bookwheel.types import Document

_HOW_MANY: Final = re.compile(r"\bhow (?:many|much)\b|多少|几[个位张台]", re.IGNORECASE)
# With a bound in it, such a question wants something else than the rows beyond the bound.
_WANTS_OTHER: Final = re.compile(
    r"\b(?:what|when|where|why|how (?!many))|多少[钱天]|什么|何时|哪[里儿天年]|怎么", re.IGNORECASE
)
_AMOUNTS: Final = find_stems(
    "how much many cost price charge fee total pay sum amount 多少钱 价格 价钱 费用 合计 总共 多少"
)
"""Stems that only say that an amount is asked for."""
_AMOUNT_KINDS: Final = frozenset(
    {AnswerKind.MONEY, AnswerKind.AMOUNT, AnswerKind.COUNT, AnswerKind.MEASURE, AnswerKind.PERCENT}
)
_DENIES: Final = re.compile(r"\bnot?\b|n['’]t\b|\bnever\b|[没不未]", re.IGNORECASE)
_MOST_ROWS: Final = 5000
"""A longer table is asked by SQL (`collect`): here each question would read all of it."""
_MOST_NAMES: Final = 50
_CODES: Final = re.compile(r"\b[A-Za-z]{1,5}[-–/]?\d{2,}\b|\b\d{5,}\b")
_LEAST_CELLS: Final = 2
_ALIKE: Final = 0.75


class ToldAnswer(NamedTuple):
    """An answer that the structure of a table or of a program gives."""

    text: str
    passage: str
    """The rows that it rests on, a line each, as they are shown, or a definition."""
    is_sure: bool
    is_looked_up: bool
    """Whether the whole table or program tells it; else the passage alone."""


class _Wanted(NamedTuple):
    """What a question wants of a table; with nothing of it, one cell of the row that was found."""

    is_list: bool
    """The rows that a bound or a word tells, or their number."""
    is_bound: bool
    is_compared: bool
    """The row or column with the most, the least, the first."""
    is_amount: bool

    @property
    def is_whole(self) -> bool:
        return self.is_list or self.is_compared

    @classmethod
    def find(cls, question: str) -> _Wanted | None:
        """Return what a question wants; None for a question that no cell answers."""
        style, is_bound = find_style(question), asks_bound(question)
        if style not in (Style.SPAN, Style.LIST):
            return None
        counts = (is_bound or find_counted(question)) and not _WANTS_OTHER.search(question)
        is_list, is_span = style is Style.LIST or bool(counts), style is Style.SPAN
        return cls(
            is_list=is_list,
            is_bound=is_bound,
            is_compared=is_span and asks_comparison(question),
            is_amount=is_span and find_kind(question) in _AMOUNT_KINDS,
        )


def find_table_answer(question: str, passage: str, document: Document) -> ToldAnswer | None:
    """Return what a table says: that of which the passage is a row, or any where rows are compared.

    A list has the rows that the question tells by a bound or a word; else one row is meant.
    """
    wanted = _Wanted.find(question)
    if find_style(question) is Style.POLAR:
        row = find_row(passage, document)
        return _find_lack(question, row, passage) if row else None
    if wanted is None or not (GAP in passage or any(wanted)):
        return None
    every, own = index_passages(document).list_windows(Shape.ROW), find_row(passage, document)
    if wanted.is_whole:
        told = _ask_tables(question, wanted, every, own, document.name)
        # "How many beds did East have?" may count rows, or be about one; "Which supplier sent R-25180?" is about one.
        is_all = wanted.is_bound or find_style(question) is Style.LIST
        if told or is_all or (wanted.is_compared and not (own and _names_row(question, own, every))):
            return told
    named = _find_named_value(question, every) if wanted.is_amount else None
    return named or (_find_in_row(question, own, passage) if own else None)


def _ask_tables(
    question: str, wanted: _Wanted, rows: Sequence[Window], own: Window | None, title: str
) -> ToldAnswer | None:
    """Return what the first table says that can; the table of the passage's row is asked first."""
    with_header: dict[Span, list[Window]] = {}
    for row in rows:
        if row.lead_spans:
            with_header.setdefault(row.lead_spans[-1], []).append(row)
    tables = [*with_header.values()]
    tables.sort(key=lambda table: own is None or table[0].lead_spans[-1] != own.lead_spans[-1])
    # A word of the question may stand in any table.
    asked = tables if wanted.is_bound or not wanted.is_list else tables[: own is not None]
    able = (table for table in asked if len(table) <= _MOST_ROWS)
    ask = _list_rows if wanted.is_list else _compare
    return next(filter(None, (ask(question, table, title) for table in able)), None)


def find_row(passage: str, document: Document) -> Window | None:
    """Return the row of a table with a header that a passage shows."""
    row = index_passages(document).find_shown(passage, Shape.ROW)
    return row if row and row.lead_spans else None


def _names_row(question: str, row: Window, rows: Sequence[Window]) -> bool:
    """Return whether a question has a code of a row, or names it alone of its table and counts what no column names."""
    if any(code in _read_line(row) for code in _CODES.findall(question)):
        return True
    header = _read_header(row)
    columns = find_stems(header)
    asked = {stem for stem in list_asked(question) - columns if not stem.isdigit()}
    beside = [one for one in rows if one.lead_spans and one.lead_spans[-1] == row.lead_spans[-1]][:_MOST_ROWS]
    named = [one for one in beside if asked & find_stems("".join(read_row(header, _read_line(one))[1][:1]))]
    return named == [row] and find_counted(question) not in columns


def _find_in_row(question: str, row: Window, passage: str) -> ToldAnswer | None:
    header, line = _read_header(row), _read_line(row)
    if time := find_outermost(question, read_row(header, line)[1]):
        return ToldAnswer(time, passage, is_sure=False, is_looked_up=False)
    cell, is_figure = find_cell(header, line, question, " ".join(row.leads)), _HOW_MANY.search(question)
    if cell is None or not can_answer(question, cell.text) or (is_figure and measure(cell.text) is None):
        return None
    return ToldAnswer(cell.text, passage, is_sure=cell.is_named, is_looked_up=False)


def _find_lack(question: str, row: Window, passage: str) -> ToldAnswer | None:
    """Return a no where the cells that a question asks about are empty: "Has Ada paid?", of a row without a payment."""
    names, cells = read_row(_read_header(row), _read_line(row))
    own = {stem for cell in cells if (stems := find_stems(cell)) <= list_asked(question) for stem in stems}
    asked = list_asked(question) - own
    shared = [len(asked & find_stems(name)) for name in names]
    meant = [at for at, count in enumerate(shared) if count and count == max(shared)]
    if not own or not meant or any(cells[at] for at in meant) or _DENIES.search(question):
        return None
    no = "No." if question.isascii() else "否。"
    return ToldAnswer(no, passage, is_sure=False, is_looked_up=False)


def _find_named_value(question: str, rows: Sequence[Window]) -> ToldAnswer | None:
    """Return the figure of the one line without a header that says all that is asked: "Flat white   3.80"."""
    asked = list_asked(question) - _AMOUNTS
    found: list[tuple[int, str, Window]] = []
    for row in rows[:_MOST_ROWS]:
        cells = split_cells(_read_line(row))
        has_header = bool(row.lead_spans) and len(split_cells(_read_header(row))) > 1
        if len(cells) != 2 or has_header or measure(cells[1]) is None:  # noqa: PLR2004 - a name and its value
            continue
        stems = find_stems(cells[0])
        if stems and stems <= find_stems(question) and asked <= stems | find_stems(" ".join(row.leads)):
            found.append((len(stems), cells[1], row))
    most = max((count for count, _, _ in found), default=0)
    best = [one for one in found if one[0] == most]
    return _tell(best[0][1], [best[0][2].shown], is_sure=True) if len(best) == 1 else None


def _compare(question: str, rows: Sequence[Window], title: str) -> ToldAnswer | None:
    shown, header = {_read_line(row): row.shown for row in rows}, _read_header(rows[0])
    found = compare_rows(question, header, list(shown), narrow_rows(question, header, list(shown)))
    if found is None or not can_answer(question, found.text):
        return None
    # A table of another matter may have a column of that kind: it has no word of what is compared, nor has its file.
    asked = list_asked(question) - list_superlatives(question)
    if asked and not asked & find_stems(title) and not any(asked & find_stems(row) for row in shown.values()):
        return None
    return _tell(found.text, [shown[row] for row in found.rows], is_sure=found.is_certain)


def _list_rows(question: str, rows: Sequence[Window], title: str) -> ToldAnswer | None:
    """Return the names of the rows that are asked for, or their number where that is."""
    shown = {_read_line(row): row.shown for row in rows}
    found = select_rows(question, _read_header(rows[0]), list(shown))
    is_count = bool(COUNTS.search(question))
    if found is None or (not is_count and len(found.names) > _MOST_NAMES):
        return None
    if is_count and not found.is_measured and not _counts_rows(question, rows[0], found.rows, title):
        return None
    text = str(len(found.names)) if is_count else "\n".join(found.names)
    return _tell(text, [shown[row] for row in found.rows], is_sure=found.is_measured and not is_count)


def _counts_rows(question: str, first: Window, lines: Sequence[str], title: str) -> bool:
    """Return whether a question counts what the table has a row for each of, and each row has all else that it says."""
    above = find_stems(f"{title} {_read_header(first)} {' '.join(first.leads)}")
    asked = list_asked(question) - above
    return find_counted(question) in above and bool(asked) and all(asked <= find_stems(line) for line in lines)


def find_numbered_row(question: str, document: Document) -> str:
    """Return the one row of all tables that a question names by a column and its number, as "pitch 21"; else nothing.

    Where the row has not all that the question says, something else may have that number.
    """
    number = find_only_number(question)
    if not number or find_style(question) is not Style.SPAN:
        return ""
    rows = index_passages(document).list_windows(Shape.ROW)
    able = (row for row in rows if row.lead_spans and number in _read_line(row))
    found = [row for row in able if _has_number(question, row)]
    if len(found) != 1 or not list_asked(question) - _AMOUNTS <= find_stems(shown := found[0].shown):
        return ""
    # A name has no form of its own. Any other kind of answer must be a cell's.
    is_name = find_kind(question) in (None, AnswerKind.PERSON)
    return shown if is_name or _find_in_row(question, found[0], shown) else ""


def _has_number(question: str, row: Window) -> bool | None:
    """Tell if a row has the number that a question gives beside the name of its column; None where it gives none."""
    names, cells = read_row(_read_header(row), _read_line(row))
    at = find_numbered(question, names)
    cell = cells[at].strip("`*# ") if cells and at is not None else ""
    return int(cell) == int(find_only_number(question)) if cell.isdecimal() else None


def names_other_row(question: str, passage: str, document: Document) -> bool:
    """Return whether a passage is a row of a table, and the question names what neither the row nor its leads have.

    That is a code ("invoice R-99999"), or every word beside those that name a column or ask for an amount.
    """
    row = find_row(passage, document)
    if row is None or len(split_cells(_read_header(row))) < _LEAST_CELLS:
        return False
    said = f"{' '.join(row.leads)} {_read_header(row)} {_read_line(row)}"
    if _has_number(question, row) is False:
        return True
    if any(code.casefold() not in said.casefold() for code in _CODES.findall(question)):
        return True
    asked, stems = list_asked(question) - _AMOUNTS, find_stems(said)
    # Words may be mistyped, or written as one.
    together = "".join(said.casefold().split())
    is_named = any(one in together or get_close_matches(one, stems, n=1, cutoff=_ALIKE) for one in asked)
    return question.isascii() and find_style(question) is Style.SPAN and bool(asked) and not is_named


def _tell(text: str, shown: Sequence[str], *, is_sure: bool) -> ToldAnswer:
    return ToldAnswer(text, "\n".join(shown), is_sure=is_sure, is_looked_up=True)


def _read_line(row: Window) -> str:
    return row.source[row.start : row.end]


def _read_header(row: Window) -> str:
    return row.source[slice(*row.lead_spans[-1])]
