from __future__ import annotations

import asyncio
import time

import pytest

from bookwheel.configuration import Configuration, Connection
from bookwheel.errors import Refused, TimedOut, UnknownModel, Unreachable
from bookwheel.models import server_models
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.server_models import ServedModel, ServerSoftware, find_model, find_only_model, list_served_models
from bookwheel.session import open_session

MODELS = "/v1/models"
HERE = Endpoint.resolve("http://here/v1")


def listed(server):
    return asyncio.run(list_served_models(Endpoint.resolve(server.url)))


def test_names_windows_and_owners_are_read_from_the_list(server, acts):
    entries = [
        {"id": "a", "owned_by": "vllm", "max_model_len": 4096},
        {"id": "b", "owned_by": "llamacpp", "aliases": ["bee"], "meta": {"n_ctx": 2048, "n_ctx_train": 8192}},
        {"id": "c", "context_length": 131072},
        {"id": "d", "owned_by": "openai", "max_model_len": None},
        {"no": "id"},
        7,
    ]
    server.plays(acts.sends({"object": "list", "data": entries}), route=MODELS)
    a, b, c, d = listed(server)
    assert a == ServedModel(name="a", window=4096, owner="vllm")
    assert (b.window, b.aliases, b.software) == (2048, ("bee",), ServerSoftware.LLAMA_CPP)
    assert (c.window, d.window, d.software) == (131072, None, ServerSoftware.OTHER)


@pytest.mark.slow
def test_a_wrong_address_is_told_before_a_reading_starts(server, acts):
    page = "<html>hello</html>"
    for act in (
        acts.sends({"detail": "Not Found"}, 404),
        acts.sends(page, 404, kind="text/html"),
        acts.sends(page, kind="text/html"),
        acts.sends("pong", kind="text/plain"),
        acts.sends({"status": "ok"}),
    ):
        server.plays(act, route=MODELS)
        with pytest.raises(Unreachable, match="usually ends in /v1"):
            listed(server)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_told_before_a_reading_starts(server, acts, status):
    server.plays(acts.fault(status, "no"), route=MODELS)
    server.plays(acts.fault(status, "no"))
    with pytest.raises(Refused):
        listed(server)


@pytest.mark.parametrize("status", [403, 404, 405])
def test_a_gateway_that_lists_no_models_can_be_read_with(server, acts, status):
    server.plays(acts.fault(status, "no list here"), route=MODELS)
    server.plays(acts.fault(400, "'messages' is required"))
    assert listed(server) == ()


def test_aliases_and_llamas_free_names_find_their_model():
    llama = ServedModel(name="/models/x.gguf", window=2048, owner="llamacpp", aliases=("x",))
    assert find_model([llama], "x", HERE).window == 2048
    assert find_model([llama], "anything", HERE) == ServedModel(
        name="anything", window=2048, owner="llamacpp", aliases=("x",)
    )


def test_a_gateway_may_have_models_that_it_does_not_list():
    assert find_model([ServedModel(name="a", window=9, owner="gate")], "b", HERE) == ServedModel(name="b")


@pytest.mark.slow
def test_the_only_model_needs_no_name_and_several_are_listed(server, acts):
    def only(*names):
        server.plays(acts.sends({"data": [{"id": name} for name in names]}), route=MODELS)
        return asyncio.run(find_only_model(Endpoint.resolve(server.url)))

    assert only("a") == "a"
    with pytest.raises(UnknownModel, match="2 models: a, b"):
        only("a", "b")
    with pytest.raises(UnknownModel, match=r"30 models: 0, .*19, …"):
        only(*map(str, range(30)))
    with pytest.raises(UnknownModel, match="name one with --model"):
        only()


def test_a_server_that_says_nothing_is_given_up_before_the_patience_for_a_reply_ends(server, monkeypatch):
    monkeypatch.setattr(server_models, "_SECONDS_TO_LIST", 0.1)
    server.plays(server.hangs, route=MODELS)
    began = time.monotonic()
    with pytest.raises(TimedOut, match=r"sent nothing for 0\.1 s"):
        listed(server)
    assert time.monotonic() - began < 10


def test_a_server_that_fails_once_is_asked_again_before_anyone_is_told(server, acts):
    async def open_it() -> str:
        connection = Connection(model="m", base_url=server.url)
        async with open_session(connection, configuration=Configuration()) as session:
            return session.model.name

    server.plays(acts.fault(503, "busy"), acts.sends({"data": [{"id": "m"}]}), route=MODELS)
    assert asyncio.run(open_it()) == "m"
    assert len(server.bodies(MODELS)) == 2
    server.plays(acts.fault(401, "no key"), route=MODELS)
    with pytest.raises(Refused):
        asyncio.run(open_it())
    assert len(server.bodies(MODELS)) == 3
