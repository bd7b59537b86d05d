"""Settings, a base model and whole runs for verl on a processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

# Arithmetic that a processor has, in single precision.
OVERRIDES = (
    "actor_rollout_ref.model.use_remove_padding=False",
    "+actor_rollout_ref.model.override_config.attn_implementation=sdpa",
    "actor_rollout_ref.actor.use_torch_compile=False",
    "actor_rollout_ref.actor.fsdp_config.use_torch_compile=False",
    "+actor_rollout_ref.actor.fsdp_config.mixed_precision={param_dtype: fp32, reduce_dtype: fp32, buffer_dtype: fp32}",
)
RUN = (
    "actor_rollout_ref.rollout.name=cpu",
    # Each is a process, which takes seconds to begin.
    "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
)
PLAN = {
    "prompts": "tiny",
    "language": "en",
    "question_tokens": 8,
    "chunk_tokens": 16,
    "memory_tokens": 8,
    "answer_tokens": 8,
}
ENVIRONMENT = {
    "VERL_USE_EXTERNAL_MODULES": "cpu_bed,cpu_rollouts",
    "VERL_PLATFORM": "cpu",
    "VERL_ENGINE_DEVICE": "cuda",
    "OMP_NUM_THREADS": "1",
    # Without the environment of a run, none of these would serve it.
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray puts workers behind everything else (15), and on a busy machine these would never be done.
    "RAY_worker_niceness": "0",
    # A node or a process that had to wait for a core is not dead.
    "RAY_gcs_server_request_timeout_seconds": "600",
    "RAY_health_check_timeout_ms": "120000",
}
HERE = Path(__file__).parent
PATH = os.pathsep.join((str(HERE.parents[2] / "src"), str(HERE)))
# Logical counts that Ray schedules by. The machine has no GPU.
NODE = {"num_cpus": 16, "num_gpus": 1, "include_dashboard": False, "object_store_memory": 200_000_000}
_SECONDS = 1800


@contextmanager
def start_cluster(nodes: int):
    """Give the address of a Ray cluster of so many nodes on this machine."""
    from ray.cluster_utils import Cluster

    with patch.dict(os.environ, ENVIRONMENT | {"PYTHONPATH": PATH}):
        cluster = Cluster()
        try:
            for _ in range(nodes):
                cluster.add_node(**NODE)
            yield cluster.address
        finally:
            cluster.shutdown()


def make_base(folder: Path, **shape: int) -> Path:
    """Save a small new model over the words of the toy-records task."""
    from bookwheel.lab.training.config import TrainConfig
    from bookwheel.lab.training.launch import build_policy

    train = {"task": {"name": "toy-records"}, "fresh": shape}
    build_policy(TrainConfig.from_tables({"train": train, "plan": {"prompts": "tiny", "language": "en"}})).save(folder)
    return folder


def build_engine(config, *, shares=False):
    """Return verl's engine for these settings in this process, and its loss."""
    from functools import partial

    from verl.utils.config import omega_conf_to_dataclass
    from verl.workers.engine import EngineRegistry
    from verl.workers.utils.losses import ppo_loss

    from bookwheel.lab.training.verl.launch import compose
    from bookwheel.lab.training.verl.settings import ClusterSettings, translate

    cluster = ClusterSettings(gpus=1, overrides=OVERRIDES)
    settings = compose(translate(config, cluster, Path("run")), cluster, shares=shares).actor_rollout_ref
    actor, model = omega_conf_to_dataclass(settings.actor), omega_conf_to_dataclass(settings.model)
    actor.model_config = model
    engine = EngineRegistry.new(
        model_type=model.model_type,
        backend=actor.strategy,
        model_config=model,
        engine_config=actor.engine,
        optimizer_config=actor.optim,
        checkpoint_config=actor.checkpoint,
    )
    engine.initialize()
    return engine, partial(ppo_loss, config=actor)


def build_batch(rows, advantages, old, config):
    """Return the rows as verl's engine takes them."""
    import torch
    from tensordict import TensorDict
    from verl.utils import tensordict_utils

    def nested(values):
        return torch.nested.as_nested_tensor(values, layout=torch.jagged)

    masks = [torch.tensor(row.mask) for row in rows]
    weights = [
        torch.exp(before - torch.tensor(row.logprobs)).clamp(max=config.loss.importance_cap)
        for row, before in zip(rows, old, strict=True)
    ]
    data = TensorDict(
        {
            "prompts": nested([torch.tensor(row.prompt) for row in rows]),
            "responses": nested([torch.tensor(row.response) for row in rows]),
            "input_ids": nested([torch.tensor(row.prompt + row.response) for row in rows]),
            "position_ids": nested([torch.arange(len(row.prompt + row.response)) for row in rows]),
            "response_mask": nested(masks),
            "loss_mask": nested(masks),
            "old_log_probs": nested(list(old)),
            "rollout_is_weights": nested(weights),
            "advantages": nested([mask.float() * one for mask, one in zip(masks, advantages, strict=True)]),
        },
        batch_size=len(rows),
    )
    tensordict_utils.assign_non_tensor(
        data,
        temperature=1.0,
        use_dynamic_bsz=True,
        max_token_len_per_gpu=config.policy.row_tokens,
        use_remove_padding=False,
        global_batch_size=len(rows),
    )
    return data


@dataclass(frozen=True)
class Bed:
    """Runs of `bookwheel train --engine verl` in a folder."""

    folder: Path
    address: str = ""
    """Of a Ray cluster; without one, each run starts Ray on this machine."""

    def write(self, name: str, train: dict, *overrides: str, nodes: int = 1, **plan: object) -> Path:
        """Write a settings file; `plan` replaces fields of the plan."""
        machine = [] if self.address else [f"+ray_kwargs.ray_init.{key}={value}" for key, value in NODE.items()]
        verl = {"nodes": nodes, "gpus": 1, "readers": 1, "overrides": [*OVERRIDES, *RUN, *machine, *overrides]}
        file = self.folder / f"{name}.toml"
        file.write_text(
            "".join(_write_table(*table) for table in (("plan", PLAN | plan), ("train", train), ("verl", verl)))
        )
        return file

    def start(self, file: Path, out: Path, *arguments: str) -> subprocess.Popen:
        """Start a run; what it prints goes to a file beside its folder."""
        command = [
            sys.executable,
            "-m",
            "bookwheel",
            "train",
            str(file),
            "--engine",
            "verl",
            "--json",
            "--out",
            str(out),
        ]
        environment = {"RAY_ADDRESS": self.address} if self.address else {}
        with out.with_suffix(".out").open("w") as stdout, out.with_suffix(".log").open("a") as stderr:
            return subprocess.Popen(
                [*command, *arguments],
                stdout=stdout,
                stderr=stderr,
                env=os.environ | ENVIRONMENT | {"PYTHONPATH": PATH} | environment,
                cwd=self.folder,
            )

    def run(self, file: Path, out: Path, *arguments: str) -> dict:
        """Run to the end, and return what was printed."""
        process = self.start(file, out, *arguments)
        try:
            status = process.wait(timeout=_SECONDS)
        finally:
            process.kill()
        assert status == 0, tail(out)
        return json.loads(out.with_suffix(".out").read_text("utf-8"))


def tail(out: Path) -> str:
    """Return the end of what a run printed."""
    return out.with_suffix(".log").read_text("utf-8")[-6000:]


def _write_table(name: str, values: dict) -> str:
    """Return a table as TOML, which writes plain values as JSON does."""
    plain = {key: value for key, value in values.items() if not isinstance(value, dict)}
    lines = [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in plain.items()), ""]
    tables = [_write_table(f"{name}.{key}", value) for key, value in values.items() if isinstance(value, dict)]
    return "\n".join(lines) + "".join(tables)
