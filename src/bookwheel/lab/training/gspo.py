"""GSPO: one ratio for a whole reply, where DAPO has one for each token (arXiv 2507.18071).

    s_i = exp(mean over the tokens of reply i of new_t - old_t)
    s_t = min(s_i A_t, clip(s_i, 1 - low, 1 + high) A_t)            the same for every token t of reply i

A reply is a row (rows.py). In a mean over all tokens a reply then counts by its tokens, as it does under DAPO; the
paper counts each reply once. The ratio of a whole reply moves little: bounds of 3e-4 and 4e-4 are usual.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def score_sequences(
    gap: Tensor, advantages: Tensor, lengths: Sequence[int], low: float, high: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return surrogate, ratio and what was clipped, for every token; `gap` is new - old, `lengths` the replies'."""
    ratio = torch.exp(mean_by_reply(gap, lengths))
    plain, bounded = ratio * advantages, ratio.clamp(1 - low, 1 + high) * advantages
    return torch.minimum(plain, bounded), ratio, plain > bounded


def mean_by_reply(values: Tensor, lengths: Sequence[int]) -> Tensor:
    """Return for every token the mean over its reply."""
    if sum(lengths) != values.numel():
        raise ValueError(f"replies of {sum(lengths)} tokens in all have {values.numel()} values")
    return torch.cat([part.mean().expand(len(part)) for part in torch.split(values, list(lengths))])
