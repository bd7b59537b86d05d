"""Servers over MCP in processes of their own: standard input and output, HTTP, and signals."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp")

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_service import QUESTION, TEXT, call, refused

from bookwheel.journal import Journal
from bookwheel.types import Status


def command(folder: Path, *more: str) -> StdioServerParameters:
    given = ["-m", "bookwheel", "mcp", "--model", "scripted", "--journal", str(folder / "journal.sqlite"), *more]
    return StdioServerParameters(
        command=sys.executable, args=given, env={"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    )


@pytest.mark.slow
def test_readings_over_standard_input_and_output(tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "book.txt").write_text(TEXT)
    (tmp_path / "private.txt").write_text("The harbour master of Skarholm is a secret.")

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


@pytest.mark.slow
def test_a_server_whose_answers_nobody_reads_ends_without_a_word(tmp_path: Path) -> None:
    asked, pipe = command(tmp_path), subprocess.PIPE
    who = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": who}).encode() + b"\n"
    environment = {**os.environ, **asked.env}
    with subprocess.Popen(
        [asked.command, *asked.args], stdin=pipe, stdout=pipe, stderr=pipe, env=environment, bufsize=0
    ) as process:
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(line * 20)
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
