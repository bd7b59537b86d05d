"""Running out of memory, told with the setting to lower."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import torch

from bookwheel.lab.training.errors import DeviceFull

if TYPE_CHECKING:
    from collections.abc import Iterator

# The CPU's allocator has no error type of its own.
_CPU_MESSAGE: Final = "can't allocate memory"
_ALSO: Final = {
    "row_tokens": ", or set train.policy.gradient_checkpointing = true",
    "rollout_tokens": ", or the token limits in [plan]",
}


@contextmanager
def name_memory_setting(setting: str) -> Iterator[None]:
    """Turn running out of memory into an error that names the setting of `[train.policy]` to lower."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        is_full = isinstance(error, torch.OutOfMemoryError | MemoryError) or _CPU_MESSAGE in str(error)
        if not is_full:
            raise
        raise DeviceFull(
            f"out of memory: lower train.policy.{setting}{_ALSO.get(setting, '')}, and start again with --resume if "
            f"steps were taken ({error})"
        ) from error
