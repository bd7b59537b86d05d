"""Credit over samples against credit over conversations, where samples have 2 to 12 chunks in one batch.

    python benchmarks/training/train_mixed_lengths.py --seed 0 --steps 150 --out runs/mixed

    warm           the preset's warm start, on samples of 4 chunks; its policy is saved for train_on_verl.py
    samples        then reinforcement learning; a rollout is compared with the others of its sample
    conversations  the same, but compared with a block of G consecutive conversations. With one length per batch a
                   block is all of one sample; here it mixes rollouts of samples of different lengths

Each is measured on held-out samples of every length. Three seeds of a hundred steps take hours of one core.

    python benchmarks/training/train_mixed_lengths.py --short --seed 0 --steps 20 --out runs/short

No warm start: a new policy earns by short replies, which it learns in minutes. Each batch has samples of many lengths.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import torch
from train_tiny import measure, miscredited

from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.training import checkpoint
from bookwheel.lab.training.advantages import Estimator
from bookwheel.lab.training.config import FreshSettings, TrainConfig, WarmStart
from bookwheel.lab.training.launch import build_policy
from bookwheel.lab.training.objective import RewardSettings
from bookwheel.lab.training.records import load_records
from bookwheel.lab.training.rewards import build_reward
from bookwheel.lab.training.rollouts import rows_of_groups
from bookwheel.lab.training.toys import toy_samples
from bookwheel.lab.training.trainer import Trainer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bookwheel.lab.tasks import Sample

CHUNKS = range(2, 13)
WARM_CHUNKS = (4,)


def mixed_samples(config: TrainConfig, lengths: Sequence[int], count: int, seed: int) -> list[Sample]:
    """Return samples of these numbers of chunks, in turn."""
    each = -(-count // len(lengths))
    columns = [toy_samples(tokens=chunks * config.plan.chunk_tokens, count=each, seed=seed) for chunks in lengths]
    return [sample for row in zip(*columns, strict=True) for sample in row][:count]


def run(name: str, config: TrainConfig, folder: Path, warm: Path | None) -> Trainer:
    """Train one policy, from the end of the warm start where there was one."""
    if warm:
        shutil.copytree(warm, folder)
    lengths = WARM_CHUNKS if name == "warm" else CHUNKS
    credit = {
        "conversations": partial(miscredited, size=config.group_size),
        "samples": partial(rows_of_groups, estimator=Estimator.MEAN),
    }
    trainer = Trainer(
        build_policy(config),
        mixed_samples(config, lengths, config.task.count, config.task.seed),
        build_reward(config.reward),
        config,
        folder=folder,
        held_out=mixed_samples(config, lengths, config.evaluation.samples, config.task.seed + 1),
        oracle=ideal_memories,
        rows_of=credit.get(name),
    )
    trainer.train(resume=warm is not None)
    checkpoint.load_weights(folder / "checkpoints" / "best" / "weights.safetensors", trainer.policy.model)
    return trainer


def compare_short(preset: TrainConfig, seed: int, steps: int, out: Path) -> None:
    """Train a new policy with each way of credit, and print the mean rewards of every fifth of its steps."""
    config = replace(
        preset,
        seed=seed,
        steps=steps,
        samples=len(CHUNKS),
        refills=0,
        learning_rate=3e-3,
        warmup_steps=0,
        decay=0.0,
        keep_rollouts=0,
        checkpoint_every=steps,
        task=replace(preset.task, count=len(CHUNKS) * steps, seed=seed),
        fresh=FreshSettings(hidden=32, layers=1, heads=2, window=128),
        reward=RewardSettings(overlong=1.0, overlong_share=1.0),
        warm_start=WarmStart(),
        evaluation=replace(preset.evaluation, every=0, samples=len(CHUNKS)),
    )
    for name in ("samples", "conversations"):
        run(name, config, out / f"{name}-{seed}", None)
        records = load_records(out / f"{name}-{seed}")
        rewards = [record["reward"] for record in records if record["kind"] == "step"]
        fifths = [round(fmean(rewards[i : i + steps // 5]), 3) for i in range(0, steps, steps // 5)]
        print(json.dumps({"credit": name, "seed": seed, "rewards": fifths}), flush=True)


def main() -> None:
    """Warm start once, then the two ways of credit from it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--held-out", type=int, default=256, help="samples of each length")
    parser.add_argument("--short", action="store_true", help="a new policy that earns by short replies")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.short:
        compare_short(TrainConfig.load("tiny-cpu"), given.seed, given.steps, given.out)
        return
    # Groups without spread stay: which of them a refill drops would differ between the two.
    config = replace(TrainConfig.load("tiny-cpu"), seed=given.seed, steps=given.steps, keep_rollouts=0, refills=0)
    config = replace(config, patience=max(1, given.steps))
    told = {}
    warm = given.out / f"warm-{given.seed}"
    for name in ("warm", "samples", "conversations"):
        settings = replace(config, steps=0) if name == "warm" else config
        folder = warm if name == "warm" else given.out / f"{name}-{given.seed}"
        trainer = run(name, settings, folder, None if name == "warm" else warm)
        if name == "warm":
            trainer.policy.save(given.out / f"policy-{given.seed}")
        told[name] = [
            {"chunks": chunks, **measure(trainer.policy, config, chunks * config.plan.chunk_tokens, given.held_out)}
            for chunks in CHUNKS
        ]
        print(name, json.dumps(told[name]), flush=True)
    (given.out / f"result-{given.seed}.json").write_text(json.dumps(told, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
