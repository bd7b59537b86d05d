"""What a run leaves for others: a folder that transformers loads, GGUFs that llama.cpp reads, a card, the curves.

RUN/policy/          the best policy: weights, tokenizer, README.md; with LoRA, the adapter alone
RUN/adapter.gguf     with LoRA: the adapter for llama.cpp
RUN/policy.gguf      where a GGUF of the same model was given to take tokenizer and settings from
RUN/curves.svg
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bookwheel.training import checkpoint
from bookwheel.training.llamacpp import ARCHITECTURES, has_adapters, to_adapter, to_gguf
from bookwheel.training.records import load_records
from bookwheel.training.report import card, plot

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.training.config import TrainConfig
    from bookwheel.training.policy import Policy


def export(policy: Policy, run: Path, config: TrainConfig, *, base: str, gguf_like: Path | None = None) -> Path:
    """Write the run's best policy, or its last where none was measured; the folder it is in."""
    best = run / "checkpoints" / "best" / "weights.safetensors"
    if best.exists():
        checkpoint.load_weights(best, policy.model)
    folder = run / "policy"
    policy.save(folder)
    records = load_records(run)
    (folder / "README.md").write_text(card(config.to_json(), records, base=base), encoding="utf-8")
    plot({run.name: records}, run / "curves.svg")
    plan = replace(config.plan, sampling=config.evaluation.sampling)
    if has_adapters(policy) and policy.model.config.model_type in ARCHITECTURES:
        to_adapter(policy, run / "adapter.gguf", plan)
    if gguf_like is not None:
        to_gguf(policy, gguf_like, run / "policy.gguf", plan)
    return folder
