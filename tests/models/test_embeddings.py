"""Embeddings of an endpoint: in order, in batches, counted, and refused in clear words where there are none."""

from __future__ import annotations

import asyncio
import json

import pytest

from bookwheel.companions import accompany
from bookwheel.errors import BadReply, InputError, MissingAbility, Overloaded
from bookwheel.models.base import embed_texts
from bookwheel.models.embeddings import ServerEmbedder, StaticEmbedder, check_embeddings, measure_similarity
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.gguf import write_gguf
from bookwheel.models.scripted import ScriptedModel

ROUTE = "/v1/embeddings"


def sends_vectors(acts, vectors, **more):
    data = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    return acts.sends({"data": data[::-1], **more})


def embed(server, texts):
    async def work():
        embedder = ServerEmbedder("m", Endpoint.resolve(server.url, timeout=5))
        try:
            return await embedder.embed(texts)
        finally:
            await embedder.aclose()

    return asyncio.run(work())


def test_vectors_come_in_the_order_of_the_texts_and_have_length_one(server, acts):
    server.plays(sends_vectors(acts, [[3.0, 4.0], [0.0, 2.0]], usage={"prompt_tokens": 9}), route=ROUTE)
    found = embed(server, ["one", "two"])
    assert found.vectors == ((0.6, 0.8), (0.0, 1.0))
    assert measure_similarity(*found.vectors) == pytest.approx(0.8)
    assert (found.usage.calls, found.usage.prompt_tokens, found.usage.completion_tokens) == (1, 9, 0)
    assert server.bodies(ROUTE)[0]["input"] == ["one", "two"]


def test_many_texts_go_in_batches(server, acts):
    def act(handler):
        count = len(server.bodies(ROUTE)[-1]["input"])
        sends_vectors(acts, [[1.0, float(count)]] * count)(handler)

    server.plays(act, route=ROUTE)
    found = embed(server, [f"text {at}" for at in range(70)])
    assert len(found.vectors) == 70
    assert sorted(len(body["input"]) for body in server.bodies(ROUTE)) == [6, 32, 32]
    # A server that counts nothing is charged by estimate.
    assert found.usage.calls == 3
    assert found.usage.prompt_tokens >= 140


@pytest.mark.parametrize("status", [404, 405, 501])
def test_an_endpoint_without_embeddings_is_refused_with_advice(server, acts, status):
    server.plays(acts.sends({"detail": "Not Found"}, status), route=ROUTE)
    with pytest.raises(MissingAbility, match="BOOKWHEEL_EMBEDDINGS"):
        embed(server, ["one"])


def test_a_rejection_that_names_embeddings_says_that_there_are_none(server, acts):
    server.plays(acts.fault(400, "The model does not support Embeddings API"), route=ROUTE)
    with pytest.raises(MissingAbility, match="does not support"):
        embed(server, ["one"])


def test_a_busy_server_can_be_asked_again(server, acts):
    server.plays(acts.fault(429, "slow down"), route=ROUTE)
    with pytest.raises(Overloaded):
        embed(server, ["one"])


@pytest.mark.parametrize(("status", "expected"), [(404, False), (429, None)])
def test_a_server_is_asked_whether_it_embeds(server, acts, monkeypatch, status, expected):
    monkeypatch.setenv("BOOKWHEEL_EMBEDDINGS", server.url)
    server.plays(acts.sends({"data": [{"id": "bge", "owned_by": "x"}]}), route="/v1/models")
    server.plays(acts.fault(status, "no"), route=ROUTE)
    assert asyncio.run(check_embeddings(accompany(ScriptedModel(lambda _: "")))) is expected


def test_a_model_that_embeds_is_not_tried_and_one_without_a_server_does_not(monkeypatch):
    monkeypatch.delenv("BOOKWHEEL_EMBEDDINGS", raising=False)
    reader = ScriptedModel(lambda _: "")
    assert asyncio.run(check_embeddings(reader)) is False
    assert asyncio.run(check_embeddings(accompany(reader))) is False

    class Embedding(ScriptedModel):
        async def embed(self, texts):
            raise AssertionError("it was tried")

    assert asyncio.run(check_embeddings(accompany(Embedding(lambda _: "")))) is True


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"data": []},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": [0.0, 0.0]}]},
        {"data": [{"embedding": [1.0]}]},
    ],
    ids=["nothing", "none", "text", "empty", "zero", "no index"],
)
def test_what_is_no_embedding_is_a_bad_reply(server, acts, body):
    server.plays(acts.sends(json.dumps(body)), route=ROUTE)
    with pytest.raises(BadReply):
        embed(server, ["one"])


def test_an_endpoint_of_its_own_is_named_by_address_or_by_the_settings(server, acts, monkeypatch, tmp_path):
    server.plays(acts.sends({"data": [{"id": "bge", "owned_by": "x"}]}), route="/v1/models")
    server.plays(sends_vectors(acts, [[1.0]]), route=ROUTE)
    reader = accompany(ScriptedModel(lambda _: ""))
    monkeypatch.delenv("BOOKWHEEL_EMBEDDINGS", raising=False)
    with pytest.raises(MissingAbility, match="BOOKWHEEL_EMBEDDINGS"):
        asyncio.run(embed_texts(reader, ["one"]))
    monkeypatch.setenv("BOOKWHEEL_EMBEDDINGS", server.url)
    asyncio.run(embed_texts(reader, ["one"]))
    settings = tmp_path / "config.toml"
    settings.write_text(f'[endpoints.near]\nurl = "{server.url}"\nmodel = "e5"\n')
    monkeypatch.setenv("BOOKWHEEL_CONFIG", str(settings))
    monkeypatch.setenv("BOOKWHEEL_EMBEDDINGS", "near")
    asyncio.run(embed_texts(reader, ["one"]))
    assert [body["model"] for body in server.bodies(ROUTE)] == ["bge", "e5"]
    monkeypatch.setenv("BOOKWHEEL_EMBEDDINGS", "nowhere")
    with pytest.raises(InputError, match="nowhere"):
        asyncio.run(embed_texts(reader, ["one"]))


WORDS = ["the", "of", "wheel", "mill", "harbour", "barley"]


def tokenize(text):
    """Frequent words have small numbers, as in a vocabulary of byte pairs."""
    return [number_of(word) for word in text.split()]


def number_of(word):
    return 12 * WORDS.index(word) ** 3


@pytest.fixture
def weights(tmp_path):
    gguf = pytest.importorskip("gguf")
    numpy = pytest.importorskip("numpy")

    def make(name="token_embd.weight"):
        path = tmp_path / f"{name}.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        table = numpy.zeros((1536, 32), dtype=numpy.float32)
        for place, word in enumerate(WORDS):
            table[number_of(word), place] = 1
        table[number_of("barley"), 2] = 1  # barley is a little like the wheel
        writer.add_tensor(name, table)
        write_gguf(writer)
        return path

    return make


def test_a_text_is_nearest_to_one_with_its_rare_words(weights):
    embedder = StaticEmbedder(weights(), tokenize)
    asked = embedder.embed("the wheel")
    near = [measure_similarity(asked, embedder.embed(text)) for text in ("of wheel", "of barley", "the mill", "the of")]
    assert near[0] > near[1] > max(near[2:])
    assert measure_similarity(asked, asked) == pytest.approx(1)


def test_a_text_without_a_token_has_a_vector_too(weights):
    embedder = StaticEmbedder(weights(), tokenize)
    assert sum(value * value for value in embedder.embed("")) == pytest.approx(1)
    assert len(embedder.embed("")) == len(embedder.embed("the wheel")) == 32


def test_weights_without_an_input_layer_are_refused(weights):
    with pytest.raises(MissingAbility, match="BOOKWHEEL_EMBEDDINGS"):
        StaticEmbedder(weights("another"), tokenize)
