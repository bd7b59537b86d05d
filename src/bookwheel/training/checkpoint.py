"""Checkpoints that are whole or not there: weights, optimizer, random state, and how far the run has come.

    RUN/checkpoints/step-000040/   weights.safetensors  optimizer.pt  progress.json
    RUN/checkpoints/best/          the same, of the best evaluation so far
    RUN/reference.safetensors      what the KL term is held against, once

A checkpoint is written beside its place and moved there when all of it is on the disk, so a kill or a full disk leaves
the one before. `progress.json` holds the settings; a checkpoint of other settings is refused.
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

from bookwheel.training.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from torch import nn

_MAY_DIFFER: Final = frozenset({"steps", "checkpoint_every", "keep", "keep_rollouts", "patience"})
"""Settings of `[train]` that a run may change half-way."""


@dataclass(slots=True, kw_only=True)
class TrainingProgress:
    """How far a run has come; with weights, optimizer and random state, all that going on takes."""

    step: int = 0
    """Steps done, warm start and reinforcement together."""
    taken: int = 0
    """Optimizer steps of the present phase."""
    drawn: int = 0
    """Samples drawn: the cursor into the data."""
    warmed: int = -1
    """Steps that the warm start took; -1 while it lasts."""
    barren: int = 0
    """Steps in a row that had nothing to teach."""
    best: float = -1.0
    """The best evaluation so far."""
    threads: int = 0
    """On a CPU another number adds up in another order, and the last bits differ."""
    lines: int = 0
    """Of the metrics file; what a killed run wrote after its checkpoint is written again."""


def save(
    place: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: TrainingProgress,
    settings: Mapping[str, Any],
) -> None:
    """Write a checkpoint, whole."""
    with _whole(place) as folder:
        save_weights(folder / "weights.safetensors", model)
        state = {"optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}
        torch.save(state, folder / "optimizer.pt")
        told = {"progress": asdict(progress), "settings": settings}
        (folder / "progress.json").write_text(json.dumps(told, indent=1), encoding="utf-8")


def load(
    place: Path, model: nn.Module, optimizer: torch.optim.Optimizer | None, settings: Mapping[str, Any]
) -> TrainingProgress:
    """Put a checkpoint's weights into the model and its state into the optimizer; without one, the weights alone."""
    told = _told(place)
    _same(told["settings"], settings, place)
    load_weights(place / "weights.safetensors", model)
    if optimizer is not None:
        state = torch.load(place / "optimizer.pt", weights_only=True)
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
    return TrainingProgress(**told["progress"])


def load_progress(place: Path) -> TrainingProgress:
    """How far the run of a checkpoint had come."""
    return TrainingProgress(**_told(place)["progress"])


def newest(folder: Path) -> Path | None:
    """The checkpoint with the most steps."""
    return max(folder.glob("step-*"), default=None, key=lambda place: place.name)


def prune(folder: Path, keep: int) -> None:
    """Remove all but the newest `keep`; the best one has a place of its own."""
    for place in sorted(folder.glob("step-*"))[:-keep]:
        shutil.rmtree(place)


def save_weights(path: Path, model: nn.Module) -> None:
    """The weights that are trained; shared ones once."""
    save_file({name: weight.detach().contiguous() for name, weight in _trained(model)}, path)


def load_weights(path: Path, model: nn.Module) -> None:
    """Put saved weights back, bit for bit."""
    try:
        saved = load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    mine = dict(_trained(model))
    if {name: tuple(w.shape) for name, w in mine.items()} != {name: tuple(w.shape) for name, w in saved.items()}:
        raise CheckpointError(f"{path} holds the weights of another model; give the run a folder of its own")
    with torch.no_grad():
        for name, weight in mine.items():
            weight.copy_(saved[name])


def _trained(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Named weights with a gradient, or all of a frozen model's."""
    named = list(model.named_parameters())
    moving = [(name, weight) for name, weight in named if weight.requires_grad]
    return iter(moving or named)


def _told(place: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((place / "progress.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{place} is no checkpoint: {error}") from error
    if set(told.get("progress", {})) != {f.name for f in fields(TrainingProgress)}:
        raise CheckpointError(f"{place} was written by another version of bookwheel; begin a new run")
    return told


def _same(theirs: Mapping[str, Any], ours: Mapping[str, Any], place: Path) -> None:
    """Refuse a checkpoint of another configuration, and name what differs."""
    left, right = dict(_leaves(theirs)), dict(_leaves(json.loads(json.dumps(ours))))
    differ = [
        f"{key} (there {left.get(key)!r}, here {right.get(key)!r})"
        for key in sorted({*left, *right})
        if left.get(key) != right.get(key) and key.removeprefix("train.") not in _MAY_DIFFER
    ]
    if differ:
        raise CheckpointError(
            f"{place} is of a run with other settings: {'; '.join(differ[:5])}. "
            f"Set them back to go on, or give this run a folder of its own"
        )


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@contextmanager
def _whole(place: Path) -> Iterator[Path]:
    """A folder to fill, that takes the place in one move once it is on the disk."""
    building = place.with_name(f".{place.name}.new")
    shutil.rmtree(building, ignore_errors=True)
    try:
        building.mkdir(parents=True)
        yield building
        for path in building.iterdir():
            _to_disk(path)
        if place.exists():
            old = place.with_name(f".{place.name}.old")
            shutil.rmtree(old, ignore_errors=True)
            place.rename(old)
            building.rename(place)
            shutil.rmtree(old)
        else:
            building.rename(place)
        _to_disk(place.parent)
    except (OSError, RuntimeError, SafetensorError) as error:
        shutil.rmtree(building, ignore_errors=True)
        raise CheckpointError(
            f"the checkpoint {place} could not be written ({error}); the one before it is kept. "
            f"Make room and go on with --resume"
        ) from error


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
