"""Graphs and reports over MCP, page by page."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from graph_model import FACTS, make_graph_model, write_facts
from mcp_service import call, client_of, refused
from report_model import PLAN, make_report_model
from table_model import SENTENCE, write_document

from bookwheel.serve.mcp.results import measure


async def read_all(client, tool: str, name: str, **arguments) -> list[dict]:
    found, cursor = [], ""
    while True:
        page = await call(client, tool, cursor=cursor, **arguments)
        assert measure(page) <= 2100
        found += page[name]
        cursor = page.get("cursor", "")
        if not cursor:
            return found


def test_a_report_is_proposed_made_and_read_in_pages(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path, make_report_model(invents=4), plan=PLAN) as client:
            await call(client, "read", text=write_document(40), question=SENTENCE, way="collect", wait_seconds=40)
            (hit, *_) = (await call(client, "search", query="Tenant crowns"))["hits"]
            order = {"brief": "what is paid", "documents": [hit["document"]]}
            outline = (await call(client, "report", **order))["outline"]
            order |= {"outline": outline, "wait_seconds": 40}
            parts = await read_all(client, "report", "parts", **order)
            sentences = [part for part in parts if "sentence" in part]
            numbers = {part["source"] for part in parts if "source" in part}
            # Of ten inventions eight name a row, which stands in its own words in their place.
            assert len(sentences) == len(numbers) == 38
            assert all(set(part["sources"]) <= numbers for part in sentences)
            assert sum("left_out" in part for part in parts) == 10
            assert any(part.get("unread") == 0 for part in parts)
            await refused(client, "report", brief="x", documents=["ffffffffffff"], outline=outline)

    asyncio.run(main())


def test_a_matrix_and_a_question_over_rows_come_with_what_they_rest_on(tmp_path: Path) -> None:
    model = make_report_model(sql="select count(*) as n from rows")

    async def main() -> None:
        async with client_of(tmp_path, model, plan=PLAN) as client:
            rows = await call(client, "read", text=write_document(4), question=SENTENCE, way="collect", wait_seconds=40)
            counted = await call(client, "rows", reading=rows["reading"], question="how many?")
            assert (counted["sql"], counted["figures"][0]["n"]) == ("select count(*) as n from rows", 4)
            assert len(counted["figures"][0]["rows_behind"]) == 4
            (hit, *_) = (await call(client, "search", query="Tenant crowns"))["hits"]
            order = {"brief": "payments", "documents": [hit["document"]], "questions": ["Who pays?"]}
            parts = await read_all(client, "report", "parts", wait_seconds=40, **order)
            assert [(part["row"], part["question"]) for part in parts if "row" in part] == [(1, "Who pays?")]

    asyncio.run(main())


def test_a_graph_comes_in_pages_nearest_facts_first(tmp_path: Path) -> None:
    async def main() -> None:
        model = make_graph_model()
        async with client_of(tmp_path, model, plan=model.plan) as client:
            said = await call(client, "read", text=write_facts(), question="Which brig?", way="graph", wait_seconds=40)
            facts = await read_all(client, "graph", "facts", reading=said["reading"])
            assert len(facts) == len(FACTS) - 1
            (near, *_) = (await call(client, "graph", reading=said["reading"], around="Which brig?"))["facts"]
            assert near["object"] == "the brig Mercy"
            assert near["quote"] in write_facts()

    asyncio.run(main())
