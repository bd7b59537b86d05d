from __future__ import annotations

import asyncio

import pytest

from bookwheel.environment import Environment
from bookwheel.errors import InputError, TokenizerError, UnknownModel, Unreachable
from bookwheel.models.openai import OpenAIModel
from bookwheel.models.registry import open_model
from bookwheel.models.scripted import ScriptedModel


def opened(name, **settings):
    async def run():
        model = await open_model(name, **settings)
        await model.aclose()
        return model

    return asyncio.run(run())


def test_the_scripted_model_has_the_window_that_is_named():
    assert (opened("scripted").window, opened("scripted", window=900).window) == (None, 900)
    opened("scripted", window=4096).plan.check(4096, question=1, template=0)


def test_the_scripted_model_needs_no_server(server):
    assert isinstance(opened("scripted"), ScriptedModel)
    for name in ("scripted", "local", "some.gguf"):
        with pytest.raises(InputError, match="--model and --base-url"):
            opened(name, base_url=server.url)
    assert not server.asked


def test_a_name_without_an_address_is_told_where_to_look(server):
    with pytest.raises(UnknownModel, match="local and scripted need no server") as caught:
        opened("gpt-of-the-future")
    assert "--base-url" in str(caught.value)


def test_an_address_gives_the_model_of_that_name(server, acts, monkeypatch):
    server.plays(acts.sends({"data": [{"id": "a", "max_model_len": 4096}, {"id": "b"}]}), route="/v1/models")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-usual")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    assert opened("a").endpoint.key == "sk-usual"
    assert opened("a", environment=Environment(variables={"OPENAI_BASE_URL": server.url})).endpoint.key is None
    server.asked.clear()
    model = opened("a", timeout=3, concurrency=2, api_key="sk-one")
    assert isinstance(model, OpenAIModel)
    assert (model.name, model.window, model.endpoint.timeout, model.endpoint.key) == ("a", 4096, 3, "sk-one")
    assert server.asked[0][1]["authorization"] == "Bearer sk-one"
    assert {sent["openai-project"] for _, sent, *_ in server.asked} == {"proj-1"}


@pytest.mark.slow
def test_an_address_alone_gives_its_only_model_or_lists_them(server, acts):
    server.plays(acts.sends({"data": [{"id": "a"}]}), route="/v1/models")
    assert opened(None, base_url=server.url, window=99).window == 99
    server.plays(acts.sends({"data": [{"id": "a"}, {"id": "b"}]}), route="/v1/models")
    with pytest.raises(UnknownModel, match="a, b"):
        opened(None, base_url=server.url)


def test_a_wrong_address_is_told_before_a_reading_starts(server):
    with pytest.raises(Unreachable, match="usually ends in /v1"):
        opened("m", base_url=server.root)


def test_a_broken_tokenizer_file_is_told_before_the_server_is_asked(server, tmp_path):
    broken = tmp_path / "tokenizer.json"
    broken.write_text("{}")
    with pytest.raises(TokenizerError, match=r"tokenizer\.json"):
        opened("m", base_url=server.url, tokenizer=broken)
    assert not server.asked
