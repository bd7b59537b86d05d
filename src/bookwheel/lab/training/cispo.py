"""CISPO: the ratio is clipped as a weight, and no token loses its gradient (arXiv 2506.13585).

    s_t = stop_gradient(min(r_t, 1 + high)) * A_t * new_t           r_t = exp(new_t - old_t)

Under DAPO a token beyond its bound has no gradient at all, and the rare tokens that begin a thought are the first to be
there. Here the gradient is A_t * min(r_t, 1 + high) * grad new_t everywhere. There is no lower bound, as in the paper.
"""

import torch
from torch import Tensor


def score_weighted(new: Tensor, gap: Tensor, advantages: Tensor, high: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return surrogate, ratio and what was clipped, for every token; `gap` is new - old."""
    ratio = torch.exp(gap)
    weight = ratio.detach().clamp(max=1 + high)
    return weight * advantages * new, ratio, ratio > 1 + high
