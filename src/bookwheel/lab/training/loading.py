"""Policies from weights: whole, with LoRA adapters, or with adapters on 4-bit weights (QLoRA)."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from bookwheel.environment import Environment
from bookwheel.errors import MissingExtra
from bookwheel.lab.training import ranks
from bookwheel.lab.training.architecture import check_architecture
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.policy import Policy
from bookwheel.models.weights import find_local_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bookwheel.lab.training.config import PolicySettings

_LAYER: Final = re.compile(r"\.layers\.(\d+)\.")
LOCAL: Final = "local"
"""Names the local model's weights as a policy."""


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
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file = gguf_path(settings.path)
    place: str = str(file.parent) if file else settings.path
    options: dict[str, Any] = {"gguf_file": file.name} if file else {}
    more: dict[str, Any] = {}
    if settings.quantized:
        more = {"quantization_config": _quantization(device), "device_map": {"": device}}
    elif file:
        import transformers

        # Older versions, which verl needs, have no such choice: they always expand the weights.
        config_type: Any = getattr(transformers, "GgufConfig", None)
        more = {"quantization_config": config_type(dequantize=True)} if config_type else {}
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(place, **options)
        model: Any = AutoModelForCausalLM.from_pretrained(place, dtype=choose_dtype(settings), **options, **more)
    except (OSError, ValueError, ImportError) as error:
        raise ConfigError(f"no model can be loaded from {settings.path!r}: {error}") from error
    return model, tokenizer


def _quantization(device: str) -> Any:
    """Return the settings of 4-bit weights: normal floats, computed in bfloat16."""
    if not device.startswith("cuda"):
        raise ConfigError(
            f"train.policy.quantized needs a CUDA GPU, and the device is {device!r}: "
            f"set it to false, and lora_rank alone trains adapters on any device"
        )
    if find_spec("bitsandbytes") is None:
        raise MissingExtra("train.policy.quantized", "qlora")
    import transformers

    library: Any = transformers
    return library.BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def gguf_path(path: str) -> Path | None:
    """Return the GGUF file that a policy's path names, or None; `local` is the local model's."""
    if path != LOCAL:
        return Path(path) if path.endswith(".gguf") else None
    if file := find_local_weights(Environment.load()):
        return file
    raise ConfigError("the local model's weights are not on this machine: fetch them with `bookwheel models --fetch`")


def add_adapters(model: Any, settings: PolicySettings) -> Any:
    """Return the model with low-rank adapters on the linear layers; they alone are trained."""
    from peft import LoraConfig, get_peft_model

    lora = LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha or 2 * settings.lora_rank,
        target_modules=_list_last_linear(model, settings.lora_layers) if settings.lora_layers else "all-linear",
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
    )
    with warnings.catch_warnings():
        # peft calls transformers by a name that is deprecated there.
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing`", category=FutureWarning)
        return get_peft_model(model, lora)


def _list_last_linear(model: Any, layers: int) -> list[str]:
    """Return the names of the linear layers in the last so many layers of the decoder."""
    linear = [name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
    first = int(model.config.get_text_config().num_hidden_layers) - layers
    found = ((name, _LAYER.search(name)) for name in linear)
    return [name for name, match in found if match and int(match[1]) >= first]


@contextmanager
def hide_progress_bars() -> Iterator[None]:
    """Keep the bars of the transformers library out of our output, and out of files that it goes to."""
    from transformers import modeling_gguf_pytorch_utils
    from transformers.utils import logging as library_logging

    logging: Any = library_logging
    gguf: Any = modeling_gguf_pytorch_utils
    was_shown, bar = logging.is_progress_bar_enabled(), gguf.tqdm
    logging.disable_progress_bar()
    # Its reader of GGUF files asks tqdm directly, past the library's own switch.
    gguf.tqdm = partial(bar, disable=True)
    try:
        yield
    finally:
        gguf.tqdm = bar
        if was_shown:
            logging.enable_progress_bar()
