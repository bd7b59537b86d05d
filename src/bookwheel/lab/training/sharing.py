"""Reading rows together: what they have in common at their beginning goes through the model once.

Every token of packed rows (rows.py) sees its own row and nothing else. These calls of scaled_dot_product_attention
replace the model's own in every layer, through transformers' attention interface, and positions count along each row:

    roots       queries 0..n of a row             over keys 0..n            causal
    branches    the tokens that a row adds        over its whole path       key j <= shared + query i

While replies are sampled, a family of rows keeps the states of what its prompts share once, and only the rest grows:

    softmax(q [K_family | K_row]) [V_family | V_row]

Everything else in a transformer works on one token at a time. Models in which something else looks from token to token
(convolutions, recurrent layers, position biases), or that keep the call from us, would give other states than for plain
rows. So it is tried before it is relied on: a few rows are read both ways, and a decoding step is made both ways. Rows
longer than a sliding window are always read plainly.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface, DynamicCache
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from bookwheel.lab.training.rows import PackedRows, pack

_log: Final = logging.getLogger(__name__)
_NAME: Final = "bookwheel"
# Rows that branch twice and end where others go on; any model has as many tokens.
_PROOF: Final = ((3, 1, 4, 1, 5, 9, 2), (3, 1, 4, 1, 6), (3, 1, 4, 1, 6, 5, 3), (3, 1, 7, 7, 2, 9), (2, 7, 1, 8))


class _Attention(Protocol):
    """What a call of the model brings to attend in its own way."""

    def attend(self, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        """Return the output as (batch, tokens, heads, size)."""
        ...


def enable_sharing(model: Any) -> int:
    """Let the model read rows together, and return the longest row for which that is proven; 0 if it is not."""
    limit = replace_attention(model)
    if limit and not is_sharing_proven(model, model.device, decodes=True):
        model.set_attn_implementation("sdpa")
        return 0
    return limit


def replace_attention(model: Any) -> int:
    """Have the model call our attention, and return the longest row that no window cuts; 0 if it keeps its own."""
    settings = model.config.get_text_config()
    windows = [getattr(settings, name, None) for name in ("sliding_window", "attention_chunk_size")]
    # Some configurations name a window that no layer uses.
    if set(getattr(settings, "layer_types", None) or ("unknown",)) == {"full_attention"}:
        windows = []
    limit = min((int(window) for window in windows if window), default=sys.maxsize)
    present = model.config._attn_implementation  # noqa: SLF001 - transformers has no public name for it
    if present not in {"sdpa", _NAME} or limit < max(map(len, _PROOF)):
        return 0
    AttentionInterface.register(_NAME, _attend)
    AttentionMaskInterface.register(_NAME, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])
    model.set_attn_implementation(_NAME)
    return limit


@torch.no_grad()
def is_sharing_proven(model: Any, device: torch.device, *, decodes: bool) -> bool:
    """Tell if the logits after packed rows are those of plain rows; with `decodes`, after one more token too.

    Of each token, the largest difference relative to the size of its logits counts.
    """
    packed = pack(_PROOF)
    try:
        together = model(**packed_inputs(packed, device), use_cache=False).logits[0]
        plain = [model(input_ids=torch.tensor([row], device=device), use_cache=False).logits[0] for row in _PROOF]
        pairs = [(together[list(path)], one) for path, one in zip(packed.paths, plain, strict=True)]
        if decodes:
            _, cache = PrefixCache.read(model, [row[:-1] for row in _PROOF])
            step = cache.extend(torch.tensor([row[-1] for row in _PROOF], device=device))
            pairs.append((step, torch.stack([one[-1] for one in plain])))
    except Exception as reason:  # noqa: BLE001 - a model that cannot take packed rows fails in its own way
        _log.info("%s reads every row by itself: it fails on packed rows (%r)", model.config.model_type, reason)
        return False
    error = float(torch.cat([(a - b).float().norm(dim=-1) / b.float().norm(dim=-1) for a, b in pairs]).max())
    if error <= torch.finfo(together.dtype).eps ** 0.5:
        return True
    _log.info("%s reads every row by itself: packed rows differ by %.1g", model.config.model_type, error)
    return False


def _attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    attention: _Attention | None = None,
    **options: Any,
) -> tuple[Tensor, Any]:
    """Attend as the call asks; where it does not ask, as the model would."""
    if attention is None:
        sdpa = ALL_ATTENTION_FUNCTIONS["sdpa"]
        plain: tuple[Tensor, Any] = sdpa(module, query, key, value, attention_mask, **options)
        return plain
    scaling = options.get("scaling")
    return attention.attend(query, key, value, mask=attention_mask, layer=module.layer_idx, scaling=scaling), None


def packed_inputs(packed: PackedRows, device: torch.device) -> dict[str, Any]:
    """Return the arguments with which a model reads packed rows."""
    return {
        "input_ids": torch.tensor([packed.ids], device=device),
        "position_ids": torch.tensor([packed.positions], device=device),
        # A mask of four dimensions is taken as it is; without one, a square over all packed tokens would be made.
        "attention_mask": torch.empty(1, 1, 0, 0, device=device),
        "attention": TrieAttention.plan(packed, device),
    }


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
            keys, _ = pad([packed.paths[row] for row in rows])
            queries, is_query = pad([packed.paths[row][packed.shared[row] :] for row in rows])
            places[queries[is_query]] = is_query.flatten().nonzero()[:, 0] + width
            width += queries.numel()
            mask = None
            if shared.any():
                # Query i of a row stands at shared + i, and keys stand in the row's order.
                stands = shared[:, None, None] + torch.arange(queries.shape[1])[:, None]
                mask = (torch.arange(keys.shape[1]) <= stands)[:, None].to(device)
                mask = mask[:1] if (shared == shared[0]).all() else mask
            calls.append(AttentionCall(queries=queries.to(device), keys=keys.to(device), mask=mask))
        return cls(calls=tuple(calls), places=places.to(device))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, *, scaling: float | None, **_: Any) -> Tensor:
        """Return the output for the one sequence of all packed tokens."""
        outputs = []
        for call in self.calls:
            queries, keys, values = _gather(query, call.queries), _gather(key, call.keys), _gather(value, call.keys)
            rows, heads, length, size = queries.shape
            groups = keys.shape[1]
            if call.mask is None:
                output = scaled_dot_product_attention(
                    queries, keys, values, is_causal=True, scale=scaling, enable_gqa=heads > groups
                )
            else:
                # The queries that share a head of keys stand below each other: keys and values are not repeated.
                stacked, mask = queries.reshape(rows, groups, -1, size), call.mask.repeat(1, 1, heads // groups, 1)
                output = scaled_dot_product_attention(stacked, keys, values, attn_mask=mask, scale=scaling)
            outputs.append(output.reshape(rows, heads, length, -1).transpose(1, 2).flatten(0, 1))
        return torch.cat(outputs).index_select(0, self.places)[None]


class PrefixCache:
    """The attention states of rows that are being sampled: those that a family shares, once, and the rows' own."""

    def __init__(self, model: Any, cache: DynamicCache, packed: PackedRows) -> None:
        """Take the states of packed prompts apart."""
        self._model = model
        self._layers: list[Any] = list(cache.layers)
        families = packed.families()
        prefixes, seen = pad([packed.paths[rows[0]][:common] for rows, common in families], left=True)
        own: list[tuple[int, ...]] = [()] * len(packed.paths)
        family = [0] * len(own)
        for i, (rows, common) in enumerate(families):
            for row in rows:
                own[row], family[row] = packed.paths[row][common:], i
        device = model.device
        places, mask = (one.to(device) for one in pad(own, left=True))
        prefixes = prefixes.to(device)
        self._prefixes = [(_gather(one.keys, prefixes), _gather(one.values, prefixes)) for one in self._layers]
        for layer in self._layers:
            layer.keys, layer.values = _gather(layer.keys, places), _gather(layer.values, places)
        self._cache, self._mask, self._seen = cache, mask.long(), seen.to(device)
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
        count, heads, _, size = families.shape
        members = families.reshape(count, heads, self._members.shape[1], -1, size).transpose(1, 2)
        return members.flatten(0, 1)[self._places]


def pad(sequences: Sequence[tuple[int, ...]], *, left: bool = False) -> tuple[Tensor, Tensor]:
    """Return the sequences in one tensor, padded on the right or left, and where it holds them."""
    longest = max(map(len, sequences))
    lengths = torch.tensor([[len(one)] for one in sequences])
    fill = [(0,) * (longest - len(one)) for one in sequences]
    rows = [zeros + one if left else one + zeros for zeros, one in zip(fill, sequences, strict=True)]
    places = torch.arange(longest)
    return torch.tensor(rows, dtype=torch.long), places >= longest - lengths if left else places < lengths


def _gather(states: Tensor, places: Tensor) -> Tensor:
    """Return states of one sequence (1, heads, tokens, size) by rows (rows, heads, length, size)."""
    tokens = states.transpose(1, 2)[0]
    rows = tokens.index_select(0, places.flatten()).reshape(*places.shape, *tokens.shape[1:])
    return rows.transpose(1, 2)
