"""What a run leaves for others: a folder that transformers loads, a GGUF that llama.cpp reads, a card, the curves.

    RUN/policy/          the best policy: weights, tokenizer, README.md; with LoRA, the adapter alone
    RUN/policy.gguf      where a GGUF of the same model was given to take tokenizer and settings from
    RUN/curves.svg

A GGUF holds a tokenizer in a form of its own, and converting one is its makers' business. So the trained weights go
into a copy of a GGUF of the model that training began with: everything else in it stays, value for value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bookwheel.models.recast import copy_of_fields, finish, opened
from bookwheel.training import checkpoint
from bookwheel.training.errors import ConfigError
from bookwheel.training.records import records_of
from bookwheel.training.report import card, plot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bookwheel.training.policy import Policy


def export(policy: Policy, run: Path, settings: Mapping[str, Any], *, base: str, gguf_like: Path | None = None) -> Path:
    """Write the run's best policy, or its last where none was measured; the folder it is in."""
    best = run / "checkpoints" / "best" / "weights.safetensors"
    if best.exists():
        checkpoint.load_weights(best, policy.model)
    folder = run / "policy"
    policy.save(folder)
    records = records_of(run)
    (folder / "README.md").write_text(card(settings, records, base=base), encoding="utf-8")
    plot({run.name: records}, run / "curves.svg")
    if gguf_like is not None:
        to_gguf(policy, gguf_like, run / "policy.gguf")
    return folder


def to_gguf(policy: Policy, like: Path, path: Path) -> None:
    """The policy's weights in 16 bits, in a copy of `like`; adapters are merged into a copy of the weights."""
    source = opened(like)
    architecture = str(source.fields["general.architecture"].contents())
    if architecture not in {"llama", "qwen2", "qwen3"}:
        raise ConfigError(f"{like} is of the architecture {architecture}; llama, qwen2 and qwen3 can be written")
    writer = copy_of_fields(source, path)
    wanted = {tensor.name: tuple(int(size) for size in reversed(tensor.shape)) for tensor in source.tensors}
    for name, values in _tensors(policy, architecture):
        if wanted.pop(name, None) != values.shape:
            raise ConfigError(f"{like} holds another model: it has no {name} of the policy's shape")
        writer.add_tensor(name, values)
    if missing := sorted(wanted.keys() - {"rope_freqs.weight"}):
        raise ConfigError(f"{like} holds another model: the policy has no {missing[0]}")
    finish(writer)


def _tensors(policy: Policy, architecture: str) -> Iterator[tuple[str, Any]]:
    """Names and values as llama.cpp has them: matrices in 16 bits, vectors in 32."""
    import copy

    import numpy as np
    import torch
    from gguf import MODEL_ARCH, MODEL_ARCH_NAMES, get_tensor_name_map

    model = policy.model
    if hasattr(model, "merge_and_unload"):
        model = copy.deepcopy(model).merge_and_unload()
    kinds = {name: kind for kind, name in MODEL_ARCH_NAMES.items()}
    names = get_tensor_name_map(MODEL_ARCH(kinds[architecture]), model.config.num_hidden_layers)
    heads = model.config.num_attention_heads
    turned = {"q_proj": heads, "k_proj": getattr(model.config, "num_key_value_heads", heads)}
    for name, weight in model.named_parameters():
        values = weight.detach().to("cpu", torch.float32).numpy()
        part = name.split(".")[-2]
        if architecture == "llama" and part in turned:
            values = _turned(values, turned[part])
        told = names.get_name(name, try_suffixes=(".weight", ".bias"))
        yield str(told), values if values.ndim == 1 else values.astype(np.float16)


def _turned(values: Any, heads: int) -> Any:
    """Llama's rotary halves, interleaved as llama.cpp turns them."""
    halves = values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:])
    return halves.swapaxes(1, 2).reshape(values.shape)
