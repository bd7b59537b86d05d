"""Readings over MCP, with the official client: in memory, over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("mcp")

import httpx2
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from bookwheel import TextDocument
from bookwheel.errors import InputError
from bookwheel.journal import Journal
from bookwheel.models.scripted import ScriptedModel, keyword_reader
from bookwheel.plan import Budget, Plan
from bookwheel.serve.app import wrap_app
from bookwheel.serve.engine.access_policy import AccessPolicy
from bookwheel.serve.engine.service import Caller, ReadingSpec, Service
from bookwheel.serve.engine.settings import Limits, ServerSettings
from bookwheel.serve.mcp.http import make_key_ring, mount_tools
from bookwheel.serve.mcp.server import build_server
from bookwheel.serve.server import Server, bind_socket
from bookwheel.types import Status

QUESTION = "Who is the harbour master of Skarholm?"
FILLER = "Gulls circle over the pier, and the keeper writes down the wind. " * 12 + "\n\n"
TEXT = FILLER * 3 + "The harbour master of Skarholm is Ada Quill.\n\n" + FILLER * 3
SMALL = Plan(chunk_tokens=100, memory_tokens=40, answer_tokens=40)
KEY = "a-key-that-nobody-guesses"


class Gate:
    """A model that replies when it is let."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inner = ScriptedModel(keyword_reader, plan=SMALL)

    def __getattr__(self, name: str):
        return getattr(self.inner, name)

    async def reply(self, messages, *, limit, sampling):
        if self.inner.calls >= 2:
            await self.open.wait()
        return await self.inner.reply(messages, limit=limit, sampling=sampling)


@asynccontextmanager
async def service_of(folder: Path, model=None, *, plan: Plan = SMALL, **settings):
    model = model or ScriptedModel(keyword_reader, plan=SMALL)
    with Journal(folder / "journal.sqlite") as journal:
        service = Service.create(journal=journal, models={"scripted": model}, plans={"scripted": plan}, **settings)
        try:
            yield service
        finally:
            await service.aclose()


@asynccontextmanager
async def client_of(folder: Path, model=None, *, reach: AccessPolicy | None = None, mode: str = "auto", **settings):
    async with (
        service_of(folder, model, **settings) as service,
        Client(build_server(service, reach or AccessPolicy()), mode=mode) as client,
    ):
        yield client


async def call(client: Client, tool: str, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return result.structured_content


async def refused(client: Client, tool: str, **arguments) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return result.content[0].text


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


def test_a_follow_up_reads_the_same_document_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            first = await call(client, "read", text=TEXT, name="harbour", question=QUESTION)
            second = await call(client, "ask_again", reading=first["reading"], question="What circles over the pier?")
            assert second["reading"] != first["reading"]
            assert second["document"] == "harbour"
            assert "Gulls" in second["answer"]
            listed = (await call(client, "list_readings"))["readings"]
            assert [one["reading"] for one in listed] == [second["reading"], first["reading"]]
            found = (await call(client, "list_readings", search="master"))["readings"]
            assert [one["reading"] for one in found] == [first["reading"]]

    asyncio.run(main())


def test_a_timeline_tells_what_each_step_changed_and_where_lines_are_from(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            said = await call(client, "read", text=TEXT, question=QUESTION)
            told = await call(client, "timeline", reading=said["reading"], changes_only=False)
            assert len(told["changes"]) == told["steps"] == said["steps"]
            (entered,) = [step for step in told["changes"] if any("Ada Quill" in line for line in step["added"])]
            (line,) = [line for line in told["origins"] if "Ada Quill" in line["line"]]
            assert line["step"] == entered["step"]
            assert line["quote"]["start"] >= entered["start"]
            assert "Ada Quill" in TEXT[line["quote"]["start"] : line["quote"]["end"]]
            page = await call(client, "timeline", reading=said["reading"], count=2, changes_only=False)
            rest = await call(client, "timeline", reading=said["reading"], first=page["more_from"], changes_only=False)
            assert page["changes"] + rest["changes"] == told["changes"]

    asyncio.run(main())


def test_readings_are_resources_as_json_and_as_text(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            said = await call(client, "read", text=TEXT, question=QUESTION)
            (whole,) = (await client.read_resource(said["resource"])).contents
            values = json.loads(whole.text)
            assert whole.mime_type == "application/json"
            assert (values["reading"], values["answer"]) == (said["reading"], said["answer"])
            assert len(values["steps"]) == said["steps"]
            (page,) = (await client.read_resource(said["resource"] + "/text")).contents
            assert page.mime_type == "text/plain"
            assert said["answer"] in page.text
            with pytest.raises(MCPError, match="no reading"):
                await client.read_resource("reading://nowhere")

    asyncio.run(main())


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


def test_hostile_text_arrives_without_control_characters_and_json_stays_valid(tmp_path: Path) -> None:
    text = f"The harbour master of Skarholm is \x1b[31mAda\u202e Quill\ud800.\n{FILLER}"

    async def main() -> None:
        async with service_of(tmp_path) as service:

            async def opened():
                return service.journal.keep(TextDocument(text)), ()

            wanted = ReadingSpec(question=QUESTION, model="scripted", plan=SMALL)
            id_ = (await service.start(wanted, opened, Caller())).reading.id
            async with Client(build_server(service, AccessPolicy())) as client:
                said = await call(client, "wait", reading=id_)
                told = await call(client, "timeline", reading=id_)
                page = (await client.read_resource(f"reading://{id_}/text")).contents[0].text
                whole = (await client.read_resource(f"reading://{id_}")).contents[0].text
        shown = json.dumps([said, told, page], ensure_ascii=False)
        assert "Ada" in shown
        assert not any(mark in shown for mark in ("\x1b", "\\u001b", "\u202e", "\ud800"))
        assert json.loads(whole)["reading"] == id_

    asyncio.run(main())


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    shelf = tmp_path / "shelf"
    (shelf / "inner").mkdir(parents=True)
    (shelf / "book.txt").write_text(TEXT)
    (shelf / ".env").write_text("The harbour master of Skarholm is a secret.")
    (tmp_path / "private.txt").write_text("The harbour master of Skarholm is a secret.")
    (shelf / "link.txt").symlink_to(tmp_path / "private.txt")
    (shelf / "inner" / "up").symlink_to(tmp_path)
    (shelf / "honest.txt").symlink_to(shelf / "book.txt")
    return shelf


@pytest.mark.parametrize("path", ["book.txt", "./inner/../book.txt", "honest.txt", ".", "{shelf}/book.txt"])
def test_files_inside_a_root_are_read(tmp_path: Path, shelf: Path, path: str) -> None:
    async def main() -> None:
        async with client_of(tmp_path, reach=AccessPolicy.from_roots([shelf])) as client:
            said = await call(client, "read", path=path.format(shelf=shelf), question=QUESTION)
            assert "Ada Quill" in said["answer"]
            assert "secret" not in json.dumps(said)

    asyncio.run(main())


@pytest.mark.parametrize(
    "path",
    ["../private.txt", "{shelf}/../private.txt", "link.txt", "inner/up/private.txt", "/etc/passwd", ".env", "a\0b"]
    + ["../nothing.txt", "inner/../../private.txt"],
)
def test_nothing_outside_the_roots_or_hidden_in_them_is_read(tmp_path: Path, shelf: Path, path: str) -> None:
    async def main() -> None:
        async with client_of(tmp_path, reach=AccessPolicy.from_roots([shelf])) as client:
            path_ = path.format(shelf=shelf)
            said = await refused(client, "read", path=path_, question=QUESTION)
            said = said.replace(path_, "PATH")
            assert "PATH is not inside what may be read here (shelf), or is hidden there" in said
            assert "private" not in said
            assert (await call(client, "list_readings"))["readings"] == []

    asyncio.run(main())


def test_without_roots_no_file_is_read(tmp_path: Path, shelf: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            assert "--root" in await refused(client, "read", path=str(shelf / "book.txt"), question=QUESTION)

    asyncio.run(main())


@pytest.mark.parametrize("url", ["/etc/passwd", "file:///etc/passwd", "-", "ftp://example.org/x", " http://x"])
def test_only_web_addresses_are_addresses(tmp_path: Path, url: str) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            assert "must begin with http" in await refused(client, "read", url=url, question=QUESTION)

    asyncio.run(main())


def test_addresses_inside_the_network_are_refused_unless_allowed(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = TEXT.encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/book.txt"
            async with client_of(tmp_path) as client:
                assert "not a public address" in await refused(client, "read", url=url, question=QUESTION)
            async with client_of(tmp_path, reach=AccessPolicy(allow_private=True)) as client:
                said = await call(client, "read", url=url, question=QUESTION)
                assert "Ada Quill" in said["answer"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"text": TEXT, "question": "  "}, "question"),
        ({"text": " ", "question": QUESTION}, "text is empty"),
        ({"question": QUESTION}, "give one of path, url and text"),
        ({"text": TEXT, "url": "http://x", "question": QUESTION}, "give one of path, url and text"),
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
def test_an_unknown_reading_is_refused(tmp_path: Path, tool: str, name: str) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            assert "no reading" in await refused(client, tool, reading=name)

    asyncio.run(main())


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


def test_a_failing_model_is_told_and_the_reading_resumed(tmp_path: Path) -> None:
    from bookwheel.errors import Refused

    async def main() -> None:
        model = ScriptedModel(keyword_reader, plan=SMALL, faults={2: Refused("the key was revoked")})
        async with client_of(tmp_path, model) as client:
            said = await call(client, "read", text=TEXT, question=QUESTION)
            assert (said["status"], said["error"], said["steps"]) == ("failed", "the key was revoked", 2)
            assert (await call(client, "resume", reading=said["reading"]))["status"] == "answered"

    asyncio.run(main())


def test_a_document_that_cannot_be_opened_is_an_error_when_waited_for(tmp_path: Path, shelf: Path) -> None:
    (shelf / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(2000))

    async def main() -> None:
        async with client_of(tmp_path, reach=AccessPolicy.from_roots([shelf])) as client:
            assert "picture.png" in await refused(client, "read", path="picture.png", question=QUESTION)

    asyncio.run(main())


@asynccontextmanager
async def served(folder: Path, key: str | None = None):
    """A listening socket takes connections before the server has started, and lets them wait."""
    async with service_of(folder, keys=make_key_ring("127.0.0.1", key)) as service:
        tools = mount_tools(service, AccessPolicy(), survives_restart=False)
        server = Server(wrap_app(service, *tools), bind_socket("127.0.0.1", 0))
        task = asyncio.create_task(server.serve())
        try:
            yield f"{server.address}/mcp"
        finally:
            server.should_exit = True
            await task


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_readings_over_http(tmp_path: Path, mode: str) -> None:
    async def main() -> None:
        heard: list[float] = []

        async def hear(done: float, total: float | None, message: str | None) -> None:
            heard.append(done)

        async with served(tmp_path) as url, Client(url, mode=mode) as client:
            arguments = {"text": TEXT, "question": QUESTION}
            result = await client.call_tool("read", arguments, progress_callback=hear)
            assert "Ada Quill" in result.structured_content["answer"]
            assert heard
            assert heard == sorted(set(heard))

    asyncio.run(main())


def test_with_a_key_only_its_holder_is_served(tmp_path: Path) -> None:
    async def main() -> None:
        async with served(tmp_path, KEY) as url:
            async with httpx2.AsyncClient() as stranger:
                for header in ({}, {"Authorization": f"Bearer {KEY}x"}, {"Authorization": f"Basic {KEY}"}):
                    said = await stranger.post(url, json={}, headers=header)
                    assert said.status_code == 401
                    assert KEY not in said.text
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                assert "Ada" in (await call(client, "read", text=TEXT, question=QUESTION))["answer"]

    asyncio.run(main())


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_a_page_from_elsewhere_cannot_reach_the_server(tmp_path: Path, header: dict) -> None:
    async def main() -> None:
        async with served(tmp_path) as url, httpx2.AsyncClient() as page:
            headers = {"Accept": "application/json, text/event-stream", **header}
            asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
            assert (await page.post(url, json=asked, headers=headers)).status_code in {403, 421}

    asyncio.run(main())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org"])
def test_others_are_not_served_without_a_key(host: str) -> None:
    with pytest.raises(InputError, match="BOOKWHEEL_MCP_KEY"):
        make_key_ring(host, None)
    with pytest.raises(InputError, match="fewer than"):
        make_key_ring(host, "short")
    assert make_key_ring(host, KEY).find_by_secret(KEY)
    assert not make_key_ring("127.0.0.1", None)


def command(folder: Path, *more: str) -> StdioServerParameters:
    given = ["-m", "bookwheel", "mcp", "--model", "scripted", "--journal", str(folder / "journal.sqlite"), *more]
    return StdioServerParameters(
        command=sys.executable, args=given, env={"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    )


@pytest.mark.slow
def test_readings_over_standard_input_and_output(tmp_path: Path, shelf: Path) -> None:
    async def main() -> None:
        async with Client(command(tmp_path, "--root", str(shelf))) as client:
            said = await call(client, "read", path="book.txt", question=QUESTION, plan={"chunk_tokens": 100})
            assert "Ada Quill" in said["answer"]
            await refused(client, "read", path="../private.txt", question=QUESTION)

    asyncio.run(main())


LONG = {"text": TEXT * 300, "question": QUESTION, "plan": {"chunk_tokens": 20}, "wait_seconds": 2}


def status_of(folder: Path, id_: str) -> tuple[Status, bool]:
    with Journal(folder / "journal.sqlite") as journal:
        return journal.reading(id_).status, journal.progress(id_)[0] > 0


async def line_from(process: asyncio.subprocess.Process, method: str, number: int, params: dict) -> dict:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    return json.loads(await process.stdout.readline())["result"]


@pytest.mark.slow
def test_a_terminated_server_ends_and_keeps_what_was_read(tmp_path: Path) -> None:
    """Its standard input stays open: what ends it is the signal alone."""

    async def main() -> str:
        asked, pipe = command(tmp_path), asyncio.subprocess.PIPE
        environment = {**os.environ, **asked.env}
        process = await asyncio.create_subprocess_exec(
            asked.command, *asked.args, env=environment, stdin=pipe, stdout=pipe, limit=1 << 24
        )
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        assert (await line_from(process, "initialize", 1, hello))["serverInfo"]["name"] == "bookwheel"
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        said = await line_from(process, "tools/call", 2, {"name": "read", "arguments": LONG})
        assert said["structuredContent"]["status"] == "reading"
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            assert await process.wait() == 130
        return said["structuredContent"]["reading"]

    assert status_of(tmp_path, asyncio.run(main())) == (Status.CANCELLED, True)


@pytest.mark.slow
def test_a_terminated_http_server_keeps_what_was_read(tmp_path: Path) -> None:
    async def main() -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        asked = command(tmp_path, "--http", "--port", str(port))
        environment = {**os.environ, **asked.env}
        process = await asyncio.create_subprocess_exec(
            asked.command, *asked.args, env=environment, stderr=asyncio.subprocess.PIPE
        )
        assert f":{port}/mcp" in (await process.stderr.readline()).decode()
        await up(port)
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            said = await call(client, "read", **LONG)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            left = await process.stderr.read()
            assert await process.wait() == 130
        assert b"Traceback" not in left
        return said["reading"]

    assert status_of(tmp_path, asyncio.run(main())) == (Status.CANCELLED, True)


async def up(port: int) -> None:
    async with asyncio.timeout(60), httpx2.AsyncClient() as client:
        while True:
            try:
                await client.get(f"http://127.0.0.1:{port}/")
            except httpx2.ConnectError:
                await asyncio.sleep(0.02)
            else:
                return
