"""The rows of a reading over HTTP: `GET /readings/{id}/rows`, while it reads too, and `PATCH` to edit one."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field
from starlette.responses import Response

from bookwheel.errors import InputError
from bookwheel.serve.http.answers import JsonResponse
from bookwheel.serve.http.operations import operation
from bookwheel.serve.http.requests import Body, parse_body, parse_number
from bookwheel.tables.build import edit_row, load_rows
from bookwheel.tables.table import Table, TableJson

if TYPE_CHECKING:
    from starlette.requests import Request

    from bookwheel.serve.engine.service import Service

_KINDS: Final = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "md": "text/markdown; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_Value = Annotated[str, Field(max_length=4000)] | None


class RowShape(Body):
    """A row to change or remove by hand."""

    row: Annotated[str, Field(min_length=1, max_length=64)]
    """Its id."""
    cells: dict[Annotated[str, Field(max_length=200)], _Value] = Field(default_factory=dict)
    """Values by the names of columns; the others stay."""
    removed: bool = False


class RowRoutes:
    """The operations of tables."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @operation(
        "GET",
        "/readings/{id}/rows",
        "The rows of a table",
        TableJson,
        query={**dict.fromkeys(("key", "sql", "format"), str), "offset": int, "limit": int},
    )
    async def get_rows(self, request: Request) -> Response:
        """Return the rows that a reading has collected so far, or what SQL says of them."""
        table, wanted = await self._load(request), request.query_params
        if sql := wanted.get("sql"):
            names, rows = await asyncio.to_thread(table.query, sql)
            return JsonResponse({"columns": names, "rows": rows})
        kind = wanted.get("format", "json")
        if kind != "json":
            if kind not in _KINDS:
                raise InputError(f"format is json, {', '.join(_KINDS)}, not {kind!r}")
            return Response(await asyncio.to_thread(_write, table, kind), media_type=_KINDS[kind])
        payload = table.to_json()
        start = parse_number(request, "offset", 0)
        limit = parse_number(request, "limit", len(table.rows))
        payload["rows"] = payload["rows"][start : start + limit]
        return JsonResponse(payload)

    @operation("PATCH", "/readings/{id}/rows", "Change or remove a row by hand", TableJson, body=RowShape)
    async def change_row(self, request: Request) -> Response:
        body = await parse_body(RowShape, request)
        if body.removed == bool(body.cells):
            raise InputError('give "cells" with new values, or "removed": true')
        table = await self._load(request)
        values = None if body.removed else body.cells
        await asyncio.to_thread(edit_row, self._service.journal, table, body.row, values)
        return JsonResponse(table.to_json())

    async def _load(self, request: Request) -> Table:
        reading = await self._service.get_reading(request.path_params["id"], request.state.key)
        key = [name for name in request.query_params.get("key", "").split(",") if name]
        return await asyncio.to_thread(load_rows, self._service.journal, reading, key)


def _write(table: Table, kind: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"rows.{kind}"
        table.write(file)
        return file.read_bytes()
