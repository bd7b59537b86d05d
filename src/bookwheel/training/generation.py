"""Sampling many conversations at once from a causal model, with the exact ids and their log-probabilities.

    x_t ~ softmax(z_t / temperature) cut to the top_p most likely;  the log-probability is that distribution's own

Token ids in, token ids out; nothing of text. A batch is left-padded and decoded in lock-step; prompts that are the
same are read once; rows that have ended leave the batch when half of it has. What a request draws depends on its own
seed and prompt alone, never on its neighbours, so a run can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers import DynamicCache

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One conversation to go on with."""

    prompt: tuple[int, ...]
    limit: int
    """The most tokens that may be sampled."""
    temperature: float = 1.0
    """0 takes the likeliest token."""
    top_p: float = 1.0
    seed: int = 0


@dataclass(slots=True, kw_only=True)
class Sampled:
    """What was drawn; the last id is a stop id unless the limit came first."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    stopped: bool = False


def generate(model: Any, requests: Sequence[Request], *, stop: AbstractSet[int], budget: int = 65536) -> list[Sampled]:
    """What the model says to each request, in the requests' order; `budget` bounds a batch's padded tokens."""
    sampled = [Sampled() for _ in requests]
    with torch.inference_mode():
        for batch in _batches(requests, budget):
            _decode(model, [requests[i] for i in batch], [sampled[i] for i in batch], stop)
    return sampled


def _batches(requests: Sequence[Request], budget: int) -> Iterator[list[int]]:
    """Requests of like length together, longest first."""
    order = sorted(range(len(requests)), key=lambda i: (-len(requests[i].prompt), requests[i].prompt, i))
    batch: list[int] = []
    for i in order:
        if batch:
            longest = len(requests[batch[0]].prompt) + max(requests[j].limit for j in (*batch, i))
            if (len(batch) + 1) * longest > budget:
                yield batch
                batch = []
        batch.append(i)
    if batch:
        yield batch


class _Draw:
    """The dice of a batch: one generator a request, moved along only while its request is decoded."""

    def __init__(self, requests: Sequence[Request], device: torch.device) -> None:
        self.dice = [Random(_mixed(request.seed, request.prompt)) for request in requests]  # noqa: S311 - sampling
        heat = [request.temperature for request in requests]
        self.heat = torch.tensor(heat, device=device)[:, None]
        self.top_p = torch.tensor([request.top_p for request in requests], device=device)[:, None]
        self.cut = any(request.top_p < 1 for request in requests)
        self.greedy = any(heat_ <= 0 for heat_ in heat)

    def keep(self, rows: list[int]) -> None:
        self.dice = [self.dice[row] for row in rows]
        index = torch.tensor(rows, device=self.heat.device)
        self.heat, self.top_p = self.heat[index], self.top_p[index]

    def __call__(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """One token a row, and its log-probability under the distribution it was drawn from."""
        scaled = logits.float() / self.heat.clamp(min=1e-6)
        logprobs = torch.log_softmax(_nucleus(scaled, self.top_p) if self.cut else scaled, dim=-1)
        heights = logprobs.double().exp().cumsum(-1)
        draws = torch.tensor([[dice.random()] for dice in self.dice], dtype=torch.float64, device=logits.device)
        tokens = torch.searchsorted(heights, draws * heights[:, -1:], right=True).clamp(max=logits.shape[-1] - 1)
        if self.greedy:
            tokens = torch.where(self.heat > 0, tokens, logits.argmax(-1, keepdim=True))
        return tokens[:, 0], logprobs.gather(1, tokens)[:, 0]


def _mixed(seed: int, prompt: tuple[int, ...]) -> int:
    """A seed of its own for every prompt: conversations of one rollout must not share their luck."""
    digest = blake2b(repr((seed, prompt)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _nucleus(logits: Tensor, top_p: Tensor) -> Tensor:
    """The logits with all but the most likely tokens that make up `top_p` ruled out."""
    ordered, places = logits.sort(dim=-1, descending=True)
    before = torch.softmax(ordered, dim=-1).cumsum(-1) - torch.softmax(ordered, dim=-1)
    ruled_out = torch.zeros_like(before, dtype=torch.bool).scatter(1, places, before >= top_p)
    return logits.masked_fill(ruled_out, float("-inf"))


def _decode(model: Any, requests: Sequence[Request], sampled: Sequence[Sampled], stop: AbstractSet[int]) -> None:
    """Fill `sampled` in lock-step."""
    draw = _Draw(requests, model.device)
    logits, cache, mask = _prefill(model, requests)
    active = list(range(len(requests)))
    position = mask.sum(-1)
    while True:
        tokens, logprobs = draw(logits)
        for row, token, logprob in zip(active, tokens.tolist(), logprobs.tolist(), strict=True):
            one = sampled[row]
            if not one.stopped and len(one.ids) < requests[row].limit:
                one.ids.append(token)
                one.logprobs.append(logprob)
                one.stopped = token in stop
        going = [
            i
            for i, row in enumerate(active)
            if not sampled[row].stopped and len(sampled[row].ids) < requests[row].limit
        ]
        if not going:
            return
        if len(going) <= len(active) // 2:
            index = torch.tensor(going, device=mask.device)
            cache.batch_select_indices(index)
            tokens, mask, position = tokens[index], mask[index], position[index]
            draw.keep(going)
            active = [active[i] for i in going]
        mask = torch.cat([mask, mask.new_ones(len(active), 1)], dim=1)
        logits = _forward(model, tokens[:, None], mask, position[:, None], cache)
        position = position + 1


def _prefill(model: Any, requests: Sequence[Request]) -> tuple[Tensor, DynamicCache, Tensor]:
    """The logits after each prompt, the cache and the attention mask; the same prompt is read once."""
    distinct = {prompt: i for i, prompt in enumerate(dict.fromkeys(request.prompt for request in requests))}
    longest = max(map(len, distinct))
    ids = torch.zeros(len(distinct), longest, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for prompt, i in distinct.items():
        ids[i, longest - len(prompt) :] = torch.tensor(prompt)
        mask[i, longest - len(prompt) :] = 1
    ids, mask = ids.to(model.device), mask.to(model.device)
    cache = DynamicCache(config=model.config)
    logits = _forward(model, ids, mask, (mask.cumsum(-1) - 1).clamp(min=0), cache)
    if len(distinct) < len(requests):
        index = torch.tensor([distinct[request.prompt] for request in requests], device=model.device)
        cache.batch_select_indices(index)
        logits, mask = logits[index], mask[index]
    return logits, cache, mask


def _forward(model: Any, ids: Tensor, mask: Tensor, positions: Tensor, cache: Any) -> Tensor:
    """The logits of the last position of each row; the cache grows."""
    out = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    logits: Tensor = out.logits[:, -1]
    return logits
