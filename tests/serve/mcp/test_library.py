"""What an agent learns before it spends anything: descriptions, search, and another question by the same plan."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from mcp_service import QUESTION, TEXT, call, client_of, refused, service_of

from bookwheel.claims import Verdict
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan

PLAN = Plan(chunk_tokens=100, memory_tokens=40, answer_tokens=40)


def test_descriptions_say_what_a_tool_costs_and_what_verdicts_mean(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            read = tools["read"].description
            assert all(f"`{verdict}`" in read for verdict in Verdict)
            assert "Worth it" in read
            assert "Not worth it" in read
            for name, words in (("search", "Costs nothing"), ("read", "one model call"), ("ask_again", "cost")):
                assert words in tools[name].description
            plan = tools["read"].input_schema["properties"]["plan"]
            assert "answer_tokens" in str(plan)
            assert "tokens" in tools["read"].input_schema["properties"]["budget"]["description"]

    asyncio.run(main())


@pytest.mark.slow
def test_search_finds_passages_and_readings_and_a_found_document_is_read(tmp_path: Path) -> None:
    async def main() -> None:
        model = ScriptedModel(keyword_reader, plan=PLAN)
        async with client_of(tmp_path, model) as client:
            first = await call(client, "read", text=TEXT, name="harbour\u200b\x1b", question=QUESTION)
            calls = model.calls
            hits = (await call(client, "search", query="master skarholm"))["hits"]
            assert model.calls == calls
            assert hits[0]["reading"] == first["reading"]
            assert hits[0]["question"] == QUESTION
            passage = hits[-1]
            assert "reading" not in passage
            assert len(passage["document"]) == 12
            assert "Ada Quill" in passage["snippet"]
            assert TEXT[passage["start"] : passage["end"]] == passage["snippet"]
            assert "\x1b" not in passage["name"]
            again = await call(client, "read", document=passage["document"], question="What circles over the pier?")
            assert "Gulls" in again["answer"]
            assert (await call(client, "search", query="zeppelin"))["hits"] == []
            assert "give one of" in await refused(client, "read", document=passage["document"], text="x", question="Q?")
            assert "no document" in await refused(client, "read", document=passage["document"][:4], question="Q?")
            assert "no document" in await refused(client, "read", document="0" * 64, question="Q?")

    asyncio.run(main())


@pytest.mark.slow
def test_another_question_keeps_the_plan_and_the_way_of_the_first(tmp_path: Path) -> None:
    async def main() -> None:
        async with service_of(tmp_path) as service:
            from mcp import Client

            from bookwheel.serve.engine.access import AccessPolicy
            from bookwheel.serve.mcp.server import build_server

            async with Client(build_server(service, AccessPolicy())) as client:
                plan = {"chunk_tokens": 80, "answer_tokens": 33, "budget": {"tokens": 90_000}}
                first = await call(client, "read", text=TEXT, question=QUESTION, plan=plan, way="refine")
                again = await call(
                    client, "ask_again", reading=first["reading"], question=QUESTION, plan={"answer_tokens": 22}
                )
                kept = service.journal.reading(again["reading"])
                assert (kept.plan.chunk_tokens, kept.plan.answer_tokens, kept.way) == (80, 22, "refine")
                # Limits were for the first reading.
                assert kept.plan.budget.tokens is None

    asyncio.run(main())


def test_another_question_may_begin_with_the_memory(tmp_path: Path) -> None:
    async def main() -> None:
        model = ScriptedModel(keyword_reader, plan=PLAN)
        async with client_of(tmp_path, model) as client:
            first = await call(client, "read", text=TEXT, question=QUESTION)
            calls = model.calls
            again = await call(
                client,
                "ask_again",
                reading=first["reading"],
                question=QUESTION.replace("Who", "So who"),
            )
            assert "Ada Quill" in again["answer"]
            assert model.calls == calls + 1

    asyncio.run(main())
