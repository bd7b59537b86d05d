"""The rows of a reading over HTTP, while it reads too, one edited by hand; and the same rows as a graph."""

import asyncio
import tempfile
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Annotated, Final, Literal
from zipfile import ZIP_DEFLATED, ZipFile

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from bookwheel.errors import InputError
from bookwheel.graph.api import load_facts
from bookwheel.graph.export import FactGraphJson, graph_to_json, write_graph
from bookwheel.graph.facts import REQUEST, FactGraph, build_graph
from bookwheel.record import ReadingJson, reading_to_json
from bookwheel.serve.engine.tables import ask_rows
from bookwheel.serve.http.answers import JsonResponse, write_to_bytes
from bookwheel.serve.http.operations import IDEMPOTENCY, Routes, operation
from bookwheel.serve.http.readings import start_questions
from bookwheel.serve.http.requests import Body, Question, SourceShape, parse_format, parse_number
from bookwheel.tables.build import edit_row, load_rows, load_shown
from bookwheel.tables.questions import TableAnswer
from bookwheel.tables.table import Table, TableJson
from bookwheel.tables.way import join_parts

_KINDS: Final = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "md": "text/markdown; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_GRAPH_KINDS: Final = {
    "graphml": "application/xml",
    "jsonld": "application/ld+json",
    "nq": "application/n-quads",
    "csv": "application/zip",
}
_Value = Annotated[str, Field(max_length=4000)] | None


class RowShape(Body):
    """A row to change or remove by hand."""

    row: Annotated[str, Field(min_length=1, max_length=64)]
    """Its id."""
    cells: dict[Annotated[str, Field(max_length=200)], _Value] = Field(default_factory=dict)
    """Values by the names of columns; the others stay."""
    removed: bool = False


class TableQuestionShape(Body):
    """A question over the rows."""

    question: Question
    """In words, such as "how many per month?"; the model writes the SQL, and SQLite counts."""
    model: str = ""


class GraphShape(SourceShape):
    """A document to make a graph of."""

    parallel: bool = False
    """Segments are read side by side: a name's other names are then known only within its segment."""


class RowRoutes(Routes):
    """The operations of tables and graphs."""

    @operation(
        "GET",
        "/readings/{id}/rows",
        "The rows of a table",
        TableJson,
        query={**dict.fromkeys(("key", "sql", "format"), str), "offset": int, "limit": int},
    )
    async def get_rows(self, request: Request) -> Response:
        """Return the rows that a reading has collected so far, or what SQL says of them."""
        id_, wanted = await self._find_id(request), request.query_params
        shown = await asyncio.to_thread(load_shown, self._service.journal, id_, _parse_key(request))
        if sql := wanted.get("sql"):
            names, rows = await asyncio.to_thread(shown.query, sql)
            return JsonResponse({"columns": names, "rows": rows})
        kind = parse_format(request, _KINDS)
        if kind != "json":
            table = shown.table or await self._load(request)
            content = await asyncio.to_thread(write_to_bytes, f"rows.{kind}", table.write)
            return Response(content, media_type=_KINDS[kind])
        start = parse_number(request, "offset", 0)
        limit = parse_number(request, "limit", shown.facts["count"])
        return JsonResponse(await asyncio.to_thread(shown.to_json, start, limit))

    @operation("POST", "/readings/{id}/rows", "Ask a table in words")
    async def ask(self, request: Request, body: TableQuestionShape) -> TableAnswer:
        """Return the figures that SQLite gives, its query, and the ids of the rows behind each figure."""
        id_ = await self._find_id(request)
        shown = await asyncio.to_thread(load_shown, self._service.journal, id_, _parse_key(request))
        return await ask_rows(self._service, request.state.key, shown, body.question, body.model)

    @operation("PATCH", "/readings/{id}/rows", "Change or remove a row by hand")
    async def change_row(self, request: Request, body: RowShape) -> TableJson:
        if body.removed == bool(body.cells):
            raise InputError('give "cells" with new values, or "removed": true')
        table = await self._load(request)
        values = None if body.removed else body.cells
        await asyncio.to_thread(edit_row, self._service.journal, table, body.row, values)
        return table.to_json()

    @operation(
        "POST", "/graphs", "Start a reading that makes a graph", ReadingJson, status=201, also=200, headers=IDEMPOTENCY
    )
    async def start_graph(self, request: Request, body: GraphShape) -> Response:
        way = join_parts("", is_parallel=body.parallel)
        started = await start_questions(self._service, request, body, [REQUEST.to_question()], way)
        running, reading = started[0]
        return JsonResponse(reading_to_json(reading), 201 if running is not None and not reading.steps else 200)

    @operation(
        "GET",
        "/readings/{id}/graph",
        "The graph of a reading",
        FactGraphJson,
        query={"around": str, "limit": int, "format": Literal["json", "graphml", "jsonld", "nq", "csv"]},
    )
    async def get_graph(self, request: Request) -> Response:
        """Return the facts that a reading has collected so far, or of many those nearest to some words."""
        table = await asyncio.to_thread(load_facts, self._service.journal, await self._find_reading(request))
        found, wanted = await asyncio.to_thread(build_graph, table), request.query_params
        kind = parse_format(request, _GRAPH_KINDS)
        if kind == "json":
            limit = parse_number(request, "limit", -1)
            work = partial(graph_to_json, around=wanted.get("around", ""), limit=None if limit < 0 else limit)
            return JsonResponse(await asyncio.to_thread(work, found, table))
        return Response(await asyncio.to_thread(_write_graph, found, kind), media_type=_GRAPH_KINDS[kind])

    async def _load(self, request: Request) -> Table:
        reading = await self._find_reading(request)
        return await asyncio.to_thread(load_rows, self._service.journal, reading, _parse_key(request))


def _parse_key(request: Request) -> list[str]:
    return [name for name in request.query_params.get("key", "").split(",") if name]


def _write_graph(graph: FactGraph, kind: str) -> bytes:
    """Return the file of a graph; nodes and edges for Neo4j are two in one archive."""
    with tempfile.TemporaryDirectory() as folder:
        files = write_graph(graph, Path(folder) / f"graph.{kind}")
        if len(files) == 1:
            return files[0].read_bytes()
        packed = BytesIO()
        with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, file.name)
        return packed.getvalue()
