"""Weights, gradients, optimizer state and reference in shards: each of W ranks holds 1/W of every weight (FSDP2).

forward, backward    a layer's weights are gathered before it runs, in the dtype of the computation, and freed after
gradient             summed over the ranks in float32; each rank receives the part of its own shard
step                 AdamW on the shard: master weights, moments and gradients are float32
rollouts             the whole model is gathered once, because ranks sample at their own pace
reference            a second shard that changes places with the first while the reference scores
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.distributed import checkpoint as _checkpoint
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from bookwheel.lab.training import ranks
from bookwheel.lab.training.scorer import get_decoder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from torch import Tensor, nn

    from bookwheel.lab.training.scorer import RowScorer

checkpoint: Any = _checkpoint
# Frozen weights under adapters come from where they were loaded.
_TRAINED_ONLY: Final = StateDictOptions(ignore_frozen_params=True, strict=False)


class Shards:
    """The sharded modules of one policy, and the shards of its reference."""

    def __init__(self, scorer: RowScorer) -> None:
        self._scorer = scorer
        self._modules = [module for module in scorer.modules() if isinstance(module, FSDPModule)]
        self._reference: list[Tensor] = []

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Hold all weights whole on this rank; a forward inside sends nothing."""
        for module in self._modules:
            module.set_reshard_after_forward(reshard_after_forward=False, recurse=False)
            module.unshard()
        try:
            yield
        finally:
            for module in self._modules:
                module.set_reshard_after_forward(reshard_after_forward=True, recurse=False)
                module.reshard()

    @property
    def has_reference(self) -> bool:
        """True once a reference was frozen."""
        return bool(self._reference)

    def freeze_reference(self) -> None:
        """Keep this rank's shards as they are now."""
        self._reshard()
        self._reference = [shard.detach().clone() for shard in self._locals()]

    def load_reference(self, weights: Mapping[str, Tensor]) -> None:
        """Take this rank's shards of whole weights by name; all ranks have them all."""
        self._reshard()
        self._reference = [
            shard_like(parameter, weights[name]) if name in weights else parameter.to_local().detach().clone()
            for name, parameter in self._scorer.model.named_parameters()
        ]

    @contextmanager
    def as_reference(self) -> Iterator[None]:
        """Let the policy and its reference change places."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        # Weights that are still gathered would be used as they were before.
        self._reshard()
        for shard, other in zip(self._locals(), self._reference, strict=True):
            held = shard.clone()
            shard.copy_(other)
            other.copy_(held)

    def _reshard(self) -> None:
        for module in self._modules:
            module.reshard()

    def _locals(self) -> Iterator[Tensor]:
        for parameter in self._scorer.model.parameters():
            yield parameter.to_local()


def shard_model(scorer: RowScorer, device: torch.device, dtype: torch.dtype) -> Shards:
    """Shard the scorer's model over all ranks, layer by layer, and return the shards."""
    mesh = init_device_mesh(device.type, (ranks.size(),))
    precision = MixedPrecisionPolicy(param_dtype=None if dtype == torch.float32 else dtype, reduce_dtype=torch.float32)
    options: dict[str, Any] = {"mesh": mesh, "mp_policy": precision, "reshard_after_forward": True}
    for layer in get_decoder(scorer.model).layers:
        # A layer at a time: the whole model in float32 need not fit beside itself.
        fully_shard(layer.to(torch.float32), **options)
    for parameter in scorer.parameters():
        if not isinstance(parameter, DTensor):
            parameter.data = parameter.data.to(torch.float32)
    fully_shard(scorer, **options)
    for module in scorer.modules():
        if isinstance(module, FSDPModule):
            # A plain sum, which every backend has; the caller's loss has the denominator of all ranks already.
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(enable=True)
    _move_buffers(scorer, device)
    # The first forward decides which module is the root, so it must not be a layer that is sampled from.
    with torch.no_grad():
        one = torch.zeros(1, dtype=torch.long, device=device)
        scorer(one, one, input_ids=one[None])
    return Shards(scorer)


def gather_weights(model: nn.Module, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    """Return the whole trained weights by name on rank 0, and nothing on the others. All ranks call it together."""
    weights: dict[str, Tensor] = {}
    trains_all = all(parameter.requires_grad for parameter in model.parameters())
    for name, parameter in model.named_parameters():
        if trains_all or parameter.requires_grad:
            # One at a time: no rank holds more than one whole weight on its device.
            whole = parameter.full_tensor().detach() if isinstance(parameter, DTensor) else parameter.detach()
            if ranks.rank() == 0:
                weights[name] = whole.to("cpu", dtype, copy=True)
    return weights


def copy_whole(parameter: nn.Parameter, whole: Tensor) -> None:
    """Copy a whole weight into the parameter, or this rank's part of it into its shard."""
    if isinstance(parameter, DTensor):
        parameter.to_local().copy_(shard_like(parameter, whole))
    else:
        parameter.copy_(whole)


def is_sharded(model: nn.Module) -> bool:
    """Tell if the model's weights are shards."""
    return any(isinstance(parameter, DTensor) for parameter in model.parameters())


def save_shards(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Write this rank's part of weights and optimizer state. All ranks call it together."""
    checkpoint.save(_collect_state(model, optimizer if optimizer.state else None), checkpoint_id=folder)


def load_shards(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, *, is_stepped: bool) -> None:
    """Load weights and optimizer state that any number of ranks wrote; `is_stepped` tells if there is a state."""
    state = _collect_state(model, optimizer if is_stepped else None)
    checkpoint.load(state, checkpoint_id=folder)
    if is_stepped:
        set_state_dict(
            model,
            optimizer,
            model_state_dict=state["weights"],
            optim_state_dict=state["optimizer"],
            options=_TRAINED_ONLY,
        )
    else:
        set_model_state_dict(model, state["weights"], options=_TRAINED_ONLY)
    torch.set_rng_state(state["random"])


def _collect_state(model: nn.Module, optimizer: torch.optim.Optimizer | None) -> dict[str, Any]:
    state: dict[str, Any] = {"random": torch.get_rng_state()}
    # An optimizer that took no step has no state; asking for it would make one, and count a step.
    if optimizer is None:
        return state | {"weights": get_model_state_dict(model, options=_TRAINED_ONLY)}
    weights, moments = get_state_dict(model, optimizer, options=_TRAINED_ONLY)
    return state | {"weights": weights, "optimizer": moments}


def shard_like(parameter: nn.Parameter, whole: Tensor) -> Tensor:
    """Return this rank's shard of a whole weight, cut as the parameter is."""
    assert isinstance(parameter, DTensor)
    whole = whole.to(parameter.device, parameter.dtype)
    return distribute_tensor(whole, parameter.device_mesh, parameter.placements).to_local().clone()


def _move_buffers(module: nn.Module, device: torch.device) -> None:
    for part in module.modules():
        for name, buffer in part.named_buffers(recurse=False):
            setattr(part, name, buffer.to(device))
