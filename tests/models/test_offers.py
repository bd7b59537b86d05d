"""What a model offers is found by trying, and a server that promises and does not deliver offers nothing."""

from __future__ import annotations

import asyncio

import pytest

from bookwheel.errors import Unreachable
from bookwheel.models.base import Ability
from bookwheel.models.offers import find_offers, list_abilities
from bookwheel.models.openai import OpenAIModel
from bookwheel.models.scripted import ScriptedModel, keyword_judge, keyword_likelihood, keyword_reader

MODELS = "/v1/models"
VLLM = {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]}
OTHER = {"data": [{"id": "m", "owned_by": "somebody"}]}


def listed(**logprobs: float):
    entries = [{"token": token, "logprob": value} for token, value in logprobs.items()]
    return {"logprobs": {"content": [{"token": "x", "logprob": -1.0, "top_logprobs": entries}]}}


def probe(model) -> dict[str, bool | None]:
    async def work():
        try:
            return await find_offers(model)
        finally:
            await model.aclose()

    return {str(offer.kind): offer.is_offered for offer in asyncio.run(work())}


def test_a_scripted_model_offers_what_it_was_given():
    model = ScriptedModel(keyword_reader, judge=keyword_judge, likelihood=keyword_likelihood, window=900)
    assert probe(model) == {"judge": True, "likelihood": True, "token ids": False, "tokenizer": True, "window": True}
    assert probe(ScriptedModel(keyword_reader))["judge"] is False


def test_a_plain_server_offers_nothing_but_replies(server, acts):
    server.plays(acts.sends(OTHER), route=MODELS)
    server.plays(acts.sends(acts.completion("Yes")))
    found = probe(OpenAIModel(name="m", base_url=server.url, record_tokens=True, timeout=5))
    assert found == {
        "judge": False,
        "likelihood": False,
        "token ids": False,
        "tokenizer": False,
        "window": None,
        "prefix cache": None,
        "embeddings": False,
        "pictures": False,
    }


@pytest.mark.slow
def test_a_server_that_tells_the_colour_of_a_picture_sees(server, acts):
    server.plays(acts.sends(OTHER), route=MODELS)
    server.plays(acts.sends(acts.completion("Red.")))
    assert probe(OpenAIModel(name="m", base_url=server.url, timeout=5))["pictures"] is True


@pytest.mark.slow
def test_a_server_that_begins_to_think_cannot_judge(server, acts):
    server.plays(acts.sends(OTHER), route=MODELS)
    server.plays(acts.sends(acts.completion("<think>", choice=listed(**{"<think>": -0.01, "Well": -6.0}))))
    assert probe(OpenAIModel(name="m", base_url=server.url, timeout=5))["judge"] is False


@pytest.mark.slow
def test_software_that_promises_likelihoods_is_believed_only_when_it_sends_them(server, acts):
    server.plays(acts.sends(VLLM), route=MODELS)
    server.plays(acts.sends({"tokens": [5, 6]}), route="/tokenize")
    server.plays(acts.sends(acts.completion("Yes", choice=listed(Yes=-0.2, No=-2.0))))
    model = OpenAIModel(name="m", base_url=server.url, timeout=5)
    assert asyncio.run(model.abilities()) == set(Ability)
    found = probe(OpenAIModel(name="m", base_url=server.url, timeout=5))
    assert (found["judge"], found["likelihood"]) == (True, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "is_offered"),
    [
        ({"usage": {"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 896}}}, True),
        ({"usage": {"prompt_tokens": 900, "prompt_tokens_details": {"cached_tokens": 0}}}, False),
        ({"usage": {"prompt_tokens": 900, "prompt_tokens_details": None}}, None),
        ({"timings": {"cache_n": 880}}, True),
    ],
)
def test_a_prefix_cache_is_what_the_second_of_two_calls_reports(server, acts, more, is_offered):
    server.plays(acts.sends(OTHER), route=MODELS)
    server.plays(acts.sends({**acts.completion("OK"), **more}))
    assert probe(OpenAIModel(name="m", base_url=server.url, timeout=5))["prefix cache"] is is_offered
    first, second = [body for body in server.bodies() if len(body["messages"][0]["content"]) > 1000]
    assert first == second


@pytest.mark.slow
def test_embeddings_are_found_where_they_are(server, acts):
    server.plays(acts.sends(OTHER), route=MODELS)
    server.plays(acts.sends(acts.completion("Yes")))
    server.plays(acts.sends({"data": [{"index": 0, "embedding": [1.0, 2.0]}]}), route="/v1/embeddings")
    assert probe(OpenAIModel(name="m", base_url=server.url, timeout=5))["embeddings"] is True


def test_a_server_that_is_away_is_an_error_and_not_a_no(server):
    server.plays(server_cut)
    with pytest.raises(Unreachable):
        probe(OpenAIModel(name="m", base_url=server.url, timeout=5))


def server_cut(handler) -> None:
    handler.connection.close()
    handler.close_connection = True


def test_only_offers_that_hold_count_as_abilities():
    model = ScriptedModel(keyword_reader, judge=keyword_judge)
    assert list_abilities(asyncio.run(find_offers(model))) == {Ability.JUDGE}
