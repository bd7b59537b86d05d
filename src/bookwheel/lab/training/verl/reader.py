"""One process that reads: it builds the samples that it is given, runs the workflow on them and judges the answers.

Nothing here imports verl.
"""

from __future__ import annotations

import asyncio
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

from bookwheel.lab.training.launch import build_sample_sets
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.rewards import build_reward
from bookwheel.lab.training.verl.dataset import parse_settings
from bookwheel.lab.training.verl.session import RolloutSession, build_rows
from bookwheel.lab.training.workflows import build_workflow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.tasks import Sample
    from bookwheel.lab.training.policy_model import RolloutSampler
    from bookwheel.lab.training.verl.server import ServedPolicy

# The sessions of a sample run at the same time, and a document of a million tokens takes seconds to build.
_SAMPLES_KEPT: Final = 64


class Reader:
    """The samples, the workflow and the reward of a run."""

    def __init__(self, settings: str, policy: ServedPolicy) -> None:
        """Take the run's settings as verl's configuration carries them."""
        self._config, self._data = parse_settings(settings)
        # It has what prompts need of a policy, and no weights.
        self._policy = cast("Any", policy)
        self._model = PolicyModel(self._policy, plan=self._config.plan)
        self._workflow = build_workflow(self._config)
        self._reward = build_reward(self._config.reward)
        self._get_sample = lru_cache(_SAMPLES_KEPT)(self._build_sample)
        self._get_sets = cache(self._build_sets)

    async def read(self, number: int, sampler: RolloutSampler, *, is_held_out: bool) -> RolloutSession:
        """Read the sample of this number once and judge the answer."""
        sample = await asyncio.to_thread(self._get_sample, number, is_held_out)
        # The seed is unused: the server draws.
        episode = await self._workflow(self._model.for_rollout(0, sampler=sampler), sample)
        result = await asyncio.to_thread(self._reward, episode, sample)
        return RolloutSession(rows=build_rows(episode), result=result)

    def _build_sample(self, number: int, is_held_out: bool) -> Sample:
        training, held_out = self._get_sets()
        return (held_out if is_held_out else training)[number]

    def _build_sets(self) -> tuple[Sequence[Sample], Sequence[Sample]]:
        return build_sample_sets(self._config, self._policy, data=self._data)
