"""Lasting memories as tools, and the reference server's verbs over one of them."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp_service import call, client_of, refused, service_of
from value_notes import PLAN, note_values

from bookwheel import LastingMemory
from bookwheel.models.scripted import ScriptedModel
from bookwheel.serve.mcp import memories, server
from bookwheel.serve.mcp.graph import build_graph_server
from bookwheel.serve.mcp.results import ROOM, measure

ADA = {"name": "Ada", "entityType": "person", "observations": ["lives in Este"]}
KNOWS = {"from": "Ada", "to": "Ada", "relationType": "knows"}


def reader(**settings) -> ScriptedModel:
    return ScriptedModel(note_values, plan=PLAN, **settings)


def test_the_verbs_from_beginning_to_end(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path, reader(), plan=PLAN) as client:
            assert (await call(client, "memory_new", memory="ada", about="Ada"))["limit"] == PLAN.memory_tokens
            added = await call(client, "memory_add", memory="ada", text="room = 12", source="m1", at="2026-05-01")
            assert added["changes"] == [{"new": "room = 12"}]
            again = await call(client, "memory_add", memory="ada", text="room = 12", source="m1")
            assert again["known"]
            await call(client, "memory_add", memory="ada", text="room = 31\npin = 9", source="m2", at="2026-05-02")
            late = await call(client, "memory_add", memory="ada", text="door = 1", source="m3", at="2026-04-02")
            assert late["late"]
            said = await call(client, "memory_ask", memory="ada", question="room?")
            assert (said["answer"], said["from"]) == ("room = 31", "memory")
            assert said["sign"] in {"green", "amber"}
            assert said["superseded"][0]["source"] == "m1"
            then = await call(client, "memory_ask", memory="ada", question="room?", as_of="2026-05-01T12:00Z")
            assert "12" in then["answer"]
            await call(client, "memory_edit", memory="ada", old="pin = 9", new="pin = 8")
            shown = await call(client, "memory_show", memory="ada")
            assert shown["pieces"] == [{"text": "door = 1\npin = 8\nroom = 31"}]
            assert (await call(client, "memory_show", memory="ada", version=1))["pieces"] == [{"text": "room = 12"}]
            log = await call(client, "memory_log", memory="ada")
            assert [one["source"] for one in log["versions"]] == ["by hand", "m3", "m2", "m1"]
            assert log["versions"][0]["kind"] == "edit"
            # Its kind and source say that it was written by hand.
            assert not any("flags" in one for one in log["versions"])
            assert (await call(client, "memory_log", memory="ada", part="answers"))["answers"][0]["from"] == "memory"
            diff = await call(client, "memory_diff", memory="ada", old=1, new=2)
            assert {"reworded": "room = 31", "old": "room = 12"} in diff["changes"]
            told = await call(client, "memory_forget", memory="ada", source="m2", preview=True)
            assert (told["texts"], told["versions"]) == (1, 1)
            assert (await call(client, "memory_forget", memory="ada", source="m2"))["purged"]
            assert (await call(client, "memory_ask", memory="ada", question="room?"))["answer"] == "room = 12"
            (exported,) = (await client.read_resource("memory://ada/export")).contents
            (tmp_path / "ada.sqlite").write_bytes(base64.b64decode(exported.blob))
            assert LastingMemory(tmp_path / "ada.sqlite", model=reader()).text == "door = 1\nroom = 12"
            with pytest.raises(MCPError, match="no memory"):
                await client.read_resource("memory://nobody/export")
            assert (await call(client, "memory_rename", memory="ada", new="bo"))["memory"] == "bo"
            assert [one["memory"] for one in (await call(client, "memory_list"))["memories"]] == ["bo"]
            assert (await call(client, "memory_delete", memory="bo"))["deleted"]
            assert "no memory" in (await refused(client, "memory_show", memory="bo")).casefold()

    asyncio.run(main())


def test_a_memory_that_is_too_large_for_a_message_says_how_to_export_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_MOST_EXPORTED", 1 << 10)

    async def main() -> None:
        async with client_of(tmp_path, reader(), plan=PLAN) as client:
            await call(client, "memory_new", memory="ada", about="Ada")
            with pytest.raises(MCPError, match="`bookwheel memory export ada FILE`"):
                await client.read_resource("memory://ada/export")

    asyncio.run(main())


def test_a_full_memory_is_said_and_results_are_short(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path, reader(), plan=PLAN) as client:
            await call(client, "memory_new", memory="ada", about="Ada")
            text = "\n".join(f"key{number} = {number}" for number in range(200))
            added = await call(client, "memory_add", memory="ada", text=text, source="m1")
            assert "not taken in whole" in added["gaps"]
            assert "--memory-tokens" in added["gaps"]
            results = [
                added,
                await call(client, "memory_show", memory="ada"),
                await call(client, "memory_log", memory="ada"),
                await call(client, "memory_log", memory="ada", part="sources"),
                await call(client, "memory_ask", memory="ada", question="key7?"),
                await call(client, "memory_diff", memory="ada", old=0, new=added["version"]),
            ]
            assert max(map(measure, results)) <= ROOM

    asyncio.run(main())


def test_what_takes_longer_goes_on_and_nothing_is_done_twice(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(memories, "LONGEST_WAIT", 0.05)

    async def main() -> None:
        model = reader(seconds_per_call=0.3)
        async with client_of(tmp_path, model, plan=PLAN) as client:
            await call(client, "memory_new", memory="ada", about="Ada")
            arguments = {"memory": "ada", "text": "room = 12", "source": "m1"}
            answers = [await call(client, "memory_add", **arguments)]
            while answers[-1].get("status") == "working":
                answers.append(await call(client, "memory_add", **arguments))
            assert len(answers) > 2
            assert answers[-1]["changes"] == [{"new": "room = 12"}]
            assert model.calls == 1

    asyncio.run(main())


def test_calls_that_nobody_fetches_are_bounded_and_end_silently(tmp_path: Path, monkeypatch, caplog) -> None:
    monkeypatch.setattr(memories, "LONGEST_WAIT", 0.01)
    monkeypatch.setattr(memories, "_MOST_PENDING", 3)
    kept: list[int] = []
    make_room = memories._make_room

    def count(calls):
        make_room(calls)
        kept.append(len(calls))

    monkeypatch.setattr(memories, "_make_room", count)

    async def main() -> None:
        async with client_of(tmp_path, reader(seconds_per_call=0.2), plan=PLAN) as client:
            await call(client, "memory_new", memory="ada", about="Ada")
            for number in range(3):
                assert (await add(client, number))["status"] == "working"
            assert "still working" in await refused(client, "memory_add", memory="ada", text="x = 9", source="m9")
            await call(client, "memory_delete", memory="ada")  # what is at work fails
            await asyncio.sleep(1)
            for number in range(10, 20):
                await client.call_tool("memory_add", {"memory": "ada", "text": f"x = {number}", "source": f"m{number}"})
        gc.collect()
        await asyncio.sleep(0)

    def add(client, number):
        return call(client, "memory_add", memory="ada", text=f"x = {number}", source=f"m{number}")

    asyncio.run(main())
    assert max(kept) < 3
    assert "never retrieved" not in caplog.text


def test_the_reference_servers_verbs_have_its_names_and_results(tmp_path: Path) -> None:
    async def main() -> None:
        async with service_of(tmp_path, reader()) as service:
            await service.memories.begin_written(None, "agent", model="scripted")
            async with Client(build_graph_server(service, "agent")) as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                assert sorted(tools) == sorted(REFERENCE)
                for name, parameters in REFERENCE.items():
                    assert list(tools[name].input_schema.get("properties", {})) == parameters, name
                made = await call(client, "create_entities", entities=[ADA, ADA])
                assert made == {"entities": [ADA]}
                result = await client.call_tool("create_relations", {"relations": [KNOWS]})
                assert json.loads(result.content[0].text) == [KNOWS]
                seen = [{"entityName": "Ada", "contents": ["sings", "lives in Este"]}]
                added = await call(client, "add_observations", observations=seen)
                assert added == {"results": [{"entityName": "Ada", "addedObservations": ["sings"]}]}
                assert "Bo not found" in await refused(
                    client, "add_observations", observations=[{"entityName": "Bo", "contents": ["x"]}]
                )
                whole = {"entities": [ADA | {"observations": ["lives in Este", "sings"]}], "relations": [KNOWS]}
                assert await call(client, "read_graph") == whole
                assert await call(client, "search_nodes", query="SING") == whole
                assert await call(client, "open_nodes", names=["Bo"]) == {"entities": [], "relations": []}
                resource = await client.read_resource("memory://knowledge-graph")
                assert json.loads(resource.contents[0].text) == whole
                gone = await call(
                    client, "delete_observations", deletions=[{"entityName": "Ada", "observations": ["sings"]}]
                )
                assert gone == {"success": True, "message": "Observations deleted successfully"}
                assert (await call(client, "delete_relations", relations=[KNOWS]))["success"]
                result = await client.call_tool("delete_entities", {"entityNames": ["Ada"]})
                assert result.content[0].text == "Entities deleted successfully"
            log = await service.memories.log(None, "agent")
            assert [version["kind"] for version in log["versions"]] == ["edit"] * 6

    asyncio.run(main())


REFERENCE = {
    "create_entities": ["entities"],
    "create_relations": ["relations"],
    "add_observations": ["observations"],
    "delete_entities": ["entityNames"],
    "delete_observations": ["deletions"],
    "delete_relations": ["relations"],
    "read_graph": [],
    "search_nodes": ["query"],
    "open_nodes": ["names"],
}


@pytest.mark.slow
def test_the_command_serves_the_graph(tmp_path: Path) -> None:
    options = ["--model", "scripted", "--journal", str(tmp_path / "j.sqlite"), "--memory", "agent"]

    async def main() -> None:
        for entities in ([ADA], []):  # The second server finds what the first has kept.
            server = StdioServerParameters(
                command=sys.executable,
                args=["-m", "bookwheel", "mcp", *options],
                env={"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
            )
            async with Client(server) as client:
                await call(client, "create_entities", entities=entities)
                assert (await call(client, "read_graph"))["entities"] == [ADA]

    asyncio.run(main())
