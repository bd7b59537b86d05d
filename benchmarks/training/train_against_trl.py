"""Seconds of a step on a single-turn workload: ours and TRL's GRPOTrainer, turn about in one run on a CPU.

    pip install trl; python benchmarks/training/train_against_trl.py

The same fresh model, prompts of 64 words, replies of at most 32 tokens, 8 prompts x 8 replies a step, one optimizer
step a batch, no KL, float32. The reward is the length of the reply, so that both have something to learn.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import torch
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from bookwheel.lab.training.config import FreshSettings, TrainConfig
from bookwheel.lab.training.launch import build_policy
from bookwheel.lab.training.records import load_records
from bookwheel.lab.training.rewards import RewardResult
from bookwheel.lab.training.toys import toy_samples
from bookwheel.lab.training.trainer import Trainer
from bookwheel.plan import Plan

if TYPE_CHECKING:
    from bookwheel.lab.training.workflows import Episode

PROMPTS, REPLIES, LIMIT, RATE = 8, 8, 32, 1e-4


def settings() -> TrainConfig:
    """Return the workload in our terms."""
    tiny = TrainConfig.load("tiny-cpu")
    return replace(
        tiny,
        workflow="single",
        samples=PROMPTS,
        group_size=REPLIES,
        refills=0,
        learning_rate=RATE,
        warmup_steps=0,
        keep_rollouts=0,
        checkpoint_every=10**6,
        fresh=FreshSettings(hidden=256, layers=4, heads=4, window=256),
        warm_start=replace(tiny.warm_start, steps=0),
        plan=Plan(answer_tokens=LIMIT, language="en", prompts="tiny"),
    )


def length(episode: Episode, _: object) -> RewardResult:
    """Return our reward."""
    told = episode.conversations[-1].reply.tokens
    score = len(told.reply) / LIMIT if told else 0.0
    return RewardResult(score=score, answer=score)


def ours(steps: int) -> list[float]:
    """Seconds of each of our steps."""
    config = replace(settings(), steps=steps)
    samples = [replace(one, question=one.text) for one in toy_samples(tokens=64, count=256, seed=1)]
    with TemporaryDirectory() as folder:
        Trainer(build_policy(config), samples, length, config, folder=Path(folder) / "run").train()
        return [one["clock"]["seconds"] for one in load_records(Path(folder) / "run") if one["kind"] == "step"]


class Clock(TrainerCallback):  # type: ignore[misc]
    """Seconds of each of TRL's steps."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._began = 0.0

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Note the start of a step."""
        self._began = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Note the end of a step."""
        self.seconds.append(time.perf_counter() - self._began)


def theirs(steps: int) -> list[float]:
    """Seconds of each of TRL's steps."""
    policy, clock = build_policy(settings()), Clock()
    prompts = [[{"role": "user", "content": one.text}] for one in toy_samples(tokens=64, count=256, seed=1)]

    def reward(completion_ids: list[list[int]], **_: Any) -> list[float]:
        return [len(ids) / LIMIT for ids in completion_ids]

    with TemporaryDirectory() as folder:
        how = GRPOConfig(
            output_dir=folder,
            per_device_train_batch_size=PROMPTS * REPLIES,
            num_generations=REPLIES,
            max_completion_length=LIMIT,
            learning_rate=RATE,
            max_steps=steps,
            beta=0.0,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            save_strategy="no",
            report_to="none",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = GRPOTrainer(
            model=policy.model,
            reward_funcs=reward,
            args=how,
            train_dataset=Dataset.from_dict({"prompt": prompts}),
            processing_class=policy.tokenizer,
            callbacks=[clock],
        )
        trainer.train()
    return clock.seconds


def main() -> None:
    """Turn about; the first step of each turn warms up and is left out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    told: dict[str, list[float]] = {"ours": [], "trl": []}
    for _ in range(given.turns):
        told["ours"] += ours(given.steps)[1:]
        told["trl"] += theirs(given.steps)[1:]
    medians = {name: statistics.median(seconds) for name, seconds in told.items()}
    print(json.dumps({**medians, "ours_over_trl": medians["ours"] / medians["trl"], "steps": len(told["ours"])}))


if __name__ == "__main__":
    main()
