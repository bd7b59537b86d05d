"""The policy behind verl's inference servers, with the prompts, exact ids and windows of `PolicyModel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.generation import GenerationRequest, GenerationResult

if TYPE_CHECKING:
    from collections.abc import Mapping


class ServedPolicy:
    """The parts of a policy that prompts are made with; its weights are on the servers."""

    def __init__(self, tokenizer: Any, model_config: Any, generation_config: Any = None) -> None:
        self.tokenizer = tokenizer
        self.window: int | None = getattr(model_config, "max_position_embeddings", None)
        named = getattr(generation_config, "eos_token_id", None)
        ids = named if isinstance(named, list) else [named]
        self.stop_ids = frozenset(int(i) for i in (*ids, tokenizer.eos_token_id) if i is not None)


class SessionSampler:
    """Samples the conversations of one session from the servers, and keeps the versions of the weights it met."""

    def __init__(self, servers: Any, group: str, sampling: Mapping[str, Any], stop_ids: frozenset[int]) -> None:
        self._servers, self._group, self._sampling, self._stop_ids = servers, group, dict(sampling), stop_ids
        self.versions: list[int] = []

    async def submit(self, request: GenerationRequest) -> GenerationResult:
        """Return what a server sampled. All sessions of a sample ask the same one: it has their section's cache."""
        output = await self._servers.generate(
            self._group,
            prompt_ids=list(request.prompt),
            sampling_params={**self._sampling, "logprobs": True, "max_tokens": request.limit},
        )
        ids, logprobs = list(output.token_ids), output.log_probs
        if logprobs is None or len(logprobs) != len(ids):
            raise ConfigError("the rollout server returned no log-probabilities, which training needs")
        self.versions.append(int(output.extra_fields.get("global_steps") or 0))
        return GenerationResult(ids=ids, logprobs=list(logprobs), stopped=bool(ids) and ids[-1] in self._stop_ids)
