"""The n-th point of input and output of the client fails, in turn, with whatever the network and its libraries raise."""

from __future__ import annotations

import asyncio
import json
import ssl
import zlib

import aiohttp
import anyio
import httpx2
import pytest

from bookwheel.documents.opening import TextDocument
from bookwheel.models import transport
from bookwheel.models.openai import OpenAIModel
from bookwheel.models.patience import Patience, PatientModel
from bookwheel.plan import Plan
from bookwheel.reading.runner import new_reading, run_reading
from bookwheel.types import DocumentInfo, Message, Status

TEXT = "Ada wound the clock. " * 90
FAULTS = (
    *(ConnectionResetError(104, "reset"), BrokenPipeError(32, "pipe"), OSError(24, "too many open files")),
    *(TimeoutError(), ssl.SSLError(1, "bad record"), EOFError(), asyncio.IncompleteReadError(b"", 9)),
    *(
        httpx2.ReadTimeout("slow"),
        httpx2.ConnectError("gone"),
        httpx2.RemoteProtocolError("odd"),
        httpx2.PoolTimeout(""),
    ),
    *(httpx2.DecodingError("packed"), httpx2.ProxyError("proxy"), httpx2.InvalidURL("url"), httpx2.StreamClosed()),
    *(aiohttp.ClientPayloadError("cut"), aiohttp.ServerDisconnectedError(), aiohttp.ClientOSError(5, "io")),
    *(aiohttp.http_exceptions.BadHttpMessage("no HTTP"), anyio.ClosedResourceError(), anyio.EndOfStream()),
    *(zlib.error("bad"), UnicodeDecodeError("utf-8", b"", 0, 1, "odd"), json.JSONDecodeError("odd", "", 0)),
    *(MemoryError(), RecursionError(), RuntimeError("odd"), KeyError("k"), TypeError("t"), ZeroDivisionError()),
)


class Injected(httpx2.AsyncBaseTransport):
    """A good server whose n-th point fails: a connection, the begin of a body, its middle, its end, its closing."""

    def __init__(self, fails_at, error):
        self.fails_at, self.error, self.points = fails_at, error, 0

    def pass_point(self):
        self.points += 1
        if self.points - 1 == self.fails_at:
            raise self.error

    async def handle_async_request(self, request):
        self.pass_point()
        if not request.url.path.endswith("/chat/completions"):
            return httpx2.Response(404, json={"detail": "Not Found"})
        is_stream = json.loads(request.content).get("stream")
        usage = {"prompt_tokens": 900, "completion_tokens": 9}
        choice = {"index": 0, "finish_reason": "stop", "message": {"content": "\\boxed{Ada}"}}
        body = json.dumps({"choices": [choice], "usage": usage})
        if is_stream:
            choice["delta"] = choice.pop("message")
            body = f"data: {json.dumps({'choices': [choice], 'usage': usage})}\n\ndata: [DONE]\n\n"
        kind = "text/event-stream" if is_stream else "application/json"
        return httpx2.Response(200, headers={"content-type": kind}, stream=InjectedBody(self, body.encode()))


class InjectedBody(httpx2.AsyncByteStream):
    def __init__(self, owner, body):
        self.owner, self.body = owner, body

    async def __aiter__(self):
        self.owner.pass_point()
        yield self.body[:20]
        self.owner.pass_point()
        yield self.body[20:]
        self.owner.pass_point()

    async def aclose(self):
        self.owner.pass_point()


async def _no_wait(_seconds):
    await asyncio.sleep(0)


async def read(monkeypatch, fails_at, error, *, stream):
    """Read a document of three chunks; return the reading and the points that were passed."""
    injected = Injected(fails_at, error)
    monkeypatch.setattr(
        transport.BoundedClient,
        "_init_transport",
        lambda self, **_: transport.BoundedTransport(injected, self._endpoint),
    )
    plan = Plan(chunk_tokens=256, memory_tokens=64, answer_tokens=32)
    model = OpenAIModel(name="m", base_url="http://127.0.0.1:1/v1", plan=plan, stream=stream)
    document = TextDocument(TEXT)
    reading = new_reading(DocumentInfo(id="0" * 64, name="text", length=len(TEXT)), "Who?", model, plan)
    try:
        ended = await run_reading(reading, document, model, patience=Patience())
    finally:
        await model.aclose()
    return ended, injected.points


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch):
    monkeypatch.setattr("bookwheel.reading.budget.BudgetedModel.sleep", lambda _self, seconds: _no_wait(seconds))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_whatever_fails_wherever_the_reading_is_answered(monkeypatch, error, stream):
    whole, points = asyncio.run(read(monkeypatch, -1, error, stream=stream))
    assert whole.status is Status.ANSWERED
    steps = [step.chunk.start for step in whole.steps]
    # The first call, the one between, and the last; the rest of the points repeats them.
    for fails_at in sorted({*range(6), points // 2, points - 3, points - 2, points - 1}):
        ended, _ = asyncio.run(read(monkeypatch, fails_at, error, stream=stream))
        assert ended.status is Status.ANSWERED, (fails_at, ended.error)
        assert [step.chunk.start for step in ended.steps] == steps
        assert ended.answer.text == whole.answer.text


class Odd:
    """A model whose code breaks so many times."""

    name, window, template_tokens = "odd", None, 8

    def __init__(self, times):
        self.times = times

    async def reply(self, messages, *, limit, sampling):
        self.times -= 1
        if self.times >= 0:
            raise AttributeError("'NoneType' object has no attribute 'get'")
        return "done"


def test_what_nobody_foresaw_is_told_in_our_words_after_three_tries():
    from bookwheel.errors import BrokenModel
    from bookwheel.plan import Sampling

    async def ask(times):
        patient = PatientModel(Odd(times), Patience(), sleep=_no_wait)
        return await patient._persist(
            lambda: Odd.reply(patient._model, [Message(role="user", content="x")], limit=8, sampling=Sampling())
        )

    assert asyncio.run(ask(2)) == "done"
    with pytest.raises(BrokenModel, match="nobody foresaw") as caught:
        asyncio.run(ask(9))
    assert "NoneType" not in str(caught.value)
