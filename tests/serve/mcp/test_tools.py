"""Readings over MCP, with the official client in memory."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("mcp")

from mcp import Client, MCPError
from mcp_service import FILLER, QUESTION, SMALL, TEXT, Gate, call, client_of, refused, service_of

from bookwheel import TextDocument
from bookwheel.errors import Refused
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Budget
from bookwheel.serve.engine.access import AccessPolicy
from bookwheel.serve.engine.running_reading import Caller
from bookwheel.serve.engine.service import ReadingSpec
from bookwheel.serve.engine.settings import Limits, ServerSettings
from bookwheel.serve.engine.starting import start_readings
from bookwheel.serve.mcp.server import build_server
from bookwheel.types import Status


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_text_is_read_and_answered(tmp_path: Path, mode: str) -> None:
    async def main() -> None:
        async with client_of(tmp_path, mode=mode) as client:
            said = await call(client, "read", text=TEXT, question=QUESTION)
            assert said["status"] == "answered"
            assert "Ada Quill" in said["answer"]
            assert any("Ada Quill" in found["quote"] for found in said["evidence"])
            assert said["read_to"] == said["length"] == len(TEXT)

    asyncio.run(main())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.slow
def test_a_long_reading_is_started_polled_and_followed(tmp_path: Path, mode: str) -> None:
    async def main() -> None:
        model = Gate()
        async with client_of(tmp_path, model, mode=mode) as client:
            begun = await call(client, "read", text=TEXT, question=QUESTION, wait_seconds=0)
            assert begun["status"] in {"opening", "reading"}
            heard: list[tuple[float, float | None]] = []
            advanced = asyncio.Event()

            async def hear(done: float, total: float | None, message: str | None) -> None:
                heard.append((done, total))
                if done:
                    advanced.set()

            arguments = {"reading": begun["reading"], "wait_seconds": 20}
            waiting = asyncio.create_task(client.call_tool("wait", arguments, progress_callback=hear))
            await advanced.wait()
            looked = await call(client, "wait", reading=begun["reading"], wait_seconds=0)
            assert looked["status"] == "reading"
            model.open.set()
            ended = (await waiting).structured_content
            assert ended["status"] == "answered"
            done = [at for at, _ in heard]
            assert done == sorted(set(done))
            assert {total for _, total in heard} <= {None, float(len(TEXT))}

    asyncio.run(main())


def test_no_tool_may_be_asked_to_wait_longer_than_clients_do(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            assert "50" in await refused(client, "wait", reading="last", wait_seconds=61)
            for tool in (await client.list_tools()).tools:
                waits = tool.input_schema["properties"].get("wait_seconds")
                assert waits is None or waits["maximum"] < 60

    asyncio.run(main())


@pytest.mark.slow
def test_several_questions_are_read_in_one_go_and_asked_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            questions = [QUESTION, "What circles over the pier?"]
            said = (await call(client, "read_several", text=TEXT, questions=questions))["readings"]
            assert [one["status"] for one in said] == ["answered"] * 2
            assert [one["question"] for one in said] == questions
            assert "Ada Quill" in said[0]["answer"]
            again = await call(client, "read_several", reading=said[0]["reading"], questions=questions[1:])
            assert again["readings"][0]["answer"] == said[1]["answer"]
            assert "give one of" in await refused(client, "read_several", reading="last", text="x", questions=["Q?"])
            assert "give one of" in await refused(client, "read_several", questions=["Q?"])
            assert await refused(client, "read_several", text="x", questions=[])

    asyncio.run(main())


@pytest.mark.slow
def test_a_follow_up_reads_the_same_document_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            first = await call(client, "read", text=TEXT, name="harbour", question=QUESTION)
            second = await call(
                client, "ask_again", reading=first["reading"], question="What circles over the pier?", from_memory=False
            )
            assert second["reading"] != first["reading"]
            assert second["document"] == "harbour"
            assert "Gulls" in second["answer"]
            listed = (await call(client, "list_readings"))["readings"]
            assert [one["reading"] for one in listed] == [second["reading"], first["reading"]]
            assert listed[1]["sign"] == first["sign"]
            found = (await call(client, "list_readings", search="master"))["readings"]
            assert [one["reading"] for one in found] == [first["reading"]]

    asyncio.run(main())


@pytest.mark.slow
def test_a_timeline_tells_what_each_step_changed_and_where_lines_are_from(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            said = await call(client, "read", text=TEXT, question=QUESTION)
            told = await call(client, "timeline", reading=said["reading"])
            assert told["steps"] == said["steps"]
            (entered,) = [change for change in told["changes"] if "Ada Quill" in change.get("added", "")]
            lines = (await call(client, "timeline", reading=said["reading"], part="origins"))["origins"]
            (line,) = [line for line in lines if "Ada Quill" in line["line"]]
            assert line["step"] == entered["step"]
            assert line["quote"]["start"] >= entered["start"]
            assert "Ada Quill" in TEXT[line["quote"]["start"] : line["quote"]["end"]]
            (claim, quote) = (await call(client, "timeline", reading=said["reading"], part="claims"))["claims"]
            assert claim["verdict"] == said["verdict"]
            assert "Ada Quill" in quote["quote"]
            assert (claim["claim"], quote["claim"]) == (0, 0)
            (memory,) = (await call(client, "timeline", reading=said["reading"], part="memory"))["memory"]
            assert "Ada Quill" in memory["text"]

    asyncio.run(main())


def test_readings_are_resources_as_json_and_as_text(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            said = await call(client, "read", text=TEXT, question=QUESTION)
            (whole,) = (await client.read_resource(f"reading://{said['reading']}")).contents
            values = json.loads(whole.text)
            assert whole.mime_type == "application/json"
            assert (values["reading"], values["answer"]) == (said["reading"], said["answer"])
            assert len(values["steps"]) == said["steps"]
            (page,) = (await client.read_resource(f"reading://{said['reading']}/text")).contents
            assert page.mime_type == "text/plain"
            assert said["answer"] in page.text
            with pytest.raises(MCPError, match="no reading"):
                await client.read_resource("reading://nowhere")

    asyncio.run(main())


@pytest.mark.slow
def test_the_newest_readings_are_listed_as_resources_that_can_be_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            assert (await client.list_resources()).resources == []
            first = await call(client, "read", text=TEXT, question=QUESTION, name="log.txt")
            await call(client, "ask_again", reading=first["reading"], question="Who writes down\x1b[31m the wind?")
            newest, oldest = (await client.list_resources()).resources
            assert (oldest.title, oldest.description) == (f"log.txt: {QUESTION}", first["answer"])
            assert newest.title.endswith("the wind?")
            assert "\x1b" not in newest.title
            (page,) = (await client.read_resource(oldest.uri)).contents
            assert first["answer"] in page.text

    asyncio.run(main())


@pytest.mark.slow
def test_hostile_text_arrives_without_control_characters_and_json_stays_valid(tmp_path: Path) -> None:
    text = f"The harbour master of Skarholm is \x1b[31mAda\u202e Quill\ud800.\n{FILLER}"

    async def main() -> None:
        async with service_of(tmp_path) as service:

            async def opened():
                return service.journal.keep(TextDocument(text))

            wanted = ReadingSpec(model="scripted", plan=SMALL)
            (running,) = await start_readings(service, wanted, [QUESTION], opened, Caller())
            id_ = running.reading.id
            async with Client(build_server(service, AccessPolicy())) as client:
                said = await call(client, "wait", reading=id_)
                told = [await call(client, "timeline", reading=id_, part=part) for part in ("changes", "origins")]
                page = (await client.read_resource(f"reading://{id_}/text")).contents[0].text
                whole = (await client.read_resource(f"reading://{id_}")).contents[0].text
        shown = json.dumps([said, told, page], ensure_ascii=False)
        assert "Ada" in shown
        assert not any(mark in shown for mark in ("\x1b", "\\u001b", "\u202e", "\ud800"))
        assert json.loads(whole)["reading"] == id_

    asyncio.run(main())


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"text": TEXT, "question": "  "}, "question"),
        ({"text": " ", "question": QUESTION}, "text is empty"),
        ({"question": QUESTION}, "give one of path, url, text and document"),
        ({"text": TEXT, "url": "http://x", "question": QUESTION}, "give one of path, url, text and document"),
        ({"text": TEXT, "question": QUESTION, "way": "sequental"}, "did you mean 'sequential'"),
        ({"text": TEXT, "question": QUESTION, "plan": {"chunk_tokens": 1}}, "at least 8"),
        ({"text": TEXT, "question": QUESTION, "plan": {"prompts": "/etc/x.toml"}}, "prompts"),
        ({"text": TEXT, "question": QUESTION, "plan": {"budget": {"tokens": 0}}}, "above 0"),
    ],
)
def test_bad_input_is_refused_with_advice_and_nothing_is_kept(tmp_path: Path, arguments: dict, advice: str) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            assert advice in await refused(client, "read", **arguments)
            assert (await call(client, "list_readings"))["readings"] == []

    asyncio.run(main())


@pytest.mark.parametrize("tool", ["wait", "timeline", "cancel", "resume"])
@pytest.mark.parametrize("name", ["nowhere", "../../etc/passwd", "", "' OR 1=1 --"])
@pytest.mark.slow
def test_an_unknown_reading_is_refused(tmp_path: Path, tool: str, name: str) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            assert "no reading" in await refused(client, tool, reading=name)

    asyncio.run(main())


@pytest.mark.slow
def test_a_cancelled_reading_is_resumed_and_reads_nothing_twice(tmp_path: Path) -> None:
    async def main() -> None:
        model = Gate()
        async with client_of(tmp_path, model) as client:
            begun = await call(client, "read", text=TEXT, question=QUESTION, wait_seconds=0)
            while (await call(client, "wait", reading=begun["reading"], wait_seconds=0.01))["steps"] < 2:
                pass
            stopped = await call(client, "cancel", reading=begun["reading"])
            assert (stopped["status"], stopped["steps"]) == ("cancelled", 2)
            model.open.set()
            ended = await call(client, "resume", reading=begun["reading"])
            assert ended["status"] == "answered"
            assert model.inner.calls == ended["steps"] + 1

    asyncio.run(main())


@pytest.mark.slow
def test_the_end_of_the_server_keeps_what_was_read(tmp_path: Path) -> None:
    async def main() -> str:
        async with client_of(tmp_path, Gate()) as client:
            begun = await call(client, "read", text=TEXT, question=QUESTION, wait_seconds=0)
            while (await call(client, "wait", reading=begun["reading"], wait_seconds=0.01))["steps"] < 2:
                pass
            return begun["reading"]

    id_ = asyncio.run(main())
    with Journal(tmp_path / "journal.sqlite") as journal:
        kept = journal.reading(id_)
    assert (kept.status, len(kept.steps)) == (Status.CANCELLED, 2)


@pytest.mark.slow
def test_no_more_readings_are_taken_than_the_limit(tmp_path: Path) -> None:
    async def main() -> None:
        model = Gate()
        async with client_of(tmp_path, model, settings=ServerSettings(limits=Limits(readings=2))) as client:
            begun = [await call(client, "read", text=TEXT, question=QUESTION, wait_seconds=0) for _ in range(2)]
            assert "2 readings are under way" in await refused(client, "read", text=TEXT, question=QUESTION)
            model.open.set()
            for one in begun:
                await call(client, "wait", reading=one["reading"])
            assert (await call(client, "read", text=TEXT, question=QUESTION))["status"] == "answered"

    asyncio.run(main())


def test_a_client_cannot_lift_the_servers_budget(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path, plan=replace(SMALL, budget=Budget(tokens=500))) as client:
            plan = {"budget": {"tokens": 10**9}}
            said = await call(client, "read", text=TEXT, question=QUESTION, plan=plan)
            assert said["status"] == "stopped"
            assert said["tokens"] <= 500

    asyncio.run(main())


@pytest.mark.slow
def test_a_failing_model_is_told_and_the_reading_resumed(tmp_path: Path) -> None:
    async def main() -> None:
        model = ScriptedModel(keyword_reader, plan=SMALL, faults={2: Refused("the key was revoked")})
        async with client_of(tmp_path, model) as client:
            said = await call(client, "read", text=TEXT, question=QUESTION)
            assert (said["status"], said["error"], said["steps"]) == ("failed", "the key was revoked", 2)
            assert (await call(client, "resume", reading=said["reading"]))["status"] == "answered"

    asyncio.run(main())
