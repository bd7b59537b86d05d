"""The folder of a run: begin, resume, save. What a start that failed left behind does not block the next one."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import torch

from bookwheel.lab.training import checkpoint, ranks
from bookwheel.lab.training.errors import CheckpointError
from bookwheel.lab.training.metrics_log import MetricsLog

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.lab.training.checkpoint import TrainingProgress
    from bookwheel.lab.training.config import TrainConfig
    from bookwheel.lab.training.policy import Policy
    from bookwheel.lab.training.step import PolicyOptimizer

# What a run writes and a start that failed may leave.
_LEFTOVERS: Final = ("checkpoints", "rollouts.jsonl", "rollouts.sqlite", "reference.safetensors")


class TrainingFolder:
    """Writes what a run needs to go on after a kill, and reads it again."""

    def __init__(self, path: Path, config: TrainConfig) -> None:
        self.path = path
        self.metrics = MetricsLog(path)
        self._config = config
        self._checkpoints = path / "checkpoints"

    def begin(self) -> None:
        """Prepare the folder for a new run; one that failed before its first step is cleared away."""
        if ranks.rank():
            return
        place = checkpoint.find_newest(self._checkpoints)
        if self.metrics.has_steps() or (place and checkpoint.load_progress(place).step):
            raise CheckpointError(
                f"{self.path} holds a run already: continue it with --resume, or choose another folder"
            )
        if place or self.metrics.exists():
            for name in _LEFTOVERS:
                left = self.path / name
                if left.is_dir():
                    shutil.rmtree(left)
                else:
                    left.unlink(missing_ok=True)
        self.metrics.create()

    def find_checkpoint(self) -> Path:
        """Return the newest checkpoint."""
        place = checkpoint.find_newest(self._checkpoints)
        if place is None:
            raise CheckpointError(f"{self.path} holds no checkpoint to resume from")
        return place

    def load(self, place: Path, policy: Policy, optimizer: PolicyOptimizer, progress: TrainingProgress) -> None:
        """Load weights, optimizer and reference of a checkpoint."""
        checkpoint.load(place, policy.model, optimizer.optimizer, self._config.to_json())
        optimizer.steps_taken = progress.optimizer_steps
        if self._config.loss.kl and progress.warm_steps >= 0:
            self._load_reference(policy)
        if ranks.rank() == 0:
            self.metrics.truncate(progress.metrics_lines)

    def save(self, name: str, policy: Policy, optimizer: PolicyOptimizer, progress: TrainingProgress) -> None:
        """Write a checkpoint; `best` of a sharded policy has no optimizer, because it is only read from."""
        state = replace(progress, optimizer_steps=optimizer.steps_taken, threads=torch.get_num_threads())
        if ranks.rank() and not policy.is_sharded:
            return
        stepped = None if policy.is_sharded and name == "best" else optimizer.optimizer
        checkpoint.save(self._checkpoints / name, policy.model, stepped, state, self._config.to_json())
        if ranks.rank() == 0:
            checkpoint.prune(self._checkpoints, self._config.keep)

    def save_reference(self, policy: Policy) -> None:
        """Write the reference, which is the policy as it is now. Of a sharded policy, on all ranks."""
        if policy.is_sharded or ranks.rank() == 0:
            checkpoint.save_weights(self._reference, policy.model)

    def _load_reference(self, policy: Policy) -> None:
        if self._reference.exists():
            if policy.is_sharded:
                policy.load_reference(checkpoint.read_weights(self._reference))
                return
            policy.freeze_reference()
            checkpoint.load_weights(self._reference, policy.reference_model)
        elif not (self._config.policy.lora_rank and not self._config.warm_start.steps):
            raise CheckpointError(
                f"{self.path} has no reference policy, because the run began with train.loss.kl = 0: keep it at 0"
            )

    @property
    def _reference(self) -> Path:
        return self.path / "reference.safetensors"
