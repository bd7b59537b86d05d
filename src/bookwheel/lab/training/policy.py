"""The model that is trained: a Hugging Face causal language model, whole or through LoRA adapters.

It scores rows (scorer.py), keeps the frozen reference of the KL term, and can be sharded over ranks (sharding.py).
"""

from __future__ import annotations

import contextlib
import copy
from threading import Lock
from typing import TYPE_CHECKING, Any

import torch

from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.rows import micro_batches
from bookwheel.lab.training.scorer import RowScorer, ScoredRows, score_rows
from bookwheel.lab.training.sharding import Shards, gather_weights, shard_model
from bookwheel.lab.training.sharing import enable_sharing
from bookwheel.lab.training.tries import trie_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from torch import Tensor, nn

    from bookwheel.lab.training.rows import Row


class Policy:
    """A causal model with its tokenizer, ready to be sampled and trained."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        head_tokens: int = 1024,
        gradient_checkpointing: bool = False,
        share_prefixes: bool = True,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.head_tokens = head_tokens
        self._recompute = gradient_checkpointing
        self._scorer = RowScorer(model, head_tokens, enable_sharing(model) if share_prefixes else 0)
        self._shards: Shards | None = None
        self._dtype = torch.float32
        self._reference: Any = None
        self._snapshot: Any = None
        self._sampling = Lock()
        self._disable_dropout()
        if gradient_checkpointing:
            # Older versions of the transformers library have its other name alone.
            enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
            enable()
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

    @property
    def is_sharded(self) -> bool:
        """True once the ranks share the weights out among themselves."""
        return self._shards is not None

    def shard(self, device: str, dtype: torch.dtype) -> None:
        """Keep 1/W of every float32 weight on each of W ranks, and compute in `dtype`. All ranks call it together."""
        self._dtype = dtype
        if self._shards is None:
            self._shards = shard_model(self._scorer, torch.device(device), dtype)

    @contextlib.contextmanager
    def gathered(self) -> Iterator[None]:
        """Hold the whole model on every rank, so that each can sample at its own pace."""
        with self._shards.gathered() if self._shards else contextlib.nullcontext():
            yield

    @contextlib.contextmanager
    def sampling(self) -> Iterator[Any]:
        """Give the model to sample from, alone: the snapshot if one was taken, and its weights stay as they are."""
        with self._sampling:
            yield self.model if self._snapshot is None else self._snapshot

    @torch.no_grad()
    def take_snapshot(self) -> None:
        """Copy the weights for sampling, so that rollouts can go on while the policy is trained."""
        with self._sampling:
            if self._snapshot is None:
                self._snapshot = copy.deepcopy(self.model).requires_grad_(requires_grad=False).eval()
                return
            for held, weight in zip(self._snapshot.parameters(), self.model.parameters(), strict=True):
                held.copy_(weight)

    @property
    def sharing_limit(self) -> int:
        """The longest row of which the model may read prefixes once; 0 reads every row by itself."""
        return self._scorer.sharing_limit

    def can_share(self, rows: Sequence[Row]) -> bool:
        """Tell if what these rows have in common at their beginning is read once."""
        return self._scorer.can_share(rows)

    def micro_batches(self, rows: Sequence[Row], budget: int) -> list[list[Row]]:
        """Return the rows in parts that are read together; `budget` bounds the tokens that the model reads for one."""
        sharing = [row for row in rows if self.can_share([row])]
        alone = [row for row in rows if not self.can_share([row])]
        return trie_batches(sharing, budget) + micro_batches(alone, budget)

    def score(self, rows: Sequence[Row]) -> ScoredRows:
        """Return log-probability and entropy of the rows' trained tokens; the caller may turn gradients off."""
        return score_rows(self._scorer, rows, self.device)

    def score_frozen(self, rows: Sequence[Row]) -> Tensor:
        """Return log-probabilities of the rows' trained tokens by the model that is sampled from."""
        with torch.no_grad(), self.sampling() as model:
            scorer = self._scorer if model is self.model else RowScorer(model, self.head_tokens, self.sharing_limit)
            return score_rows(scorer, rows, self.device).logprobs

    def score_by_reference(self, rows: Sequence[Row]) -> Tensor:
        """Return log-probabilities by the frozen reference; by the model without its adapters where none was frozen."""
        (logprobs,) = self.score_all_by_reference([rows])
        return logprobs

    @torch.no_grad()
    def score_all_by_reference(self, batches: Sequence[Sequence[Row]]) -> list[Tensor]:
        """Return the reference's log-probabilities of several micro-batches."""
        with self._reference_scorer() as scorer:
            return [score_rows(scorer, rows, self.device).logprobs for rows in batches]

    @contextlib.contextmanager
    def _reference_scorer(self) -> Iterator[RowScorer]:
        if self._shards and self._shards.has_reference:
            with self._shards.as_reference():
                yield self._scorer
        elif self._reference is not None:
            yield self._reference
        elif hasattr(self.model, "disable_adapter"):
            with self.model.disable_adapter():
                yield self._scorer
        else:
            raise ConfigError("a KL term needs a reference: call freeze_reference before training, or set kl = 0")

    def freeze_reference(self) -> None:
        """Keep a frozen copy for the KL term; LoRA needs none, unless the adapters were already warm."""
        if self._shards:
            self._shards.freeze_reference()
        else:
            frozen = copy.deepcopy(self.model).requires_grad_(requires_grad=False).eval()
            self._reference = RowScorer(frozen, self.head_tokens, self.sharing_limit)

    @property
    def reference_model(self) -> Any:
        """The frozen copy, for checkpoints."""
        if self._reference is None:
            raise ConfigError("no reference was frozen: call freeze_reference first")
        return self._reference.model

    def load_reference(self, weights: Mapping[str, Tensor]) -> None:
        """Give a sharded policy its reference back, from whole weights by name."""
        assert self._shards is not None
        self._shards.load_reference(weights)

    @contextlib.contextmanager
    def training(self) -> Iterator[None]:
        """Turn recomputation in the backward pass on; the transformers library ties it to train mode."""
        self.model.train(self._recompute)
        try:
            yield
        finally:
            self.model.eval()

    def save(self, folder: Path) -> None:
        """Save a folder that transformers loads; with LoRA, the adapter's alone. Of a sharded policy, on all ranks."""
        options: dict[str, Any] = {"save_embedding_layers": False} if hasattr(self.model, "peft_config") else {}
        if self._shards:
            options["state_dict"] = gather_weights(self.model, self._dtype)
            if not options["state_dict"]:
                return
        self.model.save_pretrained(folder, **options)
        self.tokenizer.save_pretrained(folder)

    def save_whole(self, folder: Path) -> None:
        """Save all weights, adapters merged into a copy of theirs, for a server that samples from them."""
        if self._shards or not hasattr(self.model, "merge_and_unload"):
            self.save(folder)
        else:
            copy.deepcopy(self.model).merge_and_unload().save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

    def _disable_dropout(self) -> None:
        """Set every dropout to 0: the ratio compares probabilities, and dropout would make them random."""
        for module in self.model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
            if hasattr(module, "attention_dropout"):
                module.attention_dropout = 0.0
