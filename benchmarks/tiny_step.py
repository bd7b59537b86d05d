"""Seconds of processor that one step of `tiny-cpu` takes, by layout and with and without sharing prefixes.

    OMP_NUM_THREADS=1 python benchmarks/tiny_step.py --steps 4
    OMP_NUM_THREADS=1 python benchmarks/tiny_step.py --steps 4 --warm 400

A new policy's replies are as long as the plan allows; after a warm start they are as long as in a run. No group is
dropped, so every step trains on 16 samples x 8 readings. The first step of each kind is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch

from bookwheel.plan import Layout
from bookwheel.training.config import ROLLOUT, TrainConfig
from bookwheel.training.launch import build_trainer
from bookwheel.training.policy_model import PolicyModel
from bookwheel.training.rollouts import RolloutSettings, roll_group, rows_of_groups

if TYPE_CHECKING:
    from bookwheel.training.rollouts import Group
    from bookwheel.training.trainer import Trainer


def start(config: TrainConfig, warm: int) -> Trainer:
    """Return a trainer after so many steps of warm start."""
    first = replace(
        config,
        steps=0,
        warm_start=replace(config.warm_start, steps=warm, until=0.0),
        evaluation=replace(config.evaluation, samples=1),
    )
    with TemporaryDirectory() as folder:
        trainer = build_trainer(first, Path(folder) / "run")
        if warm:
            trainer.train()
        trainer.progress.warm_steps = warm
    return trainer


def measure(config: TrainConfig, warm: int, steps: int) -> dict[str, float]:
    """Return the mean seconds of rollouts and of the update, and what they read."""
    trainer = start(config, warm)
    how = RolloutSettings(
        model=PolicyModel(trainer.policy, plan=config.plan, budget=config.policy.rollout_tokens),
        workflow=trainer.workflow,
        reward=trainer.reward,
        sampling=ROLLOUT,
        seed=config.seed,
    )

    async def roll(step: int) -> list[Group]:
        drawn = trainer.samples[step * config.samples : (step + 1) * config.samples]
        names = [[f"{step}/{sample.id}/{k}" for k in range(config.group_size)] for sample in drawn]
        return await asyncio.gather(
            *(roll_group(sample, group, how) for sample, group in zip(drawn, names, strict=True))
        )

    rollouts = update = 0.0
    figures: dict[str, float] = {}

    async def take_steps() -> None:
        nonlocal rollouts, update, figures
        for step in range(steps + 1):
            began = time.process_time()
            groups = await roll(step)
            rolled = time.process_time()
            figures = trainer.optimizer.reinforce([rows_of_groups(groups, config.estimator)])
            if step:
                rollouts, update = rollouts + rolled - began, update + time.process_time() - rolled

    asyncio.run(take_steps())
    return {
        "rollouts": rollouts / steps,
        "update": update / steps,
        "both": (rollouts + update) / steps,
        "tokens": figures["tokens"],
        "shared": figures["shared"],
    }


def main() -> None:
    """Print a line for each layout, with and without sharing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--warm", type=int, default=0, help="steps of warm start before")
    parser.add_argument("--layouts", nargs="+", type=Layout, default=list(Layout))
    parser.add_argument("--shares", nargs="+", choices=("no", "yes"), default=["no", "yes"])
    given = parser.parse_args()
    torch.set_num_threads(1)
    preset = TrainConfig.load("tiny-cpu")
    for layout in given.layouts:
        for shares in (word == "yes" for word in given.shares):
            config = replace(
                preset,
                plan=replace(preset.plan, layout=layout),
                policy=replace(preset.policy, share_prefixes=shares),
                keep_rollouts=0,
            )
            figures = {name: round(value, 3) for name, value in measure(config, given.warm, given.steps).items()}
            print(json.dumps({"layout": str(layout), "shares": shares, **figures}), flush=True)


if __name__ == "__main__":
    main()
