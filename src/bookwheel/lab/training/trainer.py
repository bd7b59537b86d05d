"""The run: warm start, then rollouts -> rows -> step, with evaluation and checkpoints between.

    Trainer(policy, samples, build_reward(config.reward), config).train()

Everything random is a function of the run's seed and of names. So a killed run continues from its newest checkpoint
and writes, on a CPU, the same metrics bit for bit.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from bookwheel.lab.tasks import Sample
from bookwheel.lab.training import ranks
from bookwheel.lab.training.checkpoint import TrainingFolder, TrainingProgress, load_progress
from bookwheel.lab.training.config import ROLLOUT, TrainConfig
from bookwheel.lab.training.errors import NoGoodRollout, NothingToLearn
from bookwheel.lab.training.likelihood import LikelihoodCredit, pose_own_words
from bookwheel.lab.training.loading import choose_device, choose_dtype
from bookwheel.lab.training.policy import Policy
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.records import held_out_scores, load_records
from bookwheel.lab.training.rewards import Reward
from bookwheel.lab.training.rollouts import (
    BatchPipeline,
    Group,
    RolloutBatch,
    RolloutSettings,
    collect_rollouts,
    measure,
    roll_group,
    rows_of_groups,
    split_updates,
)
from bookwheel.lab.training.rows import Row
from bookwheel.lab.training.samples import SampleOrder, check_inputs
from bookwheel.lab.training.servers import RolloutServer, WeightSync
from bookwheel.lab.training.speed import SpeedMeter
from bookwheel.lab.training.step import PolicyOptimizer, schedule
from bookwheel.lab.training.teacher import Teacher, TraceFile
from bookwheel.lab.training.warmstart import LessonFile, Oracle, build_lesson, build_rows, draw_samples, ideal_rows
from bookwheel.lab.training.workflows import Workflow, build_workflow
from bookwheel.plan import Sampling

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingResult:
    """The end of a run; accuracies are of held-out samples, None where there are none."""

    folder: Path
    steps: int
    before: float | None
    """After the warm start, before the first rollout."""
    after: float | None
    best: float | None

    @classmethod
    def of(cls, folder: Path) -> TrainingResult:
        """Return the end of the run in a folder, from its records."""
        records = load_records(folder)
        accuracies = [one.accuracy for one in held_out_scores(records) if not one.warm]
        return cls(
            folder=folder,
            steps=max((int(one["step"]) for one in records), default=0),
            before=accuracies[0] if accuracies else None,
            after=accuracies[-1] if accuracies else None,
            best=max(accuracies, default=None),
        )


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
        stages: Sequence[tuple[int, Sequence[Sample]]] = (),
        server: RolloutServer | None = None,
        observe: Callable[[Mapping[str, Any]], None] | None = None,
        store: Callable[[int, RolloutBatch], None] | None = None,
        rows_of: Callable[[Sequence[Group]], list[Row]] | None = None,
    ) -> None:
        """Take what a run needs. `rows_of` replaces the advantages of `config.estimator`.

        The warm start imitates `warm_samples`, or else `samples`. `stages` are drawn before `samples`. A `server`
        samples the rollouts. `observe` gets every record, and `store` the rollouts of every reinforcement step.
        """
        check_inputs(samples, held_out, config, oracle)
        self.policy, self.samples, self.reward, self.config = policy, samples, reward, config
        self.folder, self.held_out = folder, held_out[: config.evaluation.samples]
        self.workflow = workflow or build_workflow(config)
        self.oracle, self.warm_samples = oracle, warm_samples or samples
        self.model = PolicyModel(policy, plan=config.plan, budget=config.policy.rollout_tokens, sampler=server)
        self.progress = TrainingProgress()
        self._observe, self._store = observe, store
        self._rows_of = rows_of or partial(rows_of_groups, estimator=config.estimator, reward=config.reward)
        lessons = config.warm_start.lessons
        self._lessons = LessonFile(Path(lessons), config.seed) if lessons else None
        traces = config.warm_start.traces
        given = self.model, config.plan, config.seed
        self._traces = TraceFile(Path(traces), *given, held_out=self.held_out) if traces else None
        self._likelihood = LikelihoodCredit(self.model, samples, config) if config.uses_likelihood else None
        self._teacher = Teacher(config.teacher) if config.teacher.model else None
        self._meter = SpeedMeter(policy, config)
        self._order = SampleOrder(samples, config.seed, shuffle=config.task.shuffle, stages=stages)
        self._optimizer: PolicyOptimizer | None = None
        self._files = TrainingFolder(folder, config)
        self._sync = WeightSync(policy, server, folder, config)
        self._batches = BatchPipeline(
            self._collect, staleness=config.staleness, cursor=lambda: self.progress.samples_drawn
        )

    @property
    def is_warming_up(self) -> bool:
        return self.progress.warm_steps < 0

    @property
    def steps_done(self) -> int:
        return 0 if self.is_warming_up else self.progress.step - self.progress.warm_steps

    def train(self, *, resume: bool = False) -> TrainingResult:
        """Run to the end; with `resume`, from the newest checkpoint in the folder."""
        settings = self.config.policy
        ranks.join(alone=settings.sharded)
        if settings.sharded:
            self.policy.shard(choose_device(settings), choose_dtype(settings))
        self._begin(resume=resume)
        asyncio.run(self._run())
        ranks.leave()
        return TrainingResult.of(self.folder)

    async def _run(self) -> None:
        config, progress = self.config, self.progress
        try:
            while self.is_warming_up or self.steps_done < config.steps:
                if self.is_warming_up and await self._is_warm_start_done():
                    await self._start_reinforcement()
                    continue
                began = time.perf_counter()
                kind = "warm" if self.is_warming_up else "step"
                record = self._imitate() if self.is_warming_up else await self._reinforce()
                self._sync.is_changed = True
                progress.step += 1
                self._log({"kind": kind, "step": progress.step, **record}, began)
                is_last, every = self.steps_done == config.steps and not self.is_warming_up, config.evaluation.every
                if is_last or (every and self.steps_done and self.steps_done % every == 0):
                    await self._evaluate()
                if is_last or progress.step % config.checkpoint_every == 0:
                    self._save()
        finally:
            await self._batches.cancel()
            await self._sync.aclose()
            if self._teacher:
                await self._teacher.aclose()

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
        if self._optimizer:
            self._optimizer.optimizer.close()
        self._optimizer = self._build_optimizer()
        await self._evaluate()
        # Adapters that the warm start left untouched can be switched off instead of copied.
        if self.config.needs_reference and (self.config.warm_start.steps or not self.config.policy.lora_rank):
            self.policy.freeze_reference()
            self._files.save_reference(self.policy)
        self._save()

    def _imitate(self) -> dict[str, Any]:
        config = self.config
        count, step = config.warm_start.samples, self.progress.step
        if self._lessons:
            groups = [(f"lessons-{at}", group) for at, group in enumerate(self._lessons.draw(count, step))]
            return self.optimizer.learn([build_rows(one, self.model, config.plan, name) for name, one in groups])
        if self._traces:
            return self.optimizer.imitate(self._traces.draw(count, step))
        samples = draw_samples(self.warm_samples, count, config.seed, step)
        if config.warm_start.clozes:
            samples = [pose_own_words(one, config.plan, f"{config.seed}/warm/{step}") for one in samples]
        if config.way == "quotes":
            posed = [(one.id, build_lesson(one, self.model.tokenizer, config.plan)) for one in samples]
            return self.optimizer.learn([build_rows([one], self.model, config.plan, name) for name, one in posed])
        assert self.oracle is not None
        rows = [row for one in samples for row in ideal_rows(one, self.model, config.plan, self.oracle)]
        return self.optimizer.imitate(rows)

    async def _reinforce(self) -> dict[str, Any]:
        config = self.config
        # Rollouts that are under way go on with the weights they had, or take the new ones at their next reply.
        with self._meter.phase("weights"):
            await self._sync.refresh()
        with self._meter.phase("rollouts"):
            batch, age = await self._batches.next_batch(self.steps_done, config.steps)
        if self._store and ranks.rank() == 0:
            with self._meter.phase("store"):
                self._store(self.steps_done, batch)
        record = batch.metrics() | ({"staleness": age} if config.staleness else {})
        self._stop_if_all_fail(record, batch)
        updates = map(self._rows_of, split_updates(batch.groups, config.updates))
        parts = [rows for rows in updates if rows]
        if any(any(row.weights) for rows in parts for row in rows):
            self.progress.steps_without_signal = 0
            with self._meter.phase("training"):
                return {**record, **await asyncio.to_thread(self.optimizer.reinforce, parts)}
        self.progress.steps_without_signal += 1
        if self.progress.steps_without_signal >= config.patience:
            raise NothingToLearn(
                f"for {self.progress.steps_without_signal} steps all rollouts of every sample had the same reward "
                f"(mean {record['reward']:.2f}, {record['failed']} failed in the last step); {batch.advice()}"
            )
        return {**record, "skipped": True}

    def _stop_if_all_fail(self, record: Mapping[str, Any], batch: RolloutBatch) -> None:
        progress, config = self.progress, self.config
        progress.failed_steps = progress.failed_steps + 1 if record["failed"] == record["rollouts"] else 0
        # A run that is shorter must not end as if it had trained.
        if progress.failed_steps >= min(config.failed_steps, config.steps):
            raise NoGoodRollout(
                f"{batch.advice()}, and none was good for {progress.failed_steps} steps (train.failed_steps). Nothing "
                f"was trained on them: mend the cause, and go on with --resume from the last checkpoint"
            )

    async def _collect(self, earlier: asyncio.Task[RolloutBatch] | None) -> RolloutBatch:
        config = self.config
        judges = [one for one in (self._likelihood, self._teacher) if one]
        settings = replace(self._rollout_settings(ROLLOUT), credits=judges)
        # A teacher teaches by groups of equal rewards too.
        refills = 0 if self._teacher else config.refills

        def draw() -> int:
            self.progress.samples_drawn += 1
            return self.progress.samples_drawn - 1

        async def prepare(number: int) -> tuple[int, Sample]:
            sample = self._order.pick(number)
            return number, await self._likelihood.pose(sample, number) if self._likelihood else sample

        def roll(ready: tuple[int, Sample]) -> Coroutine[Any, Any, Group]:
            number, sample = ready
            return roll_group(sample, [f"{number}/{sample.id}/{k}" for k in range(config.group_size)], settings)

        with self._sync.sampling():
            return await collect_rollouts(
                draw, groups=config.samples, refills=refills, prepare=prepare, roll=roll, earlier=earlier
            )

    async def _evaluate(self, kind: str = "evaluation") -> float:
        """Measure and log the accuracy on held-out samples, always with the same draws; save the best policy."""
        if not self.held_out:
            return 0.0
        began = time.perf_counter()
        await self._sync.refresh()
        with self._sync.sampling():
            scores = await measure(
                self.held_out, self._rollout_settings(self.config.evaluation.sampling), self.config.evaluation.repeats
            )
        self._log({"kind": kind, "step": self.progress.step, **scores}, began)
        accuracy = float(scores["accuracy"])
        # Of equally good policies the last is kept: it has seen more.
        if kind == "evaluation" and accuracy >= self.progress.best:
            self.progress.best = accuracy
            self._save("best")
        return accuracy

    def _rollout_settings(self, sampling: Sampling) -> RolloutSettings:
        seed = self.config.seed
        return RolloutSettings(
            model=self.model, workflow=self.workflow, reward=self.reward, sampling=sampling, seed=seed
        )

    @property
    def optimizer(self) -> PolicyOptimizer:
        if self._optimizer is None:
            self._optimizer = self._build_optimizer()
        return self._optimizer

    def _build_optimizer(self) -> PolicyOptimizer:
        config, warm = self.config, self.config.warm_start
        if self.is_warming_up:
            rate = schedule(warm.learning_rate, warm.warmup_steps, steps=warm.steps, decay=warm.decay)
            return PolicyOptimizer(self.policy, config, rate)
        # The settings count batches; the optimizer takes a step for each of a batch's mini-batches.
        warmup, steps = config.warmup_steps * config.updates, config.steps * config.updates
        rate = schedule(config.learning_rate, warmup, steps=steps, decay=config.decay)
        return PolicyOptimizer(self.policy, config, rate)

    def _begin(self, *, resume: bool) -> None:
        if not resume:
            self._files.begin()
            self._save()
            return
        place = self._files.find_checkpoint()
        self.progress = load_progress(place)
        self._optimizer = self._build_optimizer()
        self._files.load(place, self.policy, self._optimizer, self.progress)
        if not self.is_warming_up and self.steps_done >= self.config.steps:
            _log.warning("all %d steps of this run are done; a larger train.steps goes on", self.config.steps)

    def _save(self, name: str = "") -> None:
        # Batches under way are lost with the process: a resumed run draws their samples again.
        progress = replace(self.progress, samples_drawn=self._batches.resume_cursor())
        self._files.save(name or f"step-{progress.step:06d}", self.policy, self.optimizer, progress)

    def _log(self, record: dict[str, Any], began: float) -> None:
        self.progress.metrics_lines += 1
        if ranks.rank():
            return
        figures = self._meter.sum_up(record, time.perf_counter() - began)
        full = self._files.metrics.append(record, began, figures)
        if self._observe:
            self._observe(full)
