"""The cells of a row that only quotes: what stands under a column's name, else what suits its kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bookwheel.models.base import Copies, Model, copy_spans
from bookwheel.reading.prompts import Prompts
from bookwheel.reading.ways.answer_checks import is_label
from bookwheel.reading.ways.passages import GAP
from bookwheel.tables.columns import NUMBER, Column, Kind
from bookwheel.tables.headers import CURRENCY, OF_COUNTS, OF_PEOPLE, map_columns
from bookwheel.text.cells import read_row
from bookwheel.text.numbers import place_dates, place_days
from bookwheel.types import Usage

if TYPE_CHECKING:
    from bookwheel.tables.quoted import Unit


_SURE: Final = -2.0
"""The least log-probability of a cell: a sentence without one is no row, so it takes more than an answer does."""
TURN: Final = "short"
"""The prompt that a short answer is asked for by."""


def find_people(columns: Sequence[Column]) -> int | None:
    """Return the place of the first column of words, where it asks who and another column of words stands beside it."""
    texts = [at for at, column in enumerate(columns) if column.kind is Kind.TEXT]
    asks_who = len(texts) > 1 and OF_PEOPLE.search(columns[texts[0]].name) and columns[texts[0]].name != "name"
    return texts[0] if asks_who else None


@dataclass(kw_only=True)
class CellReader:
    """Asks for cells of sentences, and adds up what that costs."""

    model: Model
    prompts: Prompts
    columns: Sequence[Column]
    usage: Usage = field(default_factory=Usage)

    async def can_ask(self, text: str) -> bool:
        """Return whether the model tells which words of a text are an answer, and the prompts have words for that."""
        if TURN not in self.prompts.turns:
            return False
        return bool((await self._copy(text, f"{self.columns[0].name}?")).spans)

    async def fill(self, text: str, cells: Sequence[str | None], people: int) -> tuple[str | None, ...] | None:
        """Return the cells with who and until when; None where nobody is surely named."""
        who = await self._ask(text, self.columns[people])
        if who is None:
            return None
        filled = [*cells]
        filled[people] = who
        for at, column in enumerate(self.columns):
            if column.kind is Kind.DATE and not filled[at]:
                filled[at] = await self._ask(text, column)
        return tuple(filled)

    async def _ask(self, text: str, column: Column) -> str | None:
        question = f"{column.name[:1].upper()}{column.name[1:]}?"
        copies = await self._copy(text, question)
        best = next((one for one in copies.spans if not is_label(question, text, one.start, one.end)), None)
        # What is most of a text is no answer about it: "A7."
        if best is None or best.logprob < _SURE or best.end - best.start > len(text) / 2:
            return None
        return text[best.start : best.end]

    async def _copy(self, text: str, question: str) -> Copies:
        copies = await copy_spans(self.model, self.prompts.turn(TURN, question=question, section=text), text, GAP)
        self.usage += copies.usage
        return copies


_LONGEST_CELL: Final = 300
_MARK: Final = re.compile(r"^\s*(?:[-*+•·–>]+|\(?\d{1,3}[.)、])\s+")
_NUMBERED: Final = re.compile(r"^\s*\d{1,3}(?:\.\d{1,3})+\s+")
"""The number of a clause."""
_DOER: Final = re.compile(
    r"(?:[A-Z][\w'’-]+(?: (?:[a-z]{2,3} )?[A-Z][\w'’-]+)+"
    r"|(?!(?:Due|According|Owing|Thanks|Prior)\b)[A-Z][\w'’-]+(?= to\b|[:,]))[:,]?\s+(?=\S)"
    r"|[\u4e00-\u9fff][\u4e00-\u9fff·]{1,11}[:：,，]\s*(?=\S)"
)
"""Who is named first, and then what he does: "Ada Quill to order it", "Ada: order it", "陈晓岚：签订合同"."""
_MONEY_WORDS: Final = r"元|英镑|美元|欧元|(?:pounds?|euros?|dollars?|yuan|crowns?)\b"
_QUANTITY: Final = re.compile(
    rf"{CURRENCY}?\s?{NUMBER.pattern}(?:\s?(?:(?:million|billion)\b|[百千万亿]))?(?:\s?(?:{CURRENCY}|%|{_MONEY_WORDS}))?"
)
_MONEY: Final = re.compile(rf"{CURRENCY}|{_MONEY_WORDS}")


def fill_cells(unit: Unit, columns: Sequence[Column]) -> tuple[str | None, ...]:
    """Return the cells under the columns' names, else what suits a column's kind; one text column has the words."""
    names, under = read_row(unit.header, unit.line)
    places = map_columns(columns, names, [under]) if under else {}
    named = {columns[at].name: under[place] for at, place in places.items()}
    text = _NUMBERED.sub("", _MARK.sub("", unit.text))
    cells = [named.get(column.name) or find_value(text, column) for column in columns]
    texts = [at for at, column in enumerate(columns) if column.kind is Kind.TEXT]
    if texts and not any(cells[at] for at in texts):
        # A whole sentence is what somebody does, and not who does it.
        at = next((at for at in texts if not OF_PEOPLE.search(columns[at].name)), texts[0])
        doer = next((at for at in texts if OF_PEOPLE.search(columns[at].name)), at)
        if doer != at and (found := _DOER.match(text)):
            cells[doer], text = found[0].strip(" :：,，"), text[found.end() :]
        cells[at] = " ".join(text.split())[:_LONGEST_CELL]
    return tuple(cells)


def find_value(text: str, column: Column) -> str | None:
    dates = [(start, end) for start, end, _ in place_dates(text)]
    dates += [(start, end) for start, end, _ in place_days(text) if not any(a <= start < b for a, b in dates)]
    if column.kind is Kind.DATE:
        return next((text[start:end] for start, end in sorted(dates)), None)
    if column.kind is Kind.NUMBER:
        numbers = [
            one for one in _QUANTITY.finditer(text) if not any(a < one.end() and one.start() < b for a, b in dates)
        ]
        # What is paid stands beside its currency, and other numbers before it.
        money = [one for one in numbers if _MONEY.search(one[0])] if not OF_COUNTS.search(column.name) else []
        return next((one[0].strip() for one in money or numbers), None)
    return None
