"""Training in several processes: `torchrun --nproc-per-node 2 -m bookwheel train …`, on CPUs (gloo) or GPUs (nccl).

    rollouts   rank r takes samples r, r + W, r + 2W, ... and then receives all groups; where they overlap training,
               batch after batch, so that all ranks draw the same samples for each
    gradient   rank r takes micro-batches r, r + W, ...; gradients are summed, not averaged,
               because the loss's denominator is the whole batch's already

Every rank holds the whole model, or 1/W of every weight (FSDP2):

    forward, backward    a layer's weights are gathered before it runs, in the dtype of the computation, and freed after
    gradient             summed over the ranks in float32; each rank receives the part of its own shard
    step                 AdamW on the shard: master weights, moments and gradients are float32
    rollouts             the whole model is gathered once, because ranks sample at their own pace
    reference            a second shard that changes places with the first while the reference scores

Without torchrun there is one rank, and nothing is sent.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import torch
from torch import Tensor, distributed, nn
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

if TYPE_CHECKING:
    from bookwheel.lab.training.policy import RowScorer

_Item = TypeVar("_Item")
_files: Any = _checkpoint
# Rollouts of one rank can take hours longer than those of the others; by themselves the libraries give up after 10
# minutes (nccl) or 30 (gloo). A rank that dies is noticed by torchrun, which ends the others at once.
_LONGEST_WAIT: Final = timedelta(hours=12)
_rollouts: Any = None
# Frozen weights under adapters come from where they were loaded.
_TRAINED_ONLY: Final = StateDictOptions(ignore_frozen_params=True, strict=False)


def join(*, alone: bool = False) -> None:
    """Join the group that torchrun started, if there is one; with `alone`, make one of this process otherwise."""
    if distributed.is_initialized():
        return
    claim_device()
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        distributed.init_process_group(backend, timeout=_LONGEST_WAIT)
        global _rollouts  # noqa: PLW0603 - it lives as long as the process's own group
        _rollouts = distributed.new_group(backend="gloo", timeout=_LONGEST_WAIT)
    elif alone:
        library: Any = distributed
        distributed.init_process_group(backend, store=library.HashStore(), rank=0, world_size=1)


def leave() -> None:
    """Leave the group, after all ranks have reached this point."""
    if distributed.is_initialized():
        distributed.barrier()
        distributed.destroy_process_group()


def wait() -> None:
    """Wait until all ranks have reached this point."""
    if size() > 1:
        distributed.barrier()


def rank() -> int:
    """Return this process's number; rank 0 writes the files."""
    return int(distributed.get_rank()) if distributed.is_initialized() else 0


def size() -> int:
    """Return how many processes there are."""
    return int(distributed.get_world_size()) if distributed.is_initialized() else 1


def device() -> str:
    """Return this process's GPU, or the CPU."""
    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if torch.cuda.is_available() else "cpu"


def claim_device() -> None:
    """Make this rank's GPU the current one of this thread; every thread begins with the first."""
    if torch.cuda.is_available():
        torch.cuda.set_device(device())


def share(items: Sequence[_Item]) -> Sequence[_Item]:
    """Return this rank's part of items that all ranks have."""
    return items[rank() :: size()]


async def gather_beside(part: list[_Item]) -> list[_Item]:
    """Return what `gather` does, while another thread trains: rollouts meet in a group of their own."""
    return await asyncio.to_thread(gather, part, _rollouts) if size() > 1 else part


def gather(part: list[_Item], group: Any = None) -> list[_Item]:
    """Return the parts of all ranks in the order that `share` took them from."""
    parts = _collect(part, group)
    return [parts[i % size()][i // size()] for i in range(sum(map(len, parts)))]


def total(values: Sequence[float]) -> list[float]:
    """Return the sum of each value over all ranks."""
    return [sum(column) for column in zip(*_collect(values), strict=True)]


def _collect(part: _Item, group: Any = None) -> list[_Item]:
    """Return what every rank gave, in their order."""
    parts: list[Any] = [part] * size()
    if size() > 1:
        distributed.all_gather_object(parts, part, group=group)
    return parts


def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Sum the gradients of all ranks into each; a rank without a micro-batch adds zeros."""
    if size() == 1:
        return
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        distributed.all_reduce(parameter.grad)


class Shards:
    """The sharded modules of one policy, and this rank's shards of its reference."""

    def __init__(self, scorer: RowScorer) -> None:
        self._model = scorer.model
        self._modules = [module for module in scorer.modules() if isinstance(module, FSDPModule)]
        self.reference: list[Tensor] = []

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

    def freeze_reference(self, weights: Mapping[str, Tensor] | None = None) -> None:
        """Keep this rank's shards as they are now, or its part of whole weights by name, which all ranks have."""
        whole = weights or {}
        self.reference = [
            _cut_like(shard, whole[name]) if name in whole else shard.to_local().detach().clone()
            for name, shard in self._shards()
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
        for (_, shard), other in zip(self._shards(), self.reference, strict=True):
            held = shard.to_local().clone()
            shard.to_local().copy_(other)
            other.copy_(held)

    def _shards(self) -> list[tuple[str, Any]]:
        # Weights that are still gathered would be used as they were before.
        for module in self._modules:
            module.reshard()
        return list(self._model.named_parameters())


def get_decoder(model: Any) -> Any:
    """Return the model without its head, with its adapters."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return base.get_decoder()


def shard_model(scorer: RowScorer, device: torch.device, dtype: torch.dtype) -> Shards:
    """Shard the scorer's model over all ranks, layer by layer, and return the shards."""
    mesh = init_device_mesh(device.type, (size(),))
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
        for name, buffer in module.named_buffers(recurse=False):
            setattr(module, name, buffer.to(device))
    # The first forward decides which module is the root, so it must not be a layer that is sampled from.
    with torch.no_grad():
        one = torch.zeros(1, dtype=torch.long, device=device)
        scorer(one, one, input_ids=one[None])
    return Shards(scorer)


def is_sharded(model: nn.Module) -> bool:
    """Tell if the model's weights are shards."""
    return any(isinstance(parameter, DTensor) for parameter in model.parameters())


def gather_weights(model: nn.Module, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    """Return the whole trained weights by name on rank 0, and nothing on the others. All ranks call it together."""
    weights: dict[str, Tensor] = {}
    trains_all = all(parameter.requires_grad for parameter in model.parameters())
    for name, parameter in model.named_parameters():
        if trains_all or parameter.requires_grad:
            # One at a time: no rank holds more than one whole weight on its device.
            whole = parameter.full_tensor().detach() if isinstance(parameter, DTensor) else parameter.detach()
            if rank() == 0:
                weights[name] = whole.to("cpu", dtype, copy=True)
    return weights


def copy_whole(parameter: nn.Parameter, whole: Tensor) -> None:
    """Copy a whole weight into the parameter, or this rank's part of it into its shard."""
    if isinstance(parameter, DTensor):
        parameter.to_local().copy_(_cut_like(parameter, whole))
    else:
        parameter.copy_(whole)


def _cut_like(parameter: nn.Parameter, whole: Tensor) -> Tensor:
    """Return this rank's shard of a whole weight."""
    assert isinstance(parameter, DTensor)
    whole = whole.to(parameter.device, parameter.dtype)
    return distribute_tensor(whole, parameter.device_mesh, parameter.placements).to_local().clone()


def save_shards(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Write this rank's part of weights and optimizer state. All ranks call it together."""
    _files.save(_collect_state(model, optimizer if optimizer.state else None), checkpoint_id=folder)


def load_shards(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, *, is_stepped: bool) -> None:
    """Load weights and optimizer state that any number of ranks wrote; `is_stepped` tells if there is a state."""
    state = _collect_state(model, optimizer if is_stepped else None)
    _files.load(state, checkpoint_id=folder)
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
