"""verl's checkpoints of a run: RUN/verl/global_step_N/actor, each with the parts of all ranks.

verl counts only what the present process saved, and leaves the folders of what it removed.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any, Final

from bookwheel.lab.training.errors import CheckpointError
from bookwheel.lab.training.verl.translate import checkpoint_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

NEWEST: Final = "latest_checkpointed_iteration.txt"
"""The file that names the step from which verl resumes."""


def list_checkpoints(folder: Path) -> dict[int, Path]:
    """Return the folders of the run's checkpoints by their steps."""
    return {step: place for step, place in _list_steps(folder).items() if (place / "actor").is_dir()}


def _list_steps(folder: Path) -> dict[int, Path]:
    places = checkpoint_folder(folder).glob("global_step_*")
    return {int(match[1]): place for place in places if (match := re.fullmatch(r"global_step_(\d+)", place.name))}


def prune(folder: Path, keep: int) -> None:
    """Remove all but the newest `keep` checkpoints and the one to resume from."""
    newest = checkpoint_folder(folder) / NEWEST
    # A checkpoint that is still being written is not named yet.
    resumed = {int(newest.read_text(encoding="utf-8"))} if newest.exists() else set()
    kept = resumed.union(sorted(list_checkpoints(folder))[-keep:])
    for step, place in _list_steps(folder).items():
        if step not in kept and step < max(kept, default=0):
            shutil.rmtree(place)


def choose_checkpoint(places: Mapping[int, Path], records: Sequence[Mapping[str, Any]]) -> Path:
    """Return the checkpoint with the best evaluation; of equals, and of those that were not measured, the last."""
    if not places:
        raise CheckpointError("the run wrote no checkpoint to export: lower train.checkpoint_every")
    accuracy = {int(one["step"]): float(one["accuracy"]) for one in records if one["kind"] == "evaluation"}
    return places[max(places, key=lambda step: (accuracy.get(step, -1.0), step))]
