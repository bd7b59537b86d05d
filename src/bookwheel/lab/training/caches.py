"""The attention states of prompts and replies while replies are sampled.

    PaddedCache    every row has all of its states, padded on the left; for any model
    PrefixCache    what prompts share is kept once for a family of rows, and only the rest grows:

        softmax(q [K_family | K_row]) [V_family | V_row]

Both begin with the logits after each prompt, and give those after one more token a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

import torch
from transformers import DynamicCache

from bookwheel.lab.training.trie_attention import gather_rows, packed_inputs
from bookwheel.lab.training.tries import PackedRows, pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


class ReplyCache(Protocol):
    """The rows that are being sampled."""

    @classmethod
    def read(cls, model: Any, prompts: Sequence[tuple[int, ...]]) -> tuple[Tensor, Self]:
        """Return the logits after each prompt, and the cache."""
        ...

    def extend(self, tokens: Tensor) -> Tensor:
        """Return the logits after one more token a row."""
        ...

    def select(self, index: Tensor) -> None:
        """Drop all rows but these."""
        ...


class PaddedCache:
    """All states of every row; equal prompts are read once."""

    def __init__(self, model: Any, cache: DynamicCache, mask: Tensor) -> None:
        self._model = model
        self._cache = cache
        self._mask = mask

    @classmethod
    def read(cls, model: Any, prompts: Sequence[tuple[int, ...]]) -> tuple[Tensor, Self]:
        """Return the logits after each prompt, and the cache."""
        distinct = {prompt: i for i, prompt in enumerate(dict.fromkeys(prompts))}
        ids, mask = (one.to(model.device) for one in _pad_left(list(distinct)))
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


class PrefixCache:
    """The states that a family of rows shares, once, and the own states of each row."""

    def __init__(self, model: Any, cache: DynamicCache, packed: PackedRows) -> None:
        """Take the states of packed prompts apart."""
        self._model = model
        self._layers: list[Any] = list(cache.layers)
        families = packed.families()
        prefixes, seen = _pad_left([packed.paths[rows[0]][:common] for rows, common in families])
        own: list[tuple[int, ...]] = [()] * len(packed.paths)
        family = [0] * len(own)
        for i, (rows, common) in enumerate(families):
            for row in rows:
                own[row], family[row] = packed.paths[row][common:], i
        device = model.device
        places, mask = (one.to(device) for one in _pad_left(own))
        prefixes = prefixes.to(device)
        self._prefixes = [(gather_rows(one.keys, prefixes), gather_rows(one.values, prefixes)) for one in self._layers]
        for layer in self._layers:
            layer.keys, layer.values = gather_rows(layer.keys, places), gather_rows(layer.values, places)
        self._cache, self._mask, self._seen = cache, mask, seen.to(device).bool()
        self._positions = torch.tensor([len(path) for path in packed.paths], device=device)
        self._group(torch.tensor(family, device=device))

    @classmethod
    def read(cls, model: Any, prompts: Sequence[tuple[int, ...]]) -> tuple[Tensor, Self]:
        """Return the logits after each prompt, and the cache."""
        packed = pack(prompts)
        # Without the configuration no layer forgets what lies outside its window: every row fits into it.
        cache = DynamicCache()
        ends = torch.tensor([path[-1] for path in packed.paths], device=model.device)
        inputs = packed_inputs(packed, model.device)
        out = model(**inputs, past_key_values=cache, use_cache=True, logits_to_keep=ends)
        return out.logits[0], cls(model, cache, packed)

    def extend(self, tokens: Tensor) -> Tensor:
        """Return the logits after one more token a row."""
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(tokens), 1)], dim=1)
        out = self._model(
            input_ids=tokens[:, None],
            attention_mask=self._mask,
            position_ids=self._positions[:, None],
            past_key_values=self._cache,
            use_cache=True,
            attention=self,
        )
        self._positions = self._positions + 1
        logits: Tensor = out.logits[:, -1]
        return logits

    def select(self, index: Tensor) -> None:
        """Drop all rows but these, and the families of which none is left."""
        for layer in self._layers:
            layer.keys, layer.values = layer.keys[index], layer.values[index]
        self._mask, self._positions = self._mask[index], self._positions[index]
        left, family = torch.unique(self._family[index], return_inverse=True)
        if len(left) < len(self._seen):
            self._prefixes = [(keys[left], values[left]) for keys, values in self._prefixes]
            self._seen = self._seen[left]
        self._group(family)

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        mask: Tensor | None,
        layer: int,
        scaling: float | None,
        **_: Any,
    ) -> Tensor:
        """Return the output for one query a row, over its family's states and its own."""
        keys, values = self._prefixes[layer]
        scale = scaling or query.shape[-1] ** -0.5
        # The query heads that share a head of keys stand together: (rows, heads of keys, queries, size).
        query = scale * query.reshape(len(query), key.shape[1], -1, query.shape[-1])
        shared = self._by_family(query) @ keys.transpose(-1, -2)
        shared = shared.masked_fill(~self._seen[:, None, None], -torch.inf)
        own = query @ key.transpose(-1, -2)
        own = own if mask is None else own.masked_fill(~mask, -torch.inf)
        weights = torch.cat([self._by_row(shared), own], dim=-1).float().softmax(-1).to(value.dtype)
        to_shared, to_own = weights[..., : keys.shape[-2]], weights[..., keys.shape[-2] :]
        output: Tensor = self._by_row(self._by_family(to_shared) @ values) + to_own @ value
        return output.flatten(1, 2)[:, None]

    def _group(self, family: Tensor) -> None:
        """Note of every row its family and its place in it; families are padded to the largest."""
        counts = torch.bincount(family)
        order = torch.argsort(family, stable=True)
        first = counts.cumsum(0) - counts
        place = torch.arange(len(family), device=family.device) - first[family[order]]
        self._family = family
        self._places = torch.empty_like(family)
        self._places[order] = family[order] * counts.max() + place
        self._members = family.new_zeros(len(counts), int(counts.max()))
        self._members.view(-1)[self._places] = torch.arange(len(family), device=family.device)

    def _by_family(self, rows: Tensor) -> Tensor:
        """Return (rows, heads, queries, n) as (families, heads, members * queries, n)."""
        return rows[self._members].transpose(1, 2).flatten(2, 3)

    def _by_row(self, families: Tensor) -> Tensor:
        """Return the inverse of `_by_family`."""
        count, heads, _, size = families.shape
        members = families.reshape(count, heads, self._members.shape[1], -1, size).transpose(1, 2)
        return members.flatten(0, 1)[self._places]


def _pad_left(sequences: Sequence[tuple[int, ...]]) -> tuple[Tensor, Tensor]:
    """Return the sequences in one tensor, and a mask of the same shape: 1 where a token stands."""
    longest = max(map(len, sequences))
    padded = torch.tensor([(0,) * (longest - len(one)) + one for one in sequences], dtype=torch.long)
    lengths = torch.tensor([[len(one)] for one in sequences])
    return padded, (torch.arange(longest) >= longest - lengths).long()
