"""The run: warm start, then rollouts -> rows -> step, with evaluation and checkpoints between.

    Trainer(policy, samples, build_reward(config.reward), config).train()

Everything random is a function of the run's seed and of names. So a killed run continues from its newest checkpoint
and writes, on a CPU, the same metrics bit for bit.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import torch

from bookwheel.reading.ways.registry import load_way
from bookwheel.tasks import SampleSeries
from bookwheel.training import checkpoint, ranks, warmstart
from bookwheel.training.checkpoint import TrainingProgress
from bookwheel.training.errors import CheckpointError, ConfigError, NothingToLearn
from bookwheel.training.metrics_log import MetricsLog
from bookwheel.training.policy_model import ROLLOUT, PolicyModel
from bookwheel.training.quote_traces import quote_trace
from bookwheel.training.rollouts import (
    Group,
    RolloutBatch,
    RolloutSettings,
    collect_rollouts,
    measure,
    roll_group,
    rows_of_groups,
)
from bookwheel.training.step import PolicyOptimizer, schedule
from bookwheel.training.workflows import Workflow, calculator, reading, single

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence

    from bookwheel.plan import Sampling
    from bookwheel.tasks import Sample
    from bookwheel.training.config import TrainConfig, WorkflowName
    from bookwheel.training.policy import Policy
    from bookwheel.training.rewards import Reward
    from bookwheel.training.rows import Row
    from bookwheel.training.warmstart import Oracle
    from bookwheel.types import Message

_WORKFLOWS: Final[dict[WorkflowName, Callable[[TrainConfig], Workflow]]] = {
    "reading": lambda config: reading(config.plan, load_way(config.way)),
    "single": lambda config: single(config.plan),
    "calculator": lambda config: calculator(config.plan),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingResult:
    """The end of a run; accuracies are of held-out samples, None where there are none."""

    folder: Path
    steps: int
    before: float | None
    """After the warm start, before the first rollout."""
    after: float | None
    best: float | None


class Trainer:
    """One policy, one set of samples, one reward, one configuration."""

    def __init__(
        self,
        policy: Policy,
        samples: Sequence[Sample],
        reward: Reward,
        config: TrainConfig,
        *,
        folder: Path = Path("run"),
        held_out: Sequence[Sample] = (),
        workflow: Workflow | None = None,
        oracle: Oracle | None = None,
        warm_samples: Sequence[Sample] = (),
        observe: Callable[[Mapping[str, Any]], None] | None = None,
        store: Callable[[int, RolloutBatch], None] | None = None,
        rows_of: Callable[[Sequence[Group]], list[Row]] | None = None,
    ) -> None:
        """Take what a run needs. `rows_of` replaces the advantages of `config.estimator`.

        The warm start imitates `warm_samples`, or else `samples`. `observe` is called with every record, and `store`
        with the rollouts of every reinforcement step.
        """
        _check_inputs(samples, config, workflow, oracle)
        if config.warm_start.steps and config.warm_start.until and not held_out:
            raise ConfigError("warm_start.until is measured on held-out samples, and there are none")
        self.policy, self.samples, self.reward, self.config = policy, samples, reward, config
        self.folder, self.held_out = folder, held_out[: config.evaluation.samples]
        self.workflow = workflow or _WORKFLOWS[config.workflow](config)
        self.oracle, self.warm_samples = oracle, warm_samples or samples
        self.model = PolicyModel(policy, plan=config.plan, budget=config.policy.rollout_tokens)
        self.progress = TrainingProgress()
        self._observe, self._store = observe, store
        self._rows_of = rows_of or (lambda groups: rows_of_groups(groups, config.estimator))
        self._order: tuple[int, list[int]] = (-1, [])
        self._optimizer: PolicyOptimizer | None = None
        self._metrics = MetricsLog(folder)

    @property
    def is_warming_up(self) -> bool:
        """True during the warm start."""
        return self.progress.warm_steps < 0

    @property
    def steps_done(self) -> int:
        """Steps of reinforcement so far."""
        return 0 if self.is_warming_up else self.progress.step - self.progress.warm_steps

    def train(self, *, resume: bool = False) -> TrainingResult:
        """Run to the end; with `resume`, from the newest checkpoint in the folder."""
        ranks.join()
        self._begin(resume=resume)
        asyncio.run(self._run())
        ranks.leave()
        accuracies = self._metrics.accuracies()
        return TrainingResult(
            folder=self.folder,
            steps=self.progress.step,
            before=accuracies[0] if accuracies else None,
            after=accuracies[-1] if accuracies else None,
            best=max(accuracies, default=None),
        )

    async def _run(self) -> None:
        config, progress = self.config, self.progress
        while self.is_warming_up or self.steps_done < config.steps:
            if self.is_warming_up and await self._is_warm_start_done():
                await self._start_reinforcement()
                continue
            began = time.perf_counter()
            kind = "warm" if self.is_warming_up else "step"
            record = self._imitate() if self.is_warming_up else await self._reinforce()
            progress.step += 1
            self._log({"kind": kind, "step": progress.step, **record}, began)
            is_last, every = self.steps_done == config.steps and not self.is_warming_up, config.evaluation.every
            if is_last or (every and self.steps_done and self.steps_done % every == 0):
                await self._evaluate()
            if is_last or progress.step % config.checkpoint_every == 0:
                self._save()

    async def _is_warm_start_done(self) -> bool:
        """Tell if the warm start took all its steps or reached the accuracy it was to reach."""
        settings, step = self.config.warm_start, self.progress.step
        if step >= settings.steps:
            return True
        if not settings.until or not step or step % settings.every:
            return False
        return await self._evaluate("check") >= settings.until

    async def _start_reinforcement(self) -> None:
        """Begin with a new optimizer, measure, and freeze the policy as reference."""
        self.progress.warm_steps = self.progress.step
        self._optimizer = self._build_optimizer()
        await self._evaluate()
        # Adapters that the warm start left untouched can be switched off instead of copied.
        if self.config.loss.kl and (self.config.warm_start.steps or not self.config.policy.lora_rank):
            self.policy.freeze_reference()
            if ranks.rank() == 0:
                checkpoint.save_weights(self.folder / "reference.safetensors", self.policy.reference_model)
        self._save()

    def _imitate(self) -> dict[str, Any]:
        config = self.config
        samples = warmstart.draw_samples(self.warm_samples, config.warm_start.samples, config.seed, self.progress.step)
        rows = [row for one in samples for row in warmstart.ideal_rows(one, self.model, self._ideal_trace(one))]
        return self.optimizer.imitate(rows)

    def _ideal_trace(self, sample: Sample) -> Iterable[tuple[tuple[Message, ...], str]]:
        """Return the conversations that the warm start imitates, as the way of reading holds them."""
        assert self.oracle is not None
        if self.config.way == "quotes":
            return quote_trace(sample, self.model.tokenizer, self.config.plan)
        return warmstart.ideal_trace(sample, self.model, self.config.plan, self.oracle)

    async def _reinforce(self) -> dict[str, Any]:
        config = self.config
        settings = self._rollout_settings(ROLLOUT)

        def roll(drawn: tuple[int, Sample]) -> Coroutine[Any, Any, Group]:
            number, sample = drawn
            names = [f"{number}/{sample.id}/{k}" for k in range(config.group_size)]
            return roll_group(sample, names, settings)

        batch = await collect_rollouts(self._draw, groups=config.samples, refills=config.refills, roll=roll)
        if self._store and ranks.rank() == 0:
            self._store(self.steps_done, batch)
        record = batch.metrics()
        updates = map(self._rows_of, _split_updates(batch.groups, config.updates))
        parts = [rows for rows in updates if rows]
        if any(row.advantage for rows in parts for row in rows):
            self.progress.steps_without_signal = 0
            return {**record, **await asyncio.to_thread(self.optimizer.reinforce, parts)}
        self.progress.steps_without_signal += 1
        self._stop_if_no_signal(record)
        return {**record, "skipped": True}

    def _stop_if_no_signal(self, record: Mapping[str, Any]) -> None:
        if self.progress.steps_without_signal < self.config.patience:
            return
        advice = (
            "the samples are too hard for the policy: warm-start longer, make them shorter, or raise train.group_size"
            if record["reward"] < 0.5  # noqa: PLR2004
            else "the policy solves all of them: take harder samples"
        )
        raise NothingToLearn(
            f"for {self.progress.steps_without_signal} steps all rollouts of every sample had the same reward "
            f"(mean {record['reward']:.2f}, {record['failed']} failed in the last step); {advice}"
        )

    async def _evaluate(self, kind: str = "evaluation") -> float:
        """Measure and log the accuracy on held-out samples, always with the same draws; save the best policy."""
        if not self.held_out:
            return 0.0
        began = time.perf_counter()
        scores = await measure(self.held_out, self._rollout_settings(self.config.evaluation.sampling))
        self._log({"kind": kind, "step": self.progress.step, **scores}, began)
        accuracy = float(scores["accuracy"])
        # Of equally good policies the last is kept: it has seen more.
        if kind == "evaluation" and accuracy >= self.progress.best:
            self.progress.best = accuracy
            self._save("best")
        return accuracy

    def _rollout_settings(self, sampling: Sampling) -> RolloutSettings:
        return RolloutSettings(
            model=self.model,
            workflow=self.workflow,
            reward=self.reward,
            sampling=sampling,
            seed=self.config.seed,
        )

    def _draw(self) -> tuple[int, Sample]:
        """Return the next sample and its number in the run; every epoch has an order of its own."""
        epoch, place = divmod(self.progress.samples_drawn, len(self.samples))
        if self._order[0] != epoch:
            order = list(range(len(self.samples)))
            Random(f"{self.config.seed}/epoch/{epoch}").shuffle(order)  # noqa: S311 - reproducible, no secrets
            self._order = (epoch, order)
        self.progress.samples_drawn += 1
        return self.progress.samples_drawn - 1, self.samples[self._order[1][place]]

    @property
    def optimizer(self) -> PolicyOptimizer:
        """The optimizer of the present phase."""
        if self._optimizer is None:
            self._optimizer = self._build_optimizer()
        return self._optimizer

    def _build_optimizer(self) -> PolicyOptimizer:
        config, warm = self.config, self.config.warm_start
        if self.is_warming_up:
            return PolicyOptimizer(self.policy, config, schedule(warm.learning_rate, warm.warmup_steps))
        steps = config.steps * config.updates
        rate = schedule(config.learning_rate, config.warmup_steps, steps=steps, decay=config.decay)
        return PolicyOptimizer(self.policy, config, rate)

    def _begin(self, *, resume: bool) -> None:
        if ranks.rank() and not resume:
            return
        place = checkpoint.find_newest(self.folder / "checkpoints")
        if not resume:
            if place or self._metrics.exists():
                raise CheckpointError(
                    f"{self.folder} holds a run already: continue it with --resume, or choose another folder"
                )
            self._metrics.create()
            self._save()
            return
        if place is None:
            raise CheckpointError(f"{self.folder} holds no checkpoint to resume from")
        self.progress = checkpoint.load_progress(place)
        self._optimizer = self._build_optimizer()
        checkpoint.load(place, self.policy.model, self._optimizer.optimizer, self.config.to_json())
        self._optimizer.steps_taken = self.progress.optimizer_steps
        reference = self.folder / "reference.safetensors"
        if self.config.loss.kl and not self.is_warming_up and reference.exists():
            self.policy.freeze_reference()
            checkpoint.load_weights(reference, self.policy.reference_model)
        if ranks.rank():
            return
        self._metrics.truncate(self.progress.metrics_lines)

    def _save(self, name: str = "") -> None:
        folder = self.folder / "checkpoints"
        self.progress.optimizer_steps = self.optimizer.steps_taken
        self.progress.threads = torch.get_num_threads()
        if ranks.rank():
            return
        place = folder / (name or f"step-{self.progress.step:06d}")
        checkpoint.save(place, self.policy.model, self.optimizer.optimizer, self.progress, self.config.to_json())
        checkpoint.prune(folder, self.config.keep)

    def _log(self, record: dict[str, Any], began: float) -> None:
        self.progress.metrics_lines += 1
        if ranks.rank():
            return
        full = self._metrics.append(record, began)
        if self._observe:
            self._observe(full)


def _check_inputs(
    samples: Sequence[Sample], config: TrainConfig, workflow: Workflow | None, oracle: Oracle | None
) -> None:
    if not samples:
        raise ConfigError("there are no samples to train on")
    # Every sample of a task has a gold answer; looking at them all would make them all.
    given = () if isinstance(samples, SampleSeries) else samples
    without_gold = [sample.id for sample in given if not sample.golds]
    if without_gold:
        raise ConfigError(
            f"{len(without_gold)} samples have no gold answer to verify by, {without_gold[0]} first: leave them out"
        )
    if config.warm_start.steps and oracle is None:
        raise ConfigError(
            "a warm start needs an oracle that gives ideal memories: pass one, or set warm_start.steps = 0"
        )
    if workflow is None and config.workflow not in _WORKFLOWS:
        raise ConfigError(f"no workflow {config.workflow!r}; there are: {', '.join(_WORKFLOWS)}")


def _split_updates(groups: Sequence[Group], updates: int) -> list[Sequence[Group]]:
    """Return the groups in `updates` parts of similar size: an update is a number of samples."""
    size = -(-len(groups) // updates)
    return [groups[i : i + size] for i in range(0, len(groups), size)] if groups else []
