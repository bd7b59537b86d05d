from __future__ import annotations

import asyncio

import pytest

from bookwheel.errors import InputError, ModelError, Refused
from bookwheel.models.endpoint import Endpoint
from bookwheel.plan import Sampling
from bookwheel.types import Message


def test_address_and_key_are_trimmed_and_never_taken_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-server")
    assert Endpoint.resolve("http://one:8000/v1/", " sk-one\n") == Endpoint(url="http://one:8000/v1", key="sk-one")
    assert Endpoint.resolve("http://two/v1") == Endpoint(url="http://two/v1", key=None)


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "ftp://host/v1", "http://", "http://host:port/v1", "http://[::1/v1", "host"]
)
def test_what_is_no_address_is_bad_input(url):
    with pytest.raises(InputError, match="is not a web address"):
        Endpoint.resolve(url)


@pytest.mark.parametrize("key", ["sk-\nX: y", "sk-schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key):
    with pytest.raises(Refused) as caught:
        Endpoint.resolve("http://host/v1", key)
    assert key not in str(caught.value)


def test_neither_key_nor_password_is_shown():
    endpoint = Endpoint.resolve("https://ada:quill@host:1/v1?token=t", "sk-secret")
    assert "sk-secret" not in repr(endpoint)
    assert endpoint.display_url == "https://host:1/v1"
    assert endpoint.hide_key("bad key sk-secret") == "bad key ***"
    assert Endpoint.resolve("http://host/v1", key="x").hide_key("maximum context") == "maximum context"


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("http://h/v1", "http://h"),
        ("http://h/v1/", "http://h"),
        ("http://h/proxy/v1", "http://h/proxy"),
        ("http://h", "http://h"),
    ],
)
def test_the_root_is_what_stands_before_v1(url, root):
    assert Endpoint.resolve(url).root == root


def test_a_client_waits_as_long_as_its_endpoint_says_and_less_for_a_connection():
    timeout = Endpoint.resolve("http://h/v1", timeout=3).open_http_client().timeout
    assert (timeout.read, timeout.connect) == (3, 3)
    assert Endpoint.resolve("http://h/v1").open_http_client().timeout.connect < 60


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


@pytest.mark.parametrize("times", [1, 2])
def test_no_redirect_carries_a_document_to_another_host(server, acts, model, times):
    assert "127.0.0.1" in server.url
    if times == 2:
        server.plays(acts.sends(acts.completion("Noted.")), acts.sends("", 307, location=elsewhere(server)))
    else:
        server.plays(acts.sends("", 307, location=elsewhere(server)))
    questions = ["one", "two"][:times]
    *_, last = asyncio.run(ask_each(model(), *questions))
    assert isinstance(last, Refused)
    assert "redirects to localhost" in str(last)
    assert [path for path, _, _ in server.asked] == ["/v1/chat/completions"] * times


def test_nor_to_another_program_of_the_same_host(server, acts, model):
    server.plays(acts.sends("", 307, location="http://127.0.0.1:9/v1/chat/completions"))
    (last,) = asyncio.run(ask_each(model(), "one"))
    assert isinstance(last, Refused)
    assert "redirects to 127.0.0.1:9," in str(last)


def elsewhere(server) -> str:
    return server.url.replace("127.0.0.1", "localhost") + "/chat/completions"
