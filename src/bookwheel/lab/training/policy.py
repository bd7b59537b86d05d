"""The model that is trained: a Hugging Face causal language model, whole or through LoRA adapters.

It gives the log-probabilities of rows' trained tokens, keeps the frozen reference of the KL term, and can be sharded
over ranks (ranks.py). It knows token ids and rows, and nothing of their text.

    log p(x_t) = z_t[x_t] - logsumexp(z_t),   z_t = W h_(t-1)

Only the hidden states before sampled tokens go through the head W, a slice at a time and recomputed for the backward
pass, so the logits of a long row are never all in memory. What rows have in common at their beginning is read once,
where the model allows it (sharing.py).
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from bookwheel.lab.training import ranks
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.rows import Row, micro_batches, pack, trie_batches
from bookwheel.lab.training.sharing import enable_sharing, packed_inputs, pad


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRows:
    """One entry for every trained token of some rows, in the rows' order."""

    logprobs: Tensor
    entropy: Tensor
    """Of the distribution that the token was drawn from; carries no gradient."""


class RowScorer(nn.Module):
    """Decoder and head as one module: where weights are sharded, one forward gathers them all."""

    def __init__(self, model: Any, head_tokens: int, sharing_limit: int = 0) -> None:
        super().__init__()
        self.model = model
        self.head_tokens = head_tokens
        self.sharing_limit = sharing_limit

    def can_share(self, rows: Sequence[Row]) -> bool:
        """Tell if what these rows have in common at their beginning is read once."""
        return all(len(row.ids) <= self.sharing_limit for row in rows)

    def score(self, rows: Sequence[Row]) -> ScoredRows:
        """Return the scores of the rows' trained tokens; rows with the same ids go through the model once."""
        device = self.model.device
        distinct = list({(row.ids, row.trained): row for row in rows}.values())
        inputs: dict[str, Any]
        paths: Sequence[Sequence[int]]
        if self.can_share(rows):
            packed = pack([row.ids for row in distinct])
            inputs, paths = packed_inputs(packed, device), packed.paths
        else:
            # They need no mask: attention looks left and the padding stands on the right.
            ids, _ = pad([row.ids for row in distinct])
            inputs = {"input_ids": ids.to(device)}
            paths = torch.arange(ids.numel()).view(ids.shape).tolist()
        trained = [
            (path[t - 1], row.ids[t])
            for row, path in zip(distinct, paths, strict=True)
            for t, is_trained in enumerate(row.trained)
            if is_trained
        ]
        places, targets = torch.tensor(trained, device=device).T
        logprobs, entropy = self(places, targets, **inputs)
        spans, end = {}, 0
        for row in distinct:
            spans[row.ids, row.trained] = range(end, end + row.tokens)
            end += row.tokens
        index = torch.tensor([place for row in rows for place in spans[row.ids, row.trained]], device=device)
        return ScoredRows(logprobs=logprobs[index], entropy=entropy[index])

    def forward(self, places: Tensor, targets: Tensor, **inputs: Any) -> tuple[Tensor, Tensor]:
        """Return log-probability and entropy of each target, predicted at its flat place in the decoder's inputs."""
        hidden = ranks.get_decoder(self.model)(**inputs, use_cache=False).last_hidden_state
        head = self.model.get_output_embeddings()

        def score_slice(states: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
            logs = torch.log_softmax(head(states).float(), dim=-1)
            with torch.no_grad():
                entropy = -(logs.exp() * logs).sum(-1)
            return logs.gather(1, wanted[:, None])[:, 0], entropy

        states: Tensor = hidden.flatten(0, 1)[places]
        slices = zip(torch.split(states, self.head_tokens), torch.split(targets, self.head_tokens), strict=True)
        # Recomputed in the backward pass: the logits are freed as soon as the slice is scored.
        scored = [
            checkpoint(score_slice, *one, use_reentrant=False) if torch.is_grad_enabled() else score_slice(*one)
            for one in slices
        ]
        return torch.cat([logprobs for logprobs, _ in scored]), torch.cat([entropy for _, entropy in scored])


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
        self._recompute = gradient_checkpointing
        self._scorer = RowScorer(model, head_tokens, enable_sharing(model) if share_prefixes else 0)
        self._shards: ranks.Shards | None = None
        self._dtype = torch.float32
        self._reference: RowScorer | None = None
        self._snapshot: RowScorer | None = None
        self._sampling = Lock()
        # The ratio compares probabilities, and dropout would make them random.
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
            if hasattr(module, "attention_dropout"):
                module.attention_dropout = 0.0
        if gradient_checkpointing:
            # Older versions of the transformers library have its other name alone.
            enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
            enable()
        model.eval()

    @property
    def device(self) -> torch.device:
        device: torch.device = self.model.device
        return device

    @property
    def window(self) -> int | None:
        """The number of tokens the model has positions for."""
        window = getattr(self.model.config, "max_position_embeddings", None)
        return int(window) if window else None

    @property
    def vocabulary(self) -> int:
        """The number of token ids that the model knows."""
        return int(self.model.get_input_embeddings().num_embeddings)

    @property
    def stop_ids(self) -> frozenset[int]:
        return find_stop_ids(self.model.generation_config, self.tokenizer)

    @property
    def trainable(self) -> list[nn.Parameter]:
        """The weights that are trained: all of them, or the adapters'."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    @property
    def has_adapters(self) -> bool:
        """True where low-rank adapters alone are trained."""
        return hasattr(self.model, "merge_and_unload")

    @property
    def is_sharded(self) -> bool:
        """True once the ranks share the weights out among themselves."""
        return self._shards is not None

    @property
    def sharing_limit(self) -> int:
        """The longest row of which the model may read prefixes once; 0 reads every row by itself."""
        return self._scorer.sharing_limit

    def shard(self, device: str, dtype: torch.dtype) -> None:
        """Keep 1/W of every float32 weight on each of W ranks, and compute in `dtype`. All ranks call it together."""
        self._dtype = dtype
        if self._shards is None:
            self._shards = ranks.shard_model(self._scorer, torch.device(device), dtype)

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Hold the whole model on every rank, so that each can sample at its own pace."""
        with self._shards.gathered() if self._shards else nullcontext():
            yield

    @contextmanager
    def sampling(self) -> Iterator[Any]:
        """Give the model to sample from, alone: the snapshot if one was taken, and its weights stay as they are."""
        with self._sampling:
            yield (self._snapshot or self._scorer).model

    @torch.no_grad()
    def take_snapshot(self) -> None:
        """Copy the weights for sampling, so that rollouts can go on while the policy is trained."""
        with self._sampling:
            if self._snapshot is None:
                self._snapshot = self._freeze_copy()
            for held, weight in zip(self._snapshot.model.parameters(), self.model.parameters(), strict=True):
                held.copy_(weight)

    def _freeze_copy(self) -> RowScorer:
        frozen = copy.deepcopy(self.model).requires_grad_(requires_grad=False).eval()
        return RowScorer(frozen, self._scorer.head_tokens, self.sharing_limit)

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
        return self._scorer.score(rows)

    @torch.no_grad()
    def score_frozen(self, rows: Sequence[Row]) -> Tensor:
        """Return log-probabilities of the rows' trained tokens by the model that is sampled from."""
        with self._sampling:
            return (self._snapshot or self._scorer).score(rows).logprobs

    @contextmanager
    def by_reference(self) -> Iterator[RowScorer]:
        """Give the frozen reference, or the model without its adapters."""
        with ExitStack() as stack:
            if self._shards and self._shards.reference:
                stack.enter_context(self._shards.as_reference())
            elif self._reference is None:
                if not hasattr(self.model, "disable_adapter"):
                    raise ConfigError("a KL term needs a reference: call freeze_reference first, or set kl = 0")
                stack.enter_context(self.model.disable_adapter())
            yield self._reference or self._scorer

    @torch.no_grad()
    def score_by_reference(self, *batches: Sequence[Row]) -> list[Tensor]:
        with self.by_reference() as scorer:
            return [scorer.score(rows).logprobs for rows in batches]

    def freeze_reference(self, weights: Mapping[str, Tensor] | None = None) -> Any:
        """Keep the KL term's reference: the policy as it is, or these whole weights. Return its model if it has one.

        LoRA needs none, unless the adapters were already warm.
        """
        if self._shards:
            self._shards.freeze_reference(weights)
            return None
        self._reference = self._freeze_copy()
        return self._reference.model

    @contextmanager
    def training(self) -> Iterator[None]:
        """Turn recomputation in the backward pass on; the transformers library ties it to train mode."""
        self.model.train(self._recompute)
        try:
            yield
        finally:
            self.model.eval()

    def save(self, folder: Path, *, whole: bool = False) -> None:
        """Save a folder that transformers loads; with LoRA, the adapter's alone. Of a sharded policy, on all ranks.

        With `whole`, adapters are merged into a copy of the weights, for a server that samples from them.
        """
        options: dict[str, Any] = {"save_embedding_layers": False} if hasattr(self.model, "peft_config") else {}
        model = self.model
        if self._shards:
            options["state_dict"] = ranks.gather_weights(model, self._dtype)
            if not options["state_dict"]:
                return
        elif whole and self.has_adapters:
            model, options = copy.deepcopy(model).merge_and_unload(), {}
        with hide_progress_bars():
            model.save_pretrained(folder, **options)
            self.tokenizer.save_pretrained(folder)


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


def find_stop_ids(generation_config: Any, tokenizer: Any) -> frozenset[int]:
    """Return the ids that end a reply, by a model's settings and its tokenizer."""
    named = getattr(generation_config, "eos_token_id", None)
    ids = named if isinstance(named, list) else [named]
    return frozenset(int(i) for i in (*ids, tokenizer.eos_token_id) if i is not None)
