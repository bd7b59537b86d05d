"""What is no request of the protocol, or asks for what is not there, is answered in the protocol's own words."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")

import httpx2
from mcp import Client, MCPError
from mcp.server.mcpserver.exceptions import ToolError
from mcp_service import client_of, refused, served
from mcp_types import JSONRPCMessage
from pydantic import TypeAdapter

from bookwheel.serve.mcp.protocol import ProtocolServer, find_error

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
WORDS_OF_A_PARSER = ("pydantic", "validation error", "input_value", "Traceback", "{'")
NO_MESSAGES = {
    "a batch": ([PING, PING], -32600, "no batches", None),
    "an empty batch": ([], -32600, "no batches", None),
    "a number": (5, -32600, "a JSON object", None),
    "null": (None, -32600, "a JSON object", None),
    "another version": ({**PING, "jsonrpc": "1.0"}, -32600, "jsonrpc", 1),
    "an id of null": ({**PING, "id": None}, -32600, "id must be", None),
    "an id of a fraction": ({**PING, "id": 1.5}, -32600, "id must be", None),
    "an id of an object": ({**PING, "id": {}}, -32600, "id must be", None),
    "an id of a list": ({**PING, "id": [1]}, -32600, "id must be", None),
    "an id of a truth": ({**PING, "id": True}, -32600, "id must be", None),
    "a method of a number": ({**PING, "method": 5}, -32600, "method", 1),
    "no method": ({"jsonrpc": "2.0", "id": "a"}, -32600, "no method", "a"),
    "parameters in a list": ({**PING, "params": [1]}, -32600, "params", 1),
}


@pytest.mark.parametrize("name", NO_MESSAGES)
def test_what_is_no_message_has_an_error_of_json_rpc_with_its_id(name: str) -> None:
    value, code, words, id_ = NO_MESSAGES[name]
    found = find_error(json.dumps(value).encode())
    assert found
    assert (found.error.code, found.id) == (code, id_)
    assert words in found.error.message


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b'"\\ud800"', b"9" * 5000])
def test_what_is_no_json_is_a_parse_error(body: bytes) -> None:
    found = find_error(body)
    assert found
    assert found.error.code == -32700


@pytest.mark.parametrize(
    "message",
    [
        PING,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "a", "result": {}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "odd"}},
        {**PING, "params": None},
    ],
)
def test_every_message_of_the_protocol_passes(message: dict) -> None:
    TypeAdapter(JSONRPCMessage).validate_python(message)
    assert find_error(json.dumps(message).encode()) is None


def test_over_http_nothing_is_taken_without_an_answer_and_the_sdk_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        async with served(tmp_path) as url, httpx2.AsyncClient(trust_env=False) as raw, Client(url) as client:
            for name, (value, code, _, id_) in NO_MESSAGES.items():
                answer = await raw.post(url, content=json.dumps(value).encode(), headers=headers)
                assert answer.status_code == 400, name
                assert (answer.json()["error"]["code"], answer.json()["id"]) == (code, id_)
                assert not any(words in answer.text for words in WORDS_OF_A_PARSER)
            assert (await client.list_tools()).tools

    asyncio.run(main())


def test_a_tool_or_a_prompt_that_is_not_there_is_an_error_of_the_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            with pytest.raises(MCPError, match="Unknown tool: nothing") as tool:
                await client.call_tool("nothing", {})
            with pytest.raises(MCPError, match="Unknown prompt: nothing") as prompt:
                await client.get_prompt("nothing", {})
            with pytest.raises(MCPError, match="check_answer needs reading") as incomplete:
                await client.get_prompt("check_answer", {})
            assert {one.value.error.code for one in (tool, prompt, incomplete)} == {-32602}

    asyncio.run(main())


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("search", {}, "query: Field required"),
        ("search", {"query": 5}, "query: Input should be a valid string"),
        ("wait", {"reading": "last", "wait_seconds": 1e9}, "wait_seconds: Input should be less than or equal to 50"),
        ("timeline", {"reading": "last", "part": "x"}, "part: Input should be 'changes'"),
        ("memory_new", {"memory": [], "about": {}}, "about: "),
        ("read", {"pth": "a.txt", "question": "Who?"}, "read: there is no argument 'pth'; "),
        (
            "read",
            {"text": "A.", "question": "Who?", "budget": {"cost": 1.0}},
            "needs the price of a million tokens: budget",
        ),
    ],
)
def test_wrong_arguments_are_told_in_words_and_not_in_those_of_a_parser(
    tmp_path: Path, tool: str, arguments: dict, words: str
) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            said = await refused(client, tool, **arguments)
            assert words in said
            assert not any(odd in said for odd in WORDS_OF_A_PARSER)

    asyncio.run(main())


def test_a_crash_of_a_tool_is_not_told_as_wrong_arguments() -> None:
    server = ProtocolServer("odd")

    @server.tool()
    def break_inside(text: str) -> str:
        TypeAdapter(int).validate_python(f"a value of ours, not {text}")
        return text

    with pytest.raises(ToolError) as found:
        asyncio.run(server.call_tool("break_inside", {"text": "x"}))
    assert str(found.value) == "Error executing tool break_inside"


def test_a_client_learns_no_path_of_the_server(tmp_path: Path) -> None:
    async def main() -> None:
        async with client_of(tmp_path) as client:
            assert str(tmp_path) not in await refused(client, "wait", reading="0" * 12)
            with pytest.raises(MCPError) as found:
                await client.read_resource("reading://000000000000")
            assert str(tmp_path) not in str(found.value)

    asyncio.run(main())


def test_a_broken_line_of_standard_input_has_an_answer_too(tmp_path: Path) -> None:
    async def main() -> None:
        words = ["-m", "bookwheel", "mcp", "--model", "scripted", "--journal", str(tmp_path / "j.sqlite")]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(sys.executable, *words, stdin=pipe, stdout=pipe)
        lines = [b"{", b"\xff", *(json.dumps(value).encode() for value, *_ in NO_MESSAGES.values())]
        lines.append(json.dumps(PING).encode())
        process.stdin.write(b"".join(line + b"\n" for line in lines))
        answers = [json.loads(await process.stdout.readline()) for _ in lines]
        process.stdin.close()
        told = [(one["error"]["code"], one["id"]) for one in answers if "error" in one]
        assert told == [(-32700, None)] * 2 + [(code, id_) for _, code, _, id_ in NO_MESSAGES.values()]
        assert [one["id"] for one in answers if "result" in one] == [1]
        await process.wait()
        assert process.returncode == 0

    asyncio.run(asyncio.wait_for(main(), 60))
