"""Attention over packed rows: every token sees its own row and nothing else.

    roots       queries 0..n of a row             over keys 0..n            causal
    branches    the tokens that a row adds        over its whole path       key j <= shared + query i

These calls of scaled_dot_product_attention replace the model's own in every layer, and positions count along each row.
Everything else in a transformer works on one token at a time, so it needs to know nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from bookwheel.lab.training.tries import PackedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCall:
    """Some rows of a pack, padded on the right; the padding of keys is masked, that of queries dropped."""

    queries: Tensor
    keys: Tensor
    mask: Tensor | None
    """None where every row is a root: then the call is causal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrieAttention:
    """The attention of packed rows, on one device; the same calls in every layer."""

    calls: tuple[AttentionCall, ...]
    places: Tensor
    """Of each packed token in the flattened output of all calls."""

    @classmethod
    def plan(cls, packed: PackedRows, device: torch.device) -> TrieAttention:
        """Return the calls that the packed rows need."""
        calls: list[AttentionCall] = []
        places = torch.empty(len(packed.ids), dtype=torch.long)
        width = 0
        for rows in packed.attention_calls():
            shared = torch.tensor([packed.shared[row] for row in rows])
            keys, _ = pad_right([packed.paths[row] for row in rows])
            queries, is_query = pad_right([packed.paths[row][packed.shared[row] :] for row in rows])
            places[queries[is_query]] = is_query.flatten().nonzero()[:, 0] + width
            width += queries.numel()
            mask = _see_paths(shared, queries.shape[1], keys.shape[1]).to(device) if shared.any() else None
            calls.append(AttentionCall(queries=queries.to(device), keys=keys.to(device), mask=mask))
        return cls(calls=tuple(calls), places=places.to(device))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, *, scaling: float | None, **_: Any) -> Tensor:
        """Return the output for the one sequence of all packed tokens."""
        outputs = [
            _attend_rows(
                gather_rows(query, call.queries),
                gather_rows(key, call.keys),
                gather_rows(value, call.keys),
                call.mask,
                scaling,
            )
            for call in self.calls
        ]
        flat = torch.cat([output.transpose(1, 2).flatten(0, 1) for output in outputs])
        return flat.index_select(0, self.places)[None]


def _attend_rows(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float | None) -> Tensor:
    rows, heads, length, size = query.shape
    groups = key.shape[1]
    if mask is None:
        return scaled_dot_product_attention(query, key, value, is_causal=True, scale=scale, enable_gqa=heads > groups)
    # The queries that share a head of keys stand below each other, so that keys and values are not repeated.
    stacked = query.reshape(rows, groups, -1, size)
    masks = mask.repeat(1, 1, heads // groups, 1)
    output = scaled_dot_product_attention(stacked, key, value, attn_mask=masks, scale=scale)
    return output.reshape(rows, heads, length, -1)


def _see_paths(shared: Tensor, queries: int, keys: int) -> Tensor:
    """Return the mask of a call: query i of a row stands at shared + i, and keys stand in the row's order."""
    mask = torch.arange(keys) <= shared[:, None, None] + torch.arange(queries)[:, None]
    return mask[:1, None] if (shared == shared[0]).all() else mask[:, None]


def pad_right(sequences: Sequence[tuple[int, ...]]) -> tuple[Tensor, Tensor]:
    """Return the sequences in one tensor, and where it holds them."""
    longest = max(map(len, sequences))
    lengths = torch.tensor([[len(one)] for one in sequences])
    padded = torch.tensor([one + (0,) * (longest - len(one)) for one in sequences], dtype=torch.long)
    return padded, torch.arange(longest) < lengths


def gather_rows(states: Tensor, places: Tensor) -> Tensor:
    """Return states of one sequence (1, heads, tokens, size) by rows (rows, heads, length, size)."""
    tokens = states.transpose(1, 2)[0]
    rows = tokens.index_select(0, places.flatten()).reshape(*places.shape, *tokens.shape[1:])
    return rows.transpose(1, 2)


def packed_inputs(packed: PackedRows, device: torch.device) -> dict[str, Any]:
    """Return the arguments with which a model reads packed rows."""
    return {
        "input_ids": torch.tensor([packed.ids], device=device),
        "position_ids": torch.tensor([packed.positions], device=device),
        # A mask of four dimensions is taken as it is; without one, a square over all packed tokens would be made.
        "attention_mask": torch.empty(1, 1, 0, 0, device=device),
        "attention": TrieAttention.plan(packed, device),
    }
