"""The client of one server: small requests are tried again, streams end where they say, and the heavy transport comes late."""

from __future__ import annotations

import asyncio
import json

import httpx2
import pytest

from bookwheel.environment import Environment
from bookwheel.models import client as client_module
from bookwheel.models import transport
from bookwheel.models.client import Client, JsonStream
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.server_errors import StatusError, StreamedError


def open_client(answers, *, retries=0, key=None, account=None):
    """Return a client whose server plays the answers, and the requests that it gets."""
    asked, left = [], list(answers)

    def answer(request):
        asked.append(request)
        one = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(one, Exception):
            raise one
        return one

    endpoint = Endpoint.resolve("http://h/v1", key, account=account, retries=retries)
    return Client(endpoint, httpx2.AsyncClient(transport=httpx2.MockTransport(answer))), asked


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """The seconds that were waited for."""
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    monkeypatch.setattr(client_module.asyncio, "sleep", sleep)
    return waited


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_small_request_is_tried_again_after_a_fault_that_may_pass(status, waits):
    client, asked = open_client([httpx2.Response(status), httpx2.Response(200, json=[1])], retries=2)
    assert asyncio.run(client.post("/tokenize", {"a": 1})) == [1]
    assert len(asked) == 2
    assert 0.3 < waits[0] <= 0.5


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_and_not_after_one_that_stays(status):
    client, asked = open_client([httpx2.Response(status, json={"error": {"code": "odd", "param": "p"}})], retries=2)
    with pytest.raises(StatusError) as caught:
        asyncio.run(client.get("/models"))
    assert (caught.value.status_code, caught.value.code, caught.value.param) == (status, "odd", "p")
    assert len(asked) == 1


def test_a_server_says_whether_and_when(waits):
    never, later = {"x-should-retry": "false"}, {"x-should-retry": "true", "retry-after": "7"}
    client, asked = open_client([httpx2.Response(503, headers=never)], retries=2)
    with pytest.raises(StatusError):
        asyncio.run(client.get("/models"))
    client, asked = open_client([httpx2.Response(400, headers=later), httpx2.Response(200, json={})], retries=2)
    assert asyncio.run(client.get("/models")) == {}
    assert (len(asked), waits) == (2, [7.0])
    client, asked = open_client([httpx2.Response(429, headers={"retry-after": "600"})], retries=2)
    with pytest.raises(StatusError):
        asyncio.run(client.get("/models"))
    assert len(asked) == 1


def test_a_broken_connection_is_tried_again_as_often_as_the_endpoint_says():
    client, asked = open_client([httpx2.ReadError("cut")], retries=2)
    with pytest.raises(httpx2.ReadError):
        asyncio.run(client.get("/models"))
    assert len(asked) == 3


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
