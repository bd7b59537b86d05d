"""One batch of rows becomes one or more optimizer steps.

    before:                old and reference log-probabilities, each rank for its own rows
    for each mini-batch:   g = sum over micro-batches of the gradient of their share of the loss
                           clip |g|, then AdamW

A mini-batch takes whole rollouts of whole samples, so the number of optimizer steps depends on samples, never on how
many conversations they took. With one mini-batch the old policy is the one being scored, and costs nothing. A
micro-batch is what fits into memory: `policy.row_tokens` padded tokens, and its cut changes no figure.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

import torch

from bookwheel.lab.training import ranks
from bookwheel.lab.training.choice import choice_loss, compute_log_odds, is_chosen_right
from bookwheel.lab.training.errors import LossNotFinite
from bookwheel.lab.training.loss import Logprobs, LossSums, policy_loss
from bookwheel.lab.training.memory import name_memory_setting
from bookwheel.lab.training.optim import MasterAdamW
from bookwheel.lab.training.rows import Row, padding_share
from bookwheel.lab.training.tries import shared_share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from bookwheel.lab.training.choice import Choice
    from bookwheel.lab.training.config import TrainConfig
    from bookwheel.lab.training.policy import Policy

    MicroLoss = Callable[["MicroBatch", float], tuple[Tensor, LossSums]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """Rows that go through the model together, with what is known of them before the updates."""

    rows: Sequence[Row]
    old: Tensor | None = None
    """Log-probabilities before the batch's updates; None where this is the only one."""
    reference: Tensor | None = None
    is_filler: bool = False
    """True for a copy that only keeps this rank in step with the others; it counts for nothing."""


def schedule(peak: float, warmup: int, *, steps: int = 0, decay: float = 0.0) -> Callable[[int], float]:
    """Return a rate that rises linearly over `warmup` steps and loses the share `decay` linearly over `steps`."""

    def rate(taken: int) -> float:
        fall = decay * min(1.0, taken / steps) if steps else 0.0
        return peak * min(1.0, (taken + 1) / max(1, warmup)) * (1.0 - fall)

    return rate


class PolicyOptimizer:
    """AdamW over a policy's weights; `rate` gives the learning rate after so many of its steps."""

    def __init__(self, policy: Policy, config: TrainConfig, rate: Callable[[int], float]) -> None:
        self.policy = policy
        self.config = config
        self.optimizer = MasterAdamW(policy.trainable, rate=rate(0), weight_decay=config.weight_decay)
        self.steps_taken = 0
        self._rate = rate

    def reinforce(self, parts: Sequence[Sequence[Row]]) -> dict[str, float]:
        """Train on rollouts, one optimizer step for each mini-batch, and return the metrics over all of them."""
        ranks.claim_device()
        cut = [self._cut(rows) for rows in parts]
        prepared = [self._score_before(micros, is_only=len(parts) == 1) for micros in cut]
        sums, norms = LossSums(), []
        for rows, micros in zip(parts, prepared, strict=True):
            part, norm = self._step(rows, micros, self._policy_loss)
            sums = sums + part
            norms.append(norm)
        means = sums.means()
        return {
            **means,
            "loss": means["loss"] / len(parts),
            "gradient": max(norms),
            **self._measure_cut(cut),
            "tokens": sums.tokens,
            "updates": len(parts),
            "micro_batches": sum(map(len, cut)),
        }

    def imitate(self, rows: Sequence[Row]) -> dict[str, float]:
        """Train on ideal traces by the mean negative log-probability of their replies, and return the metrics."""

        def loss(micro: MicroBatch, denominator: float) -> tuple[Tensor, LossSums]:
            scored = self.policy.score(micro.rows)
            loss = -scored.logprobs.sum() / denominator
            entropy = scored.entropy.sum().item()
            return loss, LossSums(tokens=float(scored.logprobs.numel()), loss=loss.item(), entropy=entropy)

        cut = self._cut(rows)
        sums, norm = self._step(rows, self._share(cut), loss)
        return _describe_warm_step(sums, norm, len(cut))

    def choose(self, choices: Sequence[Choice]) -> dict[str, float]:
        """Train on choices of passages, and return the metrics. The passages of a choice are read together."""
        named = {choice.rows[0].rollout: choice for choice in choices}
        right = 0.0

        def loss(micro: MicroBatch, _: float) -> tuple[Tensor, LossSums]:
            nonlocal right
            choice = named[micro.rows[0].rollout]
            scored = self.policy.score(micro.rows)
            log_odds = compute_log_odds(scored.logprobs)
            is_right = torch.tensor([one.is_right for one in choice.passages], device=log_odds.device)
            loss = choice_loss(log_odds, is_right) / len(choices)
            right += 0.0 if micro.is_filler else is_chosen_right(log_odds, is_right)
            entropy = scored.entropy.sum().item()
            return loss, LossSums(tokens=float(scored.logprobs.numel()), loss=loss.item(), entropy=entropy)

        rows = [choice.rows for choice in choices]
        sums, norm = self._step([row for one in rows for row in one], self._share(rows), loss)
        (right,) = ranks.total((right,))
        return {**_describe_warm_step(sums, norm, len(rows)), "accuracy": right / len(choices)}

    def _step(self, rows: Sequence[Row], micros: Sequence[MicroBatch], loss_of: MicroLoss) -> tuple[LossSums, float]:
        denominator = float(sum(row.tokens for row in rows))
        sums = LossSums()
        self.optimizer.zero_grad(set_to_none=True)
        with self.policy.training(), name_memory_setting("row_tokens"):
            for micro in micros:
                loss, part = loss_of(micro, denominator)
                torch.autograd.backward(loss * 0.0 if micro.is_filler else loss)
                sums = sums if micro.is_filler else sums + part
        sums = LossSums(*ranks.total(astuple(sums)))
        if not self.policy.is_sharded:
            ranks.sum_gradients(self.optimizer.masters)
        norm = clip_gradients(self.optimizer.masters, self.config.clip_norm)
        _check_finite(sums.loss, norm, rows)
        self.optimizer.set_rate(self._rate(self.steps_taken))
        self.optimizer.step()
        self.steps_taken += 1
        return sums, norm

    def _policy_loss(self, micro: MicroBatch, denominator: float) -> tuple[Tensor, LossSums]:
        scored = self.policy.score(micro.rows)
        device = scored.logprobs.device
        logprobs = Logprobs(
            new=scored.logprobs,
            old=scored.logprobs.detach() if micro.old is None else micro.old,
            rollout=torch.tensor([one for row in micro.rows for one in row.logprobs], device=device),
            reference=micro.reference,
            entropy=scored.entropy,
        )
        advantages = torch.tensor([row.advantage for row in micro.rows for _ in row.logprobs], device=device)
        return policy_loss(logprobs, advantages, denominator, self.config.loss)

    def _score_before(self, cut: Sequence[Sequence[Row]], *, is_only: bool) -> list[MicroBatch]:
        """Return this rank's micro-batches with their log-probabilities before any of the batch's updates."""
        with torch.no_grad(), name_memory_setting("row_tokens"):
            mine = self._share(cut)
            olds = [None if is_only else self.policy.score(micro.rows).logprobs for micro in mine]
            references = (
                self.policy.score_all_by_reference([micro.rows for micro in mine]) if self.config.loss.kl else []
            )
        return [
            MicroBatch(
                rows=micro.rows, old=old, reference=references[i] if references else None, is_filler=micro.is_filler
            )
            for i, (micro, old) in enumerate(zip(mine, olds, strict=True))
        ]

    def _measure_cut(self, cut: Sequence[Sequence[Sequence[Row]]]) -> dict[str, float]:
        """Return which share of what is read is padding, and which share of the rows is not read."""
        together = [micro for micros in cut for micro in micros if self.policy.can_share(micro)]
        alone = [[micro for micro in micros if not self.policy.can_share(micro)] for micros in cut]
        return {"padding": max(map(padding_share, alone)), "shared": shared_share(together)}

    def _cut(self, rows: Sequence[Row]) -> list[list[Row]]:
        return self.policy.micro_batches(rows, self.config.policy.row_tokens)

    def _share(self, cut: Sequence[Sequence[Row]]) -> list[MicroBatch]:
        """Return this rank's micro-batches; ranks that hold shards of one model all get the same number."""
        mine = [MicroBatch(rows=rows) for rows in ranks.share(cut)]
        if self.policy.is_sharded and len(mine) * ranks.size() < len(cut):
            mine.append(MicroBatch(rows=cut[-1], is_filler=True))
        return mine


def _describe_warm_step(sums: LossSums, norm: float, micro_batches: int) -> dict[str, float]:
    means = sums.means()
    return {
        "loss": means["loss"],
        "entropy": means["entropy"],
        "gradient": norm,
        "tokens": sums.tokens,
        "micro_batches": micro_batches,
    }


def clip_gradients(weights: Sequence[torch.nn.Parameter], most: float) -> float:
    """Scale the gradients to a norm of at most `most`, over all ranks' shards, and return the norm before."""
    norm = torch.nn.utils.clip_grad_norm_(weights, most)
    # A sharded norm holds this rank's part until all parts are added.
    return float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)


def _check_finite(loss: float, norm: float, rows: Sequence[Row]) -> None:
    if not (torch.tensor([loss, norm]).isfinite().all()):
        names = sorted({row.rollout for row in rows})
        listing = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")  # noqa: PLR2004
        raise LossNotFinite(
            f"the loss is {loss} and its gradient {norm} on the batch of {listing}; the weights are unchanged. "
            f"Lower train.learning_rate or raise train.loss.kl, and go on with --resume from the last checkpoint"
        )
