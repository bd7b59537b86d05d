"""The errors of training; each says which setting to change or which checkpoint is good.

BookwheelError
├── InputError
│   ├── ConfigError
│   └── CheckpointError
└── TrainingStopped
    ├── LossNotFinite
    ├── NothingToLearn
    ├── NoGoodRollout
    └── DeviceFull
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bookwheel.errors import BookwheelError, InputError


class ConfigError(InputError):
    """A training setting that is unknown, misplaced or impossible."""


class CheckpointError(InputError):
    """A checkpoint of another run, or one that cannot be written or read."""


class TrainingStopped(BookwheelError):
    """The run cannot continue; the last good checkpoint is kept."""


class LossNotFinite(TrainingStopped):
    """NaN or infinity in the loss or its gradient, some updates in a row."""


class NothingToLearn(TrainingStopped):
    """No group had spread, many steps in a row."""


class NoGoodRollout(TrainingStopped):
    """All rollouts failed, some steps in a row."""


class DeviceFull(TrainingStopped):
    """The device ran out of memory."""


_ALSO: Final = {
    "row_tokens": ", or set train.policy.gradient_checkpointing = true",
    "rollout_tokens": ", or the token limits in [plan]",
}


@contextmanager
def name_memory_setting(setting: str) -> Iterator[None]:
    """Turn running out of memory into an error that names the setting of `[train.policy]` to lower."""
    import torch

    try:
        yield
    except (RuntimeError, MemoryError) as error:
        # The CPU's allocator has no error type of its own.
        is_full = isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)
        if not is_full:
            raise
        raise DeviceFull(
            f"out of memory: lower train.policy.{setting}{_ALSO.get(setting, '')}, and start again with --resume if "
            f"steps were taken ({error})"
        ) from error
