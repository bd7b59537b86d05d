"""Settings and a base model for verl's engine on a processor."""

from __future__ import annotations

from pathlib import Path

# Arithmetic that a processor has, in single precision.
OVERRIDES = (
    "actor_rollout_ref.model.use_remove_padding=False",
    "+actor_rollout_ref.model.override_config.attn_implementation=sdpa",
    "actor_rollout_ref.actor.use_torch_compile=False",
    "actor_rollout_ref.actor.fsdp_config.use_torch_compile=False",
    "+actor_rollout_ref.actor.fsdp_config.mixed_precision={param_dtype: fp32, reduce_dtype: fp32, buffer_dtype: fp32}",
)


def make_base(folder: Path, **shape: int) -> Path:
    """Save a small new model over the words of the toy-records task."""
    from bookwheel.training.config import TrainConfig
    from bookwheel.training.launch import build_policy

    train = {"task": {"name": "toy-records"}, "fresh": shape}
    build_policy(TrainConfig.from_tables({"train": train, "plan": {"prompts": "tiny", "language": "en"}})).save(folder)
    return folder
