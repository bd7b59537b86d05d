"""Seconds of processor that one step of `tiny-cpu` takes, by layout and with and without sharing prefixes.

    OMP_NUM_THREADS=1 python benchmarks/tiny_step.py --steps 4 --runs runs/tiny-step

Steps are those of a run after its warm start: groups whose rewards are equal are replaced. The first step of each kind
is not counted. Warm starts stay in `--runs`, so that two versions of the code can begin with the same weights.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch

from bookwheel.lab.training import checkpoint
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.launch import build_trainer
from bookwheel.lab.training.rollouts import rows_of_groups
from bookwheel.plan import Layout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bookwheel.lab.training.rollouts import Group
    from bookwheel.lab.training.rows import Row

FIGURES = ("rollouts", "conversations", "groups", "tokens", "shared")


def make_start(config: TrainConfig, warm: int, runs: Path) -> Path:
    """Return the weights after so many steps of warm start."""
    folder = runs / f"{config.plan.layout}-{warm}"
    weights = folder / "checkpoints" / "best" / "weights.safetensors"
    if not weights.exists():
        first = replace(config, steps=0, warm_start=replace(config.warm_start, steps=warm, until=0.0))
        build_trainer(first, folder).train()
    return weights


def measure(config: TrainConfig, weights: Path) -> dict[str, float]:
    """Return the mean seconds of rollouts and of the update, and what they read."""
    rolled: list[float] = []
    done: list[float] = []
    steps: list[Mapping[str, Any]] = []

    def observe(record: Mapping[str, Any]) -> None:
        done.append(time.process_time())
        if record["kind"] == "step":
            steps.append(record)

    def rows_of(groups: Sequence[Group]) -> list[Row]:
        rolled.append(time.process_time())
        return rows_of_groups(groups, config.estimator)

    with TemporaryDirectory() as folder:
        trainer = build_trainer(config, Path(folder) / "run", observe=observe, rows_of=rows_of)
        checkpoint.load_weights(weights, trainer.policy.model)
        trainer.train()
    # The first record is the evaluation before the steps.
    seconds = {
        "seconds_of_rollouts": [end - begin for begin, end in zip(done, rolled, strict=False)],
        "seconds_of_update": [end - begin for begin, end in zip(rolled, done[1:], strict=False)],
    }
    means = {name: sum(values[1:]) / len(values[1:]) for name, values in seconds.items()}
    means["seconds"] = sum(means.values())
    return means | {name: sum(step[name] for step in steps[1:]) / len(steps[1:]) for name in FIGURES}


def main() -> None:
    """Print a line for each layout, with and without sharing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--warm", type=int, default=800, help="steps of warm start before")
    parser.add_argument("--runs", type=Path, default=Path("runs/tiny-step"), help="where warm starts stay")
    parser.add_argument("--layouts", nargs="+", type=Layout, default=list(Layout))
    parser.add_argument("--shares", nargs="+", choices=("no", "yes"), default=["no", "yes"])
    given = parser.parse_args()
    torch.set_num_threads(1)
    preset = TrainConfig.load("tiny-cpu")
    once = replace(preset, keep_rollouts=0, evaluation=replace(preset.evaluation, every=0, samples=1))
    for layout in given.layouts:
        begun = replace(once, plan=replace(once.plan, layout=layout))
        weights = make_start(begun, given.warm, given.runs)
        for shares in given.shares:
            config = replace(
                begun,
                steps=given.steps + 1,
                warm_start=replace(begun.warm_start, steps=0),
                policy=replace(begun.policy, share_prefixes=shares == "yes"),
            )
            figures = {name: round(value, 3) for name, value in measure(config, weights).items()}
            print(json.dumps({"layout": str(layout), "shares": shares, **figures}), flush=True)


if __name__ == "__main__":
    main()
