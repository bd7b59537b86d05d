"""The client of one server: streams end where they say, and the heavy transport comes late."""

from __future__ import annotations

import asyncio
import json

import httpx2
import pytest

from bookwheel.environment import Environment
from bookwheel.models import transport
from bookwheel.models.client import Client, JsonStream
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.server_errors import StatusError, StreamedError


def open_client(answers, *, key=None, account=None):
    """Return a client whose server plays the answers, and the requests that it gets."""
    asked, left = [], list(answers)

    def answer(request):
        asked.append(request)
        one = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(one, Exception):
            raise one
        return one

    endpoint = Endpoint.resolve("http://h/v1", key, account=account)
    return Client(endpoint, httpx2.AsyncClient(transport=httpx2.MockTransport(answer))), asked


def test_a_bad_status_is_raised_with_what_the_server_says_of_it():
    client, asked = open_client([httpx2.Response(503, json={"error": {"code": "odd", "param": "p"}})])
    with pytest.raises(StatusError) as caught:
        asyncio.run(client.get("/models"))
    assert (caught.value.status_code, caught.value.code, caught.value.param) == (503, "odd", "p")
    assert len(asked) == 1


def test_what_is_sent_names_key_and_account():
    account = Environment(variables={"OPENAI_ORG_ID": "org-1"}).account
    client, asked = open_client([httpx2.Response(200, json={})], key="sk-1", account=account)
    asyncio.run(client.post("http://h/tokenize", {"text": "löng 象"}))
    (request,) = asked
    assert str(request.url) == "http://h/tokenize"
    assert request.headers["authorization"] == "Bearer sk-1"
    assert request.headers["openai-organization"] == "org-1"
    assert json.loads(request.content) == {"text": "löng 象"}


def test_endpoints_of_one_account_are_equal_and_can_be_keys():
    one, same = (Endpoint.resolve("http://h/v1", account={"OpenAI-Project": "p"}) for _ in range(2))
    assert {one: 1}[same] == 1


def test_without_a_key_none_is_sent():
    client, asked = open_client([httpx2.Response(200, json={})])
    asyncio.run(client.get("/models"))
    assert "authorization" not in asked[0].headers


def test_what_is_no_json_is_a_text():
    client, _ = open_client([httpx2.Response(200, text="<html>")])
    assert asyncio.run(client.get("/models")) == "<html>"


def read_stream(content, kind="text/event-stream"):
    async def read():
        client, _ = open_client([httpx2.Response(200, content=content.encode(), headers={"content-type": kind})])
        return [one async for one in await client.open_stream("/chat/completions", {})]

    return asyncio.run(read())


def test_a_stream_ends_at_its_mark_or_with_the_body():
    assert read_stream(
        'data: {"a": 1}\r\n\r\n: wait\n\ndata: {"b":\ndata: 2}\n\ndata: [DONE]\n\ndata: {"c": 3}\n\n'
    ) == [
        {"a": 1},
        {"b": 2},
    ]
    assert read_stream('data: {"a": 1}\n\n', kind="text/plain") == [{"a": 1}]
    assert read_stream('{"choices": []}', kind="application/json") == []


def test_an_error_in_a_stream_is_raised():
    with pytest.raises(StreamedError) as caught:
        read_stream('data: {"error": {"message": "full"}}\n\n')
    assert caught.value.body == {"message": "full"}


def test_a_stream_of_a_bad_status_is_an_error_with_its_body():
    client, _ = open_client([httpx2.Response(400, json={"error": {"message": "odd"}})])
    with pytest.raises(StatusError) as caught:
        asyncio.run(client.open_stream("/chat/completions", {}))
    assert caught.value.body == {"message": "odd"}


class Counting(httpx2.AsyncBaseTransport):
    def __init__(self):
        self.calls, self.is_closed = 0, False

    async def handle_async_request(self, _request):
        self.calls += 1
        return httpx2.Response(200)

    async def aclose(self):
        self.is_closed = True


@pytest.mark.parametrize("is_loaded", [False, True])
def test_the_heavy_transport_is_loaded_after_many_calls_or_where_the_sdk_is(monkeypatch, is_loaded):
    monkeypatch.setattr(transport, "_CALLS_BEFORE_AIOHTTP", 5)
    monkeypatch.setattr(transport, "_is_sdk_loaded", lambda: is_loaded)
    light, heavy = Counting(), Counting()

    async def call():
        growing = transport.GrowingTransport(light, lambda: heavy)
        for _ in range(20):
            await growing.handle_async_request(httpx2.Request("GET", "http://h"))
            await asyncio.to_thread(int)  # the loading thread has run
        await growing.aclose()

    asyncio.run(call())
    assert light.calls + heavy.calls == 20
    assert light.calls <= (2 if is_loaded else 7)
    assert light.is_closed
    assert heavy.is_closed


def test_calls_go_on_where_the_heavy_transport_cannot_be_loaded(monkeypatch):
    monkeypatch.setattr(transport, "_CALLS_BEFORE_AIOHTTP", 1)

    def fail():
        raise ImportError("no aiohttp")

    async def run():
        growing = transport.GrowingTransport(httpx2.MockTransport(lambda _: httpx2.Response(204)), fail)
        for _ in range(6):
            assert (await growing.handle_async_request(httpx2.Request("GET", "http://h"))).status_code == 204
            await asyncio.sleep(0.01)
        await growing.aclose()

    asyncio.run(run())


class Watched(httpx2.AsyncByteStream):
    """A stream of events without end that says when it is closed."""

    def __init__(self) -> None:
        self.is_closed = False

    async def __aiter__(self):
        try:
            while True:
                yield b'data: {"a": 1}\n\n'
        finally:
            self.is_closed = True


def test_a_stream_that_is_left_is_closed_at_once_and_not_by_the_collector() -> None:
    async def run() -> bool:
        body = Watched()
        request = httpx2.Request("POST", "http://h/v1")
        pieces = JsonStream(httpx2.Response(200, stream=body, request=request))
        async for piece in pieces:
            assert piece == {"a": 1}
            break
        await pieces.close()
        return body.is_closed

    assert asyncio.run(run())
