"""The run: warm start, then rollouts -> rows -> step, with evaluation and checkpoints between.

    Trainer(policy, samples, verified(config.reward), config).train()

Everything random is a function of the run's seed and of names, so a run that was killed goes on from its newest
checkpoint and writes, on a CPU, the same metrics bit for bit. What belongs to the clock stands apart in each record.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import torch

from bookwheel.training import checkpoint, ranks, warmstart
from bookwheel.training.checkpoint import TrainingProgress
from bookwheel.training.errors import CheckpointError, ConfigError, NothingToLearn
from bookwheel.training.policy_model import ROLLOUT, PolicyModel
from bookwheel.training.rollouts import (
    Group,
    RolloutBatch,
    RolloutOutcome,
    RolloutSettings,
    collect_rollouts,
    measure,
    roll_group,
    rows_of_groups,
)
from bookwheel.training.step import Stepper, schedule
from bookwheel.training.workflows import Workflow, calculator, reading, single

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from bookwheel.plan import Sampling
    from bookwheel.tasks import Sample
    from bookwheel.training.config import TrainConfig
    from bookwheel.training.policy import Policy
    from bookwheel.training.rewards import Reward
    from bookwheel.training.rows import Row
    from bookwheel.training.warmstart import Oracle

_WORKFLOWS: Final = {"reading": reading, "single": single, "calculator": calculator}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """What a run came to; accuracies are of held-out samples, None where none were given."""

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
        model: Policy,
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
        keep: Callable[[int, RolloutBatch], None] | None = None,
        rows_of: Callable[[Sequence[Group]], list[Row]] | None = None,
    ) -> None:
        """`warm_samples` are imitated in place of `samples`; `rows_of` replaces the credit.

        `observe` is told every record, `keep` every reinforcement step's rollouts.
        """
        _check(samples, config, workflow, oracle)
        if config.warm_start.steps and config.warm_start.until and not held_out:
            raise ConfigError("warm_start.until is measured on held-out samples, and there are none")
        self.policy, self.samples, self.reward, self.config = model, samples, reward, config
        self.folder, self.held_out = folder, held_out[: config.evaluation.samples]
        self.workflow = workflow or _WORKFLOWS[config.workflow](config.plan)
        self.oracle, self.warm_samples = oracle, warm_samples or samples
        self.reader = PolicyModel(model, plan=config.plan, budget=config.policy.rollout_tokens)
        self.progress = TrainingProgress()
        self._observe, self._keep = observe, keep
        self.credit = rows_of or (lambda groups: rows_of_groups(groups, config.estimator))
        self._order: tuple[int, list[int]] = (-1, [])
        self._stepper: Stepper | None = None
        self._metrics = folder / "metrics.jsonl"

    @property
    def warm(self) -> bool:
        """Whether the warm start is still on."""
        return self.progress.warmed < 0

    @property
    def done(self) -> int:
        """Steps of reinforcement so far."""
        return 0 if self.warm else self.progress.step - self.progress.warmed

    def train(self, *, resume: bool = False) -> Trained:
        """Run to the end; with `resume`, from the newest checkpoint in the folder on."""
        ranks.join()
        self._begin(resume=resume)
        asyncio.run(self._run())
        ranks.leave()
        told = [json.loads(line) for line in self._metrics.read_text(encoding="utf-8").splitlines()]
        accuracies = [record["accuracy"] for record in told if record["kind"] == "evaluation"]
        return Trained(
            folder=self.folder,
            steps=self.progress.step,
            before=accuracies[0] if accuracies else None,
            after=accuracies[-1] if accuracies else None,
            best=max(accuracies, default=None),
        )

    async def _run(self) -> None:
        config, progress = self.config, self.progress
        while self.warm or self.done < config.steps:
            if self.warm and await self._is_warm():
                await self._turn()
                continue
            began = time.perf_counter()
            kind = "warm" if self.warm else "step"
            record = self._imitate() if self.warm else await self._reinforce()
            progress.step += 1
            self._log({"kind": kind, "step": progress.step, **record}, began)
            last, every = self.done == config.steps and not self.warm, config.evaluation.every
            if last or (every and self.done and self.done % every == 0):
                await self._evaluate()
            if last or progress.step % config.checkpoint_every == 0:
                self._save()

    async def _is_warm(self) -> bool:
        """Whether the warm start has done its work: all its steps, or the accuracy that was asked of it."""
        how, step = self.config.warm_start, self.progress.step
        if step >= how.steps:
            return True
        if not how.until or not step or step % how.every:
            return False
        return await self._evaluate("check") >= how.until

    async def _turn(self) -> None:
        """From imitation to reinforcement: measure, hold the policy still as reference, begin with a new optimizer."""
        self.progress.warmed = self.progress.step
        self._stepper = self._new_stepper()
        await self._evaluate()
        if self.config.loss.kl and (self.config.warm_start.steps or not self.config.policy.lora_rank):
            self.policy.freeze_reference()
            if ranks.rank() == 0:
                checkpoint.save_weights(self.folder / "reference.safetensors", self.policy.reference_model)
        self._save()

    def _imitate(self) -> dict[str, Any]:
        how = self.config.warm_start
        assert self.oracle is not None
        samples = warmstart.draw_rows(self.warm_samples, how.samples, self.config.seed, self.progress.step)
        rows = [row for one in samples for row in warmstart.ideal_rows(one, self.reader, self.config.plan, self.oracle)]
        return self.stepper.imitate(rows)

    async def _reinforce(self) -> dict[str, Any]:
        config = self.config
        how = self._rolling(ROLLOUT)

        def roll(drawn: tuple[int, Sample]) -> Coroutine[Any, Any, Group]:
            number, sample = drawn
            names = [f"{number}/{sample.id}/{k}" for k in range(config.group_size)]
            return roll_group(sample, names, how)

        found = await collect_rollouts(self._draw, groups=config.samples, refills=config.refills, roll=roll)
        if self._keep and ranks.rank() == 0:
            self._keep(self.done, found)
        record = _summary(found)
        parts = [rows for rows in (self.credit(groups) for groups in _cut(found.groups, config.updates)) if rows]
        if any(row.advantage for rows in parts for row in rows):
            self.progress.barren = 0
            return {**record, **await asyncio.to_thread(self.stepper.reinforce, parts)}
        self.progress.barren += 1
        self._despair(record)
        return {**record, "skipped": True}

    def _despair(self, record: Mapping[str, Any]) -> None:
        if self.progress.barren < self.config.patience:
            return
        advice = (
            "the samples are too hard for it: warm-start longer, make them shorter, or raise train.group_size"
            if record["reward"] < 0.5  # noqa: PLR2004
            else "it has learned them: take harder samples"
        )
        raise NothingToLearn(
            f"for {self.progress.barren} steps all rollouts of every sample earned the same "
            f"(mean reward {record['reward']:.2f}, {record['failed']} failed in the last step); {advice}"
        )

    async def _evaluate(self, kind: str = "evaluation") -> float:
        """The accuracy on held-out samples, always with the same luck; the best policy is kept, of equals the last."""
        if not self.held_out:
            return 0.0
        began = time.perf_counter()
        how = self.config.evaluation
        rolling = self._rolling(how.sampling)
        found = await measure(self.held_out, rolling)
        self._log({"kind": kind, "step": self.progress.step, **found}, began)
        accuracy = float(found["accuracy"])
        if kind == "evaluation" and accuracy >= self.progress.best:
            self.progress.best = accuracy
            self._save("best")
        return accuracy

    def _rolling(self, sampling: Sampling) -> RolloutSettings:
        return RolloutSettings(
            reader=self.reader,
            workflow=self.workflow,
            reward=self.reward,
            sampling=sampling,
            seed=self.config.seed,
        )

    def _draw(self) -> tuple[int, Sample]:
        """The next sample and its number in the run; every epoch has an order of its own."""
        epoch, place = divmod(self.progress.drawn, len(self.samples))
        if self._order[0] != epoch:
            order = list(range(len(self.samples)))
            Random(f"{self.config.seed}/epoch/{epoch}").shuffle(order)  # noqa: S311 - reproducible, no secrets
            self._order = (epoch, order)
        self.progress.drawn += 1
        return self.progress.drawn - 1, self.samples[self._order[1][place]]

    @property
    def stepper(self) -> Stepper:
        """The optimizer of the present phase."""
        if self._stepper is None:
            self._stepper = self._new_stepper()
        return self._stepper

    def _new_stepper(self) -> Stepper:
        config, warm = self.config, self.config.warm_start
        if self.warm:
            return Stepper(self.policy, config, schedule(warm.learning_rate, warm.warmup_steps))
        steps = config.steps * config.updates
        rate = schedule(config.learning_rate, config.warmup_steps, steps=steps, decay=config.decay)
        return Stepper(self.policy, config, rate)

    def _begin(self, *, resume: bool) -> None:
        if ranks.rank() and not resume:
            return
        place = checkpoint.newest(self.folder / "checkpoints")
        if not resume:
            if place or self._metrics.exists():
                raise CheckpointError(
                    f"{self.folder} holds a run already: go on with --resume, or choose another folder"
                )
            self.folder.mkdir(parents=True, exist_ok=True)
            self._metrics.touch()
            self._save()
            return
        if place is None:
            raise CheckpointError(f"{self.folder} holds no checkpoint to resume from")
        self.progress = checkpoint.load_progress(place)
        self._stepper = self._new_stepper()
        checkpoint.load(place, self.policy.model, self._stepper.optimizer, self.config.to_json())
        self._stepper.taken = self.progress.taken
        reference = self.folder / "reference.safetensors"
        if self.config.loss.kl and not self.warm and reference.exists():
            self.policy.freeze_reference()
            checkpoint.load_weights(reference, self.policy.reference_model)
        if ranks.rank():
            return
        lines = self._metrics.read_text(encoding="utf-8").splitlines(keepends=True)
        self._metrics.write_text("".join(lines[: self.progress.lines]), encoding="utf-8")

    def _save(self, name: str = "") -> None:
        folder = self.folder / "checkpoints"
        self.progress.taken = self.stepper.taken
        self.progress.threads = torch.get_num_threads()
        if ranks.rank():
            return
        place = folder / (name or f"step-{self.progress.step:06d}")
        checkpoint.save(place, self.policy.model, self.stepper.optimizer, self.progress, self.config.to_json())
        checkpoint.prune(folder, self.config.keep)

    def _log(self, record: dict[str, Any], began: float) -> None:
        self.progress.lines += 1
        if ranks.rank():
            return
        full = {**record, "clock": {"seconds": round(time.perf_counter() - began, 3), "at": round(time.time(), 1)}}
        with self._metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(full) + "\n")
        if self._observe:
            self._observe(full)


def _check(samples: Sequence[Sample], config: TrainConfig, workflow: Workflow | None, oracle: Oracle | None) -> None:
    if not samples:
        raise ConfigError("there are no samples to train on")
    unverified = [sample.id for sample in samples if not sample.golds]
    if unverified:
        raise ConfigError(
            f"{len(unverified)} samples have no gold answer to verify by, {unverified[0]} first: leave them out"
        )
    if config.warm_start.steps and oracle is None:
        raise ConfigError("a warm start needs an oracle that says what an ideal memory holds; set warm_start.steps = 0")
    if workflow is None and config.workflow not in _WORKFLOWS:
        raise ConfigError(f"no workflow {config.workflow!r}; there are: {', '.join(_WORKFLOWS)}")


def _cut(groups: Sequence[Group], updates: int) -> list[Sequence[Group]]:
    """The groups in so many parts of like size: an update is a number of samples."""
    size = -(-len(groups) // updates)
    return [groups[i : i + size] for i in range(0, len(groups), size)] if groups else []


def _summary(found: RolloutBatch) -> dict[str, Any]:
    """What the rollouts earned; those that failed count as nothing earned."""
    rollouts = found.rollouts
    episodes = [rollout.episode for rollout in rollouts if rollout.episode]
    told = [conversation for episode in episodes for conversation in episode.conversations]
    return {
        "reward": sum(rollout.earned.score for rollout in rollouts if rollout.earned) / len(rollouts),
        "accuracy": sum(rollout.earned.answer for rollout in rollouts if rollout.earned) / len(rollouts),
        "rollouts": len(rollouts),
        "failed": sum(rollout.outcome is not RolloutOutcome.SCORED for rollout in rollouts),
        "groups": len(found.groups),
        "dropped": len(found.dropped),
        "conversations": len(told),
        "prompt_tokens": sum(one.reply.usage.prompt_tokens for one in told),
        "reply_tokens": sum(one.reply.usage.completion_tokens for one in told),
    }
