"""Completions of a text and embeddings go to the model; nothing is read."""

from __future__ import annotations

import base64
import struct

import pytest
from loopback_server import Gated
from openai import BadRequestError, OpenAI

from bookwheel.models.base import Embeddings
from bookwheel.models.openai import OpenAIModel
from bookwheel.text.tokens import WordTokenizer
from bookwheel.types import Usage


class Embedding(Gated):
    async def embed(self, texts):
        vectors = tuple((1.0, 0.0) if "gull" in text else (0.0, 1.0) for text in texts)
        return Embeddings(vectors=vectors, usage=Usage(calls=1, prompt_tokens=len(texts)))


@pytest.fixture
def up(serving):
    with serving(Embedding()) as server:
        yield server


@pytest.fixture
def ai(up):
    with OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_a_text_is_completed_by_a_model_of_this_process(up, ai) -> None:
    said = ai.completions.create(model="scripted", prompt="Hello there")
    assert (said.object, said.usage.prompt_tokens) == ("text_completion", 2)
    assert said.choices[0].text
    pieces = list(ai.completions.create(model="scripted", prompt="Hello there", stream=True))
    assert "".join(piece.choices[0].text for piece in pieces if piece.choices) == said.choices[0].text
    assert up.journal.readings() == []
    with pytest.raises(BadRequestError, match="one text at a time"):
        ai.completions.create(model="scripted", prompt=["one", "two"])


def test_a_completion_is_passed_to_an_endpoint_as_it_is(serving, up) -> None:
    model = OpenAIModel(
        name="scripted",
        base_url=f"{up.url}/v1",
        api_key="x",
        window=400,
        plan=up.model.plan,
        tokenizer=WordTokenizer(),
    )
    with serving(model, folder="front") as front, OpenAI(base_url=f"{front.url}/v1", api_key="x") as ai:
        assert ai.completions.create(model="scripted", prompt="Hello there").choices[0].text
        pieces = list(ai.completions.create(model="scripted", prompt="Hello there", stream=True))
        assert "".join(piece.choices[0].text for piece in pieces if piece.choices)
        assert up.model.last_messages[0].content == "Hello there"


def test_embeddings_are_numbers_or_packed_as_the_client_wishes(up, ai) -> None:
    found = ai.embeddings.create(model="scripted", input=["a gull", "a lamp"])
    assert [list(one.embedding) for one in found.data] == [[1.0, 0.0], [0.0, 1.0]]
    assert found.usage.prompt_tokens == 2
    with up.client() as client:
        body = {"model": "scripted", "input": "a gull", "encoding_format": "base64"}
        packed = client.post("/v1/embeddings", json=body).json()["data"][0]["embedding"]
    assert struct.unpack("<2f", base64.b64decode(packed)) == (1.0, 0.0)


def test_a_model_without_embeddings_says_so(serving) -> None:
    with (
        serving() as up,
        OpenAI(base_url=f"{up.url}/v1", api_key="none", max_retries=0) as ai,
        pytest.raises(BadRequestError, match="gives no embeddings"),
    ):
        ai.embeddings.create(model="scripted", input="a gull")
