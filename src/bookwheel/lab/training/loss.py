"""The clipped surrogate over every sampled token of a batch, with one denominator.

    L = -1/T * sum_t [ w_t * s_t - beta * k3_t ]

    s_t  = min(r_t A_t, clip(r_t, 1 - low, 1 + high) A_t), and where A_t < 0 at least dual * A_t (dual clip)
    r_t  = exp(new_t - old_t)                      how far this batch's updates have moved the token's probability
    w_t  = min(exp(old_t - rollout_t), cap)        only where sampler and trainer differ (truncated importance sampling)
           0 for a whole reply whose mean of old_t - rollout_t is beyond +-log(reply_cap)
    k3_t = exp(ref_t - new_t) - (ref_t - new_t) - 1        the low-variance estimate of KL(new || reference)

s_t above is DAPO's; `train.loss.form` takes GSPO's (gspo.py) or CISPO's (cispo.py) in its place. Without the dual clip,
one token that became likely and was bad has a loss without bound. Differences of log-probabilities are clamped before
exp, and k3 after it.

T counts the sampled tokens of the WHOLE mini-batch: all conversations of all its rollouts on all ranks. Callers cut it
as they like and add the losses and the sums; neither notices the cut. Tensors are flat, one entry a sampled token:
prompts, tool output and padding never come here, so they cannot be counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import log
from typing import Final, Self

import torch
from torch import Tensor

from bookwheel.lab.training.cispo import score_weighted
from bookwheel.lab.training.gspo import mean_by_reply, score_sequences
from bookwheel.lab.training.objective import LossSettings

# exp(20) is finite in every precision, and no useful ratio comes near it.
_LARGEST_GAP: Final = 20.0
# One token's estimate of the KL above this is noise that would outweigh the batch.
_LARGEST_KL: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Logprobs:
    """The log-probabilities of the sampled tokens, flat; `new` alone carries a gradient."""

    new: Tensor
    old: Tensor
    rollout: Tensor | None = None
    """The sampler's own; None when they are the trainer's."""
    reference: Tensor | None = None
    entropy: Tensor | None = None
    """Of the new policy at each token, for the metrics."""
    lengths: Sequence[int] = ()
    """The tokens of each reply, which GSPO and `reply_cap` need."""


@dataclass(frozen=True, slots=True)
class LossSums:
    """Sums over tokens that add up over micro-batches and ranks; `means` gives the metrics."""

    tokens: float = 0.0
    loss: float = 0.0
    """Already divided by the batch's T: it adds up to the batch's loss."""
    ratio: float = 0.0
    clipped: float = 0.0
    entropy: float = 0.0
    kl: float = 0.0
    mismatch: float = 0.0
    """The absolute difference of the sampler's and the trainer's log-probability."""
    dual: float = 0.0
    """Tokens at the bound of the dual clip."""
    masked: float = 0.0
    """Tokens of replies that the policy has moved too far away from."""

    def __add__(self, other: LossSums) -> Self:
        return type(self)(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    def means(self) -> dict[str, float]:
        """Return the loss, and every other figure as a mean over tokens."""
        names = ("ratio", "clipped", "entropy", "kl", "mismatch", "dual", "masked")
        return {"loss": self.loss, **{name: getattr(self, name) / max(self.tokens, 1.0) for name in names}}


def policy_loss(
    logprobs: Logprobs, advantages: Tensor, denominator: float, how: LossSettings
) -> tuple[Tensor, LossSums]:
    """Return this part's share of the batch's loss, and its sums. `denominator` is the batch's T."""
    new, old = logprobs.new, logprobs.old.detach()
    gap = (new - old).clamp(-_LARGEST_GAP, _LARGEST_GAP)
    floor = torch.full_like(new, -torch.inf)
    match how.form:
        case "gspo":
            pessimistic, ratio, clipped = score_sequences(
                gap, advantages, logprobs.lengths, how.clip_low, how.clip_high
            )
        case "cispo":
            pessimistic, ratio, clipped = score_weighted(new, gap, advantages, how.clip_high)
        case _:
            ratio = torch.exp(gap)
            bounded = ratio.clamp(1 - how.clip_low, 1 + how.clip_high)
            pessimistic = torch.minimum(ratio * advantages, bounded * advantages)
            clipped = ratio * advantages > bounded * advantages
            # Where A >= 0 the surrogate is above this anyway: the floor acts on bad tokens alone.
            floor = -advantages.abs() * how.dual_clip if how.dual_clip else floor
    surrogate = torch.maximum(pessimistic, floor)
    drift = torch.zeros_like(old) if logprobs.rollout is None else old - logprobs.rollout
    is_far = torch.zeros_like(old, dtype=torch.bool)
    if how.importance_cap is not None:
        surrogate = surrogate * torch.exp(drift).clamp(max=how.importance_cap)
    if how.reply_cap is not None:
        is_far = mean_by_reply(drift, logprobs.lengths).abs() > log(how.reply_cap)
        surrogate = surrogate.masked_fill(is_far, 0.0)
    k3 = _k3(new, logprobs.reference)
    objective = surrogate - how.kl * k3 if how.kl else surrogate
    loss = -objective.sum() / denominator
    with torch.no_grad():
        sums = LossSums(
            tokens=float(new.numel()),
            loss=loss.item(),
            ratio=ratio.sum().item(),
            clipped=clipped.sum().item(),
            entropy=0.0 if logprobs.entropy is None else logprobs.entropy.sum().item(),
            kl=k3.sum().item(),
            mismatch=drift.abs().sum().item(),
            dual=(pessimistic < floor).sum().item(),
            masked=is_far.sum().item(),
        )
    return loss, sums


def _k3(new: Tensor, reference: Tensor | None) -> Tensor:
    if reference is None:
        return torch.zeros_like(new)
    gap = (reference.detach() - new).clamp(-_LARGEST_GAP, _LARGEST_GAP)
    return (torch.exp(gap) - gap - 1).clamp(max=_LARGEST_KL)
