"""Rows without a writer: for a model that only quotes, the parts of a document that the sentence asks for.

    | Plan | Minute |            a row of a table, with the cells of the columns that are meant (`framed_rows.py`)
    | Yearly | 4p |
    Bring:                       an item of a list, with what leads it in
    - gloves
    Flat white   3.20            a line of a list without a frame (`plain_rows.py`)
    It rained on 3 May 2027.     a sentence, with the date or number that a column of that kind asks for

A part counts by the share of the sentence's words that stand in it and in its heading and leads, weighed by how rare
they are in the document; where several columns are asked for, also by the values that it has for those of a kind.
Those near the best one are rows. Whether a part answers was judged no better by the built-in model
(lab/2026-11-28-collect-again.md); but whom it names when it is asked who tells a row (`asked_rows.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, Self

from bookwheel.picture import LABEL, MARK
from bookwheel.tables.asked_rows import CellReader, find_people
from bookwheel.tables.columns import NUMBER, Column, Kind
from bookwheel.tables.framed_rows import FramedTable, fill_in_order, fill_table
from bookwheel.tables.headers import CURRENCY, OF_COUNTS, OF_PEOPLE, has_named, map_columns
from bookwheel.tables.plain_rows import PlainRow, find_lists
from bookwheel.tables.rows import SectionRows, WrittenRow
from bookwheel.text import lexicon
from bookwheel.text.numbers import place_dates
from bookwheel.text.ranking import QuestionWords, find_stems, weigh_rarity
from bookwheel.text.rows import read_row, split_cells
from bookwheel.text.sentences import split_sentences
from bookwheel.text.structure import Shape, split_parts
from bookwheel.types import Conversation, Reply, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bookwheel.reading.ways.spec import ReadingContext
    from bookwheel.tables.columns import TableRequest
    from bookwheel.types import Chunk, Document, Memory

_NEAR: Final = 0.6
"""Of the best part's score, what a row has at least."""
_VALUES: Final = 0.5
"""What the values count beside the words."""
_BESIDE: Final = 0.5
"""Of the sentence's words, what a part beside a list has itself."""
_LEAST_COLUMNS: Final = 2
_PIECE: Final = 1 << 18
"""Characters whose structure is looked at together."""
_LONGEST_CELL: Final = 300
_LABEL: Final = re.compile(
    r"\s*(?:(?:[-*+•·–]|\(?\d{1,3}[.)、])\s+)?(?:[^\W\d]\w*(?: \w+){0,2}: |[\u4e00-\u9fff]{2,8}[:：])(?=\S)"
)
"""What leads in the sentences behind it, where it has a word of what is asked: "Actions: Ada orders it. Bo pays." """
_SEMICOLON: Final = re.compile(r"[;；]\s*")
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
_MONTH: Final = rf"(?:{'|'.join(lexicon.MONTH_NAMES)})"
_DAY: Final = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b|\b{_MONTH} \d{{1,2}}\b|\d{{1,2}}月\d{{1,2}}[日号]", re.IGNORECASE
)
"""A day whose year the sentence leaves open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    start: int
    end: int
    line: str
    """With the blanks around it, for a row has its place under the header by them."""
    heading: str
    leads: str
    """Its heading, and what else leads it in."""
    header: str
    """The header of a row; empty elsewhere."""
    header_start: int

    @property
    def is_framed(self) -> bool:
        """A row between bars."""
        return self.text.startswith("|") and self.text.endswith("|")

    @property
    def text(self) -> str:
        return self.line.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedRows:
    """The rows of one document for one request, in the order of their places."""

    request: TableRequest
    starts: tuple[int, ...]
    rows: tuple[WrittenRow, ...]
    asked: tuple[_Unit, ...] = ()
    """Sentences of which it is asked who they are about: their rows take the place of those that are no lines."""
    lines: frozenset[int] = frozenset()
    """Where the rows of tables and lists begin."""

    @classmethod
    def find(cls, document: Document, request: TableRequest) -> Self:
        """Return the rows; that reads the document twice."""
        words = QuestionWords(request.sentence)
        # Without columns, a row is a part as it stands.
        labels = words if len(request.columns) >= _LEAST_COLUMNS else None
        scorer = _UnitScorer.open(_list_units(document, labels), request, words)
        best, chosen = 0.0, list[tuple[float, _Unit]]()
        for unit in _list_units(document, labels):
            score = scorer.score(unit)
            if score >= _NEAR * best and score > 0:
                chosen.append((score, unit))
                best = max(best, score)
        units = [unit for score, unit in chosen if score >= _NEAR * best]
        lines = [*_find_tables(document, request, words), *_find_lines(document, request, words)]
        if lines:  # Beside a list, only what says itself, or under a heading of its own, that it is asked for.
            starts, taken = {line.start for line in lines}, sorted((line.start, line.end) for line in lines)
            headings = {unit.heading for unit in _list_units(document, labels) if unit.start in starts}
            asked = QuestionWords(re.split("[:：]", request.sentence)[0])
            units = [
                unit
                for unit in units
                if not _is_in(unit, taken)
                and (
                    words.share(unit.text) >= _BESIDE
                    or (unit.heading not in headings and asked.share(unit.leads) >= _BESIDE)
                )
            ]
        has_people = find_people(request.columns) is not None
        # What is mostly a table is no text to be asked.
        is_table = 2 * sum(line.end - line.start for line in lines) > sum(
            unit.end - unit.start for unit in (_list_units(document) if has_people else ())
        )
        taken = sorted((line.start, line.end) for line in lines)
        asked_units = [
            unit
            for unit in (_list_units(document, labels) if has_people and not is_table else ())
            if not unit.header and not unit.is_framed and not _is_in(unit, taken)
        ]
        found = [(unit.start, _fill_cells(unit, request.columns), unit.text) for unit in units]
        found = sorted([*found, *((line.start, line.cells, line.text) for line in lines)], key=lambda row: row[0])
        rows = tuple(WrittenRow(cells=cells, quote=text) for _, cells, text in found)
        return cls(
            request=request,
            starts=tuple(start for start, _, _ in found),
            rows=rows,
            asked=tuple(asked_units),
            lines=frozenset(line.start for line in lines),
        )

    async def write(self, context: ReadingContext, before: Memory, chunk: Chunk) -> Step:
        """Return the step of a chunk, whose reply holds the rows that begin in it."""
        first, last = bisect_left(self.starts, chunk.start), bisect_left(self.starts, chunk.end)
        placed = [*zip(self.starts[first:last], self.rows[first:last], strict=True)]
        reader = CellReader(model=context.model, prompts=context.prompts, columns=self.request.columns)
        people = find_people(self.request.columns)
        units = [unit for unit in self.asked if chunk.start <= unit.start < chunk.end]
        if units and people is not None and await reader.can_ask(units[0].text):
            placed = [one for one in placed if one[0] in self.lines]
            for unit in units:
                cells = await reader.fill(unit.text, _fill_cells(unit, self.request.columns), people)
                if cells:
                    placed.append((unit.start, WrittenRow(cells=cells, quote=unit.text)))
            placed.sort(key=lambda one: one[0])
        rows = tuple(row for _, row in placed)
        reply = Reply(text=SectionRows(rows=rows).to_json(self.request.columns), usage=reader.usage)
        return Step(chunk=chunk, before=before, after=before, conversation=Conversation(messages=(), reply=reply))


@dataclass(frozen=True, slots=True, kw_only=True)
class _UnitScorer:
    """Scores the parts of a document for a request."""

    asked: dict[str, float]
    """The weights of the request's words."""
    columns: tuple[Column, ...]
    """Those whose values can be told by their form; none where the request has no two columns."""

    @classmethod
    def open(cls, units: Iterator[_Unit], request: TableRequest, words: QuestionWords) -> Self:
        """Return the scorer of a document, whose parts are read once for it."""
        holders, total = Counter[str](), 0
        for unit in units:
            holders.update(words.stems & find_stems(f"{unit.leads} {unit.text}"))
            total += 1
        has_columns = len(request.columns) >= _LEAST_COLUMNS
        return cls(
            asked={word: weigh_rarity(holders[word], total) for word in sorted(words.stems)},
            columns=tuple(one for one in request.columns if one.kind is not Kind.TEXT) if has_columns else (),
        )

    def score(self, unit: _Unit) -> float:
        """Return how much of what is asked a part says, and how many of the values it has."""
        said = find_stems(f"{unit.leads} {unit.text}")
        share = sum(weight for word, weight in self.asked.items() if word in said) / (sum(self.asked.values()) or 1)
        values = sum(_find_value(unit.text, one) is not None for one in self.columns)
        # One number by itself is anybody's.
        return share + (_VALUES * values / len(self.columns) if values > 1 or (values and share) else 0.0)


def _find_tables(document: Document, request: TableRequest, words: QuestionWords) -> list[PlainRow]:
    """Return the rows of the tables that suit the columns best."""
    if len(request.columns) < _LEAST_COLUMNS:
        return []
    found = [
        fill_table(header, leads, [(unit.start, unit.line) for unit in units], request.columns, words)
        for (header, leads), units in groupby(_list_units(document), key=lambda unit: (unit.header, unit.leads))
        if header
    ]
    tables = [table for table in found if table]
    if not any(table.is_named for table in tables):
        runs = groupby(_list_units(document), key=lambda unit: (unit.is_framed, unit.heading))
        ordered = [_fill_run([*units], request.columns, words) for (is_framed, _), units in runs if is_framed]
        tables = [table for table in ordered if table] or tables
    best = max((table.score for table in tables), default=0.0)
    return [row for table in tables if table.score >= _NEAR * best for row in table.rows]


def _fill_run(units: Sequence[_Unit], columns: Sequence[Column], words: QuestionWords) -> FramedTable | None:
    """Return the rows of a table by their order; what was taken for its header may be one.

    None where it is one: it names a column, or no column is of a kind that would tell it from a row.
    """
    headers = {unit.header for unit in units if unit.header}
    is_text = all(column.kind is Kind.TEXT for column in columns)
    if headers and (is_text or any(has_named(columns, split_cells(header)) for header in headers)):
        return None
    lines = {unit.header_start: unit.header for unit in units if unit.header}
    lines |= {unit.start: unit.line for unit in units}
    return fill_in_order(sorted(lines.items()), units[0].leads, columns, words)


def _find_lines(document: Document, request: TableRequest, words: QuestionWords) -> list[PlainRow]:
    """Return the lines of lists without a frame that suit the columns, of those lists that have most of the words."""
    if len(request.columns) < _LEAST_COLUMNS:
        return []
    found = [
        (
            words.share(one.words),
            one.layout,
            [replace(row, start=start + row.start, end=start + row.end) for row in one.rows],
        )
        for start, piece in _list_pieces(document)
        for one in find_lists(_drop_marks(piece), request.columns, request.sentence.partition(":")[0])
    ]
    best, layout, _ = max(found, key=lambda one: one[0], default=(0.0, (), []))
    # A list goes on in blocks of the same layout, whatever stands above each.
    text = [column.kind is Kind.TEXT for column in request.columns]
    is_long = len(layout) == len(request.columns) > _LEAST_COLUMNS
    return [
        row
        for share, other, rows in found
        if share >= _NEAR * best or (is_long and _is_alike(other, layout, text))
        for row in rows
    ]


def _is_alike(one: Sequence[str], other: Sequence[str], is_text: Sequence[bool]) -> bool:
    """Tell if the cells of two lists are of the same kinds; within a line, words may stand in the place of a code."""
    return len(one) == len(other) == len(is_text) and all(
        one[at] == other[at] or (at > 0 and free and {one[at], other[at]} <= {"text", "code"})
        for at, free in enumerate(is_text)
    )


def _is_in(unit: _Unit, spans: Sequence[tuple[int, int]]) -> bool:
    """Tell if one of these spans, which are sorted, has something of a unit."""
    at = bisect_left(spans, (unit.end, 0))
    return at > 0 and unit.start < spans[at - 1][1]


def _drop_marks(piece: str) -> str:
    """Return a text without the marks of its pictures: their page is no value of the words around them."""
    return MARK.sub(lambda found: "\n" * len(found[0]) if LABEL.search(found[1]) else found[0], piece)


def _list_units(document: Document, words: QuestionWords | None = None) -> Iterator[_Unit]:
    """Yield the parts of a document; a label that has a word of what is asked leads in the sentences behind it."""
    for start, piece in _list_pieces(document):
        text = _drop_marks(piece)
        for part in split_parts(text):
            above = [text[span[0] : span[1]] if span else "" for span in (part.heading, part.lead)]
            leads = " ".join(" ".join(above).split())
            header = text[part.lead[0] : part.lead[1]] if part.lead and part.shape is Shape.ROW else ""
            spans = [(part.start, part.end)]
            label = _LABEL.match(text, part.start, part.end)
            label = label if label and words and words.find(label[0]) else None
            if part.shape in (Shape.PROSE, Shape.ITEM, Shape.REFERENCE) or label:
                first = label.end() if label else part.start
                leads = f"{leads} {label[0].strip()}".strip() if label else leads
                spans = [(first + a, first + b) for a, b in split_sentences(text[first : part.end])]
                spans = [piece for span in spans for piece in _split_list(text, *span)] if label else spans
            for a, b in spans:
                body = text[a:b].strip()
                # A line with a colon at its end leads in others and says nothing by itself.
                if any(map(str.isalnum, body)) and not body.endswith((":", "：")):
                    yield _Unit(
                        start=start + a,
                        end=start + b,
                        line=text[a:b],
                        heading=above[0],
                        leads=leads,
                        header=header,
                        header_start=start + (part.lead[0] if part.lead else part.start),
                    )


def _split_list(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the parts of a sentence between semicolons."""
    cuts = [start, *(found.end() for found in _SEMICOLON.finditer(text, start, end - 1)), end]
    return list(pairwise(cuts))


def _list_pieces(document: Document) -> Iterator[tuple[int, str]]:
    """Yield the document in pieces that end with a line, each with its place."""
    start, held = 0, ""
    for part in document.parts():
        held += part.text
        while len(held) > _PIECE:
            cut = held.rfind("\n", _PIECE // 2, _PIECE) + 1 or _PIECE
            yield start, held[:cut]
            start, held = start + cut, held[cut:]
    if held:
        yield start, held


def _fill_cells(unit: _Unit, columns: Sequence[Column]) -> tuple[str | None, ...]:
    """Return the cells under the columns' names, else what suits a column's kind; one text column has the words."""
    named = _match_header(unit, columns)
    text = _NUMBERED.sub("", _MARK.sub("", unit.text))
    cells = [named.get(column.name) or _find_value(text, column) for column in columns]
    texts = [at for at, column in enumerate(columns) if column.kind is Kind.TEXT]
    if texts and not any(cells[at] for at in texts):
        # A whole sentence is what somebody does, and not who does it.
        at = next((at for at in texts if not OF_PEOPLE.search(columns[at].name)), texts[0])
        doer = next((at for at in texts if OF_PEOPLE.search(columns[at].name)), at)
        if doer != at and (found := _DOER.match(text)):
            cells[doer], text = found[0].strip(" :：,，"), text[found.end() :]
        cells[at] = " ".join(text.split())[:_LONGEST_CELL]
    return tuple(cells)


def _find_value(text: str, column: Column) -> str | None:
    dates = [(start, end) for start, end, _ in place_dates(text)]
    dates += [found.span() for found in _DAY.finditer(text) if not any(a <= found.start() < b for a, b in dates)]
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


def _match_header(unit: _Unit, columns: Sequence[Column]) -> dict[str, str]:
    """Return the cells of a row that its header names for the columns."""
    names, cells = read_row(unit.header, unit.line)
    places = map_columns(columns, names, [cells]) if cells else {}
    return {columns[at].name: cells[place] for at, place in places.items()}
