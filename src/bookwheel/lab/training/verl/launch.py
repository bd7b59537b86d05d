"""Run a training on verl, keep its checkpoints, and export the best one as any run's policy is exported.

    RUN/metrics.jsonl                   the records, as of any run
    RUN/verl/settings.json              the settings of the run
    RUN/verl/global_step_N/actor        verl's checkpoints, each with the parts of all ranks

On several nodes RUN must be a folder that all of them share: every rank writes its part of a checkpoint there. verl
counts only the checkpoints that the present process saved, and leaves the folders of what it removed.
"""

import json
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bookwheel.errors import BookwheelError, MissingExtra
from bookwheel.lab.training.checkpoint import check_same_settings
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import CheckpointError, ConfigError, TrainingStopped
from bookwheel.lab.training.launch import export
from bookwheel.lab.training.loading import load_policy
from bookwheel.lab.training.policy import Policy
from bookwheel.lab.training.records import MetricsLog, load_records
from bookwheel.lab.training.trainer import TrainingResult
from bookwheel.lab.training.verl.settings import (
    NAME,
    ClusterSettings,
    checkpoint_folder,
    shares_prefixes,
    translate,
)

_log: Final = logging.getLogger(__name__)
NEWEST: Final = "latest_checkpointed_iteration.txt"
"""The file that names the step from which verl resumes."""
_PACKAGES: Final = ("verl", "ray", "transfer_queue", "tensordict", "hydra")
_MODULES: Final = "VERL_USE_EXTERNAL_MODULES"
_PLUGIN: Final = "bookwheel.lab.training.verl.plugin"


def run(
    config: TrainConfig,
    cluster: ClusterSettings,
    folder: Path,
    *,
    data: Path | None = None,
    resume: bool = False,
    trackers: Sequence[str] = (),
) -> TrainingResult:
    """Train to the end on the machines of the settings; with `resume`, from the newest checkpoint in the folder.

    verl logs to the `trackers` by its own names of metrics.
    """
    settings = translate(config, cluster, folder, data=data, resume=resume, trackers=trackers)
    check_packages()
    begin(folder, config, cluster, resume=resume)
    # The standard output is the result's; what verl and its processes print belongs to the progress.
    with redirect_stdout(sys.stderr):
        _train(compose(settings, cluster, shares=shares_prefixes(config)))
    return TrainingResult.of(folder)


def check_packages() -> None:
    """Raise MissingExtra where a package of the extra is not installed."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingExtra("training on verl", "verl")


def compose(settings: Mapping[str, Any], cluster: ClusterSettings, *, shares: bool = False) -> Any:
    """Return verl's whole configuration with these settings in it, and the user's own last.

    With `shares`, what rows have in common at their beginning is read once where these settings allow it.
    """
    from hydra import compose as compose_defaults
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf, open_dict
    from omegaconf.errors import OmegaConfBaseException

    package = find_spec("verl")
    assert package is not None
    assert package.origin is not None
    engine = ["model_engine=megatron"] if cluster.strategy == "megatron" else []
    with initialize_config_dir(str(Path(package.origin).parent / "trainer" / "config"), version_base=None):
        config = compose_defaults("ppo_trainer", overrides=engine)
    with open_dict(config):
        config.data[NAME] = settings[f"data.{NAME}"]
        # Where the package is not installed but on the path, its entry point is not found.
        boards = str(Path(settings["trainer.default_local_dir"]).parent / "tensorboard")
        config.ray_kwargs.ray_init.runtime_env.env_vars = {_MODULES: _list_modules(), "TENSORBOARD_DIR": boards}
    for key, value in settings.items():
        OmegaConf.update(config, key, value)
    try:
        for line in cluster.overrides:
            _override(config, line)
    except OmegaConfBaseException as error:
        raise ConfigError(f"verl.overrides: {error}") from error
    if shares:
        _share_prefixes(config.actor_rollout_ref)
    return config


def _share_prefixes(config: Any) -> None:
    """Choose the engine that reads prefixes once, or say what stands against it."""
    from omegaconf import open_dict

    model, actor = config.model, config.actor
    # The actor's own setting is the older of two names; Megatron has neither.
    places = actor, actor.get("fsdp_config", {})
    reasons = {
        f"the strategy {actor.strategy}": actor.strategy != "fsdp2",
        "sequence parallelism": any(one.get("ulysses_sequence_parallel_size", 1) > 1 for one in places),
        "fused kernels": model.use_fused_kernels,
        "another attention than sdpa": model.override_config.get("attn_implementation", "sdpa") != "sdpa",
    }
    if found := [reason for reason, stands in reasons.items() if stands]:
        _log.warning("every row is read by itself: prefixes are not shared with %s", " and ".join(found))
        return
    with open_dict(model):
        model.model_type = NAME
        # Packed rows have no padding; rows that do not pack are padded.
        model.use_remove_padding = False
        model.override_config.attn_implementation = "sdpa"


def _override(config: Any, line: str) -> None:
    """Set one of verl's own settings; a leading + adds one that verl's files do not list."""
    from omegaconf import OmegaConf, open_dict

    key, _, value = line.lstrip("+").partition("=")
    parsed = OmegaConf.create(f"value: {value}").value
    if line.startswith("+"):
        with open_dict(config):
            OmegaConf.update(config, key, parsed, force_add=True)
    else:
        OmegaConf.update(config, key, parsed)


def _list_modules() -> str:
    """Return the modules that verl's processes import: the user's, and the one that registers the trainer."""
    names = [name for name in os.environ.get(_MODULES, "").split(",") if name]
    return ",".join(dict.fromkeys((*names, _PLUGIN)))


def _train(config: Any) -> None:
    os.environ[_MODULES] = _list_modules()
    import ray
    from ray.exceptions import RayError
    from verl.trainer.main_ppo import TaskRunnerV1, run_ppo
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config
    from verl.utils.device import auto_set_device

    auto_set_device(config)
    try:
        validate_config(config, need_reference_policy(config), need_critic(config))
    except (AssertionError, ValueError) as error:
        raise ConfigError(f"verl does not take these settings: {error}") from error
    try:
        run_ppo(config, task_runner_class=TaskRunnerV1)
    except ConnectionError as error:
        raise ConfigError(f"the Ray cluster cannot be reached: {error}") from error
    except RayError as error:
        # With the traces of all processes that it went through.
        sys.stderr.write(f"{error}\n")
        raise find_cause(error) from error
    finally:
        # Frees the GPUs, which the export may use.
        ray.shutdown()


def find_cause(error: BaseException) -> BookwheelError:
    """Return what stopped the run: an error of this package, or one that names the first error of any process."""
    # One for each process that the error went through.
    while isinstance(cause := getattr(error, "cause", None), Exception):
        error = cause
    if isinstance(error, BookwheelError):
        return error
    message = " ".join(str(error).split())
    return TrainingStopped(
        f"verl stopped: {type(error).__name__}: {message}. Go on from the last checkpoint with --resume"
    )


def begin(folder: Path, config: TrainConfig, cluster: ClusterSettings, *, resume: bool) -> None:
    """Prepare the folder of a run, or check that the run in it can go on with these settings."""
    place = checkpoint_folder(folder)
    file = place / "settings.json"
    # A part of a checkpoint belongs to one rank of so many.
    machines = {"nodes": cluster.nodes, "gpus": cluster.gpus, "strategy": cluster.strategy}
    machines |= {"shard_gpus": cluster.shard_gpus} if cluster.shard_gpus else {}
    settings = {**config.to_json(), "verl": machines}
    if not resume:
        if MetricsLog(folder).has_steps():
            raise CheckpointError(f"{folder} holds a run already: continue it with --resume, or choose another folder")
        # Of a start that failed.
        (folder / "metrics.jsonl").unlink(missing_ok=True)
        place.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings, indent=1), encoding="utf-8")
        return
    if not (place / NEWEST).exists():
        raise CheckpointError(f"{folder} holds no checkpoint of verl to resume from")
    check_same_settings(json.loads(file.read_text(encoding="utf-8")), settings, place)


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
    has_adapters = config.policy.lora_rank > 0
    path = config.policy.path if has_adapters else str(merged)
    policy = load_policy(replace(config.policy, path=path, sharded=False, gradient_checkpointing=False))
    if has_adapters:
        from peft import set_peft_model_state_dict
        from safetensors.torch import load_file

        set_peft_model_state_dict(policy.model, load_file(merged / "lora_adapter" / "adapter_model.safetensors"))
    return policy
