"""A run that kills itself without warning after so many records: `python killed_run.py FOLDER RECORDS`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from bookwheel.tasks.memories import ideal_memories
from bookwheel.training.config import TrainConfig
from bookwheel.training.fresh import build_fresh_policy
from bookwheel.training.rewards import RewardResult
from bookwheel.training.toy_records import toy_records, vocabulary
from bookwheel.training.trainer import Trainer

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


def luck(episode, sample):
    """A reward with spread for a policy that knows nothing yet: how many letters the answer has."""
    score = len(episode.answer) % 7 / 7
    return RewardResult(score=score, answer=score)


def trainer(folder, **more):
    import torch

    torch.set_num_threads(1)
    words = [*vocabulary(), "none same notes section question answer"]
    return Trainer(
        build_fresh_policy(words, CONFIG.fresh, CONFIG.seed),
        toy_records(tokens=48, count=10, seed=1),
        more.pop("reward", luck),
        CONFIG,
        folder=folder,
        held_out=toy_records(tokens=48, count=6, seed=2),
        oracle=ideal_memories,
        **more,
    )


if __name__ == "__main__":
    seen = []

    def die(record):
        seen.append(record)
        if len(seen) == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

    trainer(Path(sys.argv[1]), observe=die).train()
