"""The rows of a reading over HTTP: `GET /readings/{id}/rows`, as JSON or CSV, while it reads too."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import Response

from bookwheel.errors import InputError
from bookwheel.serve.http.answers import JsonResponse
from bookwheel.serve.http.operations import operation
from bookwheel.tables.table import TableJson, build_table
from bookwheel.tables.way import NAME

if TYPE_CHECKING:
    from starlette.requests import Request

    from bookwheel.serve.engine.service import Service
    from bookwheel.tables.table import Table


class TableRoutes:
    """The operation that tables add to the server."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @operation(
        "GET",
        "/readings/{id}/rows",
        "The rows of a table",
        TableJson,
        query=dict.fromkeys(("key", "sql", "format"), str),
    )
    async def get_rows(self, request: Request) -> Response:
        """Return the rows that a reading has collected so far, or what SQL says of them."""
        reading = await self._service.get_reading(request.path_params["id"], request.state.key)
        if reading.way != NAME:
            raise InputError(f"reading {reading.id} has no table: it was read by the way {reading.way}")
        wanted = request.query_params
        key = [name for name in wanted.get("key", "").split(",") if name]

        def build() -> Table:
            return build_table(reading, self._service.journal.document_of(reading.id), key)

        table = await asyncio.to_thread(build)
        if sql := wanted.get("sql"):
            names, rows = await asyncio.to_thread(table.query, sql)
            return JsonResponse({"columns": names, "rows": rows})
        if wanted.get("format") == "csv":
            return Response(await asyncio.to_thread(_to_csv, table), media_type="text/csv; charset=utf-8")
        return JsonResponse(table.to_json())


def _to_csv(table: Table) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        table.write(file)
        return file.read_text(encoding="utf-8")
