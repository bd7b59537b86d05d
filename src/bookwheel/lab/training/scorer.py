"""From rows to the log-probabilities of their trained tokens.

    log p(x_t) = z_t[x_t] - logsumexp(z_t),   z_t = W h_(t-1)

Only the hidden states before sampled tokens go through the head W, a slice at a time and recomputed for the backward
pass, so the logits of a long row are never all in memory. What rows have in common at their beginning is read once,
where the model allows it. This file knows token ids and rows, and nothing of their text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from bookwheel.lab.training.trie_attention import packed_inputs, pad_right
from bookwheel.lab.training.tries import pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.training.rows import Row


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
        """Tell if the rows are read together, prefixes once."""
        return all(len(row.ids) <= self.sharing_limit for row in rows)

    def forward(self, places: Tensor, targets: Tensor, **inputs: Any) -> tuple[Tensor, Tensor]:
        """Return log-probability and entropy of each target, predicted at its flat place in the decoder's inputs."""
        hidden = get_decoder(self.model)(**inputs, use_cache=False).last_hidden_state
        states = hidden.flatten(0, 1)[places]
        parts = [
            _score_targets(self.model, part, part_targets)
            for part, part_targets in zip(
                torch.split(states, self.head_tokens), torch.split(targets, self.head_tokens), strict=True
            )
        ]
        return torch.cat([logprobs for logprobs, _ in parts]), torch.cat([entropy for _, entropy in parts])


def score_rows(scorer: RowScorer, rows: Sequence[Row], device: torch.device) -> ScoredRows:
    """Return the scores of the rows' trained tokens; rows with the same ids go through the model once."""
    distinct = list({(row.ids, row.trained): row for row in rows}.values())
    inputs, paths = _lay_out([row.ids for row in distinct], device, shared=scorer.can_share(rows))
    places, targets = _find_trained(distinct, paths)
    logprobs, entropy = scorer(places.to(device), targets.to(device), **inputs)
    index = _index_into_distinct(rows, distinct).to(device)
    return ScoredRows(logprobs=logprobs[index], entropy=entropy[index])


def get_decoder(model: Any) -> Any:
    """Return the model without its head, with its adapters."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    return base.get_decoder()


def _lay_out(
    sequences: Sequence[tuple[int, ...]], device: torch.device, *, shared: bool
) -> tuple[dict[str, Any], Sequence[Sequence[int]]]:
    """Return the decoder's inputs, and for each sequence where its tokens stand among all of them.

    Padded sequences need no mask: attention looks left and the padding stands on the right.
    """
    if shared:
        packed = pack(sequences)
        return packed_inputs(packed, device), packed.paths
    ids, _ = pad_right(sequences)
    rows, longest = ids.shape
    return {"input_ids": ids.to(device)}, [range(i * longest, (i + 1) * longest) for i in range(rows)]


def _find_trained(rows: Sequence[Row], paths: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Return where the states stand that predict the trained tokens, and those tokens."""
    trained = [
        (path[t - 1], row.ids[t])
        for row, path in zip(rows, paths, strict=True)
        for t, is_trained in enumerate(row.trained)
        if is_trained
    ]
    places, targets = zip(*trained, strict=True)
    return torch.tensor(places), torch.tensor(targets)


def _index_into_distinct(rows: Sequence[Row], distinct: Sequence[Row]) -> Tensor:
    """Return, for every trained token of all rows, its index among those of the distinct rows."""
    starts, total = {}, 0
    for row in distinct:
        starts[row.ids, row.trained] = total
        total += row.tokens
    first = [starts[row.ids, row.trained] for row in rows]
    return torch.tensor(
        [place for row, start in zip(rows, first, strict=True) for place in range(start, start + row.tokens)]
    )


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
