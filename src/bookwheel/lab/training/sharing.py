"""Whether a model can read rows together: it is tried before it is relied on.

Our attention takes the place of the model's own where a call asks for it, through transformers' attention interface.
Models in which something else looks from token to token (convolutions, recurrent layers, position biases), or that
keep the call from us, would give other states than for plain rows. So a few rows are read both ways first, and a
decoding step is made both ways; and rows longer than a sliding window are always read plainly.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from bookwheel.lab.training.caches import PrefixCache
from bookwheel.lab.training.trie_attention import packed_inputs
from bookwheel.lab.training.tries import pack

if TYPE_CHECKING:
    from torch import Tensor

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
    limit = _find_window(model.config)
    present = model.config._attn_implementation  # noqa: SLF001 - transformers has no public name for it
    if present not in {"sdpa", _NAME} or limit < max(map(len, _PROOF)):
        return 0
    AttentionInterface.register(_NAME, _attend)
    AttentionMaskInterface.register(_NAME, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])
    model.set_attn_implementation(_NAME)
    try:
        error = _measure_error(model)
    except Exception as reason:  # noqa: BLE001 - a model that cannot take packed rows fails in its own way
        _log.info("%s reads every row by itself: it fails on packed rows (%r)", model.config.model_type, reason)
    else:
        if error <= torch.finfo(model.dtype).eps ** 0.5:
            return limit
        _log.info("%s reads every row by itself: packed rows differ by %.1g", model.config.model_type, error)
    model.set_attn_implementation("sdpa")
    return 0


def _find_window(config: Any) -> int:
    """Return how far back the model's shortest attention reaches."""
    config = config.get_text_config()
    # Some configurations name a window that no layer uses.
    if set(getattr(config, "layer_types", None) or ("unknown",)) == {"full_attention"}:
        return sys.maxsize
    windows = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")]
    return min((int(window) for window in windows if window), default=sys.maxsize)


@torch.no_grad()
def _measure_error(model: Any) -> float:
    """Return how far the logits after packed rows, and after one more token, are from those of plain rows."""
    device = model.device
    packed = pack(_PROOF)
    together = model(**packed_inputs(packed, device), use_cache=False).logits[0]
    plain = [model(input_ids=torch.tensor([row], device=device), use_cache=False).logits[0] for row in _PROOF]
    errors = [_compare(together[list(path)], one) for path, one in zip(packed.paths, plain, strict=True)]
    _, cache = PrefixCache.read(model, [row[:-1] for row in _PROOF])
    step = cache.extend(torch.tensor([row[-1] for row in _PROOF], device=device))
    return max(*errors, _compare(step, torch.stack([one[-1] for one in plain])))


def _compare(ours: Tensor, theirs: Tensor) -> float:
    """Return the largest difference of a token's logits, relative to their size."""
    return float(((ours - theirs).float().norm(dim=-1) / theirs.float().norm(dim=-1)).max())


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
        plain: tuple[Tensor, Any] = ALL_ATTENTION_FUNCTIONS["sdpa"](
            module, query, key, value, attention_mask, **options
        )
        return plain
    scaling = options.get("scaling")
    return attention.attend(query, key, value, mask=attention_mask, layer=module.layer_idx, scaling=scaling), None
