"""A run that kills itself without warning after so many records: `killed_run.py FOLDER RECORDS [OPTION…]`.

    sharded    the ranks share the weights out among themselves
    grouped    SHARED in place of CONFIG: what rows have in common is read once, in four mini-batches a batch
    stale      the next batch is sampled while this one is trained on, and some of its rounds are refilled
    resume     from the newest checkpoint

One that lives to its end writes the bytes that each rank held, and a digest of its weights, into `memory-RANK.json`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from bookwheel.lab.tasks.memories import ideal_memories
from bookwheel.lab.training.config import LossSettings, RewardSettings, TrainConfig, WarmStart
from bookwheel.lab.training.loading import build_fresh_policy
from bookwheel.lab.training.rewards import RewardResult, build_reward
from bookwheel.lab.training.samples import toy_records, vocabulary
from bookwheel.lab.training.trainer import Trainer
from bookwheel.plan import Layout

CONFIG = TrainConfig.from_tables(
    {
        "train": {
            "steps": 5,
            "samples": 3,
            "group_size": 3,
            "updates": 2,
            "learning_rate": 1e-3,
            "warmup_steps": 1,
            "decay": 0.5,
            "checkpoint_every": 2,
            "fresh": {"hidden": 32, "layers": 1, "heads": 2, "window": 128},
            "loss": {"kl": 0.01},
            "warm_start": {"steps": 3, "until": 1.0, "every": 2, "samples": 2, "learning_rate": 1e-3},
            "evaluation": {"every": 2, "samples": 6},
        },
        "plan": {"prompts": "tiny", "language": "en", "chunk_tokens": 16, "memory_tokens": 8, "answer_tokens": 8},
    }
)

# Section first, so that the rollouts of a sample share; fast enough for bad tokens to become likely within a batch.
SHARED = replace(
    CONFIG,
    steps=8,
    samples=4,
    group_size=6,
    updates=4,
    learning_rate=0.01,
    decay=0.0,
    checkpoint_every=3,
    reward=RewardSettings(overlong=1.0, overlong_share=1.0),
    loss=LossSettings(kl=0.001, clip_high=0.3, dual_clip=1.5),
    warm_start=WarmStart(),
    evaluation=replace(CONFIG.evaluation, every=0),
    plan=replace(CONFIG.plan, layout=Layout.SECTION_FIRST),
)


def luck(episode, sample):
    """A reward with spread for a policy that knows nothing yet: how many letters the answer has."""
    score = len(episode.answer) % 7 / 7
    return RewardResult(score=score, answer=score)


def trainer(folder, *, config=CONFIG, **more):
    import torch

    torch.set_num_threads(1)
    words = [*vocabulary(), "none same notes section question answer"]
    return Trainer(
        build_fresh_policy(words, config.fresh, config.seed, share_prefixes=config.policy.share_prefixes),
        toy_records(tokens=48, count=10, seed=1),
        # A model that knows nothing earns by short replies, which it learns in a few steps.
        more.pop("reward", luck if config.reward == RewardSettings() else build_reward(config.reward)),
        config,
        folder=folder,
        held_out=toy_records(tokens=48, count=6, seed=2),
        oracle=ideal_memories,
        **more,
    )


def held_bytes(run):
    """Return what this rank holds of weights and optimizer state, in bytes."""

    def size(tensor):
        local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        return local.numel() * local.element_size()

    state = run.optimizer.optimizer.state.values()
    moments = sum(size(value) for one in state for value in one.values() if value.ndim)
    weights = run.policy.trainable
    digest = str(sum(float(weight.detach().double().abs().sum()) for weight in weights))
    return {"weights": sum(map(size, weights)), "moments": moments, "digest": digest}


if __name__ == "__main__":
    seen = []

    def die(record):
        seen.append(record)
        if len(seen) == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

    options = sys.argv[3:]
    config = SHARED if "grouped" in options else CONFIG
    config = replace(config, policy=replace(config.policy, sharded="sharded" in options))
    if "stale" in options:
        config = replace(config, steps=12, staleness=2, refills=1, warm_start=WarmStart())
    run = trainer(Path(sys.argv[1]), config=config, observe=die)
    run.train(resume="resume" in options)
    rank = os.environ.get("RANK", "0")
    (Path(sys.argv[1]) / f"memory-{rank}.json").write_text(json.dumps(held_bytes(run)), encoding="utf-8")
