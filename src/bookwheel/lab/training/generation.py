"""Sampling many conversations at once from a causal model, with the exact ids and their log-probabilities.

    x_t ~ softmax(z_t / temperature) cut to the top_p most likely;  the log-probability is that distribution's own

Token ids in, token ids out; no text. A batch is decoded in lock-step. What prompts have in common at their beginning is
read once, where the model allows it, and rows that have ended leave the batch when half of it has. What a request draws
depends on its own seed and prompt alone, never on other requests, so a run can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import TYPE_CHECKING, Any

import torch

from bookwheel.lab.training.caches import PaddedCache, PrefixCache, ReplyCache

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from torch import Tensor


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
            _decode(model, [requests[i] for i in batch], [results[i] for i in batch], stop, can_share=can_share)
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
        """Drop all rows but these."""
        self._generators = [self._generators[row] for row in rows]
        index = torch.tensor(rows, device=self._temperature.device)
        self._temperature, self._top_p = self._temperature[index], self._top_p[index]

    def __call__(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Return one token a row, and its log-probability under the distribution it was drawn from."""
        scaled = logits.float() / self._temperature.clamp(min=1e-6)
        kept = _mask_outside_nucleus(scaled, self._top_p) if self._has_top_p else scaled
        logprobs = torch.log_softmax(kept, dim=-1)
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


def _mask_outside_nucleus(logits: Tensor, top_p: Tensor) -> Tensor:
    """Return the logits with only the most likely tokens, which together reach `top_p`, left possible."""
    ordered, places = logits.sort(dim=-1, descending=True)
    before = torch.softmax(ordered, dim=-1).cumsum(-1) - torch.softmax(ordered, dim=-1)
    excluded = torch.zeros_like(before, dtype=torch.bool).scatter(1, places, before >= top_p)
    return logits.masked_fill(excluded, float("-inf"))


def _decode(
    model: Any,
    requests: Sequence[GenerationRequest],
    results: Sequence[GenerationResult],
    stop: AbstractSet[int],
    *,
    can_share: bool,
) -> None:
    """Sample all requests in lock-step and fill their results."""
    sampler = _TokenSampler(requests, model.device)
    kind: type[ReplyCache] = PrefixCache if can_share else PaddedCache
    logits, cache = kind.read(model, [request.prompt for request in requests])
    active = list(range(len(requests)))
    while True:
        tokens, logprobs = sampler(logits)
        for row, token, logprob in zip(active, tokens.tolist(), logprobs.tolist(), strict=True):
            result = results[row]
            if not result.stopped and len(result.ids) < requests[row].limit:
                result.ids.append(token)
                result.logprobs.append(logprob)
                result.stopped = token in stop
        going = [
            i
            for i, row in enumerate(active)
            if not results[row].stopped and len(results[row].ids) < requests[row].limit
        ]
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
