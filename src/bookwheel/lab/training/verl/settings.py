"""The settings of the table `[verl]`, machines and engines, and the translation of a run's settings into verl's.

What is trained stands in `[train]` and `[plan]`. verl gets dotted keys and plain values; nothing of verl is imported:

    [train] samples, group_size     data.train_batch_size, rollout.n
    [train] updates                 the trainer's own mini-batches; verl's would grow with conversations
    [train.loss]                    clip_ratio_low/high, kl_loss_coef (low_var_kl), token-mean;
                                    importance_cap is verl's token-level rollout correction
    [train.policy]                  model.path, lora_rank, ppo_max_token_len_per_gpu
    [plan]                          max_prompt_length, max_response_length
    [verl]                          nodes, engines

Rollouts are sampled at temperature 1 and top_p 1, because the trainer computes the probabilities of just that.
A setting that verl has no equal of is refused.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from bookwheel.lab.training.config import AtLeastOne, TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.plan import Layout
from bookwheel.preset import load_preset
from bookwheel.schema import Ge, Gt, Le, parse, settings_table

NAME: Final = "bookwheel"
"""The name of the trainer, of the agent loop and of the settings that they read."""
TRAIN, HELD_OUT = "train", "held-out"
"""The names of the two sets of samples."""
_TEMPLATE_TOKENS: Final = 512
# Rows that wait in the queue while a batch is refilled come on top of the batch's own.
_QUEUE_FACTOR: Final = 2
# verl's loss always has a dual clip; this one never acts.
_MOST_RATIO: Final = 1e6
_MOST_CONVERSATIONS: Final = 64


@settings_table("verl", ConfigError)
class ClusterSettings:
    """The machines, the engine that trains and the engine that samples."""

    nodes: AtLeastOne = 1
    gpus: AtLeastOne = 8
    """GPUs of each node; all train and all sample, in turn."""
    strategy: Literal["fsdp2", "megatron"] = "fsdp2"
    offload: bool = False
    """Keep weights and optimizer in the machines' memory while the GPUs sample."""
    shard_gpus: Annotated[int, Ge(0)] = 0
    """GPUs that share out one copy of weights and optimizer; 0 is all of them."""
    rollouts: Literal["vllm", "sglang"] = "vllm"
    rollout_gpus: AtLeastOne = 1
    """GPUs that share one copy of the sampling model."""
    rollout_memory: Annotated[float, Gt(0), Le(1)] = 0.6
    """The share of a GPU's memory that the sampling engine may take."""
    readers: AtLeastOne = 8
    """Processes that read documents and judge answers."""
    overrides: tuple[str, ...] = ()
    """Settings of verl's own, `KEY=VALUE`; they come last."""

    def check(self) -> None:
        """Raise ConfigError for what is malformed."""
        malformed = [line for line in self.overrides if "=" not in line]
        if malformed:
            raise ConfigError(f"verl.overrides must be of the form KEY=VALUE, not {malformed[0]!r}")
        for name, share in (("rollout_gpus", self.rollout_gpus), ("shard_gpus", self.shard_gpus)):
            if share and self.ranks % share:
                raise ConfigError(f"verl.{name} must divide the number of GPUs ({self.ranks}), not {share}")

    @property
    def ranks(self) -> int:
        return self.nodes * self.gpus

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"overrides": list(self.overrides)}

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any], where: str = "") -> ClusterSettings:
        """Return the settings of `[verl]`; without that table, one node of 8 GPUs."""
        return parse(cls, tables.get("verl", {}), where=where, table="verl", error=ConfigError)

    @classmethod
    def load(cls, name: str, default: ClusterSettings | None = None) -> ClusterSettings:
        """Return the settings in a preset or a TOML file that `TrainConfig.load` has read without error.

        Without a table `[verl]` they are the `default`, or one node of 8 GPUs.
        """
        path = Path(name)
        tables = tomllib.loads(path.read_text(encoding="utf-8")) if path.suffix == ".toml" else load_preset(name)
        return default if default and "verl" not in tables else cls.from_tables(tables, name)


def translate(
    config: TrainConfig,
    cluster: ClusterSettings,
    folder: Path,
    *,
    data: Path | None = None,
    resume: bool = False,
    trackers: Sequence[str] = (),
) -> dict[str, Any]:
    """Return verl's settings for a run in `folder`; `data` is the folder of question sets."""
    check_supported(config, cluster)
    return {
        **_translate_data(config, cluster, folder, data),
        **_translate_model(config, cluster),
        **_translate_loss(config),
        **_translate_rollouts(config, cluster),
        **_translate_run(config, cluster, folder, resume=resume),
        "trainer.logger": ["console", *trackers],
    }


def check_supported(config: TrainConfig, cluster: ClusterSettings) -> None:
    """Raise ConfigError for the first setting that verl has no equal of."""
    policy, path = config.policy, config.policy.path
    smallest = config.samples // config.updates * config.group_size
    rules = (
        (config.warm_start.steps > 0, "train.warm_start.steps must be 0: make the warm start with the embedded engine"),
        (config.decay > 0, "train.decay must be 0: verl keeps the learning rate constant after the warm-up"),
        (
            path in {"", "local"} or path.endswith(".gguf"),
            f"train.policy.path must be a folder or a name that transformers loads, not {policy.path!r}",
        ),
        (bool(config.server.address), "train.server.address must be empty: [verl] names the engine that samples"),
        (config.staleness > 0, "train.staleness must be 0: rollouts and steps take turns"),
        (policy.quantized, "train.policy.quantized must be false"),
        (bool(config.task.stages), "train.task.stages must be empty: verl draws from one set of samples"),
        (config.loss.form != "dapo", "train.loss.form must be dapo"),
        (bool(config.teacher.model), "train.teacher.model must be empty"),
        (config.uses_likelihood, "train.reward.recovered, train.reward.dense and train.task.clozes must be 0"),
        (
            smallest * 2 < cluster.ranks,
            f"{smallest} rollouts an update are too few for {cluster.ranks} GPUs: lower train.updates",
        ),
    )
    for is_broken, message in rules:
        if is_broken:
            raise ConfigError(f"with --engine verl, {message}")


def shares_prefixes(config: TrainConfig) -> bool:
    """Tell if the rows of a sample's readings begin with what is long: the question and the section."""
    begins_alike = config.workflow != "reading" or config.plan.layout is not Layout.MEMORY_FIRST
    return config.policy.share_prefixes and begins_alike


def _translate_data(config: TrainConfig, cluster: ClusterSettings, folder: Path, data: Path | None) -> dict[str, Any]:
    plan = config.plan
    # Every reader writes into the one journal of rollouts, and SQLite's files are not for several machines.
    places = {"data": data.resolve() if data else "", "rollouts": folder.resolve() if cluster.nodes == 1 else ""}
    return {
        "data.custom_cls.path": "pkg://bookwheel.lab.training.verl.reader",
        "data.custom_cls.name": "SampleNumbers",
        "data.train_files": TRAIN,
        "data.val_files": HELD_OUT,
        "data.train_batch_size": config.samples,
        "data.val_batch_size": None,
        "data.shuffle": config.task.shuffle,
        "data.seed": config.seed,
        # The dataset holds numbers only; processes that load them would cost more than they save.
        "data.dataloader_num_workers": 0,
        "data.max_prompt_length": plan.question_tokens + plan.memory_tokens + plan.chunk_tokens + _TEMPLATE_TOKENS,
        "data.max_response_length": max(plan.memory_tokens, plan.answer_tokens),
        # As text: verl would resolve what looks like its own references.
        f"data.{NAME}": json.dumps({**config.to_json(), **{name: str(place) for name, place in places.items()}}),
    }


def _translate_model(config: TrainConfig, cluster: ClusterSettings) -> dict[str, Any]:
    policy, model, actor = config.policy, "actor_rollout_ref.model", "actor_rollout_ref.actor"
    lora = policy.lora_rank > 0
    settings: dict[str, Any] = {
        f"{model}.path": policy.path,
        f"{model}.enable_gradient_checkpointing": policy.gradient_checkpointing,
        f"{model}.lora_rank": policy.lora_rank,
        f"{model}.lora_alpha": policy.lora_alpha or 2 * policy.lora_rank,
        f"{model}.target_modules": "all-linear",
        # An adapter is sent alone, so the sampling engine must have the weights that it belongs to.
        "actor_rollout_ref.rollout.load_format": "safetensors" if lora else "dummy",
        f"{actor}.optim.lr": config.learning_rate,
        # The settings count batches, and the schedule moves with every optimizer step.
        f"{actor}.optim.lr_warmup_steps": config.warmup_steps * config.updates,
        f"{actor}.optim.weight_decay": config.weight_decay,
        f"{actor}.optim.clip_grad": config.clip_norm,
        f"{actor}.use_dynamic_bsz": True,
        f"{actor}.ppo_max_token_len_per_gpu": policy.row_tokens,
    }
    if cluster.strategy == "megatron":
        engine = f"{actor}.megatron"
        settings[f"{actor}.optim.lr_decay_style"] = "constant"
    else:
        engine = f"{actor}.fsdp_config"
        settings |= {
            f"{actor}.strategy": "fsdp2",
            f"{actor}.optim.lr_scheduler_type": "constant",
            # Master weights: at a rate of 1e-6 most steps are smaller than what bfloat16 can add.
            f"{engine}.model_dtype": "fp32",
            f"{engine}.fsdp_size": cluster.shard_gpus or -1,
        }
    return settings | {f"{engine}.param_offload": cluster.offload, f"{engine}.optimizer_offload": cluster.offload}


def _translate_loss(config: TrainConfig) -> dict[str, Any]:
    loss, actor, correction = config.loss, "actor_rollout_ref.actor", "algorithm.rollout_correction"
    return {
        f"{actor}.clip_ratio": loss.clip_low,
        f"{actor}.clip_ratio_low": loss.clip_low,
        f"{actor}.clip_ratio_high": loss.clip_high,
        f"{actor}.clip_ratio_c": loss.dual_clip or _MOST_RATIO,
        f"{actor}.loss_agg_mode": "token-mean",
        f"{actor}.entropy_coeff": 0.0,
        f"{actor}.use_kl_loss": loss.kl > 0,
        f"{actor}.kl_loss_coef": loss.kl,
        f"{actor}.kl_loss_type": "low_var_kl",
        f"{actor}.ppo_epochs": 1,
        f"{actor}.shuffle": False,
        f"{actor}.ppo_mini_batch_size": config.samples // config.updates,
        # Without a critic; the advantages themselves are replaced.
        "algorithm.adv_estimator": "grpo",
        "algorithm.norm_adv_by_std_in_grpo": False,
        "algorithm.use_kl_in_reward": False,
        "algorithm.filter_groups.enable": config.refills > 0,
        "algorithm.filter_groups.metric": "reward",
        f"{correction}.rollout_is": None if loss.importance_cap is None else "token",
        f"{correction}.rollout_is_threshold": loss.importance_cap or 1.0,
        # The same replies count for nothing; verl takes their tokens out of the mean's denominator too.
        f"{correction}.rollout_rs": None if loss.reply_cap is None else "seq_mean_k1",
        f"{correction}.rollout_rs_threshold": loss.reply_cap,
        f"{correction}.bypass_mode": False,
    }


def _translate_rollouts(config: TrainConfig, cluster: ClusterSettings) -> dict[str, Any]:
    rollout, evaluation = "actor_rollout_ref.rollout", config.evaluation
    return {
        f"{rollout}.name": cluster.rollouts,
        f"{rollout}.mode": "async",
        f"{rollout}.n": config.group_size,
        f"{rollout}.temperature": 1.0,
        f"{rollout}.top_p": 1.0,
        f"{rollout}.top_k": -1,
        f"{rollout}.calculate_log_probs": True,
        f"{rollout}.enable_prefix_caching": True,
        f"{rollout}.tensor_model_parallel_size": cluster.rollout_gpus,
        f"{rollout}.gpu_memory_utilization": cluster.rollout_memory,
        f"{rollout}.agent.num_workers": cluster.readers,
        f"{rollout}.agent.default_agent_loop": NAME,
        f"{rollout}.val_kwargs.n": evaluation.repeats,
        f"{rollout}.val_kwargs.temperature": evaluation.temperature,
        f"{rollout}.val_kwargs.top_p": evaluation.top_p,
        f"{rollout}.val_kwargs.do_sample": evaluation.temperature > 0,
        # Answers are judged where they are read; these processes have nothing to do.
        "reward.num_workers": 1,
    }


def _translate_run(config: TrainConfig, cluster: ClusterSettings, folder: Path, *, resume: bool) -> dict[str, Any]:
    # The samples of a file have any length.
    conversations = max(config.task.tokens // config.plan.chunk_tokens + 2, _MOST_CONVERSATIONS)
    rows = config.samples * config.group_size * conversations * _QUEUE_FACTOR
    return {
        "trainer.use_v1": True,
        "trainer.v1.trainer_mode": NAME,
        "trainer.nnodes": cluster.nodes,
        "trainer.n_gpus_per_node": cluster.gpus,
        "trainer.project_name": NAME,
        "trainer.experiment_name": folder.name,
        "trainer.default_local_dir": str(checkpoint_folder(folder)),
        "trainer.total_training_steps": config.steps,
        # verl stops at whichever count comes first, and an epoch has at least one step.
        "trainer.total_epochs": config.steps + 1,
        "trainer.save_freq": config.checkpoint_every,
        # The last step is always measured where this is above 0.
        "trainer.test_freq": config.evaluation.every or max(config.steps, 1),
        "trainer.val_before_train": not resume,
        "trainer.max_actor_ckpt_to_keep": config.keep,
        "trainer.resume_mode": "auto" if resume else "disable",
        "transfer_queue.backend.SimpleStorage.total_storage_size": max(100_000, rows),
    }


def checkpoint_folder(folder: Path) -> Path:
    """Return the folder of a run's checkpoints in verl's own form."""
    return folder.resolve() / "verl"
