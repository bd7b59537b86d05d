"""One check of every model at load: the trainer's log-probabilities against the model's own forward.

    scoring     decoder and head, on padded rows      must give the model's own log-probabilities
    sampling    left-padded batch with a cache        must too, or old and new log-probabilities differ from the start

Some models change their logits after the head, some keep a state that padding spoils. A list of their names would be
out of date; a few tokens through the model are not.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

import torch

from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.generation import GenerationRequest, generate
from bookwheel.lab.training.rows import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from bookwheel.lab.training.policy import Policy

_LENGTHS: Final = (11, 6)
_SAMPLED: Final = 4
# Mean absolute differences, in nats. Two orders of additions differ by a hundredth of these.
_FLOAT32_GAP: Final = 1e-3
_BFLOAT16_GAP: Final = 0.05
# Settings of transformers' models that change logits after the head, and their neutral values.
_KNOWN: Final = {
    "logits_scaling": 1.0,
    "logit_scale": 1.0,
    "final_logit_softcapping": None,
    "output_multiplier_scale": 1.0,
}


def check_architecture(policy: Policy) -> None:
    """Raise ConfigError where the trainer would compute other log-probabilities than the model itself."""
    dice = Random(0)  # noqa: S311 - any tokens will do
    prompts = [tuple(dice.randrange(policy.model.config.vocab_size) for _ in range(length)) for length in _LENGTHS]
    kind = policy.model.config.model_type
    try:
        gap = _scoring_gap(policy, prompts)
        sampled = _sampling_gap(policy, prompts)
    except (TypeError, AttributeError, ValueError, RuntimeError, NotImplementedError) as error:
        raise ConfigError(f"{kind} models cannot be trained here: {error}") from error
    most = _FLOAT32_GAP if policy.model.dtype == torch.float32 else _BFLOAT16_GAP
    if gap > most:
        raise ConfigError(
            f"{kind} models cannot be trained here: decoder and head give log-probabilities that differ from the "
            f"model's own by {gap:.3f} nats; {_find_reason(policy.model.config)}"
        )
    if sampled > most:
        raise ConfigError(
            f"{kind} models cannot be trained here: tokens sampled in a padded batch have log-probabilities that "
            f"differ from the model's own by {sampled:.3f} nats; its cache does not bear padding on the left"
        )


@torch.no_grad()
def _scoring_gap(policy: Policy, prompts: Sequence[tuple[int, ...]]) -> float:
    rows = [
        Row(
            ids=ids,
            trained=(False, *(True,) * (len(ids) - 1)),
            logprobs=(0.0,) * (len(ids) - 1),
            advantage=0.0,
            rollout="check",
        )
        for ids in prompts
    ]
    own = torch.cat([_own_logprobs(policy, ids, 1) for ids in prompts])
    return float((policy.score(rows).logprobs - own).abs().mean())


@torch.no_grad()
def _sampling_gap(policy: Policy, prompts: Sequence[tuple[int, ...]]) -> float:
    requests = [GenerationRequest(prompt=ids, limit=_SAMPLED) for ids in prompts]
    results = generate(policy.model, requests, stop=frozenset())
    own = [_own_logprobs(policy, (*ids, *result.ids), len(ids)) for ids, result in zip(prompts, results, strict=True)]
    sampled = torch.tensor([one for result in results for one in result.logprobs], device=policy.device)
    return float((sampled - torch.cat(own)).abs().mean())


def _own_logprobs(policy: Policy, ids: Sequence[int], first: int) -> Tensor:
    """Return the log-probabilities of the ids from `first` on, by the model's own forward, one row alone."""
    batch = torch.tensor([list(ids)], device=policy.device)
    logs = torch.log_softmax(policy.model(input_ids=batch, use_cache=False).logits[0].float(), dim=-1)
    return logs[first - 1 : -1].gather(1, batch[0, first:, None])[:, 0]


def _find_reason(config: Any) -> str:
    found = [
        f"{name} = {value}"
        for name, neutral in _KNOWN.items()
        if (value := getattr(config, name, None)) is not None and value != neutral
    ]
    if found:
        return f"its settings change the logits after the head ({', '.join(found)})"
    return "it changes its logits after the head, or reads padding"
