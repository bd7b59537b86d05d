"""What the tools cost an agent: their list, and every result, stay small; the rest comes page by page."""

from __future__ import annotations

import asyncio
import json
from itertools import count
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from mcp_service import QUESTION, TEXT, call, client_of, refused

from bookwheel import TextDocument, read
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Plan
from bookwheel.preset import load_preset_plan
from bookwheel.serve.mcp.results import ROOM, list_entries, make_page, measure, parse_cursor, reading_state

MOST_CHARACTERS_OF_TOOLS = 12_000
PLAN = Plan(chunk_tokens=200, memory_tokens=400, answer_tokens=400)
LONG = "".join(
    f"The harbour master of Skarholm in the year {year} is Ada Quill, the {year}th of her name. "
    + "Gulls circle over the pier, and the keeper writes down the wind. " * 4
    for year in range(24)
)


def wordy_model() -> ScriptedModel:
    """Return a model whose memories and answers are long and change all the time."""
    numbers = count()

    def reply(_messages: object) -> str:
        number = next(numbers)
        lines = (f"- In the year {number + line} the harbour master was Ada Quill, {line}th." for line in range(20))
        return "\n".join(lines)

    return ScriptedModel(reply, plan=PLAN)


def size(result) -> int:
    (content,) = result.content
    assert json.loads(content.text) == result.structured_content
    return len(content.text)


def test_an_agent_can_afford_the_list_of_tools(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            tools = (await client.list_tools()).tools
            listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
            assert len(json.dumps(listed)) <= MOST_CHARACTERS_OF_TOOLS
            assert len(tools) == 23
            assert all(tool.description for tool in tools)
            prompts = (await client.list_prompts()).prompts
            assert len(prompts) == 3
            for prompt in prompts:
                arguments = dict.fromkeys([one.name for one in prompt.arguments], "x")
                (message,) = (await client.get_prompt(prompt.name, arguments)).messages
                assert len(message.content.text) < ROOM

    asyncio.run(main())


@pytest.mark.slow
def test_no_result_is_longer_than_its_room_unless_more_is_asked_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path, wordy_model(), plan=PLAN) as client:
            first = await client.call_tool("read", {"text": LONG, "question": QUESTION, "wait_seconds": 40})
            assert first.structured_content["status"] == "answered"
            id_, results = first.structured_content["reading"], [first]
            questions = [f"Who is the harbour master in the year {year}?" for year in range(8)]
            results.append(await client.call_tool("read_several", {"reading": id_, "questions": questions}))
            results.append(await client.call_tool("list_readings", {}))
            results.append(await client.call_tool("search", {"query": "harbour master", "limit": 50}))
            results += [
                await client.call_tool("timeline", {"reading": id_, "part": part})
                for part in ("changes", "origins", "claims", "evidence", "memory", "answer")
            ]
            assert not any(result.is_error for result in results)
            assert max(map(size, results)) <= ROOM
            more = await client.call_tool("timeline", {"reading": id_, "characters": 50_000})
            assert size(more) > ROOM
            pages, cursor = [], ""
            while True:
                page = await call(client, "timeline", reading=id_, cursor=cursor)
                pages += page["changes"]
                if "cursor" not in page:
                    break
                cursor = page["cursor"]
            known = more.structured_content["changes"]
            assert pages[: len(known)] == known
            assert len(pages) > len(known) or "cursor" not in more.structured_content

    asyncio.run(main())


@pytest.mark.slow
def test_readings_and_hits_are_turned_page_by_page(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            first = await call(client, "read", text=TEXT, question=QUESTION)
            begun = [first["reading"]]
            for _ in range(5):
                begun.append((await call(client, "ask_again", reading=begun[0], question=QUESTION))["reading"])
            for tool, name, more in (
                ("list_readings", "readings", {"limit": 2}),
                ("search", "hits", {"query": "gulls"}),
            ):
                found, cursor = [], ""
                while True:
                    page = await call(client, tool, cursor=cursor, characters=500, **more)
                    assert len(page[name]) >= 1
                    found += page[name]
                    cursor = page.get("cursor", "")
                    if not cursor:
                        break
                if name == "readings":
                    assert [one["reading"] for one in found] == begun[::-1]
            assert "cursor" in await refused(client, "list_readings", cursor="x")

    asyncio.run(main())


def test_a_preset_is_the_plan_and_a_budget_its_limits(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path, ScriptedModel(keyword_reader, window=10**6)) as client:
            arguments = {"text": TEXT, "question": QUESTION, "preset": "laptop", "budget": {"tokens": 10**6}}
            said = await call(client, "read", **arguments)
            whole = (await client.read_resource(f"reading://{said['reading']}")).contents[0].text
            plan, preset = json.loads(whole)["plan"], load_preset_plan("laptop")
            assert (plan["chunk_tokens"], plan["memory_tokens"]) == (preset.chunk_tokens, preset.memory_tokens)
            assert plan["budget"]["tokens"] == 10**6
            assert "no preset" in await refused(client, "read", **{**arguments, "preset": "nothing"})

    asyncio.run(main())


def test_a_state_keeps_its_verdict_and_says_what_it_left_out(tmp_path: Path) -> None:
    reading = read(TextDocument(LONG), QUESTION, model=wordy_model(), way="sequential", journal=tmp_path / "j")
    for room in (2000, 600, 300, 60):
        state = reading_state(reading, room=room)
        assert (state["reading"], state["status"]) == (reading.id, "answered")
        assert state["verdict"] == reading.verdict
    assert measure(reading_state(reading, room=600)) <= 600
    assert "part=" in reading_state(reading, room=600)["more"]
    whole = "".join(entry["text"] for entry in list_entries(reading, None, "memory"))
    assert whole == reading.memory.text


def test_a_page_has_one_entry_at_least_and_pages_lose_none() -> None:
    entries = [{"text": "x" * length} for length in (10, 3000, 10, 10, 900, 900, 900)]
    seen, cursor = [], ""
    while True:
        page = make_page("entries", entries, cursor)
        seen += page["entries"]
        if "cursor" not in page:
            break
        cursor = page["cursor"]
    assert seen == entries
    assert make_page("entries", [], "")["entries"] == []
    assert make_page("entries", entries, "99") == {"entries": []}
    assert parse_cursor("") == 0
