"""A repeated request is the SDK's own, and what goes wrong with it is told as the SDK tells it."""

from __future__ import annotations

import asyncio

import pytest

from bookwheel.errors import ModelError
from bookwheel.plan import Sampling
from bookwheel.types import Message

PAGE = "<html><body>nginx</body></html>"


async def ask_each(model, *texts: str) -> list[object]:
    """Return the reply or the error of each question."""
    replies: list[object] = []
    try:
        for text in texts:
            message = Message(role="user", content=text)
            try:
                replies.append(await model.reply([message], limit=16, sampling=Sampling()))
            except ModelError as error:
                replies.append(error)
    finally:
        await model.aclose()
    return replies


def test_a_repeated_request_differs_in_its_body_alone(server, acts, model):
    server.plays(acts.sends(acts.completion("Noted.")))
    asyncio.run(ask_each(model(api_key="key"), "one", "two, löngér", "three"))
    (_, first, _), *others = server.asked
    assert len(others) == 2
    assert first["authorization"] == "Bearer key"
    for path, headers, body in others:
        assert path == "/v1/chat/completions"
        assert {**headers, "content-length": ""} == {**first, "content-length": ""}
        assert body["max_tokens"] == 16
    assert [body["messages"][0]["content"] for body in server.bodies()] == ["one", "two, löngér", "three"]


def faults(acts):
    return {
        "bad request": acts.fault(400, "temperature is odd", code="odd"),
        "too long": acts.fault(400, "maximum context length is 10 tokens"),
        "no key": acts.fault(401, "who are you"),
        "no credit": acts.fault(429, "none left", code="insufficient_quota"),
        "no model": acts.fault(404, "the model `m` does not exist", code="model_not_found"),
        "no route": acts.sends({"detail": "Not Found"}, 404),
        "unprocessable": acts.sends({"detail": [{"msg": "field required"}]}, 422),
        "overloaded": acts.fault(429, "slow down", retry_after="7"),
        "server fault": acts.sends({"error": "broken"}, 500),
        "text": acts.sends("upstream is gone", 502, kind="text/plain"),
        "list": acts.sends("[1]", 503),
        "page": acts.sends(PAGE, 403, kind="text/html"),
        "good page": acts.sends(f"  \n{PAGE}", 200, kind="text/html"),
        "not changed": acts.sends("", 304),
        "no JSON": acts.sends('{"choices": [', 200),
        "error in a good answer": acts.sends({"error": {"message": "crashed"}}, 200),
        "cut": acts.drops,
        "no reply": acts.sends({}, 200),
    }


@pytest.mark.parametrize(
    "fault",
    [
        *("bad request", "too long", "no key", "no credit", "no model", "no route", "unprocessable", "overloaded"),
        *("server fault", "text", "list", "page", "good page", "not changed", "no JSON", "error in a good answer"),
        *("cut", "no reply"),
    ],
)
def test_a_repeated_request_fails_as_the_first_one_does(server, acts, model, fault):
    server.plays(faults(acts)[fault])
    (first,) = asyncio.run(ask_each(model(), "one"))
    server.plays(acts.sends(acts.completion("Noted.")), faults(acts)[fault])
    _, repeated = asyncio.run(ask_each(model(), "one", "two"))
    assert isinstance(first, ModelError)
    assert type(repeated) is type(first)
    assert str(repeated) == str(first)
    assert (repeated.retry_after, repeated.is_charged) == (first.retry_after, first.is_charged)


def test_a_repeated_request_times_out_as_the_first_one_does(server, acts, model):
    server.plays(server.hangs)
    (first,) = asyncio.run(ask_each(model(timeout=0.2), "one"))
    server.plays(acts.sends(acts.completion("Noted.")), server.hangs)
    _, repeated = asyncio.run(ask_each(model(timeout=0.2), "one", "two"))
    assert (type(repeated), str(repeated)) == (type(first), str(first))
    assert isinstance(first, ModelError)


def test_a_server_that_is_gone_is_told_alike(server, acts, model):
    server.plays(acts.sends(acts.completion("Noted."), connection="close"))

    async def ask_and_leave() -> list[object]:
        asking, message = model(), [Message(role="user", content="Hello")]
        await asking.reply(message, limit=16, sampling=Sampling())
        await asyncio.to_thread(server.close)
        return [*await ask_each(asking, "two"), *await ask_each(model(), "one")]

    repeated, first = asyncio.run(ask_and_leave())
    assert (type(repeated), str(repeated)) == (type(first), str(first))
    assert "no server answers" in str(first)


def test_a_cookie_is_sent_back(server, acts, model):
    server.plays(acts.sends(acts.completion("Noted."), set_cookie="lb=7"))
    asyncio.run(ask_each(model(), "one", "two", "three"))
    assert [headers.get("cookie") for _, headers, _ in server.asked] == [None, "lb=7", "lb=7"]


def test_a_redirect_is_followed_each_time(server, acts, model):
    server.plays(acts.sends("", 307, location="/v2/chat/completions"))
    server.plays(acts.sends(acts.completion("Noted.")), route="/v2/chat/completions")
    asyncio.run(ask_each(model(), "one", "two"))
    assert [path for path, _, _ in server.asked] == ["/v1/chat/completions", "/v2/chat/completions"] * 2
    assert [body["messages"][0]["content"] for _, _, body in server.asked] == ["one", "one", "two", "two"]
