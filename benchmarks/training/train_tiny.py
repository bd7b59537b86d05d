"""What reinforcement learning adds to a warm start, on the toy-records task: one seed of `tiny-cpu`, three policies.

    python benchmarks/training/train_tiny.py --seed 0 --out runs/tiny --far 64
    python benchmarks/training/train_tiny.py --seed 0 --out runs/tiny --layout section-first --policies warm trained
    python benchmarks/training/train_tiny.py --seed 0 --out runs/next --layout question-section --policies warm trained
        --start runs/tiny/warm-0 --warm-steps 200 --until 0 --steps 300

    warm         the warm start alone
    trained      warm start, then reinforcement learning as the preset says
    miscredited  the same, but advantages are taken over every G consecutive conversations instead of over the G
                 rollouts of a sample: the mistake of reshaping conversation rewards to (-1, G)

Each is measured on held-out samples of 1, 10 and 100 times the training length. `seconds` are the run's by the clock,
warm start included; `processor` those of the processor, for `trained` and `miscredited` without the warm start.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch

from bookwheel.lab.evaluation.statistics import wilson_interval
from bookwheel.lab.training import checkpoint
from bookwheel.lab.training.advantages import Estimator
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.launch import build_policy, build_samples, build_trainer
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.records import load_records, plot_curves
from bookwheel.lab.training.rewards import build_reward
from bookwheel.lab.training.rollouts import RolloutSettings, rows_of_groups
from bookwheel.lab.training.rollouts import measure as measure_accuracy
from bookwheel.lab.training.workflows import reading
from bookwheel.plan import Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.training.policy import Policy
    from bookwheel.lab.training.rollouts import Group
    from bookwheel.lab.training.rows import Row

POLICIES: Final = ("warm", "trained", "miscredited")


def miscredited(groups: Sequence[Group], size: int) -> list[Row]:
    """Rows whose advantage is against the mean of a block of consecutive conversations."""
    scores = {rollout.id: rollout.result.score for group in groups for rollout in group.scored}
    rows = rows_of_groups(groups, Estimator.MEAN)
    rows_with_blocks = []
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        mean = sum(scores[row.rollout] for row in block) / len(block)
        rows_with_blocks += [replace(row, advantage=scores[row.rollout] - mean) for row in block]
    return rows_with_blocks


def warm_up(config: TrainConfig, folder: Path, start: Path | None = None) -> None:
    """Make the warm start in a folder, or go on with one that was killed; one that is done stays as it is.

    A new one begins with the best weights of the run in `start`.
    """
    if not (folder / "done").exists():
        trainer = build_trainer(replace(config, steps=0), folder)
        if start:
            load_best(trainer.policy, start)
        trainer.train(resume=(folder / "checkpoints").exists())
        (folder / "done").touch()


def load_best(policy: Policy, folder: Path) -> None:
    """Give a policy the weights that were best in a run."""
    checkpoint.load_weights(folder / "checkpoints" / "best" / "weights.safetensors", policy.model)


def measure(policy: Policy, config: TrainConfig, tokens: int, count: int, data: Path | None = None) -> dict[str, float]:
    """Accuracy on samples of so many tokens that neither trained the policy nor chose its best checkpoint."""
    fresh = replace(config, task=replace(config.task, seed=config.task.seed + 1))
    samples = build_samples(fresh, policy, count, tokens=tokens, data=data, held_out=True)
    how = RolloutSettings(
        model=PolicyModel(policy, plan=config.plan, budget=config.policy.rollout_tokens),
        workflow=reading(config.plan),
        reward=build_reward(config.reward),
        sampling=config.evaluation.sampling,
        seed=config.seed,
    )
    began = time.perf_counter()
    scores = asyncio.run(measure_accuracy(samples, how))
    seconds = round(time.perf_counter() - began, 2)
    found = wilson_interval(scores["accuracy"] * scores["n"], int(scores["n"]))
    right = {"accuracy": found.mean, "low": found.low, "high": found.high}
    return {"tokens": tokens, "n": found.n, **right, "seconds": seconds}


def main() -> None:
    """Warm start once, then the two ways of credit from it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--far", type=int, default=128, help="samples at 100 times the length")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--layout", type=Layout, help="instead of the preset's")
    parser.add_argument("--count", type=int, help="samples, instead of the preset's")
    parser.add_argument("--warm-steps", type=int, help="of the warm start at most, instead of the preset's")
    parser.add_argument("--until", type=float, help="accuracy that ends the warm start, instead of the preset's")
    parser.add_argument("--steps", type=int, help="of reinforcement learning, instead of the preset's")
    parser.add_argument("--start", type=Path, help="a run whose best weights the warm start begins with, not new ones")
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=POLICIES, help="warm is always made")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    config = replace(TrainConfig.load("tiny-cpu"), seed=given.seed, keep_rollouts=0)
    config = replace(config, plan=replace(config.plan, layout=given.layout or config.plan.layout))
    config = replace(config, task=replace(config.task, count=given.count or config.task.count))
    until = config.warm_start.until if given.until is None else given.until
    warm_start = replace(config.warm_start, steps=given.warm_steps or config.warm_start.steps, until=until)
    config = replace(config, warm_start=warm_start, steps=given.steps or config.steps)
    chunks = config.task.tokens // config.plan.chunk_tokens
    began, folders, told = time.perf_counter(), {}, {}
    for name in (name for name in POLICIES if name in {"warm", *given.policies}):
        folders[name] = folder = given.out / f"{name}-{given.seed}"
        processor = time.process_time()
        if name == "warm":
            warm_up(config, folder, given.start)
            policy = build_policy(config)
        else:
            # A run that was killed goes on from its last checkpoint.
            if not (folder / "checkpoints").exists():
                shutil.copytree(folders["warm"], folder)
            mistaken = partial(miscredited, size=config.group_size)
            trainer = build_trainer(config, folder, rows_of=mistaken if name == "miscredited" else None)
            trainer.train(resume=True)
            policy = trainer.policy
        processor = time.process_time() - processor
        seconds = sum(one["clock"]["seconds"] for one in load_records(folder))
        load_best(policy, folder)
        lengths = [
            {"chunks": chunks * times, **measure(policy, config, config.task.tokens * times, count)}
            for times, count in ((1, 256), (10, 256), (100, given.far))
        ]
        told[name] = {"seconds": round(seconds), "processor": round(processor), "lengths": lengths}
        print(name, json.dumps(told[name]), flush=True)
    plot_curves(
        {name: load_records(folder) for name, folder in folders.items()}, given.out / f"curves-{given.seed}.svg"
    )
    whole = {
        "seed": given.seed,
        "layout": config.plan.layout,
        "seconds": round(time.perf_counter() - began),
        "policies": told,
    }
    (given.out / f"result-{given.seed}.json").write_text(json.dumps(whole, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
