"""What batching gains in rollouts, and that memory does not grow with the number of chunks.

python benchmarks/training/train_speed.py rollouts            tokens a second, all together against one at a time
python benchmarks/training/train_speed.py memory --chunks 16  peak memory of one step, a run for each number of chunks
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from bookwheel.lab.training.config import ROLLOUT, FreshSettings, TrainConfig
from bookwheel.lab.training.launch import build_policy, build_samples, build_trainer
from bookwheel.lab.training.policy_model import PolicyModel
from bookwheel.lab.training.rewards import RewardResult, build_reward
from bookwheel.lab.training.rollouts import RolloutSettings, roll
from bookwheel.lab.training.workflows import Episode, reading

SHAPE = FreshSettings(hidden=256, layers=4, heads=4, window=256)


def rollouts(config: TrainConfig, count: int) -> dict[str, float]:
    """Tokens a second of the same rollouts, all in flight and one after the other."""
    policy = build_policy(config)
    how = RolloutSettings(
        model=PolicyModel(policy, plan=config.plan),
        workflow=reading(config.plan),
        reward=build_reward(config.reward),
        sampling=ROLLOUT,
        seed=config.seed,
    )
    samples = build_samples(config, policy, count)

    async def together() -> list[Episode | None]:
        told = await asyncio.gather(*(roll(one, one.id, how) for one in samples))
        return [one.episode for one in told]

    async def apart() -> list[Episode | None]:
        return [(await roll(one, one.id, how)).episode for one in samples]

    rates = {}
    for name, run in (("together", together), ("apart", apart)):
        began = time.perf_counter()
        episodes = asyncio.run(run())
        seconds = time.perf_counter() - began
        tokens = sum(told.reply.usage.tokens for one in episodes if one for told in one.conversations)
        rates[name] = tokens / seconds
    return {**rates, "times": rates["together"] / rates["apart"]}


def by_length(episode: Episode, _: object) -> RewardResult:
    """Return a reward with spread for a policy that knows nothing."""
    return RewardResult(score=float(len(episode.answer) % 2), answer=0.0)


def memory(config: TrainConfig, chunks: int) -> dict[str, float]:
    """Peak resident memory of two training steps in megabytes, and what stood before them; micro-batches are full."""
    task = replace(config.task, tokens=config.plan.chunk_tokens * chunks, count=16)
    config = replace(
        config,
        steps=2,
        samples=4,
        refills=0,
        keep_rollouts=0,
        task=task,
        policy=replace(config.policy, row_tokens=2048),
        warm_start=replace(config.warm_start, steps=0),
        evaluation=replace(config.evaluation, samples=1),
    )
    with TemporaryDirectory() as folder:
        trainer = build_trainer(config, Path(folder) / "run")
        trainer.reward = by_length
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        trainer.train()
        return {"chunks": chunks, "before": before, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> None:
    """One measurement as one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["rollouts", "memory"])
    parser.add_argument("--chunks", type=int, default=4)
    parser.add_argument("--count", type=int, default=32)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    config = replace(TrainConfig.load("tiny-cpu"), fresh=SHAPE)
    print(json.dumps(rollouts(config, given.count) if given.what == "rollouts" else memory(config, given.chunks)))


if __name__ == "__main__":
    main()
