"""Samples against readers: what each model and way made of each sample, of one run or of two set against each other."""

from collections.abc import Iterable, Mapping, Sequence

from typing_extensions import TypedDict  # pydantic cannot read that of typing before Python 3.12

from bookwheel.lab.evaluation.records import Record, SampleOutcome


class MatrixReaderJson(TypedDict):
    """A column: a model and a way, in one run."""

    run: str
    model: str
    way: str


class MatrixCellJson(TypedDict):
    """What one reader made of one sample."""

    score: float
    """The mean of its repeats."""
    repeats: int
    outcome: SampleOutcome
    answer: str
    reading: str
    memory: str
    """What became of the evidence in the memory."""
    memory_step: int | None


class MatrixRowJson(TypedDict):
    """A sample and what each reader made of it."""

    task: str
    length: int
    sample: str
    question: str
    golds: list[str]
    cells: list[MatrixCellJson | None]
    """In the order of the readers; null where one did not read it."""


class MatrixJson(TypedDict):
    """Samples against readers."""

    readers: list[MatrixReaderJson]
    total: int
    start: int
    rows: list[MatrixRowJson]


def build_matrix(
    runs: Sequence[tuple[str, Sequence[Record]]], *, start: int, limit: int, filters: Mapping[str, str]
) -> MatrixJson:
    """Return the rows from `start` on; with two runs, only samples that both have.

    The filter `mixed` leaves out rows whose cells have one score; `search` and `memory` are those of the samples.
    """
    readers: dict[tuple[str, str, str], int] = {}
    rows: dict[str, dict[int, list[Record]]] = {}
    for run, records in runs:
        for record in records:
            column = readers.setdefault((run, record.model, record.way), len(readers))
            rows.setdefault(record.pair_key[0], {}).setdefault(column, []).append(record)
    names = list(readers)
    wanted = [cells for cells in rows.values() if _is_wanted(cells, names, len(runs), filters)]
    return {
        "readers": [{"run": run, "model": model, "way": way} for run, model, way in names],
        "total": len(wanted),
        "start": start,
        "rows": [_row_to_json(cells, len(names)) for cells in wanted[start : start + limit]],
    }


def matches_text(record: Record, search: str) -> bool:
    """Return True if a sample's question, answer, golds or id has the text, in any case."""
    # Without a search, joining the texts of some ten thousand samples is most of a list's time.
    if not search:
        return True
    text = "\n".join((record.question, record.answer, *record.golds, record.sample, record.error))
    return search.casefold() in text.casefold()


def _is_wanted(
    cells: Mapping[int, Sequence[Record]], names: Sequence[tuple[str, str, str]], runs: int, filters: Mapping[str, str]
) -> bool:
    if runs > 1 and len({names[column][0] for column in cells}) < runs:
        return False
    if filters.get("mixed", "0") not in {"", "0"} and len({_mean(records) for records in cells.values()}) < 2:  # noqa: PLR2004
        return False
    flat = [record for records in cells.values() for record in records]
    if (cause := filters.get("memory")) and all(record.memory != cause for record in flat):
        return False
    return not filters.get("search") or any(matches_text(record, filters["search"]) for record in flat)


def _row_to_json(cells: Mapping[int, Sequence[Record]], columns: int) -> MatrixRowJson:
    one = next(iter(cells.values()))[0]
    return {
        "task": one.task,
        "length": one.length,
        "sample": one.sample,
        "question": one.question,
        "golds": list(one.golds),
        "cells": [_cell_to_json(cells[column]) if column in cells else None for column in range(columns)],
    }


def _cell_to_json(records: Sequence[Record]) -> MatrixCellJson:
    """Repeats of a sample are one cell with their mean; it leads to the first of them."""
    first = records[0]
    return {
        "score": _mean(records),
        "repeats": len(records),
        "outcome": first.outcome,
        "answer": first.answer,
        "reading": first.reading,
        "memory": first.memory,
        "memory_step": first.memory_step,
    }


def _mean(records: Iterable[Record]) -> float:
    scores = [record.score for record in records]
    return round(sum(scores) / len(scores), 4)
