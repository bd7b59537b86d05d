"""A trained policy as llama.cpp reads it: all weights in a GGUF, or a LoRA adapter in one of its own.

A GGUF holds a tokenizer in a form of its own, and converting one is its makers' business. So the trained weights go
into a copy of a GGUF of the model that training began with: everything else in it stays, value for value. An adapter
needs no tokenizer and is laid over such a GGUF when it is read.

Either brings a plan along, and is read with it.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Final

from bookwheel.models.gguf_header import PLAN_FIELD
from bookwheel.models.gguf_writer import copy_fields, open_gguf, write_gguf
from bookwheel.training.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from bookwheel.plan import Plan
    from bookwheel.training.policy import Policy

ARCHITECTURES: Final = ("llama", "qwen2", "qwen3")
"""Those whose weights are known to mean the same in both forms; transformers calls them by the same names."""


def to_gguf(policy: Policy, like: Path, path: Path, plan: Plan) -> None:
    """The policy's weights in 16 bits, in a copy of `like`; adapters are merged into a copy of the weights."""
    source = open_gguf(like)
    architecture = str(source.fields["general.architecture"].contents())
    if architecture not in ARCHITECTURES:
        raise ConfigError(f"{like} is of the architecture {architecture}; {', '.join(ARCHITECTURES)} can be written")
    model = policy.model
    if has_adapters(policy):
        model = copy.deepcopy(model).merge_and_unload()
    writer = copy_fields(source, path, **{PLAN_FIELD: json.dumps(plan.to_json())})
    wanted = {tensor.name: tuple(int(size) for size in reversed(tensor.shape)) for tensor in source.tensors}
    form = _Form(model.config)
    for name, weight in model.named_parameters():
        told, values = form.name(name), form.values(name, weight)
        if wanted.pop(told, None) != values.shape:
            raise ConfigError(f"{like} holds another model: it has no {told} of the policy's shape")
        writer.add_tensor(told, values if values.ndim == 1 else values.astype("float16"))
    if missing := sorted(wanted.keys() - {"rope_freqs.weight"}):
        raise ConfigError(f"{like} holds another model: the policy has no {missing[0]}")
    write_gguf(writer)


def to_adapter(policy: Policy, path: Path, plan: Plan) -> None:
    """The policy's low-rank adapters alone, in 16 bits: `A` and `B` of every matrix, and by how much they count."""
    from gguf import GGUFType, GGUFWriter, Keys

    model = policy.model
    settings = model.peft_config["default"]
    form = _Form(model.config)
    writer = GGUFWriter(path, form.architecture)
    writer.add_type(GGUFType.ADAPTER)
    writer.add_string(Keys.Adapter.TYPE, "lora")
    writer.add_float32(Keys.Adapter.LORA_ALPHA, float(settings.lora_alpha))
    writer.add_string(PLAN_FIELD, json.dumps(plan.to_json()))
    for name, weight in model.named_parameters():
        matrix, found, side = name.removeprefix("base_model.model.").partition(".lora_")
        if not found:
            continue
        told = form.name(f"{matrix}.weight")
        # A takes what comes in as the matrix does; B gives what goes out, and that is what the rotary halves order.
        is_b = side.startswith("B")
        values = form.values(matrix if is_b else "", weight)
        writer.add_tensor(f"{told}.lora_{'b' if is_b else 'a'}", values.astype("float16"))
    write_gguf(writer)


def has_adapters(policy: Policy) -> bool:
    """Whether the policy is a model with adapters on it."""
    return hasattr(policy.model, "merge_and_unload")


class _Form:
    """llama.cpp's names and its order of values, for one model."""

    def __init__(self, config: Any) -> None:
        from gguf import MODEL_ARCH, MODEL_ARCH_NAMES, get_tensor_name_map

        self.architecture = str(config.model_type)
        kinds = {name: kind for kind, name in MODEL_ARCH_NAMES.items()}
        self._names = get_tensor_name_map(MODEL_ARCH(kinds[self.architecture]), config.num_hidden_layers)
        heads = config.num_attention_heads
        turned = {"q_proj": heads, "k_proj": getattr(config, "num_key_value_heads", heads)}
        self._turned = turned if self.architecture == "llama" else {}

    def name(self, name: str) -> str:
        """What llama.cpp calls a parameter."""
        return str(self._names.get_name(name, try_suffixes=(".weight", ".bias")))

    def values(self, name: str, weight: Any) -> Any:
        """A parameter's values; Llama's rotary halves, interleaved as llama.cpp turns them."""
        import torch

        values = weight.detach().to("cpu", torch.float32).numpy()
        heads = next((heads for part, heads in self._turned.items() if part in name.split(".")), None)
        if heads is None:
            return values
        halves = values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:])
        return halves.swapaxes(1, 2).reshape(values.shape)
