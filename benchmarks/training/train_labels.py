"""What a reader learns without labels: reinforcement on a toy task from one warm start, by six rewards.

    python benchmarks/training/train_labels.py --task toy-records --seed 0 --steps 60 --out runs/labels
    python benchmarks/training/train_labels.py --task toy-bridge --warm clozes --seed 0 --out runs/own-words
    python benchmarks/training/train_labels.py --labelled 0.01 --rewards labels recovered --seed 0 --out runs/few

The warm start imitates ideal memories, made by where the evidence stands; or, with `--warm clozes`, those of clozes
that are made of the samples' own text, which use no label. Each reward starts from it:

    labels      the verifier's verdict on the answer
    recovered   what the last memory makes likelier of the text (no gold answer is looked at)
    dense       the same, with each step's change as credit of that step
    cloze       the verifier's verdict, on questions made from the samples' own text
    both        recovered and cloze
    random      a coin for each rollout

With `--labelled` only that share of the samples has a gold answer. `labels` then trains on those alone, `recovered` on
all of them, by the verdict too where there is one.

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
from train_tiny import load_best, measure, warm_up

from bookwheel.lab.training.config import TrainConfig
from bookwheel.lab.training.launch import build_policy, build_sample_sets
from bookwheel.lab.training.objective import RewardSettings
from bookwheel.lab.training.records import load_records
from bookwheel.lab.training.rewards import RewardResult, build_reward
from bookwheel.lab.training.toys import TOYS
from bookwheel.lab.training.trainer import Trainer

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


def open_trainer(config: TrainConfig, reward: str, share: float, folder: Path) -> Trainer:
    """Return a trainer by samples of which a share has a gold answer; `labels` has nothing to learn of the others."""
    policy = build_policy(config)
    samples, held_out = build_sample_sets(config, policy)
    labelled = round(share * len(samples))
    bare = [] if reward == "labels" else [replace(sample, golds=()) for sample in samples[labelled:]]
    judge = Coin(config.seed) if reward == "random" else build_reward(config.reward)
    return Trainer(policy, [*samples[:labelled], *bare], judge, config, folder=folder, held_out=held_out)


def measure_lengths(trainer: Trainer, config: TrainConfig, far: int) -> list[dict[str, float]]:
    """Return the accuracy at 1, 10 and, where `far` samples are asked for, 100 times the length of training."""
    counts = {1: 512, 10: 256, **({100: far} if far else {})}
    return [measure(trainer.policy, config, config.task.tokens * times, count) for times, count in counts.items()]


def main() -> None:
    """Train with each reward from one warm start, and measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", choices=tuple(TOYS), default="toy-records")
    parser.add_argument("--warm", choices=("evidence", "clozes"), default="evidence")
    parser.add_argument("--warm-steps", type=int, help="at most, instead of the preset's")
    parser.add_argument("--warm-tokens", type=int, default=0, help="of the warm start's samples, if not the preset's")
    parser.add_argument("--labelled", type=float, default=1.0, help="the share of samples with a gold answer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--far", type=int, default=0, help="samples at 100 times the length")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rewards", nargs="*", choices=tuple(REWARDS), default=tuple(REWARDS))
    given = parser.parse_args()
    torch.set_num_threads(1)
    config = replace(TrainConfig.load("tiny-cpu"), seed=given.seed, keep_rollouts=0)
    steps = given.warm_steps or config.warm_start.steps
    start = replace(config.warm_start, steps=steps, tokens=given.warm_tokens, clozes=given.warm == "clozes")
    config = replace(config, task=replace(config.task, name=given.task), warm_start=start)
    warm = given.out / f"{given.task}-{given.warm}-{given.seed}"
    began = time.perf_counter()
    warm_up(config, warm)
    config = replace(config, warm_start=replace(start, steps=0), decay=0.0, checkpoint_every=1000, steps=given.steps)
    config = replace(config, evaluation=replace(config.evaluation, every=given.steps))
    before = None
    for name in given.rewards:
        weights, clozes = REWARDS[name]
        if given.labelled < 1 and name == "recovered":
            weights = replace(weights, answer=1.0)
        changed = replace(config, reward=weights, task=replace(config.task, clozes=clozes))
        folder = warm.with_name(f"{warm.name}-{name}-{given.labelled:g}")
        shutil.rmtree(folder, ignore_errors=True)
        trainer = open_trainer(changed, name, given.labelled, folder)
        # This is the reference too, which a run of another reward may lack.
        load_best(trainer.policy, warm)
        before = before or measure_lengths(trainer, config, given.far)
        trainer.train()
        steps = [one for one in load_records(folder) if one["kind"] == "step"]
        told = {
            "task": given.task,
            "warm": given.warm,
            "labelled": given.labelled,
            "reward": name,
            "seed": given.seed,
            "steps": given.steps,
            "before": before,
            "after": measure_lengths(trainer, config, given.far),
            "recovered_probability": [
                round(one["recovered_probability"], 4) for one in steps if "recovered_probability" in one
            ],
            "accuracy": [round(one["accuracy"], 4) for one in steps if "accuracy" in one],
            "seconds": round(time.perf_counter() - began),
        }
        print(json.dumps(told), flush=True)
        with (given.out / "results.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
