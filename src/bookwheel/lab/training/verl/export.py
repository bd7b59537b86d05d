"""Export the best kept checkpoint of a run on verl, as any run's policy is exported."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bookwheel.lab.training.errors import CheckpointError
from bookwheel.lab.training.export import export
from bookwheel.lab.training.loading import load_policy
from bookwheel.lab.training.records import load_records
from bookwheel.lab.training.verl.checkpoints import choose_checkpoint, list_checkpoints

if TYPE_CHECKING:
    from bookwheel.lab.training.config import TrainConfig
    from bookwheel.lab.training.policy import Policy
    from bookwheel.lab.training.verl.settings import ClusterSettings


def export_run(config: TrainConfig, cluster: ClusterSettings, folder: Path, *, gguf_like: Path | None = None) -> Path:
    """Write the run's best kept policy, and return its folder."""
    place = choose_checkpoint(list_checkpoints(folder), load_records(folder))
    # Beside the run: it is as large as the model, and a temporary folder may be in memory.
    with TemporaryDirectory(dir=folder, prefix=".merged-") as merged:
        policy = _load_merged(config, cluster, place / "actor", Path(merged))
        return export(policy, folder, config, base=config.policy.path, gguf_like=gguf_like)


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
