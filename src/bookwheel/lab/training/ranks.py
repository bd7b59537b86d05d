"""Training in several processes: `torchrun --nproc-per-node 2 -m bookwheel train …`, on CPUs (gloo) or GPUs (nccl).

    rollouts   rank r takes samples r, r + W, r + 2W, ... and then receives all groups
    gradient   rank r takes micro-batches r, r + W, ...; gradients are summed, not averaged,
               because the loss's denominator is the whole batch's already

Every rank holds the whole model, or its shards (sharding.py). Without torchrun there is one rank, and nothing is sent.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import distributed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_Item = TypeVar("_Item")


def join(*, alone: bool = False) -> None:
    """Join the group that torchrun started, if there is one; with `alone`, make one of this process otherwise."""
    if distributed.is_initialized():
        return
    claim_device()
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        distributed.init_process_group(backend)
    elif alone:
        library: Any = distributed
        distributed.init_process_group(backend, store=library.HashStore(), rank=0, world_size=1)


def claim_device() -> None:
    """Make this rank's GPU the current one of this thread; every thread begins with the first."""
    if torch.cuda.is_available():
        torch.cuda.set_device(device())


def wait() -> None:
    """Wait until all ranks have reached this point."""
    if size() > 1:
        distributed.barrier()


def leave() -> None:
    """Leave the group, after all ranks have reached this point."""
    if distributed.is_initialized():
        distributed.barrier()
        distributed.destroy_process_group()


def rank() -> int:
    """Return this process's number; rank 0 writes the files."""
    return int(distributed.get_rank()) if distributed.is_initialized() else 0


def size() -> int:
    """Return how many processes there are."""
    return int(distributed.get_world_size()) if distributed.is_initialized() else 1


def device() -> str:
    """Return this process's GPU, or the CPU."""
    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if torch.cuda.is_available() else "cpu"


def share(items: Sequence[_Item]) -> Sequence[_Item]:
    """Return this rank's part of items that all ranks have."""
    return items[rank() :: size()]


def gather(part: list[_Item]) -> list[_Item]:
    """Return the parts of all ranks in the order that `share` took them from."""
    if size() == 1:
        return part
    parts: list[Any] = [None] * size()
    distributed.all_gather_object(parts, part)
    return [parts[i % size()][i // size()] for i in range(sum(map(len, parts)))]


def total(values: Sequence[float]) -> list[float]:
    """Return the sum of each value over all ranks."""
    if size() == 1:
        return list(values)
    parts: list[Any] = [None] * size()
    distributed.all_gather_object(parts, list(values))
    return [sum(column) for column in zip(*parts, strict=True)]


def sum_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Sum the gradients of all ranks into each; a rank without a micro-batch adds zeros."""
    if size() == 1:
        return
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        distributed.all_reduce(parameter.grad)
