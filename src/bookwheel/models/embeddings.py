"""Embeddings: vectors of texts from an OpenAI-compatible endpoint, or from the input layer of local weights.

    embedder = ServerEmbedder("BAAI/bge-m3", Endpoint.resolve("http://localhost:8001/v1"))
    embeddings = await embedder.embed(["Ada wound the clock.", "Rain fell."])

Chat models rarely embed well and most servers offer `/v1/embeddings` for embedding models only, so an embedder can be a
companion of the model that reads (`Companions` in models/accompanied.py). Without a call:

    vector(text) = Σ w(t) · (E[t] - m)      w(t) = a / (a + p(t)), as in SIF (Arora and others, 2017)

E is the input layer of the local model's weights and m the mean of its rows. p is Zipf's law by a token's number:
byte-pair vocabularies list their tokens about in the order of their frequency. Order and context of words do not count,
so it finds little that a search for words would not find.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from math import isfinite, log, sqrt
from operator import mul
from pathlib import Path
from typing import Any, Final

from bookwheel.errors import BadReply, InputError, MissingAbility, ModelError, Rejected, UnknownModel
from bookwheel.models.base import EmbeddingModel, Embeddings, Model, Vector, embed_texts, missing_embeddings, unwrap
from bookwheel.models.completion import as_mapping, settle_usage
from bookwheel.models.endpoint import Endpoint
from bookwheel.models.server_errors import is_missing_route
from bookwheel.text.tokens import replace_surrogates
from bookwheel.types import Usage

# Servers bound the texts of a request: OpenAI takes 2,048, text-embeddings-inference 32.
BATCH: Final = 32
"""Texts of one request."""
_CALLS_AT_ONCE: Final = 4
_TENSOR: Final = "token_embd.weight"
# Chosen on eight questions of HotpotQA; tens of times more or less found less.
_SMOOTHING: Final = 1e-5
# Tokens of a vocabulary's beginning are single bytes and are not in the order of their frequency.
_FIRST: Final = 300
# Every such row makes up the mean; a whole table would take a hundred megabytes.
_MEAN_STEP: Final = 16


async def check_embeddings(model: Model) -> bool | None:
    """Return whether `embed_texts` gives any, by one short call to a server; None where it is away."""
    inner = unwrap(model)
    if isinstance(inner, EmbeddingModel) and not hasattr(inner, "endpoint"):
        return True
    try:
        await embed_texts(model, ["Is water wet?"])
    except ModelError as error:
        return None if error.is_passing else False
    except InputError:  # BOOKWHEEL_EMBEDDINGS leads nowhere
        return False
    return True


class ServerEmbedder:
    """An embedding model behind an endpoint."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        self.name = name
        self.endpoint = endpoint
        self._client = endpoint.open_client()
        self._slots = asyncio.Semaphore(_CALLS_AT_ONCE)

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return a vector for each text. Raise MissingAbility if the endpoint has no embeddings."""
        batches = [texts[at : at + BATCH] for at in range(0, len(texts), BATCH)]
        embedded = await asyncio.gather(*map(self._embed_batch, batches))
        usage = sum((one.usage for one in embedded), Usage())
        return Embeddings(vectors=tuple(vector for one in embedded for vector in one.vectors), usage=usage)

    async def _embed_batch(self, texts: Sequence[str]) -> Embeddings:
        body = {"model": self.name, "input": [replace_surrogates(text) for text in texts], "encoding_format": "float"}
        async with self._slots:
            started = time.perf_counter()
            try:
                reply = await self._client.ask("/embeddings", body, self.name)
            except ModelError as error:
                # vLLM and gateways have no such route for chat models (404, 405); llama.cpp and Ollama say 501 and 500.
                is_refusal = isinstance(error, Rejected) and "embedding" in str(error).casefold()
                if is_missing_route(error) or isinstance(error, UnknownModel) or is_refusal:
                    missing = missing_embeddings(f"{self.name} at {self.endpoint.display_url}")
                    raise MissingAbility(f"{missing} ({error})") from error
                raise
        vectors = self._parse_vectors(reply, len(texts))
        return Embeddings(vectors=vectors, usage=settle_usage(as_mapping(reply), texts, started))

    def _parse_vectors(self, reply: object, count: int) -> tuple[Vector, ...]:
        data = reply.get("data") if isinstance(reply, dict) else None
        if not isinstance(data, list) or len(data) != count:
            raise BadReply(f"{self.endpoint.display_url} did not send {count} embeddings")
        try:
            ordered = sorted(data, key=lambda entry: int(entry["index"]))
            vectors = tuple(_normalize([float(value) for value in entry["embedding"]]) for entry in ordered)
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            raise BadReply(f"{self.endpoint.display_url} sent embeddings that are no lists of numbers") from error
        if len({len(vector) for vector in vectors}) > 1:
            raise BadReply(f"{self.endpoint.display_url} sent embeddings of different lengths")
        return vectors

    async def aclose(self) -> None:
        await self._client.close()


def measure_similarity(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors of length 1."""
    return float(sum(map(mul, one, other)))


def _normalize(values: Sequence[float]) -> Vector:
    length = sqrt(sum(map(mul, values, values)))
    if not values or not isfinite(length) or not length:
        raise ValueError("a vector without a direction")
    return tuple(value / length for value in values)


class StaticEmbedder:
    """Texts to vectors by the input layer of a .gguf file."""

    def __init__(self, path: Path, tokenize: Callable[[str], Sequence[int]]) -> None:
        """Map the file; rows are read when their tokens occur."""
        from gguf import GGUFReader, dequantize

        tensor = next((one for one in GGUFReader(path).tensors if one.name == _TENSOR), None)
        if tensor is None:
            raise MissingAbility(f"{path} has no input layer to embed with: set BOOKWHEEL_EMBEDDINGS to an endpoint")
        self._tokenize = tokenize
        self._load: Callable[[Sequence[int] | slice], Any] = lambda rows: dequantize(
            tensor.data[rows], tensor.tensor_type
        )
        self._size = len(tensor.data)
        self._mean = self._load(slice(None, None, _MEAN_STEP)).mean(axis=0)
        self._rows: dict[int, Any] = {}

    def embed(self, text: str) -> Vector:
        """Return a vector of length 1; one without a token points nowhere in particular."""
        ids = self._tokenize(text)
        missing = sorted({token for token in ids if token not in self._rows})
        if missing:
            rows, spread = self._load(missing) - self._mean, log(self._size / _FIRST + 1)
            shares = (1 / ((max(token, 0) + _FIRST) * spread) for token in missing)
            weighed = (row * (_SMOOTHING / (_SMOOTHING + share)) for row, share in zip(rows, shares, strict=True))
            self._rows.update(zip(missing, weighed, strict=True))
        total = sum((self._rows[token] for token in ids), start=0.0 * self._mean)
        values = [float(value) for value in total]
        return _normalize(values) if any(values) else (1.0, *([0.0] * (len(values) - 1)))
