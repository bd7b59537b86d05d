"""A report: rows of every document for each section of an outline, sentences from them, and what they rest on.

    for each document, for each section:  rows = collect(document, section)      a reading of its own, in the journal
    for each section:                     sentences = model(rows of all documents), each checked against its rows

Which readings it is made of stands in a file beside it. So a report that is made again reads only what is new, goes on
where it stopped, and uses rows as people have edited them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import InputError, NotKept
from bookwheel.flags import GAPS, Flag
from bookwheel.plan import Plan
from bookwheel.reports.checking import SourceLine, WrittenSentence, write_sentences
from bookwheel.reports.outline import Outline, check_writer, parse_outline
from bookwheel.session import Session, WayRequest
from bookwheel.tables.build import load_rows
from bookwheel.tables.disagreeing import mark_across
from bookwheel.tables.files import replace_whole
from bookwheel.tables.table import Table, name_others
from bookwheel.tables.way import NAME
from bookwheel.types import Document, Reading, Status, find_gaps

if TYPE_CHECKING:
    Spans = list[tuple[int, int]]


_NOT_READ = GAPS | {Flag.SKIPPED, Flag.UNREAD}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentCoverage:
    """Three numbers of characters that add up to the document's length, and the spans that nobody read."""

    document: str
    name: str
    length: int
    used: int
    """In the sections that kept sentences rest on."""
    unused: int
    """In sections that were read, and no kept sentence rests on."""
    unread: int
    unread_spans: tuple[tuple[int, int], ...] = ()


def measure_coverage(readings: Sequence[Reading], used_steps: Iterable[tuple[str, int]]) -> DocumentCoverage:
    """Return the coverage of one document by its readings; `used_steps` are readings' ids with steps."""
    wanted, info = set(used_steps), readings[0].document
    used: Spans = []
    read: Spans = []
    for reading in readings:
        gaps = {(step.chunk.start, step.chunk.end) for step in find_gaps(reading.steps, _NOT_READ)}
        for step in reading.steps:
            span = (step.chunk.start, step.chunk.end)
            if span not in gaps:
                read.append(span)
                if (reading.id, step.chunk.index) in wanted:
                    used.append(span)
    read, used = _join(read), _join(used)
    edges = [0, *(place for span in read for place in span), info.length]
    unread = tuple((start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end)
    count_used = sum(end - start for start, end in used)
    count_unread = sum(end - start for start, end in unread)
    return DocumentCoverage(
        document=info.id,
        name=info.name,
        length=info.length,
        used=count_used,
        unused=info.length - count_used - count_unread,
        unread=count_unread,
        unread_spans=unread,
    )


def _join(spans: Spans) -> Spans:
    joined: Spans = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


_VERSION: Final = 1


@dataclass(kw_only=True)
class ReportState:
    """What a report is made of, as it stands in the file beside it."""

    brief: str
    outline: Outline
    readings: dict[str, list[str]] = field(default_factory=dict)
    """By the id of a document, the reading of each section."""
    file: Path | None = None
    """Where it is kept; None for a report that is not written to a file."""

    def save(self) -> None:
        """Write the file: after a kill, too, it is whole and names every reading that has begun."""
        if self.file:
            values = {"version": _VERSION, "brief": self.brief, "outline": self.outline.to_markdown()}
            text = json.dumps({**values, "readings": self.readings}, ensure_ascii=False, indent=1)
            with replace_whole(self.file) as draft:
                draft.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> ReportState:
        """Return the state of a file; InputError where it is none."""
        try:
            given: Any = json.loads(path.read_text(encoding="utf-8"))
            readings = {str(id_): [str(one) for one in ids] for id_, ids in given["readings"].items()}
            outline = parse_outline(str(given["outline"]))
            return cls(brief=str(given["brief"]), outline=outline, readings=readings, file=path)
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{path} says not what the report is made of: {error}; make it anew") from error
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path} says not what the report is made of; make it anew") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """A written section."""

    title: str
    sentences: tuple[WrittenSentence, ...]
    """Those that are kept; one whose verdict is `partly` says its sources in other words and is marked."""
    left_out: tuple[WrittenSentence, ...]
    """Those that no row bears out."""
    untold: tuple[SourceLine, ...] = ()
    """The rows that no kept sentence names."""
    rows: int
    unproven: int
    """Rows that the documents do not bear out; no sentence is written from them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenReport:
    """Sections, their numbered sources, and how much of each document they rest on."""

    brief: str
    title: str
    sections: tuple[ReportSection, ...]
    sources: tuple[SourceLine, ...]
    """Those that kept sentences name, numbered from 1 in the order in which they are named."""
    coverage: tuple[DocumentCoverage, ...]
    notes: tuple[str, ...] = ()

    @property
    def marked(self) -> int:
        """How many sentences say their sources in other words."""
        return sum(one.is_marked for section in self.sections for one in section.sentences)

    @property
    def left_out(self) -> int:
        """How many sentences were left out, as no row bears them out."""
        return sum(len(section.left_out) for section in self.sections)


async def read_documents(session: Session, documents: Sequence[Document], state: ReportState, plan: Plan) -> list[str]:
    """Collect the rows of every section in every document that has none yet; return the documents' ids in order."""
    check_writer(state.brief, session.model, plan)
    state.save()
    ids: list[str] = []
    for document in documents:
        kept = await session.keep(document)
        ids.append(kept.info.id)
        readings = state.readings.setdefault(kept.info.id, [])
        for at, section in enumerate(state.outline.sections):
            known = _find_reading(session, readings[at]) if at < len(readings) else None
            if known and known.status is Status.ANSWERED:
                continue
            if known:
                await session.read_on(session.renew(known, {}))
                continue
            prepared = await session.prepare(kept, [section.sentence], plan, WayRequest(way=NAME))
            readings[at : at + 1] = [prepared.readings[0].id]
            state.save()
            await session.run(prepared)
    return ids


async def make_report(session: Session, documents: Sequence[Document], state: ReportState, plan: Plan) -> WrittenReport:
    """Return the report on the documents that it is made of, and on these too; what is not read yet is read."""
    known = [*state.readings]
    read = await read_documents(session, documents, state, plan)
    return await write_report(session, state, list(dict.fromkeys((*known, *read))), plan)


def _find_reading(session: Session, id_: str) -> Reading | None:
    try:
        return session.require_journal("the readings of a report").reading(id_)
    except NotKept:  # It was forgotten, so it is read again.
        return None


async def write_report(session: Session, state: ReportState, documents: Sequence[str], plan: Plan) -> WrittenReport:
    """Return the report on these documents, whose rows are there."""
    tables = {id_: await asyncio.to_thread(_load_tables, session, state.readings[id_]) for id_ in documents}
    lines: list[list[SourceLine]] = []
    sections: list[ReportSection] = []
    for at, section in enumerate(state.outline.sections):
        mine = [table for id_ in documents for table in tables[id_][at : at + 1]]
        # From 1 in each section: a writer that is shown [20] first calls it [1] all the same.
        lines.append(own := list_lines(mine))
        written = await write_sentences(section.title, state.brief, own, session.model, plan)
        told = {number for one in written if one.is_kept for number in one.numbers}
        sections.append(
            ReportSection(
                title=section.title,
                sentences=tuple(one for one in written if one.is_kept),
                left_out=tuple(one for one in written if not one.is_kept),
                untold=tuple(one for one in own if one.number not in told),
                rows=sum(len(table.rows) for table in mine),
                unproven=sum(table.unproven for table in mine),
            )
        )
    sections, used = _renumber(sections, lines)
    used = await asyncio.to_thread(_find_lines, session, used)
    coverage = tuple(
        measure_coverage([table.reading for table in tables[id_]], {(one.reading, one.step) for one in used})
        for id_ in documents
    )
    notes = tuple(dict.fromkeys(note for id_ in documents for table in tables[id_] for note in _list_notes(table)))
    return WrittenReport(
        brief=state.brief,
        title=state.outline.title,
        sections=tuple(sections),
        sources=tuple(used),
        coverage=coverage,
        notes=notes,
    )


def _load_tables(session: Session, ids: Sequence[str]) -> list[Table]:
    journal = session.require_journal("the readings of a report")
    return [load_rows(journal, journal.reading(id_)) for id_ in ids]


def _find_lines(session: Session, sources: Sequence[SourceLine]) -> list[SourceLine]:
    """Return the sources with the lines of their files that they stand on."""
    journal = session.require_journal("the readings of a report")
    opened = {one.reading: journal.document_of(one.reading) for one in sources}
    return [
        one
        if one.start is None or one.end is None
        else replace(one, lines=opened[one.reading].lines(one.start, one.end))
        for one in sources
    ]


def _list_notes(table: Table) -> list[str]:
    reading = table.reading
    stopped = [] if reading.status is Status.ANSWERED else [f"read in part: {reading.error or reading.status}"]
    gaps = [f"{len(reading.gaps)} sections were not taken in"] if reading.gaps else []
    return [f"{reading.document.name}: {note}" for note in (*reading.document.notes, *stopped, *gaps)]


def list_lines(tables: Sequence[Table]) -> list[SourceLine]:
    """Return the rows that documents bear out, or pictures show, as numbered sources; tables have the same columns."""
    found = [(table, row) for table in tables for row in table.rows if row.is_proven or row.is_by_hand or row.is_seen]
    for table, row in found:
        row.places = [replace(one, source=one.source or table.reading.document.name) for one in row.places]
    if len(tables) > 1:
        mark_across([row for _, row in found], tables[0].columns)
    numbers = {(table.reading.id, row.id): number for number, (table, row) in enumerate(found, start=1)}
    anywhere = {id_: number for (_, id_), number in numbers.items()}

    def find_number(table: Table, id_: str) -> int | None:
        return numbers.get((table.reading.id, id_), anywhere.get(id_))

    # A group is one tuple, however many rows are in it.
    groups = {(table.reading.id, id(group)): (table, group) for table, row in found for group in row.groups}
    numbered = {
        at: [number for one in group if (number := find_number(table, one))] for at, (table, group) in groups.items()
    }
    return [
        SourceLine(
            number=numbers[table.reading.id, row.id],
            said="; ".join(
                f"{column.name}: {cell}" for column, cell in zip(table.columns, row.cells, strict=True) if cell
            ),
            quote=row.places[0].quote,
            document=table.reading.document.id,
            source=row.places[0].source,
            page=row.places[0].page,
            start=row.places[0].start,
            end=row.places[0].end,
            step=row.places[0].step,
            reading=table.reading.id,
            is_by_hand=row.is_by_hand,
            is_seen=row.is_seen and not row.is_by_hand,
            others=name_others(
                (numbered[table.reading.id, id(group)] for group in row.groups), numbers[table.reading.id, row.id]
            ),
            later=find_number(table, row.later) if row.later else None,
            corrects=row.corrects,
        )
        for table, row in found
    ]


def _renumber(
    sections: Sequence[ReportSection], lines: Sequence[Sequence[SourceLine]]
) -> tuple[list[ReportSection], list[SourceLine]]:
    """Return the sections and their sources, numbered in the order in which sentences name them."""
    order: dict[tuple[int, int], int] = {}
    for at, section in enumerate(sections):
        for sentence in section.sentences:
            for number in sentence.numbers:
                order.setdefault((at, number), len(order) + 1)
    renumbered = [
        replace(
            section,
            sentences=tuple(
                replace(one, numbers=tuple(order[at, number] for number in one.numbers)) for one in section.sentences
            ),
        )
        for at, section in enumerate(sections)
    ]
    used = [
        replace(
            one,
            number=new,
            others=tuple(order[at, other] for other in one.others if (at, other) in order),
            later=order.get((at, one.later or 0)),
        )
        for (at, number), new in order.items()
        for one in [lines[at][number - 1]]
    ]
    return renumbered, used
