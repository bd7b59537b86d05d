"""Readings over MCP and HTTP, for those who have the key."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("mcp")

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_service import QUESTION, TEXT, call, served

from bookwheel.errors import InputError
from bookwheel.serve.mcp.server import make_key_ring

KEY = "a-key-that-nobody-guesses"


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("last", ["3", "9" * 5000])
def test_a_client_that_comes_back_with_its_last_event_listens_from_here_on(tmp_path: Path, last: str) -> None:
    async def main() -> None:
        async with served(tmp_path) as url, httpx2.AsyncClient() as client:
            asked = {"Accept": "text/event-stream", "Last-Event-ID": last}
            async with client.stream("GET", url, headers=asked) as answer:
                assert (answer.status_code, answer.headers["content-type"][:17]) == (200, "text/event-stream")

    asyncio.run(main())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org"])
def test_others_are_not_served_without_a_key(host: str) -> None:
    with pytest.raises(InputError, match="BOOKWHEEL_MCP_KEY"):
        make_key_ring(host, None)
    with pytest.raises(InputError, match="fewer than"):
        make_key_ring(host, "short")
    assert make_key_ring(host, KEY).find_by_secret(KEY)
    assert not make_key_ring("127.0.0.1", None)
