"""One process that reads: it builds the samples that it is given, runs the workflow on them and judges the answers.

verl stores the fields of a dataset's entry beside every conversation. A document there would be stored a hundred times,
so the dataset that verl loads holds numbers of samples. Nothing here imports verl.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, cast

from torch.utils.data import Dataset

from bookwheel.journal import Journal
from bookwheel.lab.tasks import Sample
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.errors import ConfigError
from bookwheel.lab.training.generation import GenerationRequest, GenerationResult
from bookwheel.lab.training.launch import build_sample_sets
from bookwheel.lab.training.policy import find_stop_ids
from bookwheel.lab.training.policy_model import PolicyModel, RolloutSampler
from bookwheel.lab.training.records import RolloutStore
from bookwheel.lab.training.rewards import RewardResult, build_reward, score_episode
from bookwheel.lab.training.rows import rows_of
from bookwheel.lab.training.verl.settings import HELD_OUT, NAME
from bookwheel.lab.training.workflows import Episode, build_workflow

# The sessions of a sample run at the same time, and a document of a million tokens takes seconds to build.
_SAMPLES_KEPT: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of a run, and the folders that it was started with."""

    config: TrainConfig
    data: Path | None
    """Of question sets."""
    rollouts: Path | None
    """Where the readings of rollouts are kept; None keeps none."""

    @classmethod
    def parse(cls, text: str) -> RunSettings:
        """Return the settings from the JSON in verl's configuration."""
        tables = json.loads(text)
        data, rollouts = (Path(place) if (place := tables.pop(name, "")) else None for name in ("data", "rollouts"))
        return cls(config=TrainConfig.from_tables(tables), data=data, rollouts=rollouts)


class SampleNumbers(Dataset[dict[str, Any]]):
    """The numbers of the samples to train on, or of those held out; no sample is made to count them."""

    def __init__(self, data_files: str, config: Mapping[str, Any], **__: Any) -> None:
        """Take what verl passes to a dataset by name; `data_files` names one of the two sets."""
        settings = RunSettings.parse(config[NAME]).config
        task = settings.task
        self._is_held_out = data_files == HELD_OUT
        self._task = task.name or Path(task.file).stem
        self._count = settings.evaluation.samples if self._is_held_out else task.count
        if task.file:
            # A file needs no tokenizer: its samples are not generated.
            no_policy: Any = None
            self._count = len(build_sample_sets(settings, no_policy)[self._is_held_out])
        if not self._is_held_out and self._count < settings.samples:
            raise ConfigError(
                f"there are {self._count} samples to train on and train.samples is {settings.samples}: lower it"
            )

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {
            # Only its length is read: the prompts are the workflow's own.
            "raw_prompt": [{"role": "user", "content": f"{self._task} {number}"}],
            "index": number,
            "is_held_out": self._is_held_out,
            "data_source": self._task,
            "reward_model": {"style": "rule", "ground_truth": ""},
        }


class ServedPolicy:
    """The parts of a policy that prompts are made with; its weights are on the servers."""

    def __init__(self, tokenizer: Any, model_config: Any, generation_config: Any = None) -> None:
        self.tokenizer = tokenizer
        self.window: int | None = getattr(model_config, "max_position_embeddings", None)
        self.vocabulary = int(model_config.get_text_config().vocab_size)
        self.stop_ids = find_stop_ids(generation_config, tokenizer)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One conversation as the engine stores it."""

    prompt: list[int]
    response: list[int]
    """From the first sampled id on."""
    mask: list[int]
    """1 for ids of the response that the policy sampled, 0 for those of a tool."""
    logprobs: list[float]
    """One for each id of the response; 0 where the mask is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSession:
    """One rollout of a sample, as the rows that the engine stores."""

    rows: list[SessionRow]
    result: RewardResult
    sample: str
    """The id of its sample."""
    reading: str | None = None
    """The id under which its reading was kept."""


class Reader:
    """The samples, the workflow and the reward of a run."""

    def __init__(self, settings: str, policy: ServedPolicy) -> None:
        """Take the run's settings as verl's configuration carries them."""
        run = RunSettings.parse(settings)
        config = self._config = run.config
        self._folder = run.rollouts
        # It has what prompts need of a policy, and no weights.
        bare = cast("Any", policy)
        self._model = PolicyModel(bare, plan=config.plan)
        self._workflow = build_workflow(config)
        self._reward = build_reward(config.reward)
        sets = cache(lambda: build_sample_sets(config, bare, data=run.data))

        @lru_cache(_SAMPLES_KEPT)
        def get_sample(number: int, is_held_out: bool) -> Sample:
            chosen: Sequence[Sample] = sets()[is_held_out]
            return chosen[number]

        self._get_sample = get_sample

    async def read(self, number: int, sampler: RolloutSampler, *, is_held_out: bool) -> RolloutSession:
        """Read the sample of this number once and judge the answer."""
        sample = await asyncio.to_thread(self._get_sample, number, is_held_out)
        # The seed is unused: the server draws.
        episode = await self._workflow(self._model.for_rollout(0, sampler=sampler), sample)
        result = await asyncio.to_thread(score_episode, self._reward, episode, sample)
        reading = None
        step = min(getattr(sampler, "versions", ()), default=0)
        if self._folder and self._config.keep_rollouts and not is_held_out and step % self._config.keep_rollouts == 0:
            reading = await asyncio.to_thread(self._keep, self._folder, sample, episode)
        return RolloutSession(rows=build_rows(episode), result=result, sample=sample.id, reading=reading)

    def _keep(self, folder: Path, sample: Sample, episode: Episode) -> str | None:
        config = self._config
        store = RolloutStore(folder, config.plan, config.estimator, way=config.way)
        with Journal(folder / "rollouts.sqlite") as journal:
            return store.keep_reading(journal, sample, episode)


def build_rows(episode: Episode) -> list[SessionRow]:
    """Return the rows of an episode, in order."""
    rows = []
    for row in rows_of(episode.conversations, advantage=0.0, rollout=""):
        start = row.trained.index(True)
        logprobs = iter(row.logprobs)
        mask = row.trained[start:]
        rows.append(
            SessionRow(
                prompt=list(row.ids[:start]),
                response=list(row.ids[start:]),
                mask=[int(is_trained) for is_trained in mask],
                logprobs=[next(logprobs) if is_trained else 0.0 for is_trained in mask],
            )
        )
    return rows
