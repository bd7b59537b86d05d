"""One batch of rows becomes one or more optimizer steps.

    before:                old and reference log-probabilities, each rank for its own rows
    for each mini-batch:   g = sum over micro-batches of the gradient of their share of the loss
                           clip |g|, then AdamW

A mini-batch takes whole rollouts of whole samples, so the number of optimizer steps depends on samples, never on how
many conversations they took. With one mini-batch the old policy is the one being scored, and costs nothing. A
micro-batch is what fits into memory: `policy.row_tokens` padded tokens, and its cut changes no figure. An update whose
loss or gradient is no number is left out and counted; some in a row stop the run.

AdamW steps float32 weights, whatever the model computes in:

    w16 = bfloat16(w32)     the model's weight, used by forward and backward
    g32 = sum of g16        gradients of the micro-batches, added up in float32
    w32 = AdamW(w32, g32)   the master weight; only then is it rounded to w16 again

bfloat16 keeps 8 bits of a weight. At a learning rate of 1e-6 nearly every step is smaller than the last bit, and a
model that is stepped in bfloat16 hardly moves. Weights that are float32 already are their own masters.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor, nn

from bookwheel.lab.training import ranks
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import LossNotFinite, name_memory_setting
from bookwheel.lab.training.loss import Logprobs, LossSums, policy_loss
from bookwheel.lab.training.policy import Policy
from bookwheel.lab.training.rows import Row, padding_share, shared_share
from bookwheel.lab.training.warmstart import LessonRows, lesson_loss

MicroLoss = Callable[["MicroBatch", float], tuple[Tensor, LossSums]]
_log: Final = logging.getLogger(__name__)
_MASTERS: Final = "master_weights"
_NAMED: Final = 8
# One bad batch is noise; so many in a row are weights or settings that cannot go on.
_MOST_BAD: Final = 5


class MasterAdamW(torch.optim.AdamW):
    """Keeps and steps a float32 copy of every weight that has fewer bits; its state dict holds the copies."""

    def __init__(self, weights: Sequence[nn.Parameter], *, rate: float, weight_decay: float) -> None:
        self._pairs: list[tuple[Any, nn.Parameter]] = [
            (weight, nn.Parameter(weight.detach().to(torch.float32, copy=True)))
            for weight in weights
            if weight.dtype != torch.float32
        ]
        master_of = dict(self._pairs)
        self.masters = [master_of.get(weight, weight) for weight in weights]
        self._hooks = [
            weight.register_post_accumulate_grad_hook(partial(_move_gradient, master)) for weight, master in self._pairs
        ]
        # Several small tensors in one kernel add up in another order on some devices; runs must repeat.
        super().__init__(self.masters, lr=rate, weight_decay=weight_decay, fused=False)

    def step(self, closure: Any = None) -> Any:
        """Step the master weights and round them into the model's."""
        result = super().step(closure)
        self._round()
        return result

    def state_dict(self) -> dict[str, Any]:
        """Return the state of AdamW, and the master weights under a key of their own."""
        state: dict[str, Any] = super().state_dict()
        return state | {_MASTERS: [master.detach() for _, master in self._pairs]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` returned, master weights first."""
        state = dict(state_dict)
        masters = state.pop(_MASTERS, [])
        super().load_state_dict(state)
        with torch.no_grad():
            for (_, master), saved in zip(self._pairs, masters, strict=True):
                master.copy_(saved)
        self._round()

    def close(self) -> None:
        """Let go of the model: an optimizer of a later phase collects its gradients."""
        for hook in self._hooks:
            hook.remove()

    @torch.no_grad()
    def _round(self) -> None:
        for weight, master in self._pairs:
            weight.copy_(master)


def _move_gradient(master: nn.Parameter, weight: nn.Parameter) -> None:
    """Add a micro-batch's gradient to the master's and free it."""
    if weight.grad is not None:
        gradient = weight.grad.to(torch.float32)
        master.grad = gradient if master.grad is None else master.grad.add_(gradient)
        weight.grad = None


def schedule(peak: float, warmup: int, *, steps: int = 0, decay: float = 0.0) -> Callable[[int], float]:
    """Return a rate that rises linearly over `warmup` steps and loses the share `decay` linearly over `steps`."""

    def rate(taken: int) -> float:
        fall = decay * min(1.0, taken / steps) if steps else 0.0
        return peak * min(1.0, (taken + 1) / max(1, warmup)) * (1.0 - fall)

    return rate


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """Rows that go through the model together, with what is known of them before the updates."""

    rows: Sequence[Row]
    old: Tensor | None = None
    """Log-probabilities before the batch's updates; None where this is the only one."""
    reference: Tensor | None = None
    is_filler: bool = False
    """True for a copy that only keeps this rank in step with the others; it counts for nothing."""


class PolicyOptimizer:
    """AdamW over a policy's weights; `rate` gives the learning rate after so many of its steps."""

    def __init__(self, policy: Policy, config: TrainConfig, rate: Callable[[int], float]) -> None:
        self.policy = policy
        self.config = config
        self.optimizer = MasterAdamW(policy.trainable, rate=rate(0), weight_decay=config.weight_decay)
        self.steps_taken = 0
        self._rate = rate
        self._bad_in_a_row = 0

    def reinforce(self, parts: Sequence[Sequence[Row]]) -> dict[str, float]:
        """Train on rollouts, one optimizer step for each mini-batch, and return the metrics over all of them."""
        ranks.claim_device()
        cut = [self.policy.micro_batches(rows, self.config.policy.row_tokens) for rows in parts]
        prepared = [self._score_before(micros, is_only=len(parts) == 1) for micros in cut]
        steps = [self._step(rows, one, self._policy_loss) for rows, one in zip(parts, prepared, strict=True)]
        done = [one for one in steps if one is not None]
        together = [micro for micros in cut for micro in micros if self.policy.can_share(micro)]
        alone = [[micro for micro in micros if not self.policy.can_share(micro)] for micros in cut]
        sums = sum((one for one, _ in done), LossSums())
        means = sums.means()
        if done:
            means |= {"loss": means["loss"] / len(done), "gradient": max(norm for _, norm in done)}
        return {
            **(means if done else {}),
            "padding": max(map(padding_share, alone)),
            "shared": shared_share(together),
            "tokens": sums.tokens,
            "updates": len(done),
            "bad_updates": len(parts) - len(done),
            "micro_batches": sum(map(len, cut)),
        }

    def _score_before(self, cut: Sequence[Sequence[Row]], *, is_only: bool) -> list[MicroBatch]:
        """Return this rank's micro-batches with their log-probabilities before any of the batch's updates."""
        mine = self._share(cut)
        with torch.no_grad(), name_memory_setting("row_tokens"):
            olds = [None if is_only else self.policy.score(micro.rows).logprobs for micro in mine]
            rows = [micro.rows for micro in mine]
            references = self.policy.score_by_reference(*rows) if self.config.loss.kl else [None] * len(mine)
        return [
            MicroBatch(rows=micro.rows, old=old, reference=reference, is_filler=micro.is_filler)
            for micro, old, reference in zip(mine, olds, references, strict=True)
        ]

    def _policy_loss(self, micro: MicroBatch, denominator: float) -> tuple[Tensor, LossSums]:
        scored = self.policy.score(micro.rows)
        device = scored.logprobs.device
        logprobs = Logprobs(
            new=scored.logprobs,
            old=scored.logprobs.detach() if micro.old is None else micro.old,
            rollout=torch.tensor([one for row in micro.rows for one in row.logprobs], device=device),
            reference=micro.reference,
            entropy=scored.entropy,
            lengths=[row.tokens for row in micro.rows],
        )
        advantages = torch.tensor([weight for row in micro.rows for weight in row.weights], device=device)
        return policy_loss(logprobs, advantages, denominator, self.config.loss)

    def imitate(self, rows: Sequence[Row]) -> dict[str, float]:
        """Train on ideal traces by the mean negative log-probability of their replies, and return the metrics."""

        def loss(micro: MicroBatch, denominator: float) -> tuple[Tensor, LossSums]:
            scored = self.policy.score(micro.rows)
            loss = -scored.logprobs.sum() / denominator
            entropy = scored.entropy.sum().item()
            return loss, LossSums(tokens=float(scored.logprobs.numel()), loss=loss.item(), entropy=entropy)

        return self._supervise(self.policy.micro_batches(rows, self.config.policy.row_tokens), loss)

    def learn(self, lessons: Sequence[LessonRows]) -> dict[str, float]:
        """Train on lessons of passages, and return the metrics. The rows of each of these are read together."""
        named = {one.rows[0].rollout: one for one in lessons}
        right = choices = 0.0

        def loss(micro: MicroBatch, _: float) -> tuple[Tensor, LossSums]:
            nonlocal right, choices
            scored = self.policy.score(micro.rows)
            told = lesson_loss(scored.logprobs, named[micro.rows[0].rollout])
            loss = told.loss / len(lessons)
            if not micro.is_filler:
                right, choices = right + told.right, choices + told.choices
            entropy = scored.entropy.sum().item()
            return loss, LossSums(tokens=float(scored.logprobs.numel()), loss=loss.item(), entropy=entropy)

        metrics = self._supervise([one.rows for one in lessons], loss)
        right, choices = ranks.total((right, choices))
        return {**metrics, "accuracy": right / max(1.0, choices)}

    def _supervise(self, cut: Sequence[Sequence[Row]], loss: MicroLoss) -> dict[str, float]:
        done = self._step([row for micro in cut for row in micro], self._share(cut), loss)
        if done is None:
            return {"bad_updates": 1, "micro_batches": len(cut)}
        sums, norm = done
        means = {name: sums.means()[name] for name in ("loss", "entropy")}
        return {**means, "gradient": norm, "tokens": sums.tokens, "micro_batches": len(cut)}

    def _share(self, cut: Sequence[Sequence[Row]]) -> list[MicroBatch]:
        """Return this rank's micro-batches; ranks that hold shards of one model all get the same number."""
        mine = [MicroBatch(rows=rows) for rows in ranks.share(cut)]
        if self.policy.is_sharded and len(mine) * ranks.size() < len(cut):
            mine.append(MicroBatch(rows=cut[-1], is_filler=True))
        return mine

    def _step(
        self, rows: Sequence[Row], micros: Sequence[MicroBatch], loss_of: MicroLoss
    ) -> tuple[LossSums, float] | None:
        """Take one optimizer step; return the sums and the gradient's norm, or None where they are no numbers."""
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
        if not torch.tensor([sums.loss, norm]).isfinite().all():
            self._leave_out(sums.loss, norm, rows)
            return None
        self._bad_in_a_row = 0
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate(self.steps_taken)
        self.optimizer.step()
        self.steps_taken += 1
        return sums, norm

    def _leave_out(self, loss: float, norm: float, rows: Sequence[Row]) -> None:
        self._bad_in_a_row += 1
        names = sorted({row.rollout for row in rows})
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        what = f"the loss is {loss} and its gradient {norm} on the batch of {', '.join(names[:_NAMED])}{more}"
        if self._bad_in_a_row < _MOST_BAD:
            _log.warning("an update is left out: %s", what)
            return
        raise LossNotFinite(
            f"{what}, as on the {_MOST_BAD - 1} before it; the weights are unchanged. If the gradients before it grew, "
            f"lower train.learning_rate; if not, set train.policy.dtype to float32 or look at those rollouts. "
            f"Go on with --resume from the last checkpoint"
        )


def clip_gradients(weights: Sequence[nn.Parameter], most: float) -> float:
    """Scale the gradients to a norm of at most `most`, over all ranks' shards, and return the norm before."""
    norm = nn.utils.clip_grad_norm_(weights, most)
    # A sharded norm holds this rank's part until all parts are added.
    return float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)
