"""The table of literature: documents by questions, each cell with its verdict, and a synthesis of each column.

The sentences of a synthesis name the documents that they rest on by number, and are checked like those of a report.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.claims import BORNE_OUT, Verdict
from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for
from bookwheel.reports.checking import SourceLine, WrittenSentence, write_sentences
from bookwheel.reports.output import Block
from bookwheel.schema import SchemaOf, to_plain
from bookwheel.text.normalization import words
from bookwheel.types import Document, Reading, Status
from bookwheel.views.verdicts import VERDICT_WORDS

if TYPE_CHECKING:
    from bookwheel.session import Session, WayRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisSentenceJson(WrittenSentence):
    """A sentence with the numbers of the rows that it rests on, and the nearest passage of theirs."""


SentenceJson: TypeAlias = Annotated[dict[str, Any], SchemaOf(SynthesisSentenceJson)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Readings by document and question, and what the columns come to."""

    questions: tuple[str, ...]
    rows: tuple[tuple[Reading, ...], ...]
    """For each document, the reading of each question."""
    syntheses: tuple[tuple[WrittenSentence, ...], ...]
    """For each question, the sentences that were written, also those that are left out."""

    @property
    def unread(self) -> tuple[Reading, ...]:
        """The readings that did not come to their end, or have gaps."""
        return tuple(one for row in self.rows for one in row if one.status is not Status.ANSWERED or one.gaps)


async def read_matrix(
    session: Session,
    documents: Sequence[Document],
    questions: Sequence[str],
    plan: Plan,
    request: WayRequest,
    *,
    is_update: bool = False,
) -> Matrix:
    """Ask every document every question, and write what each column comes to; an update takes answers of before."""
    rows: list[tuple[Reading, ...]] = []
    for document in documents:
        kept = await session.keep(document)
        found = await _read_on(session, kept.info.id, questions, request.name) if is_update else {}
        if missing := [question for question in dict.fromkeys(questions) if question not in found]:
            prepared = await session.prepare(kept, missing, plan, request)
            found |= {one.question: one for one in await session.run(prepared)}
        rows.append(tuple(found[question] for question in questions))
    return await write_matrix(session, rows, questions, plan)


async def _read_on(session: Session, document: str, questions: Sequence[str], way: str) -> dict[str, Reading]:
    """Return the readings of a document that were begun for these questions, read to their ends."""
    journal = session.require_journal("the readings of a table")
    listed = await asyncio.to_thread(partial(journal.readings, document=document))
    # With their steps, for those tell of gaps.
    mine = [journal.reading(one.id) for one in listed if one.question in questions]
    return {
        question: one if one.status is Status.ANSWERED else (await session.read_on(session.renew(one, {})))[0]
        for question, one in match_readings(mine, session.model.name, way).items()
    }


def match_readings(listed: Sequence[Reading], model: str, way: str) -> dict[str, Reading]:
    """Return by its question the newest of these readings by a model and a way, of those with an answer if any has one.

    One without gaps comes first, as far as the steps are there to tell. Without a way, by any.
    """
    mine = [one for one in reversed(listed) if one.model == model and way in {"", one.way} and not one.parent]
    mine.sort(key=lambda one: 0 if one.status is not Status.ANSWERED else 1 if one.gaps else 2)
    return {one.question: one for one in mine}


async def write_matrix(
    session: Session, rows: Sequence[tuple[Reading, ...]], questions: Sequence[str], plan: Plan
) -> Matrix:
    """Return the matrix of readings, a row for each document, with what each column comes to."""
    syntheses = []
    for at, question in enumerate(questions):
        lines = [line for number, row in enumerate(rows, start=1) for line in _make_line(number, row[at])]
        if prompts_for(plan, question).quotes:
            syntheses.append(_join_same(lines))  # It cannot write one.
        else:
            written = await write_sentences(question, question, lines, session.model, plan) if lines else ()
            syntheses.append(written)
    return Matrix(questions=tuple(questions), rows=tuple(rows), syntheses=tuple(syntheses))


def _make_line(number: int, reading: Reading) -> Iterator[SourceLine]:
    """Yield the cell as a source; nothing where the document does not bear it out, and no picture shows it."""
    if reading.answer and reading.verdict in {*BORNE_OUT, Verdict.PARTLY, Verdict.SEEN}:
        quote = " … ".join(one.quote.strip() for one in reading.evidence) or reading.answer.text
        yield SourceLine(
            number=number,
            said=reading.answer.text,
            quote=quote,
            document=reading.document.id,
            source=reading.document.name,
            reading=reading.id,
            is_seen=reading.verdict is Verdict.SEEN,
        )


def _join_same(lines: Sequence[SourceLine]) -> tuple[WrittenSentence, ...]:
    """Return each answer once, with the documents that give it."""
    found: dict[tuple[str, ...], list[SourceLine]] = {}
    for line in lines:
        found.setdefault(tuple(words(line.said)), []).append(line)
    return tuple(
        WrittenSentence(
            text=same[0].said,
            numbers=tuple(line.number for line in same),
            verdict=Verdict.SUPPORTED,
            passage=same[0].quote,
        )
        for same in found.values()
    )


class AnswerCellJson(TypedDict):
    """An answer of one document to one question."""

    reading: str
    status: str
    answer: str | None
    verdict: str | None
    quotes: list[str]


class DocumentAnswersJson(TypedDict):
    """The answers of one document, in the order of the questions."""

    document: str
    name: str
    cells: list[AnswerCellJson]


class SynthesisJson(TypedDict):
    """What a column comes to; each sentence names rows by number, from 1 on."""

    question: str
    sentences: list[SentenceJson]
    left_out: list[SentenceJson]


class AnswerMatrixJson(TypedDict):
    """A table of documents by questions."""

    rows: list[DocumentAnswersJson]
    syntheses: list[SynthesisJson]


def matrix_to_json(matrix: Matrix) -> AnswerMatrixJson:
    """Return a matrix as the doors show it."""
    return {
        "rows": [
            {"document": row[0].document.id, "name": row[0].document.name, "cells": [_cell_to_json(one) for one in row]}
            for row in matrix.rows
        ],
        "syntheses": [
            {
                "question": question,
                "sentences": [to_plain(one) for one in sentences if one.is_kept],
                "left_out": [to_plain(one) for one in sentences if not one.is_kept],
            }
            for question, sentences in zip(matrix.questions, matrix.syntheses, strict=True)
        ],
    }


def _cell_to_json(reading: Reading) -> AnswerCellJson:
    return {
        "reading": reading.id,
        "status": str(reading.status),
        "answer": reading.answer.text if reading.answer else None,
        "verdict": str(reading.verdict) if reading.verdict else None,
        "quotes": [one.quote for one in reading.evidence],
    }


def list_matrix_blocks(matrix: Matrix, title: str) -> Iterator[Block]:
    """Yield a matrix's pieces: the table, then each column's synthesis."""
    yield Block(kind="title", text=title)
    named = [f"[{number}] {row[0].document.name}" for number, row in enumerate(matrix.rows, start=1)]
    rows = tuple((name, *map(_format_cell, row)) for name, row in zip(named, matrix.rows, strict=True))
    yield Block(kind="table", names=("document", *matrix.questions), rows=rows)
    for question, sentences in zip(matrix.questions, matrix.syntheses, strict=True):
        yield Block(kind="heading", text=question)
        kept = [one.format() for one in sentences if one.is_kept]
        nothing = "Nothing that was written of the answers stands." if sentences else "No document bears an answer out."
        yield Block(kind="text", text=" ".join(kept) or nothing)
        marked = [one for one in sentences if one.is_marked]
        yield from (Block(kind="item", text=f"in other words: {one.compare()}") for one in marked)
        yield from (Block(kind="item", text=f"left out: {one.compare()}") for one in sentences if not one.is_kept)


def _format_cell(reading: Reading) -> str:
    if not reading.answer:
        return f"({reading.status})"
    verdict = f" ({VERDICT_WORDS[reading.verdict]})" if reading.verdict else ""
    return f"{reading.answer.text}{verdict}"
