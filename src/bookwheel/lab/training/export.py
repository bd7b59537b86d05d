"""Export of a trained policy: for transformers, for llama.cpp, with a card and curves.

    RUN/policy/          the best policy for transformers: weights, tokenizer, README.md; with LoRA, the adapter alone
    RUN/adapter.gguf     with LoRA: the adapter for llama.cpp, which loads it together with a GGUF of the base model
    RUN/policy.gguf      the policy for llama.cpp, where a GGUF of the same model gives tokenizer and settings
    RUN/curves.svg

Converting a tokenizer into the form that a GGUF needs is left to llama.cpp. The trained weights go into a copy of a
GGUF of the model that training began with; everything else in it stays, value for value. Both GGUF files store a plan
and a way of reading, and are read with them.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bookwheel.lab.training import checkpoint
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.records import build_card, load_records, plot_curves
from bookwheel.models.gguf import PLAN_FIELD, WAY_FIELD
from bookwheel.models.gguf_writer import copy_fields, open_gguf, write_gguf

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.lab.training.config import TrainConfig
    from bookwheel.lab.training.policy import Policy
    from bookwheel.plan import Plan

ARCHITECTURES: Final = ("llama", "qwen2", "qwen3")
"""Architectures whose tensor layouts are tested in both libraries; transformers uses the same names."""


def export(policy: Policy, run: Path, config: TrainConfig, *, base: str, gguf_like: Path | None = None) -> Path:
    """Write the run's best policy, or its last where none was measured, and return its folder."""
    checkpoint.restore_folders(run / "checkpoints")
    best = run / "checkpoints" / "best" / "weights.safetensors"
    if best.exists():
        checkpoint.load_weights(best, policy.model)
    folder = run / "policy"
    policy.save(folder)
    records = load_records(run)
    (folder / "README.md").write_text(build_card(config.to_json(), records, base=base), encoding="utf-8")
    plot_curves({run.name: records}, run / "curves.svg")
    plan = replace(config.plan, sampling=config.evaluation.sampling)
    if policy.has_adapters and policy.model.config.model_type in ARCHITECTURES:
        export_adapter(policy, run / "adapter.gguf", plan, config.way)
    if gguf_like is not None:
        export_gguf(policy, gguf_like, run / "policy.gguf", plan, config.way)
    return folder


def export_gguf(policy: Policy, like: Path, path: Path, plan: Plan, way: str = "sequential") -> None:
    """Write the policy's weights in 16 bits into a copy of `like`; adapters are merged into a copy of the weights."""
    source = open_gguf(like)
    architecture = str(source.fields["general.architecture"].contents())
    if architecture not in ARCHITECTURES:
        raise ConfigError(f"{like} is of the architecture {architecture}; {', '.join(ARCHITECTURES)} can be exported")
    model = copy.deepcopy(policy.model).merge_and_unload() if policy.has_adapters else policy.model
    writer = copy_fields(source, path, **{PLAN_FIELD: json.dumps(plan.to_json()), WAY_FIELD: way})
    missing = {tensor.name: tuple(int(size) for size in reversed(tensor.shape)) for tensor in source.tensors}
    layout = _TensorLayout(model.config)
    for name, weight in model.named_parameters():
        target, values = layout.tensor_name(name), layout.tensor_values(name, weight)
        if missing.pop(target, None) != values.shape:
            raise ConfigError(f"{like} holds another model: it has no {target} of the policy's shape")
        writer.add_tensor(target, values if values.ndim == 1 else values.astype("float16"))
    # llama.cpp computes this one from the settings; transformers has no such weight.
    if unmatched := sorted(missing.keys() - {"rope_freqs.weight"}):
        raise ConfigError(f"{like} holds another model: the policy has no {unmatched[0]}")
    write_gguf(writer)


def export_adapter(policy: Policy, path: Path, plan: Plan, way: str = "sequential") -> None:
    """Write the policy's low-rank adapters alone, in 16 bits: `A` and `B` of every matrix, and their scale."""
    from gguf import GGUFType, GGUFWriter, Keys

    model = policy.model
    layout = _TensorLayout(model.config)
    writer = GGUFWriter(path, layout.architecture)
    writer.add_type(GGUFType.ADAPTER)
    writer.add_string(Keys.Adapter.TYPE, "lora")
    writer.add_float32(Keys.Adapter.LORA_ALPHA, float(model.peft_config["default"].lora_alpha))
    writer.add_string(PLAN_FIELD, json.dumps(plan.to_json()))
    writer.add_string(WAY_FIELD, way)
    for name, weight in model.named_parameters():
        matrix, is_adapter, side = name.removeprefix("base_model.model.").partition(".lora_")
        if not is_adapter:
            continue
        # Only B writes the matrix's output, whose rows llama.cpp orders by rotary halves; A stays as it is.
        is_b = side.startswith("B")
        values = layout.tensor_values(matrix if is_b else "", weight)
        writer.add_tensor(
            f"{layout.tensor_name(f'{matrix}.weight')}.lora_{'b' if is_b else 'a'}", values.astype("float16")
        )
    write_gguf(writer)


class _TensorLayout:
    """The tensor names and the order of values that llama.cpp uses for one model."""

    def __init__(self, config: Any) -> None:
        from gguf import MODEL_ARCH, MODEL_ARCH_NAMES, get_tensor_name_map

        self.architecture = str(config.model_type)
        kinds = {name: kind for kind, name in MODEL_ARCH_NAMES.items()}
        self._names = get_tensor_name_map(MODEL_ARCH(kinds[self.architecture]), config.num_hidden_layers)
        heads = config.num_attention_heads
        rotary_heads = {"q_proj": heads, "k_proj": getattr(config, "num_key_value_heads", heads)}
        self._rotary_heads = rotary_heads if self.architecture == "llama" else {}

    def tensor_name(self, name: str) -> str:
        """Return llama.cpp's name of a parameter."""
        return str(self._names.get_name(name, try_suffixes=(".weight", ".bias")))

    def tensor_values(self, name: str, weight: Any) -> Any:
        """Return a parameter's values, with Llama's rotary halves interleaved as llama.cpp expects them."""
        import torch

        values = weight.detach().to("cpu", torch.float32).numpy()
        heads = next((heads for part, heads in self._rotary_heads.items() if part in name.split(".")), None)
        if heads is None:
            return values
        halves = values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:])
        return halves.swapaxes(1, 2).reshape(values.shape)
