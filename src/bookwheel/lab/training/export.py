"""The files that a finished run exports.

RUN/policy/          the best policy for transformers: weights, tokenizer, README.md; with LoRA, the adapter alone
RUN/adapter.gguf     with LoRA: the adapter for llama.cpp
RUN/policy.gguf      the policy for llama.cpp, where a GGUF of the same model gives tokenizer and settings
RUN/curves.svg
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bookwheel.lab.training import checkpoint
from bookwheel.lab.training.atomic import restore_folders
from bookwheel.lab.training.llamacpp import ARCHITECTURES, export_adapter, export_gguf, has_adapters
from bookwheel.lab.training.records import load_records
from bookwheel.lab.training.report import build_card, plot_curves

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.lab.training.config import TrainConfig
    from bookwheel.lab.training.policy import Policy


def export(policy: Policy, run: Path, config: TrainConfig, *, base: str, gguf_like: Path | None = None) -> Path:
    """Write the run's best policy, or its last where none was measured, and return its folder."""
    restore_folders(run / "checkpoints")
    best = run / "checkpoints" / "best" / "weights.safetensors"
    if best.exists():
        checkpoint.load_weights(best, policy.model)
    folder = run / "policy"
    policy.save(folder)
    records = load_records(run)
    (folder / "README.md").write_text(build_card(config.to_json(), records, base=base), encoding="utf-8")
    plot_curves({run.name: records}, run / "curves.svg")
    plan = replace(config.plan, sampling=config.evaluation.sampling)
    if has_adapters(policy) and policy.model.config.model_type in ARCHITECTURES:
        export_adapter(policy, run / "adapter.gguf", plan, config.way)
    if gguf_like is not None:
        export_gguf(policy, gguf_like, run / "policy.gguf", plan, config.way)
    return folder
