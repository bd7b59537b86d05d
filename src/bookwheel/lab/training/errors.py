"""The errors of training; each says which setting to change or which checkpoint is good.

BookwheelError
├── InputError
│   ├── ConfigError            a training setting that is unknown, misplaced or impossible
│   └── CheckpointError        a checkpoint of another run, or one that cannot be written or read
└── TrainingStopped            the run cannot continue; the last good checkpoint is kept
    ├── LossNotFinite          NaN or infinity in the loss or its gradient
    ├── NothingToLearn         no group had spread, many steps in a row
    └── DeviceFull             out of memory
"""

from __future__ import annotations

from bookwheel.errors import BookwheelError, InputError


class ConfigError(InputError):
    """A training setting that is unknown, misplaced or impossible."""


class CheckpointError(InputError):
    """A checkpoint of another run, or one that cannot be written or read."""


class TrainingStopped(BookwheelError):
    """The run cannot continue; the last good checkpoint is kept."""


class LossNotFinite(TrainingStopped):
    """NaN or infinity in the loss or its gradient."""


class NothingToLearn(TrainingStopped):
    """No group had spread, many steps in a row."""


class DeviceFull(TrainingStopped):
    """The device ran out of memory."""
