"""Sampling many conversations at once from a causal model, with the exact ids and their log-probabilities.

    x_t ~ softmax(z_t / temperature) cut to the top_p most likely;  the log-probability is that distribution's own

Token ids in, token ids out; no text. A batch is decoded in lock-step. What prompts have in common at their beginning is
read once, where the model allows it, and rows that have ended leave the batch when half of it has. What a request draws
depends on its own seed and prompt alone, never on other requests, so a run can be repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from bookwheel.lab.training.sharing import PrefixCache, pad


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """One prompt to continue."""

    prompt: tuple[int, ...]
    limit: int
    """The most tokens to sample."""
    temperature: float = 1.0
    """0 takes the likeliest token."""
    top_p: float = 1.0
    seed: int = 0


@dataclass(slots=True, kw_only=True)
class GenerationResult:
    """The sampled ids; the last one is a stop id unless the limit came first."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    stopped: bool = False


def generate(
    model: Any,
    requests: Sequence[GenerationRequest],
    *,
    stop: AbstractSet[int],
    budget: int = 65536,
    sharing_limit: int = 0,
) -> list[GenerationResult]:
    """Return one result for each request, in order.

    `budget` bounds the padded tokens of a batch; conversations of at most `sharing_limit` tokens share prefixes.
    """
    results = [GenerationResult() for _ in requests]
    can_share = all(len(request.prompt) + request.limit <= sharing_limit for request in requests)
    with torch.inference_mode():
        for batch in _split_batches(requests, budget, by_prefix=can_share):
            asked = [requests[i] for i in batch]
            prompts = [request.prompt for request in asked]
            logits, cache = (PrefixCache if can_share else PaddedCache).read(model, prompts)
            _decode(asked, [results[i] for i in batch], logits, cache, stop)
    return results


def _split_batches(requests: Sequence[GenerationRequest], budget: int, *, by_prefix: bool) -> Iterator[list[int]]:
    """Yield batches of requests that begin alike, or else of similar length."""
    order = sorted(
        range(len(requests)), key=lambda i: (0 if by_prefix else -len(requests[i].prompt), requests[i].prompt, i)
    )
    batch: list[int] = []
    for i in order:
        longest = max(len(requests[j].prompt) for j in (*batch, i)) + max(requests[j].limit for j in (*batch, i))
        if batch and (len(batch) + 1) * longest > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _decode(
    requests: Sequence[GenerationRequest],
    results: Sequence[GenerationResult],
    logits: Tensor,
    cache: PaddedCache | PrefixCache,
    stop: AbstractSet[int],
) -> None:
    """Sample all requests in lock-step and fill their results."""
    sampler = _TokenSampler(requests, logits.device)
    active = list(range(len(requests)))
    while True:
        tokens, logprobs = sampler(logits)
        going = []
        for i, (row, token, logprob) in enumerate(zip(active, tokens.tolist(), logprobs.tolist(), strict=True)):
            result = results[row]
            if not result.stopped and len(result.ids) < requests[row].limit:
                result.ids.append(token)
                result.logprobs.append(logprob)
                result.stopped = token in stop
            if not result.stopped and len(result.ids) < requests[row].limit:
                going.append(i)
        if not going:
            return
        # Selecting rows copies the cache, so it waits until half of the batch has ended.
        if len(going) <= len(active) // 2:
            index = torch.tensor(going, device=tokens.device)
            cache.select(index)
            tokens = tokens[index]
            sampler.select(going)
            active = [active[i] for i in going]
        logits = cache.extend(tokens)


class PaddedCache:
    """The attention states of every row, padded on the left, for any model; equal prompts are read once."""

    def __init__(self, model: Any, cache: DynamicCache, mask: Tensor) -> None:
        self._model = model
        self._cache = cache
        self._mask = mask

    @classmethod
    def read(cls, model: Any, prompts: Sequence[tuple[int, ...]]) -> tuple[Tensor, PaddedCache]:
        """Return the logits after each prompt, and the cache."""
        distinct = {prompt: i for i, prompt in enumerate(dict.fromkeys(prompts))}
        ids, mask = (one.to(model.device).long() for one in pad(list(distinct), left=True))
        cache = cls(model, DynamicCache(config=model.config), mask)
        logits = cache._forward(ids, (mask.cumsum(-1) - 1).clamp(min=0))
        if len(distinct) < len(prompts):
            index = torch.tensor([distinct[prompt] for prompt in prompts], device=model.device)
            cache.select(index)
            logits = logits[index]
        return logits, cache

    def extend(self, tokens: Tensor) -> Tensor:
        """Return the logits after one more token a row."""
        positions = self._mask.sum(-1)
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(tokens), 1)], dim=1)
        return self._forward(tokens[:, None], positions[:, None])

    def select(self, index: Tensor) -> None:
        """Drop all rows but these; the states are copied."""
        self._cache.batch_select_indices(index)
        self._mask = self._mask[index]

    def _forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        out = self._model(
            input_ids=ids,
            attention_mask=self._mask,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: Tensor = out.logits[:, -1]
        return logits


class _TokenSampler:
    """Draws the next token of every request; each has a random generator of its own."""

    def __init__(self, requests: Sequence[GenerationRequest], device: torch.device) -> None:
        self._generators = [Random(mix_seed(request.seed, request.prompt)) for request in requests]  # noqa: S311 - sampling
        temperatures = [request.temperature for request in requests]
        self._temperature = torch.tensor(temperatures, device=device)[:, None]
        self._top_p = torch.tensor([request.top_p for request in requests], device=device)[:, None]
        self._has_top_p = any(request.top_p < 1 for request in requests)
        self._has_greedy = min(temperatures) <= 0

    def select(self, rows: list[int]) -> None:
        self._generators = [self._generators[row] for row in rows]
        index = torch.tensor(rows, device=self._temperature.device)
        self._temperature, self._top_p = self._temperature[index], self._top_p[index]

    def __call__(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Return one token a row, and its log-probability under the distribution it was drawn from."""
        scaled = logits.float() / self._temperature.clamp(min=1e-6)
        if self._has_top_p:
            # Only the most likely tokens, which together reach top_p, stay possible.
            ordered, places = scaled.sort(dim=-1, descending=True)
            shares = torch.softmax(ordered, dim=-1)
            is_outside = shares.cumsum(-1) - shares >= self._top_p
            scaled = scaled.masked_fill(torch.zeros_like(is_outside).scatter(1, places, is_outside), -torch.inf)
        logprobs = torch.log_softmax(scaled, dim=-1)
        # In float32 the last bits of a long sum would decide between tokens.
        cumulative = logprobs.double().exp().cumsum(-1)
        draws = torch.tensor(
            [[generator.random()] for generator in self._generators], dtype=torch.float64, device=logits.device
        )
        tokens = torch.searchsorted(cumulative, draws * cumulative[:, -1:], right=True)
        tokens = tokens.clamp(max=logits.shape[-1] - 1)
        if self._has_greedy:
            tokens = torch.where(self._temperature > 0, tokens, logits.argmax(-1, keepdim=True))
        return tokens[:, 0], logprobs.gather(1, tokens)[:, 0]


def mix_seed(seed: int, prompt: tuple[int, ...]) -> int:
    """Return a seed for this prompt: conversations of one rollout must not repeat each other's draws."""
    digest = blake2b(repr((seed, prompt)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")
