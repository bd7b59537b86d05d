"""Build a trainer from settings, and export what it trained.

Held-out samples are of the same task and length. They come from another seed and, where a task draws on a question set,
from its other split, so the policy is never measured on what it was trained on.

    RUN/policy/          the best policy for transformers: weights, tokenizer, card, plan; with LoRA, the adapter alone
    RUN/adapter.gguf     with LoRA: the adapter for llama.cpp, which loads it together with a GGUF of the base model
    RUN/policy.gguf      the policy for llama.cpp, where a GGUF of the same model gives tokenizer and settings
    RUN/curves.svg

Converting a tokenizer into the form that a GGUF needs is left to llama.cpp. The trained weights go into a copy of a
GGUF of the model that training began with; everything else in it stays, value for value. Both GGUF files store a plan
and a way of reading, and are read with them.
"""

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from bookwheel.lab.tasks import Sample, sample_series
from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.training.checkpoint import find_damage, load_weights
from bookwheel.lab.training.config import PolicySettings, TrainConfig
from bookwheel.lab.training.errors import CheckpointError, ConfigError
from bookwheel.lab.training.files import restore_folders
from bookwheel.lab.training.loading import build_fresh_policy, load_policy
from bookwheel.lab.training.policy import Policy
from bookwheel.lab.training.policy_model import PolicyModel, export_tokenizer
from bookwheel.lab.training.records import RolloutStore, build_card, load_records, plot_curves
from bookwheel.lab.training.rewards import build_reward
from bookwheel.lab.training.rollouts import Group
from bookwheel.lab.training.rows import Row
from bookwheel.lab.training.samples import SampleFile, check_sources
from bookwheel.lab.training.servers import open_server
from bookwheel.lab.training.toys import TOYS, toy_samples, vocabulary
from bookwheel.lab.training.trainer import Trainer
from bookwheel.models.gguf import PLAN_FIELD, TURNS_FIELD, WAY_FIELD, copy_fields, load_gguf, open_gguf, write_gguf
from bookwheel.models.local import READER
from bookwheel.plan import Plan
from bookwheel.reading.prompts import prompts_for

ARCHITECTURES: Final = ("llama", "qwen2", "qwen3")
"""Architectures whose tensor layouts are tested in both libraries; transformers uses the same names."""
_READ_WITH: Final = "bookwheel.json"
# Added to the seed for held-out samples.
_HELD_OUT_OFFSET: Final = 7919


def build_trainer(
    config: TrainConfig,
    folder: Path,
    *,
    data: Path | None = None,
    observe: Callable[[Mapping[str, Any]], None] | None = None,
    rows_of: Callable[[Sequence[Group]], list[Row]] | None = None,
) -> Trainer:
    """Return the trainer of these settings, ready to run in `folder`; `data` is the folder of question sets.

    `rows_of` replaces the advantages of the settings' estimator.
    """
    check_sources(config, data)
    policy = build_policy(config)
    samples, held_out = build_sample_sets(config, policy, data=data)
    shorter = partial(build_samples, config, policy, config.task.count, data=data)
    return Trainer(
        policy,
        samples,
        build_reward(config.reward),
        config,
        folder=folder,
        held_out=held_out,
        server=open_server(config.server, policy.stop_ids),
        oracle=ideal_memories,
        warm_samples=shorter(tokens=config.warm_start.tokens) if config.warm_start.tokens else (),
        stages=[(stage.steps * config.samples, shorter(tokens=stage.tokens)) for stage in config.task.stages],
        observe=observe,
        rows_of=rows_of,
        store=RolloutStore(folder, config.plan, config.estimator, every=config.keep_rollouts, way=config.way),
    )


def build_policy(config: TrainConfig) -> Policy:
    """Return the model that the settings name, or a new one over the words of its toy task."""
    if config.policy.path:
        policy = load_policy(config.policy)
        if config.policy.adapter:
            load_adapter(policy, READER if config.policy.adapter == "reader" else Path(config.policy.adapter))
        return policy
    prompts = prompts_for(config.plan, "")
    words = [
        *vocabulary(config.task.name),
        prompts.blank,
        prompts.unchanged,
        prompts.answer_template,
        *prompts.updates.values(),
    ]
    return build_fresh_policy(words, config.fresh, config.seed, share_prefixes=config.policy.share_prefixes)


def build_sample_sets(
    config: TrainConfig, policy: Policy, *, data: Path | None = None
) -> tuple[Sequence[Sample], Sequence[Sample]]:
    """Return the samples to train on and the held-out ones: of the settings' file, or of their task."""
    task, held_out = config.task, config.evaluation.samples
    if not task.file:
        return (
            build_samples(config, policy, task.count, data=data),
            build_samples(config, policy, held_out, data=data, held_out=True),
        )
    whole = SampleFile(Path(task.file), needs_evidence=config.warm_start.needs_evidence)
    if task.held_out:
        training, measured = whole, SampleFile(Path(task.held_out))
    else:
        training, measured = whole.split(held_out, task.seed)
    return training.take(range(min(task.count or len(training), len(training)))), measured


def build_samples(
    config: TrainConfig,
    policy: Policy,
    count: int,
    *,
    tokens: int | None = None,
    data: Path | None = None,
    held_out: bool = False,
) -> Sequence[Sample]:
    """Return `count` samples of the settings' task, of the training length or another."""
    task = config.task
    length, seed = tokens or task.tokens, task.seed + _HELD_OUT_OFFSET * held_out
    if task.name in TOYS:
        return toy_samples(task.name, tokens=length, count=count, seed=seed, **task.options)
    # Made when they are drawn: a large task would take hours and gigabytes to make at once.
    return sample_series(
        task.name,
        tokens=length,
        count=count,
        seed=seed,
        tokenizer=export_tokenizer(policy.tokenizer, "policy"),
        data=data,
        split="dev" if held_out else "train",
        **task.options,
    )


def export(policy: Policy, run: Path, config: TrainConfig, *, base: str, gguf_like: Path | None = None) -> Path:
    """Write the run's best policy, or its last where none was measured, and return its folder."""
    restore_folders(run / "checkpoints")
    best = run / "checkpoints" / "best" / "weights.safetensors"
    if best.exists():
        if damage := find_damage(best.parent):
            raise CheckpointError(
                f"the best checkpoint is damaged: {damage}. Remove {best.parent} to export the last policy instead"
            )
        load_weights(best, policy.model)
    folder = run / "policy"
    policy.save(folder)
    records = load_records(run)
    (folder / "README.md").write_text(build_card(config.to_json(), records, base=base), encoding="utf-8")
    plot_curves({run.name: records}, run / "curves.svg")
    plan = replace(config.plan, sampling=config.evaluation.sampling)
    (folder / _READ_WITH).write_text(
        json.dumps({"plan": plan.to_json(), "way": config.way}, indent=1), encoding="utf-8"
    )
    if policy.has_adapters and policy.model.config.model_type in ARCHITECTURES:
        export_adapter(policy, run / "adapter.gguf", plan, config.way, turns=list_turns(config))
    if gguf_like is not None:
        export_gguf(policy, gguf_like, run / "policy.gguf", plan, config.way)
    return folder


def list_turns(config: TrainConfig) -> str:
    """Return the turns that a run's lessons teach besides the choice of passages."""
    return "short supports" if config.warm_start.lessons else ""


def open_policy(folder: Path) -> PolicyModel:
    """Return an exported policy as a model that reads, with the plan and the way that it was trained with."""
    read_with = folder / _READ_WITH
    values = json.loads(read_with.read_text(encoding="utf-8")) if read_with.exists() else {}
    plan = Plan.from_json(values["plan"]) if values else None
    policy = load_policy(PolicySettings(path=str(folder)))
    return PolicyModel(policy, plan=plan, name=str(folder), default_way=values.get("way", ""))


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


def export_adapter(policy: Policy, path: Path, plan: Plan, way: str = "sequential", *, turns: str = "") -> None:
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
    if turns:
        writer.add_string(TURNS_FIELD, turns)
    for target, matrix, weight in layout.list_adapters(model):
        writer.add_tensor(target, layout.tensor_values(matrix, weight).astype("float16"))
    write_gguf(writer)


def load_adapter(policy: Policy, path: Path) -> None:
    """Put the adapters of a file into the policy's. Raise ConfigError where they have another shape."""
    import torch

    file, layout = load_gguf(path), _TensorLayout(policy.model.config)
    tensors = dict(file.tensors)
    if file.fields.get("adapter.lora.alpha") != float(policy.model.peft_config["default"].lora_alpha):
        raise ConfigError(f"train.policy.adapter: {path} has another lora_alpha; set it to the file's")
    for target, matrix, weight in layout.list_adapters(policy.model):
        values = tensors.pop(target, None)
        if values is None or values.shape != tuple(weight.shape):
            raise ConfigError(
                f"train.policy.adapter: {path} has no adapters of this shape; set lora_rank and lora_layers"
            )
        with torch.no_grad():
            weight.copy_(torch.from_numpy(layout.policy_values(matrix, values)))
    if tensors:
        raise ConfigError(f"train.policy.adapter: {path} has more adapters; set lora_layers to as many")


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

    def list_adapters(self, model: Any) -> Iterator[tuple[str, str, Any]]:
        """Yield llama.cpp's name of each adapter, the matrix whose output it writes, and its weight."""
        for name, weight in model.named_parameters():
            matrix, is_adapter, side = name.removeprefix("base_model.model.").partition(".lora_")
            if is_adapter:
                # Only B writes the matrix's output, whose rows llama.cpp orders by rotary halves; A stays as it is.
                is_b = side.startswith("B")
                yield f"{self.tensor_name(f'{matrix}.weight')}.lora_{side[0].lower()}", matrix if is_b else "", weight

    def tensor_values(self, name: str, weight: Any) -> Any:
        """Return a parameter's values, with Llama's rotary halves interleaved as llama.cpp expects them."""
        import torch

        values = weight.detach().to("cpu", torch.float32).numpy()
        return self._swap_halves(name, values, to_pairs=True)

    def policy_values(self, name: str, values: Any) -> Any:
        """Return llama.cpp's values in the order of a parameter: what `tensor_values` was given."""
        return self._swap_halves(name, values, to_pairs=False)

    def _swap_halves(self, name: str, values: Any, *, to_pairs: bool) -> Any:
        heads = next((heads for part, heads in self._rotary_heads.items() if part in name.split(".")), None)
        if heads is None:
            return values
        shape = (2, -1) if to_pairs else (-1, 2)
        return values.reshape(heads, *shape, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)
