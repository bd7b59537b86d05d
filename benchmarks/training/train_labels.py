"""What a reader learns without labels: reinforcement on the toy-records task from one warm start, by five rewards.

    python benchmarks/training/train_labels.py WARM --seed 0 --steps 100 --out runs/labels

WARM is the folder of a warm start, as `train_tiny.py --policies warm` makes it. Each reward starts from it:

    labels      the verifier's verdict on the answer
    recovered   what the last memory makes likelier of the text (no gold answer is looked at)
    dense       the same, with each step's change as credit of that step
    cloze       the verifier's verdict, on questions made from the samples' own text
    both        recovered and cloze
    random      a coin for each rollout

Held-out accuracy is of the task's own questions, always, and of the last policy: the best one is chosen by labels.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import torch
from train_tiny import measure

from bookwheel.lab.training.checkpoint import load_weights
from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.launch import build_trainer
from bookwheel.lab.training.objective import RewardSettings
from bookwheel.lab.training.records import load_records
from bookwheel.lab.training.rewards import RewardResult

if TYPE_CHECKING:
    from bookwheel.lab.tasks import Sample
    from bookwheel.lab.training.workflows import Episode

REWARDS: Final = {
    "labels": (RewardSettings(), 0.0),
    "recovered": (RewardSettings(answer=0.0, recovered=1.0), 0.0),
    "dense": (RewardSettings(answer=0.0, recovered=1.0, dense=0.5), 0.0),
    "cloze": (RewardSettings(), 1.0),
    "both": (RewardSettings(recovered=1.0), 1.0),
    "random": (RewardSettings(), 0.0),
}


class Coin:
    """A reward that knows nothing."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def __call__(self, episode: Episode, sample: Sample) -> RewardResult:
        """Return a coin's side, and the verdict for the curve."""
        answer = sample.score(episode.answer).score
        return RewardResult(score=float(self._random.random() < 0.5), answer=answer)


def main() -> None:
    """Train with each reward from one warm start, and measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("warm", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rewards", nargs="+", choices=tuple(REWARDS), default=tuple(REWARDS))
    given = parser.parse_args()
    torch.set_num_threads(1)
    config = replace(TrainConfig.load("tiny-cpu"), seed=given.seed, keep_rollouts=0, decay=0.0, checkpoint_every=1000)
    config = replace(config, steps=given.steps, evaluation=replace(config.evaluation, every=given.steps))
    for name in given.rewards:
        weights, clozes = REWARDS[name]
        changed = replace(config, reward=weights, task=replace(config.task, clozes=clozes))
        folder = given.out / f"{name}-{given.seed}"
        # What the policy was before its first step is the reference, which a run of another reward may lack.
        trainer = build_trainer(replace(changed, warm_start=replace(changed.warm_start, steps=0)), folder)
        shutil.rmtree(folder, ignore_errors=True)
        load_weights(given.warm / "checkpoints" / "best" / "weights.safetensors", trainer.policy.model)
        if name == "random":
            trainer.reward = Coin(given.seed)
        began = time.perf_counter()
        before = measure(trainer.policy, config, config.task.tokens, 512)
        trainer.train()
        after = measure(trainer.policy, config, config.task.tokens, 512)
        steps = [one for one in load_records(folder) if one["kind"] == "step"]
        told = {
            "reward": name,
            "seed": given.seed,
            "steps": given.steps,
            "before": before,
            "after": after,
            "recovered": [round(one["recovered"], 4) for one in steps if "recovered" in one],
            "accuracy": [round(one["accuracy"], 4) for one in steps],
            "seconds": round(time.perf_counter() - began),
        }
        print(json.dumps(told), flush=True)
        (given.out / f"result-{name}-{given.seed}.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main()
