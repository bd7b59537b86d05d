"""A table over MCP: collected by `read`, shown page by page by `rows`, asked by SQL."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from mcp_service import call, client_of, refused
from table_model import PLAN, SENTENCE, make_model, write_document

from bookwheel.serve.mcp.results import measure


def test_a_table_comes_in_short_pages_and_answers_sql(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path, make_model(), plan=PLAN) as client:
            said = await call(
                client, "read", text=write_document(40), question=SENTENCE, way="collect", wait_seconds=40
            )
            assert said["status"] == "answered"
            assert "rows" in said["next"]
            names, cursor = [], ""
            while True:
                page = await call(client, "rows", reading=said["reading"], cursor=cursor)
                assert measure(page) <= 2100
                names += [row["who"] for row in page["rows"]]
                assert all(row["proven"] for row in page["rows"])
                cursor = page.get("cursor", "")
                if not cursor:
                    break
            assert names == [f"Tenant {n}" for n in range(40)]
            counted = await call(client, "rows", reading=said["reading"], sql="select count(*) as n from rows")
            assert counted["rows"] == [{"n": 40}]
            await refused(client, "rows", reading=said["reading"], sql="drop table rows")

    asyncio.run(main())
