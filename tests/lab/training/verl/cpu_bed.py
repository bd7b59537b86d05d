"""A platform for machines without a GPU: verl's real engine on a processor, with collectives by gloo.

Processes load it through VERL_USE_EXTERNAL_MODULES, with VERL_PLATFORM=cpu and VERL_ENGINE_DEVICE=cuda.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from types import ModuleType

import torch
from ray._private import services
from torch import distributed
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry

_PATIENCE = 600
_find_node = services.get_node
_ANSWERS = {"mem_get_info": (0, 0), "get_device_name": "cpu"}


def _wait_for_node(*arguments):
    """Return what Ray knows of a node as soon as it knows it."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return _find_node(*arguments)
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.5)


# Ray gives a node 30 seconds to begin, too few where other work has the cores, and has no setting for it.
services.get_node = _wait_for_node


class CpuModule(ModuleType):
    """`torch.cpu` with the calls that an accelerator's module has beyond it."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if hasattr(torch.cpu, name):
            return getattr(torch.cpu, name)
        return lambda *_, **__: _ANSWERS.get(name, 0)


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):
    device_name = "cpu"
    vendor_name = "cpu"
    device_module = CpuModule("cpu")

    def is_available(self):
        return True

    def current_device(self):
        return "cpu"

    def device_count(self):
        return 1

    def set_device(self, device_index):
        pass

    def synchronize(self, device_index=None):
        pass

    def manual_seed(self, seed):
        torch.manual_seed(seed)

    def manual_seed_all(self, seed):
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings):
        pass

    def empty_cache(self):
        pass

    def get_device_capability(self, device_index=0):
        return None, None

    def communication_backend_name(self):
        # verl would ask for "cpu:gloo,cpu:gloo", which torch refuses; it leaves a group alone that has begun.
        if "MASTER_PORT" in os.environ and "RANK" in os.environ and not distributed.is_initialized():
            rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
            distributed.init_process_group("gloo", rank=rank, world_size=size)
        return "gloo"

    def visible_devices_envvar(self):
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg):
        yield

    def profiler_start(self):
        pass

    def profiler_stop(self):
        pass

    def ray_resource_name(self):
        return "GPU"

    def ray_noset_envvars(self):
        return []

    def is_ipc_supported(self):
        return False

    def cudart(self):
        return None
