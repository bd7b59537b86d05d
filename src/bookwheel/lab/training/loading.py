"""Policies: loaded whole, with LoRA adapters, or with adapters on 4-bit weights (QLoRA); or new and small.

Every loaded model is checked: the trainer's log-probabilities against the model's own forward.

    scoring     decoder and head, on padded rows      must give the model's own log-probabilities
    sampling    left-padded batch with a cache        must too, or old and new log-probabilities differ from the start

Some models change their logits after the head, some keep a state that padding spoils. A list of their names would be
out of date; a few tokens through the model are not.

A new model is a Llama of a few hundred thousand to a few million weights over a vocabulary of words. With it a whole
training run takes minutes on any machine. It can write no other words than those of the texts it is given.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, Final

import torch
from torch import Tensor

from bookwheel.environment import Environment
from bookwheel.errors import MissingExtra
from bookwheel.lab.training import ranks
from bookwheel.lab.training.config import FreshSettings, PolicySettings
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.generation import GenerationRequest, generate
from bookwheel.lab.training.policy import Policy, hide_progress_bars
from bookwheel.lab.training.rows import build_row
from bookwheel.models.weights import find_local_weights

# OWNER/NAME on a hub; a longer one is a path.
_NAME_PARTS: Final = 2
LOCAL: Final = "local"
"""Names the local model's weights as a policy."""
_LAYER: Final = re.compile(r"\.layers\.(\d+)\.")
# Mean absolute differences, in nats. Two orders of additions differ by a hundredth of these.
_FLOAT32_GAP: Final = 1e-3
_BFLOAT16_GAP: Final = 0.05
# Settings of transformers' models that change logits after the head, and their neutral values.
_AFTER_HEAD: Final = {
    "logits_scaling": 1.0,
    "logit_scale": 1.0,
    "final_logit_softcapping": None,
    "output_multiplier_scale": 1.0,
}
# Splits like the Whitespace pre-tokenizer.
_WORD: Final = re.compile(r"\w+|[^\w\s]+")
_UNKNOWN, _PAD, _USER, _REPLY, _END = "<|unknown|>", "<|pad|>", "<|user|>", "<|reply|>", "<|end|>"
_TEMPLATE: Final = (
    "{% for message in messages %}"
    f"{{% if message.role == 'assistant' %}}{_REPLY} {{{{ message.content }}}} {_END}"
    f"{{% else %}}{_USER} {{{{ message.content }}}} {{% endif %}}{{% endfor %}}"
    f"{{% if add_generation_prompt %}}{_REPLY}{{% endif %}}"
)


def load_policy(settings: PolicySettings) -> Policy:
    """Return the policy that the settings name, on their device, with adapters where they ask for them."""
    device = choose_device(settings)
    with hide_progress_bars():
        model, tokenizer = _load_weights(settings, device)
        if settings.lora_rank:
            model = add_adapters(model, settings)
    policy = Policy(
        # Sharding moves a part of the weights to the device; the whole model may not fit there.
        model if settings.quantized or settings.sharded else model.to(device),
        tokenizer,
        head_tokens=settings.head_tokens,
        gradient_checkpointing=settings.gradient_checkpointing,
        share_prefixes=settings.share_prefixes,
    )
    check_architecture(policy)
    return policy


def choose_device(settings: PolicySettings) -> str:
    """Return the device that the settings name, or this process's GPU where there is one."""
    return settings.device or ranks.device()


def choose_dtype(settings: PolicySettings) -> torch.dtype:
    """Return the dtype of the computation. Trained weights are float32 whatever it is."""
    if settings.dtype == "auto":
        return torch.float32 if choose_device(settings) == "cpu" else torch.bfloat16
    dtype: torch.dtype = getattr(torch, settings.dtype)
    return dtype


def _load_weights(settings: PolicySettings, device: str) -> tuple[Any, Any]:
    import transformers

    # Typed where it is used: older versions, which verl needs, have other names.
    library: Any = transformers
    file = gguf_path(settings.path)
    place: str = str(file.parent) if file else settings.path
    options: dict[str, Any] = {"gguf_file": file.name} if file else {}
    # Of several files too (their index is JSON). The other format of weights is a Python pickle, which can run code.
    more: dict[str, Any] = {} if file else {"use_safetensors": True}
    if settings.quantized:
        if not device.startswith("cuda"):
            raise ConfigError(
                f"train.policy.quantized needs a CUDA GPU, and the device is {device!r}: "
                f"set it to false, and lora_rank alone trains adapters on any device"
            )
        if find_spec("bitsandbytes") is None:
            raise MissingExtra("train.policy.quantized", "qlora")
        # Normal floats in 4 bits, computed in bfloat16.
        more["quantization_config"] = library.BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=torch.bfloat16,
        )
        more["device_map"] = {"": device}
    elif file and hasattr(library, "GgufConfig"):
        # Versions without this choice always expand the weights.
        more["quantization_config"] = library.GgufConfig(dequantize=True)
    require_model(place)
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(place, **options)
        dtype = choose_dtype(settings)
        return library.AutoModelForCausalLM.from_pretrained(place, dtype=dtype, **options, **more), tokenizer
    except (OSError, ValueError, ImportError) as error:
        raise ConfigError(
            f"no model can be loaded from {settings.path!r}, by its safetensors (pickled weights are not read): {error}"
        ) from error


def require_model(path: str) -> None:
    """Raise ConfigError where a name is of no folder, nothing of it is kept here, and the hub cannot be reached.

    The library would try for a minute, and tell of every try.
    """
    import httpx2
    from huggingface_hub import try_to_load_from_cache

    if Path(path).exists() or len(Path(path).parts) > _NAME_PARTS or try_to_load_from_cache(path, "config.json"):
        return
    hub = Environment.load().hub
    try:
        httpx2.get(f"{hub}/api/models/{path}", timeout=10.0)
    except httpx2.TransportError as error:
        raise ConfigError(
            f"train.policy.path: there is no folder {path!r} here, and {hub} cannot be reached for a model of that "
            f"name: {error}"
        ) from error


def gguf_path(path: str) -> Path | None:
    """Return the GGUF file that a policy's path names, or None; `local` is the local model's."""
    if path != LOCAL:
        return Path(path) if path.endswith(".gguf") else None
    if file := find_local_weights(Environment.load()):
        return file
    raise ConfigError("the local model's weights are not on this machine: fetch them with `bookwheel models --fetch`")


def add_adapters(model: Any, settings: PolicySettings) -> Any:
    """Return the model with low-rank adapters on the linear layers, all or the last so many; they alone are trained."""
    from peft import LoraConfig, get_peft_model

    first = int(model.config.get_text_config().num_hidden_layers) - settings.lora_layers
    linear = [name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
    last = [name for name in linear if (match := _LAYER.search(name)) and int(match[1]) >= first]
    lora = LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha or 2 * settings.lora_rank,
        target_modules=last if settings.lora_layers else "all-linear",
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
    )
    with warnings.catch_warnings():
        # peft calls transformers by a name that is deprecated there.
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing`", category=FutureWarning)
        return get_peft_model(model, lora)


def check_architecture(policy: Policy) -> None:
    """Raise ConfigError where the trainer would compute other log-probabilities than the model itself."""
    dice = Random(0)  # noqa: S311 - any tokens will do
    config = policy.model.config
    prompts = [tuple(dice.randrange(config.vocab_size) for _ in range(length)) for length in (11, 6)]
    refusal = f"{config.model_type} models cannot be trained here"
    try:
        gap, sampled = _measure_gaps(policy, prompts)
    except (TypeError, AttributeError, ValueError, RuntimeError, NotImplementedError) as error:
        raise ConfigError(f"{refusal}: {error}") from error
    most = _FLOAT32_GAP if policy.model.dtype == torch.float32 else _BFLOAT16_GAP
    if gap > most:
        found = [
            f"{name} = {value}"
            for name, neutral in _AFTER_HEAD.items()
            if (value := getattr(config, name, None)) is not None and value != neutral
        ]
        reason = (
            f"its settings change the logits after the head ({', '.join(found)})"
            if found
            else "it changes its logits after the head, or reads padding"
        )
        raise ConfigError(
            f"{refusal}: decoder and head give log-probabilities that differ from the model's own by {gap:.3f} nats; "
            f"{reason}"
        )
    if sampled > most:
        raise ConfigError(
            f"{refusal}: tokens sampled in a padded batch have log-probabilities that differ from the model's own by "
            f"{sampled:.3f} nats; its cache does not bear padding on the left"
        )


@torch.no_grad()
def _measure_gaps(policy: Policy, prompts: Sequence[tuple[int, ...]]) -> tuple[float, float]:
    """Return how far scored and sampled log-probabilities are from the model's own forward, one row alone."""

    def own(ids: Sequence[int], first: int) -> Tensor:
        batch = torch.tensor([list(ids)], device=policy.device)
        logs = torch.log_softmax(policy.model(input_ids=batch, use_cache=False).logits[0].float(), dim=-1)
        return logs[first - 1 : -1].gather(1, batch[0, first:, None])[:, 0]

    scored = policy.score([build_row(ids[:1], ids[1:]) for ids in prompts]).logprobs
    gap = (scored - torch.cat([own(ids, 1) for ids in prompts])).abs().mean()
    results = generate(policy.model, [GenerationRequest(prompt=ids, limit=4) for ids in prompts], stop=frozenset())
    sampled = torch.tensor([one for result in results for one in result.logprobs], device=policy.device)
    owns = [own((*ids, *result.ids), len(ids)) for ids, result in zip(prompts, results, strict=True)]
    return float(gap), float((sampled - torch.cat(owns)).abs().mean())


def build_word_tokenizer(texts: Iterable[str]) -> Any:
    """Return a tokenizer with one id for every word of the texts, in alphabetical order."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = sorted({word for text in texts for word in _WORD.findall(text)})
    vocabulary = {word: i for i, word in enumerate((_PAD, _UNKNOWN, _USER, _REPLY, _END, *words))}
    fast = Tokenizer(models.WordLevel(vocabulary, unk_token=_UNKNOWN))
    fast.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer_type: Any = PreTrainedTokenizerFast
    tokenizer = tokenizer_type(
        tokenizer_object=fast,
        unk_token=_UNKNOWN,
        pad_token=_PAD,
        eos_token=_END,
        additional_special_tokens=[_USER, _REPLY],
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = _TEMPLATE
    return tokenizer


def build_fresh_policy(texts: Iterable[str], shape: FreshSettings, seed: int, *, share_prefixes: bool = True) -> Policy:
    """Return a policy with random weights; the same seed gives the same weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = build_word_tokenizer(texts)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        intermediate_size=2 * shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=shape.window,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    return Policy(model, tokenizer, share_prefixes=share_prefixes)
