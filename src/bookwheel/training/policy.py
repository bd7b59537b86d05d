"""The model that is trained: a Hugging Face causal language model, whole or through LoRA adapters.

    log p(x_t) = z_t[x_t] - logsumexp(z_t),   z_t = W h_(t-1)

Only the hidden states before sampled tokens go through the head W, a slice at a time and recomputed for the backward
pass, so the logits of a long row are never all in memory. Rows with the same ids are read once. This file knows token
ids and rows, and nothing of their text.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.utils.checkpoint import checkpoint

from bookwheel.models.weights import find_local_weights
from bookwheel.training import ranks
from bookwheel.training.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor, nn

    from bookwheel.training.config import PolicySettings
    from bookwheel.training.rows import Row


LOCAL: Final = "local"
"""Names the local model's weights as a policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRows:
    """One entry for every trained token of some rows, in the rows' order."""

    logprobs: Tensor
    entropy: Tensor
    """Of the distribution that the token was drawn from; carries no gradient."""


class Policy:
    """A causal model with its tokenizer, ready to be sampled and trained."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        head_tokens: int = 1024,
        gradient_checkpointing: bool = False,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.head_tokens = head_tokens
        self._recompute = gradient_checkpointing
        self._reference: Any = None
        _disable_dropout(model)
        if gradient_checkpointing:
            model.activation_checkpointing_enable()
        model.eval()

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        device: torch.device = self.model.device
        return device

    @property
    def window(self) -> int | None:
        """The number of tokens the model has positions for."""
        window = getattr(self.model.config, "max_position_embeddings", None)
        return int(window) if window else None

    @property
    def stop_ids(self) -> frozenset[int]:
        """The ids that end a reply."""
        named = self.model.generation_config.eos_token_id if self.model.generation_config else None
        ids = named if isinstance(named, list) else [named]
        return frozenset(int(i) for i in (*ids, self.tokenizer.eos_token_id) if i is not None)

    @property
    def trainable(self) -> list[nn.Parameter]:
        """The weights that are trained: all of them, or the adapters'."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def score(self, rows: Sequence[Row]) -> ScoredRows:
        """Return log-probability and entropy of the rows' trained tokens; the caller may turn gradients off."""
        return self._score(self.model, rows)

    def score_frozen(self, rows: Sequence[Row]) -> Tensor:
        """Return log-probabilities of the rows' trained tokens, without gradients."""
        with torch.no_grad():
            return self._score(self.model, rows).logprobs

    def score_by_reference(self, rows: Sequence[Row]) -> Tensor:
        """Return log-probabilities by the frozen reference; by the model without its adapters where none was frozen."""
        if self._reference is None and not hasattr(self.model, "disable_adapter"):
            raise ConfigError("a KL term needs a reference: call freeze_reference before training, or set kl = 0")
        with torch.no_grad():
            if self._reference is not None:
                return self._score(self._reference, rows).logprobs
            with self.model.disable_adapter():
                return self._score(self.model, rows).logprobs

    def freeze_reference(self) -> None:
        """Keep a frozen copy for the KL term; LoRA needs none, unless the adapters were already warm."""
        self._reference = copy.deepcopy(self.model).requires_grad_(requires_grad=False).eval()

    @property
    def reference_model(self) -> Any:
        """The frozen copy, for checkpoints."""
        if self._reference is None:
            raise ConfigError("no reference was frozen: call freeze_reference first")
        return self._reference

    @contextlib.contextmanager
    def training(self) -> Iterator[None]:
        """Turn recomputation in the backward pass on; the transformers library ties it to train mode."""
        self.model.train(self._recompute)
        try:
            yield
        finally:
            self.model.eval()

    def _score(self, model: Any, rows: Sequence[Row]) -> ScoredRows:
        distinct = list({(row.ids, row.trained): row for row in rows}.values())
        ids, places, targets = _flatten(distinct)
        hidden = _get_decoder(model)(input_ids=ids.to(self.device), use_cache=False).last_hidden_state
        states = hidden.flatten(0, 1)[places.to(self.device)]
        parts = [
            _score_targets(model, part, part_targets)
            for part, part_targets in zip(
                torch.split(states, self.head_tokens),
                torch.split(targets.to(self.device), self.head_tokens),
                strict=True,
            )
        ]
        index = _index_into_distinct(rows, distinct).to(self.device)
        logprobs = torch.cat([logprobs for logprobs, _ in parts])[index]
        return ScoredRows(logprobs=logprobs, entropy=torch.cat([entropy for _, entropy in parts])[index])

    def save(self, folder: Path) -> None:
        """Save a folder that transformers loads; with LoRA, the adapter's alone."""
        options = {"save_embedding_layers": False} if hasattr(self.model, "peft_config") else {}
        self.model.save_pretrained(folder, **options)
        self.tokenizer.save_pretrained(folder)


def _flatten(rows: Sequence[Row]) -> tuple[Tensor, Tensor, Tensor]:
    """Return right-padded ids, the flat positions that predict the trained tokens, and those tokens.

    Attention looks left and the padding stands on the right, so no trained token sees it and no mask is needed.
    """
    longest = max(len(row.ids) for row in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    places, targets = [], []
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = torch.tensor(row.ids)
        trained = [t for t, is_trained in enumerate(row.trained) if is_trained]
        places += [i * longest + t - 1 for t in trained]
        targets += [row.ids[t] for t in trained]
    return ids, torch.tensor(places), torch.tensor(targets)


def _index_into_distinct(rows: Sequence[Row], distinct: Sequence[Row]) -> Tensor:
    """Return, for every trained token of all rows, its index among those of the distinct rows."""
    starts, total = {}, 0
    for row in distinct:
        starts[row.ids, row.trained] = total
        total += row.tokens
    return torch.cat([torch.arange(row.tokens) + starts[row.ids, row.trained] for row in rows])


def _score_targets(model: Any, states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Return each target's log-probability and the entropy of its distribution."""
    output = model.get_output_embeddings()

    def score_slice(states: Tensor) -> tuple[Tensor, Tensor]:
        logs = torch.log_softmax(output(states).float(), dim=-1)
        with torch.no_grad():
            entropy = -(logs.exp() * logs).sum(-1)
        return logs.gather(1, targets[:, None])[:, 0], entropy

    if not torch.is_grad_enabled():
        return score_slice(states)
    # Recomputed in the backward pass: the logits are freed as soon as the slice is scored.
    logprobs, entropy = checkpoint(score_slice, states, use_reentrant=False)
    return logprobs, entropy


def _get_decoder(model: Any) -> Any:
    """Return the model without its head, with its adapters."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    config = base.config
    if getattr(config, "final_logit_softcapping", None) or getattr(config, "logit_scale", None):
        raise ConfigError(f"{config.model_type} changes its logits after the head, which the trainer does not support")
    return base.get_decoder()


def _disable_dropout(model: Any) -> None:
    """Set every dropout to 0: the ratio compares probabilities, and dropout would make them random."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.0


def load_policy(settings: PolicySettings) -> Policy:
    """Return the policy that the settings name, on their device, with adapters where they ask for them."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    device = settings.device or ranks.device()
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    file = gguf_path(settings.path)
    place: str = str(file.parent) if file else settings.path
    options: dict[str, Any] = {"gguf_file": file.name} if file else {}
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(place, **options)
        if options:
            options["quantization_config"] = GgufConfig(dequantize=True)
        model: Any = AutoModelForCausalLM.from_pretrained(place, dtype=dtype, **options)
    except (OSError, ValueError, ImportError) as error:
        raise ConfigError(f"no model can be loaded from {settings.path!r}: {error}") from error
    if settings.lora_rank:
        model = add_adapters(model, settings)
    return Policy(
        model.to(device),
        tokenizer,
        head_tokens=settings.head_tokens,
        gradient_checkpointing=settings.gradient_checkpointing,
    )


def gguf_path(path: str) -> Path | None:
    """Return the GGUF file that a policy's path names, or None; `local` is the local model's."""
    if path != LOCAL:
        return Path(path) if path.endswith(".gguf") else None
    if file := find_local_weights():
        return file
    raise ConfigError("the local model's weights are not on this machine: fetch them with `bookwheel models --fetch`")


def add_adapters(model: Any, settings: PolicySettings) -> Any:
    """Return the model with low-rank adapters on every linear layer; they alone are trained."""
    from peft import LoraConfig, get_peft_model

    lora = LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha or 2 * settings.lora_rank,
        target_modules="all-linear",
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
    )
    with warnings.catch_warnings():
        # peft calls transformers by a name that is deprecated there.
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing`", category=FutureWarning)
        return get_peft_model(model, lora)
