"""Embeddings without a call: the mean of a model's own token embeddings, rare tokens weighing more.

    vector(text) = Σ w(t) · (E[t] - m)      w(t) = a / (a + p(t)), as in SIF (Arora and others, 2017)

E is the input layer of the local model's weights and m the mean of its rows. p is Zipf's law by a token's number:
byte-pair vocabularies list their tokens about in the order of their frequency. Order and context of words do not count,
so it finds little that a search for words would not find.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from bookwheel.errors import MissingAbility

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from bookwheel.models.base import Vector

_TENSOR: Final = "token_embd.weight"
# Chosen on eight questions of HotpotQA; tens of times more or less found less.
_SMOOTHING: Final = 1e-5
# Tokens of a vocabulary's beginning are single bytes and are not in the order of their frequency.
_FIRST: Final = 300
# Every such row makes up the mean; a whole table would take a hundred megabytes.
_MEAN_STEP: Final = 16


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
            rows = self._load(missing) - self._mean
            self._rows.update((token, row * self._weigh(token)) for token, row in zip(missing, rows, strict=True))
        total = sum((self._rows[token] for token in ids), start=0.0 * self._mean)
        values = [float(value) for value in total]
        length = math.sqrt(sum(value * value for value in values))
        return tuple(value / length for value in values) if length else (1.0, *([0.0] * (len(values) - 1)))

    def _weigh(self, token: int) -> float:
        share = 1 / ((max(token, 0) + _FIRST) * math.log(self._size / _FIRST + 1))
        return _SMOOTHING / (_SMOOTHING + share)
