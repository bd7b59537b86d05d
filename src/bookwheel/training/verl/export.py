"""Export the best kept checkpoint of a run on verl, as any run's policy is exported."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bookwheel.training.errors import CheckpointError
from bookwheel.training.export import export
from bookwheel.training.loading import load_policy
from bookwheel.training.records import load_records
from bookwheel.training.verl.translate import checkpoint_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bookwheel.training.config import TrainConfig
    from bookwheel.training.policy import Policy
    from bookwheel.training.verl.settings import ClusterSettings


def export_run(config: TrainConfig, cluster: ClusterSettings, folder: Path, *, gguf_like: Path | None = None) -> Path:
    """Write the run's best kept policy, and return its folder."""
    place = choose_checkpoint(list_checkpoints(folder), load_records(folder))
    # Beside the run: it is as large as the model, and a temporary folder may be in memory.
    with TemporaryDirectory(dir=folder, prefix=".merged-") as merged:
        policy = _load_merged(config, cluster, place / "actor", Path(merged))
        return export(policy, folder, config, base=config.policy.path, gguf_like=gguf_like)


def list_checkpoints(folder: Path) -> dict[int, Path]:
    """Return the folders of the run's checkpoints by their steps."""
    places = (checkpoint_folder(folder)).glob("global_step_*")
    return {int(match[1]): place for place in places if (match := re.fullmatch(r"global_step_(\d+)", place.name))}


def choose_checkpoint(places: Mapping[int, Path], records: Sequence[Mapping[str, Any]]) -> Path:
    """Return the checkpoint with the best evaluation; of equals, and of those that were not measured, the last."""
    if not places:
        raise CheckpointError("the run wrote no checkpoint to export: lower train.checkpoint_every")
    accuracy = {int(one["step"]): float(one["accuracy"]) for one in records if one["kind"] == "evaluation"}
    return places[max(places, key=lambda step: (accuracy.get(step, -1.0), step))]


def _load_merged(config: TrainConfig, cluster: ClusterSettings, place: Path, merged: Path) -> Policy:
    """Return the policy of a checkpoint, whose parts verl puts together in `merged`."""
    backend = "megatron" if cluster.strategy == "megatron" else "fsdp"
    command = [sys.executable, "-m", "verl.model_merger", "merge", "--backend", backend]
    # In a process of its own: it needs as much memory as the model, and starts a process group for Megatron.
    done = subprocess.run(  # noqa: S603 - fixed words and the run's own paths
        [*command, "--local_dir", str(place), "--target_dir", str(merged)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CheckpointError(f"verl cannot merge the parts of {place}: {done.stderr.strip().splitlines()[-1:]}")
    if not config.policy.lora_rank:
        return load_policy(replace(config.policy, path=str(merged), sharded=False, gradient_checkpointing=False))
    return _load_adapter(config, merged / "lora_adapter" / "adapter_model.safetensors")


def _load_adapter(config: TrainConfig, file: Path) -> Policy:
    from peft import set_peft_model_state_dict
    from safetensors.torch import load_file

    policy = load_policy(replace(config.policy, sharded=False, gradient_checkpointing=False))
    set_peft_model_state_dict(policy.model, load_file(file))
    return policy
