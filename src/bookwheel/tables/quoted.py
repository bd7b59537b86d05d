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
(lab/2026-11-28-collect-again.md); but whom it names when it is asked who tells a row (`quoted_cells.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Final, Self

from bookwheel.picture import LABEL, MARK
from bookwheel.reading.ways.spec import ReadingContext
from bookwheel.tables.columns import Column, Kind, TableRequest
from bookwheel.tables.framed_rows import FramedTable, fill_in_order, fill_table
from bookwheel.tables.headers import has_named, match_words
from bookwheel.tables.plain_rows import PlainRow, find_lists
from bookwheel.tables.quoted_cells import CellReader, fill_cells, find_people, find_value
from bookwheel.tables.rows import SectionRows, WrittenRow
from bookwheel.text.cells import split_cells
from bookwheel.text.ranking import QuestionWords, find_stems, weigh_rarity
from bookwheel.text.sentences import split_sentences
from bookwheel.text.structure import Shape, split_parts
from bookwheel.types import Chunk, Conversation, Document, Memory, Reply, Step
from bookwheel.verdict.parsing import blank_struck

_PIECE: Final = 1 << 18
"""Characters whose structure is looked at together."""
_LABEL: Final = re.compile(
    r"\s*(?:(?:[-*+•·–]|\(?\d{1,3}[.)、])\s+)?(?:[^\W\d]\w*(?: \w+){0,2}: |[\u4e00-\u9fff]{2,8}[:：])(?=\S)"
)
"""What leads in the sentences behind it, where it has a word of what is asked: "Actions: Ada orders it. Bo pays." """
_SEMICOLON: Final = re.compile(r"[;；]\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A part, and what leads it in."""

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


def list_units(document: Document, words: QuestionWords | None = None) -> Iterator[Unit]:
    """Yield the parts of a document; a label that has a word of what is asked leads in the sentences behind it."""
    for start, text in list_pieces(document):
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
                if label:  # Between semicolons, each part of a sentence.
                    cuts = ([a, *(cut.end() for cut in _SEMICOLON.finditer(text, a, b - 1)), b] for a, b in spans)
                    spans = [piece for some in cuts for piece in pairwise(some)]
            for a, b in spans:
                body = text[a:b].strip()
                # A line with a colon at its end leads in others and says nothing by itself.
                if any(map(str.isalnum, body)) and not body.endswith((":", "：")):
                    yield Unit(
                        start=start + a,
                        end=start + b,
                        line=text[a:b],
                        heading=above[0],
                        leads=leads,
                        header=header,
                        header_start=start + (part.lead[0] if part.lead else part.start),
                    )


def list_pieces(document: Document) -> Iterator[tuple[int, str]]:
    """Yield the document in pieces that end with a line, each with its place, without marks and what is struck out."""
    start, held = 0, ""
    for part in document.parts():
        held += part.text
        while len(held) > _PIECE:
            cut = held.rfind("\n", _PIECE // 2, _PIECE) + 1 or _PIECE
            yield start, _blank_marks(held[:cut])
            start, held = start + cut, held[cut:]
    if held:
        yield start, _blank_marks(held)


def _blank_marks(piece: str) -> str:
    """Return a text as long without what is struck out, and the marks of pictures, whose page is no value."""
    return MARK.sub(lambda found: "\n" * len(found[0]) if LABEL.search(found[1]) else found[0], blank_struck(piece))


_NEAR: Final = 0.6
"""Of the best part's score, what a row has at least."""
_VALUES: Final = 0.5
"""What the values count beside the words."""
_BESIDE: Final = 0.5
"""Of the sentence's words, what a part beside a list has itself."""
_LEAST_COLUMNS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedRows:
    """The rows of one document for one request, in the order of their places."""

    request: TableRequest
    starts: tuple[int, ...]
    rows: tuple[WrittenRow, ...]
    asked: tuple[Unit, ...] = ()
    """Sentences of which it is asked who they are about: their rows take the place of those that are no lines."""
    lines: frozenset[int] = frozenset()
    """Where the rows of tables and lists begin."""

    @classmethod
    def find(cls, document: Document, request: TableRequest) -> Self:
        """Return the rows; that reads the document several times, and keeps what was chosen."""
        words = QuestionWords(request.sentence)
        # Without columns, a row is a part as it stands.
        labels = words if len(request.columns) >= _LEAST_COLUMNS else None
        units = _choose_units(document, request, words, labels)
        units = [unit for unit in units if not _names_columns(unit.text, request)]
        # A list in bars may be told as a table too.
        both = [*_find_lines(document, request, words), *_find_tables(document, request, words)]
        lines = [
            line for line in {line.start: line for line in both}.values() if not _names_columns(line.text, request)
        ]
        taken = sorted((line.start, line.end) for line in lines)
        starts = frozenset(line.start for line in lines)
        if lines:  # Beside a list, only what says itself, or under a heading of its own, that it is asked for.
            headings = {unit.heading for unit in list_units(document, labels) if unit.start in starts}
            asked = QuestionWords(request.thing)
            units = [
                unit
                for unit in units
                if not _is_in(unit, taken)
                and (
                    words.share(unit.text) >= _BESIDE
                    or (unit.heading not in headings and asked.share(unit.leads) >= _BESIDE)
                )
            ]
        found = [(unit.start, fill_cells(unit, request.columns), unit.text) for unit in units]
        found = sorted([*found, *((line.start, line.cells, line.text) for line in lines)], key=lambda row: row[0])
        return cls(
            request=request,
            starts=tuple(start for start, _, _ in found),
            rows=tuple(WrittenRow(cells=cells, quote=text) for _, cells, text in found),
            asked=_list_asked(document, labels, taken) if find_people(request.columns) is not None else (),
            lines=starts,
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
                cells = await reader.fill(unit.text, fill_cells(unit, self.request.columns), people)
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
    def open(cls, units: Iterator[Unit], request: TableRequest, words: QuestionWords) -> Self:
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

    def score(self, unit: Unit) -> float:
        """Return how much of what is asked a part says, and how many of the values it has."""
        said = find_stems(f"{unit.leads} {unit.text}")
        share = sum(weight for word, weight in self.asked.items() if word in said) / (sum(self.asked.values()) or 1)
        values = sum(find_value(unit.text, one) is not None for one in self.columns)
        # One number by itself is anybody's.
        return share + (_VALUES * values / len(self.columns) if values > 1 or (values and share) else 0.0)


def _choose_units(
    document: Document, request: TableRequest, words: QuestionWords, labels: QuestionWords | None
) -> list[Unit]:
    """Return the parts that have most of what is asked, and those near the best of them."""
    scorer = _UnitScorer.open(list_units(document, labels), request, words)
    best, chosen = 0.0, list[tuple[float, Unit]]()
    for unit in list_units(document, labels):
        score = scorer.score(unit)
        if score >= _NEAR * best and score > 0:
            chosen.append((score, unit))
            best = max(best, score)
    return [unit for score, unit in chosen if score >= _NEAR * best]


def _list_asked(document: Document, labels: QuestionWords | None, taken: Sequence[tuple[int, int]]) -> tuple[Unit, ...]:
    """Return the sentences that can be asked whom they are about; none where most of a document is tables."""
    if 2 * sum(end - start for start, end in taken) > sum(unit.end - unit.start for unit in list_units(document)):
        return ()
    units = list_units(document, labels)
    return tuple(unit for unit in units if not unit.header and not unit.is_framed and not _is_in(unit, taken))


def _find_tables(document: Document, request: TableRequest, words: QuestionWords) -> list[PlainRow]:
    """Return the rows of the tables that suit the columns best."""
    if len(request.columns) < _LEAST_COLUMNS:
        return []
    headers = {unit.header for unit in list_units(document) if unit.header}
    named = max((match_words(request.columns, split_cells(header)) for header in sorted(headers)), key=len, default={})
    found = [
        fill_table(header, leads, [(unit.start, unit.line) for unit in units], request, words, named=named)
        for (header, leads), units in groupby(list_units(document), key=lambda unit: (unit.header, unit.leads))
        if header
    ]
    tables = [table for table in found if table]
    if not any(table.is_named for table in tables):
        runs = groupby(list_units(document), key=lambda unit: (unit.is_framed, unit.heading))
        ordered = [_fill_run([*units], request.columns, words) for (is_framed, _), units in runs if is_framed]
        tables = [table for table in ordered if table] or tables
    best = max((table.score for table in tables), default=0.0)
    return [row for table in tables if table.score >= _NEAR * best for row in table.rows]


def _fill_run(units: Sequence[Unit], columns: Sequence[Column], words: QuestionWords) -> FramedTable | None:
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
        for start, piece in list_pieces(document)
        for one in find_lists(piece, request)
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


def _names_columns(text: str, request: TableRequest) -> bool:
    """Tell if a line is a header that nothing marks: it says the names of the columns and no more."""
    said = find_stems(text)
    return bool(said) and said <= find_stems(" ".join(column.name for column in request.columns))


def _is_alike(one: Sequence[str], other: Sequence[str], is_text: Sequence[bool]) -> bool:
    """Tell if the cells of two lists are of the same kinds; within a line, words may stand in the place of a code."""
    return len(one) == len(other) == len(is_text) and all(
        one[at] == other[at] or (at > 0 and free and {one[at], other[at]} <= {"text", "code"})
        for at, free in enumerate(is_text)
    )


def _is_in(unit: Unit, spans: Sequence[tuple[int, int]]) -> bool:
    """Tell if one of these spans, which are sorted, has something of a unit."""
    at = bisect_left(spans, (unit.end, 0))
    return at > 0 and unit.start < spans[at - 1][1]
