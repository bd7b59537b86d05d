"""Checkpoints, complete or absent: weights, optimizer, random state and progress.

    RUN/checkpoints/step-000040/   weights.safetensors  optimizer.pt  progress.json
                                   or, of a sharded run, shards/ and progress.json: every rank writes its own part
    RUN/checkpoints/best/          the weights of the best evaluation so far
    RUN/reference.safetensors      the reference policy of the KL term, written once

Shards are loaded by any number of ranks. A checkpoint is written to a temporary folder and renamed when all of it is on
the disk, so a kill or a full disk leaves the one before. `progress.json` holds the settings; a checkpoint of other
settings is refused.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from bookwheel.lab.training import ranks
from bookwheel.lab.training.atomic import replace_folder, restore_folders
from bookwheel.lab.training.errors import CheckpointError
from bookwheel.lab.training.sharding import copy_whole, gather_weights, is_sharded, load_shards, save_shards

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from torch import nn

_SHARDS: Final = "shards"
# Settings of `[train]` that may change when a run is resumed: how long and where it runs, what it needs to fit into
# memory, and the two that the message on a loss without a number names.
_MAY_DIFFER: Final = frozenset(
    {
        "steps",
        "checkpoint_every",
        "keep",
        "keep_rollouts",
        "patience",
        "learning_rate",
        "loss.kl",
        "policy.device",
        "policy.gradient_checkpointing",
        "policy.head_tokens",
        "policy.row_tokens",
        "policy.share_prefixes",
        "policy.rollout_tokens",
        "server.address",
        "server.concurrency",
        "server.weights",
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
    best: float = -1.0
    """The best evaluation so far."""
    # Another number of threads adds up in another order on a CPU, and the last bits differ.
    threads: int = 0
    metrics_lines: int = 0
    """Lines of the metrics file; a resumed run writes the later ones again."""


def save(
    place: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    progress: TrainingProgress,
    settings: Mapping[str, Any],
) -> None:
    """Write a checkpoint, complete or not at all; without an optimizer it cannot be resumed. Shards need all ranks."""
    has_shards = is_sharded(model)
    with _write_atomically(place, together=has_shards) as folder:
        if has_shards and optimizer is not None:
            save_shards(folder / _SHARDS, model, optimizer)
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
        load_shards(place / _SHARDS, model, optimizer, is_stepped=progress.optimizer_steps > 0)
        return progress
    load_weights(place / "weights.safetensors", model)
    if optimizer is not None:
        # To the CPU first: the GPU that wrote it may not be there, and every rank would load onto the same one.
        state = torch.load(place / "optimizer.pt", weights_only=True, map_location="cpu")
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
    return progress


def load_progress(place: Path) -> TrainingProgress:
    """Return how far the run of a checkpoint had come."""
    return TrainingProgress(**_read_progress(place)["progress"])


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
    if is_sharded(model):
        weights = gather_weights(model)
        if ranks.rank() == 0:
            save_file(weights, path)
        return
    save_file({name: weight.detach().contiguous() for name, weight in _trained_weights(model)}, path)


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """Return saved weights by name."""
    try:
        return dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error


def load_weights(path: Path, model: nn.Module) -> None:
    """Load saved weights into the model, bit for bit where it has their precision."""
    saved = read_weights(path)
    weights = dict(_trained_weights(model))
    if {name: tuple(w.shape) for name, w in weights.items()} != {name: tuple(w.shape) for name, w in saved.items()}:
        raise CheckpointError(f"{path} holds the weights of another model; give the run a folder of its own")
    with torch.no_grad():
        for name, weight in weights.items():
            copy_whole(weight, saved[name])


def _trained_weights(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Return the named weights with a gradient, or all of a frozen model's."""
    named = list(model.named_parameters())
    trained = [(name, weight) for name, weight in named if weight.requires_grad]
    return iter(trained or named)


def _read_progress(place: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads((place / "progress.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{place} is no checkpoint: {error}") from error
    if set(record.get("progress", {})) != {f.name for f in fields(TrainingProgress)}:
        raise CheckpointError(f"{place} was written by another version of bookwheel; begin a new run")
    return record


def check_same_settings(theirs: Mapping[str, Any], ours: Mapping[str, Any], place: Path) -> None:
    """Raise CheckpointError naming what differs, when a checkpoint has other settings."""
    left, right = dict(_flatten_settings(theirs)), dict(_flatten_settings(json.loads(json.dumps(ours))))
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


def _flatten_settings(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten_settings(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@contextmanager
def _write_atomically(place: Path, *, together: bool) -> Iterator[Path]:
    """Give a folder to fill, and rename it to `place` when all of it is on the disk; `together` with all ranks."""
    building = place.with_name(f".{place.name}.new")
    is_writer = not together or ranks.rank() == 0
    try:
        if is_writer:
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir(parents=True)
        if together:
            ranks.wait()
        yield building
        if together:
            ranks.wait()
        if is_writer:
            for path in building.rglob("*"):
                _flush_to_disk(path)
            replace_folder(building, place)
            _flush_to_disk(place.parent)
        if together:
            ranks.wait()
    except (OSError, RuntimeError, SafetensorError) as error:
        shutil.rmtree(building, ignore_errors=True)
        raise CheckpointError(
            f"the checkpoint {place} could not be written ({error}); the one before it is kept. "
            f"Free some space and continue with --resume"
        ) from error


def _flush_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
