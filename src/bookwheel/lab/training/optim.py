"""AdamW over float32 weights, whatever the model computes in.

    w16 = bfloat16(w32)     the model's weight, used by forward and backward
    g32 = sum of g16        gradients of the micro-batches, added up in float32
    w32 = AdamW(w32, g32)   the master weight; only then is it rounded to w16 again

bfloat16 keeps 8 bits of a weight. At a learning rate of 1e-6 nearly every step is smaller than the last bit, and a
model that is stepped in bfloat16 hardly moves. Weights that are float32 already are their own masters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MASTERS: Final = "master_weights"


class MasterAdamW(torch.optim.AdamW):
    """Keeps and steps a float32 copy of every weight that has fewer bits; its state dict holds the copies."""

    def __init__(self, weights: Sequence[nn.Parameter], *, rate: float, weight_decay: float) -> None:
        self._pairs = [(weight, _build_master(weight)) for weight in weights if weight.dtype != torch.float32]
        master_of = dict(self._pairs)
        self.masters = [master_of.get(weight, weight) for weight in weights]
        self._hooks = [_hook(weight, _move_gradient_to(master)) for weight, master in self._pairs]
        # Several small tensors in one kernel add up in another order on some devices; runs must repeat.
        super().__init__(self.masters, lr=rate, weight_decay=weight_decay, fused=False)

    def step(self, closure: Any = None) -> Any:
        """Step the master weights and round them into the model's."""
        result = super().step(closure)
        self._round()
        return result

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of all weights."""
        for group in self.param_groups:
            group["lr"] = rate

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


def _build_master(weight: nn.Parameter) -> nn.Parameter:
    return nn.Parameter(weight.detach().to(torch.float32, copy=True))


def _hook(weight: Any, move: Callable[[nn.Parameter], None]) -> Any:
    return weight.register_post_accumulate_grad_hook(move)


def _move_gradient_to(master: nn.Parameter) -> Callable[[nn.Parameter], None]:
    """Return a hook that adds a micro-batch's gradient to the master's and frees it."""

    def move(weight: nn.Parameter) -> None:
        if weight.grad is None:
            return
        gradient = weight.grad.to(torch.float32)
        master.grad = gradient if master.grad is None else master.grad.add_(gradient)
        weight.grad = None

    return move
