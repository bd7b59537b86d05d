"""Two doors, one room: what begins over MCP inside a server is everybody's over HTTP, and the other way round."""

from __future__ import annotations

import asyncio
import hashlib
import threading

import pytest

pytest.importorskip("mcp")

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bookwheel.serve.engine.access import Key, KeyRing
from bookwheel.serve.engine.settings import Limits, ServerSettings
from bookwheel.types import Status

SECRET = "bw-a-long-secret-that-nobody-guesses"


def tool(up, name: str, key: str = "", **arguments: object):
    """One call of a tool by the official client, in a session of its own."""

    async def main():
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
            Client(streamable_http_client(f"{up.url}/mcp", http_client=http)) as client,
        ):
            return await client.call_tool(name, arguments)

    return asyncio.run(main())


def begun_over_mcp(up, words: tuple[str, str], **more: object) -> str:
    text, question = words
    return tool(up, "read", text=text, question=question, **{"wait_seconds": 0, **more}).structured_content["reading"]


def seen_over_http(up, id_: str) -> None:
    """A reading that was begun elsewhere is there as soon as its document is open."""
    with up.client() as client:
        for _ in range(1000):
            if client.get(f"/readings/{id_}").status_code == 200:
                return
            threading.Event().wait(0.005)
    raise AssertionError("it was never seen")


@pytest.mark.slow
def test_a_reading_begun_over_mcp_is_seen_streamed_and_cancelled_over_http(serving, gated, words) -> None:
    model = gated()
    model.after(4)
    with serving(model) as up, up.client() as client:
        id_ = begun_over_mcp(up, words)
        seen_over_http(up, id_)
        steps = up.events(id_, until=3)
        assert [kind for kind, _, _ in steps] == ["step"] * 3
        assert client.get("/healthz").json()["readings"] == 1
        stopped = client.post(f"/readings/{id_}/cancel").json()
        assert (stopped["status"], len(stopped["steps"])) == ("cancelled", 4)
        assert tool(up, "wait", reading=id_, wait_seconds=0).structured_content["status"] == "cancelled"
        model.after(10**9)
        assert tool(up, "resume", reading=id_).structured_content["status"] == "answered"
        assert up.events(id_)[-1][2]["status"] == "answered"
        assert model.asked == up.journal.reading(id_).usage.calls


@pytest.mark.slow
def test_a_reading_begun_over_http_is_waited_for_and_cancelled_over_mcp(serving, gated) -> None:
    model = gated()
    model.after(3)
    with serving(model) as up:
        id_ = up.begin()["reading"]
        up.events(id_, until=3)
        assert tool(up, "wait", reading=id_, wait_seconds=0).structured_content["status"] == "reading"
        assert tool(up, "cancel", reading=id_).structured_content["status"] == "cancelled"
        assert up.journal.reading(id_).status is Status.CANCELLED


@pytest.mark.slow
def test_both_doors_share_one_limit(serving, gated, words) -> None:
    text, question = words
    model = gated()
    model.after(0)
    with serving(model, settings=ServerSettings(limits=Limits(readings=2))) as up, up.client() as client:
        first = begun_over_mcp(up, words)
        up.begin()
        refused = tool(up, "read", text=text, question=question)
        assert refused.is_error
        assert "2 readings are under way" in refused.content[0].text
        assert client.post("/readings", json={"question": question, "text": text}).status_code == 429
        tool(up, "cancel", reading=first)
        up.begin()


@pytest.mark.slow
def test_calls_of_both_doors_take_turns(serving, gated, words) -> None:
    model = gated()
    model.after(0)
    with serving(model, settings=ServerSettings(limits=Limits(calls=1))) as up:
        ids = [begun_over_mcp(up, words), up.begin()["reading"], begun_over_mcp(up, words)]
        for id_ in ids:
            seen_over_http(up, id_)
        model.after(9)
        while sum(up.journal.progress(id_)[0] for id_ in ids) < 9:
            threading.Event().wait(0.005)
        assert [up.journal.progress(id_)[0] for id_ in ids] == [3, 3, 3]
        model.after(10**9)


@pytest.mark.slow
def test_a_reading_begun_over_mcp_goes_on_when_the_server_is_back(serving, gated, words) -> None:
    first, second = gated(), gated()
    first.after(5)
    with serving(first) as up:
        id_ = begun_over_mcp(up, words)
        seen_over_http(up, id_)
        up.events(id_, until=5)
    assert first.seen == 5
    with serving(second) as up:
        assert up.events(id_)[-1][2]["status"] == "answered"
        assert first.asked + second.asked == up.journal.reading(id_).usage.calls


@pytest.mark.slow
def test_a_keys_budget_holds_at_both_doors(serving, words) -> None:
    text, question = words
    key = Key(name="reader", sha256=hashlib.sha256(SECRET.encode()).hexdigest(), tokens_per_day=1500)
    with serving(keys=KeyRing([key])) as up, up.client(headers={"Authorization": f"Bearer {SECRET}"}) as client:
        assert client.post("/mcp", json={}, headers={"Authorization": "Bearer wrong"}).status_code == 401
        said = tool(up, "read", SECRET, text=text, question=question)
        assert said.structured_content["status"] == "stopped"
        left = 1500 - said.structured_content["tokens"]
        begun = client.post("/readings", json={"question": question, "text": text})
        if begun.status_code == 201:
            with client.stream("GET", f"/readings/{begun.json()['reading']}/events") as events:
                events.read()
        assert 0 <= sum(reading.usage.tokens for reading in up.journal.readings()[:1]) <= left


def test_a_connected_client_does_not_hold_up_the_servers_end(serving, caplog: pytest.LogCaptureFixture) -> None:
    async def main(up) -> None:
        async with Client(f"{up.url}/mcp", mode="legacy") as client:
            await client.list_tools()
            up.server.should_exit = True
            while up.thread.is_alive():  # noqa: ASYNC110 - it is another thread that ends
                await asyncio.sleep(0.01)

    with serving(grace=60) as up:
        asyncio.run(main(up))
    assert "graceful shutdown exceeded" not in caplog.text


@pytest.mark.slow
def test_a_reading_that_is_ended_while_its_document_is_opened_is_not_kept(serving, words) -> None:
    from bookwheel.serve.engine.running_reading import Caller
    from bookwheel.serve.engine.service import ReadingSpec
    from bookwheel.serve.engine.starting import start_readings

    with serving() as up:
        service = up.service

        async def never():
            await asyncio.Event().wait()

        wanted = ReadingSpec(model="scripted", plan=service.plans["scripted"])
        starting = start_readings(service, wanted, [words[1]], never, Caller())
        (running,) = asyncio.run_coroutine_threadsafe(starting, up.loop).result(10)
        id_ = running.reading.id
        assert tool(up, "wait", reading=id_, wait_seconds=0).structured_content["status"] == "opening"
        ended = tool(up, "cancel", reading=id_).structured_content
        assert (ended["status"], "call read again" in ended["next"]) == ("cancelled", True)
        assert len(service.readings) == 0
        assert up.journal.readings() == []


@pytest.mark.slow
def test_a_further_question_is_answered_from_the_memory_of_the_reading_it_names(serving, gated, words) -> None:
    model, (text, question) = gated(), words
    with serving(model) as up, up.client() as client:
        first = client.post("/readings", json={"text": text, "question": question}).json()
        assert up.events(first["reading"])[-1][2]["status"] == "answered"
        seen = model.seen
        wanted = {"reading": first["reading"], "question": f"So {question}"}
        again = client.post("/readings", json=wanted).json()
        assert up.events(again["reading"])[-1][2]["status"] == "answered"
        assert (model.seen, again["parent"]) == (seen + 1, first["reading"])
        told = client.get(f"/readings/{again['reading']}").json()
        assert told["document"]["id"] == client.get(f"/readings/{first['reading']}").json()["document"]["id"]
        anew = client.post("/readings", json={**wanted, "from_memory": False}).json()
        assert up.events(anew["reading"])[-1][2]["status"] == "answered"
        assert model.seen > seen + 2
        for one in (told, anew):
            assert one["plan"]["earlier"].startswith(f"user: {question}\n\nassistant: ")
        assert client.post("/readings", json={**wanted, "text": "Two sources."}).status_code == 400
        assert client.post("/readings", json={**wanted, "reading": "0" * 32}).status_code == 404
