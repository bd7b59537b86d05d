"""One batch of rows becomes one or more optimizer steps.

    for each update:       g = sum over micro-batches of the gradient of their share of the loss
                           clip |g|, then AdamW

An update takes whole rollouts of whole samples, so the number of optimizer steps depends on samples, never on how
many conversations they took. With one update a batch, the old policy is the one being scored, and costs nothing.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import astuple
from typing import TYPE_CHECKING

import torch

from bookwheel.training import ranks
from bookwheel.training.errors import DeviceFull, LossNotFinite
from bookwheel.training.loss import Logprobs, LossSums, policy_loss
from bookwheel.training.rows import Row, micro_batches, padding_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from bookwheel.training.config import TrainConfig
    from bookwheel.training.policy import Policy

    MicroLoss = Callable[[Sequence[Row], float], tuple[Tensor, LossSums]]


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
        self.optimizer = torch.optim.AdamW(policy.trainable, lr=rate(0), weight_decay=config.weight_decay, fused=False)
        self.steps_taken = 0
        self._rate = rate

    def reinforce(self, parts: Sequence[Sequence[Row]]) -> dict[str, float]:
        """Train on rollouts, one optimizer step for each part, and return the metrics over all of them."""
        old = [self._score_before(rows) if len(parts) > 1 else None for rows in parts]
        sums = LossSums()
        norms: list[float] = []
        padding: list[float] = []
        for rows, before in zip(parts, old, strict=True):
            part, norm = self._step(rows, self._build_policy_loss(before))
            sums = sums + part
            norms.append(norm)
            padding.append(padding_share(micro_batches(rows, self.config.policy.row_tokens)))
        means = sums.means()
        return {
            **means,
            "loss": means["loss"] / len(parts),
            "gradient": max(norms),
            "padding": max(padding),
            "tokens": sums.tokens,
        }

    def imitate(self, rows: Sequence[Row]) -> dict[str, float]:
        """Train on ideal traces by the mean negative log-probability of their replies, and return the metrics."""

        def loss(micro: Sequence[Row], denominator: float) -> tuple[Tensor, LossSums]:
            scored = self.policy.score(micro)
            loss = -scored.logprobs.sum() / denominator
            entropy = scored.entropy.sum().item()
            return loss, LossSums(tokens=float(scored.logprobs.numel()), loss=loss.item(), entropy=entropy)

        sums, norm = self._step(rows, loss)
        means = sums.means()
        return {"loss": means["loss"], "entropy": means["entropy"], "gradient": norm, "tokens": sums.tokens}

    def _step(self, rows: Sequence[Row], loss_of: MicroLoss) -> tuple[LossSums, float]:
        denominator = float(sum(row.tokens for row in rows))
        sums = LossSums()
        self.optimizer.zero_grad(set_to_none=True)
        with self.policy.training(), _name_memory_setting("row_tokens"):
            for micro in ranks.share(micro_batches(rows, self.config.policy.row_tokens)):
                loss, part = loss_of(micro, denominator)
                torch.autograd.backward(loss)
                sums = sums + part
        sums = LossSums(*ranks.total(astuple(sums)))
        ranks.sum_gradients(self.policy.trainable)
        norm = float(torch.nn.utils.clip_grad_norm_(self.policy.trainable, self.config.clip_norm))
        _check_finite(sums.loss, norm, rows)
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate(self.steps_taken)
        self.optimizer.step()
        self.steps_taken += 1
        return sums, norm

    def _build_policy_loss(self, old: dict[Row, Tensor] | None) -> MicroLoss:
        how = self.config.loss

        def loss(micro: Sequence[Row], denominator: float) -> tuple[Tensor, LossSums]:
            scored = self.policy.score(micro)
            device = scored.logprobs.device
            before = scored.logprobs.detach() if old is None else torch.cat([old[row] for row in micro])
            logprobs = Logprobs(
                new=scored.logprobs,
                old=before,
                rollout=torch.tensor([one for row in micro for one in row.logprobs], device=device),
                reference=self.policy.score_by_reference(micro) if how.kl else None,
                entropy=scored.entropy,
            )
            advantages = torch.tensor([row.advantage for row in micro for _ in row.logprobs], device=device)
            return policy_loss(logprobs, advantages, denominator, how)

        return loss

    def _score_before(self, rows: Sequence[Row]) -> dict[Row, Tensor]:
        """Return the log-probabilities of the rows before any of the batch's updates."""
        before: dict[Row, Tensor] = {}
        for micro in micro_batches(rows, self.config.policy.row_tokens):
            with torch.no_grad():
                scored = torch.split(self.policy.score(micro).logprobs, [row.tokens for row in micro])
            before.update(zip(micro, scored, strict=True))
        return before


def _check_finite(loss: float, norm: float, rows: Sequence[Row]) -> None:
    if not (torch.tensor([loss, norm]).isfinite().all()):
        names = sorted({row.rollout for row in rows})
        listing = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")  # noqa: PLR2004
        raise LossNotFinite(
            f"the loss is {loss} and its gradient {norm} on the batch of {listing}; the weights are unchanged. "
            f"Lower train.learning_rate or raise train.loss.kl, and go on with --resume from the last checkpoint"
        )


@contextmanager
def _name_memory_setting(setting: str) -> Iterator[None]:
    """Turn running out of memory into an error that names the setting to lower."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise DeviceFull(
            f"out of memory: lower train.policy.{setting}, or set train.policy.gradient_checkpointing = true ({error})"
        ) from error
