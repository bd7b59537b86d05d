"""The folder of a run: begun, saved, resumed. Checkpoints are complete or absent.

    RUN/checkpoints/step-000040/   weights.safetensors  optimizer.pt  progress.json
                                   or, of a sharded run, shards/ and progress.json: every rank writes its own part
    RUN/checkpoints/best/          the weights of the best evaluation so far
    RUN/reference.safetensors      the reference policy of the KL term, written once
    hashes.json, reference.json    the SHA-256 of the files: one that a disk damaged is not loaded

Shards are loaded by any number of ranks. A checkpoint is written to a temporary folder and renamed when all of it is on
the disk, so a kill or a full disk leaves the one before; where the newest is damaged, a run goes on from the one before
it, at last from the best. `progress.json` holds the settings; a checkpoint of other settings is refused.
"""

import json
import logging
import pickle
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from bookwheel.lab.evaluation.records import flatten
from bookwheel.lab.training import ranks
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import CheckpointError, ConfigError
from bookwheel.lab.training.files import find_changes, flush_to_disk, replace_folder, restore_folders, write_hashes
from bookwheel.lab.training.policy import Policy
from bookwheel.lab.training.records import MetricsLog
from bookwheel.lab.training.step import PolicyOptimizer

_log: Final = logging.getLogger(__name__)
_HASHES: Final = "hashes.json"
_SHARDS: Final = "shards"
# What a run writes and a start that failed may leave.
_LEFTOVERS: Final = ("checkpoints", "rollouts.jsonl", "rollouts.sqlite", "reference.safetensors", "reference.json")
# Settings of `[train]` that may change when a run is resumed: how long and where it runs, what it needs to fit into
# memory, and the two that the message on a loss without a number names.
_MAY_DIFFER: Final = frozenset(
    {
        *("steps", "checkpoint_every", "keep", "keep_rollouts", "patience", "failed_steps", "learning_rate", "loss.kl"),
        *("warm_start.steps", "warm_start.lessons", "policy.device", "policy.gradient_checkpointing"),
        *("policy.head_tokens", "policy.row_tokens", "policy.share_prefixes", "policy.rollout_tokens"),
        *("server.address", "server.concurrency", "server.timeout", "server.weights"),
    }
)


@dataclass(slots=True, kw_only=True)
class TrainingProgress:
    """The progress of a run. With weights, optimizer and random state it is all that a resumed run needs."""

    step: int = 0
    """Steps done, warm start and reinforcement together."""
    optimizer_steps: int = 0
    """Of the present phase."""
    samples_drawn: int = 0
    """The cursor into the data."""
    warm_steps: int = -1
    """Steps of the warm start; -1 while it lasts."""
    steps_without_signal: int = 0
    """Steps in a row in which no group had spread."""
    failed_steps: int = 0
    """Steps in a row without one good rollout."""
    best: float = -1.0
    """The best evaluation so far."""
    # Another number of threads adds up in another order on a CPU, and the last bits differ.
    threads: int = 0
    metrics_lines: int = 0
    """Lines of the metrics file; a resumed run writes the later ones again."""


class TrainingFolder:
    """Writes what a run needs to go on after a kill, and reads it again."""

    def __init__(self, path: Path, config: TrainConfig) -> None:
        self.path = path
        self.metrics = MetricsLog(path)
        self._config = config
        self._checkpoints = path / "checkpoints"
        self._reference = path / "reference.safetensors"

    def begin(self) -> None:
        """Prepare the folder for a new run; one that failed before its first step is cleared away."""
        if ranks.rank():
            return
        place = find_newest(self._checkpoints)
        if self.metrics.has_steps() or (place and load_progress(place).step):
            raise CheckpointError(
                f"{self.path} holds a run already: continue it with --resume, or choose another folder"
            )
        if place or self.metrics.exists():
            for left in (self.path / name for name in _LEFTOVERS):
                if left.is_dir():
                    shutil.rmtree(left)
                else:
                    left.unlink(missing_ok=True)
        self.metrics.truncate(0)

    def find_checkpoint(self) -> Path:
        """Return the newest checkpoint that is whole."""
        # One rank reads the files; the others take its choice.
        (name,) = ranks.gather([self._find_whole()] if ranks.rank() == 0 else [])
        if name is None and find_newest(self._checkpoints):
            raise CheckpointError(
                f"{self.path} has no checkpoint that is whole: bring back a copy of one, or begin in another folder"
            )
        if name is None:
            raise CheckpointError(
                f"{self.path} holds no checkpoint to resume from: leave --resume out to begin, or write --auto-resume"
            )
        return self._checkpoints / name

    def _find_whole(self) -> str | None:
        restore_folders(self._checkpoints)
        places = sorted(self._checkpoints.glob("step-*"), reverse=True)
        # Older than they are at most times; a sharded run's cannot be gone on from.
        if (best := self._checkpoints / "best" / "optimizer.pt").exists():
            places.append(best.parent)
        for place in places:
            damage = find_damage(place)
            if not damage:
                return place.name
            _log.warning("the checkpoint %s is damaged: %s. The run goes on from one before it", place, damage)
        return None

    def load(self, place: Path, policy: Policy, optimizer: PolicyOptimizer, progress: TrainingProgress) -> None:
        """Load weights, optimizer and reference of a checkpoint."""
        load(place, policy.model, optimizer.optimizer, self._config.to_json())
        optimizer.steps_taken = progress.optimizer_steps
        if self._config.needs_reference and progress.warm_steps >= 0:
            self._load_reference(policy)
        if ranks.rank() == 0:
            for later in self._checkpoints.glob("step-*"):
                # Damaged: new checkpoints would be the older ones beside it, and not be kept.
                if later.name > f"step-{progress.step:06d}":
                    shutil.rmtree(later)
            kept = self.metrics.truncate(progress.metrics_lines)
            if kept < progress.metrics_lines:
                _log.warning("%s/metrics.jsonl lost its last %d records", self.path, progress.metrics_lines - kept)
            progress.metrics_lines = kept

    def save(self, name: str, policy: Policy, optimizer: PolicyOptimizer, progress: TrainingProgress) -> None:
        """Write a checkpoint; `best` of a sharded policy has no optimizer, because it is only read from."""
        state = replace(progress, optimizer_steps=optimizer.steps_taken, threads=torch.get_num_threads())
        if ranks.rank() and not policy.is_sharded:
            return
        if ranks.rank() == 0 and self.metrics.exists():
            self.metrics.sync()
        stepped = None if policy.is_sharded and name == "best" else optimizer.optimizer
        save(self._checkpoints / name, policy.model, stepped, state, self._config.to_json())
        if ranks.rank() == 0:
            prune(self._checkpoints, self._config.keep)

    def save_reference(self, policy: Policy) -> None:
        """Write the reference, which is the policy as it is now. Of a sharded policy, on all ranks."""
        if policy.is_sharded or ranks.rank() == 0:
            save_weights(self._reference, policy.model)
        if ranks.rank() == 0:
            flush_to_disk(self._reference)
            write_hashes(self._reference.with_suffix(".json"), [self._reference])

    def _load_reference(self, policy: Policy) -> None:
        if self._reference.exists():
            if damage := find_changes(self._reference.with_suffix(".json")):
                raise CheckpointError(
                    f"{self.path} cannot go on: {damage}. Begin a new run, or bring back a copy of it"
                )
            frozen = policy.freeze_reference(read_weights(self._reference) if policy.is_sharded else None)
            if frozen is not None:
                load_weights(self._reference, frozen)
        elif not (self._config.policy.lora_rank and not self._config.warm_start.steps):
            raise CheckpointError(
                f"{self.path} has no reference policy, because the run began without one: "
                "keep train.loss.kl at 0, and leave out rewards of likelihood"
            )


def save(
    place: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    progress: TrainingProgress,
    settings: Mapping[str, Any],
) -> None:
    """Write a checkpoint, complete or not at all; without an optimizer it cannot be resumed. Shards need all ranks."""
    has_shards = ranks.is_sharded(model)
    with _write_atomically(place, together=has_shards) as folder:
        if has_shards and optimizer is not None:
            ranks.save_shards(folder / _SHARDS, model, optimizer)
        else:
            save_weights(folder / "weights.safetensors", model)
            if optimizer is not None:
                state = {"optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}
                torch.save(state, folder / "optimizer.pt")
        if ranks.rank() == 0:
            record = {"progress": asdict(progress), "settings": settings}
            (folder / "progress.json").write_text(json.dumps(record, indent=1), encoding="utf-8")


def load(
    place: Path, model: nn.Module, optimizer: torch.optim.Optimizer | None, settings: Mapping[str, Any]
) -> TrainingProgress:
    """Load a checkpoint's weights into the model, and its state into the optimizer where one is given."""
    record = _read_progress(place)
    check_same_settings(record["settings"], settings, place)
    progress = TrainingProgress(**record["progress"])
    if (place / _SHARDS).is_dir() and optimizer is not None:
        _log.warning("the parts of %s are Python pickles, which can run code: resume only runs of your own", place)
        ranks.load_shards(place / _SHARDS, model, optimizer, is_stepped=progress.optimizer_steps > 0)
        return progress
    load_weights(place / "weights.safetensors", model)
    if optimizer is not None:
        try:
            # To the CPU first: the GPU that wrote it may not be there, and every rank would load onto the same one.
            state = torch.load(place / "optimizer.pt", weights_only=True, map_location="cpu")
        except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise CheckpointError(f"{place / 'optimizer.pt'} cannot be read: {error}") from error
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
    return progress


def load_progress(place: Path) -> TrainingProgress:
    """Return how far the run of a checkpoint had come."""
    return TrainingProgress(**_read_progress(place)["progress"])


def _read_progress(place: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads((place / "progress.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{place} is no checkpoint: {error}") from error
    # A checkpoint of today's lacks what came later, and its default holds.
    if not {"step", "metrics_lines"} <= set(record.get("progress", {})) <= {f.name for f in fields(TrainingProgress)}:
        raise CheckpointError(f"{place} was written by another version of bookwheel; begin a new run")
    return record


def find_damage(place: Path) -> str:
    """Return what of a checkpoint is not as it was written, or nothing. Those of earlier versions have no hashes."""
    try:
        json.loads((place / "progress.json").read_bytes())
    except (OSError, ValueError) as error:
        return f"progress.json cannot be read ({error})"
    return find_changes(place / _HASHES)


def find_newest(folder: Path) -> Path | None:
    """Return the checkpoint with the most steps; what a kill left half replaced is put back."""
    restore_folders(folder)
    return max(folder.glob("step-*"), default=None, key=lambda place: place.name)


def prune(folder: Path, keep: int) -> None:
    """Remove all but the newest `keep` checkpoints; the best one has a folder of its own."""
    for place in sorted(folder.glob("step-*"))[:-keep]:
        shutil.rmtree(place)


def save_weights(path: Path, model: nn.Module) -> None:
    """Save the weights that are trained, shared ones once. Of a sharded model, all ranks call it together."""
    if not ranks.is_sharded(model):
        save_file({name: weight.detach().contiguous() for name, weight in _trained_weights(model).items()}, path)
    elif weights := ranks.gather_weights(model):
        save_file(weights, path)


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    try:
        return dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error


def load_weights(path: Path, model: nn.Module) -> None:
    """Load saved weights into the model, bit for bit where it has their precision."""
    saved, weights = read_weights(path), _trained_weights(model)
    if {name: tuple(w.shape) for name, w in weights.items()} != {name: tuple(w.shape) for name, w in saved.items()}:
        raise CheckpointError(f"{path} holds the weights of another model; give the run a folder of its own")
    with torch.no_grad():
        for name, weight in weights.items():
            ranks.copy_whole(weight, saved[name])


def _trained_weights(model: nn.Module) -> dict[str, nn.Parameter]:
    """Return the weights with a gradient by name, or all of a frozen model's."""
    named = dict(model.named_parameters())
    return {name: weight for name, weight in named.items() if weight.requires_grad} or named


def check_same_settings(theirs: Mapping[str, Any], ours: Mapping[str, Any], place: Path) -> None:
    """Raise CheckpointError naming what differs, when a checkpoint has other settings."""
    # One of an earlier version lacks what came later, and its default holds.
    with suppress(ConfigError):
        theirs = {**theirs, **TrainConfig.from_tables(theirs).to_json()}
    left, right = (dict(flatten(json.loads(json.dumps(one)))) for one in (theirs, ours))
    differ = [
        f"{key} (there {left.get(key)!r}, here {right.get(key)!r})"
        for key in sorted({*left, *right})
        if left.get(key) != right.get(key) and key.removeprefix("train.") not in _MAY_DIFFER
    ]
    if differ:
        raise CheckpointError(
            f"{place} belongs to a run with other settings: {'; '.join(differ[:5])}. "
            f"Set them back to resume, or give this run a folder of its own"
        )


@contextmanager
def _write_atomically(place: Path, *, together: bool) -> Iterator[Path]:
    """Give a folder to fill, and rename it to `place` when all of it is on the disk; `together` with all ranks."""
    building = place.with_name(f".{place.name}.new")
    is_writer = not together or ranks.rank() == 0
    wait = ranks.wait if together else lambda: None
    try:
        if is_writer:
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir(parents=True)
        wait()
        yield building
        wait()
        if is_writer:
            write_hashes(building / _HASHES, [path for path in sorted(building.rglob("*")) if path.is_file()])
            for path in building.rglob("*"):
                flush_to_disk(path)
            replace_folder(building, place)
            flush_to_disk(place.parent)
        wait()
    except (OSError, RuntimeError, SafetensorError) as error:
        shutil.rmtree(building, ignore_errors=True)
        raise CheckpointError(
            f"the checkpoint {place} could not be written ({error}); the one before it is kept. "
            f"Free some space and continue with --resume"
        ) from error
