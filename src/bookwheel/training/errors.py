"""What can go wrong on purpose while training; each says which setting to change or which checkpoint is good.

BookwheelError
├── InputError
│   ├── ConfigError            a training setting that is unknown, misplaced or impossible
│   └── CheckpointError        a checkpoint that is of another run, or cannot be written or read
└── TrainingStopped            the run cannot go on; the last good checkpoint is kept
    ├── LossNotFinite          NaN or infinity in the loss or its gradient
    ├── NothingToLearn         every group was all right or all wrong, many steps in a row
    └── DeviceFull             out of memory
"""

from __future__ import annotations

from bookwheel.errors import BookwheelError, InputError


class ConfigError(InputError):
    """A training setting that is unknown, misplaced or impossible."""


class CheckpointError(InputError):
    """A checkpoint of another run, or one that cannot be written or read."""


class TrainingStopped(BookwheelError):
    """The run cannot go on; what was saved is kept."""


class LossNotFinite(TrainingStopped):
    """NaN or infinity in the loss or its gradient."""


class NothingToLearn(TrainingStopped):
    """Every group was all right or all wrong, many steps in a row."""


class DeviceFull(TrainingStopped):
    """The device ran out of memory."""
